/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accept.c - connections that the kernel completed inside, matched to upstream
 *
 * A TPROXY listener returns sockets whose own address is the destination that
 * the sandbox meant. SECURITY: only an injected SYN reaches the listener, but a
 * socket is never trusted for that: without a pending upstream of exactly its
 * 4-tuple it is closed, which resets it.
 *
 * Accepting goes on while injected SYNs are outstanding, so that the usual case
 * of one needs no second accept4() only to hear that there's nothing. The
 * listeners are level-triggered; whatever is left is reported again.
 *
 * Without descriptors or memory accepting pauses for a second, instead of being
 * reported and failing over and over. Connections that are open go on.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "relay/flow_internal.h"
#include "relay/relay_internal.h"

#define ACCEPTS_PER_CALL 64
#define PAUSE_MS	 CLOCK_MS_PER_S

static int key_of(int fd, const struct sockaddr_storage *peer,
		  struct relay_key *ret)
{
	struct sockaddr_storage own = { 0 };
	socklen_t len = sizeof(own);
	int r;

	if (getsockname(fd, (struct sockaddr *)&own, &len) < 0)
		return -errno;
	r = endpoint_from_sockaddr(peer, &ret->src);
	return r < 0 ? r : endpoint_from_sockaddr(&own, &ret->dst);
}

/* Takes @fd. */
static void match(struct relay *r, int fd, const struct sockaddr_storage *peer)
{
	_cleanup_(fd_closep) int client = fd;
	struct relay_key key;
	struct pending *p = NULL;
	int upstream = -1;
	uint32_t isn;

	if (key_of(client, peer, &key) == 0)
		p = pending_find(r, &key);
	if (p)
		upstream = pending_take(p, &isn);
	if (upstream < 0) {
		r->stats.unmatched++;
		return;
	}
	if (flow_open(r, &key, isn, fd_steal(&client), upstream) < 0)
		r->stats.lost++;
}

/* A gateway without IPv6 has one listener only. */
static int watch(struct loop_fd *w, uint32_t events)
{
	return loop_fd_is_watching(w) ? loop_mod_fd(w, events) : 0;
}

static void on_resume(struct loop_timer *t)
{
	struct relay *r = container_of(t, struct relay, accept_timer);

	/* Both only fail without memory; then the next second tries again. */
	if (watch(&r->listen4, EPOLLIN) < 0 || watch(&r->listen6, EPOLLIN) < 0)
		(void)loop_set_timer(r->loop, t, PAUSE_MS, on_resume);
}

static void pause_accepting(struct relay *r)
{
	r->stats.accept_pauses++;
	/* Without a timer nobody would resume, so rather be called again. */
	if (loop_set_timer(r->loop, &r->accept_timer, PAUSE_MS, on_resume) < 0)
		return;
	/* Failing leaves it watched, which is only busier. */
	(void)watch(&r->listen4, 0);
	(void)watch(&r->listen6, 0);
}

static bool is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS ||
	       error == ENOMEM;
}

static void on_connection(struct relay *r, int listen_fd)
{
	for (int i = 0; i < ACCEPTS_PER_CALL; i++) {
		struct sockaddr_storage peer = { 0 };
		socklen_t len = sizeof(peer);
		int fd = accept4(listen_fd, (struct sockaddr *)&peer, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && is_shortage(errno))
			pause_accepting(r);
		if (fd < 0)
			return; /* none left, or that one is dead already */
		match(r, fd, &peer);
		if (r->n_injected == 0)
			return;
	}
}

static void on_listen4(struct loop_fd *w, uint32_t events)
{
	(void)events; /* accept4() tells */
	on_connection(container_of(w, struct relay, listen4), w->fd);
}

static void on_listen6(struct loop_fd *w, uint32_t events)
{
	(void)events; /* accept4() tells */
	on_connection(container_of(w, struct relay, listen6), w->fd);
}

static int start_one(struct relay *r, struct loop_fd *w, int fd, loop_fd_fn *fn,
		     struct err *err)
{
	/* Accepted sockets inherit all of these, which saves calls for each. */
	int res = connect_options(fd);

	if (res == 0)
		res = loop_add_fd(r->loop, w, fd, EPOLLIN, fn);
	if (res < 0)
		return err_set_errno(err, res, "cannot watch a relay listener");
	return 0;
}

int accept_start(struct relay *r, struct err *err)
{
	int res = 0;

	if (r->cfg.listen4_fd >= 0)
		res = start_one(r, &r->listen4, r->cfg.listen4_fd, on_listen4,
				err);
	if (res == 0 && r->cfg.listen6_fd >= 0)
		res = start_one(r, &r->listen6, r->cfg.listen6_fd, on_listen6,
				err);
	return res;
}

void accept_stop(struct relay *r)
{
	loop_del_timer(&r->accept_timer);
	loop_del_fd(&r->listen4);
	loop_del_fd(&r->listen6);
}
