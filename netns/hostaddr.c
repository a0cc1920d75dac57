/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostaddr.c - the host's own addresses, and whether it has an IPv6 route
 *
 * Theory of operation. Two sockets: one is subscribed to changes and read by
 * the loop, the other asks for dumps and is read at once (the kernel makes a
 * dump while it is read, so reading never waits). Subscribing comes before the
 * first dump, and applying a change twice does no harm, so nothing is missed in
 * between. When notifications were lost, those still queued are thrown away
 * (older than the dump, they would bring back what is gone), and everything is
 * dumped again; when a dump fails or was disturbed, a timer tries again and the
 * old table stays.
 *
 * The table holds (address, prefix length, link), because one address may stand
 * on several links and with several lengths; the sorted list of distinct
 * addresses is made from it. It is bounded. SECURITY: beyond the bound,
 * hostaddr_is_own() says yes to everything: an address of the host that didn't
 * fit must not become reachable.
 *
 * IPv6 routes are only counted as "some" or "none": a new one that fits makes
 * it true, and the loss of one asks again, at most once in ROUTES_AGAIN_MS, for
 * a router's table may be large.
 */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "netns/hostaddr.h"
#include "netns/rtsock.h"

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"

#define HOSTADDR_MAX	16384
#define HOSTADDR_FIRST	16
#define ROUTES_AGAIN_MS 1000
#define DUMP_TRIES	3
/* Datagrams read in one callback; the rest waits for the next turn. */
#define READ_BATCH 64
/* The loopback device has this index in every network namespace. */
#define LOOPBACK_IFINDEX 1
#define DUMP_DONE	 1

struct entry {
	struct addr addr;
	uint8_t plen;
	uint32_t ifindex;
};

struct table {
	struct entry *entries;
	size_t n, room;
	bool overflowed; /* some didn't fit since the last dump */
};

struct hostaddr {
	struct loop *loop;
	hostaddr_fn *changed;
	void *ctx;
	struct loop_fd watch;
	struct loop_timer again; /* a dump of everything is due */
	int watch_fd, dump_fd;
	uint32_t seq; /* of the last dump request */

	struct table table;
	struct addr *list; /* distinct, sorted; made from the table */
	size_t n_list;
	bool has_ipv6;
	bool dirty; /* since the last call of changed() */
};

static int compare_addr(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct addr));
}

static struct entry *find(const struct table *t, const struct entry *e)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->entries[i].ifindex == e->ifindex &&
		    t->entries[i].plen == e->plen &&
		    addr_equal(&t->entries[i].addr, &e->addr))
			return &t->entries[i];
	return NULL;
}

