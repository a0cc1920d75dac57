/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease_room.c - what leases cost, and which ones go when there is no room
 *
 * At a limit the lease whose use is longest ago goes, but none with an open
 * flow, none that somebody waits for, and none of the answer that needs the
 * room. If nothing can go, the answer is refused.
 *
 * Besides the number of leases their cost is limited: the kernel's memory, and
 * the time it takes to remove all of them in one edit. An address costs by the
 * sets of ports of the names that lead to it:
 *
 *   - a port by itself, and each of a range of up to 64, is an element of a
 *     hash set: 1. So is `:*`, and ICMP;
 *   - a wider range is an element of an interval set, which the kernel searches
 *     for each one that it removes: 512. So there are at most 512, and all are
 *     removed in less than 100 ms; 5 000 would take seconds;
 *   - a special-purpose address has all its ranges in an interval set: 512.
 *
 * The dearest edit takes back as many hash elements as the cap allows, about
 * 1.5 us each. Nobody waits for that but the gateway itself: connections are
 * cut before.
 *
 * Narrow ranges of several names may join to a wide one, of 65 ports or more:
 * where an address has more than one set, each port of a narrow range costs 8,
 * so that 65 cost no less than a wide range. That way a lease that ends never
 * makes the others dearer.
 */
#include "resolver/lease_internal.h"

#define EVICT_SCAN_MAX	8192 /* leases looked at for one that can go */
#define SINGLES_MAX	64U  /* ports; as the elements are made */
#define COST_INTERVAL	512U
#define COST_SHARED	8U
#define N_NOMAIL_RANGES 4U /* what `:*` is in an interval set */

_Static_assert((SINGLES_MAX + 1) * COST_SHARED >= COST_INTERVAL,
	       "ranges that join would be too cheap");

/* ---- cost ---- */

static bool is_any(const struct policy_port *pp)
{
	return pp->flags & POLICY_F_NOMAIL || pp->proto == POLICY_ICMP;
}

static uint32_t special_cost(const struct policy_port *pp)
{
	if (!(pp->flags & POLICY_F_PRIVATE))
		return 0;
	if (pp->flags & POLICY_F_NOMAIL)
		return N_NOMAIL_RANGES * COST_INTERVAL;
	return COST_INTERVAL;
}

static bool is_next(const struct policy_port *a, const struct policy_port *b)
{
	return !is_any(a) && !is_any(b) && a->proto == b->proto &&
	       b->lo == (uint32_t)a->hi + 1;
}

/* @ports are sorted and don't overlap; those with other flags may touch. */
struct lease_cost lease_portset_cost(const struct policy_port *ports, size_t n)
{
	struct lease_cost c = { 0 };
	uint32_t width = 0;

	for (size_t i = 0; i < n; i++) {
		const struct policy_port *pp = &ports[i];

		c.special += special_cost(pp);
		if (is_any(pp)) {
			c.alone++;
			c.shared++;
			continue;
		}
		width += (uint32_t)pp->hi - pp->lo + 1;
		if (i + 1 < n && is_next(pp, pp + 1))
			continue;
		c.alone += width > SINGLES_MAX ? COST_INTERVAL : width;
		c.shared += width > SINGLES_MAX ? COST_INTERVAL
						: COST_SHARED * width;
		width = 0;
	}
	return c;
}

uint64_t lease_uses_cost(const struct lease_addr *a,
			 const struct lease_use *uses, size_t n_uses)
{
	uint64_t cost = 0;

	for (size_t i = 0; i < n_uses; i++) {
		const struct lease_cost *c = &uses[i].ps->cost;

		if (a->is_special)
			cost += c->special;
		else
			cost += n_uses > 1 ? c->shared : c->alone;
	}
	return cost;
}

uint64_t lease_count_cost(const struct lease_table *t)
{
	struct list *i, *tmp;
	uint64_t cost = 0;

	list_for_each_safe (i, tmp, &t->all_addrs) {
		const struct lease_addr *a =
			container_of(i, struct lease_addr, all_node);

		cost += lease_uses_cost(a, a->uses, a->n_uses);
	}
	return cost;
}

