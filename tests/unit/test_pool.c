/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/pool.h"

struct thing {
	uint64_t a;
	uint8_t b[13];
};

static struct pool *new_pool(uint32_t n)
{
	struct pool *p = NULL;

	ck_assert_int_eq(pool_new(&p, sizeof(struct thing), n, NULL), 0);
	return p;
}

START_TEST(objects_are_zeroed_and_aligned)
{
	_cleanup_(pool_freep) struct pool *p = new_pool(4);
	static const struct thing zero;

	for (int i = 0; i < 10; i++) {
		struct thing *t = pool_get(p, NULL);

		ck_assert_ptr_nonnull(t);
		ck_assert_uint_eq((uintptr_t)t % 16, 0);
		ck_assert_mem_eq(t, &zero, sizeof(zero));
		memset(t, 0xff, sizeof(*t));
		pool_put(p, t);
	}
}
END_TEST

START_TEST(a_full_pool_refuses_and_counts)
{
	_cleanup_(pool_freep) struct pool *p = new_pool(2);
	struct pool_stats st;
	pool_handle h = 4711;
	void *a = pool_get(p, NULL), *b = pool_get(p, NULL);

	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_nonnull(b);
	ck_assert_ptr_ne(a, b);
	ck_assert_ptr_null(pool_get(p, &h));
	ck_assert_uint_eq(h, 4711);
	pool_get_stats(p, &st);
	ck_assert_uint_eq(st.max, 2);
	ck_assert_uint_eq(st.in_use, 2);
	ck_assert_uint_eq(st.peak, 2);
	ck_assert_uint_eq(st.refused, 1);
	pool_put(p, a);
	ck_assert_ptr_eq(pool_get(p, NULL), a);
	pool_put(p, a);
	pool_put(p, b);
	pool_put(p, NULL);
	pool_get_stats(p, &st);
	ck_assert_uint_eq(st.in_use, 0);
	ck_assert_uint_eq(st.peak, 2);
	ck_assert_uint_eq(st.refused, 1);
}
END_TEST

START_TEST(stale_handles_find_nothing)
{
	_cleanup_(pool_freep) struct pool *p = new_pool(1);
	pool_handle h1 = 0, h2 = 0;
	void *a = pool_get(p, &h1);

	ck_assert_uint_ne(h1, 0);
	ck_assert_ptr_eq(pool_find(p, h1), a);
	ck_assert_uint_eq(pool_handle_of(p, a), h1);
	pool_put(p, a);
	ck_assert_ptr_null(pool_find(p, h1));
	/* the same place, another life */
	ck_assert_ptr_eq(pool_get(p, &h2), a);
	ck_assert_uint_ne(h1, h2);
	ck_assert_ptr_null(pool_find(p, h1));
	ck_assert_ptr_eq(pool_find(p, h2), a);
}
END_TEST

START_TEST(foreign_handles_find_nothing)
{
	_cleanup_(pool_freep) struct pool *p = new_pool(2);
	pool_handle h = 0;

	ck_assert_ptr_null(pool_find(p, 0));
	ck_assert_ptr_null(pool_find(p, 1ULL << 32));
	ck_assert_ptr_nonnull(pool_get(p, &h));
	ck_assert_ptr_null(pool_find(p, 0));
	ck_assert_ptr_null(pool_find(p, h + 1)); /* a slot never used */
	ck_assert_ptr_null(pool_find(p, h + 2)); /* beyond the pool */
	ck_assert_ptr_null(pool_find(p, h + (1ULL << 32)));
	ck_assert_ptr_null(pool_find(p, UINT64_MAX));
}
END_TEST

