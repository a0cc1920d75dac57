/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upstream.c - c-ares in the event loop
 *
 * c-ares tells which descriptors it has and what for; each is a watcher of the
 * loop, and one timer follows ares_timeout(). Queries are written here and sent
 * with ares_send(), so that no search list, no alias file and no text form of a
 * name come between; c-ares adds servers, retries, TCP after truncation, and
 * the match of id, server and question.
 *
 * A reload makes a second channel. The old one finishes its queries and is
 * destroyed from a timer, since c-ares must not be destroyed from a callback.
 */
#include "resolver/upstream_internal.h"

#include <ares.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "base/err.h"
#include "base/loop.h"
#include "resolver/hostsfile.h"
#include "resolver/wire.h"

#define TIMEOUT_MS   1500 /* first try; c-ares doubles it */
#define TRIES	     3
#define UDP_SIZE     1232 /* never fragmented on the way (DNS flag day 2020) */
#define QUERY_MAX    (WIRE_HEADER_LEN + DNSNAME_WIRE_MAX + 4 + WIRE_OPT_LEN)
#define CHANNELS_MAX 8 /* reloads while old queries are still open */

struct channel {
	struct list node; /* in upstream.channels, newest last */
	struct upstream *u;
	ares_channel ares;
	unsigned int n_open; /* queries under way */
	struct list sockets;
	struct loop_timer timer;
};

struct socket_watch {
	struct loop_fd w;
	struct list node;
	struct channel *ch;
};

struct upstream {
	struct loop *loop;
	struct upstream_config cfg;
	struct hostsfile hosts;
	struct list channels;
	struct loop_timer reaper;
	unsigned int n_channels;
};

struct ask {
	struct channel *ch;
	resolver_answer_fn *done;
	void *arg;
};

static void on_timer(struct loop_timer *t);

static struct channel *newest(const struct upstream *u)
{
	return container_of(u->channels.prev, struct channel, node);
}

static void arm(struct channel *ch)
{
	struct timeval tv;

	if (!ares_timeout(ch->ares, NULL, &tv)) {
		loop_del_timer(&ch->timer);
		return;
	}
	/* One more: a timer that fires a moment early would turn in vain. */
	(void)loop_set_timer(ch->u->loop, &ch->timer,
			     (uint64_t)tv.tv_sec * 1000 +
				     (uint64_t)tv.tv_usec / 1000 + 1,
			     on_timer);
}

static void free_channel(struct channel *ch)
{
	list_del(&ch->node);
	ch->u->n_channels--;
	loop_del_timer(&ch->timer);
	if (ch->ares)
		ares_destroy(ch->ares); /* every callback comes from within */
	while (!list_empty(&ch->sockets)) {
		struct socket_watch *s = container_of(
			ch->sockets.next, struct socket_watch, node);

		loop_del_fd(&s->w);
		list_del(&s->node);
		free(s);
	}
	loop_del_timer(&ch->timer);
	free(ch);
}

static void on_reap(struct loop_timer *t)
{
	struct upstream *u = container_of(t, struct upstream, reaper);
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &u->channels) {
		struct channel *ch = container_of(i, struct channel, node);

		if (ch != newest(u) && !ch->n_open)
			free_channel(ch);
	}
}

/* A channel that isn't the newest and has no query goes, but not from here. */
static void settle(struct channel *ch)
{
	if (ch != newest(ch->u) && !ch->n_open)
		(void)loop_set_timer(ch->u->loop, &ch->u->reaper, 0, on_reap);
	arm(ch);
}

static void on_timer(struct loop_timer *t)
{
	struct channel *ch = container_of(t, struct channel, timer);

	ares_process_fd(ch->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	settle(ch);
}

static void on_socket(struct loop_fd *w, uint32_t events)
{
	struct socket_watch *s = container_of(w, struct socket_watch, w);
	struct channel *ch = s->ch;
	int fd = w->fd;
	bool is_in = events & (EPOLLIN | EPOLLERR | EPOLLHUP);
	bool is_out = events & (EPOLLOUT | EPOLLERR | EPOLLHUP);

	ares_process_fd(ch->ares, is_in ? fd : ARES_SOCKET_BAD,
			is_out ? fd : ARES_SOCKET_BAD);
	settle(ch);
}

static struct socket_watch *find_socket(const struct channel *ch, int fd)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &ch->sockets) {
		struct socket_watch *s =
			container_of(i, struct socket_watch, node);

