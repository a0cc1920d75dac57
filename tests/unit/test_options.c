/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_options.c - every form of an option, and what is none */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/options.h"

struct target {
	bool quiet, root;
	const char *project;
	struct option_list allow, env;
};

static const struct option_spec specs[] = {
	{ "quiet", 'q', OPTION_FLAG, NULL, "print nothing",
	  offsetof(struct target, quiet) },
	{ "root", 0, OPTION_FLAG, NULL, "be root",
	  offsetof(struct target, root) },
	{ "project", 'p', OPTION_STRING, "NAME", "use it",
	  offsetof(struct target, project) },
	{ "allow", 'a', OPTION_LIST, "ENTRY", "allow it",
	  offsetof(struct target, allow) },
	{ "env", 0, OPTION_LIST, "NAME[=VALUE]", "set it",
	  offsetof(struct target, env) },
};

static struct target t;

static void setup(void)
{
	memset(&t, 0, sizeof(t));
}

static void teardown(void)
{
	options_done(specs, ARRAY_SIZE(specs), &t);
	ck_assert_ptr_null(t.allow.v);
	ck_assert_uint_eq(t.allow.n, 0);
}

#define ARGS_MAX 16

/* Parses words separated by blanks; "~" is an empty word. */
static int parse(const char *line, struct err *err)
{
	static char copy[512];
	char *argv[ARGS_MAX + 1] = { NULL }, *save = NULL, *word;
	int argc = 0;

	(void)snprintf(copy, sizeof(copy), "run %s", line);
	for (word = strtok_r(copy, " ", &save); word && argc < ARGS_MAX;
	     word = strtok_r(NULL, " ", &save)) {
		if (!strcmp(word, "~"))
			*word = '\0';
		argv[argc++] = word;
	}
	return options_parse(specs, ARRAY_SIZE(specs), &t, argc, argv, err);
}

START_TEST(where_options_end)
{
	static const struct {
		const char *line;
		int want;
	} tests[] = {
		{ "", 1 },
		{ "cmd", 1 },
		{ "-q", 2 },
		{ "-q cmd -q", 2 },
		{ "-q -- -q", 3 },
		{ "--", 2 },
		{ "-", 1 }, /* a word like any other */
		{ "~", 1 }, /* and so is the empty one */
		{ "-p x -a y cmd", 5 },
		{ "-p -- cmd", 3 }, /* "--" is the value */
		{ "-pNAME cmd", 2 },
		{ "--project=NAME cmd", 2 },
		{ "--project NAME cmd", 3 },
		{ "--root --quiet", 3 },
		{ "-a --help cmd", 3 }, /* a value too */
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		struct err err = { 0 };

		ck_assert_msg(parse(tests[i].line, &err) == tests[i].want,
			      "%s: %s", tests[i].line, err.msg);
		ck_assert_int_eq(err.code, 0);
	}
}
END_TEST

START_TEST(values)
{
	ck_assert_int_eq(parse("-q -pone --project=two -a a.example "
			       "--allow=b.example:1 -ac.example --env A=B=C "
			       "--allow= -p ~",
			       NULL),
			 13);
	ck_assert(t.quiet);
	ck_assert(!t.root);
	ck_assert_str_eq(t.project, "");
	ck_assert_uint_eq(t.allow.n, 4);
	ck_assert_str_eq(t.allow.v[0], "a.example");
	ck_assert_str_eq(t.allow.v[1], "b.example:1");
	ck_assert_str_eq(t.allow.v[2], "c.example");
	ck_assert_str_eq(t.allow.v[3], "");
	ck_assert_uint_eq(t.env.n, 1);
	ck_assert_str_eq(t.env.v[0], "A=B=C");
}
END_TEST

