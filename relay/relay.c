/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relay.c - TCP flows: held SYN, upstream connection, byte moving
 *
 *   syn.c      what the sandbox's SYN says, and the frame that's made of it
 *   pending.c  SYNs that wait; injecting them, refusing them
 *   connect.c  sockets to destinations
 *   accept.c   connections that the kernel completed inside
 *   flow.c     the life of a relayed connection
 *   pump.c     when its two directions run; half.c: how one moves bytes
 *   pipes.c    pipes for bulk transfers; keytab.c: look-ups
 *
 * Everything runs in the one thread of the loop. Nothing here waits, and no
 * table grows beyond what max_fds allows, whatever the sandbox does.
 *
 * Of a SYN whose 4-tuple has a live flow the same ISN is an echo and dropped.
 * Another ISN is a new socket of the sandbox with the port of an old one: it's
 * injected without connecting, the kernel's old socket answers it with an
 * acknowledgement, the sandbox resets that, and the next SYN finds the flow
 * gone; so it goes between two direct peers.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "relay/flow_internal.h"
#include "relay/relay_internal.h"

/* Listeners, packet sockets, the eventfd, and some for calls in progress. */
#define FDS_OWN	     16U
#define FDS_PER_FLOW 2U
#define PIPES_MAX    32U
#define PIPES_MIN    2U
#define FDS_PER_PIPE 2U
/* A descriptor in 32 may belong to a pipe. */
#define FDS_FOR_PIPES 32U
#define FLOWS_MAX     (1U << 20)

static uint32_t pipes_for(uint32_t max_fds)
{
	uint32_t n = max_fds / FDS_FOR_PIPES / FDS_PER_PIPE;

	if (n > PIPES_MAX)
		return PIPES_MAX;
	return n < PIPES_MIN ? PIPES_MIN : n;
}

/* 0 when there aren't enough descriptors for one. */
static uint32_t flows_for(uint32_t max_fds)
{
	uint32_t reserve = FDS_OWN + FDS_PER_PIPE * pipes_for(max_fds);
	uint32_t n = max_fds > reserve ? (max_fds - reserve) / FDS_PER_FLOW : 0;

	return n > FLOWS_MAX ? FLOWS_MAX : n;
}

/* Tables for @n_flows. */
static int init_tables(struct relay *r, uint32_t n_flows, struct err *err)
{
	int res = pool_new(&r->flow_pool, sizeof(struct flow), n_flows, err);

	if (res == 0)
		res = pool_new(&r->pending_pool, pending_size(), PENDING_MAX,
			       err);
	if (res == 0)
		res = dests_init(&r->dests, n_flows + PENDING_MAX, err);
	if (res < 0)
		return res;
	if (keytab_init(&r->flows, n_flows) < 0 ||
	    keytab_init(&r->pendings, PENDING_MAX) < 0)
		return err_set(err, -ENOMEM, "no memory for the relay");
	return 0;
}

/* splice(2) has no MSG_NOSIGNAL, so a peer's reset would end the process. */
static int ignore_sigpipe(struct err *err)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (sigaction(SIGPIPE, &ignore, NULL) < 0)
		return err_set_errno(err, -errno, "cannot ignore SIGPIPE");
	return 0;
}

/* They stay the caller's until nothing can fail. */
static void disown_fds(struct relay *r)
{
	r->cfg.listen4_fd = r->cfg.listen6_fd = -1;
	r->cfg.inject_fd = -1;
}

int relay_new(struct relay **ret, struct loop *loop,
	      const struct relay_config *cfg, const struct relay_ops *ops,
	      void *ctx, struct err *err)
{
	_cleanup_(relay_freep) struct relay *r = NULL;
	uint32_t n_flows = flows_for(cfg->max_fds);
	int res;

	if (n_flows == 0)
		return err_set(err, -EMFILE,
			       "%u descriptors are too few for the relay",
			       cfg->max_fds);
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "no memory for the relay");
	r->loop = loop;
	r->ops = ops;
	r->ctx = ctx;
	disown_fds(r);
	pipes_init(&r->pipes, pipes_for(cfg->max_fds));
	res = init_tables(r, n_flows, err);
	if (res == 0)
		res = ignore_sigpipe(err);
	if (res == 0)
		res = pump_init(r, err);
	if (res < 0)
		return res;
	r->cfg = *cfg;
	res = accept_start(r, err);
	if (res < 0) {
		accept_stop(r);
		disown_fds(r);
		return res;
	}
	*ret = ptr_steal(&r);
	return 0;
}

static void close_all_flows(struct relay *r)
{
	struct flow *f = NULL;

	while ((f = pool_next(r->flow_pool, f)))
		flow_close(f, RELAY_CLOSE_STOPPED);
}

void relay_free(struct relay *r)
{
	if (!r)
		return;
	accept_stop(r);
	if (r->pending_pool)
		pending_drop_all(r);
	if (r->flow_pool)
		close_all_flows(r);
	pump_done(r);
	pipes_done(&r->pipes);
	keytab_done(&r->flows);
	keytab_done(&r->pendings);
	dests_done(&r->dests);
	pool_freep(&r->flow_pool);
	pool_freep(&r->pending_pool);
	fd_closep(&r->cfg.listen4_fd);
	fd_closep(&r->cfg.listen6_fd);
	fd_closep(&r->cfg.inject_fd);
	freep(&r);
}

void relay_freep(struct relay **r)
{
	relay_free(*r);
	*r = NULL;
}

static bool parse(struct relay *r, const uint8_t *packet, size_t len,
		  struct syn *ret)
{
	r->stats.syns++;
	if (syn_parse(packet, len, ret) == 0)
		return true;
	r->stats.malformed++;
	return false;
}

void relay_syn(struct relay *r, const uint8_t *packet, size_t len)
{
	struct pending *p;
	struct flow *f;
	struct syn s;

	if (!parse(r, packet, len, &s))
		return;
	p = pending_find(r, &s.key);
	if (p) {
		pending_repeat(p, &s);
		return;
	}
	f = flow_find(r, &s.key);
	if (!f)
		pending_start(r, &s);
	else if (f->isn != s.isn)
		relay_inject(r, &s, RELAY_MARK_ACCEPT);
}

void relay_refuse_syn(struct relay *r, const uint8_t *packet, size_t len)
{
	struct syn s;

	if (parse(r, packet, len, &s))
		relay_inject(r, &s, RELAY_MARK_RESET);
}

size_t relay_rejudge(struct relay *r)
{
	size_t n_cut = pending_rejudge(r);
	struct flow *f = NULL;

	while ((f = pool_next(r->flow_pool, f))) {
		if (r->ops->may_connect(r->ctx, &f->node.key))
			continue;
		flow_close(f, RELAY_CLOSE_POLICY);
		n_cut++;
	}
	return n_cut;
}

size_t relay_count_addr(const struct relay *r, const struct addr *dst)
{
	const struct dest *d = dests_find(&r->dests, dst);

	return d ? d->refs : 0;
}

void relay_each_flow(const struct relay *r, relay_flow_fn *fn, void *ctx)
{
	struct relay_flow_info info;
	struct flow *f = NULL;

	while ((f = pool_next(r->flow_pool, f))) {
		flow_info(f, &info);
		if (!fn(ctx, &info))
			return;
	}
}

void relay_get_stats(const struct relay *r, struct relay_stats *ret)
{
	*ret = r->stats;
	pool_get_stats(r->flow_pool, &ret->flows);
	pool_get_stats(r->pending_pool, &ret->pending);
	ret->pipes_in_use = r->pipes.n_in_use;
	ret->pipes_idle = r->pipes.n_idle;
}
