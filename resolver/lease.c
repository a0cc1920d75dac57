/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease.c - the life of leases: made, renewed, kept, ended, evicted
 *
 * A lease lives for the TTL the client was told, at least 30 s, plus 30 s; a
 * renewal never shortens it. When its time is over it stays while a flow to its
 * address is open or was within the grace time, and while that is so for
 * another address of the same name: clients that hold one connection may fail
 * over to a sibling they learned in the same answer.
 *
 * Everything is bounded; at a limit the oldest goes (lease_room.c).
 *
 * The changes of elements that follow are collected by lease_mark() and made by
 * lease_flush(), which every entry of this file ends with.
 */
#include "resolver/lease_internal.h"

#include <string.h>

#include "base/clock.h"

#define EXPIRE_MAX	 4096 /* leases looked at in one call */
#define ENSURE_ROUNDS	 4    /* deletion, addition, and one to spare */
#define PENDING_CHECK_MS 1000U

int lease_new(struct lease_table **ret, const struct resolver_ops *ops,
	      void *ctx)
{
	struct lease_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->ops = ops;
	t->ctx = ctx;
	list_init(&t->lru);
	list_init(&t->all_names);
	list_init(&t->all_addrs);
	list_init(&t->stuck);
	list_init(&t->dirty);
	list_init(&t->ops_list);
	if (table_init(&t->leases, LEASE_BUCKETS) ||
	    table_init(&t->addrs, LEASE_BUCKETS) ||
	    table_init(&t->names, LEASE_NAME_BUCKETS) ||
	    table_init(&t->portsets, LEASE_PORTSET_BUCKETS)) {
		lease_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

static void free_addrs(struct lease_table *t)
{
	while (!list_empty(&t->all_addrs)) {
		struct lease_addr *a = container_of(
			t->all_addrs.next, struct lease_addr, all_node);

		a->n_elems = 0;
		lease_gc_addr(t, a);
	}
}

void lease_free(struct lease_table *t)
{
	if (!t)
		return;
	while (!list_empty(&t->lru))
		lease_drop(t, container_of(t->lru.next, struct lease, lru));
	free_addrs(t);
	while (!list_empty(&t->ops_list)) {
		struct lease_op *op =
			container_of(t->ops_list.next, struct lease_op, node);

		list_del(&op->node);
		free(op->elems);
		free(op);
	}
	table_done(&t->leases);
	table_done(&t->addrs);
	table_done(&t->names);
	table_done(&t->portsets);
	free(t->heap);
	free(t);
}

void lease_freep(struct lease_table **t)
{
	lease_free(*t);
	*t = NULL;
}

/* ---- making and renewing ---- */

static uint64_t expiry_of(const struct lease_request *q,
			  const struct lease_item *i)
{
	uint64_t ttl_s = i->ttl_s > q->age_s ? i->ttl_s - q->age_s : 0;
	uint64_t life_ms = ttl_s * 1000;

	if (life_ms < LEASE_FLOOR_MS)
		life_ms = LEASE_FLOOR_MS;
	return q->now_ms + life_ms + LEASE_GRACE_MS;
}

static void renew(struct lease_table *t, struct lease *l, uint64_t expiry_ms)
{
	list_del(&l->name_node);
	list_add_tail(&l->name->leases, &l->name_node);
	list_del(&l->lru);
	list_add_tail(&t->lru, &l->lru);
	if (l->expiry_ms < expiry_ms)
		l->expiry_ms = expiry_ms;
	l->stamp = t->stamp;
}

static int touch(struct lease_table *t, const struct lease_request *q,
		 struct lease_name *n, const struct lease_item *item,
		 struct lease_addr **ret)
{
	uint64_t expiry_ms = expiry_of(q, item);
	struct lease *l = lease_find(t, n, &item->addr);

	if (!l) {
		uint64_t cost = t->cost;
		int e = lease_make_room(t, n);

		if (!e)
			e = lease_add(t, n, &item->addr, expiry_ms, &l);
		if (!e)
			e = lease_fit(t, l, cost);
		if (e)
			return e;
	}
	renew(t, l, expiry_ms);
	*ret = l->addr;
	return 0;
}

static struct lease_name *name_for(struct lease_table *t,
				   const struct lease_request *q)
{
	struct lease_name *n = lease_find_name(t, q->name);
	struct lease_portset *ps;

	if (n)
		return n;
	ps = lease_portset_get(t, q->policy, q->name);
	if (!ps)
		return NULL;
	n = lease_add_name(t, q->name, ps);
	if (!n)
		lease_portset_put(t, ps);
	return n;
}

static int ensure_once(struct lease_table *t, const struct lease_request *q,
		       struct lease_name *n, struct lease_wait *w)
{
	struct lease_addr *addrs[LEASE_PER_ANSWER_MAX];
	bool is_settled = true;

	for (size_t i = 0; i < q->n; i++) {
		int e = touch(t, q, n, &q->items[i], &addrs[i]);

		if (e) {
			(void)lease_flush(t, NULL, NULL, 0); /* e says more */
			return e;
		}
		if (addrs[i]->n_busy || addrs[i]->is_dirty) {
			is_settled = false;
			if (addrs[i]->is_dirty)
				lease_mark(t, addrs[i]);
		}
	}
	if (is_settled)
		return list_empty(&t->dirty) ? LEASE_READY
					     : lease_flush(t, NULL, NULL, 0);
	return lease_flush(t, w, addrs, q->n) ?: -EAGAIN;
}

int lease_ensure(struct lease_table *t, const struct lease_request *q,
		 struct lease_wait *w)
{
	struct lease_name *n;
	int e = -EAGAIN;

	if (!q->n)
		return LEASE_READY;
	if (q->n > LEASE_PER_ANSWER_MAX)
		return -E2BIG;
	n = name_for(t, q);
	if (!n)
		return -ENOMEM;
	n->n_leases++; /* it must outlive an eviction of its last lease */
	for (unsigned int i = 0; i < ENSURE_ROUNDS && e == -EAGAIN; i++) {
		t->stamp++;
		e = ensure_once(t, q, n, w);
	}
	n->n_leases--;
	lease_gc_name(t, n);
	return e == -EAGAIN ? -EBUSY : e;
}

bool lease_renew(struct lease_table *t, const struct lease_request *q)
{
	struct lease_name *n = q->n ? lease_find_name(t, q->name) : NULL;

	if (!q->n)
		return true;
	if (!n)
		return false;
	for (size_t i = 0; i < q->n; i++) {
		struct lease *l = lease_find(t, n, &q->items[i].addr);

		if (!l || l->addr->n_busy || l->addr->is_dirty)
			return false;
		renew(t, l, expiry_of(q, &q->items[i]));
	}
	return true;
}

bool lease_announce(struct lease_table *t, const struct dnsname *name,
		    const struct addr *a)
{
	struct lease_name *n = lease_find_name(t, name);
	struct lease *l = n ? lease_find(t, n, a) : NULL;

	if (!l || l->is_announced)
		return false;
	l->is_announced = true;
	return true;
}

/* ---- ending ---- */

static bool is_addr_live(const struct lease_table *t,
			 const struct lease_addr *a, uint64_t now_ms)
{
	return a->grace_ms > now_ms || t->ops->addr_in_use(t->ctx, &a->addr);
}

static bool is_name_live(const struct lease_table *t, struct lease_name *n,
			 uint64_t now_ms)
{
	struct list *i, *tmp;

	if (n->checked_ms == now_ms)
		return n->is_live;
	n->checked_ms = now_ms;
	n->is_live = false;
	list_for_each_safe (i, tmp, &n->leases) {
		const struct lease *l =
			container_of(i, struct lease, name_node);

		n->is_live = is_addr_live(t, l->addr, now_ms);
		if (n->is_live)
			break;
	}
	return n->is_live;
}

/* When to look again; not after @now_ms: it ends. */
static uint64_t keep_until(const struct lease_table *t, const struct lease *l,
			   uint64_t now_ms)
{
	if (l->expiry_ms > now_ms)
		return l->expiry_ms;
	if (l->addr->n_busy)
		return now_ms + PENDING_CHECK_MS;
	if (l->addr->grace_ms > now_ms)
		return l->addr->grace_ms;
	if (is_name_live(t, l->name, now_ms))
		return now_ms + LEASE_GRACE_MS;
	return 0;
}

static void retry_stuck(struct lease_table *t, uint64_t now_ms)
{
	if (!t->retry_ms || t->retry_ms > now_ms)
		return;
	t->retry_ms = 0;
	while (!list_empty(&t->stuck)) {
		struct lease_addr *a = container_of(
			t->stuck.next, struct lease_addr, stuck_node);

		list_del(&a->stuck_node);
		lease_mark(t, a);
	}
}

void lease_expire(struct lease_table *t, uint64_t now_ms)
{
	for (unsigned int i = 0; i < EXPIRE_MAX && t->n_heap; i++) {
		struct lease *l = t->heap[0];
		uint64_t until_ms;

		if (l->check_ms > now_ms)
			break;
		until_ms = keep_until(t, l, now_ms);
		if (until_ms > now_ms) {
			l->check_ms = until_ms;
			lease_heap_later(t, l);
		} else {
			lease_drop(t, l);
		}
	}
	retry_stuck(t, now_ms);
	(void)lease_flush(t, NULL, NULL, 0); /* what failed is stuck, retried */
}

uint64_t lease_next_ms(const struct lease_table *t)
{
	uint64_t next = t->retry_ms;

	if (t->n_heap && (!next || t->heap[0]->check_ms < next))
		next = t->heap[0]->check_ms;
	return next;
}

void lease_flow_ended(struct lease_table *t, const struct addr *a,
		      uint64_t now_ms)
{
	struct lease_addr *la = lease_find_addr(t, a);

	if (la)
		la->grace_ms = now_ms + LEASE_GRACE_MS;
}

/* ---- asking ---- */

static bool has_port(const struct lease_addr *a, const struct lease_portset *ps,
		     enum policy_proto proto, uint16_t port)
{
	for (size_t i = 0; i < ps->n; i++) {
		const struct policy_port *pp = &ps->ports[i];

		if (a->is_special && !(pp->flags & POLICY_F_PRIVATE))
			continue;
		if (lease_port_has(pp, proto, port))
			return true;
	}
	return false;
}

/* While the policy changes the coming state counts. */
static const struct lease_portset *set_of(const struct lease_table *t,
					  const struct lease_name *n)
{
	return t->is_changing ? n->next_ps : n->ps;
}

bool lease_name_of(const struct lease_table *t, const struct addr *a,
		   struct dnsname *ret)
{
	const struct lease_addr *la = lease_find_addr(t, a);

	if (!la || list_empty(&la->leases))
		return false;
	*ret = container_of(la->leases.prev, struct lease, addr_node)
		       ->name->name;
	return true;
}

struct policy_verdict lease_judge(const struct lease_table *t,
				  const struct policy *p, const struct addr *a,
				  enum policy_proto proto, uint16_t port,
				  struct dnsname *ret_name)
{
	struct policy_verdict v = { POLICY_NOT_LISTED, POLICY_NO_ENTRY, 0 };
	const struct lease_addr *la = lease_find_addr(t, a);
	const struct lease_use *uses;
	struct list *i, *tmp;
	bool is_open = false;
	uint32_t n_uses;

	if (!la || list_empty(&la->leases))
		return v;
	uses = t->is_changing ? la->next_uses : la->uses;
	n_uses = t->is_changing ? la->n_next_uses : la->n_uses;
	if (!n_uses)
		return v;
	v.reason = POLICY_PORT;
	for (uint32_t u = 0; u < n_uses; u++)
		is_open |= has_port(la, uses[u].ps, proto, port);
	if (!is_open) {
		/* For the report: which name the client may have meant. */
		if (ret_name)
			(void)lease_name_of(t, a, ret_name);
		return v;
	}
	list_for_each_safe (i, tmp, &la->leases) {
		const struct lease *l =
			container_of(i, struct lease, addr_node);

		if (l->is_dropped ||
		    !has_port(la, set_of(t, l->name), proto, port))
			continue;
		if (ret_name)
			*ret_name = l->name->name;
		return policy_judge_name_port(p, &l->name->name, proto, port);
	}
	return v;
}

static bool each_of_name(const struct lease_name *n, uint64_t now_ms,
			 resolver_lease_fn *fn, void *ctx)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &n->leases) {
		const struct lease *l =
			container_of(i, struct lease, name_node);
		uint64_t left_ms =
			l->expiry_ms > now_ms ? l->expiry_ms - now_ms : 0;

		if (!fn(ctx, &n->name, &l->addr->addr,
			(uint32_t)(left_ms / CLOCK_MS_PER_S)))
			return false;
	}
	return true;
}

void lease_each(const struct lease_table *t, uint64_t now_ms,
		resolver_lease_fn *fn, void *ctx)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &t->all_names) {
		if (!each_of_name(container_of(i, struct lease_name, all_node),
				  now_ms, fn, ctx))
			return;
	}
}

void lease_get_stats(const struct lease_table *t, struct lease_stats *ret)
{
	*ret = (struct lease_stats){
		.leases = t->leases.n,
		.addrs = t->addrs.n,
		.names = t->names.n,
		.elems = t->n_elems,
		.cost = t->cost,
		.evicted = t->evicted,
		.refused = t->refused,
	};
}
