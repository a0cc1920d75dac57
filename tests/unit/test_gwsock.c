/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_gwsock.c - the gateway's sockets, used from a thread that stays outside
 */
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>

#include "netns/gwsock.h"

#include "tests/unit/gwlab.h"

#define WAIT_MS 5000

static int open_all(void *arg, struct err *err)
{
	return gwsock_open(arg, err);
}

static bool start(struct gwlab *lab, struct gwsock *s)
{
	gwsock_init(s);
	if (!gwlab_start(lab))
		return false;
	gwlab_call(lab->gw, open_all, s);
	return true;
}

static int option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	ck_assert_int_eq(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

START_TEST(shape)
{
	struct gwlab lab;
	struct gwsock s;

	if (!start(&lab, &s))
		return;
	const int fds[] = {
		s.dns_udp4,  s.dns_udp6,   s.dns_tcp4,	 s.dns_tcp6,
		s.relay4,    s.relay6,	   s.inject,	 s.nfnl,
		s.nflog_syn, s.nflog_drop, s.link_watch,
	};
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		ck_assert_int_ge(fds[i], 0);
		ck_assert_int_eq(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		ck_assert_int_eq(fcntl(fds[i], F_GETFL) & O_NONBLOCK,
				 O_NONBLOCK);
	}
	ck_assert_int_ge(option(s.nfnl, SOL_SOCKET, SO_SNDBUF), 64 << 10);
	gwsock_close(&s);
	ck_assert_int_eq(s.dns_udp4, -1);
	ck_assert_int_eq(s.inject, -1);
	gwsock_close(&s);
	gwlab_end(&lab);
}
END_TEST

START_TEST(failure_leaves_nothing)
{
	struct err err = { .code = 0 };
	struct gwsock s;
	int before, after;

	gwsock_init(&s);
	if (!userns_enter(CLONE_NEWNET, true))
		return;
	before = dup(0);
	(void)close(before);
	/* No inj0. */
	ck_assert_int_eq(gwsock_open(&s, &err), -ENODEV);
	ck_assert_int_eq(s.dns_udp4, -1);
	after = dup(0);
	ck_assert_int_eq(before, after);
}
END_TEST

static void wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	ck_assert_int_eq(poll(&p, 1, WAIT_MS), 1);
}

/* Answers with the source address that the question went to. */
static void echo_as_asked(int fd)
{
	char buf[64], control[256];
	struct sockaddr_storage from;
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	ssize_t n;

	wait_readable(fd);
	n = recvmsg(fd, &msg, 0);
	ck_assert_int_gt(n, 0);
	c = CMSG_FIRSTHDR(&msg);
	ck_assert_ptr_nonnull(c);
	if (c->cmsg_level == SOL_IP) {
		struct in_pktinfo *p = (void *)CMSG_DATA(c);

		ck_assert_int_eq(c->cmsg_type, IP_PKTINFO);
		p->ipi_spec_dst = p->ipi_addr;
		p->ipi_ifindex = 0;
	} else {
		struct in6_pktinfo *p = (void *)CMSG_DATA(c);

		ck_assert_int_eq(c->cmsg_type, IPV6_PKTINFO);
		p->ipi6_ifindex = 0;
	}
	iov.iov_len = (size_t)n;
	ck_assert_int_eq(sendmsg(fd, &msg, 0), n);
}

/* A connected client socket takes an answer from the asked address only. */
static void ask(const struct gwlab *lab, int server, const char *dst)
{
	struct sockaddr_storage to;
	socklen_t len = gwlab_addr(&to, dst, 53);
	_cleanup_(fd_closep) int fd =
		gwlab_open(lab->sb, to.ss_family, SOCK_DGRAM);
	char buf[8];

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, len), 0);
	ck_assert_int_eq(send(fd, "ping", 4, 0), 4);
	echo_as_asked(server);
	wait_readable(fd);
	ck_assert_int_eq(recv(fd, buf, sizeof(buf), 0), 4);
}

