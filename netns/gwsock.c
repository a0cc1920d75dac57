/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gwsock.c - the sockets that the loop uses in the gateway netns
 *
 * All need a capability that the gateway gives up afterwards: ports below 1024,
 * IP_TRANSPARENT, AF_PACKET, SO_MARK. So they are made once, and a mark is a
 * socket of its own.
 *
 * IP_TRANSPARENT on the resolver's sockets lets an answer leave from whatever
 * address was asked; `local default` makes the packet arrive but doesn't make
 * the address ours in the eyes of sendmsg(2).
 *
 * On a kernel without IPv6 the IPv6 members stay -1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "netns/gwsock.h"

#include "netns/layout.h"
#include "netns/link.h"

#include "base/cleanup.h"
#include "base/err.h"

#define DNS_PORT 53
/* The kernel cuts it to net.core.somaxconn. */
#define GWSOCK_BACKLOG 65535
/* Held SYNs come with up to LAYOUT_MTU bytes each, at most 1 024 wait. */
#define NFLOG_RCVBUF (8 << 20)
/* A batch is cut at half of what is granted. */
#define NFNL_SNDBUF (4 << 20)
#define NFNL_RCVBUF (4 << 20)
#define SOCK_FLAGS  (SOCK_CLOEXEC | SOCK_NONBLOCK)

struct gwsock_option {
	int level, name;
	const char *text;
};

/* Switched on, in this order, by set_options(). */
static const struct gwsock_option options4[] = {
	{ SOL_IP, IP_TRANSPARENT, "IP_TRANSPARENT" },
	{ SOL_IP, IP_PKTINFO, "IP_PKTINFO" },
};

static const struct gwsock_option options6[] = {
	{ SOL_IPV6, IPV6_V6ONLY, "IPV6_V6ONLY" },
	{ SOL_IPV6, IPV6_TRANSPARENT, "IPV6_TRANSPARENT" },
	{ SOL_IPV6, IPV6_RECVPKTINFO, "IPV6_RECVPKTINFO" },
};

static const struct gwsock_option netlink_options[] = {
	{ SOL_NETLINK, NETLINK_EXT_ACK, "NETLINK_EXT_ACK" },
	{ SOL_NETLINK, NETLINK_CAP_ACK, "NETLINK_CAP_ACK" },
};

static int set_options(int fd, const struct gwsock_option *o, size_t n,
		       struct err *err)
{
	const int on = 1;

	for (size_t i = 0; i < n; i++)
		if (setsockopt(fd, o[i].level, o[i].name, &on, sizeof(on)) < 0)
			return err_set_errno(err, -errno, "cannot set %s",
					     o[i].text);
	return 0;
}

static int bind_any(int fd, int family, uint16_t port, struct err *err)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} any = { .sa.sa_family = (sa_family_t)family };
	socklen_t len = family == AF_INET ? sizeof(any.in) : sizeof(any.in6);

	if (family == AF_INET)
		any.in.sin_port = htons(port);
	else
		any.in6.sin6_port = htons(port);
	if (bind(fd, &any.sa, len) < 0)
		return err_set_errno(err, -errno,
				     "cannot bind to port %u of the gateway",
				     port);
	return 0;
}

/* Bound to any address; listening when @type is SOCK_STREAM. */
static int open_inet(int family, int type, uint16_t port, int *ret,
		     struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	fd = socket(family, type | SOCK_FLAGS, 0);
	if (fd < 0 && family == AF_INET6 && errno == EAFNOSUPPORT)
		return 0;
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot open a socket");

	if (family == AF_INET)
		r = set_options(fd, options4, ARRAY_SIZE(options4), err);
	else
		r = set_options(fd, options6, ARRAY_SIZE(options6), err);
	if (r == 0)
		r = bind_any(fd, family, port, err);
	if (r < 0)
		return r;
	if (type == SOCK_STREAM && listen(fd, GWSOCK_BACKLOG) < 0)
		return err_set_errno(err, -errno, "cannot listen");

	*ret = fd_steal(&fd);
	return 0;
}

/*
 * Accepted sockets inherit the linger: from their first moment on, a gateway
 * that is killed ends them with a reset.
 */
static int open_relay(int family, int *ret, struct err *err)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	_cleanup_(fd_closep) int fd = -1;
	int r;

	r = open_inet(family, SOCK_STREAM, LAYOUT_RELAY_PORT, &fd, err);
	if (r < 0 || fd < 0)
		return r;
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0)
		return err_set_errno(err, -errno, "cannot set SO_LINGER");
	*ret = fd_steal(&fd);
	return 0;
}

/*
 * Protocol 0: it only sends, and is told of no packet. One for all marks, since
 * closing a packet socket waits for the kernel's readers of the whole machine
 * (synchronize_net(), some 15 ms).
 */
