/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sockdiag.c - which socket of the sandbox a packet came from
 *
 * Theory of operation. A NETLINK_SOCK_DIAG socket sees the sockets of the netns
 * it was made in, whoever uses it later, and asks no capability for what is
 * read here. The kernel answers within the system call, so nothing waits.
 *
 * The exact request is one look-up in the kernel's hash tables:
 *
 * - TCP: the established table has a socket from its SYN on. An IPv6 socket
 *   that is connected to a mapped address is hashed as IPv4 and found as such.
 *   A listener that is found instead has no remote port.
 * - UDP: the socket that a datagram from @remote to @local would reach. Source
 *   and destination are swapped in this request, "for historical reasons" says
 *   the kernel, and a few versions had it the other way: so both are tried.
 *
 * What isn't found so, a UDP socket that is connected elsewhere, is looked for
 * among all (a dump, with the port as the kernel's filter). The tables of TCP
 * are too large for that.
 *
 * A kernel without the module for a protocol tries to load it at each request,
 * which takes long. So each protocol is tried once at the start, on a socket of
 * our own.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>

#include "netns/sockdiag.h"

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "netns/rtsock.h"

/* Datagrams read for one request; more means that something is wrong. */
#define READS_MAX 32

struct request {
	struct nlmsghdr nlh;
	struct inet_diag_req_v2 req;
};

struct search {
	const struct endpoint *local, *remote;
	uint32_t seq;
	bool is_dump, is_done;
	int result;
	uint32_t inode; /* 0: not found yet */
};

/* ---- answers ---- */

/* The sandbox's side of a socket: unbound, or our address, maybe mapped. */
static bool is_address_of(const struct inet_diag_msg *m,
			  const struct endpoint *local)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t none[16];
	const uint8_t *bytes = (const uint8_t *)m->id.idiag_src;
	size_t len = addr_len(&local->addr);

	if (m->idiag_family == AF_INET6 && memcmp(bytes, none, 16) == 0)
		return true;
	if (m->idiag_family == AF_INET6 && len == 4)
		return memcmp(bytes, mapped, 12) == 0 &&
		       memcmp(bytes + 12, local->addr.bytes, 4) == 0;
	if (m->idiag_family != local->addr.family)
		return false;
	return memcmp(bytes, none, len) == 0 ||
	       memcmp(bytes, local->addr.bytes, len) == 0;
}

static void take_socket(struct search *s, const struct inet_diag_msg *m)
{
	uint16_t dport = ntohs(m->id.idiag_dport);

	if (s->inode || ntohs(m->id.idiag_sport) != s->local->port ||
	    (dport && dport != s->remote->port) || !is_address_of(m, s->local))
		return;
	s->inode = m->idiag_inode;
}

static int on_message(void *ctx, const struct nlmsghdr *nlh)
{
	struct search *s = ctx;
	const struct inet_diag_msg *m;

	if (nlh->nlmsg_seq != s->seq)
		return 0;
	switch (nlh->nlmsg_type) {
	case NLMSG_DONE:
		s->is_done = true;
		break;
	case NLMSG_ERROR:
		s->result = rtsock_error(nlh);
		s->is_done = true;
		break;
	case SOCK_DIAG_BY_FAMILY:
		m = rtsock_body(nlh, sizeof(*m));
		if (m)
			take_socket(s, m);
		s->is_done = !s->is_dump;
		break;
	default:
		break;
	}
	return 0;
}

static int ask(struct sockdiag *d, struct request *r, struct search *s)
{
	int e;

	r->nlh.nlmsg_len = sizeof(*r);
	r->nlh.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	r->nlh.nlmsg_seq = s->seq = ++d->seq;
	e = rtsock_request(d->fd, &r->nlh, s->is_dump ? NLM_F_DUMP : 0);
	if (e < 0)
		return e;
	for (int i = 0; i < READS_MAX && !s->is_done; i++) {
		e = rtsock_read(d->fd, on_message, s);
		if (e < 0 && e != -ENOBUFS)
			return e;
	}
	return s->result;
}

/* ---- questions ---- */

static void put_addr(uint32_t *dst, const struct addr *a)
{
	memcpy(dst, a->bytes, addr_len(a));
}

