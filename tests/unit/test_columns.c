/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_columns.c - tables on standard output */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cmd/columns.h"

/* What columns_print() writes. */
static const char *printed(const struct columns *c, int indent)
{
	static char text[4096];
	char path[] = "/tmp/egret-test-XXXXXX";
	int fd = mkstemp(path), saved = dup(STDOUT_FILENO);
	ssize_t n;

	ck_assert(fd >= 0 && saved >= 0 && unlink(path) == 0);
	(void)fflush(stdout);
	ck_assert_int_ge(dup2(fd, STDOUT_FILENO), 0);
	ck_assert_int_eq(columns_print(c, indent), 0);
	(void)fflush(stdout);
	ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
	n = pread(fd, text, sizeof(text) - 1, 0);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	fd_closep(&fd);
	fd_closep(&saved);
	return text;
}

START_TEST(as_wide_as_needed)
{
	struct columns c = {
		.n = 3,
		.heads = { "ID", "FLOWS", "COMMAND" },
		.is_right = { false, true },
	};

	ck_assert_str_eq(printed(&c, 0), "ID  FLOWS  COMMAND\n");
	columns_add(&c, "%s", "study42");
	columns_add(&c, "%d", 7);
	columns_add(&c, "%s", "a b");
	columns_add(&c, "%s", "b\xc3\xbc");
	columns_add(&c, "%d", 1234567);
	columns_add(&c, "%s", "\033[31mred\n");
	ck_assert_str_eq(printed(&c, 2),
			 "  ID         FLOWS  COMMAND\n"
			 "  study42        7  a b\n"
			 "  b\xc3\xbc       1234567  ?[31mred?\n");
	columns_done(&c);
}
END_TEST

START_TEST(many_rows)
{
	struct columns c = { .n = 1, .heads = { "N" } };

	for (int i = 0; i < 500; i++)
		columns_add(&c, "%d", i);
	ck_assert_ptr_nonnull(strstr(printed(&c, 0), "\n499\n"));
	columns_done(&c);
	columns_done(&c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("columns");
	TCase *tc = tcase_create("tables");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, as_wide_as_needed);
	tcase_add_test(tc, many_rows);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
