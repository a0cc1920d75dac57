/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_watch.c - has the pair to the sandbox been deleted
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
#include <string.h>
#include <sys/socket.h>

#include "netns/layout.h"
#include "netns/link.h"
#include "netns/rtsock.h"

#include "base/cleanup.h"
#include "base/err.h"

/* Datagrams read in one call; the rest waits for the next turn of the loop. */
#define WATCH_BATCH 64
/* Attempts to learn whether the link is there after a loss. */
#define WATCH_RETRIES 3

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

static int is_gw(const struct nlmsghdr *nlh)
{
	static const char name[] = LAYOUT_GW_IFNAME;
	const struct ifinfomsg *ifi = rtsock_body(nlh, sizeof(*ifi));
	const struct nlattr *attrs[IFLA_IFNAME + 1];
	const void *data;
	size_t len;

	/* A bridge's port leaving it is told by the same type. */
	if (!ifi || ifi->ifi_family != AF_UNSPEC)
		return 0;
	rtsock_attrs(nlh, sizeof(*ifi), attrs, IFLA_IFNAME);
	if (!attrs[IFLA_IFNAME])
		return 0;
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

static int request_link(int fd, uint32_t seq)
{
	struct {
		struct nlmsghdr nlh;
		struct ifinfomsg ifi;
		struct nlattr name;
		char text[NLA_ALIGN(sizeof(LAYOUT_GW_IFNAME))];
	} req = {
		.nlh.nlmsg_type = RTM_GETLINK,
		.nlh.nlmsg_seq = seq,
		.nlh.nlmsg_len = sizeof(req),
		.name.nla_type = IFLA_IFNAME,
		.name.nla_len = NLA_HDRLEN + sizeof(LAYOUT_GW_IFNAME),
		.text = LAYOUT_GW_IFNAME,
	};

	return rtsock_request(fd, &req.nlh, 0);
}

/* After a loss: WATCH_DELETED or WATCH_PRESENT. */
static int ask(int fd)
{
	for (uint32_t seq = 1; seq <= WATCH_RETRIES; seq++) {
		int r = request_link(fd, seq);

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
