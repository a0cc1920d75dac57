/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pending.c - SYNs that wait for their destination, then for accept4()
 *
 *   SYN -> may_connect() and limits -> connect()
 *   CONNECTING -- established --> the SYN is injected -> INJECTED
 *              -- refused, unreachable --> reset, ICMP; gone
 *              -- timed out --> silence, as on a real network; gone
 *   INJECTED   -- accept4() --> pending_take(); gone
 *              -- 3 s --> upstream reset, counted lost; gone
 *
 * The sandbox's kernel repeats a SYN that isn't answered. While connecting, the
 * newest one is kept: with the same port a new socket may stand behind it, and
 * only its ISN gets an acceptable answer. While injected a repeated SYN means
 * that the first one was lost (a full listener), so it is injected again.
 *
 * Each costs a descriptor, so they are bounded three times: in all, for each
 * destination, and together with the flows they may become. Because of the last
 * a connection that was promised to the sandbox has a place when it's accepted.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "relay/relay_internal.h"

/* Linux gives up on a connect() after 127 s; this is for hosts that don't. */
#define CONNECT_MS  (130 * CLOCK_MS_PER_S)
#define ACCEPTED_MS (3 * CLOCK_MS_PER_S)

struct pending {
	struct key_node node;
	struct relay *relay;
	struct dest *dest;
	struct loop_fd w;
	struct loop_timer timer;
	struct syn syn; /* the newest */
	int fd;		/* upstream */
	bool is_injected;
	uint64_t end_ms; /* injecting again may not prolong it beyond */
};

uint32_t pending_size(void)
{
	return sizeof(struct pending);
}

/* How the sandbox hears of a failed connect(). */
enum answer {
	ANSWER_RESET,
	ANSWER_UNREACH,
	ANSWER_SILENCE,
	ANSWER_LIMIT, /* our own trouble: reset, and reported as ours */
};

static enum answer answer_for(int error)
{
	switch (-error) {
	case EADDRNOTAVAIL:
	case EADDRINUSE:
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
	case ENOSPC:
	case ECONNABORTED:
		return ANSWER_LIMIT;
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
	case ENETDOWN:
	case EACCES: /* a prohibit route, or the host's firewall */
	case EPERM:
	case EINVAL: /* no such address family, scope or route here */
	case EAFNOSUPPORT:
		return ANSWER_UNREACH;
	case ETIMEDOUT:
		return ANSWER_SILENCE;
	default: /* ECONNREFUSED, ECONNRESET */
		return ANSWER_RESET;
	}
}

static int send_marked(int fd, const uint8_t *frame, size_t len, uint32_t mark)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(mark))];
	} control = { .bytes = { 0 } };
	struct iovec iov = {
		.iov_base = (void *)(uintptr_t)frame,
		.iov_len = len,
	};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SO_MARK;
	c->cmsg_len = CMSG_LEN(sizeof(mark));
	memcpy(CMSG_DATA(c), &mark, sizeof(mark));
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void relay_inject(struct relay *r, const struct syn *s, enum relay_mark mark)
{
	uint8_t frame[SYN_FRAME_MAX];
	size_t len = syn_build(s, r->cfg.inject_src_mac, r->cfg.inject_dst_mac,
			       frame);

	/* Lost like any packet: the sandbox's kernel will repeat its SYN. */
	if (send_marked(r->cfg.inject_fd, frame, len, mark) < 0)
		r->stats.inject_errors++;
	else
		r->stats.injected++;
}

static void report_refused(struct relay *r, const struct syn *s,
			   enum relay_refusal why, int error)
{
	const struct relay_flow_info info = {
		.key = s->key,
		.error = -error,
	};

	if (why == RELAY_REFUSED_LIMIT)
		r->stats.refused_limit++;
	if (r->ops->refused)
		r->ops->refused(r->ctx, &info, why);
}

void relay_refuse(struct relay *r, const struct syn *s, enum relay_refusal why,
		  int error, enum relay_mark mark)
{
	relay_inject(r, s, mark);
	report_refused(r, s, why, error);
}

static void answer_error(struct relay *r, const struct syn *s, int error)
{
	switch (answer_for(error)) {
	case ANSWER_RESET:
		relay_refuse(r, s, RELAY_REFUSED_UPSTREAM, error,
			     RELAY_MARK_RESET);
		break;
	case ANSWER_UNREACH:
		relay_refuse(r, s, RELAY_REFUSED_UPSTREAM, error,
			     RELAY_MARK_UNREACH);
		break;
	case ANSWER_SILENCE:
		r->stats.timed_out++;
		report_refused(r, s, RELAY_REFUSED_UPSTREAM, error);
		break;
	case ANSWER_LIMIT:
		relay_refuse(r, s, RELAY_REFUSED_LIMIT, error,
			     RELAY_MARK_RESET);
		break;
	}
}

struct pending *pending_find(struct relay *r, const struct relay_key *key)
{
	struct key_node *n = keytab_find(&r->pendings, key);

	return n ? container_of(n, struct pending, node) : NULL;
}