		if (s->w.fd == fd)
			return s;
	}
	return NULL;
}

/* A socket that can't be watched makes its queries time out, nothing worse. */
static void on_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct channel *ch = arg;
	struct socket_watch *s = find_socket(ch, fd);
	uint32_t events =
		(readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);

	if (!events) {
		if (!s)
			return;
		loop_del_fd(&s->w);
		list_del(&s->node);
		free(s);
	} else if (s) {
		(void)loop_mod_fd(&s->w, events);
	} else {
		s = calloc(1, sizeof(*s));
		if (!s)
			return;
		s->ch = ch;
		if (loop_add_fd(ch->u->loop, &s->w, fd, events, on_socket))
			free(s);
		else
			list_add_tail(&ch->sockets, &s->node);
	}
}

static void set_options(const struct upstream *u, struct channel *ch,
			struct ares_options *opt, int *mask)
{
	opt->flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS;
	opt->timeout = u->cfg.timeout_ms ? u->cfg.timeout_ms : TIMEOUT_MS;
	opt->tries = u->cfg.tries ? u->cfg.tries : TRIES;
	opt->ednspsz = UDP_SIZE;
	opt->sock_state_cb = on_state;
	opt->sock_state_cb_data = ch;
	*mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
		ARES_OPT_EDNSPSZ | ARES_OPT_SOCK_STATE_CB;
	if (u->cfg.resolv_conf) {
		/* c-ares copies it, but its type has no const. */
		memcpy(&opt->resolvconf_path, &u->cfg.resolv_conf,
		       sizeof(opt->resolvconf_path));
		*mask |= ARES_OPT_RESOLVCONF;
	}
}

static int add_channel(struct upstream *u, struct err *err)
{
	struct ares_options opt = { 0 };
	struct channel *ch;
	int mask, status;

	if (u->n_channels == CHANNELS_MAX)
		return err_set(err, -EBUSY,
			       "too many reloads of the resolvers");
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return err_set_errno(err, -ENOMEM, "cannot start the resolver");
	ch->u = u;
	list_init(&ch->sockets);
	set_options(u, ch, &opt, &mask);
	status = ares_init_options(&ch->ares, &opt, mask);
	if (status != ARES_SUCCESS) {
		free(ch);
		return err_set(err, status == ARES_ENOMEM ? -ENOMEM : -EIO,
			       "cannot read the host's resolvers: %s",
			       ares_strerror(status));
	}
	list_add_tail(&u->channels, &ch->node);
	u->n_channels++;
	if (!u->cfg.servers)
		return 0;
	status = ares_set_servers_ports_csv(ch->ares, u->cfg.servers);
	if (status == ARES_SUCCESS)
		return 0;
	free_channel(ch);
	return err_set(err, -EINVAL, "cannot use the resolvers '%s': %s",
		       u->cfg.servers, ares_strerror(status));
}

int upstream_new_config(struct upstream **ret, struct loop *loop,
			const struct upstream_config *cfg, struct err *err)
{
	struct upstream *u = calloc(1, sizeof(*u));
	int e;

	if (!u)
		return err_set_errno(err, -ENOMEM, "cannot start the resolver");
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
		free(u);
		return err_set(err, -EIO, "cannot start c-ares");
	}
	u->loop = loop;
	u->cfg = *cfg;
	hostsfile_init(&u->hosts, HOSTSFILE_PATH);
	list_init(&u->channels);
	e = add_channel(u, err);
	if (e)
		upstream_free(u);
	else
		*ret = u;
	return e;
}

