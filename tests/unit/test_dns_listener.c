/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_dns_listener.c - real loopback sockets: addresses, framing, limits
 */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/unit/resolver_lab.h"

#define TURNS_MAX 2000
#define REPLY_MAX 70000

struct net {
	struct lab *l;
	struct sockaddr_in udp4, tcp4;
	struct sockaddr_in6 udp6;
};

static int bound(int family, int type, void *ret, socklen_t len)
{
	struct sockaddr_storage ss = { .ss_family = (sa_family_t)family };
	int fd = socket(family, type | SOCK_CLOEXEC, 0), one = 1;

	ck_assert_int_ge(fd, 0);
	if (family == AF_INET6) {
		ck_assert_int_eq(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one,
					    sizeof(one)),
				 0);
		ck_assert_int_eq(setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO,
					    &one, sizeof(one)),
				 0);
	} else {
		ck_assert_int_eq(setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one,
					    sizeof(one)),
				 0);
	}
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&ss, len), 0);
	ck_assert_int_eq(getsockname(fd, ret, &len), 0);
	if (type == SOCK_STREAM)
		ck_assert_int_eq(listen(fd, 512), 0);
	return fd;
}

static struct net *net_new(const char *policy)
{
	struct net *n = calloc(1, sizeof(*n));
	const struct resolver_config cfg = {
		.udp4_fd =
			bound(AF_INET, SOCK_DGRAM, &n->udp4, sizeof(n->udp4)),
		.udp6_fd =
			bound(AF_INET6, SOCK_DGRAM, &n->udp6, sizeof(n->udp6)),
		.tcp4_fd =
			bound(AF_INET, SOCK_STREAM, &n->tcp4, sizeof(n->tcp4)),
		.tcp6_fd = -1,
		.sandbox = "study42",
	};

	n->l = lab_new_with(&cfg);
	ck_assert_int_eq(lab_set_policy(n->l, policy), 0);
	n->tcp4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return n;
}

static void net_free(struct net *n)
{
	ck_assert_msg(!n->l->broken, "%s", n->l->trouble);
	lab_free(n->l);
	free(n);
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Turns until @fd has something to say. */
static void turn_until_readable(struct net *n, int fd)
{
	for (unsigned int i = 0; i < TURNS_MAX && !is_readable(fd); i++)
		ck_assert_int_ge(loop_run_once(n->l->loop, 1), 0);
	ck_assert(is_readable(fd));
}

/* Turns until so many questions are under way upstream. */
static void turn_until_asks(struct net *n, size_t want)
{
	for (unsigned int i = 0; i < TURNS_MAX && n->l->n_asks < want; i++)
		ck_assert_int_ge(loop_run_once(n->l->loop, 1), 0);
	ck_assert_uint_eq(n->l->n_asks, want);
}

static int tcp_client(struct net *n)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(
		connect(fd, (struct sockaddr *)&n->tcp4, sizeof(n->tcp4)), 0);
	return fd;
}

static size_t query(uint8_t *dst, const char *name, const char *type,
		    uint16_t edns)
{
	const struct lab_question q = { .name = name,
					.type = type,
					.edns = edns };

	return lab_write_query(dst, 512, &q);
}

/* A query with its length before it. */
static size_t framed(uint8_t *dst, const char *name, const char *type)
{
	size_t len = query(dst + 2, name, type, 0);

	wire_put16(dst, (uint16_t)len);
	return len + 2;
}

static void read_all(struct net *n, int fd, uint8_t *dst, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t got;

		turn_until_readable(n, fd);
		got = recv(fd, dst + at, len - at, 0);
		ck_assert_int_gt(got, 0);
		at += (size_t)got;
	}
}

/* One reply as text. */
static const char *tcp_reply(struct net *n, int fd)
{
	static uint8_t msg[REPLY_MAX];
	static struct lab_reply rep;
	uint8_t head[2];

	read_all(n, fd, head, 2);
	rep = (struct lab_reply){ .is_done = true,
				  .len = wire_get16(head),
				  .msg = msg };
	read_all(n, fd, msg, rep.len);
	return lab_text(&rep);
}

