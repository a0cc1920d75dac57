/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * openings.c - grants and entries as disjoint set elements
 *
 * Theory of operation. For each address the table holds the grants of the
 * leases and the elements that the kernel has, or is about to have. A change
 * edits the grants, computes the elements anew from all of them, and gives out
 * the difference. Elements of one address are computed so that they never
 * overlap:
 *
 *   - ranges are joined per protocol first;
 *   - a joined range of at most SINGLES_MAX ports becomes single-port elements
 *     of the hash set; a wider one an element of the interval set;
 *   - `:*` (POLICY_F_NOMAIL) is one element of the any-port hash set;
 *   - special-purpose addresses go to the private interval set as ranges.
 *
 * An element that isn't confirmed is given out with every change that wants it:
 * each answer then waits for an acknowledgement of its own (P3).
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "gateway/openings.h"
#include "policy/policy.h"

#define BUCKETS	    4096U /* addresses are capped by the lease table */
#define SINGLES_MAX 64U

struct grant {
	uint8_t proto; /* IPPROTO_* */
	bool special;
	bool nomail;
	uint16_t lo, hi;
	uint32_t refs;
};

struct known_elem {
	struct fw_elem e;
	bool confirmed;
	uint32_t n_pending; /* additions whose result is still to come */
};

struct opening {
	struct opening *next;
	struct addr addr;
	struct grant *grants;
	size_t n_grants;
	struct known_elem *elems;
	size_t n_elems;
	uint64_t change_no; /* that looked at it last */
};

struct openings {
	uint64_t change_no;
	struct opening *bucket[BUCKETS];
};

/* The ranges of `:*`: all ports but 25, 465 and 587. */
static const struct {
	uint16_t lo, hi;
} nomail_ranges[] = { { 0, 24 }, { 26, 464 }, { 466, 586 }, { 588, 65535 } };

