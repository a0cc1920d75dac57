/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_stdio.c - which descriptors may be inherited, and the copying of 0..2
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "netns/stdio.h"

/* ---- descriptors of every kind ---- */

static int open_pipe(void)
{
	int p[2];

	ck_assert_int_eq(pipe2(p, O_CLOEXEC), 0);
	return p[0];
}

static int open_pty(void)
{
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0)
		return open("/dev/null", O_RDWR); /* none on this machine */
	return slave;
}

static int open_pair(int type)
{
	int sv[2];

	ck_assert_int_eq(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, sv), 0);
	return sv[0];
}

static int open_stream_pair(void)
{
	return open_pair(SOCK_STREAM);
}

static int open_dgram_pair(void)
{
	return open_pair(SOCK_DGRAM);
}

static int open_unconnected(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int open_listening(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	/* Autobind to an abstract name. */
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sun, sizeof(sa_family_t)),
			 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

static int open_tcp(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int open_udp6(void)
{
	return socket(AF_INET6, SOCK_DGRAM, 0);
}

static int open_netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0);
}

static int open_file(void)
{
	return open("/proc/self/exe", O_RDONLY);
}

static int open_memfd(void)
{
	return memfd_create("t", MFD_CLOEXEC);
}

static int open_eventfd(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

static int open_null(void)
{
	return open("/dev/null", O_RDWR);
}

static int open_random(void)
{
	return open("/dev/urandom", O_RDONLY);
}

static int open_path(void)
{
	return open("/etc/passwd", O_PATH);
}

static int open_directory(void)
{
	return open("/", O_RDONLY | O_DIRECTORY);
}

static int open_netns(void)
{
	return open("/proc/self/ns/net", O_RDONLY);
}

static int open_procfile(void)
{
	return open("/proc/self/status", O_RDONLY);
}

static int open_sysfile(void)
{
	return open("/sys/kernel/uevent_seqnum", O_RDONLY);
}

static int open_pidfd(void)
{
	return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static int open_epoll(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

static int open_closed(void)
{
	return 9999;
}

static const struct {
	const char *what;
	int (*open)(void);
	bool may_keep, needs_copy, may_inherit;
} kinds[] = {
	{ "pipe", open_pipe, true, false, true },
	{ "terminal", open_pty, true, false, true },
	{ "stream pair", open_stream_pair, true, false, true },
	{ "file", open_file, true, false, true },
	{ "memfd", open_memfd, true, false, true },
	{ "eventfd", open_eventfd, true, false, true },
	{ "null", open_null, true, false, true },
	{ "urandom", open_random, true, false, true },
	{ "datagram pair", open_dgram_pair, false, true, true },
	{ "unconnected unix", open_unconnected, false, true, true },
	{ "listening unix", open_listening, false, true, true },
	{ "tcp", open_tcp, false, true, true },
	{ "udp6", open_udp6, false, true, true },
	{ "netlink", open_netlink, false, true, true },
	{ "O_PATH", open_path, false, false, false },
	{ "directory", open_directory, false, false, false },
	{ "network namespace", open_netns, false, false, false },
	{ "file of /proc", open_procfile, false, false, true },
	{ "file of /sys", open_sysfile, false, false, true },
	{ "pidfd", open_pidfd, false, false, false },
	{ "epoll", open_epoll, false, false, false },
	{ "not open", open_closed, false, false, true },
};

START_TEST(test_kinds)
{
	struct err err = { 0 };
	int fd = kinds[_i].open();
	int r;

	ck_assert_msg(fd >= 0, "%s: %m", kinds[_i].what);
	r = stdio_check_keep_fd(fd, &err);
	ck_assert_msg((r == 0) == kinds[_i].may_keep, "%s: %s", kinds[_i].what,
		      err.msg);
	ck_assert_msg(r == 0 || strncmp(err.msg, "--keep-fd ", 10) == 0, "%s",
		      err.msg);
	ck_assert_msg(stdio_needs_copy(fd) == kinds[_i].needs_copy, "%s",
		      kinds[_i].what);
	ck_assert_msg((stdio_check_inherited(fd, &err) == 0) ==
			      kinds[_i].may_inherit,
		      "%s: %s", kinds[_i].what, err.msg);
}
END_TEST

START_TEST(test_close_others)
{
	int keep[] = { 40, 20, 21 };
	struct err err = { 0 };

	for (int fd = 10; fd < 50; fd++)
		ck_assert_int_eq(dup3(2, fd, O_CLOEXEC), fd);
	ck_assert_int_eq(stdio_close_others(keep, ARRAY_SIZE(keep), &err), 0);
	for (int fd = 3; fd < 60; fd++) {
		bool is_kept = fd == 20 || fd == 21 || fd == 40;

		ck_assert_int_eq(fcntl(fd, F_GETFD), is_kept ? 0 : -1);
	}
	ck_assert_int_ge(fcntl(2, F_GETFD), 0);
	/* And that may be said again, and of nothing. */
	ck_assert_int_eq(stdio_close_others(NULL, 0, &err), 0);
	ck_assert_int_eq(fcntl(20, F_GETFD), -1);
	ck_assert_int_lt(stdio_close_others(keep, 1, &err), 0);
}
END_TEST

/* ---- copying ---- */

struct copy_test {
	struct loop *loop;
	struct stdio_copy *copy;
	int peer;   /* the other end of the caller's socket */
	int fds[3]; /* what the command has */
};

static int tcp_pair(int *ret_peer)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&sin, len), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&sin, &len),
			 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sin, len), 0);
	*ret_peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(*ret_peer, 0);
	(void)close(listener);
	return fd;
}

