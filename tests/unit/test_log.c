/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

struct seen {
	int n;
	enum log_level level;
	char line[4096];
};

static void remember(void *ctx, enum log_level level, const char *line)
{
	struct seen *s = ctx;

	s->n++;
	s->level = level;
	(void)snprintf(s->line, sizeof(s->line), "%s", line);
	errno = ENOTTY;
}

START_TEST(levels_above_the_limit_are_not_printed)
{
	struct seen s = { 0 };

	log_set_sink(remember, &s);
	log_debug("no");
	ck_assert_int_eq(s.n, 0);
	log_info("yes %d", 1);
	ck_assert_int_eq(s.n, 1);
	ck_assert_str_eq(s.line, "yes 1");
	ck_assert_int_eq(s.level, LOG_LEVEL_INFO);
	log_set_level(LOG_LEVEL_ERR);
	log_warn("no");
	ck_assert_int_eq(s.n, 1);
	log_err("e");
	ck_assert_int_eq(s.n, 2);
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("d");
	ck_assert_int_eq(s.n, 3);
}
END_TEST

START_TEST(errno_is_kept)
{
	struct seen s = { 0 };

	log_set_sink(remember, &s);
	errno = EAGAIN;
	log_err("x");
	ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

START_TEST(a_line_goes_to_stderr_in_one_write)
{
	_cleanup_(fd_closep) int in = -1;
	char buf[256];
	int pipefd[2];
	ssize_t n;

	ck_assert_int_eq(pipe(pipefd), 0);
	in = pipefd[0];
	ck_assert_int_eq(dup2(pipefd[1], STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(close(pipefd[1]), 0);
	log_warn("one line");
	n = read(in, buf, sizeof(buf));
	ck_assert_int_eq(n, 16);
	ck_assert_mem_eq(buf, "egret: one line\n", 16);
}
END_TEST

START_TEST(long_lines_are_cut)
{
	struct seen s = { 0 };
	char text[4000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_set_sink(remember, &s);
	log_err("%s", text);
	ck_assert_uint_lt(strlen(s.line), 2048);
}
END_TEST

static const struct {
	const char *name;
	const char *src;
	size_t len;
	size_t size;
	const char *want;
} escapes[] = {
	{ "plain", "abc ~", 5, 64, "abc ~" },
	{ "empty", "", 0, 64, "" },
	{ "newline", "a\nb", 3, 64, "a\\x0Ab" },
	{ "escape sequence", "\033[2J", 4, 64, "\\x1B[2J" },
	{ "backslash", "\\x41", 4, 64, "\\x5Cx41" },
	{ "del and nul", "\177\0z", 3, 64, "\\x7F\\x00z" },
	{ "utf-8", "\xc3\xa9", 2, 64, "\\xC3\\xA9" },
	{ "c1 control", "\x9b", 1, 64, "\\x9B" },
	{ "cut", "abcdef", 6, 4, "abc" },
	{ "no half escape", "ab\n", 3, 6, "ab" },
	{ "escape that just fits", "ab\n", 3, 7, "ab\\x0A" },
	{ "room for the end only", "abc", 3, 1, "" },
};

START_TEST(escapes_untrusted_bytes)
{
	char dst[64];

	memset(dst, '#', sizeof(dst));
	ck_assert_ptr_eq(log_escape(dst, escapes[_i].size, escapes[_i].src,
				    escapes[_i].len),
			 dst);
	ck_assert_msg(strcmp(dst, escapes[_i].want) == 0, "%s: '%s'",
		      escapes[_i].name, dst);
}
END_TEST

START_TEST(escape_into_nothing)
{
	char c = '#';

	(void)log_escape(&c, 0, "abc", 3);
	ck_assert_int_eq(c, '#');
}
END_TEST

int main(void)
{
	Suite *s = suite_create("log");
	TCase *tc = tcase_create("log");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, levels_above_the_limit_are_not_printed);
	tcase_add_test(tc, errno_is_kept);
	tcase_add_test(tc, a_line_goes_to_stderr_in_one_write);
	tcase_add_test(tc, long_lines_are_cut);
	tcase_add_loop_test(tc, escapes_untrusted_bytes, 0,
			    ARRAY_SIZE(escapes));
	tcase_add_test(tc, escape_into_nothing);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
