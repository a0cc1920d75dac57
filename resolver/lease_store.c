/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease_store.c - making, finding and dropping names, addresses and leases
 */
#include "resolver/lease_internal.h"

#include <string.h>

#include "base/hash.h"
#include "policy/special.h"

/* ---- sets of ports ---- */

static uint64_t ports_hash(const struct policy_port *ports, size_t n)
{
	return hash_bytes(ports, n * sizeof(*ports));
}

struct lease_portset *lease_portset_get(struct lease_table *t,
					const struct policy *p,
					const struct dnsname *name)
{
	struct policy_port ports[POLICY_PORTS_MAX];
	size_t n = policy_name_ports(p, name, ports);
	struct lease_portset *ps;
	uint64_t hash;

	for (size_t i = 0; i < n; i++) {
		struct policy_port pp = ports[i];

		memset(&ports[i], 0, sizeof(ports[i]));
		ports[i].proto = pp.proto;
		ports[i].lo = pp.lo;
		ports[i].hi = pp.hi;
		ports[i].flags =
			pp.flags & (POLICY_F_NOMAIL | POLICY_F_PRIVATE);
		ports[i].entry = POLICY_NO_ENTRY;
	}
	hash = ports_hash(ports, n);
	for (struct table_node *i = table_first(&t->portsets, hash); i;
	     i = table_next(i)) {
		ps = container_of(i, struct lease_portset, node);
		if (ps->n == n &&
		    !memcmp(ps->ports, ports, n * sizeof(*ports))) {
			ps->refs++;
			return ps;
		}
	}
	ps = calloc(1, sizeof(*ps) + n * sizeof(*ports));
	if (!ps)
		return NULL;
	ps->refs = 1;
	ps->n = n;
	ps->cost = lease_portset_cost(ports, n);
	memcpy(ps->ports, ports, n * sizeof(*ports));
	table_add(&t->portsets, &ps->node, hash);
	return ps;
}

void lease_portset_put(struct lease_table *t, struct lease_portset *ps)
{
	if (!ps || --ps->refs)
		return;
	table_del(&t->portsets, &ps->node);
	free(ps);
}

/* ---- names ---- */

struct lease_name *lease_find_name(const struct lease_table *t,
				   const struct dnsname *name)
{
	for (struct table_node *i = table_first(&t->names, dnsname_hash(name));
	     i; i = table_next(i)) {
		struct lease_name *n = container_of(i, struct lease_name, node);

		if (dnsname_equal(&n->name, name))
			return n;
	}
	return NULL;
}

struct lease_name *lease_add_name(struct lease_table *t,
				  const struct dnsname *name,
				  struct lease_portset *ps)
{
	struct lease_name *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->name = *name;
	n->ps = ps;
	list_init(&n->leases);
	list_add_tail(&t->all_names, &n->all_node);
	table_add(&t->names, &n->node, dnsname_hash(name));
	return n;
}

void lease_gc_name(struct lease_table *t, struct lease_name *n)
{
	if (n->n_leases)
		return;
	table_del(&t->names, &n->node);
	list_del(&n->all_node);
	lease_portset_put(t, n->ps);
	free(n);
}

/* ---- addresses ---- */

struct lease_addr *lease_find_addr(const struct lease_table *t,
				   const struct addr *a)
{
	uint64_t hash = hash_bytes(a, sizeof(*a));

	for (struct table_node *i = table_first(&t->addrs, hash); i;
	     i = table_next(i)) {
		struct lease_addr *la =
			container_of(i, struct lease_addr, node);

		if (addr_equal(&la->addr, a))
			return la;
	}
	return NULL;
}

static struct lease_addr *add_addr(struct lease_table *t, const struct addr *a)
{
	struct lease_addr *la = calloc(1, sizeof(*la));

	if (!la)
		return NULL;
	la->addr = *a;
	la->is_special = special_classify(a) || t->ops->is_host_addr(t->ctx, a);
	list_init(&la->leases);
	list_init(&la->stuck_node);
	list_init(&la->dirty_node);
	list_add_tail(&t->all_addrs, &la->all_node);
	table_add(&t->addrs, &la->node, hash_bytes(a, sizeof(*a)));
	return la;
}

void lease_gc_addr(struct lease_table *t, struct lease_addr *a)
{
	if (!list_empty(&a->leases) || a->n_elems)
		return;
	list_del(&a->stuck_node);
	list_del(&a->dirty_node);
	table_del(&t->addrs, &a->node);
	list_del(&a->all_node);
	free(a->uses);
	free(a->elems);
	free(a);
}

static void count_cost(struct lease_table *t, struct lease_addr *a)
{
	t->cost -= a->cost;
	a->cost = lease_uses_cost(a, a->uses, a->n_uses);
	t->cost += a->cost;
}

