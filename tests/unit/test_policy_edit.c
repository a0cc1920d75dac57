/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_policy_edit.c - edits leave what they aren't asked about as it is */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "policy/edit.h"

#define BOM    "\xef\xbb\xbf"
#define ARGS   6
#define ALLOW  POLICY_EDIT_ALLOW
#define DENY   POLICY_EDIT_DENY
#define REMOVE POLICY_EDIT_REMOVE
#define SET    POLICY_EDIT_SET

static const struct edit_case {
	enum policy_edit_op op;
	const char *text;
	const char *entries[ARGS];
	const char *want;
} cases[] = {
	/* allow: behind everything, as written */
	{ ALLOW, "", { "example.org" }, "example.org\n" },
	{ ALLOW, "a.org\n", { "b.org" }, "a.org\nb.org\n" },
	{ ALLOW, "a.org\n", { " B.org:443,22 " }, "a.org\nB.org:443,22\n" },
	{ ALLOW, "# c\n\n", { "a.org", "b.org" }, "# c\n\na.org\nb.org\n" },
	{ ALLOW, "", { "a.org # why" }, "a.org # why\n" },
	{ ALLOW, "", { "a.org:5432 private" }, "a.org:5432 private\n" },
	{ ALLOW, "", { "a.org", "A.org.", "a.org:80,443" }, "a.org\n" },
	{ ALLOW, "", { "!a.org" }, "!a.org\n" },
	/* an equal one is there, however it is written */
	{ ALLOW, "A.ORG. # x\n", { "a.org" }, "A.ORG. # x\n" },
	{ ALLOW, "a.org:443,80\n", { "a.org" }, "a.org:443,80\n" },
	{ ALLOW, "https://a.org/x\n", { "a.org:443" }, "https://a.org/x\n" },
	{ ALLOW, "2001:DB8:0::1\n", { "[2001:db8::1]" }, "2001:DB8:0::1\n" },
	{ ALLOW, "a.org:1-3\n", { "a.org:2,3,1" }, "a.org:1-3\n" },
	{ ALLOW, " \ta.org", { "a.org" }, " \ta.org" },
	{ ALLOW, "\xc3\xbc.org\n", { "xn--tda.org" }, "\xc3\xbc.org\n" },
	{ ALLOW, "@pypi\n", { "@PyPI" }, "@pypi\n" },
	/* not equal */
	{ ALLOW, "@pypi\n", { "pypi" }, "@pypi\npypi\n" },
	{ ALLOW, "a.org\n", { "*.a.org" }, "a.org\n*.a.org\n" },
	{ ALLOW, "a.org\n", { "a.org:443" }, "a.org\na.org:443\n" },
	{ ALLOW, "a.org\n", { "a.org private" }, "a.org\na.org private\n" },
	{ ALLOW, "a.org:1\n", { "a.org:1/udp" }, "a.org:1\na.org:1/udp\n" },
	{ ALLOW, "10.0.0.0/8\n", { "10.0.0.0/9" }, "10.0.0.0/8\n10.0.0.0/9\n" },
	{ ALLOW, "#a.org\n", { "a.org" }, "#a.org\na.org\n" },
	/* its denied twin goes */
	{ ALLOW, "!a.org\nb.org\n", { "a.org" }, "b.org\na.org\n" },
	{ ALLOW, "a.org\n# x\n!a.org # y\n", { "a.org" }, "a.org\n# x\n" },
	{ ALLOW, "!a.org\n", { "a.org private" }, "a.org private\n" },
	{ ALLOW, "!a.org:22\n", { "a.org:22" }, "a.org:22\n" },
	{ ALLOW, "!a.org\n", { "a.org:22" }, "!a.org\na.org:22\n" },
	{ ALLOW, "!*.a.org\n", { "a.org" }, "!*.a.org\na.org\n" },
	{ ALLOW, "!@npm # x\n", { "@npm" }, "@npm\n" },
	{ ALLOW, "!10.0.0.0/8\n", { "10.0.0.0/8" }, "10.0.0.0/8\n" },
	/* deny */
	{ DENY, "a.org\n", { "a.org" }, "a.org\n!a.org\n" },
	{ DENY, "!a.org\n", { "A.org" }, "!a.org\n" },
	{ DENY, "", { "!a.org" }, "!a.org\n" },
	{ DENY, "@pypi\n", { "@pypi" }, "@pypi\n!@pypi\n" },
	{ DENY, "", { "! a.org" }, "! a.org\n" },
	{ DENY, "! a.org\n", { "a.org" }, "! a.org\n" },
	{ DENY,
	  "",
	  { "10.0.0.0/8 # lan", "b.org" },
	  "!10.0.0.0/8 # lan\n!b.org\n" },
	/* remove: the whole line, and no other */
	{ REMOVE, "a.org\n", { "a.org" }, "" },
	{ REMOVE, "# up\na.org # why\nb.org\n", { "a.org" }, "# up\nb.org\n" },
	{ REMOVE, "a.org\nb.org\nA.org\n", { "a.org" }, "b.org\n" },
	{ REMOVE, "a.org\nb.org", { "b.org" }, "a.org\n" },
	{ REMOVE, "a.org\nb.org", { "a.org" }, "b.org" },
	{ REMOVE, "!a.org\na.org\n", { "a.org" }, "!a.org\n" },
	{ REMOVE, "!a.org\na.org\n", { "!a.org" }, "a.org\n" },
	{ REMOVE, "a.org\n", { "b.org" }, "a.org\n" },
	{ REMOVE,
	  "a.org\nb.org\nc.org\n",
	  { "c.org", "x.org", "a.org" },
	  "b.org\n" },
	/* the form of the text stays */
	{ ALLOW, "a.org\r\n", { "b.org" }, "a.org\r\nb.org\r\n" },
	{ ALLOW, "a.org\r\n", { "a.org" }, "a.org\r\n" },
	{ ALLOW, "a.org", { "b.org" }, "a.org\nb.org" },
	{ ALLOW,
	  "a.org\r\nb.org",
	  { "c.org", "d.org" },
	  "a.org\r\nb.org\r\nc.org\r\nd.org" },
	{ ALLOW, "\n\n# x\n\n", { "c.org" }, "\n\n# x\n\nc.org\n" },
	{ ALLOW, BOM, { "a.org" }, BOM "a.org\n" },
	{ ALLOW, BOM "a.org\n", { "a.org" }, BOM "a.org\n" },
	{ REMOVE, BOM "a.org\nb.org\n", { "a.org" }, BOM "b.org\n" },
	{ ALLOW, "what is this\n:\n", { "a.org" }, "what is this\n:\na.org\n" },
	{ REMOVE, "what is this\na.org\n", { "a.org" }, "what is this\n" },
	/* set: exactly these, in this order; comments and blank lines stay */
	{ SET, "", { "a.org", "b.org" }, "a.org\nb.org\n" },
	{ SET, "a.org\nb.org\n", { "b.org", "c.org" }, "b.org\nc.org\n" },
	{ SET, "a.org\nb.org\n", { "a.org", "b.org" }, "a.org\nb.org\n" },
	{ SET, "a.org\nb.org\n", { "b.org", "a.org" }, "b.org\na.org\n" },
	{ SET,
	  "# h\n\n# p\na.org # 1\n# q\nb.org\n",
	  { "a.org", "b.org" },
	  "# h\n\n# p\na.org # 1\n# q\nb.org\n" },
	{ SET,
	  "# p\na.org # 1\n# q\nb.org\n",
	  { "A.org", "n.org", "b.org" },
	  "# p\na.org # 1\nn.org\n# q\nb.org\n" },
	{ SET,
	  "a.org # 1\nb.org # 2\nc.org # 3\n",
	  { "c.org", "a.org" },
	  "c.org # 3\na.org # 1\n" },
	{ SET, "# h\na.org\n# t\n", { "n.org" }, "# h\nn.org\n# t\n" },
	{ SET, "a.org\nb.org", { "b.org", "n.org" }, "b.org\nn.org" },
	{ SET, "a.org\nb.org", { "a.org" }, "a.org\n" },
	{ SET, "a.org\nA.org\n", { "a.org" }, "a.org\n" },
	{ SET, "a.org\n", { "!a.org", "a.org" }, "!a.org\na.org\n" },
	{ SET, "a.org\r\n", { "b.org", "c.org" }, "b.org\r\nc.org\r\n" },
	{ SET, BOM "a.org\n", { "b.org" }, BOM "b.org\n" },
	{ SET, "junk ?\na.org\n", { "b.org" }, "junk ?\nb.org\n" },
	{ SET,
	  "a.org\nb.org\nc.org\nd.org\n",
	  { "d.org", "b.org", "x.org", "c.org" },
	  "d.org\nb.org\nx.org\nc.org\n" },
};

