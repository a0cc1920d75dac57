/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

START_TEST(set_fills_and_returns_the_code)
{
	struct err err = { 0 };

	ck_assert_int_eq(err_set(&err, -EINVAL, "bad %s %d", "port", 7),
			 -EINVAL);
	ck_assert_int_eq(err.code, -EINVAL);
	ck_assert_str_eq(err.msg, "bad port 7");
}
END_TEST

START_TEST(null_err_passes_the_code)
{
	ck_assert_int_eq(err_set(NULL, -EIO, "x"), -EIO);
	ck_assert_int_eq(err_set_errno(NULL, -EIO, "x"), -EIO);
	ck_assert_int_eq(err_wrap(NULL, -EIO, "x"), -EIO);
}
END_TEST

START_TEST(set_errno_appends_the_text)
{
	struct err err = { 0 };

	ck_assert_int_eq(err_set_errno(&err, -ENOENT, "cannot open '%s'", "f"),
			 -ENOENT);
	ck_assert_str_eq(err.msg, "cannot open 'f': No such file or directory");
}
END_TEST

START_TEST(wrap_puts_context_in_front)
{
	struct err err = { 0 };
	int r = err_set(&err, -EPERM, "no");

	ck_assert_int_eq(err_wrap(&err, r, "while pinning %s", "netns"),
			 -EPERM);
	ck_assert_str_eq(err.msg, "while pinning netns: no");
	ck_assert_int_eq(err.code, -EPERM);
}
END_TEST

START_TEST(wrap_takes_the_old_message_as_argument)
{
	struct err err = { 0 };

	(void)err_set(&err, -EPERM, "no");
	(void)err_wrap(&err, -EPERM, "<%s>", err.msg);
	ck_assert_str_eq(err.msg, "<no>: no");
}
END_TEST

START_TEST(long_messages_are_cut)
{
	char text[2 * ERR_MSG_MAX];
	struct err err = { 0 };

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)err_set(&err, -EIO, "%s", text);
	ck_assert_uint_eq(strlen(err.msg), ERR_MSG_MAX - 1);
	(void)err_set_errno(&err, -EIO, "%s", text);
	ck_assert_uint_eq(strlen(err.msg), ERR_MSG_MAX - 1);
	(void)err_wrap(&err, -EIO, "front");
	ck_assert_uint_eq(strlen(err.msg), ERR_MSG_MAX - 1);
	ck_assert(strncmp(err.msg, "front: xxx", 10) == 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("err");
	TCase *tc = tcase_create("err");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, set_fills_and_returns_the_code);
	tcase_add_test(tc, null_err_passes_the_code);
	tcase_add_test(tc, set_errno_appends_the_text);
	tcase_add_test(tc, wrap_puts_context_in_front);
	tcase_add_test(tc, wrap_takes_the_old_message_as_argument);
	tcase_add_test(tc, long_messages_are_cut);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
