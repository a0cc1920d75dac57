/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_dns.c - answers a second from the cache, in process
 *
 * Prints "dns_cached_addresses=N answers_per_s=M" for a few sizes of answer,
 * and for refusals. The clock is the real one, as the cost of reading it
 * counts.
 */
#include <stdlib.h>
#include <time.h>

#include "tests/unit/resolver_lab.h"

#define ROUNDS 200000U

static uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* can't fail */
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static void on_reply(void *arg, const uint8_t *msg, size_t len)
{
	size_t *bytes = arg;

	(void)msg;
	*bytes += len;
}

static void run(struct lab *l, const char *what, const char *name,
		const char *text, unsigned int n)
{
	const struct endpoint client = { { AF_INET, { 198, 18, 0, 2 } }, 4711 };
	const struct lab_question q = { .name = name,
					.type = "A",
					.edns = 1232 };
	size_t bytes = 0;
	uint8_t buf[512];
	uint64_t start_ns;
	size_t len = lab_write_query(buf, sizeof(buf), &q);

	if (text) {
		(void)lab_ask(l, &q);
		(void)lab_upstream(l, 0, text);
	}
	clock_clear_fake();
	const struct resolver_query query = { .client = &client,
					      .msg = buf,
					      .len = len };
	start_ns = now_ns();
	for (unsigned int i = 0; i < ROUNDS; i++) {
		lab_clear_log(l);
		resolver_answer(l->r, &query, on_reply, &bytes);
	}
	(void)printf("%s=%u answers_per_s=%.0f reply_bytes=%zu\n", what, n,
		     ROUNDS * 1e9 / (double)(now_ns() - start_ns),
		     bytes / ROUNDS);
}

int main(void)
{
	static const unsigned int sizes[] = { 1, 4, 20 };
	struct lab *l = lab_new("*.good.test");

	/* So that what is cached stays fresh on the real clock. */
	clock_clear_fake();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char text[4096], name[64];
		size_t at = 0;

		(void)snprintf(name, sizeof(name), "n%zu.good.test", i);
		for (unsigned int a = 0; a < sizes[i]; a++)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s 3600 A 11.0.%zu.%u\n", name,
					       i, a + 1);
		run(l, "dns_cached_addresses", name, text, sizes[i]);
	}
	run(l, "dns_refused", "evil.test", NULL, 1);
	lab_free(l);
	return EXIT_SUCCESS;
}