/* The arguments in a row. */
#define edit(op, text, len, entries, n, ret, err)                            \
	policy_edit(&(struct policy_edit){ op, text, len, entries, n }, ret, \
		    err)

static size_t n_args(const struct edit_case *c)
{
	size_t n = 0;

	while (n < ARGS && c->entries[n])
		n++;
	return n;
}

START_TEST(test_texts)
{
	const struct edit_case *c = &cases[_i];
	_cleanup_(policy_edited_done) struct policy_edited e = { 0 };
	struct err err = { 0 };

	ck_assert_msg(edit(c->op, c->text, strlen(c->text), c->entries,
			   n_args(c), &e, &err) == 0,
		      "%s", err.msg);
	ck_assert_str_eq(e.text, c->want);
	ck_assert_uint_eq(e.len, strlen(c->want));
	ck_assert_int_eq(e.changed, strcmp(c->text, c->want) != 0);
}
END_TEST

/* The same edit again changes nothing. */
START_TEST(test_again)
{
	const struct edit_case *c = &cases[_i];
	_cleanup_(policy_edited_done) struct policy_edited a = { 0 };
	_cleanup_(policy_edited_done) struct policy_edited b = { 0 };

	ck_assert_int_eq(edit(c->op, c->text, strlen(c->text), c->entries,
			      n_args(c), &a, NULL),
			 0);
	ck_assert_int_eq(
		edit(c->op, a.text, a.len, c->entries, n_args(c), &b, NULL), 0);
	ck_assert_str_eq(b.text, a.text);
	ck_assert(!b.changed);
}
END_TEST

