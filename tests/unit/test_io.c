/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"

static char dir[] = "/tmp/egret-test-io-XXXXXX";
static char file[64];

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(file, sizeof(file), "%s/f", dir);
}

static void teardown(void)
{
	(void)unlink(file); /* some tests make none */
	ck_assert_int_eq(rmdir(dir), 0);
}

static void put_file(const char *text, size_t len)
{
	_cleanup_(fd_closep) int fd =
		open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, len), 0);
}

static void *write_much(void *arg)
{
	static uint8_t block[1U << 20];
	const int *fd = arg;
	intptr_t r = io_write_all(*fd, block, sizeof(block));

	return (void *)r;
}

START_TEST(write_all_and_read_full_go_through_a_small_pipe)
{
	static uint8_t block[1U << 20];
	pthread_t thread;
	int fds[2];
	void *r;

	/* A megabyte doesn't fit, so both sides need many calls. */
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, write_much, &fds[1]), 0);
	ck_assert_int_eq(io_read_full(fds[0], block, sizeof(block)), 0);
	ck_assert_int_eq(pthread_join(thread, &r), 0);
	ck_assert_ptr_null(r);
	fd_closep(&fds[0]);
	fd_closep(&fds[1]);
}
END_TEST

START_TEST(read_full_tells_an_early_end)
{
	char buf[4];
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert_int_eq(io_write_all(fds[1], "abc", 3), 0);
	fd_closep(&fds[1]);
	ck_assert_int_eq(io_read_full(fds[0], buf, 4), -EPIPE);
	ck_assert_int_eq(io_read_full(fds[0], buf, 0), 0);
	fd_closep(&fds[0]);
	ck_assert_int_eq(io_read_full(-1, buf, 1), -EBADF);
	ck_assert_int_eq(io_write_all(-1, buf, 1), -EBADF);
}
END_TEST

static const struct {
	const char *text;
	size_t len;
	size_t max;
	int want;
} files[] = {
	{ "", 0, 0, 0 },       { "abc", 3, 3, 0 },	{ "abc", 3, 100, 0 },
	{ "a\0b", 3, 100, 0 }, { "abc", 3, 2, -EFBIG }, { "a", 1, 0, -EFBIG },
};

START_TEST(read_file_bounds)
{
	_cleanup_(freep) char *data = NULL;
	struct err err = { 0 };
	size_t len = 99;
	int r;

	put_file(files[_i].text, files[_i].len);
	r = io_read_file(file, files[_i].max, &data, &len, &err);
	ck_assert_int_eq(r, files[_i].want);
	if (r < 0) {
		ck_assert_ptr_null(data);
		ck_assert_uint_eq(len, 99);
		ck_assert_ptr_nonnull(strstr(err.msg, file));
		return;
	}
	ck_assert_uint_eq(len, files[_i].len);
	ck_assert_mem_eq(data, files[_i].text, len);
	ck_assert_int_eq(data[len], '\0');
}
END_TEST

START_TEST(read_file_of_proc_has_no_size)
{
	_cleanup_(freep) char *data = NULL;
	size_t len = 0;

	ck_assert_int_eq(
		io_read_file("/proc/self/status", 1U << 16, &data, &len, NULL),
		0);
	ck_assert_uint_gt(len, 0);
	ck_assert_int_eq(
		io_read_file("/proc/self/status", 4, &data, &len, NULL),
		-EFBIG);
}
END_TEST

START_TEST(read_file_takes_regular_files_only)
{
	struct err err = { 0 };
	char *data = NULL;
	size_t len;

	ck_assert_int_eq(io_read_file(file, 10, &data, &len, &err), -ENOENT);
	ck_assert_int_eq(io_read_file(dir, 10, &data, &len, &err), -EINVAL);
	ck_assert_int_eq(io_read_file("/dev/null", 10, &data, &len, &err),
			 -EINVAL);
	/* opening a FIFO for reading would wait for a writer */
	ck_assert_int_eq(mkfifo(file, 0600), 0);
	ck_assert_int_eq(io_read_file(file, 10, &data, &len, &err), -EINVAL);
	ck_assert_int_eq(io_read_file(file, SIZE_MAX, &data, &len, &err),
			 -EINVAL);
	ck_assert_ptr_null(data);
}
END_TEST

START_TEST(write_text_wants_an_existing_file)
{
	_cleanup_(freep) char *data = NULL;
	size_t len = 0;

	ck_assert_int_eq(io_write_text(file, "1"), -ENOENT);
	put_file("old", 3);
	ck_assert_int_eq(io_write_text(file, "1"), 0);
	ck_assert_int_eq(io_read_file(file, 10, &data, &len, NULL), 0);
	ck_assert_str_eq(data, "1ld"); /* no truncation: sysctls are written */
	ck_assert_int_eq(io_write_text("/dev/full", "1"), -ENOSPC);
}
END_TEST

