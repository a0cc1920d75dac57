/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.c - the veth pairs
 *
 * The pair to the sandbox is born with its peer already in the sandbox's
 * netns, so there is no moment in which eth0 stands in the gateway's. Links
 * come up with IPv6 address generation switched off: no fe80:: address exists,
 * thus no duplicate address detection and no router solicitation, and a
 * neighbour can only be one of ours.
 *
 * No GSO or GRO settings: veth's defaults (64 KiB) match LAYOUT_MTU.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netlink/addr.h>
#include <netlink/errno.h>
#include <netlink/route/link.h>
#include <netlink/route/link/inet6.h>
#include <netlink/route/link/veth.h>

#include "netns/link.h"
#include "netns/link_internal.h"

#include "base/cleanup.h"
#include "base/err.h"

#define MAC_LEN 6

struct link_end {
	const char *ifname;
	uint8_t mac[MAC_LEN];
	int netns_fd; /* -1: the calling thread's */
};

/* libnl folds errno into its own codes; those that matter, unfolded. */
static int errno_of(int nle)
{
	switch (-nle) {
	case NLE_OPNOTSUPP:
		return -EOPNOTSUPP;
	case NLE_AF_NOSUPPORT:
		return -EAFNOSUPPORT;
	case NLE_PERM:
		return -EPERM;
	case NLE_NOACCESS:
		return -EACCES;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_EXIST:
		return -EEXIST;
	case NLE_INVAL:
		return -EINVAL;
	case NLE_NODEV:
		return -ENODEV;
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_NOADDR:
		return -EADDRNOTAVAIL;
	case NLE_BUSY:
		return -EBUSY;
	default:
		return -EIO;
	}
}

int link_err(struct err *err, int code, const char *fmt, ...)
{
	char what[ERR_MSG_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap); /* cut is fine */
	va_end(ap);
	return err_set(err, errno_of(code), "%s: %s", what, nl_geterror(code));
}

int link_sock_open(struct nl_sock **ret, struct err *err)
{
	struct nl_sock *sk = nl_socket_alloc();
	int r;

	if (!sk)
		return err_set_errno(err, -ENOMEM, "cannot set up links");
	r = nl_connect(sk, NETLINK_ROUTE);
	if (r < 0) {
		nl_socket_free(sk);
		return link_err(err, r, "cannot open a NETLINK_ROUTE socket");
	}
	*ret = sk;
	return 0;
}

int link_ifindex(const char *ifname, struct err *err)
{
	unsigned int i = if_nametoindex(ifname);

	if (i == 0)
		return err_set_errno(err, -errno, "no link '%s'", ifname);
	return (int)i;
}

bool link_has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno != EAFNOSUPPORT;
	(void)close(fd); /* nothing was written */
	return true;
}

static int change(struct nl_sock *sk, struct rtnl_link *changes, int ifindex)
{
	struct rtnl_link *orig = rtnl_link_alloc();
	int r;

	if (!orig)
		return -NLE_NOMEM;
	rtnl_link_set_ifindex(orig, ifindex);
	r = rtnl_link_change(sk, orig, changes, 0);
	rtnl_link_put(orig);
	return r;
}

/*
 * A setting of its own before the link is up: the kernel applies flags before
 * address family settings within one request, and ignores the latter when a
 * link is created.
 */
static int stop_address_generation(struct nl_sock *sk, int ifindex)
{
	struct rtnl_link *l = rtnl_link_alloc();
	int r;

	if (!l)
		return -NLE_NOMEM;
	r = rtnl_link_inet6_set_addr_gen_mode(l, IN6_ADDR_GEN_MODE_NONE);
	if (r == 0)
		r = change(sk, l, ifindex);
	rtnl_link_put(l);
	return r;
}

static int set_up(struct nl_sock *sk, int ifindex)
{
	struct rtnl_link *l = rtnl_link_alloc();
	int r;

	if (!l)
		return -NLE_NOMEM;
	rtnl_link_set_flags(l, IFF_UP);
	r = change(sk, l, ifindex);
	rtnl_link_put(l);
	return r;
}