int lease_addr_use(struct lease_table *t, struct lease_addr *a,
		   struct lease_portset *ps)
{
	for (uint32_t i = 0; i < a->n_uses; i++) {
		if (a->uses[i].ps == ps) {
			a->uses[i].n++;
			return 0;
		}
	}
	if (a->n_uses == a->cap_uses) {
		uint32_t cap = a->cap_uses ? 2 * a->cap_uses : 1;
		struct lease_use *uses =
			reallocarray(a->uses, cap, sizeof(*uses));

		if (!uses)
			return -ENOMEM;
		a->uses = uses;
		a->cap_uses = cap;
	}
	a->uses[a->n_uses++] = (struct lease_use){ .ps = ps, .n = 1 };
	a->is_dirty = true;
	count_cost(t, a);
	return 0;
}

void lease_addr_unuse(struct lease_table *t, struct lease_addr *a,
		      const struct lease_portset *ps)
{
	for (uint32_t i = 0; i < a->n_uses; i++) {
		if (a->uses[i].ps != ps || --a->uses[i].n)
			continue;
		a->uses[i] = a->uses[--a->n_uses];
		a->is_dirty = true;
		count_cost(t, a);
		return;
	}
}

int lease_add_elem(struct lease_table *t, struct lease_addr *a,
		   const struct policy_port *pp, enum lease_elem_state state)
{
	if (a->n_elems == LEASE_ELEMS_PER_ADDR_MAX ||
	    t->n_elems == LEASE_ELEMS_MAX)
		return -ENOSPC;
	if (a->n_elems == a->cap_elems) {
		uint32_t cap = a->cap_elems ? 2 * a->cap_elems : 2;
		struct lease_elem *elems =
			reallocarray(a->elems, cap, sizeof(*elems));

		if (!elems)
			return -ENOMEM;
		a->elems = elems;
		a->cap_elems = cap;
	}
	a->elems[a->n_elems++] = (struct lease_elem){
		.port = *pp,
		.state = state,
		.is_wanted = true,
	};
	t->n_elems++;
	return 0;
}

void lease_del_elem(struct lease_table *t, struct lease_addr *a, size_t i)
{
	a->elems[i] = a->elems[--a->n_elems];
	t->n_elems--;
}

void lease_count_busy(struct lease_addr *a)
{
	a->n_busy = 0;
	for (uint32_t i = 0; i < a->n_elems; i++) {
		if (a->elems[i].is_wanted &&
		    a->elems[i].state != LEASE_ELEM_PRESENT)
			a->n_busy++;
	}
}

/* ---- leases ---- */

static uint64_t pair_hash(const struct lease_name *n, const struct addr *a)
{
	struct {
		uint64_t name;
		struct addr addr;
		uint8_t pad[7];
	} key;

	memset(&key, 0, sizeof(key));
	key.name = (uint64_t)(uintptr_t)n;
	key.addr = *a;
	return hash_bytes(&key, sizeof(key));
}

struct lease *lease_find(const struct lease_table *t,
			 const struct lease_name *n, const struct addr *a)
{
	for (struct table_node *i = table_first(&t->leases, pair_hash(n, a)); i;
	     i = table_next(i)) {
		struct lease *l = container_of(i, struct lease, node);

		if (l->name == n && addr_equal(&l->addr->addr, a))
			return l;
	}
	return NULL;
}

int lease_add(struct lease_table *t, struct lease_name *n, const struct addr *a,
	      uint64_t check_ms, struct lease **ret)
{
	struct lease *l = calloc(1, sizeof(*l));
	struct lease_addr *la = lease_find_addr(t, a);

	if (!la)
		la = add_addr(t, a);
	if (!l || !la)
		goto undo_alloc;
	l->name = n;
	l->addr = la;
	l->check_ms = check_ms;
	if (lease_heap_push(t, l))
		goto undo_alloc;
	if (lease_addr_use(t, la, n->ps))
		goto undo_heap;
	list_add_tail(&n->leases, &l->name_node);
	list_add_tail(&la->leases, &l->addr_node);
	list_add_tail(&t->lru, &l->lru);
	table_add(&t->leases, &l->node, pair_hash(n, a));
	n->n_leases++;
	if (la->is_dirty)
		lease_mark(t, la);
	*ret = l;
	return 0;

undo_heap:
	lease_heap_remove(t, l);
undo_alloc:
	free(l);
	if (la)
		lease_gc_addr(t, la);
	return -ENOMEM;
}

void lease_drop(struct lease_table *t, struct lease *l)
{
	struct lease_name *n = l->name;

	lease_heap_remove(t, l);
	table_del(&t->leases, &l->node);
	list_del(&l->name_node);
	list_del(&l->addr_node);
	list_del(&l->lru);
	lease_addr_unuse(t, l->addr, n->ps);
	lease_mark(t, l->addr);
	n->n_leases--;
	free(l);
	lease_gc_name(t, n);
}
