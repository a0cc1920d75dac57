/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_seccomp.c - what the command's filter denies, and that it denies no more
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/seccomp.h"

#define HIGH (1UL << 32)

#ifdef __NR_io_uring_setup
#define NR_IO_URING_SETUP __NR_io_uring_setup
#else
#define NR_IO_URING_SETUP 425
#endif

static void confine(void)
{
	struct err err = { 0 };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_msg(seccomp_confine_command(&err) == 0, "%s", err.msg);
}

struct call_case {
	const char *what;
	long nr;
	unsigned long args[4];
	int error; /* expected errno; 0: succeeds */
};

static const struct call_case call_cases[] = {
	{ "unix", SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, 0 },
	{ "inet", SYS_socket, { AF_INET, SOCK_STREAM, 0 }, 0 },
	{ "inet udp", SYS_socket, { AF_INET, SOCK_DGRAM, 0 }, 0 },
	{ "inet6", SYS_socket, { AF_INET6, SOCK_STREAM, 0 }, 0 },
	{ "inet, high bits",
	  SYS_socket,
	  { HIGH | AF_INET, HIGH | SOCK_STREAM, HIGH },
	  0 },
	{ "inet udp, protocol of a denied netlink",
	  SYS_socket,
	  { AF_INET, SOCK_DGRAM, IPPROTO_UDP },
	  0 },
	{ "netlink route", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, 0 },
	{ "netlink diag", SYS_socket, { AF_NETLINK, SOCK_RAW, 4 }, 0 },
	{ "netlink netfilter", SYS_socket, { AF_NETLINK, SOCK_RAW, 12 }, 0 },
	{ "netlink uevent", SYS_socket, { AF_NETLINK, SOCK_RAW, 15 }, 0 },
	{ "netlink generic", SYS_socket, { AF_NETLINK, SOCK_RAW, 16 }, 0 },
	{ "netlink xfrm",
	  SYS_socket,
	  { AF_NETLINK, SOCK_RAW, NETLINK_XFRM },
	  EPROTONOSUPPORT },
	{ "netlink audit",
	  SYS_socket,
	  { AF_NETLINK, SOCK_RAW, NETLINK_AUDIT },
	  EPROTONOSUPPORT },
	{ "netlink rdma, high bits",
	  SYS_socket,
	  { HIGH | AF_NETLINK, SOCK_RAW, HIGH | NETLINK_RDMA },
	  EPROTONOSUPPORT },
	{ "vsock", SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 }, EAFNOSUPPORT },
	{ "vsock, high bits",
	  SYS_socket,
	  { HIGH | AF_VSOCK, SOCK_STREAM, 0 },
	  EAFNOSUPPORT },
	{ "vsock, all high bits",
	  SYS_socket,
	  { ~0xffffffffUL | AF_VSOCK, SOCK_STREAM, 0 },
	  EAFNOSUPPORT },
	{ "alg", SYS_socket, { AF_ALG, SOCK_SEQPACKET, 0 }, EAFNOSUPPORT },
	{ "bluetooth",
	  SYS_socket,
	  { AF_BLUETOOTH, SOCK_RAW, 1 },
	  EAFNOSUPPORT },
	{ "xdp", SYS_socket, { AF_XDP, SOCK_RAW, 0 }, EAFNOSUPPORT },
	{ "tipc", SYS_socket, { AF_TIPC, SOCK_RDM, 0 }, EAFNOSUPPORT },
	{ "can", SYS_socket, { AF_CAN, SOCK_RAW, 1 }, EAFNOSUPPORT },
	{ "unspec", SYS_socket, { AF_UNSPEC, SOCK_STREAM, 0 }, EAFNOSUPPORT },
	{ "a family to come",
	  SYS_socket,
	  { 63, SOCK_STREAM, 0 },
	  EAFNOSUPPORT },
	{ "no family", SYS_socket, { 4711, SOCK_STREAM, 0 }, EAFNOSUPPORT },
	{ "negative family",
	  SYS_socket,
	  { 0xffffffffUL, SOCK_STREAM, 0 },
	  EAFNOSUPPORT },
	{ "vsock pair",
	  SYS_socketpair,
	  { AF_VSOCK, SOCK_STREAM, 0, 0 },
	  EAFNOSUPPORT },
	{ "tipc pair",
	  SYS_socketpair,
	  { HIGH | AF_TIPC, SOCK_STREAM, 0, 0 },
	  EAFNOSUPPORT },
	{ "TIOCSTI", SYS_ioctl, { 0, TIOCSTI, 0 }, EPERM },
	{ "TIOCSTI, high bits", SYS_ioctl, { 0, HIGH | TIOCSTI, 0 }, EPERM },
	{ "TIOCLINUX", SYS_ioctl, { 0, TIOCLINUX, 0 }, EPERM },
	{ "another ioctl", SYS_ioctl, { 9999, FIONREAD, 0 }, EBADF },
	{ "add_key", SYS_add_key, { 0, 0, 0, 0 }, ENOSYS },
	{ "request_key", SYS_request_key, { 0, 0, 0, 0 }, ENOSYS },
	{ "keyctl", SYS_keyctl, { 0, 0, 0, 0 }, ENOSYS },
	{ "io_uring_setup", NR_IO_URING_SETUP, { 1, 0, 0, 0 }, ENOSYS },
	{ "io_uring_enter", NR_IO_URING_SETUP + 1, { 9999, 0, 0, 0 }, ENOSYS },
	{ "io_uring_register",
	  NR_IO_URING_SETUP + 2,
	  { 9999, 0, 0, 0 },
	  ENOSYS },
	{ "getppid", SYS_getppid, { 0 }, 0 },
	{ "bpf is the kernel's business", SYS_bpf, { 9999, 0, 0 }, -1 },
};

