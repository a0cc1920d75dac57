/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_relay_pump.c - bytes, ends and resets through the relay
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "relay/relay_internal.h"
#include "tests/unit/relay_lab.h"

#define MAX_FDS 4096
#define MIB	(1024U * 1024)

static struct lab lab;
static int client, server;

static void setup(void)
{
	lab_open(&lab, MAX_FDS);
}

static void teardown(void)
{
	lab_close(&lab);
}

static void assert_end(int fd)
{
	char c;

	ck_assert_int_eq(lab_read(&lab, fd, &c, 1), 0);
}

static void assert_reset(int fd)
{
	char c;

	ck_assert_int_eq(lab_read(&lab, fd, &c, 1), -ECONNRESET);
}

static void assert_gone(enum relay_close why)
{
	struct relay_stats s;

	ck_assert(lab_until(&lab, &lab.n_closed, 1));
	ck_assert_int_eq(lab.last_closed.reason, why);
	lab_get_stats(&lab, &s);
	ck_assert_uint_eq(s.flows.in_use, 0);
	ck_assert_uint_eq(s.pipes_in_use, 0);
	ck_assert_uint_eq(lab.relay->stash_bytes, 0);
	ck_assert_uint_eq(
		relay_count_addr(lab.relay, &lab.last_closed.key.dst.addr), 0);
}

static const char *const addrs[] = { "11.0.0.5", "2a0e:b107::5" };

START_TEST(small_and_large_are_identical)
{
	struct relay_stats s;

	lab_pair(&lab, addrs[_i], &client, &server);
	for (unsigned int i = 1; i < 50; i++) {
		lab_transfer(&lab, client, server, i * 7, i);
		lab_transfer(&lab, server, client, i * 31, i);
	}
	lab_get_stats(&lab, &s);
	ck_assert_uint_eq(s.pipes_idle, 0);
	lab_transfer(&lab, client, server, MIB, 1);
	lab_transfer(&lab, server, client, MIB, 2);
	lab_transfer(&lab, client, server, 64 * MIB, 3);
	lab_transfer(&lab, server, client, 64 * MIB, 4);
	lab_get_stats(&lab, &s);
	ck_assert_uint_eq(s.pipes_in_use, 0);
	ck_assert_uint_gt(s.pipes_idle, 0);
	close(client);
	close(server);
	assert_gone(RELAY_CLOSE_END);
	ck_assert_uint_eq(lab.last_closed.bytes_out,
			  65 * MIB + 7 * (49 * 50 / 2));
	ck_assert_uint_eq(lab.last_closed.bytes_in,
			  65 * MIB + 31 * (49 * 50 / 2));
}
END_TEST

START_TEST(without_pipes_or_stash_all_arrives)
{
	const size_t taken = 16 * MIB;

	lab_pair(&lab, addrs[0], &client, &server);
	lab.relay->pipes.max = 0;
	lab_transfer(&lab, client, server, 32 * MIB, 5);
	/* As if other flows held all that may be held. */
	lab.relay->stash_bytes += taken;
	lab_transfer(&lab, server, client, 32 * MIB, 6);
	lab.relay->stash_bytes -= taken;
	close(server);
	assert_end(client);
	close(client);
	assert_gone(RELAY_CLOSE_END);
}
END_TEST

START_TEST(client_half_closes)
{
	char buf[6];

	lab_pair(&lab, addrs[_i], &client, &server);
	lab_write(&lab, client, "ask", 3);
	ck_assert_int_eq(shutdown(client, SHUT_WR), 0);
	ck_assert_int_eq(lab_read(&lab, server, buf, 3), 3);
	assert_end(server);
	lab_write(&lab, server, "answer", 6);
	ck_assert_int_eq(lab_read(&lab, client, buf, 6), 6);
	lab_transfer(&lab, server, client, 4 * MIB, 1);
	close(server);
	assert_end(client);
	assert_gone(RELAY_CLOSE_END);
	close(client);
}
END_TEST

START_TEST(server_half_closes)
{
	char buf[6];

	lab_pair(&lab, addrs[_i], &client, &server);
	lab_write(&lab, server, "hello", 5);
	ck_assert_int_eq(shutdown(server, SHUT_WR), 0);
	ck_assert_int_eq(lab_read(&lab, client, buf, 5), 5);
	assert_end(client);
	lab_transfer(&lab, client, server, 4 * MIB, 1);
	close(client);
	assert_end(server);
	assert_gone(RELAY_CLOSE_END);
	close(server);
}
END_TEST

START_TEST(client_resets)
{
	lab_pair(&lab, addrs[_i], &client, &server);
	lab_transfer(&lab, client, server, 1000, 1);
	lab_reset(client);
	assert_reset(server);
	assert_gone(RELAY_CLOSE_RESET);
	close(server);
}
END_TEST

