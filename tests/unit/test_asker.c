/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_asker.c - answers that wait for the front, on a fake clock */
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/loop.h"
#include "gateway/asker.h"
#include "netns/sockdiag.h"

#define START_MS 1000000U

static struct loop *loop;
static struct asker *asker;
static struct sockdiag diag;
static uint32_t released[2 * ASKER_HELD_MAX];
static size_t n_released, n_syns;
static uint8_t last_syn[ASKER_SYN_MAX];
static size_t last_len;

static void on_release(void *ctx, uint32_t ticket, const uint8_t *syn,
		       size_t len)
{
	ck_assert_ptr_eq(ctx, &n_released);
	released[n_released++] = ticket;
	if (!syn) {
		ck_assert_uint_eq(len, 0);
		return;
	}
	n_syns++;
	memcpy(last_syn, syn, len);
	last_len = len;
}

static void setup(void)
{
	n_released = n_syns = 0;
	clock_set_fake(START_MS);
	sockdiag_init(&diag);
	ck_assert_int_eq(loop_new(&loop, NULL), 0);
	ck_assert_int_eq(
		asker_new(&asker, loop, &diag, on_release, &n_released, NULL),
		0);
}

static void teardown(void)
{
	asker_free(asker);
	loop_freep(&loop);
	clock_clear_fake();
}

static void pass(uint64_t ms)
{
	clock_set_fake(clock_now_ms() + ms);
	ck_assert_int_ge(loop_run_once(loop, 0), 0);
}

START_TEST(released_by_ticket)
{
	const uint8_t syn[] = { 1, 2, 3 };
	uint32_t a = asker_hold(asker, NULL, 0);
	uint32_t b = asker_hold(asker, syn, sizeof(syn));

	ck_assert_uint_ne(a, 0);
	ck_assert_uint_ne(b, 0);
	ck_assert_uint_ne(a, b);
	asker_release(asker, 0);
	asker_release(asker, b + ASKER_HELD_MAX);
	ck_assert_uint_eq(n_released, 0);
	asker_release(asker, b);
	asker_release(asker, b);
	ck_assert_uint_eq(n_released, 1);
	ck_assert_uint_eq(released[0], b);
	ck_assert_uint_eq(last_len, sizeof(syn));
	ck_assert_mem_eq(last_syn, syn, sizeof(syn));
	asker_release(asker, a);
	ck_assert_uint_eq(n_released, 2);
	ck_assert_uint_eq(n_syns, 1);
	pass(ASKER_HOLD_MS);
	ck_assert_uint_eq(n_released, 2);
}
END_TEST

START_TEST(released_by_time)
{
	uint32_t a = asker_hold(asker, NULL, 0), b, c;

	pass(ASKER_HOLD_MS - 1);
	b = asker_hold(asker, NULL, 0);
	ck_assert_uint_eq(n_released, 0);
	pass(1);
	ck_assert_uint_eq(n_released, 1);
	ck_assert_uint_eq(released[0], a);
	c = asker_hold(asker, NULL, 0);
	ck_assert_uint_ne(c, a); /* the slot is the same, the ticket is not */
	asker_release(asker, a);
	ck_assert_uint_eq(n_released, 1);
	pass(ASKER_HOLD_MS - 1);
	ck_assert_uint_eq(n_released, 2);
	ck_assert_uint_eq(released[1], b);
	pass(1);
	ck_assert_uint_eq(n_released, 3);
	ck_assert_uint_eq(released[2], c);
}
END_TEST

START_TEST(forgotten)
{
	uint32_t a = asker_hold(asker, NULL, 0);

	asker_forget(asker, a);
	asker_forget(asker, a);
	asker_release(asker, a);
	pass(ASKER_HOLD_MS);
	ck_assert_uint_eq(n_released, 0);
}
END_TEST

START_TEST(bounded)
{
	uint8_t syn[ASKER_SYN_MAX + 1] = { 0 };

	ck_assert_uint_eq(asker_hold(asker, syn, sizeof(syn)), 0);
	for (int i = 0; i < ASKER_HELD_MAX; i++)
		ck_assert_uint_ne(asker_hold(asker, syn, ASKER_SYN_MAX), 0);
	ck_assert_uint_eq(asker_hold(asker, NULL, 0), 0);
	pass(ASKER_HOLD_MS);
	ck_assert_uint_eq(n_released, ASKER_HELD_MAX);
	ck_assert_uint_eq(last_len, ASKER_SYN_MAX);
	ck_assert_uint_ne(asker_hold(asker, NULL, 0), 0);
}
END_TEST

/* Without a way to ask there is no name, and no error. */
START_TEST(nothing_is_known)
{
	struct endpoint src = { .port = 1 }, dst = { .port = 2 };

	ck_assert_int_eq(addr_parse("198.18.0.2", &src.addr), 0);
	ck_assert_int_eq(addr_parse("11.0.0.1", &dst.addr), 0);
	for (unsigned int i = 0; i < 2 * ASKER_LOOKUPS_PER_S; i++)
		ck_assert_uint_eq(
			asker_find_socket(asker, IPPROTO_TCP, &src, &dst), 0);
	ck_assert_uint_eq(asker_find_socket(asker, IPPROTO_ICMP, &src, &dst),
			  0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("asker");
	TCase *tc = tcase_create("waiting");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, released_by_ticket);
	tcase_add_test(tc, released_by_time);
	tcase_add_test(tc, forgotten);
	tcase_add_test(tc, bounded);
	tcase_add_test(tc, nothing_is_known);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