/* The reply comes from the very address that was asked. */
START_TEST(test_udp_address)
{
	static const char *const asked[] = { "127.0.0.1", "127.0.0.53",
					     "127.9.8.7" };
	struct net *n = net_new("good.test");

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		struct sockaddr_in to = n->udp4, from;
		socklen_t len = sizeof(from);
		uint8_t buf[4096];
		struct lab_reply rep = { .is_done = true, .msg = buf };

		ck_assert_int_eq(inet_pton(AF_INET, asked[i], &to.sin_addr), 1);
		rep.len = query(buf, "evil.test", "A", 0);
		ck_assert_int_eq(sendto(fd, buf, rep.len, 0,
					(struct sockaddr *)&to, sizeof(to)),
				 (int)rep.len);
		turn_until_readable(n, fd);
		rep.len = (size_t)recvfrom(fd, buf, sizeof(buf), 0,
					   (struct sockaddr *)&from, &len);
		ck_assert(!strncmp(lab_text(&rep), "NXDOMAIN", 8));
		ck_assert_uint_eq(from.sin_addr.s_addr, to.sin_addr.s_addr);
		ck_assert_uint_eq(from.sin_port, to.sin_port);
		(void)close(fd);
	}
	net_free(n);
}
END_TEST

START_TEST(test_udp6)
{
	struct net *n = net_new("good.test");
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 to = n->udp6;
	uint8_t buf[4096];
	struct lab_reply rep = { .is_done = true, .msg = buf };

	to.sin6_addr = in6addr_loopback;
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_gt(send(fd, buf, query(buf, "good.test", "AAAA", 0), 0),
			 0);
	turn_until_asks(n, 1);
	ck_assert(lab_upstream(n->l, 0, "good.test 60 AAAA 2a0e:b107::1"));
	turn_until_readable(n, fd);
	rep.len = (size_t)recv(fd, buf, sizeof(buf), 0);
	ck_assert_str_eq(lab_text(&rep),
			 "NOERROR\ngood.test 60 AAAA 2a0e:b107::1\n");
	(void)close(fd);
	net_free(n);
}
END_TEST

/* Too short, a response, more than a query can be: nothing comes back. */
START_TEST(test_udp_silence)
{
	struct net *n = net_new("good.test");
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = n->udp4;
	static uint8_t big[9000];
	uint8_t buf[512];
	size_t len = query(buf, "evil.test", "A", 0);
	ssize_t got;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_eq(send(fd, buf, 5, 0), 5);
	ck_assert_int_eq(send(fd, buf, 0, 0), 0);
	memcpy(big, buf, len);
	ck_assert_int_eq(send(fd, big, sizeof(big), 0), sizeof(big));
	buf[2] |= 0x80;
	ck_assert_int_eq(send(fd, buf, len, 0), (int)len);
	buf[2] &= 0x7f;
	buf[0] = 0x77; /* and then one that is answered */
	ck_assert_int_eq(send(fd, buf, len, 0), (int)len);
	turn_until_readable(n, fd);
	got = recv(fd, buf, sizeof(buf), 0);
	ck_assert_int_gt(got, 12);
	ck_assert_uint_eq(buf[0], 0x77);
	ck_assert(!is_readable(fd));
	(void)close(fd);
	net_free(n);
}
END_TEST

static void many(char *dst, size_t size, unsigned int n)
{
	size_t at = 0;

	for (unsigned int i = 0; i < n; i++)
		at += (size_t)snprintf(dst + at, size - at,
				       "big.test 60 A 11.1.%u.%u\n", i / 250,
				       i % 250 + 1);
}

