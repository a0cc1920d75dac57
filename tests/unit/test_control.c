/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_control.c - clients of the control socket: fast, slow, many, strange */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "gateway/control.h"

#include "tests/unit/userns.h"

#define STATUS "{\"op\":\"status\"}\n"
/* Above what two socket buffers take. */
#define BIG (2U << 20)

static char dir[64], path[128];
static struct loop *loop;
static struct control *control;
static struct err err;
static unsigned int n_asked;
static size_t pad; /* octets that each reply has beside */

/* "status" counts, "exec" gives a descriptor, "reload" does nothing right. */
static void answer(void *ctx, const struct control_request *rq,
		   struct control_reply *ret)
{
	_cleanup_(freep) char *text = NULL;

	(void)ctx;
	n_asked++;
	if (rq->op == CONTROL_RELOAD) {
		control_ok(ret);
		control_open_array(&ret->text, "never closed");
		return;
	}
	control_ok(ret);
	control_put_num(&ret->text, "n", n_asked);
	if (rq->op == CONTROL_EXEC) {
		ret->fds[0] = STDERR_FILENO;
		ret->n_fds = 1;
	}
	if (!pad)
		return;
	text = malloc(pad + 1);
	ck_assert_ptr_nonnull(text);
	memset(text, 'x', pad);
	text[pad] = '\0';
	control_put_str(&ret->text, "pad", text);
}

static void setup(void)
{
	int fd;

	strcpy(dir, "/tmp/egret-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/control.sock", dir);
	ck_assert_int_eq(loop_new(&loop, &err), 0);
	fd = control_listen(path, &err);
	ck_assert_msg(fd >= 0, "%s", err.msg);
	ck_assert_int_eq(control_new(&control, loop, fd, answer, NULL, &err),
			 0);
}

static void teardown(void)
{
	control_freep(&control);
	loop_freep(&loop);
	clock_clear_fake();
	(void)unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
}

static int dial(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(sa.sun_path, path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 (ssize_t)strlen(text));
}

/* Until nothing is left to do at once. */
static void turn(void)
{
	for (int i = 0; i < 20; i++)
		ck_assert_int_ge(loop_run_once(loop, 1), 0);
}

/* What there is; "" for nothing yet, NULL for the end. */
static const char *hear(int fd)
{
	static char text[65536];
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (n < 0 && errno == EAGAIN)
		return "";
	if (n <= 0)
		return NULL;
	text[n] = '\0';
	return text;
}

static struct control_stats stats(void)
{
	struct control_stats s;

	control_get_stats(control, &s);
	return s;
}

START_TEST(one_line_one_reply)
{
	int fd = dial();
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	say(fd, "{\"op\":");
	turn();
	ck_assert_str_eq(hear(fd), "");
	say(fd, "\"status\"}\n");
	turn();
	ck_assert_str_eq(hear(fd), "{\"ok\":true,\"n\":1}\n");
	say(fd, "nonsense\n");
	turn();
	ck_assert_str_eq(hear(fd), "{\"ok\":false,\"error\":\"a request is one "
				   "JSON object a line\"}\n");
	say(fd, "{\"op\":\"reload\"}\n");
	turn();
	ck_assert_str_eq(hear(fd), "{\"ok\":false,\"error\":\"the reply could "
				   "not be made\"}\n");
	ck_assert_uint_eq(stats().requests, 3);
	ck_assert_uint_eq(stats().clients, 1);
	fd_closep(&fd);
	turn();
	ck_assert_uint_eq(stats().clients, 0);
}
END_TEST

START_TEST(several_lines_at_once)
{
	int fd = dial();

	say(fd, STATUS STATUS STATUS "{\"op\":");
	turn();
	ck_assert_str_eq(hear(fd), "{\"ok\":true,\"n\":1}\n"
				   "{\"ok\":true,\"n\":2}\n"
				   "{\"ok\":true,\"n\":3}\n");
	fd_closep(&fd);
}
END_TEST

