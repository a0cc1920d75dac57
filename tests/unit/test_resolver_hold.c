/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_resolver_hold.c - refusals whose answer waits for resolver_release() */
#include <check.h>

#include "resolver/resolver_internal.h"

#include "tests/unit/resolver_lab.h"

#define SOA(owner) "--\n" owner " 5 SOA egret.internal\n"

#define assert_text(rep, want) ck_assert_str_eq(lab_text(rep), want)

static void end(struct lab *l)
{
	ck_assert_msg(!l->broken, "%u: %s", l->broken, l->trouble);
	lab_free(l);
}

/* The answer waits for whoever looks the client's process up. */
START_TEST(test_refusal_waits)
{
	struct lab *l = lab_new("good.test");
	struct lab_reply *first, *second, *third;

	l->hold = 64;
	first = lab_query(l, "evil.test", "A");
	l->hold = 65;
	second = lab_query(l, "late.test", "A");
	assert_text(first, "none");
	assert_text(second, "none");
	ck_assert_uint_eq(l->n_refused, 2);
	resolver_release(l->r, 66);
	resolver_release(l->r, 65);
	assert_text(first, "none");
	assert_text(second, "NXDOMAIN\n" SOA("test"));
	resolver_release(l->r, 65);
	ck_assert_uint_eq(l->n_refused, 2);

	/* An edit in between counts; and what waits at the end hears nothing.
	 */
	ck_assert_int_eq(lab_set_policy(l, "evil.test"), 0);
	resolver_release(l->r, 64);
	ck_assert(lab_upstream(l, 0, "evil.test 60 A 11.0.0.1"));
	assert_text(first, "NOERROR\nevil.test 60 A 11.0.0.1\n");
	third = lab_query(l, "last.test", "A");
	assert_text(third, "none");
	end(l);
}
END_TEST

START_TEST(test_refusals_wait_in_a_bounded_number)
{
	struct lab *l = lab_new("good.test");
	struct lab_reply *rep = NULL;

	for (uint32_t i = 1; i <= RESOLVER_HELD_MAX; i++) {
		l->hold = i;
		rep = lab_query(l, "evil.test", "A");
		assert_text(rep, "none");
	}
	rep = lab_query(l, "evil.test", "A");
	assert_text(rep, "NXDOMAIN\n" SOA("test"));
	ck_assert_uint_eq(l->n_refused, RESOLVER_HELD_MAX + 1);
	end(l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("resolver_hold");
	TCase *t = tcase_create("hold");
	SRunner *sr;
	int failed;

	tcase_add_test(t, test_refusal_waits);
	tcase_add_test(t, test_refusals_wait_in_a_bounded_number);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
