/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_sockets_scan.c - /proc/net/unix and mountinfo: parsers
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/mounts.h"
#include "netns/mounts_internal.h"
#include "netns/sockets_scan.h"

#define HEAD   "Num       RefCount Protocol Flags    Type St Inode Path\n"
#define LISTEN "ffff8880: 00000002 00000000 00010000 0001 01 12345"
#define CONN   "ffff8881: 00000003 00000000 00000000 0001 03    77"

static const struct {
	const char *what, *text;
	int r;
	size_t n, n_relative, n_abstract;
	const char *paths[4];
} scan_cases[] = {
	{ "nothing bound", HEAD, 0, 0, 0, 0, { NULL } },
	{ "no heading", LISTEN " /a\n", -EBADMSG, 0, 0, 0, { NULL } },
	{ "empty file", "", -EBADMSG, 0, 0, 0, { NULL } },
	{ "listening", HEAD LISTEN " /run/a\n", 0, 1, 0, 0, { "/run/a" } },
	{ "no final newline", HEAD LISTEN " /run/a", 0, 1, 0, 0, { "/run/a" } },
	{ "unnamed", HEAD CONN "\n" CONN "\n", 0, 0, 0, 0, { NULL } },
	{ "accepted ones once",
	  HEAD LISTEN " /b\n" CONN " /b\n" CONN " /a\n",
	  0,
	  2,
	  0,
	  0,
	  { "/a", "/b" } },
	{ "spaces",
	  HEAD LISTEN "  lead\n" LISTEN " /a b \n",
	  0,
	  1,
	  1,
	  0,
	  { "/a b " } },
	{ "abstract, relative",
	  HEAD LISTEN " @/tmp/x\n" LISTEN " a/b\n" LISTEN " @@\n",
	  0,
	  0,
	  1,
	  2,
	  { NULL } },
	{ "newline in a name",
	  HEAD LISTEN " /a\nb\n" LISTEN " /c\n",
	  0,
	  3,
	  0,
	  0,
	  { "/a", "/a\nb", "/c" } },
	{ "name that looks like a line",
	  HEAD LISTEN " /a\n" CONN " /forged\n",
	  0,
	  2,
	  0,
	  0,
	  { "/a", "/forged" } },
	{ "garbage first", HEAD "junk\n", -EBADMSG, 0, 0, 0, { NULL } },
	{ "cut columns",
	  HEAD "ffff8880: 00000002 0000000\n",
	  -EBADMSG,
	  0,
	  0,
	  0,
	  { NULL } },
};

START_TEST(test_scan)
{
	struct sockets_scan s = { 0 };
	struct err err = { 0 };
	int r = sockets_scan_parse(scan_cases[_i].text,
				   strlen(scan_cases[_i].text), &s, &err);

	ck_assert_msg(r == scan_cases[_i].r, "%s: %d", scan_cases[_i].what, r);
	ck_assert_uint_eq(s.n, scan_cases[_i].n);
	ck_assert_uint_eq(s.n_relative, scan_cases[_i].n_relative);
	ck_assert_uint_eq(s.n_abstract, scan_cases[_i].n_abstract);
	for (size_t i = 0; i < s.n; i++)
		ck_assert_str_eq(s.paths[i], scan_cases[_i].paths[i]);
	sockets_scan_done(&s);
}
END_TEST

START_TEST(test_scan_limit)
{
	_cleanup_(freep) char *text = NULL;
	struct sockets_scan s = { 0 };
	struct err err = { 0 };
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)fputs(HEAD, f);
	for (int i = 0; i <= SOCKETS_SCAN_PATHS_MAX; i++)
		(void)fprintf(f, LISTEN " /tmp/%d\n", i);
	(void)fclose(f);
	ck_assert_int_eq(sockets_scan_parse(text, len, &s, &err), -E2BIG);
	ck_assert_ptr_nonnull(strstr(err.msg, "4097 path sockets"));
	ck_assert_ptr_null(s.paths);
}
END_TEST