static int open_inject(int *ret, struct err *err)
{
	struct sockaddr_ll sll = { .sll_family = AF_PACKET };
	_cleanup_(fd_closep) int fd = -1;

	sll.sll_ifindex = (int)if_nametoindex(LAYOUT_INJ_TX_IFNAME);
	if (sll.sll_ifindex == 0)
		return err_set_errno(err, -errno, "no link '%s'",
				     LAYOUT_INJ_TX_IFNAME);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_FLAGS, 0);
	if (fd < 0)
		return err_set_errno(err, -errno,
				     "cannot open a packet socket "
				     "(CONFIG_PACKET)");
	if (bind(fd, (struct sockaddr *)&sll, sizeof(sll)) < 0)
		return err_set_errno(err, -errno,
				     "cannot bind a packet socket to '%s'",
				     LAYOUT_INJ_TX_IFNAME);
	*ret = fd_steal(&fd);
	return 0;
}

/* A smaller buffer than wished for is no failure: who is refused gets less. */
static void enlarge(int fd, int force, int plain, int bytes)
{
	if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof(bytes));
}

static int open_nfnl(int sndbuf, int rcvbuf, int *ret, struct err *err)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK };
	_cleanup_(fd_closep) int fd = -1;
	int r;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_FLAGS, NETLINK_NETFILTER);
	if (fd < 0)
		return err_set_errno(err, -errno,
				     "this kernel gives no nftables socket "
				     "(NETLINK_NETFILTER, "
				     "CONFIG_NETFILTER_NETLINK); 'egret "
				     "doctor' tells the remedy");
	r = set_options(fd, netlink_options, ARRAY_SIZE(netlink_options), err);
	if (r < 0)
		return r;
	if (sndbuf > 0)
		enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF, sndbuf);
	enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF, rcvbuf);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return err_set_errno(err, -errno,
				     "cannot bind a NETLINK_NETFILTER socket");
	*ret = fd_steal(&fd);
	return 0;
}

void gwsock_init(struct gwsock *s)
{
	*s = (struct gwsock){
		.dns_udp4 = -1,
		.dns_udp6 = -1,
		.dns_tcp4 = -1,
		.dns_tcp6 = -1,
		.relay4 = -1,
		.relay6 = -1,
		.inject = -1,
		.nfnl = -1,
		.nflog_syn = -1,
		.nflog_drop = -1,
		.link_watch = -1,
	};
}

static int open_inet_all(struct gwsock *s, struct err *err)
{
	int r;

	r = open_inet(AF_INET, SOCK_DGRAM, DNS_PORT, &s->dns_udp4, err);
	if (r == 0)
		r = open_inet(AF_INET6, SOCK_DGRAM, DNS_PORT, &s->dns_udp6,
			      err);
	if (r == 0)
		r = open_inet(AF_INET, SOCK_STREAM, DNS_PORT, &s->dns_tcp4,
			      err);
	if (r == 0)
		r = open_inet(AF_INET6, SOCK_STREAM, DNS_PORT, &s->dns_tcp6,
			      err);
	if (r == 0)
		r = open_relay(AF_INET, &s->relay4, err);
	if (r == 0)
		r = open_relay(AF_INET6, &s->relay6, err);
	return r;
}

static int open_netlink_all(struct gwsock *s, struct err *err)
{
	int r;

	r = open_nfnl(NFNL_SNDBUF, NFNL_RCVBUF, &s->nfnl, err);
	if (r == 0)
		r = open_nfnl(0, NFLOG_RCVBUF, &s->nflog_syn, err);
	if (r == 0)
		r = open_nfnl(0, NFLOG_RCVBUF, &s->nflog_drop, err);
	if (r < 0)
		return r;
	r = link_open_watch(err);
	if (r < 0)
		return r;
	s->link_watch = r;
	return 0;
}

int gwsock_open(struct gwsock *s, struct err *err)
{
	struct gwsock new;
	int r;

	gwsock_init(&new);
	r = open_inet_all(&new, err);
	if (r == 0)
		r = open_inject(&new.inject, err);
	if (r == 0)
		r = open_netlink_all(&new, err);
	if (r < 0) {
		gwsock_close(&new);
		return r;
	}
	*s = new;
	return 0;
}

void gwsock_close(struct gwsock *s)
{
	fd_closep(&s->dns_udp4);
	fd_closep(&s->dns_udp6);
	fd_closep(&s->dns_tcp4);
	fd_closep(&s->dns_tcp6);
	fd_closep(&s->relay4);
	fd_closep(&s->relay6);
	fd_closep(&s->inject);
	fd_closep(&s->nfnl);
	fd_closep(&s->nflog_syn);
	fd_closep(&s->nflog_drop);
	fd_closep(&s->link_watch);
}