START_TEST(dns_answers_come_from_the_asked_address)
{
	struct gwlab lab;
	struct gwsock s;

	if (!start(&lab, &s))
		return;
	ask(&lab, s.dns_udp4, LAYOUT_GW_ADDR4);
	ask(&lab, s.dns_udp4, "8.8.8.8");
	ask(&lab, s.dns_udp4, "10.0.0.1");
	ask(&lab, s.dns_udp6, LAYOUT_GW_ADDR6);
	ask(&lab, s.dns_udp6, "2a0e:b107::53");
	gwsock_close(&s);
	gwlab_end(&lab);
}
END_TEST

static void connect_and_accept(const struct gwlab *lab, int listener,
			       const char *dst, uint16_t port, int linger)
{
	struct sockaddr_storage to;
	socklen_t len = gwlab_addr(&to, dst, port);
	_cleanup_(fd_closep) int client =
		gwlab_open(lab->sb, to.ss_family, SOCK_STREAM);
	_cleanup_(fd_closep) int server = -1;
	struct linger l = { .l_onoff = 5 };
	socklen_t l_len = sizeof(l);

	ck_assert_int_eq(connect(client, (struct sockaddr *)&to, len), 0);
	wait_readable(listener);
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(getsockopt(server, SOL_SOCKET, SO_LINGER, &l, &l_len),
			 0);
	ck_assert_int_eq(l.l_onoff, linger);
	ck_assert_int_eq(l.l_linger, 0);
}

START_TEST(listeners)
{
	struct gwlab lab;
	struct gwsock s;

	if (!start(&lab, &s))
		return;
	connect_and_accept(&lab, s.dns_tcp4, "9.9.9.9", 53, 0);
	connect_and_accept(&lab, s.dns_tcp6, "2a0e:b107::53", 53, 0);
	connect_and_accept(&lab, s.relay4, "203.0.113.1", LAYOUT_RELAY_PORT, 1);
	connect_and_accept(&lab, s.relay6, "2a0e:b107::1", LAYOUT_RELAY_PORT,
			   1);
	gwsock_close(&s);
	gwlab_end(&lab);
}
END_TEST

static int open_tap(void *arg, struct err *err)
{
	struct sockaddr_ll sll = { .sll_family = AF_PACKET,
				   .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));

	(void)err;
	sll.sll_ifindex = (int)if_nametoindex(LAYOUT_INJ_RX_IFNAME);
	*(int *)arg = fd;
	return bind(fd, (struct sockaddr *)&sll, sizeof(sll)) < 0 ? -errno : 0;
}

START_TEST(injected_frames_arrive)
{
	static const uint8_t frame[60] = {
		0x02, 0x65, 0x67, 0x72, 0x00, 0x04, /* to inj1 */
		0x02, 0x65, 0x67, 0x72, 0x00, 0x03, /* from inj0 */
		0x88, 0xb5,			    /* local experimental */
		'e',  'g',  'r',  'e',	't',
	};
	struct gwlab lab;
	struct gwsock s;
	uint8_t buf[128];
	int tap = -1;

	if (!start(&lab, &s))
		return;
	gwlab_call(lab.gw, open_tap, &tap);
	ck_assert_int_eq(send(s.inject, frame, sizeof(frame), 0),
			 sizeof(frame));
	/* Other traffic may come first, such as a multicast report. */
	do {
		wait_readable(tap);
		ck_assert_int_gt(recv(tap, buf, sizeof(buf), 0), 14);
	} while (buf[12] != 0x88);
	ck_assert_mem_eq(buf, frame, sizeof(frame));
	/* It hears nothing itself. */
	ck_assert_int_eq(recv(s.inject, buf, sizeof(buf), 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
	(void)close(tap);
	gwsock_close(&s);
	gwlab_end(&lab);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gwsock");
	TCase *tc = tcase_create("kernel");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, shape);
	tcase_add_test(tc, failure_leaves_nothing);
	tcase_add_test(tc, dns_answers_come_from_the_asked_address);
	tcase_add_test(tc, listeners);
	tcase_add_test(tc, injected_frames_arrive);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
