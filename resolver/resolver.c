/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolver.c - owns the parts: cache, leases, questions under way, listener
 *
 * One timer serves everything that ends: leases, and clients' patience.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "resolver/resolver_internal.h"

#define TIMER_MIN_MS   50U /* what ends together is looked at together */
#define FLIGHT_BUCKETS 1024

static void on_timer(struct loop_timer *t)
{
	struct resolver *r = container_of(t, struct resolver, timer);
	uint64_t now_ms = clock_now_ms();

	r->timer_ms = 0;
	lease_expire(r->leases, now_ms);
	flight_give_up(r, now_ms);
	resolver_arm(r);
}

void resolver_arm(struct resolver *r)
{
	uint64_t now_ms = clock_now_ms(), next_ms = lease_next_ms(r->leases);

	if (!list_empty(&r->waiting)) {
		const struct waiter *w =
			container_of(r->waiting.next, struct waiter, age_node);
		uint64_t end_ms = w->since_ms + RESOLVER_PATIENCE_MS;

		if (!next_ms || end_ms < next_ms)
			next_ms = end_ms;
	}
	if (!next_ms || (r->timer_ms && r->timer_ms <= next_ms))
		return;
	if (next_ms < now_ms + TIMER_MIN_MS)
		next_ms = now_ms + TIMER_MIN_MS;
	/* Without memory for the timer, leases end at the next occasion. */
	if (!loop_set_timer(r->loop, &r->timer, next_ms - now_ms, on_timer))
		r->timer_ms = next_ms;
}

struct answer_context resolver_context(struct resolver *r)
{
	return (struct answer_context){
		.policy = r->policy,
		.ops = r->ops,
		.ops_ctx = r->ctx,
		.scratch = r->scratch,
		.now_ms = clock_now_ms(),
	};
}

void resolver_report(struct resolver *r, const struct question *q,
		     enum policy_reason reason, uint32_t entry,
		     const struct answer_strip *strip)
{
	const struct resolver_refusal refusal = {
		.name = &q->name,
		.qtype = q->qtype,
		.reason = reason,
		.entry = entry,
		.addr = strip ? &strip->addr : NULL,
		.category = strip ? strip->category : NULL,
		.client = q->client,
		.is_tcp = q->is_tcp,
	};

	r->ops->refused(r->ctx, &refusal);
}

bool resolver_report_held(struct resolver *r, const struct question *q,
			  const struct policy_verdict *v)
{
	struct held *h = pool_get(r->held, NULL);
	const struct resolver_refusal refusal = {
		.name = &q->name,
		.qtype = q->qtype,
		.reason = v->reason,
		.entry = v->entry,
		.client = q->client,
		.is_tcp = q->is_tcp,
		.ret_hold = h ? &h->ticket : NULL,
	};

	r->ops->refused(r->ctx, &refusal);
	if (!h)
		return false;
	if (!h->ticket) {
		pool_put(r->held, h);
		return false;
	}
	h->q = *q;
	return true;
}

void resolver_release(struct resolver *r, uint32_t ticket)
{
	struct held *h = NULL;
	struct question q;

	while ((h = pool_next(r->held, h))) {
		if (h->ticket != ticket)
			continue;
		q = h->q;
		pool_put(r->held, h);
		query_answer(r, &q, false);
		return;
	}
}

static int make_parts(struct resolver *r, struct err *err)
{
	int e = cache_new(&r->cache);

	if (!e)
		e = lease_new(&r->leases, r->ops, r->ctx);
	if (!e)
		e = table_init(&r->by_question, FLIGHT_BUCKETS);
	if (!e)
		e = local_init(r);
	r->scratch = answer_scratch_new();
	if (!e && !r->scratch)
		e = -ENOMEM;
	if (e)
		return err_set_errno(err, e, "cannot make the resolver");
	e = pool_new(&r->flights, sizeof(struct flight), RESOLVER_FLIGHTS_MAX,
		     err);
	if (!e)
		e = pool_new(&r->waiters, sizeof(struct waiter),
			     RESOLVER_WAITERS_MAX, err);
	if (!e)
		e = pool_new(&r->held, sizeof(struct held), RESOLVER_HELD_MAX,
			     err);
	return e;
}

