/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_nsset.c - what init may call its namespaces, and joining them */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "netns/nsset.h"

#include "tests/unit/userns.h"

static const char *const own_paths[NSSET_MAX] = {
	[NSSET_U1] = "/proc/self/ns/user", [NSSET_IPC] = "/proc/self/ns/ipc",
	[NSSET_UTS] = "/proc/self/ns/uts", [NSSET_PID] = "/proc/self/ns/pid",
	[NSSET_NET] = "/proc/self/ns/net", [NSSET_MNT] = "/proc/self/ns/mnt",
	[NSSET_U2] = "/proc/self/ns/user", [NSSET_PROC] = "/etc",
};

/*
 * The tests' processes unshare their pid namespace, whose first process ends:
 * the leak checker could not clone its helper any more.
 */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* What init does: its own namespaces, sent to the process in U1. */
static void be_init(int sock)
{
	struct nsset s;
	struct err err = { .code = 0 };
	char c = 'x';

	nsset_init(&s);
	if (nsset_open_proc(&s, &err) < 0 ||
	    unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0 ||
	    nsset_open_own(&s, &err) < 0 ||
	    io_send_fds(sock, &c, 1, &s.fds[NSSET_INSIDE],
			NSSET_MAX - NSSET_INSIDE) < 0)
		_exit(1);
	(void)!read(sock, &c, 1); /* until the parent is done */
	_exit(0);
}

/* false: skip. @ret_sock: init ends with it. */
static bool make_set(struct nsset *ret, int *ret_sock)
{
	int sv[2], fds[IO_FDS_MAX];
	struct err err = { .code = 0 };
	size_t n = 0;
	pid_t pid;
	char c;

	nsset_init(ret);
	if (!userns_enter(CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID, true))
		return false;
	ck_assert_int_eq(nsset_open_u1(ret, &err), 0);
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)close(sv[0]);
		be_init(sv[1]);
	}
	(void)close(sv[1]);
	ck_assert_int_eq(io_recv_fds(sv[0], &c, 1, fds, &n), 1);
	ck_assert_uint_eq(n, NSSET_MAX - NSSET_INSIDE);
	memcpy(&ret->fds[NSSET_INSIDE], fds, n * sizeof(fds[0]));
	*ret_sock = sv[0];
	return true;
}

START_TEST(empty)
{
	struct err err = { .code = 0 };
	struct nsset s;

	nsset_init(&s);
	ck_assert_int_eq(nsset_check(&s, &err), -EPROTO);
	ck_assert_ptr_nonnull(strstr(err.msg, "ns/user"));
}
END_TEST

/* Every slot in turn holds the host's own, something that is no namespace, or
   nothing. */
START_TEST(wrong_ones)
{
	struct err err = { .code = 0 };
	int host[NSSET_MAX], file, sock = -1;
	struct nsset s, bad;
	size_t i;

	for (i = 0; i < NSSET_MAX; i++)
		host[i] = open(own_paths[i], O_RDONLY | O_CLOEXEC);
	file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (!make_set(&s, &sock))
		return;
	ck_assert_msg(nsset_check(&s, &err) == 0, "%s", err.msg);
	for (i = 0; i < NSSET_MAX; i++) {
		const int wrong[] = { host[i], file, -1,
				      s.fds[(i + 1) % NSSET_MAX] };
		size_t k;

		for (k = 0; k < ARRAY_SIZE(wrong); k++) {
			memcpy(&bad, &s, sizeof(bad));
			bad.fds[i] = wrong[k];
			ck_assert_msg(nsset_check(&bad, &err) == -EPROTO,
				      "slot %zu, wrong %zu", i, k);
		}
	}
	nsset_close(&s);
	(void)close(sock);
}
END_TEST

/* U2 in U1's place: everything else is then owned by another one. */
START_TEST(swapped)
{
	struct err err = { .code = 0 };
	struct nsset s;
	int sock = -1, u1;

	if (!make_set(&s, &sock))
		return;
	u1 = s.fds[NSSET_U1];
	s.fds[NSSET_U1] = s.fds[NSSET_U2];
	s.fds[NSSET_U2] = u1;
	ck_assert_int_eq(nsset_check(&s, &err), -EPROTO);
	(void)close(sock);
}
END_TEST

/* Nobody but the maker of U1 gets in, and nobody from inside of it. */
START_TEST(join_refused)
{
	struct err err = { .code = 0 };
	struct nsset s;
	int sock = -1;

	if (!make_set(&s, &sock))
		return;
	/* The caller stands in U1 already. */
	ck_assert_int_lt(nsset_join(&s, &err), 0);
	(void)close(sock);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nsset");
	TCase *tc = tcase_create("kernel");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, empty);
	tcase_add_test(tc, wrong_ones);
	tcase_add_test(tc, swapped);
	tcase_add_test(tc, join_refused);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
