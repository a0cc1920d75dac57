/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_policy.c - time to load 100 000 entries, and for one decision
 *
 * Prints, asserts nothing but that the answers are the right ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "policy/policy.h"

#define N_ENTRIES 100000U
#define N_ROUNDS  2000000U
#define N_NAMES	  4096U
#define ENTRY_MAX 64U
#define NS_PER_MS 1000000.0

static int write_entry(char *dst, unsigned int i)
{
	switch (i % 8) {
	case 0:
		return snprintf(dst, ENTRY_MAX, "*.zone%u.example.org\n", i);
	case 1:
		return snprintf(dst, ENTRY_MAX, "11.%u.%u.%u:5432\n",
				i >> 16 & 255, i >> 8 & 255, i & 255);
	case 2:
		return snprintf(dst, ENTRY_MAX, "!ads%u.example.net # no\n", i);
	case 3:
		return snprintf(dst, ENTRY_MAX, "12.%u.%u.0/24:22,443\n",
				i >> 8 & 255, i & 255);
	default:
		return snprintf(dst, ENTRY_MAX, "host%u.example.com:8443\n", i);
	}
}

static struct policy *load(const char *text, size_t len)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	const struct policy_error *e;
	struct policy *p = NULL;
	size_t n;

	if (policy_builder_new(&b) < 0 ||
	    policy_builder_add_text(b, "bench", text, len) < 0)
		return NULL;
	e = policy_builder_errors(b, &n);
	if (n > 0)
		(void)fprintf(stderr, "line %u: %s\n", e->line, e->msg);
	return policy_build(b, &p) < 0 ? NULL : p;
}

static void time_names(const struct policy *p, const char *what,
		       const char *head, const char *tail)
{
	static struct dnsname names[N_NAMES];
	unsigned int allowed = 0;
	uint64_t start;

	for (unsigned int i = 0; i < N_NAMES; i++) {
		char text[128];
		unsigned int j = i * 977U % N_ENTRIES / 8 * 8 + 4;
		int len =
			snprintf(text, sizeof(text), "%s%u.%s", head, j, tail);

		if (dnsname_from_text(text, (size_t)len, &names[i]) < 0)
			return;
	}
	start = clock_now_ns();
	for (unsigned int i = 0; i < N_ROUNDS; i++)
		if (policy_judge_name_port(p, &names[i % N_NAMES], POLICY_TCP,
					   8443)
			    .reason == POLICY_ALLOWED)
			allowed++;
	printf("%-28s %6.0f ns a decision, %u%% allowed\n", what,
	       (double)(clock_now_ns() - start) / N_ROUNDS,
	       allowed / (N_ROUNDS / 100));
}

static void time_addrs(const struct policy *p, const char *what, uint8_t first)
{
	unsigned int allowed = 0;
	uint64_t start = clock_now_ns();

	for (unsigned int i = 0; i < N_ROUNDS; i++) {
		unsigned int j = i * 977U % N_ENTRIES / 8 * 8 + 1;
		struct addr a = {
			.family = AF_INET,
			.bytes = { first, (uint8_t)(j >> 16), (uint8_t)(j >> 8),
				   (uint8_t)j },
		};

		if (policy_judge_addr(p, &a, POLICY_TCP, 5432).reason ==
		    POLICY_ALLOWED)
			allowed++;
	}
	printf("%-28s %6.0f ns a decision, %u%% allowed\n", what,
	       (double)(clock_now_ns() - start) / N_ROUNDS,
	       allowed / (N_ROUNDS / 100));
}

static void time_ports(const struct policy *p)
{
	static const char text[] = "host44.example.com";
	struct policy_port ports[POLICY_PORTS_MAX];
	uint64_t start = clock_now_ns();
	struct dnsname n;
	size_t sum = 0;

	if (dnsname_from_text(text, sizeof(text) - 1, &n) < 0)
		return;
	for (unsigned int i = 0; i < N_ROUNDS; i++)
		sum += policy_name_ports(p, &n, ports);
	printf("%-28s %6.0f ns a list, %zu ranges\n", "ports of a name",
	       (double)(clock_now_ns() - start) / N_ROUNDS, sum / N_ROUNDS);
}

int main(void)
{
	_cleanup_(freep) char *text = malloc((size_t)N_ENTRIES * ENTRY_MAX);
	_cleanup_(policy_freep) struct policy *p = NULL;
	uint64_t start;
	size_t len = 0;

	if (!text)
		return EXIT_FAILURE;
	for (unsigned int i = 0; i < N_ENTRIES; i++)
		len += (size_t)write_entry(text + len, i);
	start = clock_now_ns();
	p = load(text, len);
	if (!p)
		return EXIT_FAILURE;
	printf("%-28s %6.1f ms, %zu bytes of text\n", "load 100 000 entries",
	       (double)(clock_now_ns() - start) / NS_PER_MS, len);
	time_names(p, "exact name", "host", "example.com");
	time_names(p, "unknown name", "www", "example.edu");
	time_names(p, "unknown name, 12 labels", "www",
		   "a.b.c.d.e.f.g.h.i.example.com");
	time_addrs(p, "address", 11);
	time_addrs(p, "unknown address", 13);
	time_ports(p);
	return EXIT_SUCCESS;
}