/* They are ours from the first moment on, also when there is no resolver. */
static void close_fds(const struct resolver_config *cfg)
{
	int fds[] = { cfg->udp4_fd, cfg->udp6_fd, cfg->tcp4_fd, cfg->tcp6_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fd_closep(&fds[i]);
}

int resolver_new(struct resolver **ret, struct loop *loop,
		 const struct resolver_config *cfg,
		 const struct resolver_ops *ops, void *ctx, struct err *err)
{
	struct resolver *r = calloc(1, sizeof(*r));
	int e;

	if (!r) {
		close_fds(cfg);
		return err_set_errno(err, -ENOMEM, "cannot make the resolver");
	}
	r->loop = loop;
	r->ops = ops;
	r->ctx = ctx;
	list_init(&r->waiting);
	(void)snprintf(r->sandbox, sizeof(r->sandbox), "%s",
		       cfg->sandbox ? cfg->sandbox : "");
	e = make_parts(r, err);
	if (e)
		close_fds(cfg);
	else
		e = listener_new(&r->listener, r, cfg, err);
	if (e) {
		resolver_free(r);
		return e;
	}
	*ret = r;
	return 0;
}

/* Their owners are told that there is no reply, so that they can let go. */
static void dismiss_waiters(struct resolver *r)
{
	while (!list_empty(&r->waiting)) {
		struct waiter *w =
			container_of(r->waiting.next, struct waiter, age_node);
		struct question q = w->q;

		list_del(&w->node);
		list_del(&w->age_node);
		pool_put(r->waiters, w);
		q.reply(q.arg, NULL, 0);
	}
}

static void dismiss_held(struct resolver *r)
{
	struct held *h = NULL;

	while (r->held && (h = pool_next(r->held, h)))
		h->q.reply(h->q.arg, NULL, 0);
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	loop_del_timer(&r->timer);
	dismiss_waiters(r);
	dismiss_held(r);
	listener_free(r->listener);
	if (r->flights)
		flight_free_all(r);
	lease_free(r->leases);
	cache_free(r->cache);
	answer_scratch_free(r->scratch);
	pool_free(r->flights);
	pool_free(r->waiters);
	pool_free(r->held);
	table_done(&r->by_question);
	free(r);
}

void resolver_freep(struct resolver **r)
{
	resolver_free(*r);
	*r = NULL;
}

int resolver_set_policy(struct resolver *r, const struct policy *p,
			resolver_change_fn *change, void *change_ctx,
			struct err *err)
{
	struct answer_context from = resolver_context(r), to = from;
	int e;

	to.policy = p;
	/* Before the change: what it sets free is judged by the new one. */
	r->policy = p;
	r->policy_gen++;
	e = lease_set_policy(r->leases, p, change, change_ctx, err);
	if (e) {
		r->policy = from.policy;
		return e;
	}
	cache_rejudge(r->cache, from.policy ? &from : NULL, &to);
	resolver_arm(r);
	return 0;
}

struct policy_verdict resolver_judge_addr(const struct resolver *r,
					  const struct addr *a,
					  enum policy_proto proto,
					  uint16_t port,
					  struct dnsname *ret_name)
{
	struct policy_verdict v = { POLICY_NOT_LISTED, POLICY_NO_ENTRY, 0 };

	if (!r->policy)
		return v;
	return lease_judge(r->leases, r->policy, a, proto, port, ret_name);
}

void resolver_each_lease(const struct resolver *r, resolver_lease_fn *fn,
			 void *ctx)
{
	lease_each(r->leases, clock_now_ms(), fn, ctx);
}

void resolver_flow_ended(struct resolver *r, const struct addr *addr)
{
	lease_flow_ended(r->leases, addr, clock_now_ms());
}

void resolver_get_stats(const struct resolver *r, struct resolver_stats *ret)
{
	struct lease_stats leases;
	struct pool_stats flights;

	lease_get_stats(r->leases, &leases);
	pool_get_stats(r->flights, &flights);
	*ret = (struct resolver_stats){
		.queries = r->n_queries,
		.answered = r->n_answered,
		.refused = r->n_refused,
		.servfail = r->n_servfail,
		.malformed = r->n_malformed,
		.leases = leases.leases,
		.lease_addrs = leases.addrs,
		.tcp_clients = listener_n_clients(r->listener),
		.in_flight = flights.in_use,
		.evicted = leases.evicted,
	};
}