static int udp_pair(int *ret_peer)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int fds[2];

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 2; i++) {
		fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		ck_assert_int_eq(bind(fds[i], (struct sockaddr *)&sin, len), 0);
	}
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in other;

		ck_assert_int_eq(
			getsockname(fds[!i], (struct sockaddr *)&other, &len),
			0);
		ck_assert_int_eq(
			connect(fds[i], (struct sockaddr *)&other, len), 0);
	}
	*ret_peer = fds[1];
	return fds[0];
}

/* Makes @sock the descriptors of @mask among 0..2 (0 and 1 otherwise null). */
static void copy_begin(struct copy_test *t, int sock, unsigned int mask)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct err err = { 0 };

	for (int fd = 0; fd <= 2; fd++) {
		if (mask & 1U << fd)
			ck_assert_int_eq(dup2(sock, fd), fd);
		else if (fd < 2)
			ck_assert_int_eq(dup2(null, fd), fd);
	}
	(void)close(sock);
	(void)close(null);
	ck_assert_int_eq(loop_new(&t->loop, &err), 0);
	ck_assert_msg(stdio_copy_new(&t->copy, t->loop, t->fds, &err) == 0,
		      "%s", err.msg);
	for (int fd = 0; fd <= 2; fd++)
		ck_assert_int_eq(t->fds[fd] != fd, (mask >> fd) & 1);
}

static void close_command_ends(struct copy_test *t)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (t->fds[fd] != fd)
			fd_closep(&t->fds[fd]);
	}
}

static void copy_end(struct copy_test *t)
{
	close_command_ends(t);
	stdio_copy_freep(&t->copy);
	loop_freep(&t->loop);
	(void)close(t->peer);
}

static void turn(struct copy_test *t, int n)
{
	while (n--)
		(void)loop_run_once(t->loop, 20);
}

static void expect_read(struct copy_test *t, int fd, const char *text)
{
	char buf[64];
	ssize_t n = -1;

	for (int i = 0; i < 100 && n < 0; i++) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };

		turn(t, 1);
		if (poll(&pfd, 1, 0) > 0)
			n = read(fd, buf, sizeof(buf));
	}
	ck_assert_int_eq(n, (ssize_t)strlen(text));
	ck_assert_int_eq(memcmp(buf, text, strlen(text)), 0);
}