int link_bring_up(struct nl_sock *sk, const char *ifname, struct err *err)
{
	int ifindex = link_ifindex(ifname, err);
	int r;

	if (ifindex < 0)
		return ifindex;

	if (strcmp(ifname, "lo") != 0 && link_has_ipv6()) {
		r = stop_address_generation(sk, ifindex);
		if (r < 0)
			return link_err(err, r,
					"cannot switch off generated addresses "
					"of %s",
					ifname);
	}
	r = set_up(sk, ifindex);
	if (r < 0)
		return link_err(err, r, "cannot bring %s up", ifname);
	return 0;
}

static int describe(struct rtnl_link *l, const struct link_end *end)
{
	struct nl_addr *mac;

	mac = nl_addr_build(AF_LLC, end->mac, sizeof(end->mac));
	if (!mac)
		return -NLE_NOMEM;
	rtnl_link_set_name(l, end->ifname);
	rtnl_link_set_addr(l, mac); /* takes a reference */
	nl_addr_put(mac);
	rtnl_link_set_mtu(l, LAYOUT_MTU);
	if (end->netns_fd >= 0)
		rtnl_link_set_ns_fd(l, end->netns_fd);
	return 0;
}

static int request_pair(struct nl_sock *sk, const struct link_end *here,
			const struct link_end *peer)
{
	struct rtnl_link *l = rtnl_link_veth_alloc();
	struct rtnl_link *p;
	int r;

	if (!l)
		return -NLE_NOMEM;
	r = describe(l, here);
	if (r == 0) {
		p = rtnl_link_veth_get_peer(l);
		r = describe(p, peer);
		rtnl_link_put(p);
	}
	if (r == 0)
		r = rtnl_link_add(sk, l, NLM_F_CREATE | NLM_F_EXCL);
	rtnl_link_veth_release(l);
	return r;
}

static int create_pair(const struct link_end *here, const struct link_end *peer,
		       struct err *err)
{
	_cleanup_(link_sock_freep) struct nl_sock *sk = NULL;
	int r;

	r = link_sock_open(&sk, err);
	if (r < 0)
		return r;

	r = request_pair(sk, here, peer);
	if (r == -NLE_OPNOTSUPP)
		return err_set(err, -EOPNOTSUPP,
			       "this kernel has no veth devices (CONFIG_VETH); "
			       "load the module as root with `modprobe veth`, "
			       "and see `egret doctor`");
	if (r < 0)
		return link_err(err, r, "cannot create the link %s-%s",
				here->ifname, peer->ifname);
	return 0;
}

int link_create_pair(int sandbox_netns_fd, struct err *err)
{
	const struct link_end gw = { LAYOUT_GW_IFNAME, LAYOUT_GW_MAC, -1 };
	const struct link_end sb = { LAYOUT_SB_IFNAME, LAYOUT_SB_MAC,
				     sandbox_netns_fd };

	return create_pair(&gw, &sb, err);
}

int link_create_inject_pair(struct err *err)
{
	const struct link_end tx = { LAYOUT_INJ_TX_IFNAME, LAYOUT_INJ_TX_MAC,
				     -1 };
	const struct link_end rx = { LAYOUT_INJ_RX_IFNAME, LAYOUT_INJ_RX_MAC,
				     -1 };
	_cleanup_(link_sock_freep) struct nl_sock *sk = NULL;
	int r;

	r = create_pair(&tx, &rx, err);
	if (r < 0)
		return r;

	r = link_sock_open(&sk, err);
	if (r < 0)
		return r;
	r = link_bring_up(sk, LAYOUT_INJ_RX_IFNAME, err);
	if (r < 0)
		return r;
	return link_bring_up(sk, LAYOUT_INJ_TX_IFNAME, err);
}