/* printf '{"op":"status"}' | socat - UNIX-CONNECT:... */
START_TEST(half_closed)
{
	int fd = dial();

	say(fd, STATUS "{\"op\":\"status\"}");
	ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	turn();
	ck_assert_str_eq(hear(fd), "{\"ok\":true,\"n\":1}\n"
				   "{\"ok\":true,\"n\":2}\n");
	ck_assert_ptr_null(hear(fd));
	fd_closep(&fd);
}
END_TEST

START_TEST(sent_and_gone)
{
	int fd = dial();

	say(fd, STATUS);
	fd_closep(&fd);
	turn();
	ck_assert_uint_eq(n_asked, 1);
	ck_assert_uint_eq(stats().clients, 0);
}
END_TEST

START_TEST(line_too_long)
{
	char text[4096];
	int fd = dial();
	ssize_t n;

	memset(text, ' ', sizeof(text));
	for (size_t i = 0; i < CONTROL_REQUEST_MAX / sizeof(text) + 2; i++) {
		n = send(fd, text, sizeof(text), MSG_NOSIGNAL);
		ck_assert(n > 0 || errno == EPIPE);
		turn();
	}
	ck_assert_ptr_nonnull(strstr(hear(fd), "too long"));
	turn();
	ck_assert_uint_eq(stats().clients, 0);
	ck_assert_uint_eq(n_asked, 0);
	fd_closep(&fd);
}
END_TEST

START_TEST(descriptors_go_along)
{
	int fd = dial(), fds[IO_FDS_MAX];
	size_t n_fds = 0;
	char c;

	say(fd, "{\"op\":\"exec\"}\n");
	turn();
	ck_assert_int_eq(io_recv_fds(fd, &c, 1, fds, &n_fds), 1);
	ck_assert_uint_eq(n_fds, 1);
	ck_assert_int_eq(c, '{');
	ck_assert_str_eq(hear(fd), "\"ok\":true,\"n\":1}\n");
	fd_closep(&fds[0]);
	fd_closep(&fd);
}
END_TEST

/* A peer that doesn't read is asked nothing more, holds up nobody, and ends. */
START_TEST(slow_reader)
{
	int slow = dial(), quick = dial();
	size_t total = 0;
	const char *part;

	pad = BIG;
	say(slow, STATUS STATUS);
	turn();
	ck_assert_uint_eq(n_asked, 1);
	pad = 0;
	say(quick, STATUS);
	turn();
	ck_assert_str_eq(hear(quick), "{\"ok\":true,\"n\":2}\n");
	/* It reads on, and has all in the end. */
	while ((part = hear(slow)) && (total += strlen(part)) < BIG)
		turn();
	turn();
	ck_assert_uint_eq(n_asked, 3);
	say(slow, STATUS);
	pad = BIG;
	turn();
	clock_set_fake(clock_now_ms() + CONTROL_PATIENCE_MS + 1);
	turn();
	ck_assert_uint_eq(stats().too_slow, 1);
	ck_assert_uint_eq(stats().clients, 1);
	fd_closep(&slow);
	fd_closep(&quick);
}
END_TEST

/* Idle ones stay as long as they like; half a line doesn't. */
START_TEST(slow_writer)
{
	int slow = dial(), idle = dial();

	say(idle, STATUS);
	say(slow, "{");
	turn();
	clock_set_fake(clock_now_ms() + CONTROL_PATIENCE_MS / 2);
	say(slow, " ");
	turn();
	clock_set_fake(clock_now_ms() + CONTROL_PATIENCE_MS / 2 + 2);
	turn();
	ck_assert_ptr_null(hear(slow));
	ck_assert_str_eq(hear(idle), "{\"ok\":true,\"n\":1}\n");
	ck_assert_str_eq(hear(idle), "");
	ck_assert_uint_eq(stats().too_slow, 1);
	fd_closep(&slow);
	fd_closep(&idle);
}
END_TEST

