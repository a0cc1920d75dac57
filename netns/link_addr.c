/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_addr.c - addresses, static neighbours and routes of both ends
 *
 * The gateway's `local default dev lo` stands in table main, not in table
 * local: rules look table local up first, and a default there would swallow
 * the connected /30 and /126, so that answers to the sandbox were delivered to
 * the gateway itself. In main the longer prefix wins.
 *
 * Neighbours are permanent on both ends, so neither ARP nor neighbour discovery
 * is ever needed, and the gateway drops both.
 */
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <netlink/addr.h>
#include <netlink/errno.h>
#include <netlink/route/addr.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include "netns/link.h"
#include "netns/link_internal.h"

#include "base/cleanup.h"
#include "base/err.h"

#define MAC_LEN 6

/* One end of the pair, as one address family sees it. */
struct side {
	int family;
	int plen;
	const char *own;  /* numeric */
	const char *peer; /* numeric */
};

static const struct side gw_sides[] = {
	{ AF_INET, LAYOUT_PLEN4, LAYOUT_GW_ADDR4, LAYOUT_SB_ADDR4 },
	{ AF_INET6, LAYOUT_PLEN6, LAYOUT_GW_ADDR6, LAYOUT_SB_ADDR6 },
};

static const struct side sb_sides[] = {
	{ AF_INET, LAYOUT_PLEN4, LAYOUT_SB_ADDR4, LAYOUT_GW_ADDR4 },
	{ AF_INET6, LAYOUT_PLEN6, LAYOUT_SB_ADDR6, LAYOUT_GW_ADDR6 },
};

static void addr_putp(struct nl_addr **a)
{
	if (*a)
		nl_addr_put(*a);
	*a = NULL;
}

static int add_address(struct nl_sock *sk, int ifindex, const struct side *s)
{
	_cleanup_(addr_putp) struct nl_addr *own = NULL;
	struct rtnl_addr *a;
	int r;

	r = nl_addr_parse(s->own, s->family, &own);
	if (r < 0)
		return r;
	nl_addr_set_prefixlen(own, s->plen);

	a = rtnl_addr_alloc();
	if (!a)
		return -NLE_NOMEM;
	rtnl_addr_set_ifindex(a, ifindex);
	r = rtnl_addr_set_local(a, own);
	if (r == 0) {
		rtnl_addr_set_flags(a, IFA_F_NODAD);
		r = rtnl_addr_add(sk, a, NLM_F_CREATE | NLM_F_EXCL);
	}
	rtnl_addr_put(a);
	return r;
}

static int add_neighbour(struct nl_sock *sk, int ifindex, const struct side *s,
			 const uint8_t mac[static MAC_LEN])
{
	_cleanup_(addr_putp) struct nl_addr *peer = NULL;
	_cleanup_(addr_putp) struct nl_addr *lladdr = NULL;
	struct rtnl_neigh *n;
	int r;

	r = nl_addr_parse(s->peer, s->family, &peer);
	if (r < 0)
		return r;
	lladdr = nl_addr_build(AF_LLC, mac, MAC_LEN);
	n = rtnl_neigh_alloc();
	if (!lladdr || !n) {
		r = -NLE_NOMEM;
	} else {
		rtnl_neigh_set_ifindex(n, ifindex);
		rtnl_neigh_set_family(n, s->family);
		rtnl_neigh_set_lladdr(n, lladdr);
		rtnl_neigh_set_state(n, NUD_PERMANENT);
		r = rtnl_neigh_set_dst(n, peer);
		if (r == 0)
			r = rtnl_neigh_add(sk, n, NLM_F_CREATE | NLM_F_REPLACE);
	}
	if (n)
		rtnl_neigh_put(n);
	return r;
}

/*
 * default_route() - everything, to @gateway by @ifindex; or, when @gateway is
 * NULL, delivered to this namespace itself
 */
