/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_dns_cache.c - how long answers stay, and which ones go
 */
#include <check.h>

#include "resolver/answer.h"
#include "resolver/cache.h"
#include "tests/unit/policy_tools.h"

static bool no_host_addr(void *ctx, const struct addr *a)
{
	(void)ctx;
	(void)a;
	return false;
}

static const struct resolver_ops ops = { .is_host_addr = no_host_addr };

/* As answer_judge() lays it out, with at most one address. */
static struct answer *make(uint32_t ttl_s, size_t body_len, const char *addr)
{
	struct answer *a =
		calloc(1, sizeof(*a) + sizeof(struct lease_item) + body_len);

	a->refs = 1;
	a->ttl_s = ttl_s;
	a->born_ms = 1000;
	a->body_len = body_len;
	a->items = (struct lease_item *)(a + 1);
	if (addr) {
		a->n_items = 1;
		a->items[0].addr = addr_of(addr);
	}
	return a;
}

static void put(struct cache *c, const char *name, uint16_t type,
		struct answer *a)
{
	struct dnsname n = name_of(name);

	cache_put(c, &n, type, a);
	answer_unref(a);
}

static struct answer *get(struct cache *c, const char *name, uint16_t type,
			  uint64_t now_ms)
{
	struct dnsname n = name_of(name);

	return cache_get(c, &n, type, now_ms);
}

START_TEST(test_life)
{
	struct cache *c = NULL;

	ck_assert_int_eq(cache_new(&c), 0);
	put(c, "a.test", WIRE_A, make(10, 10, NULL));
	put(c, "zero.test", WIRE_A, make(0, 10, NULL));
	ck_assert_ptr_nonnull(get(c, "A.test", WIRE_A, 1000));
	ck_assert_ptr_null(get(c, "a.test", WIRE_AAAA, 1000));
	ck_assert_ptr_null(get(c, "b.test", WIRE_A, 1000));
	ck_assert_ptr_null(get(c, "zero.test", WIRE_A, 1000));
	ck_assert_ptr_nonnull(get(c, "a.test", WIRE_A, 10999));
	ck_assert_ptr_null(get(c, "a.test", WIRE_A, 11000));
	ck_assert_ptr_null(get(c, "a.test", WIRE_A, 1000)); /* it is gone */
	cache_free(c);
}
END_TEST

START_TEST(test_replaced)
{
	struct cache_stats stats;
	struct cache *c = NULL;

	ck_assert_int_eq(cache_new(&c), 0);
	put(c, "a.test", WIRE_A, make(10, 10, NULL));
	put(c, "a.test", WIRE_A, make(20, 30, NULL));
	ck_assert_uint_eq(get(c, "a.test", WIRE_A, 1000)->ttl_s, 20);
	cache_get_stats(c, &stats);
	ck_assert_uint_eq(stats.entries, 1);
	put(c, "a.test", WIRE_A, make(0, 30, NULL));
	cache_get_stats(c, &stats);
	ck_assert_uint_eq(stats.entries, 0);
	ck_assert_uint_eq(stats.bytes, 0);
	cache_free(c);
}
END_TEST

START_TEST(test_bounded_by_number)
{
	struct cache_stats stats;
	struct cache *c = NULL;

	ck_assert_int_eq(cache_new(&c), 0);
	put(c, "kept.test", WIRE_A, make(100, 1, NULL));
	put(c, "old.test", WIRE_A, make(100, 1, NULL));
	for (unsigned int i = 0; i < 3 * CACHE_ENTRIES_MAX; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "n%u.test", i);
		put(c, name, WIRE_A, make(100, 1, NULL));
		ck_assert_ptr_nonnull(get(c, "kept.test", WIRE_A, 1000));
	}
	ck_assert_ptr_null(get(c, "old.test", WIRE_A, 1000));
	cache_get_stats(c, &stats);
	ck_assert_uint_le(stats.entries, CACHE_ENTRIES_MAX);
	ck_assert_uint_le(stats.bytes, CACHE_BYTES_MAX);
	ck_assert_uint_gt(stats.evicted, 2 * CACHE_ENTRIES_MAX);
	cache_free(c);
}
END_TEST

START_TEST(test_bounded_by_bytes)
{
	struct cache_stats stats;
	struct cache *c = NULL;

	ck_assert_int_eq(cache_new(&c), 0);
	for (unsigned int i = 0; i < 1000; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "n%u.test", i);
		put(c, name, WIRE_TXT, make(100, 60000, NULL));
	}
	cache_get_stats(c, &stats);
	ck_assert_uint_le(stats.bytes, CACHE_BYTES_MAX);
	ck_assert_uint_gt(stats.entries, 100);
	cache_free(c);
}
END_TEST

struct rejudge_row {
	const char *from, *to, *addr;
	enum policy_reason stripped;
	bool stays;
};

static const struct rejudge_row rejudge_rows[] = {
	{ "a.test", "a.test\nb.test", "11.0.0.1", POLICY_ALLOWED, true },
	{ "a.test", "# moved\n\na.test", "11.0.0.1", POLICY_ALLOWED, true },
	{ "a.test", "b.test", "11.0.0.1", POLICY_ALLOWED, false },
	{ "a.test", "a.test\n!a.test", "11.0.0.1", POLICY_ALLOWED, false },
	{ "a.test", "a.test:22", "11.0.0.1", POLICY_ALLOWED, false },
	{ "a.test", "a.test private", "11.0.0.1", POLICY_ALLOWED, false },
	{ "a.test", "a.test\n!11.0.0.0/24", "11.0.0.1", POLICY_ALLOWED, false },
	{ "a.test", "a.test\nb.test", NULL, POLICY_PRIVATE, false },
	{ "*.x.test", "a.test", NULL, POLICY_ALLOWED, false },
};

START_TEST(test_rejudge)
{
	const struct rejudge_row *row = &rejudge_rows[_i];
	struct answer_context from = { .ops = &ops }, to = from;
	_cleanup_(policy_freep) struct policy *old = policy_of(row->from);
	_cleanup_(policy_freep) struct policy *new = policy_of(row->to);
	struct answer *a = make(100, 10, row->addr);
	struct cache *c = NULL;

	from.policy = old;
	to.policy = new;
	a->strip.reason = row->stripped;
	ck_assert_int_eq(cache_new(&c), 0);
	put(c, "a.test", WIRE_A, a);
	cache_rejudge(c, &from, &to);
	ck_assert_int_eq(!!get(c, "a.test", WIRE_A, 1000), row->stays);
	cache_free(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dns_cache");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_life);
	tcase_add_test(t, test_replaced);
	tcase_add_test(t, test_bounded_by_number);
	tcase_add_test(t, test_bounded_by_bytes);
	tcase_add_loop_test(t, test_rejudge, 0, ARRAY_SIZE(rejudge_rows));
	suite_add_tcase(s, t);
	return run_suite(s);
}
