/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_procfind.c - a tree of real processes, one of which has the socket */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/procfind.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"

/* What a process at the end of the tree says of itself. */
struct report {
	pid_t pid;
	uint64_t inode;
};

enum tree {
	TREE_CHILD,	 /* the child has the socket */
	TREE_GRANDCHILD, /* its child, beside others without */
	TREE_THREAD,	 /* a child of a thread of the child's */
	TREE_MAX,
};

static void hold(int report_fd, const char *comm)
{
	struct report r = { .pid = getpid() };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		_exit(1);
	r.inode = st.st_ino;
	(void)prctl(PR_SET_NAME, comm);
	if (write(report_fd, &r, sizeof(r)) != (ssize_t)sizeof(r))
		_exit(1);
	for (;;)
		(void)pause();
}

static void fork_idle(void)
{
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
}

static void fork_holder(int report_fd, const char *comm)
{
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		hold(report_fd, comm);
	}
}

struct thread_arg {
	int report_fd;
	const char *comm;
};

static void *in_thread(void *arg)
{
	const struct thread_arg *a = arg;

	fork_holder(a->report_fd, a->comm);
	for (;;)
		(void)pause();
	return NULL;
}

static pid_t start(enum tree tree, const char *comm, struct report *ret)
{
	pid_t pid;
	int p[2];

	ck_assert_int_eq(pipe(p), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct thread_arg arg = { p[1], comm };
		pthread_t t;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		switch (tree) {
		case TREE_GRANDCHILD:
			fork_idle();
			fork_holder(p[1], comm);
			fork_idle();
			break;
		case TREE_THREAD:
			(void)pthread_create(&t, NULL, in_thread, &arg);
			break;
		case TREE_CHILD:
		case TREE_MAX:
			hold(p[1], comm);
		}
		for (;;)
			(void)pause();
	}
	ck_assert_int_eq(read(p[0], ret, sizeof(*ret)), sizeof(*ret));
	(void)close(p[0]);
	(void)close(p[1]);
	return pid;
}

static void end(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(finds_in_trees)
{
	struct procfind_hit hit = { .pid = -1 };
	struct report r;
	struct procfind f;
	pid_t root = start((enum tree)_i, "na\033me", &r);

	procfind_init(&f, root);
	ck_assert(!procfind_socket(&f, r.inode + 1000000, &hit));
	ck_assert_int_eq(hit.pid, -1);
	ck_assert(!procfind_socket(&f, 0, &hit));
	ck_assert(procfind_socket(&f, r.inode, &hit));
	ck_assert_int_eq(hit.pid, r.pid);
	ck_assert_str_eq(hit.comm, "na\033me");
	ck_assert_int_eq(f.last, r.pid);
	ck_assert(procfind_socket(&f, r.inode, &hit));
	ck_assert_int_eq(hit.pid, r.pid);
	end(root);
	/* Others end a moment after it. */
	if (r.pid == root)
		ck_assert(!procfind_socket(&f, r.inode, &hit));
}
END_TEST

START_TEST(only_below_the_root)
{
	struct procfind_hit hit;
	struct report r, other;
	struct procfind f;
	pid_t root = start(TREE_CHILD, "a", &r);
	pid_t stranger = start(TREE_CHILD, "b", &other);

	procfind_init(&f, root);
	ck_assert(!procfind_socket(&f, other.inode, &hit));
	procfind_init(&f, 0);
	ck_assert(!procfind_socket(&f, r.inode, &hit));
	end(root);
	end(stranger);
}
END_TEST

START_TEST(longest_name)
{
	struct procfind_hit hit;
	struct report r;
	struct procfind f;
	pid_t root = start(TREE_CHILD, "123456789012345", &r);

	procfind_init(&f, root);
	ck_assert(procfind_socket(&f, r.inode, &hit));
	ck_assert_str_eq(hit.comm, "123456789012345");
	end(root);
}
END_TEST

/* Look-ups that find nothing use the share of the time up, then it refills. */
START_TEST(time_is_shared_out)
{
	struct procfind_hit hit;
	struct report r;
	struct procfind f;
	pid_t root = start(TREE_CHILD, "a", &r);

	procfind_init(&f, root);
	f.credit_us = 0;
	ck_assert(!procfind_socket(&f, r.inode, &hit));
	f.refilled_us -= 1000000;
	ck_assert(procfind_socket(&f, r.inode, &hit));
	ck_assert_uint_le(f.credit_us, 100000);
	ck_assert_uint_gt(f.credit_us, 0);
	end(root);
}
END_TEST

START_TEST(pid_of_a_pidfd)
{
	struct report r;
	pid_t root = start(TREE_CHILD, "a", &r);
	int fd = loop_pidfd(root);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(procfind_pidfd_pid(fd), root);
	end(root);
	ck_assert_int_eq(procfind_pidfd_pid(fd), -ESRCH);
	(void)close(fd);
	ck_assert_int_lt(procfind_pidfd_pid(fd), 0);
	ck_assert_int_eq(procfind_pidfd_pid(0), -EBADF);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("procfind");
	TCase *tc = tcase_create("processes");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, finds_in_trees, 0, TREE_MAX);
	tcase_add_test(tc, only_below_the_root);
	tcase_add_test(tc, longest_name);
	tcase_add_test(tc, time_is_shared_out);
	tcase_add_test(tc, pid_of_a_pidfd);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