START_TEST(errors)
{
	static const struct {
		const char *line, *want;
	} tests[] = {
		{ "--nothing", "there is no option '--nothing'" },
		{ "-x", "there is no option '-x'" },
		{ "--quie", "there is no option '--quie'" },
		{ "--quietly", "there is no option '--quietly'" },
		{ "--=x", "there is no option '--=x'" },
		{ "---", "there is no option '---'" },
		{ "-hq", "there is no option '-hq'" },
		{ "--help=x", "there is no option '--help=x'" },
		{ "--quiet=yes", "--quiet takes no value" },
		{ "--quiet=", "--quiet takes no value" },
		{ "-qq", "--quiet takes no value" },
		{ "-q --project", "--project needs a value (NAME)" },
		{ "-p", "--project needs a value (NAME)" },
		{ "--env", "--env needs a value (NAME[=VALUE])" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		struct err err = { 0 };

		ck_assert_int_eq(parse(tests[i].line, &err), -EINVAL);
		ck_assert_str_eq(err.msg, tests[i].want);
	}
}
END_TEST

START_TEST(help_anywhere)
{
	ck_assert_int_eq(parse("--help", NULL), -ECANCELED);
	ck_assert_int_eq(parse("-q -a x -h cmd", NULL), -ECANCELED);
	ck_assert_int_eq(parse("cmd --help", NULL), 1);
	ck_assert_int_eq(parse("-- --help", NULL), 2);
}
END_TEST

START_TEST(lists_are_bounded)
{
	static char word[] = "-ax", name[] = "run";
	static char *argv[OPTION_VALUES_MAX + 2];
	struct err err = { 0 };
	int n = OPTION_VALUES_MAX + 1;

	argv[0] = name;
	for (int i = 1; i <= n; i++)
		argv[i] = word;
	ck_assert_int_eq(
		options_parse(specs, ARRAY_SIZE(specs), &t, n, argv, &err), n);
	ck_assert_uint_eq(t.allow.n, OPTION_VALUES_MAX);
	ck_assert_int_lt(
		options_parse(specs, ARRAY_SIZE(specs), &t, 2, argv, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "too many --allow"));
}
END_TEST

START_TEST(help_text)
{
	char text[2048];
	FILE *f = tmpfile();
	size_t n;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(dup2(fileno(f), STDOUT_FILENO), 0);
	options_help(specs, ARRAY_SIZE(specs));
	ck_assert_int_eq(fflush(stdout), 0);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	ck_assert_str_eq(text, "  -q, --quiet                  print nothing\n"
			       "      --root                   be root\n"
			       "  -p, --project NAME           use it\n"
			       "  -a, --allow ENTRY            allow it\n"
			       "      --env NAME[=VALUE]       set it\n"
			       "  -h, --help                   show this "
			       "help\n");
	(void)fclose(f);
}
END_TEST

/* Operands of a line, joined by '|', or the sentence. */
static const char *parse_all(const char *line)
{
	static char copy[512], joined[512];
	char *argv[ARGS_MAX + 1] = { NULL }, *save = NULL, *word;
	struct err err = { 0 };
	int argc = 0, n;

	(void)snprintf(copy, sizeof(copy), "show %s", line);
	for (word = strtok_r(copy, " ", &save); word && argc < ARGS_MAX;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	n = options_parse_all(specs, ARRAY_SIZE(specs), &t, argc, argv, &err);
	(void)snprintf(joined, sizeof(joined), "%s", n < 0 ? err.msg : "");
	for (int k = 1; k <= n; k++) {
		(void)strcat(joined, k > 1 ? "|" : "");
		(void)strcat(joined, argv[k]);
	}
	return n == -ECANCELED ? "help" : joined;
}

START_TEST(among_operands)
{
	ck_assert_str_eq(parse_all(""), "");
	ck_assert_str_eq(parse_all("a b"), "a|b");
	ck_assert(!t.quiet);
	ck_assert_str_eq(parse_all("a --quiet b -p x"), "a|b");
	ck_assert(t.quiet);
	ck_assert_str_eq(t.project, "x");
	ck_assert_str_eq(parse_all("--root a"), "a");
	ck_assert(t.root);
	ck_assert_str_eq(parse_all("-- --root -- b"), "--root|--|b");
	ck_assert_str_eq(parse_all("a -- -b"), "a|-b");
	ck_assert_str_eq(parse_all("a --"), "a");
	ck_assert_str_eq(parse_all("--"), "");
	ck_assert_str_eq(parse_all("a --nope"), "there is no option '--nope'");
	ck_assert_str_eq(parse_all("a -h"), "help");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("options");
	TCase *tc = tcase_create("options");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, where_options_end);
	tcase_add_test(tc, values);
	tcase_add_test(tc, errors);
	tcase_add_test(tc, help_anywhere);
	tcase_add_test(tc, lists_are_bounded);
	tcase_add_test(tc, help_text);
	tcase_add_test(tc, among_operands);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
