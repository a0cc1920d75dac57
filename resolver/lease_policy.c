/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease_policy.c - another policy: what the leases open changes in one batch
 *
 * First everything is computed beside the present state (next_ps, next_uses,
 * PLANNED and leaving elements), then the batch is tried, and only if the
 * kernel took it does the present state change. A refused batch leaves no
 * trace.
 *
 * The sets of ports cost something else then; what doesn't fit any more is
 * evicted in the same batch.
 *
 * While the batch is tried, questions (lease_judge()) are answered by the
 * coming state: open connections can be judged again before a long batch is
 * through.
 *
 * Elements with a change under way are not in the batch: the kernel might have
 * them or not. They are planned again when their change is through.
 */
#include "resolver/lease_internal.h"

#include "base/err.h"

struct run {
	struct lease_table *t;
	const struct policy *p;
	struct lease_change change;
};

static int plan_names(struct run *r)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &r->t->all_names) {
		struct lease_name *n =
			container_of(i, struct lease_name, all_node);

		n->next_ps = lease_portset_get(r->t, r->p, &n->name);
		if (!n->next_ps)
			return -ENOMEM;
	}
	return 0;
}

static void judge_leases(struct run *r)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &r->t->lru) {
		struct lease *l = container_of(i, struct lease, lru);

		l->is_dropped = !l->name->next_ps->n ||
				policy_learned_addr(r->p, &l->name->name,
						    &l->addr->addr)
						.reason != POLICY_ALLOWED;
	}
}

static int add_next_use(struct lease_addr *a, struct lease_portset *ps)
{
	struct lease_use *grown;

	for (uint32_t i = 0; i < a->n_next_uses; i++) {
		if (a->next_uses[i].ps == ps) {
			a->next_uses[i].n++;
			return 0;
		}
	}
	grown = reallocarray(a->next_uses, a->n_next_uses + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	a->next_uses = grown;
	grown[a->n_next_uses++] = (struct lease_use){ .ps = ps, .n = 1 };
	return 0;
}

static int plan_uses(struct lease_addr *a)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &a->leases) {
		const struct lease *l =
			container_of(i, struct lease, addr_node);

		if (!l->is_dropped && add_next_use(a, l->name->next_ps))
			return -ENOMEM;
	}
	a->next_cost = lease_uses_cost(a, a->next_uses, a->n_next_uses);
	return 0;
}

static int plan_all_uses(struct run *r)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &r->t->all_addrs) {
		int e = plan_uses(container_of(i, struct lease_addr, all_node));

		if (e)
			return e;
	}
	return 0;
}

/*
 * Too many ranges for one address, or too many elements in all: what doesn't
 * fit stays closed, and the edit as a whole goes through.
 */
static int plan_addr(struct run *r, struct lease_addr *a)
{
	struct lease_plan plan = { .n_pieces = 0 };
	uint32_t n_elems = a->n_elems;
	int e = 0;

	if (lease_plan(a, a->next_uses, a->n_next_uses, &plan))
		plan.n_pieces = 0;
	for (uint32_t i = 0; i < n_elems && !e; i++) {
		struct lease_elem *el = &a->elems[i];

		el->is_leaving = !plan.keep[i];
		if (el->is_leaving && el->state == LEASE_ELEM_PRESENT)
			e = lease_change_push(&r->change.del, a, &el->port);
	}
	for (size_t i = 0; i < plan.n_pieces && !e; i++) {
		struct policy_port pp = plan.pieces[i];

		pp.entry = POLICY_NO_ENTRY;
		if (lease_add_elem(r->t, a, &pp, LEASE_ELEM_PLANNED))
			break;
		e = lease_change_push(&r->change.add, a, &pp);
	}
	return e;
}

static int plan_addrs(struct run *r)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &r->t->all_addrs) {
		int e = plan_addr(r,
				  container_of(i, struct lease_addr, all_node));

		if (e)
			return e;
	}
	return 0;
}

static void undo(struct run *r)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &r->t->lru)
		container_of(i, struct lease, lru)->is_dropped = false;
	list_for_each_safe (i, tmp, &r->t->all_addrs) {
		struct lease_addr *a =
			container_of(i, struct lease_addr, all_node);

		for (uint32_t k = a->n_elems; k-- > 0;) {
			a->elems[k].is_leaving = false;
			if (a->elems[k].state == LEASE_ELEM_PLANNED)
				lease_del_elem(r->t, a, k);
		}
		free(ptr_steal(&a->next_uses));
		a->n_next_uses = 0;
	}
	list_for_each_safe (i, tmp, &r->t->all_names) {
		struct lease_name *n =
			container_of(i, struct lease_name, all_node);

		lease_portset_put(r->t, ptr_steal(&n->next_ps));
	}
}

static void commit_elems(struct lease_table *t, struct lease_addr *a)
{
	for (uint32_t k = a->n_elems; k-- > 0;) {
		struct lease_elem *e = &a->elems[k];

		e->is_wanted = !e->is_leaving;
		e->is_leaving = false;
		if (e->state == LEASE_ELEM_PLANNED)
			e->state = LEASE_ELEM_PRESENT;
		else if (!e->is_wanted && e->state == LEASE_ELEM_PRESENT)
			lease_del_elem(t, a, k);
	}
	free(a->uses);
	a->uses = ptr_steal(&a->next_uses);
	a->n_uses = a->cap_uses = a->n_next_uses;
	a->n_next_uses = 0;
	t->cost = t->cost - a->cost + a->next_cost;
	a->cost = a->next_cost;
	/* Planned once more: what was deferred or didn't fit. */
	a->is_dirty = true;
	lease_count_busy(a);
}

/* The names' sets change last: dropping a lease counts by the old ones. */
static void commit(struct run *r)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &r->t->all_names) {
		struct lease_name *n =
			container_of(i, struct lease_name, all_node);

		n->n_leases++;
	}
	list_for_each_safe (i, tmp, &r->t->lru) {
		struct lease *l = container_of(i, struct lease, lru);

		if (l->is_dropped)
			lease_drop(r->t, l);
	}
	list_for_each_safe (i, tmp, &r->t->all_addrs) {
		struct lease_addr *a =
			container_of(i, struct lease_addr, all_node);

		commit_elems(r->t, a);
		lease_mark(r->t, a);
	}
	list_for_each_safe (i, tmp, &r->t->all_names) {
		struct lease_name *n =
			container_of(i, struct lease_name, all_node);

		lease_portset_put(r->t, n->ps);
		n->ps = ptr_steal(&n->next_ps);
		n->n_leases--;
		lease_gc_name(r->t, n);
	}
}

int lease_set_policy(struct lease_table *t, const struct policy *p,
		     resolver_change_fn *change, void *change_ctx,
		     struct err *err)
{
	struct run r = { .t = t, .p = p };
	uint32_t n_shed = 0;
	int e = plan_names(&r);

	if (!e) {
		judge_leases(&r);
		e = plan_all_uses(&r);
	}
	if (!e) {
		n_shed = lease_shed(t);
		e = plan_addrs(&r);
	}
	t->is_changing = !e;
	if (!e)
		e = change(change_ctx, r.change.del.v, r.change.del.n,
			   r.change.add.v, r.change.add.n, err);
	else
		e = err_set_errno(err, e, "cannot judge the leases again");
	t->is_changing = false;
	if (e) {
		undo(&r);
	} else {
		commit(&r);
		t->evicted += n_shed;
	}
	free(r.change.del.v);
	free(r.change.add.v);
	if (!e)
		(void)lease_flush(t, NULL, NULL, 0); /* retried when stuck */
	return e;
}