size_t lease_addrs_max(const struct policy_port *ports, size_t n)
{
	struct lease_cost c = lease_portset_cost(ports, n);
	uint32_t dearest = c.special > c.shared ? c.special : c.shared;
	size_t max;

	max = LEASE_COST_PER_ANSWER_MAX / (dearest ? dearest : 1);
	if (max > LEASE_PER_ANSWER_MAX)
		return LEASE_PER_ANSWER_MAX;
	return max ? max : 1;
}

/* ---- room ---- */

static bool may_evict(const struct lease_table *t, const struct lease *l)
{
	const struct lease_addr *a = l->addr;

	return l->stamp != t->stamp && !a->n_busy && !a->is_dirty &&
	       !t->ops->addr_in_use(t->ctx, &a->addr);
}

static struct lease *oldest_of_name(struct lease_table *t, struct lease_name *n)
{
	for (unsigned int i = 0; i < n->n_leases; i++) {
		struct list *first = n->leases.next;
		struct lease *l = container_of(first, struct lease, name_node);

		if (list_empty(&n->leases))
			return NULL;
		if (may_evict(t, l))
			return l;
		list_del(first);
		list_add_tail(&n->leases, first);
	}
	return NULL;
}

/* The next call goes on where one gives up. */
static struct lease *oldest(struct lease_table *t)
{
	for (unsigned int i = 0; i < EVICT_SCAN_MAX; i++) {
		struct list *first = t->lru.next;
		struct lease *l = container_of(first, struct lease, lru);

		if (list_empty(&t->lru))
			return NULL;
		if (may_evict(t, l))
			return l;
		/* In use now, so its last use isn't long ago. */
		list_del(first);
		list_add_tail(&t->lru, first);
	}
	return NULL;
}

static int evict(struct lease_table *t, struct lease *l)
{
	if (!l) {
		t->refused++;
		return -ENOSPC;
	}
	lease_drop(t, l);
	t->evicted++;
	return 0;
}

int lease_make_room(struct lease_table *t, struct lease_name *n)
{
	if (n->n_leases > LEASE_PER_NAME_MAX)
		return evict(t, oldest_of_name(t, n));
	if (t->leases.n >= LEASE_MAX)
		return evict(t, oldest(t));
	return 0;
}

int lease_fit(struct lease_table *t, struct lease *l, uint64_t cost_before)
{
	int e = 0;

	if (t->cost <= cost_before)
		return 0;
	l->stamp = t->stamp; /* not this one */
	while (!e && t->cost > LEASE_COST_MAX)
		e = evict(t, l->addr->cost > LEASE_COST_MAX ? NULL : oldest(t));
	if (e)
		lease_drop(t, l);
	return e;
}

/* ---- a change of the policy ---- */

static void drop_next_use(struct lease_addr *a, const struct lease_portset *ps)
{
	for (uint32_t i = 0; i < a->n_next_uses; i++) {
		if (a->next_uses[i].ps != ps || --a->next_uses[i].n)
			continue;
		a->next_uses[i] = a->next_uses[--a->n_next_uses];
		return;
	}
}

uint32_t lease_shed(struct lease_table *t)
{
	struct list *i, *tmp;
	uint64_t cost = 0;
	uint32_t n = 0;

	list_for_each_safe (i, tmp, &t->all_addrs)
		cost += container_of(i, struct lease_addr, all_node)->next_cost;
	list_for_each_safe (i, tmp, &t->lru) {
		struct lease *l = container_of(i, struct lease, lru);
		struct lease_addr *a = l->addr;

		if (cost <= LEASE_COST_MAX)
			break;
		if (l->is_dropped || t->ops->addr_in_use(t->ctx, &a->addr))
			continue;
		l->is_dropped = true;
		n++;
		drop_next_use(a, l->name->next_ps);
		cost -= a->next_cost;
		a->next_cost = lease_uses_cost(a, a->next_uses, a->n_next_uses);
		cost += a->next_cost;
	}
	return n;
}
