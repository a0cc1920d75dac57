/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * openings_policy.c - address and network entries as disjoint set elements
 *
 * Theory of operation. Interval sets refuse elements that overlap. Prefixes
 * either nest or are disjoint, so with all (prefix, protocol, range) triples of
 * a set sorted by prefix, shorter first, the prefixes around the present one
 * are a stack. Each prefix's ranges are joined, what its ancestors already
 * cover is taken away, and the rest becomes elements.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "gateway/openings.h"
#include "policy/policy.h"

struct box {
	enum fw_set set;
	uint8_t proto;
	struct prefix prefix;
	uint32_t lo, hi;
};

struct boxes {
	struct box *v;
	size_t n;
};

static int cmp_box(const void *a, const void *b)
{
	const struct box *x = a, *y = b;
	int r;

	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	if (x->proto != y->proto)
		return x->proto < y->proto ? -1 : 1;
	if (x->prefix.addr.family != y->prefix.addr.family)
		return x->prefix.addr.family < y->prefix.addr.family ? -1 : 1;
	r = memcmp(x->prefix.addr.bytes, y->prefix.addr.bytes, 16);
	if (r)
		return r;
	if (x->prefix.len != y->prefix.len)
		return x->prefix.len < y->prefix.len ? -1 : 1;
	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool same_table(const struct box *a, const struct box *b)
{
	return a->set == b->set && a->proto == b->proto &&
	       a->prefix.addr.family == b->prefix.addr.family;
}

static bool box_inside(const struct box *inner, const struct box *outer)
{
	return same_table(inner, outer) &&
	       prefix_contains(&outer->prefix, &inner->prefix.addr) &&
	       inner->prefix.len >= outer->prefix.len;
}

static int emit(struct elem_vec *ret, const struct box *b, uint32_t lo,
		uint32_t hi)
{
	struct fw_elem e;

	memset(&e, 0, sizeof(e));
	e.set = b->set;
	memcpy(&e.prefix, &b->prefix, sizeof(e.prefix));
	e.proto = b->proto;
	e.port_lo = (uint16_t)lo;
	e.port_hi = (uint16_t)hi;
	return elem_vec_push(ret, &e);
}

/*
 * Emits [lo, hi] of a box less what the boxes in @done cover; those are the
 * boxes already emitted that contain its prefix. Their number is what decides
 * the recursion's bound: each level skips at least one of them.
 */
static int emit_rest(struct elem_vec *ret, const struct box *b, uint32_t lo,
		     uint32_t hi, const struct boxes *around)
{
	size_t i;
	int r;

	for (i = 0; i < around->n; i++) {
		const struct box *o = &around->v[i];
		struct boxes rest = { around->v + i + 1, around->n - i - 1 };

		if (o->hi < lo || o->lo > hi)
			continue;
		if (o->lo > lo) {
			r = emit_rest(ret, b, lo, o->lo - 1, &rest);
			if (r < 0)
				return r;
		}
		if (o->hi >= hi)
			return 0;
		lo = o->hi + 1;
	}
	return emit(ret, b, lo, hi);
}

static int disjoin(struct box *v, size_t n, struct elem_vec *ret)
{
	_cleanup_(freep) struct box *stack = NULL;
	struct boxes around = { 0 };
	size_t i;
	int r;

	stack = calloc(n ? n : 1, sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	around.v = stack;
	for (i = 0; i < n; i++) {
		while (around.n && !box_inside(&v[i], &stack[around.n - 1]))
			around.n--;
		r = emit_rest(ret, &v[i], v[i].lo, v[i].hi, &around);
		if (r < 0)
			return r;
		stack[around.n++] = v[i];
	}
	return 0;
}

static uint8_t ipproto_of(enum policy_proto proto)
{
	if (proto == POLICY_TCP)
		return IPPROTO_TCP;
	return proto == POLICY_UDP ? IPPROTO_UDP : IPPROTO_ICMP;
}

static size_t boxes_of_net(const struct policy_net *net, struct box *ret)
{
	static const uint16_t cuts[][2] = {
		{ 0, 24 }, { 26, 464 }, { 466, 586 }, { 588, 65535 }
	};
	struct box b;
	size_t i;

	memset(&b, 0, sizeof(b));
	b.set = FW_SET_PUBLIC;
	if (net->port.flags & POLICY_F_PRIVATE)
		b.set = FW_SET_LISTED;
	if (net->deny)
		b.set = FW_SET_DENY;
	b.proto = ipproto_of(net->port.proto);
	b.prefix = net->prefix;
	b.lo = net->port.lo;
	b.hi = net->port.hi;
	if (net->deny || !(net->port.flags & POLICY_F_NOMAIL)) {
		ret[0] = b;
		return 1;
	}
	for (i = 0; i < ARRAY_SIZE(cuts); i++) {
		ret[i] = b;
		ret[i].lo = cuts[i][0];
		ret[i].hi = cuts[i][1];
	}
	return ARRAY_SIZE(cuts);
}

int openings_of_policy(const struct policy *p, struct elem_vec *ret)
{
	_cleanup_(freep) struct box *v = NULL;
	size_t i, n = 0, n_nets = policy_n_nets(p);

	v = calloc(n_nets ? 4 * n_nets : 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (i = 0; i < n_nets; i++) {
		struct policy_net net = policy_net_at(p, i);

		n += boxes_of_net(&net, v + n);
	}
	qsort(v, n, sizeof(*v), cmp_box);
	return disjoin(v, n, ret);
}

static int cmp_elem(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fw_elem));
}

int openings_diff(struct elem_vec *from, struct elem_vec *to,
		  struct elem_diff *ret)
{
	size_t i = 0, k = 0;
	int r, c;

	if (from->n)
		qsort(from->v, from->n, sizeof(*from->v), cmp_elem);
	if (to->n)
		qsort(to->v, to->n, sizeof(*to->v), cmp_elem);
	while (i < from->n || k < to->n) {
		if (i == from->n)
			c = 1;
		else if (k == to->n)
			c = -1;
		else
			c = cmp_elem(&from->v[i], &to->v[k]);
		r = 0;
		if (c < 0)
			r = elem_vec_push(&ret->del, &from->v[i]);
		else if (c > 0)
			r = elem_vec_push(&ret->add, &to->v[k]);
		if (r < 0)
			return r;
		i += c <= 0;
		k += c >= 0;
	}
	return 0;
}
