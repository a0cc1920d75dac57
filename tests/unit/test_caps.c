/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_caps.c - capability sets, as /proc shows them, and over an execve() */
#include <fcntl.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "netns/caps.h"

#include "tests/unit/userns.h"

#define NET_ADMIN_ONLY "0000000000001000"
#define NONE	       "0000000000000000"

/* One value of a /proc/.../status text. */
static void field(const char *text, const char *key, char ret[static 32])
{
	const char *at = strstr(text, key);

	ck_assert_msg(at != NULL, "no %s", key);
	ck_assert_int_eq(sscanf(at + strlen(key), " %31s", ret), 1);
}

static void read_status(FILE *f, char *text, size_t size)
{
	ck_assert_ptr_nonnull(f);
	text[fread(text, 1, size - 1, f)] = '\0';
}

static void expect_own(const char *key, const char *want)
{
	char text[8192], got[32];
	FILE *f = fopen("/proc/thread-self/status", "re");

	read_status(f, text, sizeof(text));
	(void)fclose(f);
	field(text, key, got);
	ck_assert_msg(strcmp(got, want) == 0, "%s %s, not %s", key, got, want);
}

START_TEST(keep_only_net_admin)
{
	struct err err = { .code = 0 };

	if (!userns_enter(0, true))
		return;
	/* Twice: there is nothing to drop, and no CAP_SETPCAP, then. */
	for (int i = 0; i < 2; i++) {
		ck_assert_msg(caps_keep_only_net_admin(&err) == 0, "%s",
			      err.msg);
		expect_own("CapPrm:", NET_ADMIN_ONLY);
		expect_own("CapEff:", NET_ADMIN_ONLY);
		expect_own("CapInh:", NONE);
		expect_own("CapBnd:", NONE);
		expect_own("CapAmb:", NONE);
	}
	ck_assert_int_eq(caps_drop_all(&err), 0);
	expect_own("CapPrm:", NONE);
	ck_assert_int_eq(caps_keep_only_net_admin(&err), -EPERM);
}
END_TEST

START_TEST(drop_all_clears_ambient)
{
	struct err err = { .code = 0 };

	if (!userns_enter(0, false))
		return;
	ck_assert_msg(caps_keep_all_on_exec(&err) == 0, "%s", err.msg);
	ck_assert_msg(caps_drop_all(&err) == 0, "%s", err.msg);
	expect_own("CapPrm:", NONE);
	expect_own("CapEff:", NONE);
	expect_own("CapInh:", NONE);
	expect_own("CapBnd:", NONE);
	expect_own("CapAmb:", NONE);
}
END_TEST

START_TEST(no_new_privs)
{
	struct err err = { .code = 0 };

	ck_assert_int_eq(caps_no_new_privs(&err), 0);
	ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
}
END_TEST

/* The effective set of a program that this process executes. */
static void eff_after_exec(char ret[static 32])
{
	char text[8192];
	FILE *f;

	f = popen("/bin/cat /proc/self/status", "re");
	read_status(f, text, sizeof(text));
	ck_assert_int_eq(pclose(f), 0);
	field(text, "CapEff:", ret);
}

/* Root and an ordinary uid keep everything, in spite of no_new_privs. */
START_TEST(kept_on_exec)
{
	bool as_root = _i;
	struct err err = { .code = 0 };
	char before[8192], want[32], got[32];
	FILE *f;

	if (!userns_enter(0, as_root))
		return;
	f = fopen("/proc/self/status", "re");
	read_status(f, before, sizeof(before));
	(void)fclose(f);
	field(before, "CapPrm:", want);
	ck_assert_str_ne(want, NONE);

	ck_assert_int_eq(caps_no_new_privs(&err), 0);
	ck_assert_msg(caps_keep_all_on_exec(&err) == 0, "%s", err.msg);
	eff_after_exec(got);
	ck_assert_str_eq(got, want);
	if (as_root) {
		expect_own("CapInh:", NONE);
		expect_own("CapAmb:", NONE);
	}
}
END_TEST

/* What root's execve() gives is cut to what was permitted before it. */
START_TEST(lost_on_exec)
{
	struct err err = { .code = 0 };
	char got[32];

	if (!userns_enter(0, true))
		return;
	ck_assert_int_eq(caps_no_new_privs(&err), 0);
	ck_assert_int_eq(caps_drop_all(&err), 0);
	eff_after_exec(got);
	ck_assert_str_eq(got, NONE);
}
END_TEST

/* Without CAP_SETPCAP a bounding set can't be emptied; that must be told. */
START_TEST(not_permitted)
{
	struct err err = { .code = 0 };

	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(1234, 1234, 1234), 0);
	if (cap_get_bound(CAP_NET_ADMIN) != 1)
		return;
	ck_assert_int_eq(caps_drop_all(&err), -EPERM);
	ck_assert_ptr_nonnull(strstr(err.msg, "bounding"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("caps");
	TCase *tc = tcase_create("kernel");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, keep_only_net_admin);
	tcase_add_test(tc, drop_all_clears_ambient);
	tcase_add_test(tc, no_new_privs);
	tcase_add_loop_test(tc, kept_on_exec, 0, 2);
	tcase_add_test(tc, lost_on_exec);
	tcase_add_test(tc, not_permitted);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