int elem_vec_push(struct elem_vec *vec, const struct fw_elem *e)
{
	if (vec->n == vec->cap) {
		size_t cap = vec->cap ? 2 * vec->cap : 16;
		struct fw_elem *v = realloc(vec->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		vec->v = v;
		vec->cap = cap;
	}
	vec->v[vec->n++] = *e;
	return 0;
}

void elem_vec_done(struct elem_vec *vec)
{
	free(vec->v);
	memset(vec, 0, sizeof(*vec));
}

void elem_diff_done(struct elem_diff *d)
{
	elem_vec_done(&d->del);
	elem_vec_done(&d->add);
}

int openings_new(struct openings **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void opening_free(struct opening *o)
{
	free(o->grants);
	free(o->elems);
	free(o);
}

void openings_free(struct openings *o)
{
	size_t i;

	if (!o)
		return;
	for (i = 0; i < BUCKETS; i++) {
		while (o->bucket[i]) {
			struct opening *next = o->bucket[i]->next;

			opening_free(o->bucket[i]);
			o->bucket[i] = next;
		}
	}
	free(o);
}

void openings_freep(struct openings **o)
{
	openings_free(*o);
	*o = NULL;
}

static struct opening **slot_of(struct openings *o, const struct addr *a)
{
	struct opening **p = &o->bucket[hash_bytes(a, sizeof(*a)) % BUCKETS];

	while (*p && !addr_equal(&(*p)->addr, a))
		p = &(*p)->next;
	return p;
}

static uint8_t ipproto_of(enum policy_proto proto)
{
	switch (proto) {
	case POLICY_TCP:
		return IPPROTO_TCP;
	case POLICY_UDP:
		return IPPROTO_UDP;
	case POLICY_ICMP:
	case POLICY_PROTO_MAX:
		break;
	}
	return IPPROTO_ICMP;
}

static struct grant grant_of(const struct resolver_grant_elem *g)
{
	struct grant k = {
		.proto = ipproto_of(g->port.proto),
		.special = g->is_special,
		.nomail = (g->port.flags & POLICY_F_NOMAIL) != 0,
		.lo = g->port.lo,
		.hi = g->port.hi,
	};

	return k;
}

static bool grant_equal(const struct grant *a, const struct grant *b)
{
	return a->proto == b->proto && a->special == b->special &&
	       a->nomail == b->nomail && a->lo == b->lo && a->hi == b->hi;
}

static int grant_put(struct opening *o, const struct grant *g)
{
	struct grant *v;
	size_t i;

	for (i = 0; i < o->n_grants; i++) {
		if (grant_equal(&o->grants[i], g)) {
			o->grants[i].refs++;
			return 0;
		}
	}
	v = realloc(o->grants, (o->n_grants + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	o->grants = v;
	v[o->n_grants] = *g;
	v[o->n_grants++].refs = 1;
	return 0;
}

static void grant_drop(struct opening *o, const struct grant *g)
{
	size_t i;

	for (i = 0; i < o->n_grants; i++) {
		if (!grant_equal(&o->grants[i], g))
			continue;
		if (--o->grants[i].refs == 0)
			o->grants[i] = o->grants[--o->n_grants];
		return;
	}
}

/* ---- ranges ---- */

struct range {
	uint32_t lo, hi;
};

struct range_vec {
	struct range v[POLICY_PORTS_MAX * 4];
	size_t n;
};

static int cmp_range(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void range_push(struct range_vec *rv, uint32_t lo, uint32_t hi)
{
	/* More than fits is left closed. */
	if (rv->n < ARRAY_SIZE(rv->v))
		rv->v[rv->n++] = (struct range){ lo, hi };
}

/* Sorts and joins what overlaps or touches. */
static void range_join(struct range_vec *rv)
{
	size_t i, n = 0;

	qsort(rv->v, rv->n, sizeof(rv->v[0]), cmp_range);
	for (i = 0; i < rv->n; i++) {
		if (n && rv->v[i].lo <= rv->v[n - 1].hi + 1) {
			if (rv->v[i].hi > rv->v[n - 1].hi)
				rv->v[n - 1].hi = rv->v[i].hi;
			continue;
		}
		rv->v[n++] = rv->v[i];
	}
	rv->n = n;
}

static void range_push_port(struct range_vec *rv, uint16_t lo, uint16_t hi,
			    bool nomail)
{
	size_t i;

	if (!nomail) {
		range_push(rv, lo, hi);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(nomail_ranges); i++)
		range_push(rv, nomail_ranges[i].lo, nomail_ranges[i].hi);
}

/* ---- elements of one address ---- */

static struct fw_elem elem_of(enum fw_set set, const struct prefix *p,
			      uint8_t proto, uint32_t lo, uint32_t hi)
{
	struct fw_elem e;

	/* Zeroed padding: elements are compared as bytes. */
	memset(&e, 0, sizeof(e));
	e.set = set;
	memcpy(&e.prefix, p, sizeof(e.prefix));
	e.proto = proto;
	e.port_lo = (uint16_t)lo;
	e.port_hi = (uint16_t)hi;
	return e;
}

static int push_range(struct elem_vec *vec, const struct prefix *p,
		      uint8_t proto, const struct range *r, bool special)
{
	struct fw_elem e;
	uint32_t port;
	int rc;

	if (special || r->hi - r->lo >= SINGLES_MAX) {
		e = elem_of(special ? FW_SET_PRIVATE : FW_SET_RANGE, p, proto,
			    r->lo, r->hi);
		return elem_vec_push(vec, &e);
	}
	for (port = r->lo; port <= r->hi; port++) {
		e = elem_of(FW_SET_OPEN, p, proto, port, port);
		rc = elem_vec_push(vec, &e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int elems_of_proto(const struct opening *o, const struct prefix *p,
			  uint8_t proto, bool special, struct elem_vec *vec)
{
	struct range_vec rv = { .n = 0 };
	bool any = false;
	size_t i;
	int r;

	for (i = 0; i < o->n_grants; i++) {
		const struct grant *g = &o->grants[i];

		if (g->proto != proto || g->special != special)
			continue;
		if (!special && (g->nomail || proto == IPPROTO_ICMP))
			any = true;
		else
			range_push_port(&rv, g->lo, g->hi, g->nomail);
	}
	range_join(&rv);
	for (i = 0; i < rv.n; i++) {
		r = push_range(vec, p, proto, &rv.v[i], special);
		if (r < 0)
			return r;
	}
	if (any) {
		struct fw_elem e = elem_of(FW_SET_ANYPORT, p, proto, 0, 65535);

		return elem_vec_push(vec, &e);
	}
	return 0;
}

static int elems_of(const struct opening *o, struct elem_vec *vec)
{
	static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP,
					  IPPROTO_ICMP };
	struct prefix p;
	size_t i;
	int r;

	memset(&p, 0, sizeof(p));
	p.addr = o->addr;
	p.len = (uint8_t)(8 * addr_len(&o->addr));
	for (i = 0; i < ARRAY_SIZE(protos); i++) {
		r = elems_of_proto(o, &p, protos[i], false, vec);
		if (r == 0)
			r = elems_of_proto(o, &p, protos[i], true, vec);
		if (r < 0)
			return r;
	}
	return 0;
}

static int cmp_elem(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fw_elem));
}

static struct known_elem *known_find(const struct opening *o,
				     const struct fw_elem *e)
{
	size_t i;

	for (i = 0; i < o->n_elems; i++)
		if (!cmp_elem(&o->elems[i].e, e))
			return &o->elems[i];
	return NULL;
}

static bool vec_has(const struct elem_vec *vec, const struct fw_elem *e)
{
	size_t i;

	for (i = 0; i < vec->n; i++)
		if (!cmp_elem(&vec->v[i], e))
			return true;
	return false;
}

/* Gives out the difference between what is known and @want, and makes @want
   the known state. */
static int move_to(struct opening *o, const struct elem_vec *want,
		   struct elem_diff *ret)
{
	struct known_elem *now;
	size_t i;
	int r = 0;

	now = calloc(want->n ? want->n : 1, sizeof(*now));
	if (!now)
		return -ENOMEM;
	for (i = 0; r == 0 && i < o->n_elems; i++)
		if (!vec_has(want, &o->elems[i].e))
			r = elem_vec_push(&ret->del, &o->elems[i].e);
	for (i = 0; r == 0 && i < want->n; i++) {
		const struct known_elem *k = known_find(o, &want->v[i]);

		now[i].e = want->v[i];
		now[i].confirmed = k && k->confirmed;
		now[i].n_pending = k ? k->n_pending : 0;
		if (now[i].confirmed)
			continue;
		now[i].n_pending++;
		r = elem_vec_push(&ret->add, &want->v[i]);
	}
	if (r < 0) {
		free(now);
		return r;
	}
	free(o->elems);
	o->elems = now;
	o->n_elems = want->n;
	return 0;
}

static int recompute(struct openings *o, const struct addr *a,
		     struct elem_diff *ret)
{
	struct opening **slot = slot_of(o, a);
	_cleanup_(elem_vec_done) struct elem_vec want = { 0 };
	struct opening *x = *slot;
	int r;

	/* Once a change, or an element would be given out twice: what is added
	   together with deletions must not be there yet. */
	if (!x || x->change_no == o->change_no)
		return 0;
	x->change_no = o->change_no;
	r = elems_of(x, &want);
	if (r == 0)
		r = move_to(x, &want, ret);
	if (r == 0 && !x->n_grants) {
		*slot = x->next;
		opening_free(x);
	}
	return r;
}

static int add_grant(struct openings *o, const struct resolver_grant_elem *g)
{
	struct opening **slot = slot_of(o, &g->addr);
	struct grant k = grant_of(g);

	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (!*slot)
			return -ENOMEM;
		(*slot)->addr = g->addr;
	}
	return grant_put(*slot, &k);
}

static void del_grant(struct openings *o, const struct resolver_grant_elem *g)
{
	struct opening **slot = slot_of(o, &g->addr);
	struct grant k = grant_of(g);

	if (*slot)
		grant_drop(*slot, &k);
}

static int recompute_all(struct openings *o,
			 const struct resolver_grant_elem *g, size_t n,
			 struct elem_diff *ret)
{
	size_t i;
	int r;

	for (i = 0; i < n; i++) {
		r = recompute(o, &g[i].addr, ret);
		if (r < 0)
			return r;
	}
	return 0;
}

int openings_change(struct openings *o, const struct resolver_grant_elem *del,
		    size_t n_del, const struct resolver_grant_elem *add,
		    size_t n_add, struct elem_diff *ret)
{
	size_t i;
	int r;

	o->change_no++;
	for (i = 0; i < n_del; i++)
		del_grant(o, &del[i]);
	for (i = 0; i < n_add; i++) {
		r = add_grant(o, &add[i]);
		if (r < 0)
			return r;
	}
	r = recompute_all(o, del, n_del, ret);
	if (r < 0)
		return r;
	return recompute_all(o, add, n_add, ret);
}

void openings_confirm(struct openings *o, const struct fw_elem *added, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct opening *x = *slot_of(o, &added[i].prefix.addr);
		struct known_elem *k = x ? known_find(x, &added[i]) : NULL;

		if (!k)
			continue; /* taken back meanwhile */
		k->confirmed = true;
		if (k->n_pending)
			k->n_pending--;
	}
}

void openings_fail(struct openings *o, const struct resolver_grant_elem *grants,
		   size_t n_grants, const struct fw_elem *added, size_t n)
{
	size_t i;

	for (i = 0; i < n_grants; i++)
		del_grant(o, &grants[i]);
	for (i = 0; i < n; i++) {
		struct opening **slot = slot_of(o, &added[i].prefix.addr);
		struct opening *x = *slot;
		struct known_elem *k = x ? known_find(x, &added[i]) : NULL;

		if (k && k->n_pending)
			k->n_pending--;
		/* It isn't in the kernel, unless by another answer that wants
		   it: that has it in its own additions. */
		if (k && !k->confirmed && !k->n_pending)
			*k = x->elems[--x->n_elems];
		if (x && !x->n_grants && !x->n_elems) {
			*slot = x->next;
			opening_free(x);
		}
	}
}
