/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listener_udp.c - queries and replies as datagrams
 *
 * A reply that the socket doesn't take at once is dropped: clients ask again.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>

#include "resolver/listener_internal.h"

#define DATAGRAMS_MAX 64 /* in one callback, others want a turn too */

union control {
	struct cmsghdr align;
	uint8_t buf[CMSG_SPACE(sizeof(struct in6_pktinfo)) +
		    CMSG_SPACE(sizeof(struct in_pktinfo))];
};

static void read_pktinfo(struct msghdr *m, struct listener_request *req)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo pi;

			memcpy(&pi, CMSG_DATA(c), sizeof(pi));
			req->local = addr_from_bytes(
				(const uint8_t *)&pi.ipi_addr, 4);
			req->ifindex = (unsigned int)pi.ipi_ifindex;
		} else if (c->cmsg_level == IPPROTO_IPV6 &&
			   c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo pi;

			memcpy(&pi, CMSG_DATA(c), sizeof(pi));
			req->local = addr_from_bytes(pi.ipi6_addr.s6_addr, 16);
			req->ifindex = pi.ipi6_ifindex;
		}
	}
}

static size_t write_pktinfo(const struct listener_request *req,
			    struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	if (req->local.family == AF_INET) {
		struct in_pktinfo pi = { .ipi_ifindex = (int)req->ifindex };

		memcpy(&pi.ipi_spec_dst, req->local.bytes, 4);
		c->cmsg_level = IPPROTO_IP;
		c->cmsg_type = IP_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(pi));
		memcpy(CMSG_DATA(c), &pi, sizeof(pi));
		return CMSG_SPACE(sizeof(pi));
	}
	if (req->local.family == AF_INET6) {
		struct in6_pktinfo pi = { .ipi6_ifindex = req->ifindex };

		memcpy(&pi.ipi6_addr, req->local.bytes, 16);
		c->cmsg_level = IPPROTO_IPV6;
		c->cmsg_type = IPV6_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(pi));
		memcpy(CMSG_DATA(c), &pi, sizeof(pi));
		return CMSG_SPACE(sizeof(pi));
	}
	return 0;
}

void listener_udp_reply(struct listener_request *req, const uint8_t *msg,
			size_t len)
{
	struct iovec iov = { .iov_len = len };
	union control control = { 0 };
	struct msghdr m = {
		.msg_name = &req->peer,
		.msg_namelen = req->peer_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};

	/* sendmsg() takes no const, and only reads. */
	memcpy(&iov.iov_base, &msg, sizeof(msg));
	m.msg_controllen = write_pktinfo(req, &m);
	if (!m.msg_controllen)
		m.msg_control = NULL;
	while (sendmsg(req->sock->fd, &m, MSG_DONTWAIT) < 0 && errno == EINTR)
		;
}

/* Return: false when the socket has no more. */
static bool receive(struct listener_udp *u)
{
	struct listener *l = u->l;
	struct iovec iov = { .iov_base = l->buf, .iov_len = sizeof(l->buf) };
	struct listener_request *req = pool_get(l->requests, NULL);
	union control control;
	struct endpoint client;
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n;

	if (!req)
		return false;
	m.msg_name = &req->peer;
	m.msg_namelen = sizeof(req->peer);
	n = recvmsg(u->fd, &m, MSG_DONTWAIT);
	if (n < 0 || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
	    endpoint_from_sockaddr(&req->peer, &client)) {
		pool_put(l->requests, req);
		/* Any other error is one datagram's (an ICMP that came). */
		return n >= 0 || (errno != EAGAIN);
	}
	req->l = l;
	req->sock = u;
	req->peer_len = m.msg_namelen;
	read_pktinfo(&m, req);
	resolver_answer(l->r,
			&(struct resolver_query){
				.client = &client,
				.msg = l->buf,
				.len = (size_t)n,
			},
			listener_reply, req);
	return true;
}

static void on_readable(struct loop_fd *w, uint32_t events)
{
	struct listener_udp *u = container_of(w, struct listener_udp, w);

	(void)events; /* level-triggered: errors come out of recvmsg() */
	for (unsigned int i = 0; i < DATAGRAMS_MAX && receive(u); i++)
		;
}

int listener_udp_start(struct listener *l, struct listener_udp *u)
{
	u->l = l;
	return loop_add_fd(l->r->loop, &u->w, u->fd, EPOLLIN, on_readable);
}