/* @src and @dst are the request's words, whatever a protocol means by them. */
static int ask_exact(struct sockdiag *d, int proto, const struct endpoint *src,
		     const struct endpoint *dst, struct search *s)
{
	struct request r = {
		.req = {
			.sdiag_family = src->addr.family,
			.sdiag_protocol = (uint8_t)proto,
			.idiag_states = ~0U,
			.id = {
				.idiag_sport = htons(src->port),
				.idiag_dport = htons(dst->port),
				.idiag_if = d->ifindex,
				.idiag_cookie = { INET_DIAG_NOCOOKIE,
						  INET_DIAG_NOCOOKIE },
			},
		},
	};

	put_addr(r.req.id.idiag_src, &src->addr);
	put_addr(r.req.id.idiag_dst, &dst->addr);
	s->is_dump = s->is_done = false;
	s->result = 0;
	return ask(d, &r, s);
}

static int ask_all(struct sockdiag *d, int proto, int family, struct search *s)
{
	struct request r = {
		.req = {
			.sdiag_family = (uint8_t)family,
			.sdiag_protocol = (uint8_t)proto,
			.idiag_states = ~0U,
			.id.idiag_sport = htons(s->local->port),
		},
	};

	s->is_dump = true;
	s->is_done = false;
	s->result = 0;
	return ask(d, &r, s);
}

static int find(struct sockdiag *d, int proto, struct search *s)
{
	int r;

	if (proto == IPPROTO_TCP)
		return ask_exact(d, proto, s->local, s->remote, s);
	r = ask_exact(d, proto, s->remote, s->local, s);
	if (!s->inode)
		r = ask_exact(d, proto, s->local, s->remote, s);
	if (!s->inode)
		r = ask_all(d, proto, s->local->addr.family, s);
	if (!s->inode && s->local->addr.family == AF_INET)
		r = ask_all(d, proto, AF_INET6, s); /* mapped */
	return r;
}

int sockdiag_find(struct sockdiag *d, int proto, const struct endpoint *local,
		  const struct endpoint *remote, uint32_t *ret_inode)
{
	struct search s = { .local = local, .remote = remote };
	int r;

	if (d->fd < 0 || !(proto == IPPROTO_TCP ? d->has_tcp : d->has_udp))
		return -EOPNOTSUPP;
	if (!addr_len(&local->addr) ||
	    local->addr.family != remote->addr.family || !local->port)
		return -EINVAL;
	r = find(d, proto, &s);
	if (s.inode) {
		*ret_inode = s.inode;
		return 0;
	}
	return r < 0 ? r : -ENOENT;
}

/* ---- life ---- */

void sockdiag_init(struct sockdiag *d)
{
	*d = (struct sockdiag){ .fd = -1 };
}

/* Whether the kernel finds a socket of our own, which stays in here. */
static bool finds_own(struct sockdiag *d, int proto)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	struct endpoint local = { .addr.family = AF_INET }, remote = local;
	struct search s = { .local = &local, .remote = &remote };
	_cleanup_(fd_closep) int fd = -1;
	int type = proto == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;

	fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    (proto == IPPROTO_TCP && listen(fd, 1) < 0) ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return false;
	local.port = ntohs(sa.sin_port);
	remote.port = 1;
	(void)find(d, proto, &s); /* the inode tells */
	return s.inode != 0;
}

/* Connected to the kernel, it takes nothing from other senders: root inside
   could else fill its buffer. */
static int open_socket(void)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK };
	_cleanup_(fd_closep) int fd = -1;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    NETLINK_SOCK_DIAG);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	return fd_steal(&fd);
}

int sockdiag_open(struct sockdiag *d, const char *ifname, struct err *err)
{
	sockdiag_init(d);
	d->fd = open_socket();
	if (d->fd < 0)
		return err_set_errno(err, d->fd,
				     "cannot ask the kernel about sockets");
	d->has_tcp = finds_own(d, IPPROTO_TCP);
	d->has_udp = finds_own(d, IPPROTO_UDP);
	/* Not before: our own were on no interface. */
	d->ifindex = if_nametoindex(ifname);
	return 0;
}

void sockdiag_close(struct sockdiag *d)
{
	fd_closep(&d->fd);
}
