/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flight.c - one question on its way, and everybody who asked it
 *
 *      flight_take()
 *         |  not in the cache             | in the cache, leases not ready
 *         v                               v
 *      ASKING --answer, judged-------> GRANTING --acknowledged--> replies
 *         ^                               |
 *         `------the policy changed-------'
 *
 * SECURITY: the only call that gives an address to a client for the first time
 * is in finish(), and finish() is reached only from grant() when lease_ensure()
 * said that every element is acknowledged, and the policy by which the answer
 * was judged is still the present one.
 *
 * A flight outlives its clients: upstream's callback needs it. Clients that
 * waited too long hear SERVFAIL and leave; later ones may still join.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "resolver/resolver_internal.h"

#define ROUNDS_MAX 8 /* changes one answer waits for, and policies */

static uint64_t key_hash(const struct dnsname *n, uint16_t qtype)
{
	return dnsname_hash(n) + qtype;
}

static struct flight *find(const struct resolver *r, const struct question *q)
{
	uint64_t hash = key_hash(&q->name, q->qtype);

	for (struct table_node *i = table_first(&r->by_question, hash); i;
	     i = table_next(i)) {
		struct flight *f = container_of(i, struct flight, node);

		if (f->qtype == q->qtype && dnsname_equal(&f->name, &q->name))
			return f;
	}
	return NULL;
}

/* From now on nobody joins; whoever calls back into us finds a new state. */
static void unlist(struct flight *f)
{
	if (f->is_listed)
		table_del(&f->r->by_question, &f->node);
	f->is_listed = false;
}

static void free_flight(struct flight *f)
{
	unlist(f);
	lease_wait_cancel(&f->wait);
	answer_unref(f->answer);
	pool_put(f->r->flights, f);
}

static bool pop_waiter(struct flight *f, struct question *ret)
{
	struct waiter *w;

	if (list_empty(&f->waiters))
		return false;
	w = container_of(f->waiters.next, struct waiter, node);
	list_del(&w->node);
	list_del(&w->age_node);
	*ret = w->q;
	pool_put(f->r->waiters, w);
	return true;
}

static void fail(struct flight *f, int ede, const char *text)
{
	struct resolver *r = f->r;
	struct question q;

	unlist(f);
	while (pop_waiter(f, &q))
		reply_error(r, &q, WIRE_SERVFAIL, ede, text);
	free_flight(f);
}

/* The kernel or a limit said no: nobody gets an address that isn't open. */
static void fail_grant(struct flight *f, int result, const char *why)
{
	f->r->ops->grant_failed(f->r->ctx, &f->name, result,
				why && *why ? why : strerror(-result));
	fail(f, WIRE_EDE_OTHER, "the firewall could not be opened");
}

static void announce(struct flight *f)
{
	struct resolver *r = f->r;

	for (size_t i = 0; i < f->answer->n_items; i++) {
		const struct lease_item *item = &f->answer->items[i];

		if (lease_announce(r->leases, &f->name, &item->addr))
			r->ops->learned(r->ctx, &f->name, &item->addr,
					item->ttl_s);
	}
}

void flight_reply(struct resolver *r, const struct question *q,
		  const struct answer *a)
{
	if (a->is_emptied)
		resolver_report(r, q, a->strip.reason, a->strip.entry,
				&a->strip);
	reply_answer(r, q, a, clock_now_ms());
}

static void finish(struct flight *f)
{
	struct resolver *r = f->r;
	bool is_first = true;
	struct question q;

	unlist(f);
	announce(f);
	while (pop_waiter(f, &q)) {
		/* Partly taken out: told once, by the first who asked. */
		if (is_first && !f->answer->is_emptied &&
		    f->answer->strip.reason != POLICY_ALLOWED)
			resolver_report(r, &q, f->answer->strip.reason,
					f->answer->strip.entry,
					&f->answer->strip);
		is_first = false;
		flight_reply(r, &q, f->answer);
	}
	free_flight(f);
	resolver_arm(r);
}

static void ask(struct flight *f);

static void grant(struct flight *f)
{
	struct resolver *r = f->r;
	uint64_t now_ms = clock_now_ms();
	const struct lease_request req = {
		.policy = r->policy,
		.name = &f->name,
		.items = f->answer->items,
		.n = f->answer->n_items,
		.age_s = answer_age_s(f->answer, now_ms),
		.now_ms = now_ms,
	};
	int e;

	f->state = FLIGHT_GRANTING;
	if (++f->rounds > ROUNDS_MAX) {
		fail_grant(f, -EBUSY, NULL);
		return;
	}
	if (f->policy_gen != r->policy_gen) {
		answer_unref(ptr_steal(&f->answer));
		ask(f);
		return;
	}
	e = lease_ensure(r->leases, &req, &f->wait);
	if (e == LEASE_READY)
		finish(f);
	else if (e < 0)
		fail_grant(f, e, f->wait.why);
}

static void granted(struct lease_wait *w)
{
	struct flight *f = container_of(w, struct flight, wait);

	if (w->result)
		fail_grant(f, w->result, w->why);
	else
		grant(f);
}

static void refuse_all(struct flight *f, const struct policy_verdict *v)
{
	struct resolver *r = f->r;
	struct question q;

	unlist(f);
	while (pop_waiter(f, &q)) {
		resolver_report(r, &q, v->reason, v->entry, NULL);
		reply_refused(r, &q, v);
	}
	free_flight(f);
}

static int ede_of(int error)
{
	return error == -ETIMEDOUT || error == -ELOOP ? WIRE_EDE_NO_AUTHORITY
						      : WIRE_EDE_NETWORK;
}

static const char *text_of(int error)
{
	switch (error) {
	case -ETIMEDOUT:
		return "no answer from upstream in time";
	case -ELOOP:
		return "the chain of CNAMEs is too long or goes round";
	case -EBADMSG:
		return "upstream's answer is malformed";
	case -EREMOTEIO:
		return "upstream failed";
	default:
		return "upstream can't be reached";
	}
}

static void answered(void *arg, int error, const uint8_t *msg, size_t len)
{
	struct flight *f = arg;
	struct resolver *r = f->r;
	struct answer_context c = resolver_context(r);
	struct policy_verdict v = policy_judge_name(r->policy, &f->name);

	if (v.reason != POLICY_ALLOWED) {
		refuse_all(f, &v);
		return;
	}
	if (!error)
		error = msg ? answer_judge(&c, &f->name, f->qtype, msg, len,
					   &f->answer)
			    : -EBADMSG;
	if (error) {
		fail(f, ede_of(error), text_of(error));
		return;
	}
	cache_put(r->cache, &f->name, f->qtype, f->answer);
	f->policy_gen = r->policy_gen;
	if (list_empty(&f->waiters))
		free_flight(f); /* nobody is told, so nothing is opened */
	else
		grant(f);
}

static void ask(struct flight *f)
{
	struct resolver *r = f->r;
	struct policy_verdict v = policy_judge_name(r->policy, &f->name);

	f->state = FLIGHT_ASKING;
	f->policy_gen = r->policy_gen;
	if (v.reason != POLICY_ALLOWED)
		refuse_all(f, &v);
	else
		r->ops->ask(r->ctx, &f->name, f->qtype, answered, f);
}

static bool add_waiter(struct flight *f, const struct question *q)
{
	struct resolver *r = f->r;
	struct waiter *w = pool_get(r->waiters, NULL);

	if (!w)
		return false;
	w->q = *q;
	w->since_ms = clock_now_ms();
	list_add_tail(&f->waiters, &w->node);
	list_add_tail(&r->waiting, &w->age_node);
	return true;
}

static struct flight *new_flight(struct resolver *r, const struct question *q)
{
	struct flight *f = pool_get(r->flights, NULL);

	if (!f)
		return NULL;
	f->r = r;
	f->name = q->name;
	f->qtype = q->qtype;
	f->policy_gen = r->policy_gen;
	f->wait.done = granted;
	list_init(&f->waiters);
	table_add(&r->by_question, &f->node, key_hash(&q->name, q->qtype));
	f->is_listed = true;
	return f;
}

void flight_take(struct resolver *r, const struct question *q, struct answer *a)
{
	struct flight *f = find(r, q);
	bool is_new = !f;

	if (is_new)
		f = new_flight(r, q);
	if (!f || !add_waiter(f, q)) {
		if (f && is_new)
			free_flight(f);
		reply_error(r, q, WIRE_SERVFAIL, WIRE_EDE_OTHER,
			    "too many questions at once");
		return;
	}
	resolver_arm(r);
	if (!is_new)
		return;
	if (!a) {
		ask(f);
		return;
	}
	f->answer = answer_ref(a);
	grant(f);
}

void flight_give_up(struct resolver *r, uint64_t now_ms)
{
	while (!list_empty(&r->waiting)) {
		struct waiter *w =
			container_of(r->waiting.next, struct waiter, age_node);
		struct question q = w->q;

		if (w->since_ms + RESOLVER_PATIENCE_MS > now_ms)
			break;
		list_del(&w->node);
		list_del(&w->age_node);
		pool_put(r->waiters, w);
		reply_error(r, &q, WIRE_SERVFAIL, WIRE_EDE_NO_AUTHORITY,
			    text_of(-ETIMEDOUT));
	}
}

void flight_free_all(struct resolver *r)
{
	struct flight *f = NULL, *next;

	for (f = pool_next(r->flights, NULL); f; f = next) {
		next = pool_next(r->flights, f);
		free_flight(f);
	}
}
