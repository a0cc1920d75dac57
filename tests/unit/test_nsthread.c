/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_nsthread.c - the helper thread, on the real kernel */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "netns/nsthread.h"

#include "base/cleanup.h"

#include "tests/unit/userns.h"

static int netns_inode(void *arg, struct err *err)
{
	struct stat st;

	(void)err;
	if (stat("/proc/thread-self/ns/net", &st) < 0)
		return -errno;
	*(ino_t *)arg = st.st_ino;
	return 7;
}

static int fails(void *arg, struct err *err)
{
	(void)arg;
	return err_set(err, -EBUSY, "no luck");
}

static int are_signals_blocked(void *arg, struct err *err)
{
	sigset_t set;

	(void)arg;
	(void)err;
	(void)pthread_sigmask(SIG_SETMASK, NULL, &set);
	return sigismember(&set, SIGCHLD) && sigismember(&set, SIGTERM);
}

START_TEST(new_namespace)
{
	_cleanup_(nsthread_freep) struct nsthread *t = NULL;
	struct err err = { .code = 0 };
	ino_t before, inside, after;
	struct stat st;

	if (!userns_enter(0, true))
		return;
	(void)netns_inode(&before, NULL);
	ck_assert_msg(nsthread_new(&t, -1, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(nsthread_call(t, netns_inode, &inside, &err), 7);
	(void)netns_inode(&after, NULL);
	ck_assert_int_eq(before, after);
	ck_assert_int_ne(before, inside);
	ck_assert_int_eq(fstat(nsthread_netns_fd(t), &st), 0);
	ck_assert_int_eq(st.st_ino, inside);
	ck_assert_int_eq(fcntl(nsthread_netns_fd(t), F_GETFD), FD_CLOEXEC);
}
END_TEST

START_TEST(results_and_errors)
{
	_cleanup_(nsthread_freep) struct nsthread *t = NULL;
	struct err err = { .code = 0 };

	if (!userns_enter(0, true))
		return;
	ck_assert_msg(nsthread_new(&t, -1, &err) == 0, "%s", err.msg);
	ck_assert_int_eq(nsthread_call(t, fails, NULL, &err), -EBUSY);
	ck_assert_str_eq(err.msg, "no luck");
	ck_assert_int_eq(nsthread_call(t, fails, NULL, NULL), -EBUSY);
	ck_assert_int_eq(nsthread_call(t, are_signals_blocked, NULL, &err), 1);
	ck_assert_int_eq(are_signals_blocked(NULL, NULL), 0);
}
END_TEST

START_TEST(enters_an_existing_one)
{
	_cleanup_(nsthread_freep) struct nsthread *a = NULL;
	_cleanup_(nsthread_freep) struct nsthread *b = NULL;
	struct err err = { .code = 0 };
	ino_t in_a, in_b;

	if (!userns_enter(0, true))
		return;
	ck_assert_int_eq(nsthread_new(&a, -1, &err), 0);
	/* As the gateway, whose /proc files nobody else can open. */
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
	ck_assert_int_eq(setns(nsthread_netns_fd(a), CLONE_NEWNET), 0);
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	ck_assert_msg(nsthread_new(&b, nsthread_netns_fd(a), &err) == 0, "%s",
		      err.msg);
	(void)nsthread_call(a, netns_inode, &in_a, &err);
	(void)nsthread_call(b, netns_inode, &in_b, &err);
	ck_assert_int_eq(in_a, in_b);
}
END_TEST

START_TEST(failures_are_explained)
{
	_cleanup_(nsthread_freep) struct nsthread *t = NULL;
	struct err err = { .code = 0 };
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (!userns_enter(0, true))
		return;
	ck_assert_int_eq(nsthread_new(&t, fd, &err), -EINVAL);
	ck_assert_ptr_null(t);
	ck_assert_ptr_nonnull(strstr(err.msg, "network namespace"));

	ck_assert_int_eq(
		userns_sh("echo 0 > /proc/sys/user/max_net_namespaces"), 0);
	ck_assert_int_eq(nsthread_new(&t, -1, &err), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(err.msg, "user.max_net_namespaces"));
	ck_assert_ptr_null(t);
	(void)close(fd);
}
END_TEST

START_TEST(not_permitted)
{
	struct nsthread *t = NULL;
	struct err err = { .code = 0 };

	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(1234, 1234, 1234), 0);
	ck_assert_int_eq(nsthread_new(&t, -1, &err), -EPERM);
	ck_assert_ptr_nonnull(strstr(err.msg, "no network namespaces"));
	ck_assert_ptr_null(t);
	nsthread_free(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nsthread");
	TCase *tc = tcase_create("kernel");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, new_namespace);
	tcase_add_test(tc, results_and_errors);
	tcase_add_test(tc, enters_an_existing_one);
	tcase_add_test(tc, failures_are_explained);
	tcase_add_test(tc, not_permitted);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
