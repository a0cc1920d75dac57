/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease_grant.c - changes of the kernel's sets, one at a time per element
 *
 * An element goes (absent) -> ADDING -> PRESENT -> DELETING -> (absent), and
 * never has two changes under way: what is wanted meanwhile is noted, and when
 * the change is through its address is planned again. So an element whose
 * deletion is on its way and that is needed again ends up present, and the
 * answer that needs it waits for both.
 *
 * A plan may delete an element and add pieces of it at once: both go to grant()
 * without a turn of the loop in between, deletion first, and the kernel takes
 * them as one batch.
 *
 * The kernel refused an addition: the leases that needed it are dropped, so
 * nothing retries by itself. It refused a deletion: the element stays in the
 * table (what is open must be known) and is tried again a second later.
 */
#include "resolver/lease_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define RETRY_MS 1000U

/* Joins a change and someone who waits for it. */
struct lease_link {
	struct list op_node, wait_node;
	struct lease_wait *w;
};

int lease_change_push(struct lease_vec *v, const struct lease_addr *a,
		      const struct policy_port *pp)
{
	if (v->n == v->cap) {
		size_t cap = v->cap ? 2 * v->cap : 4;
		struct resolver_grant_elem *grown =
			reallocarray(v->v, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		v->v = grown;
		v->cap = cap;
	}
	v->v[v->n++] = (struct resolver_grant_elem){
		.addr = a->addr,
		.port = *pp,
		.is_special = a->is_special,
	};
	return 0;
}

void lease_mark(struct lease_table *t, struct lease_addr *a)
{
	if (list_empty(&a->dirty_node))
		list_add_tail(&t->dirty, &a->dirty_node);
}

static void mark_stuck(struct lease_table *t, struct lease_addr *a)
{
	if (list_empty(&a->stuck_node))
		list_add_tail(&t->stuck, &a->stuck_node);
	if (!t->retry_ms)
		t->retry_ms = clock_now_ms() + RETRY_MS;
}

static int delete_unwanted(struct lease_table *t, struct lease_addr *a,
			   const struct lease_plan *plan, struct lease_vec *del)
{
	for (uint32_t i = 0; i < a->n_elems; i++) {
		struct lease_elem *e = &a->elems[i];

		e->is_wanted = plan->keep[i];
		if (e->is_wanted || e->state != LEASE_ELEM_PRESENT)
			continue;
		if (lease_change_push(del, a, &e->port)) {
			mark_stuck(t, a);
			return -ENOMEM;
		}
		e->state = LEASE_ELEM_DELETING;
	}
	return 0;
}

/* What comes first is also given out when a later step fails. */
static int plan_into(struct lease_table *t, struct lease_addr *a,
		     struct lease_change *c)
{
	struct lease_plan plan;
	int e = lease_plan(a, a->uses, a->n_uses, &plan);

	if (e)
		return e;
	e = delete_unwanted(t, a, &plan, &c->del);
	for (size_t i = 0; i < plan.n_pieces && !e; i++) {
		struct policy_port pp = plan.pieces[i];

		pp.entry = POLICY_NO_ENTRY;
		e = lease_add_elem(t, a, &pp, LEASE_ELEM_ADDING);
		if (e)
			break;
		e = lease_change_push(&c->add, a, &pp);
		if (e)
			lease_del_elem(t, a, a->n_elems - 1);
	}
	a->is_dirty = plan.is_deferred || e;
	lease_count_busy(a);
	return e;
}

static struct lease_elem *find_elem(struct lease_addr *a,
				    const struct policy_port *pp,
				    const struct lease_op *op)
{
	for (uint32_t i = 0; a && i < a->n_elems; i++) {
		struct lease_elem *e = &a->elems[i];

		if (e->op == op && e->port.proto == pp->proto &&
		    e->port.lo == pp->lo && e->port.hi == pp->hi &&
		    !((e->port.flags ^ pp->flags) & POLICY_F_NOMAIL))
			return e;
	}
	return NULL;
}

static void elem_added(struct lease_table *t, struct lease_addr *a,
		       struct lease_elem *e, int result)
{
	if (result) {
		lease_del_elem(t, a, (size_t)(e - a->elems));
		return;
	}
	e->state = LEASE_ELEM_PRESENT;
	if (!e->is_wanted)
		lease_mark(t, a);
}

static void elem_deleted(struct lease_table *t, struct lease_addr *a,
			 struct lease_elem *e, int result)
{
	if (result && result != -ENOENT) {
		e->state = LEASE_ELEM_PRESENT;
		if (!e->is_wanted)
			mark_stuck(t, a);
		return;
	}
	if (e->is_wanted)
		a->is_dirty = true;
	lease_del_elem(t, a, (size_t)(e - a->elems));
	lease_mark(t, a); /* to be planned, or freed as the last one is gone */
}

/* Leases that the kernel wouldn't open: as if they had never been taught. */
static void drop_uncovered(struct lease_table *t, struct lease_addr *a)
{
	struct lease_portset *last = NULL;
	struct list *i, *tmp;
	bool is_covered = true;

	list_for_each_safe (i, tmp, &a->leases) {
		struct lease *l = container_of(i, struct lease, addr_node);

		if (l->name->ps != last) {
			last = l->name->ps;
			is_covered = lease_is_covered(a, last);
		}
		if (!is_covered)
			lease_drop(t, l);
	}
}

static void settle(struct lease_op *op, int result)
{
	struct lease_table *t = op->t;

	for (size_t i = 0; i < op->g.n; i++) {
		const struct resolver_grant_elem *ge = &op->elems[i];
		struct lease_addr *a = lease_find_addr(t, &ge->addr);
		struct lease_elem *e = find_elem(a, &ge->port, op);

		if (!e)
			continue;
		e->op = NULL;
		if (op->g.del)
			elem_deleted(t, a, e, result);
		else
			elem_added(t, a, e, result);
		lease_count_busy(a);
		if (a->is_dirty)
			lease_mark(t, a);
	}
	for (size_t i = 0; i < op->g.n && result && !op->g.del; i++) {
		struct lease_addr *a = lease_find_addr(t, &op->elems[i].addr);

		if (a && (!i || !addr_equal(&op->elems[i].addr,
					    &op->elems[i - 1].addr)))
			drop_uncovered(t, a);
	}
}

static void unlink_wait(struct lease_link *k)
{
	list_del(&k->op_node);
	list_del(&k->wait_node);
	free(k);
}

static void release_waits(struct lease_op *op, int result, const char *why)
{
	while (!list_empty(&op->links)) {
		struct lease_link *k = container_of(op->links.next,
						    struct lease_link, op_node);
		struct lease_wait *w = k->w;

		unlink_wait(k);
		if (result && !op->g.del && !w->result) {
			w->result = result;
			(void)snprintf(w->why, sizeof(w->why), "%s",
				       why ? why : strerror(-result));
		}
		if (!--w->n_pending)
			w->done(w);
	}
}

static void op_done(struct resolver_grant *g, int result, const char *why)
{
	struct lease_op *op = container_of(g, struct lease_op, g);
	struct lease_table *t = op->t;

	list_del(&op->node);
	settle(op, result);
	if (result && g->del && result != -ENOENT)
		t->ops->grant_failed(t->ctx, NULL, result, why);
	/* What follows from it is under way before anybody looks. */
	(void)lease_flush(t, NULL, NULL, 0); /* failures are retried or told */
	release_waits(op, result, why);
	free(op->elems);
	free(op);
}

static struct lease_op *new_op(struct lease_table *t, struct lease_vec *v,
			       bool del)
{
	struct lease_op *op;

	if (!v->n)
		return NULL;
	op = calloc(1, sizeof(*op));
	if (!op)
		return NULL;
	op->t = t;
	op->elems = v->v;
	op->g = (struct resolver_grant){
		.elems = v->v,
		.n = v->n,
		.del = del,
		.done = op_done,
	};
	*v = (struct lease_vec){ 0 };
	list_init(&op->links);
	list_add_tail(&t->ops_list, &op->node);
	for (size_t i = 0; i < op->g.n; i++) {
		struct lease_addr *a = lease_find_addr(t, &op->elems[i].addr);
		struct lease_elem *e = find_elem(a, &op->elems[i].port, NULL);

		if (e)
			e->op = op;
	}
	return op;
}

/* No memory for the change: additions never were, deletions come later. */
static void give_up(struct lease_table *t, struct lease_vec *v, bool del)
{
	for (size_t i = 0; i < v->n; i++) {
		struct lease_addr *a = lease_find_addr(t, &v->v[i].addr);
		struct lease_elem *e = find_elem(a, &v->v[i].port, NULL);

		if (!e)
			continue;
		if (del) {
			e->state = LEASE_ELEM_PRESENT;
			mark_stuck(t, a);
		} else {
			lease_del_elem(t, a, (size_t)(e - a->elems));
			a->is_dirty = true;
		}
		lease_count_busy(a);
	}
	free(v->v);
	*v = (struct lease_vec){ 0 };
}

static int link_wait(struct lease_wait *w, struct lease_op *op)
{
	struct lease_link *k;

	/* All links of one waiter are made in one go. */
	if (!list_empty(&op->links) &&
	    container_of(op->links.prev, struct lease_link, op_node)->w == w)
		return 0;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->w = w;
	list_add_tail(&op->links, &k->op_node);
	list_add_tail(&w->links, &k->wait_node);
	w->n_pending++;
	return 0;
}

void lease_wait_cancel(struct lease_wait *w)
{
	if (!w->links.next)
		return;
	while (!list_empty(&w->links))
		unlink_wait(container_of(w->links.next, struct lease_link,
					 wait_node));
	w->n_pending = 0;
}

static int link_all(struct lease_wait *w, struct lease_addr *const *addrs,
		    size_t n)
{
	int err = 0;

	list_init(&w->links);
	w->result = 0;
	w->why[0] = '\0';
	w->n_pending = 1; /* ours: done() must not come while we stand here */
	for (size_t i = 0; i < n && !err; i++) {
		const struct lease_addr *a = addrs[i];

		for (uint32_t j = 0; j < a->n_elems && !err; j++) {
			const struct lease_elem *e = &a->elems[j];

			if (e->op && (e->is_wanted || a->is_dirty))
				err = link_wait(w, e->op);
		}
	}
	return err;
}

int lease_flush(struct lease_table *t, struct lease_wait *w,
		struct lease_addr *const *addrs, size_t n_addrs)
{
	struct lease_change c = { 0 };
	struct lease_op *del, *add;
	int err = 0;

	while (!list_empty(&t->dirty)) {
		struct lease_addr *a = container_of(
			t->dirty.next, struct lease_addr, dirty_node);
		int e;

		list_del(&a->dirty_node);
		e = plan_into(t, a, &c);
		err = err ? err : e;
		lease_gc_addr(t, a);
	}
	del = new_op(t, &c.del, true);
	add = new_op(t, &c.add, false);
	if (c.del.n || c.add.n)
		err = -ENOMEM;
	give_up(t, &c.del, true);
	give_up(t, &c.add, false);
	if (w && !err)
		err = link_all(w, addrs, n_addrs);
	if (del)
		t->ops->grant(t->ctx, &del->g);
	if (add)
		t->ops->grant(t->ctx, &add->g);
	if (err && w)
		lease_wait_cancel(w);
	if (err || !w)
		return err;
	if (--w->n_pending)
		return LEASE_PENDING;
	return w->result;
}
