/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.h - monotonic time; nothing else in egret asks the kernel for it
 *
 * Tests may replace the source with clock_set_fake(), which makes timers and
 * leases run on virtual time.
 */
#ifndef EGRET_BASE_CLOCK_H
#define EGRET_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_MS_PER_S 1000U

/** clock_now_ms() - CLOCK_MONOTONIC in milliseconds (or the fake time) */
uint64_t clock_now_ms(void);

/** clock_now_ns() - CLOCK_MONOTONIC in nanoseconds (or the fake time) */
uint64_t clock_now_ns(void);

/** clock_set_fake() - from now on the time is @now_ms until it is set again */
void clock_set_fake(uint64_t now_ms);

/** clock_clear_fake() - back to the real clock */
void clock_clear_fake(void);

/**
 * clock_rfc3339() - wall-clock time in UTC, "2026-01-31T12:00:00.123Z"
 * @dst, @size: at least CLOCK_RFC3339_LEN bytes
 */
#define CLOCK_RFC3339_LEN 32
void clock_rfc3339(char *dst, size_t size);

#endif /* EGRET_BASE_CLOCK_H */