/* Cut over UDP, whole over TCP. */
START_TEST(test_truncation_then_tcp)
{
	static char text[1 << 16];
	struct net *n = net_new("big.test");
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int tcp = tcp_client(n);
	struct sockaddr_in to = n->udp4;
	uint8_t buf[4096];
	struct lab_reply rep = { .is_done = true, .msg = buf };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(connect(udp, (struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_gt(send(udp, buf, query(buf, "big.test", "A", 1232), 0),
			 0);
	turn_until_asks(n, 1);
	many(text, sizeof(text), 1000);
	ck_assert(lab_upstream(n->l, 0, text));
	turn_until_readable(n, udp);
	rep.len = (size_t)recv(udp, buf, sizeof(buf), 0);
	ck_assert_str_eq(lab_text(&rep), "NOERROR tc\nopt\n");
	ck_assert_int_gt(send(tcp, buf, framed(buf, "big.test", "A"), 0), 0);
	ck_assert_uint_gt(strlen(tcp_reply(n, tcp)), 20000);
	(void)close(udp);
	(void)close(tcp);
	net_free(n);
}
END_TEST

/* A and AAAA in one segment, answered in the order of upstream. */
START_TEST(test_tcp_pipelined)
{
	struct net *n = net_new("good.test");
	int fd = tcp_client(n);
	uint8_t buf[1024];
	size_t len = framed(buf, "good.test", "A");

	len += framed(buf + len, "good.test", "AAAA");
	ck_assert_int_eq(send(fd, buf, len, 0), (int)len);
	turn_until_asks(n, 2);
	n->l->asks[1].is_open = false; /* the second first */
	len = lab_message(buf, sizeof(buf), &n->l->asks[1].name, WIRE_AAAA, 0,
			  "good.test 60 AAAA 2a0e:b107::1");
	n->l->asks[1].done(n->l->asks[1].arg, 0, buf, len);
	ck_assert_str_eq(tcp_reply(n, fd),
			 "NOERROR\ngood.test 60 AAAA 2a0e:b107::1\n");
	ck_assert(lab_upstream(n->l, 0, "good.test 60 A 11.0.0.1"));
	ck_assert_str_eq(tcp_reply(n, fd),
			 "NOERROR\ngood.test 60 A 11.0.0.1\n");
	(void)close(fd);
	net_free(n);
}
END_TEST

/* One octet a segment. */
START_TEST(test_tcp_split)
{
	struct net *n = net_new("good.test");
	int fd = tcp_client(n);
	uint8_t buf[512];
	size_t len = framed(buf, "evil.test", "A");

	for (size_t i = 0; i < len; i++) {
		ck_assert_int_eq(send(fd, buf + i, 1, 0), 1);
		ck_assert_int_ge(loop_run_once(n->l->loop, 1), 0);
		ck_assert_int_ge(loop_run_once(n->l->loop, 1), 0);
	}
	ck_assert(!strncmp(tcp_reply(n, fd), "NXDOMAIN", 8));
	(void)close(fd);
	net_free(n);
}
END_TEST

/* Hundreds at once, more than may be under way; all are answered. */
START_TEST(test_tcp_flood)
{
	struct net *n = net_new("good.test");
	int fd = tcp_client(n);
	uint8_t buf[512];
	size_t len = framed(buf, "evil.test", "A");

	for (unsigned int i = 0; i < 500; i++)
		ck_assert_int_eq(send(fd, buf, len, 0), (int)len);
	ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	for (unsigned int i = 0; i < 500; i++)
		ck_assert(!strncmp(tcp_reply(n, fd), "NXDOMAIN", 8));
	turn_until_readable(n, fd);
	ck_assert_int_eq(recv(fd, buf, sizeof(buf), 0), 0);
	(void)close(fd);
	net_free(n);
}
END_TEST

/* 100 slow ones: 64 under way, the rest are taken as those are answered. */
START_TEST(test_tcp_pipeline_cap)
{
	struct net *n = net_new("*.good.test");
	int fd = tcp_client(n);

	for (unsigned int i = 0; i < 100; i++) {
		uint8_t buf[512];
		char name[32];

		(void)snprintf(name, sizeof(name), "n%u.good.test", i);
		ck_assert_int_gt(send(fd, buf, framed(buf, name, "A"), 0), 0);
	}
	turn_until_asks(n, 64);
	for (unsigned int i = 0; i < 20; i++)
		ck_assert_int_ge(loop_run_once(n->l->loop, 0), 0);
	ck_assert_uint_eq(n->l->n_asks, 64);
	for (unsigned int i = 0; i < 100; i++) {
		ck_assert(lab_upstream(n->l, 3, ""));
		ck_assert(!strncmp(tcp_reply(n, fd), "NXDOMAIN", 8));
		ck_assert_int_ge(loop_run_once(n->l->loop, 0), 0);
	}
	(void)close(fd);
	net_free(n);
}
END_TEST

/* A client that leaves while its question is under way. */
START_TEST(test_tcp_client_leaves)
{
	struct net *n = net_new("good.test");
	int fd = tcp_client(n);
	struct resolver_stats stats;
	uint8_t buf[512];

	ck_assert_int_gt(send(fd, buf, framed(buf, "good.test", "A"), 0), 0);
	turn_until_asks(n, 1);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER,
			 &(struct linger){ .l_onoff = 1 },
			 sizeof(struct linger));
	(void)close(fd);
	for (unsigned int i = 0; i < TURNS_MAX; i++) {
		ck_assert_int_ge(loop_run_once(n->l->loop, 1), 0);
		resolver_get_stats(n->l->r, &stats);
		if (!stats.tcp_clients)
			break;
	}
	ck_assert_uint_eq(stats.tcp_clients, 0);
	ck_assert(lab_upstream(n->l, 0, "good.test 60 A 11.0.0.1"));
	net_free(n);
}
END_TEST

static void assert_closed(struct net *n, int fd)
{
	uint8_t buf[16];

	turn_until_readable(n, fd);
	ck_assert_int_le(recv(fd, buf, sizeof(buf), 0), 0);
	(void)close(fd);
}

START_TEST(test_tcp_idle_and_too_long)
{
	struct net *n = net_new("good.test");
	int idle = tcp_client(n), slow = tcp_client(n), bad = tcp_client(n);
	struct resolver_stats stats;

	ck_assert_int_eq(send(slow, "\0", 1, 0), 1);
	ck_assert_int_eq(send(bad,
			      "\xff\xff"
			      "xx",
			      4, 0),
			 4);
	assert_closed(n, bad);
	lab_advance(n->l, 9000);
	resolver_get_stats(n->l->r, &stats);
	ck_assert_uint_eq(stats.tcp_clients, 2);
	lab_advance(n->l, 2000);
	assert_closed(n, idle);
	assert_closed(n, slow);
	net_free(n);
}
END_TEST

/* The cap holds, and the next in the queue is taken when one ends. */
START_TEST(test_tcp_client_cap)
{
	struct net *n = net_new("good.test");
	struct resolver_stats stats;
	int fds[260];
	uint8_t buf[512];
	size_t len = framed(buf, "evil.test", "A");

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = tcp_client(n);
		ck_assert_int_ge(loop_run_once(n->l->loop, 0), 0);
	}
	for (unsigned int i = 0; i < 50; i++)
		ck_assert_int_ge(loop_run_once(n->l->loop, 0), 0);
	resolver_get_stats(n->l->r, &stats);
	ck_assert_uint_eq(stats.tcp_clients, 256);
	ck_assert_int_eq(send(fds[259], buf, len, 0), (int)len);
	for (size_t i = 0; i < 10; i++)
		(void)close(fds[i]);
	ck_assert(!strncmp(tcp_reply(n, fds[259]), "NXDOMAIN", 8));
	for (size_t i = 10; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
	net_free(n);
}
END_TEST

/* Out of descriptors: no spinning, and it goes on a second later. */
START_TEST(test_tcp_out_of_descriptors)
{
	struct net *n = net_new("good.test");
	int fd = tcp_client(n);
	struct rlimit old, low;
	uint8_t buf[512];
	int next = dup(fd);

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	(void)close(next);
	low = old;
	low.rlim_cur = (rlim_t)next;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (unsigned int i = 0; i < 5; i++)
		ck_assert_int_ge(loop_run_once(n->l->loop, 0), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert_int_gt(send(fd, buf, framed(buf, "evil.test", "A"), 0), 0);
	for (unsigned int i = 0; i < 5; i++)
		ck_assert_int_ge(loop_run_once(n->l->loop, 0), 0);
	ck_assert(!is_readable(fd)); /* still pausing */
	lab_advance(n->l, 1100);
	ck_assert(!strncmp(tcp_reply(n, fd), "NXDOMAIN", 8));
	(void)close(fd);
	net_free(n);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dns_listener");
	TCase *t = tcase_create("all");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_udp_address);
	tcase_add_test(t, test_udp6);
	tcase_add_test(t, test_udp_silence);
	tcase_add_test(t, test_truncation_then_tcp);
	tcase_add_test(t, test_tcp_pipelined);
	tcase_add_test(t, test_tcp_split);
	tcase_add_test(t, test_tcp_flood);
	tcase_add_test(t, test_tcp_pipeline_cap);
	tcase_add_test(t, test_tcp_client_leaves);
	tcase_add_test(t, test_tcp_idle_and_too_long);
	tcase_add_test(t, test_tcp_client_cap);
	tcase_add_test(t, test_tcp_out_of_descriptors);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