START_TEST(test_notes)
{
	static const char text[] = "# x\nhttps://a.org\na.org\n!a.org\n"
				   "!b.org\na.org\n";
	static const char *const add[] = { "a.org", "b.org", "A.ORG" };
	static const char *const gone[] = { "a.org", "c.org", "a.org:22" };
	_cleanup_(policy_edited_done) struct policy_edited a = { 0 };
	_cleanup_(policy_edited_done) struct policy_edited r = { 0 };

	ck_assert_int_eq(edit(ALLOW, text, strlen(text), add, 3, &a, NULL), 0);
	ck_assert_uint_eq(a.n_notes, 2);
	ck_assert_ptr_eq(a.notes[0].entry, add[0]);
	ck_assert(!a.notes[0].added && a.notes[1].added);
	ck_assert_uint_eq(a.notes[0].line, 3);
	ck_assert_uint_eq(a.notes[0].n_undenied, 1);
	ck_assert_uint_eq(a.notes[1].n_undenied, 1);
	ck_assert_uint_eq(a.notes[1].line, 0);
	ck_assert_uint_eq(a.notes[1].near, 5);

	ck_assert_int_eq(edit(REMOVE, text, strlen(text), gone, 3, &r, NULL),
			 0);
	ck_assert_uint_eq(r.n_notes, 3);
	ck_assert_uint_eq(r.notes[0].n_removed, 2);
	ck_assert_uint_eq(r.notes[1].n_removed, 0);
	ck_assert_uint_eq(r.notes[1].near, 0);
	ck_assert_uint_eq(r.notes[2].n_removed, 0);
}
END_TEST