/* The one that has been idle longest makes way; busy ones don't. */
START_TEST(too_many)
{
	int fds[CONTROL_CLIENTS_MAX], one_more;
	uint64_t now = clock_now_ms();

	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		clock_set_fake(++now);
		fds[i] = dial();
		turn();
	}
	say(fds[0], STATUS);
	clock_set_fake(++now);
	turn();
	ck_assert_str_eq(hear(fds[0]), "{\"ok\":true,\"n\":1}\n");
	one_more = dial();
	turn();
	ck_assert_ptr_null(hear(fds[1]));
	ck_assert_str_eq(hear(fds[0]), "");
	ck_assert_uint_eq(stats().clients, CONTROL_CLIENTS_MAX);
	ck_assert_uint_eq(stats().displaced, 1);
	fd_closep(&fds[1]);
	fds[1] = one_more;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		say(fds[i], "{");
	turn();
	one_more = dial();
	turn();
	ck_assert_ptr_null(hear(one_more));
	ck_assert_uint_eq(stats().clients, CONTROL_CLIENTS_MAX);
	fd_closep(&one_more);
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		fd_closep(&fds[i]);
}
END_TEST

/* Without descriptors it pauses for a second rather than spin. */
START_TEST(no_descriptors)
{
	struct rlimit old, low;
	int fd = dial();

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = (struct rlimit){ .rlim_cur = (rlim_t)fd + 1,
			       .rlim_max = old.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	turn();
	ck_assert_uint_eq(stats().pauses, 1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	say(fd, STATUS);
	turn();
	ck_assert_str_eq(hear(fd), "");
	clock_set_fake(clock_now_ms() + CLOCK_MS_PER_S + 1);
	turn();
	ck_assert_str_eq(hear(fd), "{\"ok\":true,\"n\":1}\n");
	fd_closep(&fd);
}
END_TEST

/* In a child: another user, or another network namespace, is not served. */
static int ask_as(bool other_user)
{
	pid_t pid = fork();
	int status = -1;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		int fd;

		if (other_user ? setuid(USERNS_PLAIN_ID) < 0
			       : unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
			_exit(77);
		fd = dial();
		(void)!write(fd, STATUS, strlen(STATUS));
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	turn();
	return WEXITSTATUS(status);
}

START_TEST(strangers)
{
	int own;

	if (ask_as(false) == 77)
		(void)userns_skip("no user namespaces");
	else
		ck_assert_uint_eq(stats().refused, 1);
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(dir, 0777), 0);
		ck_assert_int_eq(chmod(path, 0777), 0);
		ck_assert_int_eq(ask_as(true), 0);
		ck_assert_uint_eq(stats().refused, 2);
	}
	ck_assert_uint_eq(n_asked, 0);
	own = dial();
	say(own, STATUS);
	turn();
	ck_assert_str_eq(hear(own), "{\"ok\":true,\"n\":1}\n");
	fd_closep(&own);
}
END_TEST

START_TEST(where_it_may_be_made)
{
	char deep[PATH_MAX];
	size_t len = strlen(dir);
	int fd;

	/* A dead process's is replaced. */
	fd = control_listen(path, &err);
	ck_assert_int_ge(fd, 0);
	fd_closep(&fd);
	/* Too long for a socket address. */
	strcpy(deep, dir);
	memset(deep + len, 'd', 120);
	deep[len] = '/';
	deep[len + 120] = '\0';
	ck_assert_int_eq(mkdir(deep, 0700), 0);
	strcat(deep, "/control.sock");
	fd = control_listen(deep, &err);
	ck_assert_msg(fd >= 0, "%s", err.msg);
	ck_assert_int_eq(access(deep, F_OK), 0);
	fd_closep(&fd);
	ck_assert_int_eq(unlink(deep), 0);
	*strrchr(deep, '/') = '\0';
	ck_assert_int_eq(rmdir(deep), 0);
	ck_assert_int_eq(control_listen("/nonexistent/control.sock", &err),
			 -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.msg, "/nonexistent/control.sock"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control");
	TCase *tc = tcase_create("clients");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, one_line_one_reply);
	tcase_add_test(tc, several_lines_at_once);
	tcase_add_test(tc, half_closed);
	tcase_add_test(tc, sent_and_gone);
	tcase_add_test(tc, line_too_long);
	tcase_add_test(tc, descriptors_go_along);
	tcase_add_test(tc, slow_reader);
	tcase_add_test(tc, slow_writer);
	tcase_add_test(tc, too_many);
	tcase_add_test(tc, no_descriptors);
	tcase_add_test(tc, strangers);
	tcase_add_test(tc, where_it_may_be_made);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