START_TEST(test_calls)
{
	const struct call_case *c = &call_cases[_i];
	long r;

	confine();
	errno = 0;
	r = syscall(c->nr, c->args[0], c->args[1], c->args[2], c->args[3]);
	if (c->error == 0) {
		ck_assert_msg(r >= 0, "%s: errno %d", c->what, errno);
	} else if (c->error > 0) {
		ck_assert_msg(r == -1 && errno == c->error,
			      "%s: %ld, errno %d, expected %d", c->what, r,
			      errno, c->error);
	} else {
		ck_assert_msg(r == -1 && errno != ENOSYS, "%s", c->what);
	}
}
END_TEST

START_TEST(test_pairs)
{
	int sv[2];

	confine();
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
}
END_TEST

/* The command may add filters, and egret may run inside itself. */
START_TEST(test_own_filter)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };

	confine();
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
	confine();
	ck_assert_int_lt(socket(AF_VSOCK, SOCK_STREAM, 0), 0);
	ck_assert_int_eq(errno, EAFNOSUPPORT);
}
END_TEST

START_TEST(test_survives_exec)
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		confine();
		(void)execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
END_TEST

/* Without no_new_privs an ordinary user can't load it: an error, no silence. */
START_TEST(test_needs_no_new_privs)
{
	struct err err = { 0 };

	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(1234, 1234, 1234), 0);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) {
		ck_assert_int_lt(seccomp_confine_command(&err), 0);
		ck_assert_str_ne(err.msg, "");
	}
}
END_TEST

#ifdef __x86_64__
#define X32_BIT 0x40000000L

START_TEST(test_x32)
{
	confine();
	ck_assert_int_eq(syscall(X32_BIT | SYS_getppid), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(
		syscall(X32_BIT | SYS_socket, AF_VSOCK, SOCK_STREAM, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
}
END_TEST

/* i386: 20 is getpid, 359 socket. A kernel without it sends SIGSEGV. */
START_TEST(test_i386)
{
	static const long nrs[] = { 20, 359 };

	for (size_t i = 0; i < ARRAY_SIZE(nrs); i++) {
		int status;
		pid_t pid = fork();

		ck_assert_int_ge(pid, 0);
		if (pid == 0) {
			long r = nrs[i];

			confine();
			__asm__ volatile("int $0x80"
					 : "+a"(r)
					 : "b"(AF_VSOCK), "c"(SOCK_STREAM),
					   "d"(0)
					 : "memory", "r8", "r9", "r10", "r11");
			_exit(r == -ENOSYS ? 0 : 1);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		if (WIFSIGNALED(status))
			ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
		else
			ck_assert_int_eq(WEXITSTATUS(status), 0);
	}
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("seccomp");
	TCase *tc = tcase_create("filter");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_add_loop_test(tc, test_calls, 0, ARRAY_SIZE(call_cases));
	tcase_add_test(tc, test_pairs);
	tcase_add_test(tc, test_own_filter);
	tcase_add_test(tc, test_survives_exec);
	tcase_add_test(tc, test_needs_no_new_privs);
#ifdef __x86_64__
	tcase_add_test(tc, test_x32);
	tcase_add_test(tc, test_i386);
#endif
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
