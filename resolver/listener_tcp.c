/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listener_tcp.c - queries and replies with a length before them (RFC 7766)
 *
 * Messages may come split and merged in any way; several may be under way at
 * once and are answered in the order in which they get ready.
 *
 * Bounded: clients, queries under way per client, bytes that a client doesn't
 * read. A client at its bound isn't read from until it falls below; one that
 * sends no whole query and takes no byte for the idle time is closed. Without
 * a free descriptor, accepting pauses for a second instead of spinning.
 */
#include <string.h>
#include <sys/epoll.h>

#include "resolver/listener_internal.h"

#define PREFIX	     2
#define PIPELINE_MAX 64		  /* queries of one client under way */
#define OUTPUT_MAX   (256U << 10) /* bytes one client may leave unread */
#define IDLE_MS	     10000U
#define PAUSE_MS     1000U
#define ACCEPT_MAX   16 /* in one callback */

struct chunk {
	struct list node;
	size_t len, at;
	uint8_t data[];
};

struct client {
	struct loop_fd w;
	struct loop_timer idle;
	struct listener *l;
	int fd;
	struct endpoint peer;
	struct list out; /* chunks not sent yet */
	size_t out_bytes;
	unsigned int n_open; /* queries under way */
	bool is_eof;	     /* it sends no more */
	bool is_busy;	     /* take_queries() is on the stack */
	size_t in_len;
	uint8_t in[PREFIX + LISTENER_QUERY_MAX];
};

static void resume_accept(struct listener *l);

size_t listener_client_size(void)
{
	return sizeof(struct client);
}

static void free_client(struct client *c)
{
	struct listener *l = c->l;

	loop_del_fd(&c->w);
	loop_del_timer(&c->idle);
	fd_closep(&c->fd);
	while (!list_empty(&c->out)) {
		struct chunk *k = container_of(c->out.next, struct chunk, node);

		list_del(&k->node);
		free(k);
	}
	pool_put(l->clients, c);
	resume_accept(l);
}

static void on_idle(struct loop_timer *t);

static void stay_awake(struct client *c)
{
	/* Without memory for the timer the old one stays, or none: bounded by
	   the number of clients. */
	(void)loop_set_timer(c->l->r->loop, &c->idle, IDLE_MS, on_idle);
}

static void on_idle(struct loop_timer *t)
{
	struct client *c = container_of(t, struct client, idle);

	if (c->n_open && list_empty(&c->out))
		stay_awake(c); /* it waits for us */
	else
		free_client(c);
}

static bool is_full(const struct client *c)
{
	return c->n_open >= PIPELINE_MAX || c->out_bytes >= OUTPUT_MAX;
}

/* Return: false when the client is gone. */
static bool update(struct client *c)
{
	uint32_t events = 0;

	if (c->is_eof && !c->n_open && list_empty(&c->out)) {
		free_client(c);
		return false;
	}
	if (!c->is_eof && !is_full(c))
		events |= EPOLLIN;
	if (!list_empty(&c->out))
		events |= EPOLLOUT;
	if (loop_mod_fd(&c->w, events)) {
		free_client(c);
		return false;
	}
	return true;
}

/* Return: false when the connection is broken. */
static bool flush(struct client *c)
{
	while (!list_empty(&c->out)) {
		struct chunk *k = container_of(c->out.next, struct chunk, node);
		ssize_t n = send(c->fd, k->data + k->at, k->len - k->at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		stay_awake(c);
		k->at += (size_t)n;
		c->out_bytes -= (size_t)n;
		if (k->at < k->len)
			continue;
		list_del(&k->node);
		free(k);
	}
	return true;
}

static bool queue(struct client *c, const uint8_t *msg, size_t len)
{
	struct chunk *k = malloc(sizeof(*k) + PREFIX + len);

	if (!k)
		return false;
	k->at = 0;
	k->len = PREFIX + len;
	wire_put16(k->data, (uint16_t)len);
	memcpy(k->data + PREFIX, msg, len);
	list_add_tail(&c->out, &k->node);
	c->out_bytes += k->len;
	return true;
}

/* Return: false when the client is gone. */
static bool take_query(struct client *c, const uint8_t *msg, size_t len)
{
	struct listener *l = c->l;
	pool_handle self = pool_handle_of(l->clients, c);
	struct listener_request *req = pool_get(l->requests, NULL);

	if (!req) {
		free_client(c);
		return false;
	}
	req->l = l;
	req->client = self;
	c->n_open++;
	resolver_answer(l->r,
			&(struct resolver_query){
				.client = &c->peer,
				.msg = msg,
				.len = len,
				.is_tcp = true,
			},
			listener_reply, req);
	return pool_find(l->clients, self) == c;
}

/* All whole messages of the buffer; false when the client is gone. */
static bool take_queries(struct client *c)
{
	size_t at = 0;

	c->is_busy = true;
	while (!is_full(c) && c->in_len - at >= PREFIX) {
		size_t len = wire_get16(c->in + at);

		if (len > LISTENER_QUERY_MAX) {
			free_client(c);
			return false;
		}
		if (c->in_len - at - PREFIX < len)
			break;
		stay_awake(c);
		if (!take_query(c, c->in + at + PREFIX, len))
			return false;
		at += PREFIX + len;
	}
	c->is_busy = false;
	c->in_len -= at;
	memmove(c->in, c->in + at, c->in_len);
	return true;
}

static void on_readable(struct client *c)
{
	ssize_t n = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len,
			 MSG_DONTWAIT);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			free_client(c);
		return;
	}
	if (!n)
		c->is_eof = true;
	c->in_len += (size_t)n;
	if (take_queries(c))
		(void)update(c);
}

