/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_local6.c - is the sandbox's IPv6 address one that it receives on
 *
 * The kernel installs the local route of a new IPv6 address by a work item,
 * without duplicate address detection too. What arrives before is dropped: the
 * answer to the first DNS query, say. The socket subscribes to routes first and
 * then asks, so that no change falls between.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netns/layout.h"
#include "netns/link_internal.h"
#include "netns/rtsock.h"

/* The work item wants the lock that every change of links on the machine wants.
 */
#define WAIT_MS 15000
/* Not every change is told to a socket that just joined. */
#define ASK_AGAIN_MS 5

struct route_answer {
	uint32_t seq;
	bool answered;
	bool is_local;
};

static int request_route(int fd, uint32_t seq)
{
	struct {
		struct nlmsghdr nlh;
		struct rtmsg rtm;
		struct nlattr dst;
		struct in6_addr addr;
	} req = {
		.nlh.nlmsg_type = RTM_GETROUTE,
		.nlh.nlmsg_seq = seq,
		.nlh.nlmsg_len = sizeof(req),
		.rtm.rtm_family = AF_INET6,
		.rtm.rtm_dst_len = 128,
		.dst.nla_type = RTA_DST,
		.dst.nla_len = sizeof(req.dst) + sizeof(req.addr),
	};

	if (inet_pton(AF_INET6, LAYOUT_SB_ADDR6, &req.addr) != 1)
		return -EINVAL;
	return rtsock_request(fd, &req.nlh, 0);
}

static int on_route(void *ctx, const struct nlmsghdr *nlh)
{
	struct route_answer *a = ctx;
	const struct rtmsg *rtm;

	if (nlh->nlmsg_seq != a->seq)
		return 0; /* a notification: asked again after it */
	a->answered = true;
	rtm = rtsock_body(nlh, sizeof(*rtm));
	a->is_local = nlh->nlmsg_type == RTM_NEWROUTE && rtm &&
		      rtm->rtm_type == RTN_LOCAL;
	return 0;
}

/* Return: 1 when the route is there, 0 when it isn't yet, negative errno. */
static int ask(int fd, uint32_t seq)
{
	struct route_answer a = { .seq = seq };
	int r;

	r = request_route(fd, seq);
	while (r == 0 && !a.answered)
		r = rtsock_read(fd, on_route, &a);
	if (r < 0 && r != -ENOBUFS)
		return r;
	return a.is_local;
}

int link_wait_local6(struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	struct pollfd p = { .events = POLLIN };
	uint64_t end_ms = clock_now_ms() + WAIT_MS;
	uint32_t seq = 1;
	int r;

	r = rtsock_open();
	if (r < 0)
		return err_set_errno(err, r,
				     "cannot open a NETLINK_ROUTE socket");
	p.fd = fd = r;
	r = rtsock_join(fd, RTNLGRP_IPV6_ROUTE);
	while (r == 0) {
		r = ask(fd, seq++);
		if (r != 0)
			break;
		if (clock_now_ms() >= end_ms)
			r = -ETIMEDOUT;
		else if (poll(&p, 1, ASK_AGAIN_MS) < 0 && errno != EINTR)
			r = -errno;
	}
	if (r < 0)
		return err_set_errno(err, r,
				     "the sandbox's IPv6 address doesn't come "
				     "up");
	return 0;
}
