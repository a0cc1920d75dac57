/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_relay_kernel.c - held SYNs: what connect() inside is told, and limits
 */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "relay/flow_internal.h"
#include "tests/unit/relay_lab.h"

#define MAX_FDS	  4096
#define PROMPT_MS 500 /* a refusal is a matter of 1 ms; the machine is busy */
#define HOLE_ADDR "11.9.0.1"
#define PORT	  20000

static struct lab lab;

static void setup(void)
{
	lab_open(&lab, MAX_FDS);
}

static void setup_few_fds(void)
{
	lab_open(&lab, 64);
}

static void teardown(void)
{
	lab_close(&lab);
}

static struct relay_stats stats(void)
{
	struct relay_stats s;

	lab_get_stats(&lab, &s);
	return s;
}

static void assert_nothing_left(void)
{
	struct relay_stats s = stats();

	ck_assert_uint_eq(s.flows.in_use, 0);
	ck_assert_uint_eq(s.pending.in_use, 0);
	ck_assert_uint_eq(lab.relay->n_injected, 0);
}

/* Begins a connect() and turns the loop until the relay saw its SYN. */
static int begin(const struct endpoint *to, uint16_t port)
{
	uint64_t syns = stats().syns;
	int fd = lab_client(&lab, to->addr.family, port);

	ck_assert_int_eq(lab_connect(&lab, fd, to, 0), -EINPROGRESS);
	for (int i = 0; i < 100 && stats().syns == syns; i++)
		ck_assert_int_eq(loop_run_once(lab.loop, 10), 0);
	ck_assert_uint_eq(stats().syns, syns + 1);
	return fd;
}

static int error_of(int fd)
{
	socklen_t len = sizeof(int);
	int error = -1;

	ck_assert(lab_wait(&lab, fd, EPOLLOUT, LAB_WAIT_MS));
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	return error;
}

static const struct {
	const char *addr;
	int error;	/* inside */
	int host_error; /* in the report */
} failing[] = {
	{ "11.0.0.5", ECONNREFUSED, ECONNREFUSED },
	{ "2a0e:b107::5", ECONNREFUSED, ECONNREFUSED },
	{ "11.8.0.1", EHOSTUNREACH, EHOSTUNREACH },
	{ "11.7.0.1", EHOSTUNREACH, EACCES },
	{ "12.0.0.1", EHOSTUNREACH, ENETUNREACH },
	{ "2a0e:b108::1", EHOSTUNREACH, ENETUNREACH },
};

START_TEST(failure_is_the_destinations_own)
{
	struct endpoint to = lab_endpoint(failing[_i].addr, 9);
	int fd = lab_client(&lab, to.addr.family, 0);
	uint64_t start = clock_now_ms();
	int r = lab_connect(&lab, fd, &to, LAB_WAIT_MS);

	ck_assert_msg(r == -failing[_i].error, "%s: %s", failing[_i].addr,
		      strerror(-r));
	ck_assert_uint_lt(clock_now_ms() - start, PROMPT_MS);
	ck_assert_uint_eq(lab.n_refused_by[RELAY_REFUSED_UPSTREAM], 1);
	ck_assert_int_eq(lab.last_refused.error, failing[_i].host_error);
	ck_assert(endpoint_equal(&lab.last_refused.key.dst, &to));
	assert_nothing_left();
	close(fd);
}
END_TEST

START_TEST(policy_refuses)
{
	struct endpoint to;
	int listener = lab_listen("11.0.0.6", &to);
	int fd = lab_client(&lab, AF_INET, 0);

	lab.denied = to.addr;
	ck_assert_int_eq(lab_connect(&lab, fd, &to, LAB_WAIT_MS),
			 -ECONNREFUSED);
	ck_assert_uint_eq(lab.n_refused_by[RELAY_REFUSED_POLICY], 1);
	ck_assert_int_lt(accept(listener, NULL, NULL), 0);
	assert_nothing_left();
	close(fd);
	close(listener);
}
END_TEST