int upstream_new(struct upstream **ret, struct loop *loop, struct err *err)
{
	const struct upstream_config cfg = { 0 };

	return upstream_new_config(ret, loop, &cfg, err);
}

void upstream_free(struct upstream *u)
{
	if (!u)
		return;
	loop_del_timer(&u->reaper);
	while (!list_empty(&u->channels))
		free_channel(newest(u));
	hostsfile_done(&u->hosts);
	ares_library_cleanup();
	free(u);
}

void upstream_freep(struct upstream **u)
{
	upstream_free(*u);
	*u = NULL;
}

unsigned int upstream_n_channels(const struct upstream *u)
{
	return u->n_channels;
}

int upstream_reload(struct upstream *u, struct err *err)
{
	struct channel *old = newest(u);
	int e = add_channel(u, err);

	if (!e)
		settle(old);
	return e;
}

static int errno_of(int status)
{
	switch (status) {
	case ARES_ETIMEOUT:
		return -ETIMEDOUT;
	case ARES_ECONNREFUSED:
		return -ECONNREFUSED;
	case ARES_ENOMEM:
		return -ENOMEM;
	case ARES_EDESTRUCTION:
	case ARES_ECANCELLED:
		return -ECANCELED;
	case ARES_ESERVFAIL:
	case ARES_EREFUSED:
	case ARES_ENOTIMP:
		return -EREMOTEIO;
	default:
		return -EIO;
	}
}

static void on_answer(void *arg, int status, int timeouts, unsigned char *abuf,
		      int alen)
{
	struct ask *a = arg;
	struct channel *ch = a->ch;

	(void)timeouts;
	ch->n_open--;
	/* A status above success may still come with a message, as NXDOMAIN
	   does from newer versions: the message says more. */
	if (abuf && alen > 0 && status < ARES_EBADQUERY)
		a->done(a->arg, 0, abuf, (size_t)alen);
	else
		a->done(a->arg, errno_of(status), NULL, 0);
	free(a);
}

/* Exactly an OPT without options at the end: c-ares cuts that off again for
   servers that don't know EDNS. */
static size_t write_query(uint8_t *buf, size_t size, const struct dnsname *name,
			  uint16_t qtype)
{
	struct wire_writer w;
	uint16_t id;

	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		return 0;
	wire_writer_init(&w, buf, size, 0);
	wire_write_u16(&w, id);
	wire_write_u16(&w, WIRE_FLAG_RD);
	wire_write_u16(&w, 1);
	wire_write_u16(&w, 0);
	wire_write_u16(&w, 0);
	wire_write_u16(&w, 1);
	wire_write_name_plain(&w, name);
	wire_write_u16(&w, qtype);
	wire_write_u16(&w, WIRE_CLASS_IN);
	wire_write_u8(&w, 0);
	wire_write_u16(&w, WIRE_OPT);
	wire_write_u16(&w, UDP_SIZE);
	wire_write_u32(&w, 0);
	wire_write_u16(&w, 0);
	return w.full ? 0 : w.len;
}

void upstream_ask(struct upstream *u, const struct dnsname *name,
		  uint16_t qtype, resolver_answer_fn *done, void *arg)
{
	uint8_t query[QUERY_MAX], answer[HOSTSFILE_ANSWER_MAX];
	size_t len = write_query(query, sizeof(query), name, qtype), known;
	struct channel *ch;
	struct ask *a;

	if (list_empty(&u->channels)) { /* asked from the end of another */
		done(arg, -ECANCELED, NULL, 0);
		return;
	}
	known = hostsfile_answer(&u->hosts, name, qtype, answer);
	if (known) {
		done(arg, 0, answer, known);
		return;
	}
	a = len ? calloc(1, sizeof(*a)) : NULL;
	if (!a) {
		done(arg, len ? -ENOMEM : -EIO, NULL, 0);
		return;
	}
	ch = newest(u);
	a->ch = ch;
	a->done = done;
	a->arg = arg;
	ch->n_open++;
	ares_send(ch->ares, query, (int)len, on_answer, a);
	settle(ch);
}