static void on_event(struct loop_fd *w, uint32_t events)
{
	struct client *c = container_of(w, struct client, w);

	if (events & (EPOLLERR | EPOLLHUP) || !flush(c)) {
		free_client(c);
		return;
	}
	/* What was read while it was full is taken before more is read. */
	if (!take_queries(c) || !update(c))
		return;
	if (events & EPOLLIN && !is_full(c) && c->in_len < sizeof(c->in))
		on_readable(c);
}

void listener_tcp_reply(struct listener_request *req, const uint8_t *msg,
			size_t len)
{
	struct client *c = pool_find(req->l->clients, req->client);

	if (!c)
		return;
	c->n_open--;
	if (len && (!queue(c, msg, len) || !flush(c))) {
		free_client(c);
		return;
	}
	if (!c->is_busy && take_queries(c))
		(void)update(c);
}

static int add_client(struct listener *l, int *fd,
		      const struct sockaddr_storage *ss)
{
	struct client *c = pool_get(l->clients, NULL);
	int e;

	if (!c)
		return -ENOSPC;
	c->l = l;
	c->fd = fd_steal(fd);
	list_init(&c->out);
	e = endpoint_from_sockaddr(ss, &c->peer);
	if (!e)
		e = loop_add_fd(l->r->loop, &c->w, c->fd, EPOLLIN, on_event);
	if (e) {
		fd_closep(&c->fd);
		pool_put(l->clients, c);
		return e;
	}
	stay_awake(c);
	return 0;
}

static bool is_full_house(const struct listener *l)
{
	return listener_n_clients(l) == LISTENER_CLIENTS_MAX;
}

static void stop_accept(struct listener *l)
{
	for (unsigned int i = 0; i < LISTENER_FAMILIES; i++) {
		if (loop_fd_is_watching(&l->tcp[i].w))
			(void)loop_mod_fd(&l->tcp[i].w, 0); /* only spins */
	}
}

static void resume_accept(struct listener *l)
{
	for (unsigned int i = 0; i < LISTENER_FAMILIES; i++) {
		struct listener_tcp *t = &l->tcp[i];

		if (loop_fd_is_watching(&t->w) && !loop_timer_is_set(&t->pause))
			(void)loop_mod_fd(&t->w, EPOLLIN); /* at the next end */
	}
}

static void on_pause_end(struct loop_timer *timer)
{
	struct listener_tcp *t =
		container_of(timer, struct listener_tcp, pause);

	if (!is_full_house(t->l))
		(void)loop_mod_fd(&t->w, EPOLLIN); /* or when a client ends */
}

/* Return: false when there is nothing more to accept now. */
static bool accept_one(struct listener_tcp *t)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	_cleanup_(fd_closep) int fd =
		accept4(t->fd, (struct sockaddr *)(void *)&ss, &len,
			SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		(void)add_client(t->l, &fd, &ss); /* else closed here */
		return true;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
	    errno == ENOMEM) {
		if (!loop_set_timer(t->l->r->loop, &t->pause, PAUSE_MS,
				    on_pause_end))
			(void)loop_mod_fd(&t->w, 0); /* else it only spins */
		return false;
	}
	return errno == ECONNABORTED || errno == EINTR;
}

static void on_accept(struct loop_fd *w, uint32_t events)
{
	struct listener_tcp *t = container_of(w, struct listener_tcp, w);

	(void)events; /* errors come out of accept() */
	for (unsigned int i = 0; i < ACCEPT_MAX; i++) {
		if (is_full_house(t->l)) {
			stop_accept(t->l);
			return;
		}
		if (!accept_one(t))
			return;
	}
}

int listener_tcp_start(struct listener *l, struct listener_tcp *t)
{
	t->l = l;
	return loop_add_fd(l->r->loop, &t->w, t->fd, EPOLLIN, on_accept);
}

void listener_tcp_free_all(struct listener *l)
{
	for (struct client *c = pool_next(l->clients, NULL), *next; c;
	     c = next) {
		next = pool_next(l->clients, c);
		free_client(c);
	}
}
