/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.c - monotonic time; nothing else in egret asks the kernel for it */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

static bool is_fake;
static uint64_t fake_ms;

uint64_t clock_now_ns(void)
{
	struct timespec ts;

	if (is_fake)
		return fake_ms * NS_PER_MS;
	/* Can't fail with a constant clock and a valid pointer. */
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_now_ms(void)
{
	return clock_now_ns() / NS_PER_MS;
}

void clock_set_fake(uint64_t now_ms)
{
	is_fake = true;
	fake_ms = now_ms;
}

void clock_clear_fake(void)
{
	is_fake = false;
}

void clock_rfc3339(char *dst, size_t size)
{
	struct timespec ts;
	struct tm tm;
	size_t used;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* as above */
	if (size == 0)
		return;
	dst[0] = '\0';
	if (!gmtime_r(&ts.tv_sec, &tm))
		return;
	used = strftime(dst, size, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(dst + used, size - used, ".%03uZ",
		       (unsigned int)(ts.tv_nsec / (long)NS_PER_MS) % 1000);
}