/* Return: was the table changed; or -ENOMEM. */
static int table_append(struct table *t, const struct entry *e)
{
	struct entry *more;
	size_t room;

	if (t->n == HOSTADDR_MAX) {
		t->overflowed = true;
		return 0;
	}
	if (t->n == t->room) {
		room = t->room ? t->room * 2 : HOSTADDR_FIRST;
		more = reallocarray(t->entries, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->entries = more;
		t->room = room;
	}
	t->entries[t->n++] = *e;
	return 1;
}

static int table_add(struct table *t, const struct entry *e)
{
	return find(t, e) ? 0 : table_append(t, e);
}

static int table_remove(struct table *t, const struct entry *e)
{
	struct entry *found = find(t, e);

	if (!found)
		return 0;
	*found = t->entries[--t->n];
	return 1;
}

static void table_done(struct table *t)
{
	free(t->entries);
	*t = (struct table){ .entries = NULL };
}

/* The list anew, from the table. */
static int make_list(struct hostaddr *h)
{
	const struct table *t = &h->table;
	struct addr *list;
	size_t n = 0;

	list = calloc(t->n ? t->n : 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		list[i] = t->entries[i].addr;
	qsort(list, t->n, sizeof(*list), compare_addr);
	for (size_t i = 0; i < t->n; i++)
		if (n == 0 || !addr_equal(&list[n - 1], &list[i]))
			list[n++] = list[i];

	free(h->list);
	h->list = list;
	h->n_list = n;
	return 0;
}

/*
 * The address of an RTM_NEWADDR or RTM_DELADDR. IFA_LOCAL is ours where it
 * exists: IFA_ADDRESS is then the other end of a point-to-point link.
 */
static bool parse_address(const struct nlmsghdr *nlh, struct entry *ret)
{
	const struct nlattr *attrs[IFA_LOCAL + 1];
	const struct ifaddrmsg *ifa = rtsock_body(nlh, sizeof(*ifa));
	const struct nlattr *a;
	const void *data;
	size_t len, want;

	if (!ifa || (ifa->ifa_family != AF_INET && ifa->ifa_family != AF_INET6))
		return false;
	rtsock_attrs(nlh, sizeof(*ifa), attrs, IFA_LOCAL);
	a = attrs[IFA_LOCAL] ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS];
	if (!a)
		return false;
	data = rtsock_attr_data(a, &len);
	want = ifa->ifa_family == AF_INET ? 4 : 16;
	if (len != want)
		return false;

	memset(ret, 0, sizeof(*ret));
	ret->addr = addr_from_bytes(data, len);
	ret->plen = ifa->ifa_prefixlen;
	ret->ifindex = ifa->ifa_index;
	return true;
}

/* Would a packet to the internet, or to some network, take this route? */
static bool is_ipv6_way_out(const struct nlmsghdr *nlh)
{
	static const uint8_t loopback[16] = { [15] = 1 };
	const struct nlattr *attrs[RTA_OIF + 1];
	const struct rtmsg *rtm = rtsock_body(nlh, sizeof(*rtm));
	const uint8_t *dst;
	size_t len;

	if (!rtm || rtm->rtm_family != AF_INET6 ||
	    rtm->rtm_type != RTN_UNICAST || rtm->rtm_table == RT_TABLE_LOCAL ||
	    (rtm->rtm_flags & (RTM_F_CLONED | RTNH_F_DEAD)))
		return false;
	rtsock_attrs(nlh, sizeof(*rtm), attrs, RTA_OIF);
	if (attrs[RTA_OIF]) {
		const void *oif = rtsock_attr_data(attrs[RTA_OIF], &len);
		uint32_t ifindex = 0;

		if (len == sizeof(ifindex))
			memcpy(&ifindex, oif, sizeof(ifindex));
		if (ifindex == LOOPBACK_IFINDEX)
			return false;
	}
	if (!attrs[RTA_DST])
		return true;
	dst = rtsock_attr_data(attrs[RTA_DST], &len);
	if (len != sizeof(loopback) ||
	    memcmp(dst, loopback, sizeof(loopback)) == 0)
		return false;
	/* fe80::/10 and ff00::/8 */
	return !(dst[0] == 0xfe && (dst[1] & 0xc0) == 0x80) && dst[0] != 0xff;
}

struct dump {
	uint32_t seq;
	struct table *table; /* filled by an address dump */
	bool has_ipv6;	     /* set by a route dump */
};

static int on_dump(void *ctx, const struct nlmsghdr *nlh)
{
	struct dump *d = ctx;
	struct entry e;
	int r = 0;

	if (nlh->nlmsg_seq != d->seq)
		return 0; /* the rest of a dump that was given up */
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		return -EINTR;
	switch (nlh->nlmsg_type) {
	case NLMSG_DONE:
		return DUMP_DONE;
	case NLMSG_ERROR:
		r = rtsock_error(nlh);
		return r < 0 ? r : -EBADMSG;
	case RTM_NEWADDR:
		if (parse_address(nlh, &e))
			r = table_append(d->table, &e);
		return r < 0 ? r : 0;
	case RTM_NEWROUTE:
		d->has_ipv6 |= is_ipv6_way_out(nlh);
		return 0;
	default:
		return 0;
	}
}

static int run_dump(struct hostaddr *h, struct nlmsghdr *req, struct dump *d)
{
	int r;

	d->seq = ++h->seq;
	req->nlmsg_seq = d->seq;
	r = rtsock_request(h->dump_fd, req, NLM_F_DUMP);
	while (r == 0)
		r = rtsock_read(h->dump_fd, on_dump, d);
	return r == DUMP_DONE ? 0 : r;
}

static int dump_addresses(struct hostaddr *h)
{
	struct {
		struct nlmsghdr nlh;
		struct ifaddrmsg ifa;
	} req = {
		.nlh.nlmsg_len = sizeof(req),
		.nlh.nlmsg_type = RTM_GETADDR,
		.ifa.ifa_family = AF_UNSPEC,
	};
	struct table fresh = { .entries = NULL };
	struct dump d = { .table = &fresh };
	int r = run_dump(h, &req.nlh, &d);

	if (r < 0) {
		table_done(&fresh);
		return r;
	}
	table_done(&h->table);
	h->table = fresh;
	return make_list(h);
}

static int dump_routes(struct hostaddr *h)
{
	struct {
		struct nlmsghdr nlh;
		struct rtmsg rtm;
	} req = {
		.nlh.nlmsg_len = sizeof(req),
		.nlh.nlmsg_type = RTM_GETROUTE,
		.rtm.rtm_family = AF_INET6,
	};
	struct dump d = { .has_ipv6 = false };
	int r = run_dump(h, &req.nlh, &d);

	/* A kernel without IPv6 knows no such dump, and has no route. */
	if (r == -EOPNOTSUPP || r == -EAFNOSUPPORT)
		r = 0;
	if (r == 0)
		h->has_ipv6 = d.has_ipv6;
	return r;
}

static int dump_all(struct hostaddr *h)
{
	int r = -EINTR;

	for (int i = 0; r == -EINTR && i < DUMP_TRIES; i++) {
		r = dump_addresses(h);
		if (r == 0)
			r = dump_routes(h);
	}
	h->dirty = true;
	return r;
}

static void tell(struct hostaddr *h)
{
	if (!h->dirty)
		return;
	h->dirty = false;
	if (h->changed)
		h->changed(h->ctx);
}

static void dump_later(struct hostaddr *h);

static void on_again(struct loop_timer *t)
{
	struct hostaddr *h = container_of(t, struct hostaddr, again);

	if (dump_all(h) < 0)
		dump_later(h);
	tell(h);
}

static void dump_later(struct hostaddr *h)
{
	if (!loop_timer_is_set(&h->again))
		(void)loop_set_timer(h->loop, &h->again, ROUTES_AGAIN_MS,
				     on_again); /* else the next change does */
}

/* Return: 0, or -ENOMEM. */
static int on_change(void *ctx, const struct nlmsghdr *nlh)
{
	struct hostaddr *h = ctx;
	struct entry e;
	int r = 0;

	switch (nlh->nlmsg_type) {
	case RTM_NEWADDR:
		if (parse_address(nlh, &e))
			r = table_add(&h->table, &e);
		break;
	case RTM_DELADDR:
		if (parse_address(nlh, &e))
			r = table_remove(&h->table, &e);
		if (h->table.overflowed)
			dump_later(h);
		break;
	case RTM_NEWROUTE:
		if (!h->has_ipv6 && is_ipv6_way_out(nlh))
			h->has_ipv6 = h->dirty = true;
		return 0;
	case RTM_DELROUTE:
		if (h->has_ipv6 && is_ipv6_way_out(nlh))
			dump_later(h);
		return 0;
	default:
		return 0;
	}
	if (r > 0)
		h->dirty = true;
	return r < 0 ? r : 0;
}

static int ignore(void *ctx, const struct nlmsghdr *nlh)
{
	(void)ctx;
	(void)nlh;
	return 0;
}

/* The queue is as long as the receive buffer: far shorter than this bound. */
static void drain(struct hostaddr *h)
{
	int r = 0;

	for (int i = 0; i < HOSTADDR_MAX && (r == 0 || r == -ENOBUFS); i++)
		r = rtsock_read(h->watch_fd, ignore, NULL);
}

static void on_readable(struct loop_fd *w, uint32_t events)
{
	struct hostaddr *h = container_of(w, struct hostaddr, watch);
	int r = 0;

	(void)events; /* an error shows itself when the socket is read */
	for (int i = 0; r == 0 && i < READ_BATCH; i++)
		r = rtsock_read(h->watch_fd, on_change, h);
	if (r == 0 || r == -EAGAIN) {
		r = h->dirty ? make_list(h) : 0;
	} else {
		drain(h);
		r = dump_all(h);
	}
	if (r < 0)
		dump_later(h);
	tell(h);
}

static int open_sockets(struct hostaddr *h)
{
	static const unsigned int groups[] = { RTNLGRP_IPV4_IFADDR,
					       RTNLGRP_IPV6_IFADDR,
					       RTNLGRP_IPV6_ROUTE };
	int r;

	h->watch_fd = rtsock_open();
	if (h->watch_fd < 0)
		return h->watch_fd;
	h->dump_fd = rtsock_open();
	if (h->dump_fd < 0)
		return h->dump_fd;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		r = rtsock_join(h->watch_fd, groups[i]);
		if (r < 0)
			return r;
	}
	return loop_add_fd(h->loop, &h->watch, h->watch_fd, EPOLLIN,
			   on_readable);
}

