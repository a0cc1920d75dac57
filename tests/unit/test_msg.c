/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_msg.c - messages between front and gateway, fit and unfit */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "gateway/msg.h"

static int sv[2];

static void setup(void)
{
	ck_assert_int_eq(
		socketpair(AF_UNIX,
			   SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			   sv),
		0);
}

static void teardown(void)
{
	fd_closep(&sv[0]);
	fd_closep(&sv[1]);
}

/* The lowest free descriptor: what leaked would have raised it. */
static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	return fd;
}

static void send_raw(const void *data, size_t len, size_t n_fds)
{
	int fds[IO_FDS_MAX];

	for (size_t i = 0; i < n_fds; i++)
		fds[i] = sv[0];
	ck_assert_int_eq(io_send_fds(sv[0], data, len, fds, n_fds), 0);
}

static void expect(int want)
{
	int before = lowest_free(), fd = -7;
	struct gw_msg m;

	ck_assert_int_eq(gw_msg_recv(sv[1], &m, &fd), want);
	ck_assert_int_eq(fd, -7);
	ck_assert_int_eq(lowest_free(), before);
}

START_TEST(each_type_arrives)
{
	for (unsigned int t = 0; t < GW_MSG_MAX; t++) {
		struct gw_msg m, got;
		int fd = -7, want_fd = t == GW_MSG_INIT ? sv[0] : -1;

		memset(&m, 0, sizeof(m));
		m.type = t;
		m.value = 42 + (int)t;
		if (t == GW_MSG_EVENT)
			event_init(&m.event, EVENT_REFUSED, EVENT_KIND_DNS);
		else
			strcpy(m.text, "words");
		memset(&got, 0xa5, sizeof(got));
		ck_assert_int_eq(gw_msg_send(sv[0], &m, want_fd), 0);
		ck_assert_int_eq(gw_msg_recv(sv[1], &got, &fd), 1);
		ck_assert_mem_eq(&m, &got, gw_msg_len(t));
		if (t == GW_MSG_INIT) {
			ck_assert_int_ge(fd, 0);
			ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
			ck_assert_int_eq(close(fd), 0);
		} else {
			ck_assert_int_eq(fd, -1);
		}
	}
}
END_TEST

START_TEST(text_is_cut)
{
	char text[2 * sizeof(((struct gw_msg *)0)->text)];
	struct gw_msg m;
	int fd = -1;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(gw_msg_send_text(sv[0], GW_MSG_LOG, 2, text), 0);
	ck_assert_int_eq(gw_msg_recv(sv[1], &m, &fd), 1);
	ck_assert_int_eq(m.value, 2);
	ck_assert_uint_eq(strlen(m.text), sizeof(m.text) - 1);
}
END_TEST

START_TEST(strings_are_ended)
{
	struct gw_msg m, got;
	int fd = -1;

	memset(&m, 'x', sizeof(m));
	m.type = GW_MSG_FAILED;
	send_raw(&m, gw_msg_len(m.type), 0);
	ck_assert_int_eq(gw_msg_recv(sv[1], &got, &fd), 1);
	ck_assert_uint_eq(strlen(got.text), sizeof(got.text) - 1);
	memset(&m, 'x', sizeof(m));
	m.type = GW_MSG_EVENT;
	m.event.type = EVENT_ERROR;
	m.event.kind = EVENT_KIND_NONE;
	m.event.reason = EVENT_REASON_NONE;
	send_raw(&m, gw_msg_len(m.type), 0);
	ck_assert_int_eq(gw_msg_recv(sv[1], &got, &fd), 1);
	ck_assert_uint_eq(strlen(got.event.text), sizeof(got.event.text) - 1);
}
END_TEST

START_TEST(wrong_lengths)
{
	for (unsigned int t = 0; t < GW_MSG_MAX; t++) {
		char big[sizeof(struct gw_msg) + 1] = { 0 };
		struct gw_msg m;

		memset(&m, 0, sizeof(m));
		m.type = t;
		memcpy(big, &m, sizeof(m));
		for (size_t len = 1; len <= sizeof(m); len += 1 + len / 64) {
			if (len == gw_msg_len(t))
				continue;
			send_raw(big, len, t == GW_MSG_INIT);
			expect(-EPROTO);
		}
		send_raw(big, sizeof(big), t == GW_MSG_INIT);
		expect(-EMSGSIZE);
	}
}
END_TEST

START_TEST(wrong_types)
{
	static const int types[] = { GW_MSG_MAX, -1, 0x7fffffff };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct gw_msg m;

		memset(&m, 0, sizeof(m));
		memcpy(&m.type, &types[i], sizeof(m.type));
		send_raw(&m, gw_msg_len(GW_MSG_STARTED), 0);
		expect(-EPROTO);
		send_raw(&m, sizeof(m), 3);
		expect(-EPROTO);
	}
}
END_TEST

START_TEST(wrong_event)
{
	struct gw_msg m;

	memset(&m, 0, sizeof(m));
	m.type = GW_MSG_EVENT;
	m.event.kind = EVENT_KIND_MAX;
	send_raw(&m, gw_msg_len(m.type), 0);
	expect(-EPROTO);
}
END_TEST

START_TEST(unexpected_descriptors)
{
	for (unsigned int t = 0; t < GW_MSG_MAX; t++) {
		struct gw_msg m;
		size_t n;

		memset(&m, 0, sizeof(m));
		m.type = t;
		for (n = 0; n <= IO_FDS_MAX; n++) {
			if (n == (t == GW_MSG_INIT))
				continue;
			send_raw(&m, gw_msg_len(t), n);
			expect(-EPROTO);
		}
	}
}
END_TEST

/* Nothing but descriptors is no end. */
START_TEST(empty_messages)
{
	send_raw("", 0, 2);
	expect(-EPROTO);
	send_raw("", 0, 0);
	expect(0);
}
END_TEST

START_TEST(nothing_there_and_end)
{
	expect(-EAGAIN);
	fd_closep(&sv[0]);
	expect(0);
}
END_TEST

START_TEST(full_socket)
{
	int r, n = 0;

	do {
		r = gw_msg_send_text(sv[0], GW_MSG_LOG, 1, "x");
	} while (r == 0 && ++n < 100000);
	ck_assert_int_eq(r, -EAGAIN);
	fd_closep(&sv[1]);
	r = gw_msg_send_text(sv[0], GW_MSG_LOG, 1, "x"); /* no SIGPIPE */
	ck_assert(r == -EPIPE || r == -ECONNRESET);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("msg");
	TCase *tc = tcase_create("msg");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_type_arrives);
	tcase_add_test(tc, text_is_cut);
	tcase_add_test(tc, strings_are_ended);
	tcase_add_test(tc, wrong_lengths);
	tcase_add_test(tc, wrong_types);
	tcase_add_test(tc, wrong_event);
	tcase_add_test(tc, unexpected_descriptors);
	tcase_add_test(tc, empty_messages);
	tcase_add_test(tc, nothing_there_and_end);
	tcase_add_test(tc, full_socket);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