static int default_route(struct nl_sock *sk, int ifindex, int family,
			 const char *gateway)
{
	_cleanup_(addr_putp) struct nl_addr *dst = NULL;
	_cleanup_(addr_putp) struct nl_addr *via = NULL;
	struct rtnl_nexthop *nh;
	struct rtnl_route *rt;
	int r;

	r = nl_addr_parse("default", family, &dst);
	if (r == 0 && gateway)
		r = nl_addr_parse(gateway, family, &via);
	if (r < 0)
		return r;

	rt = rtnl_route_alloc();
	nh = rtnl_route_nh_alloc();
	if (!rt || !nh) {
		r = -NLE_NOMEM;
		goto undo_alloc;
	}
	r = rtnl_route_set_family(rt, (uint8_t)family);
	if (r == 0)
		r = rtnl_route_set_dst(rt, dst);
	if (r < 0)
		goto undo_alloc;
	rtnl_route_set_table(rt, RT_TABLE_MAIN);
	rtnl_route_set_protocol(rt, RTPROT_STATIC);
	(void)rtnl_route_set_type(rt, gateway ? RTN_UNICAST : RTN_LOCAL);
	rtnl_route_set_scope(rt, gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_HOST);
	rtnl_route_nh_set_ifindex(nh, ifindex);
	if (via)
		rtnl_route_nh_set_gateway(nh, via);
	rtnl_route_add_nexthop(rt, nh); /* the route owns it now */
	r = rtnl_route_add(sk, rt, NLM_F_CREATE | NLM_F_EXCL);
	rtnl_route_put(rt);
	return r;

undo_alloc:
	if (nh)
		rtnl_route_nh_free(nh);
	if (rt)
		rtnl_route_put(rt);
	return r;
}

/*
 * Link up, and address and neighbour of each family. Without IPv6 in the
 * kernel, or when a new netns took disable_ipv6 over from the host, @ret_v6 is
 * false: then the sandbox has no IPv6, as the host has none.
 */
static int setup_end(struct nl_sock *sk, const char *ifname,
		     const struct side sides[static 2], const uint8_t *peer_mac,
		     bool *ret_v6, struct err *err)
{
	bool v6 = link_has_ipv6();
	int ifindex, r;

	r = link_bring_up(sk, "lo", err);
	if (r == 0)
		r = link_bring_up(sk, ifname, err);
	if (r < 0)
		return r;
	ifindex = link_ifindex(ifname, err);
	if (ifindex < 0)
		return ifindex;

	for (size_t i = 0; i < 2; i++) {
		const struct side *s = &sides[i];

		if (s->family == AF_INET6 && !v6)
			continue;
		r = add_address(sk, ifindex, s);
		if (s->family == AF_INET6 && r == -NLE_NOACCESS) {
			v6 = false;
			continue;
		}
		if (r < 0)
			return link_err(err, r, "cannot give %s the address %s",
					ifname, s->own);
		r = add_neighbour(sk, ifindex, s, peer_mac);
		if (r < 0)
			return link_err(err, r,
					"cannot add the neighbour %s of %s",
					s->peer, ifname);
	}
	*ret_v6 = v6;
	return 0;
}

int link_setup_gateway(struct err *err)
{
	static const uint8_t sb_mac[MAC_LEN] = LAYOUT_SB_MAC;
	_cleanup_(link_sock_freep) struct nl_sock *sk = NULL;
	bool v6 = false;
	int lo, r;

	r = link_sock_open(&sk, err);
	if (r < 0)
		return r;
	r = setup_end(sk, LAYOUT_GW_IFNAME, gw_sides, sb_mac, &v6, err);
	if (r < 0)
		return r;

	lo = link_ifindex("lo", err);
	if (lo < 0)
		return lo;
	for (size_t i = 0; i < ARRAY_SIZE(gw_sides); i++) {
		int family = gw_sides[i].family;

		if (family == AF_INET6 && !v6)
			continue;
		r = default_route(sk, lo, family, NULL);
		if (r < 0)
			return link_err(err, r,
					"cannot add the route `local default`");
	}
	return 0;
}

int link_setup_sandbox(struct err *err)
{
	static const uint8_t gw_mac[MAC_LEN] = LAYOUT_GW_MAC;
	_cleanup_(link_sock_freep) struct nl_sock *sk = NULL;
	int ifindex, r;
	bool v6 = false;

	r = link_sock_open(&sk, err);
	if (r < 0)
		return r;
	r = setup_end(sk, LAYOUT_SB_IFNAME, sb_sides, gw_mac, &v6, err);
	if (r < 0)
		return r;

	ifindex = link_ifindex(LAYOUT_SB_IFNAME, err);
	if (ifindex < 0)
		return ifindex;
	for (size_t i = 0; i < ARRAY_SIZE(sb_sides); i++) {
		const struct side *s = &sb_sides[i];

		if (s->family == AF_INET6 && !v6)
			continue;
		r = default_route(sk, ifindex, s->family, s->peer);
		if (r < 0)
			return link_err(err, r,
					"cannot add the default route by %s",
					s->peer);
	}
	return v6 ? link_wait_local6(err) : 0;
}