int hostaddr_new(struct hostaddr **ret, struct loop *loop, hostaddr_fn *changed,
		 void *ctx, struct err *err)
{
	_cleanup_(hostaddr_freep) struct hostaddr *h = NULL;
	int r;

	h = calloc(1, sizeof(*h));
	if (!h)
		return err_set_errno(err, -ENOMEM,
				     "cannot list the host's addresses");
	h->loop = loop;
	h->changed = changed;
	h->ctx = ctx;
	h->watch_fd = h->dump_fd = -1;

	r = open_sockets(h);
	if (r == 0)
		r = dump_all(h);
	if (r < 0)
		return err_set_errno(err, r,
				     "cannot list the host's addresses");
	h->dirty = false;
	*ret = ptr_steal(&h);
	return 0;
}

void hostaddr_free(struct hostaddr *h)
{
	if (!h)
		return;
	loop_del_timer(&h->again);
	loop_del_fd(&h->watch);
	fd_closep(&h->watch_fd);
	fd_closep(&h->dump_fd);
	table_done(&h->table);
	free(h->list);
	free(h);
}

void hostaddr_freep(struct hostaddr **h)
{
	hostaddr_free(*h);
	*h = NULL;
}

bool hostaddr_is_own(const struct hostaddr *h, const struct addr *a)
{
	struct addr key;

	if (h->table.overflowed)
		return true;
	memset(&key, 0, sizeof(key));
	key.family = a->family;
	memcpy(key.bytes, a->bytes, addr_len(a));
	return bsearch(&key, h->list, h->n_list, sizeof(key), compare_addr);
}

const struct addr *hostaddr_list(const struct hostaddr *h, size_t *ret_n)
{
	*ret_n = h->n_list;
	return h->list;
}

bool hostaddr_has_ipv6(const struct hostaddr *h)
{
	return h->has_ipv6;
}