static void send_text(int fd, const char *text)
{
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* One connection as 0, 1 and 2, as a super-server gives it. */
START_TEST(test_tcp_both_ways)
{
	struct copy_test t;

	copy_begin(&t, tcp_pair(&t.peer), 7);
	send_text(t.peer, "ping");
	expect_read(&t, t.fds[0], "ping");
	send_text(t.fds[1], "pong");
	expect_read(&t, t.peer, "pong");
	send_text(t.fds[2], "err");
	expect_read(&t, t.peer, "err");
	/* End of input; the answer still goes out. */
	ck_assert_int_eq(shutdown(t.peer, SHUT_WR), 0);
	expect_read(&t, t.fds[0], "");
	send_text(t.fds[1], "late");
	expect_read(&t, t.peer, "late");
	copy_end(&t);
}
END_TEST

/* The command's own half-close is passed on. */
START_TEST(test_half_close)
{
	struct copy_test t;

	copy_begin(&t, tcp_pair(&t.peer), 3);
	send_text(t.fds[1], "all");
	ck_assert_int_eq(shutdown(t.fds[1], SHUT_WR), 0);
	expect_read(&t, t.peer, "all");
	expect_read(&t, t.peer, "");
	send_text(t.peer, "answer");
	expect_read(&t, t.fds[0], "answer");
	copy_end(&t);
}
END_TEST

/* A command that ends doesn't end a socket that others may share. */
START_TEST(test_close_is_no_shutdown)
{
	struct copy_test t;

	copy_begin(&t, tcp_pair(&t.peer), 7);
	send_text(t.fds[1], "last");
	close_command_ends(&t);
	expect_read(&t, t.peer, "last");
	turn(&t, 3);
	send_text(1, "the caller");
	expect_read(&t, t.peer, "the caller");
	copy_end(&t);
}
END_TEST

START_TEST(test_output_only)
{
	struct copy_test t;
	struct stat st;

	copy_begin(&t, tcp_pair(&t.peer), 2);
	ck_assert_int_eq(fstat(t.fds[1], &st), 0);
	ck_assert(S_ISFIFO(st.st_mode));
	send_text(t.fds[1], "out");
	expect_read(&t, t.peer, "out");
	/* Nobody reads any more: the command shall be told. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)close(t.peer);
	for (int i = 0; i < 50 && write(t.fds[1], "x", 1) == 1; i++)
		turn(&t, 1);
	ck_assert_int_eq(write(t.fds[1], "x", 1), -1);
	ck_assert_int_eq(errno, EPIPE);
	t.peer = open_null();
	copy_end(&t);
}
END_TEST

START_TEST(test_udp_keeps_boundaries)
{
	struct copy_test t;

	copy_begin(&t, udp_pair(&t.peer), 3);
	send_text(t.fds[1], "one");
	send_text(t.fds[1], "two");
	expect_read(&t, t.peer, "one");
	expect_read(&t, t.peer, "two");
	send_text(t.peer, "a");
	ck_assert_int_eq(send(t.peer, "", 0, 0), 0);
	send_text(t.peer, "b");
	expect_read(&t, t.fds[0], "a");
	expect_read(&t, t.fds[0], "b");
	copy_end(&t);
}
END_TEST

START_TEST(test_udp_output_only)
{
	struct copy_test t;

	copy_begin(&t, udp_pair(&t.peer), 2);
	send_text(t.fds[1], "one");
	send_text(t.fds[1], "two");
	expect_read(&t, t.peer, "one");
	expect_read(&t, t.peer, "two");
	copy_end(&t);
}
END_TEST

/* More than all buffers hold, against a reader that starts late. */
START_TEST(test_backpressure)
{
	char *buf = malloc(1U << 16);
	size_t sent = 0, got = 0;
	struct copy_test t;
	ssize_t n;

	copy_begin(&t, tcp_pair(&t.peer), 2);
	ck_assert_int_eq(fcntl(t.fds[1], F_SETFL, O_NONBLOCK), 0);
	/* Until nothing moves: memory stays as it is, the writer is held. */
	for (int idle = 0; idle < 3;) {
		memset(buf, (int)(sent >> 16), 1U << 16);
		n = write(t.fds[1], buf, 1U << 12);
		idle = n < 0 ? idle + 1 : 0;
		sent += n > 0 ? (size_t)n : 0;
		if (n < 0)
			turn(&t, 1);
		ck_assert_uint_lt(sent, 64U << 20);
	}
	fd_closep(&t.fds[1]);
	while (got < sent) {
		turn(&t, 1);
		n = recv(t.peer, buf, 1U << 16, MSG_DONTWAIT);
		got += n > 0 ? (size_t)n : 0;
	}
	ck_assert_uint_eq(got, sent);
	free(buf);
	t.fds[1] = 1;
	copy_end(&t);
}
END_TEST

/* What the command wrote before it ended gets out without the loop. */
START_TEST(test_drain)
{
	struct copy_test t;
	char buf[1024] = { 0 };
	int status;
	pid_t pid;

	copy_begin(&t, tcp_pair(&t.peer), 3);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (int i = 0; i < 20; i++)
			(void)!write(t.fds[1], buf, sizeof(buf));
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	/* Its end stays open here, as with a background process. */
	stdio_copy_drain(t.copy);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(recv(t.peer, buf, sizeof(buf), MSG_WAITALL),
				 (ssize_t)sizeof(buf));
	copy_end(&t);
}
END_TEST

START_TEST(test_nothing_to_copy)
{
	struct copy_test t;

	copy_begin(&t, open_null(), 0);
	stdio_copy_drain(t.copy);
	t.peer = open_null();
	copy_end(&t);
}
END_TEST

START_TEST(test_uncopyable)
{
	static int (*const opens[])(void) = { open_listening, open_netlink };
	struct stdio_copy *c = NULL;
	struct err err = { 0 };
	struct loop *loop;
	int fds[3] = { 7, 7, 7 };
	int fd = opens[_i]();

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dup2(fd, 0), 0);
	ck_assert_int_eq(loop_new(&loop, &err), 0);
	ck_assert_int_eq(stdio_copy_new(&c, loop, fds, &err), -EOPNOTSUPP);
	ck_assert_ptr_null(c);
	ck_assert_int_eq(fds[0], 7);
	ck_assert_str_ne(err.msg, "");
	loop_free(loop);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stdio");
	TCase *tc = tcase_create("descriptors");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, test_kinds, 0, ARRAY_SIZE(kinds));
	tcase_add_test(tc, test_close_others);
	tcase_add_test(tc, test_tcp_both_ways);
	tcase_add_test(tc, test_half_close);
	tcase_add_test(tc, test_close_is_no_shutdown);
	tcase_add_test(tc, test_output_only);
	tcase_add_test(tc, test_udp_keeps_boundaries);
	tcase_add_test(tc, test_udp_output_only);
	tcase_add_test(tc, test_backpressure);
	tcase_add_test(tc, test_drain);
	tcase_add_test(tc, test_nothing_to_copy);
	tcase_add_loop_test(tc, test_uncopyable, 0, 2);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
