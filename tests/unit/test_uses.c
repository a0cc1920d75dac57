/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_uses.c - counts of entries, and that edits don't lose them */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gateway/uses.h"
#include "policy/policy.h"

static struct uses *uses;

static void setup(void)
{
	ck_assert_int_eq(uses_new(&uses), 0);
}

static void teardown(void)
{
	uses_freep(&uses);
}

static struct policy *build(const char *list)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	struct policy *p = NULL;

	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(policy_builder_add_text(b, "f", list, strlen(list)),
			 0);
	ck_assert_int_eq(policy_build(b, &p), 0);
	return p;
}

static void bump(const struct policy *p, const char *host, int n)
{
	struct dnsname name;

	ck_assert_int_eq(dnsname_from_text(host, strlen(host), &name), 0);
	while (n--)
		uses_bump(uses, policy_judge_name(p, &name).entry);
}

/* Uses of the entry that prints so; -1: there is none. */
static int64_t of(const struct policy *p, const char *entry)
{
	char text[POLICY_PRINT_MAX];

	for (uint32_t i = 0; i < policy_n_entries(p); i++)
		if (policy_entry(p, i).preset == POLICY_NO_ENTRY &&
		    !strcmp(policy_entry_print(p, i, text), entry))
			return uses_get(uses, i);
	return -1;
}

START_TEST(kept_by_text)
{
	struct policy *p = build("a.test\nb.test:22\nc.test\n"), *q;

	uses_switch(uses, NULL, p);
	bump(p, "a.test", 2);
	bump(p, "b.test", 3);
	bump(p, "nothing.test", 5);
	uses_bump(uses, POLICY_NO_ENTRY);
	uses_bump(uses, 3);
	ck_assert_int_eq(of(p, "a.test"), 2);
	ck_assert_int_eq(of(p, "b.test:22"), 3);
	ck_assert_int_eq(of(p, "c.test"), 0);
	/* Moved, written otherwise, another port, and new ones. */
	q = build("# text\nz.test\nB.test:22 # x\nc.test:99\nA.TEST.\n");
	uses_switch(uses, p, q);
	policy_free(p);
	ck_assert_int_eq(of(q, "a.test"), 2);
	ck_assert_int_eq(of(q, "b.test:22"), 3);
	ck_assert_int_eq(of(q, "c.test:99"), 0);
	ck_assert_int_eq(of(q, "z.test"), 0);
	/* What was away comes back unused. */
	p = build("z.test\n");
	uses_switch(uses, q, p);
	policy_free(q);
	q = build("a.test\nz.test\n");
	uses_switch(uses, p, q);
	policy_free(p);
	ck_assert_int_eq(of(q, "a.test"), 0);
	policy_free(q);
}
END_TEST

START_TEST(presets_count_where_they_stand)
{
	struct policy *p = build("a.test\n@pypi\n"), *q;

	uses_switch(uses, NULL, p);
	bump(p, "pypi.org", 2);
	bump(p, "files.pythonhosted.org", 1);
	ck_assert_int_eq(of(p, "@pypi"), 3);
	q = build("@npm\n@pypi\npypi.org\n");
	uses_switch(uses, p, q);
	ck_assert_int_eq(of(q, "@pypi"), 3);
	ck_assert_int_eq(of(q, "@npm"), 0);
	ck_assert_int_eq(of(q, "pypi.org"), 0);
	policy_free(p);
	policy_free(q);
}
END_TEST

START_TEST(many)
{
	enum { N = 5000 };
	size_t room = N * 16UL, len = 0;
	char *list = malloc(room), name[32];
	struct policy *p, *q;

	ck_assert_ptr_nonnull(list);
	for (int i = 0; i < N; i++)
		len += (size_t)snprintf(list + len, room - len, "h%d.test\n",
					i);
	p = build(list);
	uses_switch(uses, NULL, p);
	for (int i = 0; i < N; i += 3) {
		(void)snprintf(name, sizeof(name), "h%d.test", i);
		bump(p, name, i % 7);
	}
	q = build(list);
	uses_switch(uses, p, q);
	for (uint32_t i = 0; i < N; i++)
		ck_assert_uint_eq(uses_get(uses, i), i % 3 ? 0 : i % 7);
	policy_free(p);
	policy_free(q);
	free(list);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("uses");
	TCase *tc = tcase_create("counts");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, kept_by_text);
	tcase_add_test(tc, presets_count_where_they_stand);
	tcase_add_test(tc, many);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