START_TEST(objects_never_move)
{
	_cleanup_(pool_freep) struct pool *p = new_pool(1000);
	struct thing *t[1000];

	for (uint64_t i = 0; i < 1000; i++) {
		t[i] = pool_get(p, NULL);
		t[i]->a = i;
	}
	for (size_t i = 0; i < 1000; i += 2)
		pool_put(p, t[i]);
	for (size_t i = 1; i < 1000; i += 2)
		ck_assert_uint_eq(t[i]->a, i);
	for (size_t i = 0; i < 500; i++)
		ck_assert_ptr_nonnull(pool_get(p, NULL));
	for (size_t i = 1; i < 1000; i += 2)
		ck_assert_uint_eq(t[i]->a, i);
	ck_assert_ptr_null(pool_get(p, NULL));
}
END_TEST

START_TEST(iteration_sees_the_live_ones)
{
	_cleanup_(pool_freep) struct pool *p = new_pool(8);
	struct thing *t[5];
	uint64_t sum = 0;

	ck_assert_ptr_null(pool_next(p, NULL));
	for (uint64_t i = 0; i < 5; i++) {
		t[i] = pool_get(p, NULL);
		t[i]->a = 1ULL << i;
	}
	pool_put(p, t[0]);
	pool_put(p, t[3]);
	for (struct thing *i = pool_next(p, NULL); i; i = pool_next(p, i))
		sum += i->a;
	ck_assert_uint_eq(sum, 1U << 1 | 1U << 2 | 1U << 4);
}
END_TEST

START_TEST(the_current_one_may_be_put_while_iterating)
{
	_cleanup_(pool_freep) struct pool *p = new_pool(8);
	struct pool_stats st;
	int n = 0;

	for (int i = 0; i < 8; i++)
		ck_assert_ptr_nonnull(pool_get(p, NULL));
	for (void *i = pool_next(p, NULL); i; i = pool_next(p, i)) {
		pool_put(p, i);
		n++;
	}
	ck_assert_int_eq(n, 8);
	pool_get_stats(p, &st);
	ck_assert_uint_eq(st.in_use, 0);
}
END_TEST

static const struct {
	size_t size;
	uint32_t n;
	int want;
} limits[] = {
	{ 0, 1, -EINVAL },
	{ 1, 0, -EINVAL },
	{ 1, UINT32_MAX, -EINVAL },
	{ (size_t)UINT32_MAX + 1, 1, -EINVAL },
	{ UINT32_MAX, UINT32_MAX - 1, -EOVERFLOW },
	{ 1, 1, 0 },
	/* reserved, not committed: 64 GiB */
	{ 1U << 16, 1U << 20, 0 },
};

START_TEST(sizes_are_checked)
{
	struct pool *p = NULL;
	struct err err = { 0 };
	int r = pool_new(&p, limits[_i].size, limits[_i].n, &err);

	/* 2^64 fits into size_t just not quite; the mapping then fails. */
	if (limits[_i].want == -EOVERFLOW)
		ck_assert(r == -EOVERFLOW || r == -ENOMEM);
	else
		ck_assert_int_eq(r, limits[_i].want);
	ck_assert_int_eq(err.code, r);
	ck_assert_int_eq(p == NULL, r < 0);
	pool_freep(&p);
	ck_assert_ptr_null(p);
}
END_TEST

START_TEST(putting_twice_is_caught)
{
	struct pool *p = new_pool(2);
	void *a = pool_get(p, NULL);

	pool_put(p, a);
	pool_put(p, a); /* aborts */
}
END_TEST

START_TEST(free_takes_null)
{
	pool_free(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pool");
	TCase *tc = tcase_create("pool");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, objects_are_zeroed_and_aligned);
	tcase_add_test(tc, a_full_pool_refuses_and_counts);
	tcase_add_test(tc, stale_handles_find_nothing);
	tcase_add_test(tc, foreign_handles_find_nothing);
	tcase_add_test(tc, objects_never_move);
	tcase_add_test(tc, iteration_sees_the_live_ones);
	tcase_add_test(tc, the_current_one_may_be_put_while_iterating);
	tcase_add_loop_test(tc, sizes_are_checked, 0, ARRAY_SIZE(limits));
	tcase_add_test_raise_signal(tc, putting_twice_is_caught, SIGABRT);
	tcase_add_test(tc, free_takes_null);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