/* A hint at a line of the same host, which isn't the same entry. */
START_TEST(test_near)
{
	static const char text[] = "b.org\na.org:22\n";
	static const char *const gone[] = { "a.org" };
	_cleanup_(policy_edited_done) struct policy_edited e = { 0 };

	ck_assert_int_eq(edit(REMOVE, text, strlen(text), gone, 1, &e, NULL),
			 0);
	ck_assert(!e.changed);
	ck_assert_uint_eq(e.notes[0].near, 2);
}
END_TEST

static const struct {
	enum policy_edit_op op;
	const char *entry, *msg;
} wrong[] = {
	{ ALLOW, "", "is not an entry" },
	{ ALLOW, "  # x", "is not an entry" },
	{ ALLOW, "a.org\nb.org", "control byte" },
	{ ALLOW, "a.org # x\nb.org", "control byte" },
	{ SET, "a.org # x\r", "control byte" },
	{ ALLOW, "a.org:99999", "99999" },
	{ ALLOW, "a.org b.org", "each entry stands on a line of its own" },
	{ DENY, "a.org private", "a denied entry has no words" },
	{ REMOVE, "*.*.org", "'*.*.org'" },
};

START_TEST(test_wrong)
{
	static const char text[] = "a.org\n";
	const char *const entries[] = { "b.org", wrong[_i].entry };
	struct policy_edited e = { 0 };
	struct err err = { 0 };

	ck_assert_int_eq(
		edit(wrong[_i].op, text, strlen(text), entries, 2, &e, &err),
		-EINVAL);
	ck_assert_msg(strstr(err.msg, wrong[_i].msg), "%s", err.msg);
	ck_assert_ptr_null(e.text);
	ck_assert_ptr_null(e.notes);
}
END_TEST

START_TEST(test_limits)
{
	static const char *entries[POLICY_EDIT_ENTRIES_MAX + 1];
	struct policy_edited e = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i] = "a.org";
	ck_assert_int_eq(
		edit(ALLOW, "", 0, entries, ARRAY_SIZE(entries), &e, NULL),
		-E2BIG);
	ck_assert_int_eq(
		edit(ALLOW, "", 0, entries, POLICY_EDIT_ENTRIES_MAX, &e, NULL),
		0);
	ck_assert_str_eq(e.text, "a.org\n");
	policy_edited_done(&e);
}
END_TEST

/* Many entries against many lines is one pass, not the product. */
START_TEST(test_many)
{
	enum { N = 20000, LEN = 24 };
	_cleanup_(policy_edited_done) struct policy_edited a = { 0 };
	_cleanup_(policy_edited_done) struct policy_edited b = { 0 };
	_cleanup_(freep) char *names = malloc((size_t)N * LEN);
	_cleanup_(freep) const char **v = calloc(N, sizeof(*v));
	size_t i;

	ck_assert(names && v);
	for (i = 0; i < N; i++) {
		v[i] = names + i * LEN;
		(void)snprintf(names + i * LEN, LEN, "h%zu.example.org", i);
	}
	ck_assert_int_eq(edit(SET, "", 0, v, N, &a, NULL), 0);
	ck_assert_int_eq(edit(ALLOW, a.text, a.len, v, N, &b, NULL), 0);
	ck_assert(!b.changed);
	policy_edited_done(&b);
	ck_assert_int_eq(edit(REMOVE, a.text, a.len, v, N, &b, NULL), 0);
	ck_assert_uint_eq(b.len, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("policy_edit");
	TCase *t = tcase_create("all");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_texts, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(t, test_again, 0, ARRAY_SIZE(cases));
	tcase_add_test(t, test_notes);
	tcase_add_test(t, test_near);
	tcase_add_loop_test(t, test_wrong, 0, ARRAY_SIZE(wrong));
	tcase_add_test(t, test_limits);
	tcase_add_test(t, test_many);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