START_TEST(server_resets)
{
	lab_pair(&lab, addrs[_i], &client, &server);
	lab_transfer(&lab, client, server, 1000, 1);
	lab_reset(server);
	assert_reset(client);
	assert_gone(RELAY_CLOSE_RESET);
	close(client);
}
END_TEST

/* The end of one direction has passed; the other is reset. */
START_TEST(reset_after_half_close)
{
	lab_pair(&lab, addrs[0], &client, &server);
	ck_assert_int_eq(shutdown(_i ? client : server, SHUT_WR), 0);
	assert_end(_i ? server : client);
	lab_reset(_i ? client : server);
	/* recv() would go on saying "end"; direct peers see the same. */
	ck_assert(lab_wait(&lab, _i ? server : client, EPOLLERR, LAB_WAIT_MS) &
		  EPOLLERR);
	assert_gone(RELAY_CLOSE_RESET);
	close(_i ? server : client);
}
END_TEST

/* A server that answers early and closes with unread input. */
START_TEST(answer_before_reset_arrives)
{
	char buf[64];

	lab_pair(&lab, addrs[0], &client, &server);
	lab_write(&lab, client, "unread", 6);
	ck_assert(lab_wait(&lab, server, EPOLLIN, LAB_WAIT_MS));
	lab_write(&lab, server, "413 too large", 13);
	close(server);
	ck_assert_int_eq(lab_read(&lab, client, buf, 13), 13);
	assert_reset(client);
	assert_gone(RELAY_CLOSE_RESET);
	close(client);
}
END_TEST

/* Writes until nothing more is taken; returns how much was. */
static size_t fill_up(int fd)
{
	static uint8_t data[64 * 1024];
	size_t n = 0;

	while (lab_wait(&lab, fd, EPOLLOUT, 20)) {
		ssize_t r = send(fd, data, sizeof(data),
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		ck_assert(r > 0 || errno == EAGAIN);
		if (r > 0)
			n += (size_t)r;
	}
	return n;
}

static size_t drain(int fd, size_t len)
{
	static uint8_t data[64 * 1024];
	size_t n = 0;

	while (n < len) {
		size_t want = len - n < sizeof(data) ? len - n : sizeof(data);

		ck_assert_int_eq(lab_read(&lab, fd, data, want), (ssize_t)want);
		n += want;
	}
	return n;
}

/* _i & 1: the server never reads; _i & 2: without pipes. */
START_TEST(peer_that_never_reads_is_bounded)
{
	struct relay_stats s;
	int from, to;
	size_t n;

	lab_pair(&lab, addrs[0], &client, &server);
	if (_i & 2)
		lab.relay->pipes.max = 0;
	from = _i & 1 ? client : server;
	to = _i & 1 ? server : client;
	n = fill_up(from);
	lab_get_stats(&lab, &s);
	ck_assert_uint_eq(s.pipes_in_use + (lab.relay->stash_bytes > 0), 1);
	ck_assert_uint_le(lab.relay->stash_bytes, RELAY_SCRATCH);
	/* The other direction isn't hindered. */
	lab_transfer(&lab, to, from, MIB, 9);
	ck_assert_uint_eq(drain(to, n), n);
	lab_get_stats(&lab, &s);
	ck_assert_uint_eq(s.pipes_in_use, 0);
	lab_transfer(&lab, from, to, MIB, 10);
	close(from);
	assert_end(to);
	close(to);
	assert_gone(RELAY_CLOSE_END);
}
END_TEST

/* With bytes stuck for the other side a reset is passed on all the same. */
START_TEST(reset_passes_full_buffers)
{
	int from, to;

	lab_pair(&lab, addrs[0], &client, &server);
	from = _i ? client : server;
	to = _i ? server : client;
	(void)fill_up(from);
	lab_reset(from);
	assert_gone(RELAY_CLOSE_RESET);
	lab_settle(&lab);
	ck_assert(lab_wait(&lab, to, EPOLLERR, LAB_WAIT_MS) & EPOLLERR);
	close(to);
}
END_TEST

START_TEST(urgent_byte_is_a_byte)
{
	static const char want[] = "before!after";
	char buf[sizeof(want)] = { 0 };

	lab_pair(&lab, addrs[0], &client, &server);
	lab_write(&lab, client, "before", 6);
	ck_assert_int_eq(send(client, "!", 1, MSG_OOB), 1);
	lab_write(&lab, client, "after", 5);
	ck_assert_int_eq(lab_read(&lab, server, buf, 12), 12);
	ck_assert_str_eq(buf, want);
	ck_assert_int_eq(send(client, "?", 1, MSG_OOB), 1);
	ck_assert_int_eq(lab_read(&lab, server, buf, 1), 1);
	ck_assert_int_eq(buf[0], '?');
}
END_TEST

/* Urgent marks in the middle of a bulk transfer stall nothing. */
START_TEST(urgent_in_bulk)
{
	static uint8_t data[256 * 1024];
	size_t n = 0, got = 0;

	lab_pair(&lab, addrs[0], &client, &server);
	for (int i = 0; i < 100; i++) {
		ssize_t r = send(client, data, sizeof(data), MSG_DONTWAIT);

		n += r > 0 ? (size_t)r : 0;
		if (i % 10 == 5)
			n += send(client, "!", 1, MSG_OOB | MSG_DONTWAIT) == 1;
		ck_assert_int_eq(loop_run_once(lab.loop, 0), 0);
		while ((r = recv(server, data, sizeof(data), MSG_DONTWAIT)) > 0)
			got += (size_t)r;
	}
	(void)drain(server, n - got);
	close(client);
	assert_end(server);
}
END_TEST

/* As many as the machine lets this process have, each with four. */
static int idle_ones(int wanted)
{
	struct rlimit l;
	int most;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &l), 0);
	most = l.rlim_cur > 100000 ? 20000 : (int)l.rlim_cur / 5;
	return wanted < most ? wanted : most;
}