struct pair {
	int a, b;
};

static struct pair seqpacket(void)
{
	int s[2];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s), 0);
	return (struct pair){ s[0], s[1] };
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

START_TEST(descriptors_travel_close_on_exec)
{
	struct pair p = seqpacket();
	int got[IO_FDS_MAX], send[2] = { STDIN_FILENO, p.a };
	struct stat st1, st2;
	size_t n = 0;
	char buf[8];

	ck_assert_int_eq(io_send_fds(p.a, "hello", 5, send, 2), 0);
	ck_assert_int_eq(io_recv_fds(p.b, buf, sizeof(buf), got, &n), 5);
	ck_assert_mem_eq(buf, "hello", 5);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_ge(fcntl(got[0], F_GETFD), FD_CLOEXEC);
	ck_assert_int_ge(fcntl(got[1], F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fstat(got[1], &st1), 0);
	ck_assert_int_eq(fstat(p.a, &st2), 0);
	ck_assert_uint_eq(st1.st_ino, st2.st_ino);
	for (size_t i = n; i < IO_FDS_MAX; i++)
		ck_assert_int_eq(got[i], -1);
}
END_TEST

START_TEST(a_message_without_descriptors_and_the_end)
{
	struct pair p = seqpacket();
	int got[IO_FDS_MAX];
	size_t n = 9;
	char buf[8];

	ck_assert_int_eq(io_send_fds(p.a, "x", 1, NULL, 0), 0);
	ck_assert_int_eq(io_recv_fds(p.b, buf, sizeof(buf), got, &n), 1);
	ck_assert_uint_eq(n, 0);
	fd_closep(&p.a);
	ck_assert_int_eq(io_recv_fds(p.b, buf, sizeof(buf), got, &n), 0);
	ck_assert_int_eq(io_send_fds(p.b, "x", 1, NULL, 0), -EPIPE);
}
END_TEST

START_TEST(as_many_descriptors_as_fit)
{
	struct pair p = seqpacket();
	int send[IO_FDS_MAX + 1], got[IO_FDS_MAX];
	size_t n = 0;
	char c;

	for (size_t i = 0; i < ARRAY_SIZE(send); i++)
		send[i] = STDIN_FILENO;
	ck_assert_int_eq(io_send_fds(p.a, "x", 1, send, IO_FDS_MAX + 1),
			 -EINVAL);
	ck_assert_int_eq(io_send_fds(p.a, "x", 1, send, IO_FDS_MAX), 0);
	ck_assert_int_eq(io_recv_fds(p.b, &c, 1, got, &n), 1);
	ck_assert_uint_eq(n, IO_FDS_MAX);
}
END_TEST

START_TEST(a_cut_message_leaves_no_descriptor_behind)
{
	struct pair p = seqpacket();
	int got[IO_FDS_MAX], send[1] = { STDIN_FILENO };
	int before = open_fds();
	size_t n = 77;
	char buf[2];

	ck_assert_int_eq(io_send_fds(p.a, "long", 4, send, 1), 0);
	ck_assert_int_eq(io_recv_fds(p.b, buf, sizeof(buf), got, &n),
			 -EMSGSIZE);
	ck_assert_uint_eq(n, 77);
	ck_assert_int_eq(open_fds(), before);
	for (size_t i = 0; i < IO_FDS_MAX; i++)
		ck_assert_int_eq(got[i], -1);
}
END_TEST

START_TEST(more_descriptors_than_room_are_refused)
{
	struct pair p = seqpacket();
	int got[IO_FDS_MAX], before;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 20)];
	} control = { 0 };
	struct iovec iov = { .iov_base = dir, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	size_t n;
	char buf[2];

	/* 20 times descriptor 0 */
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * 20);
	before = open_fds();
	ck_assert_int_eq(sendmsg(p.a, &msg, 0), 1);
	ck_assert_int_eq(io_recv_fds(p.b, buf, sizeof(buf), got, &n),
			 -EMSGSIZE);
	ck_assert_int_eq(open_fds(), before);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("io");
	TCase *tc = tcase_create("io");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, write_all_and_read_full_go_through_a_small_pipe);
	tcase_add_test(tc, read_full_tells_an_early_end);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, read_file_bounds, 0, ARRAY_SIZE(files));
	tcase_add_test(tc, read_file_of_proc_has_no_size);
	tcase_add_test(tc, read_file_takes_regular_files_only);
	tcase_add_test(tc, write_text_wants_an_existing_file);
	tcase_add_test(tc, descriptors_travel_close_on_exec);
	tcase_add_test(tc, a_message_without_descriptors_and_the_end);
	tcase_add_test(tc, as_many_descriptors_as_fit);
	tcase_add_test(tc, a_cut_message_leaves_no_descriptor_behind);
	tcase_add_test(tc, more_descriptors_than_room_are_refused);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