/* Forgets it; the upstream socket, if still there, is reset. */
static void pending_end(struct pending *p)
{
	struct relay *r = p->relay;

	loop_del_fd(&p->w);
	loop_del_timer(&p->timer);
	fd_closep(&p->fd);
	keytab_del(&r->pendings, &p->node);
	p->dest->n_pending--;
	dests_put(&r->dests, p->dest);
	if (p->is_injected)
		r->n_injected--;
	pool_put(r->pending_pool, p);
}

static void pending_fail(struct pending *p, int error)
{
	struct relay *r = p->relay;
	struct syn s = p->syn;

	pending_end(p);
	answer_error(r, &s, error);
}

static void on_late(struct loop_timer *t)
{
	struct pending *p = container_of(t, struct pending, timer);

	if (p->is_injected) {
		p->relay->stats.lost++;
		pending_end(p);
	} else {
		pending_fail(p, -ETIMEDOUT);
	}
}

/* Also called for a repeated SYN: the time begins anew, within the limit. */
static void inject_pending(struct pending *p)
{
	struct relay *r = p->relay;
	uint64_t now = clock_now_ms();

	if (!p->is_injected) {
		p->is_injected = true;
		r->n_injected++;
		loop_del_fd(&p->w);
	}
	/* The timer is set already, so its place in the heap is there. */
	if (now + ACCEPTED_MS < p->end_ms)
		(void)loop_set_timer(r->loop, &p->timer, ACCEPTED_MS, on_late);
	relay_inject(r, &p->syn, RELAY_MARK_ACCEPT);
}

static void on_connected(struct loop_fd *w, uint32_t events)
{
	struct pending *p = container_of(w, struct pending, w);
	int r = connect_result(p->fd);

	(void)events; /* the socket itself says more */
	if (r == -EINPROGRESS)
		return;
	if (r < 0)
		pending_fail(p, r);
	else
		inject_pending(p);
}

/* Places for one more, or NULL. */
static struct pending *pending_new(struct relay *r, const struct syn *s)
{
	struct pool_stats flows, pendings;
	struct pending *p;
	struct dest *d = dests_find(&r->dests, &s->key.dst.addr);

	if (d && d->n_pending >= PENDING_MAX_PER_DEST)
		return NULL;
	pool_get_stats(r->flow_pool, &flows);
	pool_get_stats(r->pending_pool, &pendings);
	if (flows.in_use + pendings.in_use >= flows.max)
		return NULL;
	p = pool_get(r->pending_pool, NULL);
	if (!p)
		return NULL;
	p->dest = dests_get(&r->dests, &s->key.dst.addr);
	if (!p->dest) {
		pool_put(r->pending_pool, p);
		return NULL;
	}
	p->dest->n_pending++;
	p->relay = r;
	p->syn = *s;
	p->node.key = s->key;
	p->fd = -1;
	p->end_ms = clock_now_ms() + CONNECT_MS;
	keytab_add(&r->pendings, &p->node);
	return p;
}

void pending_start(struct relay *r, const struct syn *s)
{
	struct pending *p;
	int result;

	if (!r->ops->may_connect(r->ctx, &s->key)) {
		relay_refuse(r, s, RELAY_REFUSED_POLICY, 0, RELAY_MARK_RESET);
		return;
	}
	p = pending_new(r, s);
	if (!p) {
		relay_refuse(r, s, RELAY_REFUSED_LIMIT, 0, RELAY_MARK_RESET);
		return;
	}
	result = loop_set_timer(r->loop, &p->timer, CONNECT_MS, on_late);
	if (result < 0) {
		pending_fail(p, result);
		return;
	}
	result = connect_start(&s->key.dst, &p->fd);
	if (result == 0) {
		inject_pending(p);
		return;
	}
	if (result == -EINPROGRESS)
		result = loop_add_fd(r->loop, &p->w, p->fd, EPOLLOUT,
				     on_connected);
	if (result < 0)
		pending_fail(p, result);
}

void pending_repeat(struct pending *p, const struct syn *s)
{
	p->syn = *s;
	if (p->is_injected)
		inject_pending(p);
}

int pending_take(struct pending *p, uint32_t *ret_isn)
{
	int fd;

	if (!p->is_injected)
		return -1;
	fd = fd_steal(&p->fd);
	*ret_isn = p->syn.isn;
	pending_end(p);
	return fd;
}

size_t pending_rejudge(struct relay *r)
{
	struct pending *p = NULL;
	size_t n_cut = 0;

	while ((p = pool_next(r->pending_pool, p))) {
		struct syn s = p->syn;

		if (r->ops->may_connect(r->ctx, &s.key))
			continue;
		/*
		 * If its handshake is under way already, the reset comes too
		 * late to be believed; accept.c then finds nothing and resets.
		 */
		pending_end(p);
		relay_refuse(r, &s, RELAY_REFUSED_POLICY, 0, RELAY_MARK_RESET);
		n_cut++;
	}
	return n_cut;
}

void pending_drop_all(struct relay *r)
{
	struct pending *p = NULL;

	while ((p = pool_next(r->pending_pool, p)))
		pending_end(p);
}