/* Success comes only after the destination accepted. */
START_TEST(success_is_held_back)
{
	struct endpoint to = lab_endpoint(HOLE_ADDR, 9);
	int fd = begin(&to, 0);

	ck_assert_uint_eq(stats().pending.in_use, 1);
	ck_assert_uint_eq(relay_count_addr(lab.relay, &to.addr), 1);
	ck_assert_uint_eq(lab_wait(&lab, fd, EPOLLOUT, 50), 0);
	ck_assert_uint_eq(stats().injected, 0);
	close(fd);
}
END_TEST

START_TEST(black_hole_ends_in_silence)
{
	struct endpoint to = lab_endpoint(HOLE_ADDR, 9);
	int fd = begin(&to, 0);

	clock_set_fake(clock_now_ms() + 131 * CLOCK_MS_PER_S);
	ck_assert_int_eq(loop_run_once(lab.loop, 0), 0);
	clock_clear_fake();
	ck_assert_uint_eq(stats().timed_out, 1);
	ck_assert_int_eq(lab.last_refused.error, ETIMEDOUT);
	ck_assert_uint_eq(stats().injected, 0);
	assert_nothing_left();
	close(fd);
}
END_TEST

static const uint8_t mac[6] = { 2 };

/* A SYN of the sandbox, straight to the relay. */
static void give_syn(const char *dst, uint16_t src_port, uint32_t isn)
{
	uint8_t frame[SYN_FRAME_MAX];
	struct syn s = {
		.key.src = lab_endpoint("198.18.0.2", src_port),
		.key.dst = lab_endpoint(dst, 9),
		.isn = isn,
		.window = 64240,
	};
	size_t len = syn_build(&s, mac, mac, frame);

	relay_syn(lab.relay, frame + 14, len - 14);
}

START_TEST(pending_ones_are_bounded)
{
	char dst[ADDR_STR_LEN];

	for (unsigned int i = 0; i < 300; i++)
		give_syn(HOLE_ADDR, (uint16_t)(10000 + i), 1);
	ck_assert_uint_eq(stats().pending.in_use, 256);
	ck_assert_uint_eq(stats().refused_limit, 44);
	ck_assert_uint_eq(lab.n_refused_by[RELAY_REFUSED_LIMIT], 44);
	ck_assert_uint_eq(stats().injected, 44);
	for (unsigned int i = 0; i < 1000; i++) {
		(void)snprintf(dst, sizeof(dst), "11.9.1.%u", i % 250);
		give_syn(dst, (uint16_t)(20000 + i), 1);
	}
	ck_assert_uint_eq(stats().pending.in_use, 1024);
	ck_assert_uint_eq(stats().refused_limit, 44 + 1000 - 768);
	/* Repeated ones take no place and aren't connected again. */
	give_syn(HOLE_ADDR, 10000, 2);
	ck_assert_uint_eq(stats().refused_limit, 44 + 1000 - 768);
	lab.denied = lab_endpoint(HOLE_ADDR, 0).addr;
	ck_assert_uint_eq(relay_rejudge(lab.relay), 256);
	ck_assert_uint_eq(stats().pending.in_use, 768);
}
END_TEST

START_TEST(rubbish_is_counted)
{
	static const uint8_t rubbish[64] = { 0x45 };

	relay_syn(lab.relay, rubbish, sizeof(rubbish));
	relay_refuse_syn(lab.relay, rubbish, 0);
	ck_assert_uint_eq(stats().syns, 2);
	ck_assert_uint_eq(stats().malformed, 2);
	ck_assert_uint_eq(stats().injected, 0);
}
END_TEST

/* The sandbox gave up: what was connected for it is reset after 3 s. */
START_TEST(not_accepted_is_reset)
{
	struct endpoint to;
	int listener = lab_listen("11.0.0.6", &to);
	struct syn s = {
		.key.src = lab_endpoint("198.18.0.77", 1000), /* nobody */
		.key.dst = to,
		.isn = 1,
	};
	uint8_t frame[SYN_FRAME_MAX];
	size_t len = syn_build(&s, mac, mac, frame);
	int server;

	relay_syn(lab.relay, frame + 14, len - 14);
	ck_assert_uint_eq(stats().injected, 1);
	server = lab_accept(&lab, listener);
	clock_set_fake(clock_now_ms() + 3100);
	ck_assert_int_eq(loop_run_once(lab.loop, 0), 0);
	clock_clear_fake();
	ck_assert_uint_eq(stats().lost, 1);
	assert_nothing_left();
	ck_assert_int_eq(lab_read(&lab, server, frame, 1), -ECONNRESET);
	close(server);
	close(listener);
}
END_TEST