/* The real table, with a socket of ours in it. */
START_TEST(test_collect)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct err err = { 0 };
	bool found = false;
	char **paths;
	size_t n;
	int fd;

	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "/tmp/egret scan %d",
		       (int)getpid());
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	ck_assert_msg(mounts_collect_sockets(&paths, &n, &err) == 0, "%s",
		      err.msg);
	for (size_t i = 0; i < n; i++)
		found |= strcmp(paths[i], sun.sun_path) == 0;
	(void)unlink(sun.sun_path);
	ck_assert(found);
	mounts_free_paths(paths, n);
}
END_TEST

#define MOUNTS                                                  \
	"20 1 8:1 / / rw - ext4 /dev/a rw\n"                    \
	"21 20 8:2 / /home rw shared:1 - ext4 /dev/b rw\n"      \
	"22 20 8:2 /u/dir /mnt/a\\040b rw - ext4 /dev/b rw\n"   \
	"23 20 8:2 /u/dir/x/sub /mnt/sub rw - ext4 /dev/b rw\n" \
	"24 20 0:30 /u/dir/x /mnt/other rw - btrfs /dev/c rw\n" \
	"25 20 8:2 /u/dir2 /mnt/near rw - ext4 /dev/b rw\n"     \
	"26 20 8:2 / /mnt/whole rw - ext4 /dev/b rw\n"

static int collect_alias(void *ctx, const char *alias)
{
	(void)strcat(ctx, alias);
	(void)strcat(ctx, ";");
	return strcmp(alias, "/stop") == 0 ? -ECANCELED : 0;
}

START_TEST(test_mountinfo)
{
	struct mountinfo m = { 0 };
	char found[256] = "";

	ck_assert_int_eq(mountinfo_parse(MOUNTS, strlen(MOUNTS), &m), 0);
	ck_assert_uint_eq(m.n, 7);
	ck_assert_uint_eq(m.entries[1].dev, makedev(8, 2));
	ck_assert_str_eq(m.entries[2].point, "/mnt/a b");
	ck_assert_str_eq(m.entries[1].type, "ext4"); /* behind "shared:1" */
	ck_assert_str_eq(m.entries[4].type, "btrfs");
	ck_assert_int_eq(
		mountinfo_aliases(&m, "/home/u/dir/x", collect_alias, found),
		0);
	ck_assert_str_eq(found, "/mnt/a b/x;/mnt/sub;/mnt/whole/u/dir/x;");
	found[0] = '\0';
	ck_assert_int_eq(
		mountinfo_aliases(&m, "/mnt/near/f", collect_alias, found), 0);
	ck_assert_str_eq(found, "/home/u/dir2/f;/mnt/whole/u/dir2/f;");
	found[0] = '\0';
	ck_assert_int_eq(mountinfo_aliases(&m, "/etc", collect_alias, found),
			 0);
	ck_assert_str_eq(found, "");
	mountinfo_done(&m);
}
END_TEST

START_TEST(test_mountinfo_bad)
{
	static const char *const bad[] = {
		"20 1 8:1 /\n",	     "\n",
		"20 1 8-1 / / rw\n", "20 1 8: / / rw\n",
		"20 1 :1 / / rw\n",  "20 1 x:1 / / rw\n",
	};
	struct mountinfo m = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(mountinfo_parse(bad[i], strlen(bad[i]), &m),
				 -EBADMSG);
	ck_assert_ptr_null(m.entries);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sockets_scan");
	TCase *tc = tcase_create("parse");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_add_loop_test(tc, test_scan, 0, ARRAY_SIZE(scan_cases));
	tcase_add_test(tc, test_scan_limit);
	tcase_add_test(tc, test_collect);
	tcase_add_test(tc, test_mountinfo);
	tcase_add_test(tc, test_mountinfo_bad);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
