/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_environment.c - what the command's environment is made of */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/environment.h"

static struct environment env;

static void setup(void)
{
	static char path[] = "PATH=/bin", home[] = "HOME=/h",
		    secret[] = "SECRET=s", odd[] = "NO_VALUE",
		    old[] = "EGRET=outer", longer[] = "PATHS=no";
	static char *vars[] = { path, home, secret, odd, old, longer, NULL };

	environ = vars;
	memset(&env, 0, sizeof(env));
}

static void teardown(void)
{
	environment_done(&env);
	ck_assert_ptr_null(env.v);
	environment_done(&env);
}

static const char *get(const char *name)
{
	size_t len = strlen(name);
	const char *found = NULL;

	ck_assert_ptr_null(env.v[env.n]);
	for (size_t i = 0; i < env.n; i++) {
		if (strncmp(env.v[i], name, len) != 0 || env.v[i][len] != '=')
			continue;
		ck_assert_ptr_null(found); /* once only */
		found = env.v[i] + len + 1;
	}
	return found;
}

static void build(bool clear, const char *const *set, size_t n)
{
	struct err err = { 0 };

	ck_assert_int_eq(
		environment_build(&env, "study42", clear, set, n, &err), 0);
	ck_assert_str_eq(get("EGRET"), "study42");
	ck_assert_ptr_nonnull(
		strstr(get("EGRET_NOTICE"), "egret allow study42 HOST"));
}

START_TEST(inherited)
{
	build(false, NULL, 0);
	ck_assert_uint_eq(env.n, 7);
	ck_assert_str_eq(get("PATH"), "/bin");
	ck_assert_str_eq(get("PATHS"), "no");
	ck_assert_str_eq(get("SECRET"), "s");
}
END_TEST

START_TEST(cleared)
{
	build(true, NULL, 0);
	ck_assert_uint_eq(env.n, 4);
	ck_assert_str_eq(get("PATH"), "/bin");
	ck_assert_str_eq(get("HOME"), "/h");
	ck_assert_ptr_null(get("SECRET"));
	ck_assert_ptr_null(get("PATHS"));
}
END_TEST

START_TEST(set_and_kept)
{
	static const char *const set[] = { "SECRET",	"NEW=a=b", "HOME=/x",
					   "EMPTY=",	"ABSENT",  "HOME=/y",
					   "EGRET=fake" };

	build(true, set, ARRAY_SIZE(set));
	ck_assert_str_eq(get("SECRET"), "s");
	ck_assert_str_eq(get("NEW"), "a=b");
	ck_assert_str_eq(get("HOME"), "/y");
	ck_assert_str_eq(get("EMPTY"), "");
	ck_assert_ptr_null(get("ABSENT"));
	ck_assert_uint_eq(env.n, 7);
}
END_TEST

START_TEST(no_name)
{
	static const char *const bad[] = { "", "=", "=value" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = { 0 };

		ck_assert_int_eq(
			environment_build(&env, "x", false, &bad[i], 1, &err),
			-EINVAL);
		ck_assert_ptr_nonnull(
			strstr(err.msg, "--env wants NAME or NAME=VALUE"));
		environment_done(&env);
	}
}
END_TEST

START_TEST(no_environment)
{
	environ = NULL;
	build(false, NULL, 0);
	ck_assert_uint_eq(env.n, 2);
	environment_done(&env);
	build(true, NULL, 0);
	ck_assert_uint_eq(env.n, 2);
}
END_TEST

START_TEST(longest_id)
{
	char id[64];
	struct err err = { 0 };

	memset(id, 'i', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	ck_assert_int_eq(environment_build(&env, id, false, NULL, 0, &err), 0);
	ck_assert_str_eq(get("EGRET"), id);
	ck_assert_ptr_nonnull(strstr(get("EGRET_NOTICE"), " HOST"));
	ck_assert_ptr_nonnull(strstr(get("EGRET_NOTICE"), id));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("environment");
	TCase *tc = tcase_create("environment");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, inherited);
	tcase_add_test(tc, cleared);
	tcase_add_test(tc, set_and_kept);
	tcase_add_test(tc, no_name);
	tcase_add_test(tc, no_environment);
	tcase_add_test(tc, longest_id);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