START_TEST(edit_cuts_what_is_connecting)
{
	struct endpoint to = lab_endpoint(HOLE_ADDR, 9);
	int fd = begin(&to, 0);

	lab.denied = to.addr;
	ck_assert_uint_eq(relay_rejudge(lab.relay), 1);
	ck_assert_int_eq(error_of(fd), ECONNREFUSED);
	ck_assert_uint_eq(lab.n_refused_by[RELAY_REFUSED_POLICY], 1);
	assert_nothing_left();
	close(fd);
}
END_TEST

/* The kernel completed the handshake; the relay hasn't looked yet. */
START_TEST(edit_cuts_what_is_not_accepted)
{
	struct endpoint to;
	int listener = lab_listen("11.0.0.6", &to);
	int fd, server;
	char c;

	lab.swallow_syns = true;
	fd = lab_client(&lab, AF_INET, PORT);
	ck_assert_int_eq(lab_connect(&lab, fd, &to, 20), -EINPROGRESS);
	lab.swallow_syns = false;
	/* The repeated one is held, connected and injected in one turn. */
	while (stats().injected == 0)
		ck_assert_int_eq(loop_run_once(lab.loop, 2000), 0);
	lab.denied = to.addr;
	ck_assert_uint_eq(relay_rejudge(lab.relay), 1);
	server = accept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(lab_read(&lab, server, &c, 1), -ECONNRESET);
	(void)lab_wait(&lab, fd, EPOLLERR | EPOLLHUP, LAB_WAIT_MS);
	ck_assert_int_lt(recv(fd, &c, 1, MSG_DONTWAIT), 0);
	ck_assert(errno == ECONNRESET || errno == ECONNREFUSED);
	ck_assert_uint_eq(lab.n_opened, 0);
	assert_nothing_left();
	close(fd);
	close(server);
	close(listener);
}
END_TEST

