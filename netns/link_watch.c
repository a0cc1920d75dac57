/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_watch.c - is the pair to the sandbox running, has it been deleted
 *
 * Root inside may delete eth0, and gw0 goes with it. The loop's thread isn't in
 * the gateway netns, but the socket is, for ever. When notifications were lost
 * (root inside can cause as many as it likes), the same socket asks the kernel
 * for gw0: the answer is queued when the request returns. Only when that can't
 * be found out either is the link taken for deleted, so that a doubt costs the
 * sandbox its network. A new link of that name can't appear: nobody outside U1
 * may put one into the gateway netns.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "netns/layout.h"
#include "netns/link.h"
#include "netns/rtsock.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

/* Datagrams read in one call; the rest waits for the next turn of the loop. */
#define WATCH_BATCH 64
/* Attempts to learn whether the link is there after a loss. */
#define WATCH_RETRIES	3
#define RUNNING_WAIT_MS 15000
#define RUNNING_ASK_MS	5 /* not every change is told */

enum watch_verdict {
	WATCH_OTHER = 0, /* a message that tells nothing; goes on reading */
	WATCH_DELETED = 1,
	WATCH_PRESENT = 2,
};

int link_open_watch(struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	r = rtsock_open();
	if (r < 0)
		return err_set_errno(err, r,
				     "cannot open a NETLINK_ROUTE socket");
	fd = r;
	r = rtsock_join(fd, RTNLGRP_LINK);
	if (r < 0)
		return err_set_errno(err, r, "cannot watch link changes");
	return fd_steal(&fd);
}

static const struct ifinfomsg *link_of(const struct nlmsghdr *nlh)
{
	const struct ifinfomsg *ifi = rtsock_body(nlh, sizeof(*ifi));

	/* A bridge's port leaving it is told by the same type. */
	return ifi && ifi->ifi_family == AF_UNSPEC ? ifi : NULL;
}

static bool is_gw(const struct nlmsghdr *nlh)
{
	static const char name[] = LAYOUT_GW_IFNAME;
	const struct nlattr *attrs[IFLA_IFNAME + 1];
	const void *data;
	size_t len;

	if (!link_of(nlh))
		return false;
	rtsock_attrs(nlh, sizeof(struct ifinfomsg), attrs, IFLA_IFNAME);
	if (!attrs[IFLA_IFNAME])
		return false;
	data = rtsock_attr_data(attrs[IFLA_IFNAME], &len);
	return len == sizeof(name) && memcmp(data, name, len) == 0;
}

static int on_notification(void *ctx, const struct nlmsghdr *nlh)
{
	(void)ctx; /* the message says all */
	if (nlh->nlmsg_type == RTM_DELLINK && is_gw(nlh))
		return WATCH_DELETED;
	return WATCH_OTHER;
}

static int on_answer(void *ctx, const struct nlmsghdr *nlh)
{
	const uint32_t *seq = ctx;

	if (nlh->nlmsg_seq != *seq)
		return on_notification(NULL, nlh);
	if (nlh->nlmsg_type == RTM_NEWLINK)
		return is_gw(nlh) ? WATCH_PRESENT : WATCH_DELETED;
	return WATCH_DELETED; /* an error: no such device */
}

static int request_link(int fd, uint32_t seq, const char *ifname)
{
	struct {
		struct nlmsghdr nlh;
		struct ifinfomsg ifi;
		struct nlattr name;
		char text[NLA_ALIGN(IF_NAMESIZE)];
	} req = {
		.nlh.nlmsg_type = RTM_GETLINK,
		.nlh.nlmsg_seq = seq,
		.nlh.nlmsg_len = sizeof(req),
		.name.nla_type = IFLA_IFNAME,
		.name.nla_len = sizeof(req.name) + sizeof(req.text),
	};
	size_t len = strlen(ifname);

	if (len >= IF_NAMESIZE)
		return -ENODEV;
	memcpy(req.text, ifname, len);
	return rtsock_request(fd, &req.nlh, 0);
}

/* After a loss: WATCH_DELETED or WATCH_PRESENT. */
static int ask(int fd)
{
	for (uint32_t seq = 1; seq <= WATCH_RETRIES; seq++) {
		int r = request_link(fd, seq, LAYOUT_GW_IFNAME);

		if (r < 0)
			continue;
		do {
			r = rtsock_read(fd, on_answer, &seq);
		} while (r == WATCH_OTHER);
		if (r == WATCH_DELETED || r == WATCH_PRESENT)
			return r;
	}
	return WATCH_DELETED;
}

int link_watch_read(int fd)
{
	int r;

	for (int i = 0; i < WATCH_BATCH; i++) {
		r = rtsock_read(fd, on_notification, NULL);
		if (r == -ENOBUFS)
			r = ask(fd);
		if (r == WATCH_DELETED)
			return 1;
		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return r;
	}
	return 0;
}

struct running {
	uint32_t seq;	 /* of the request by name */
	int32_t ifindex; /* known from its answer on */
};

static int on_running(void *ctx, const struct nlmsghdr *nlh)
{
	struct running *w = ctx;
	const struct ifinfomsg *ifi;

	if (nlh->nlmsg_type == NLMSG_ERROR && nlh->nlmsg_seq == w->seq)
		return rtsock_error(nlh);
	ifi = link_of(nlh);
	if (!ifi || nlh->nlmsg_type != RTM_NEWLINK)
		return 0;
	if (nlh->nlmsg_seq == w->seq)
		w->ifindex = ifi->ifi_index;
	return ifi->ifi_index == w->ifindex && (ifi->ifi_flags & IFF_RUNNING);
}

int link_wait_running(const char *ifname, struct err *err)
{
	struct running w = { .seq = 0 };
	uint64_t end_ms = clock_now_ms() + RUNNING_WAIT_MS;
	_cleanup_(fd_closep) int fd = -1;
	struct pollfd p = { .events = POLLIN };
	int r = 0;

	fd = link_open_watch(err);
	if (fd < 0)
		return fd;
	p.fd = fd;
	while (r == 0) {
		int n = poll(&p, 1, w.seq ? RUNNING_ASK_MS : 0);

		if (n < 0 && errno != EINTR)
			r = -errno;
		else if (n > 0)
			r = rtsock_read(fd, on_running, &w);
		else if (clock_now_ms() >= end_ms)
			r = -ETIMEDOUT;
		else if (n == 0) /* at first, and when nothing is told */
			r = request_link(fd, ++w.seq, ifname);
		if (r == -EAGAIN)
			r = 0;
	}
	if (r < 0)
		return err_set_errno(err, r, "the link %s doesn't run", ifname);
	return 0;
}