START_TEST(idle_ones_cost_two_descriptors)
{
	enum { N_MAX = 2000 };
	static int fds[2 * N_MAX];
	int n = idle_ones(N_MAX);
	unsigned int before = lab_count_fds();
	struct relay_stats s;
	struct endpoint to;
	int listener = lab_listen("11.0.0.9", &to);

	for (int i = 0; i < n; i++) {
		fds[2 * i] = lab_client(&lab, AF_INET, 0);
		ck_assert_int_eq(
			lab_connect(&lab, fds[2 * i], &to, LAB_WAIT_MS), 0);
		fds[2 * i + 1] = lab_accept(&lab, listener);
	}
	ck_assert(lab_until(&lab, &lab.n_opened, (unsigned int)n));
	lab_get_stats(&lab, &s);
	ck_assert_uint_eq(s.flows.in_use, (unsigned int)n);
	ck_assert_uint_eq(s.pending.in_use, 0);
	ck_assert_uint_eq(s.pipes_idle + s.pipes_in_use, 0);
	ck_assert_uint_eq(relay_count_addr(lab.relay, &to.addr),
			  (unsigned int)n);
	/* Two are the test's own, one listens. */
	ck_assert_uint_eq(lab_count_fds() - before, 1 + 4 * (unsigned int)n);
	for (int i = 0; i < n; i += 100)
		lab_transfer(&lab, fds[2 * i], fds[2 * i + 1], 5000, 1);
	for (int i = 0; i < 2 * n; i++)
		close(fds[i]);
	ck_assert(lab_until(&lab, &lab.n_closed, (unsigned int)n));
	close(listener);
	ck_assert_uint_eq(lab_count_fds(), before);
}
END_TEST

/* Many bulk flows at once: all get on, pipes are bounded and come back. */
START_TEST(flows_share)
{
	enum { N = 100 };
	static int c[N], s[N];
	struct relay_stats st;

	for (int i = 0; i < N; i++)
		lab_pair(&lab, addrs[0], &c[i], &s[i]);
	for (int i = 0; i < N; i++)
		(void)fill_up(s[i]);
	lab_get_stats(&lab, &st);
	ck_assert_uint_le(st.pipes_in_use, lab.relay->pipes.max);
	ck_assert_uint_gt(st.pipes_in_use, 0);
	for (int i = 0; i < N; i++) {
		char buf[1000];

		ck_assert_int_eq(lab_read(&lab, c[i], buf, 1000), 1000);
		close(c[i]);
		close(s[i]);
	}
	ck_assert(lab_until(&lab, &lab.n_closed, N));
	lab_get_stats(&lab, &st);
	ck_assert_uint_eq(st.pipes_in_use, 0);
	ck_assert_uint_eq(lab.relay->stash_bytes, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relay_pump");
	TCase *tc = tcase_create("pump");
	SRunner *sr;
	int failed;

	if (!lab_can_run())
		return getenv("EGRET_MUST_WORK") ? 1 : 0;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, small_and_large_are_identical, 0, 2);
	tcase_add_test(tc, without_pipes_or_stash_all_arrives);
	tcase_add_loop_test(tc, client_half_closes, 0, 2);
	tcase_add_loop_test(tc, server_half_closes, 0, 2);
	tcase_add_loop_test(tc, client_resets, 0, 2);
	tcase_add_loop_test(tc, server_resets, 0, 2);
	tcase_add_loop_test(tc, reset_after_half_close, 0, 2);
	tcase_add_test(tc, answer_before_reset_arrives);
	tcase_add_loop_test(tc, peer_that_never_reads_is_bounded, 0, 4);
	tcase_add_loop_test(tc, reset_passes_full_buffers, 0, 2);
	tcase_add_test(tc, urgent_byte_is_a_byte);
	tcase_add_test(tc, urgent_in_bulk);
	tcase_add_test(tc, idle_ones_cost_two_descriptors);
	tcase_add_test(tc, flows_share);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