static void fill_up(int fd)
{
	static uint8_t data[64 * 1024];

	while (lab_wait(&lab, fd, EPOLLOUT, 20))
		(void)send(fd, data, sizeof(data), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* _i: both ends idle, or both directions full. */
START_TEST(edit_cuts_flows_and_no_others)
{
	int client, server, other_client, other_server;
	char c;

	lab_pair(&lab, "11.0.0.5", &client, &server);
	lab_pair(&lab, "11.0.0.6", &other_client, &other_server);
	if (_i) {
		fill_up(client);
		fill_up(server);
	}
	ck_assert_uint_eq(relay_rejudge(lab.relay), 0);
	lab.denied = lab_endpoint("11.0.0.5", 0).addr;
	ck_assert_uint_eq(relay_rejudge(lab.relay), 1);
	ck_assert_uint_eq(lab.n_closed, 1);
	ck_assert_int_eq(lab.last_closed.reason, RELAY_CLOSE_POLICY);
	ck_assert(lab_wait(&lab, client, EPOLLERR, 100) & EPOLLERR);
	ck_assert(lab_wait(&lab, server, EPOLLERR, 100) & EPOLLERR);
	if (!_i) {
		ck_assert_int_eq(lab_read(&lab, client, &c, 1), -ECONNRESET);
		ck_assert_int_eq(lab_read(&lab, server, &c, 1), -ECONNRESET);
	}
	lab_transfer(&lab, other_client, other_server, 1 << 20, 1);
	ck_assert_uint_eq(stats().flows.in_use, 1);
	ck_assert_uint_eq(stats().pipes_in_use, 0);
}
END_TEST

START_TEST(freeing_resets_all)
{
	struct endpoint hole = lab_endpoint(HOLE_ADDR, 9);
	int client, server, held;
	char c;

	lab_pair(&lab, "11.0.0.5", &client, &server);
	held = begin(&hole, 0);
	loop_del_fd(&lab.nflog_w);
	relay_freep(&lab.relay);
	ck_assert_uint_eq(lab.n_closed, 1);
	ck_assert_int_eq(lab.last_closed.reason, RELAY_CLOSE_STOPPED);
	ck_assert_int_eq(lab_read(&lab, client, &c, 1), -ECONNRESET);
	ck_assert_int_eq(lab_read(&lab, server, &c, 1), -ECONNRESET);
	close(held);
}
END_TEST

/* The server ended first: TIME_WAIT is in the gateway, the port free inside. */
START_TEST(port_is_used_again_at_once)
{
	struct endpoint to;
	int listener = lab_listen("11.0.0.5", &to);
	char c;

	for (unsigned int i = 1; i <= 20; i++) {
		int fd = lab_client(&lab, AF_INET, PORT);
		uint64_t start = clock_now_ms();
		int server;

		ck_assert_int_eq(lab_connect(&lab, fd, &to, LAB_WAIT_MS), 0);
		ck_assert_uint_lt(clock_now_ms() - start, PROMPT_MS);
		server = lab_accept(&lab, listener);
		lab_transfer(&lab, fd, server, 1000, i);
		close(server);
		ck_assert_int_eq(lab_read(&lab, fd, &c, 1), 0);
		close(fd);
		ck_assert(lab_until(&lab, &lab.n_closed, i));
		ck_assert_int_eq(lab.last_closed.reason, RELAY_CLOSE_END);
	}
	close(listener);
}
END_TEST

/* A socket of the sandbox vanishes without a word; another takes its port. */
START_TEST(new_isn_of_a_live_flow)
{
	struct endpoint to;
	int listener = lab_listen("11.0.0.5", &to);
	int fd = lab_client(&lab, AF_INET, PORT);
	int server, server2, on = 1;
	char c;

	ck_assert_int_eq(lab_connect(&lab, fd, &to, LAB_WAIT_MS), 0);
	server = lab_accept(&lab, listener);
	ck_assert(lab_until(&lab, &lab.n_opened, 1));
	ck_assert_int_eq(
		setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), 0);
	close(fd);
	fd = lab_client(&lab, AF_INET, PORT);
	ck_assert_int_eq(lab_connect(&lab, fd, &to, LAB_WAIT_MS), 0);
	ck_assert_int_eq(lab_read(&lab, server, &c, 1), -ECONNRESET);
	server2 = lab_accept(&lab, listener);
	lab_transfer(&lab, fd, server2, 1000, 1);
	ck_assert_uint_eq(stats().flows.in_use, 1);
	close(server);
	close(server2);
	close(fd);
	close(listener);
}
END_TEST

/* An echo of the accepted SYN is dropped; another ISN is for the kernel. */
START_TEST(repeated_syns_of_a_live_flow)
{
	struct flow *f;
	struct syn s = { 0 };
	uint8_t frame[SYN_FRAME_MAX];
	int client, server;
	uint64_t injected;
	size_t len;

	lab_pair(&lab, "11.0.0.5", &client, &server);
	f = pool_next(lab.relay->flow_pool, NULL);
	ck_assert_ptr_nonnull(f);
	injected = stats().injected;
	for (unsigned int i = 0; i < 2; i++) {
		s.key = f->node.key;
		s.isn = f->isn + i;
		len = syn_build(&s, mac, mac, frame);
		relay_syn(lab.relay, frame + 14, len - 14);
		ck_assert_uint_eq(stats().injected, injected + i);
	}
	ck_assert_uint_eq(stats().pending.in_use, 0);
	/* The live socket of the sandbox isn't impressed. */
	lab_transfer(&lab, client, server, 100000, 1);
	ck_assert_uint_eq(stats().flows.in_use, 1);
}
END_TEST

START_TEST(accepting_pauses_without_descriptors)
{
	struct rlimit old, low;
	struct endpoint to;
	int listener = lab_listen("11.0.0.5", &to);
	int client, server, fd, server2;

	lab_pair(&lab, "11.0.0.6", &client, &server);
	fd = lab_client(&lab, AF_INET, 0);
	ck_assert_int_eq(lab_connect(&lab, fd, &to, 0), -EINPROGRESS);
	while (stats().injected == 1)
		ck_assert_int_eq(loop_run_once(lab.loop, 100), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	while (stats().accept_pauses == 0)
		ck_assert_int_eq(loop_run_once(lab.loop, 100), 0);
	/* What is open goes on, and the loop doesn't spin. */
	lab_transfer(&lab, client, server, 1 << 20, 1);
	ck_assert_uint_eq(stats().accept_pauses, 1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert(lab_until(&lab, &lab.n_opened, 2));
	server2 = lab_accept(&lab, listener);
	lab_transfer(&lab, fd, server2, 1000, 2);
	close(fd);
	close(server2);
}
END_TEST

/* No descriptor for the upstream socket is our limit, not the destination's. */
START_TEST(no_descriptor_is_limit)
{
	struct rlimit old, low;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	give_syn("11.0.0.5", 1000, 1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert_uint_eq(lab.n_refused_by[RELAY_REFUSED_LIMIT], 1);
	ck_assert_int_eq(lab.last_refused.error, EMFILE);
	ck_assert_uint_eq(stats().refused_limit, 1);
	assert_nothing_left();
}
END_TEST

/* With max_fds of 64 there is room for 22 flows and not one more. */
START_TEST(flows_are_bounded)
{
	enum { N = 22 };
	int client[N], server[N], fd;
	struct endpoint to = lab_endpoint("11.0.0.5", 9);

	ck_assert_uint_eq(stats().flows.max, N);
	for (int i = 0; i < N; i++)
		lab_pair(&lab, "11.0.0.6", &client[i], &server[i]);
	fd = lab_client(&lab, AF_INET, 0);
	ck_assert_int_eq(lab_connect(&lab, fd, &to, LAB_WAIT_MS),
			 -ECONNREFUSED);
	ck_assert_uint_eq(lab.n_refused_by[RELAY_REFUSED_LIMIT], 1);
	close(client[0]);
	close(server[0]);
	ck_assert(lab_until(&lab, &lab.n_closed, 1));
	lab_pair(&lab, "11.0.0.6", &client[0], &server[0]);
}
END_TEST

static TCase *add_case(Suite *s, const char *name, SFun set_up)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, set_up, teardown);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);
	return tc;
}

int main(void)
{
	Suite *s = suite_create("relay_kernel");
	TCase *tc;
	SRunner *sr;
	int failed;

	if (!lab_can_run())
		return getenv("EGRET_MUST_WORK") ? 1 : 0;
	tc = add_case(s, "hold", setup);
	tcase_add_loop_test(tc, failure_is_the_destinations_own, 0,
			    ARRAY_SIZE(failing));
	tcase_add_test(tc, policy_refuses);
	tcase_add_test(tc, success_is_held_back);
	tcase_add_test(tc, black_hole_ends_in_silence);
	tcase_add_test(tc, pending_ones_are_bounded);
	tcase_add_test(tc, rubbish_is_counted);
	tcase_add_test(tc, not_accepted_is_reset);
	tcase_add_test(tc, port_is_used_again_at_once);
	tcase_add_test(tc, new_isn_of_a_live_flow);
	tcase_add_test(tc, repeated_syns_of_a_live_flow);
	tc = add_case(s, "edits", setup);
	tcase_add_test(tc, edit_cuts_what_is_connecting);
	tcase_add_test(tc, edit_cuts_what_is_not_accepted);
	tcase_add_loop_test(tc, edit_cuts_flows_and_no_others, 0, 2);
	tcase_add_test(tc, freeing_resets_all);
	tc = add_case(s, "descriptors", setup);
	tcase_add_test(tc, accepting_pauses_without_descriptors);
	tcase_add_test(tc, no_descriptor_is_limit);
	tc = add_case(s, "few descriptors", setup_few_fds);
	tcase_add_test(tc, flows_are_bounded);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
