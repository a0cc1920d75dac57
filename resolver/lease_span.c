/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease_span.c - what an address should open, in pieces that don't overlap
 *
 * Interval sets refuse overlapping elements, and every packet is judged, so an
 * element that is still wanted must not be taken away for a moment only to be
 * cut differently. Hence: elements that lie wholly inside what is wanted stay
 * as they are; only the gaps are added. An element that sticks out goes, and
 * the rest of it that is still wanted comes back in pieces in the same batch.
 *
 * `:*` (all ports but the mail ports) is a kind of its own: the kernel has a
 * separate set for it, so it may overlap with plain ports.
 */
#include "resolver/lease_internal.h"

#include <string.h>

struct spans {
	struct policy_port v[LEASE_SPANS_MAX];
	size_t n;
	bool is_full;
};

static const uint16_t mail_ports[] = { 25, 465, 587 };

bool lease_port_has(const struct policy_port *pp, enum policy_proto proto,
		    uint16_t port)
{
	if (pp->proto != proto || port < pp->lo || port > pp->hi)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(mail_ports); i++) {
		if (pp->flags & POLICY_F_NOMAIL && port == mail_ports[i])
			return false;
	}
	return true;
}

static bool is_same_kind(const struct policy_port *a,
			 const struct policy_port *b)
{
	return a->proto == b->proto &&
	       !((a->flags ^ b->flags) & POLICY_F_NOMAIL);
}

static bool is_overlapping(const struct policy_port *a,
			   const struct policy_port *b)
{
	return is_same_kind(a, b) && a->lo <= b->hi && b->lo <= a->hi;
}

static void push(struct spans *s, const struct policy_port *pp)
{
	if (s->n == LEASE_SPANS_MAX)
		s->is_full = true;
	else
		s->v[s->n++] = *pp;
}

/* Takes @cut away from the spans @from and later. */
static void subtract(struct spans *s, size_t from,
		     const struct policy_port *cut)
{
	for (size_t i = from; i < s->n;) {
		struct policy_port *pp = &s->v[i];
		struct policy_port right = *pp;

		if (!is_overlapping(pp, cut)) {
			i++;
			continue;
		}
		if (pp->lo < cut->lo && pp->hi > cut->hi) {
			right.lo = (uint16_t)(cut->hi + 1);
			pp->hi = (uint16_t)(cut->lo - 1);
			push(s, &right);
		} else if (pp->lo < cut->lo) {
			pp->hi = (uint16_t)(cut->lo - 1);
		} else if (pp->hi > cut->hi) {
			pp->lo = (uint16_t)(cut->hi + 1);
		} else {
			*pp = s->v[--s->n];
			continue;
		}
		i++;
	}
}

/* A special address only gets what comes from a `private` entry. */
static bool applies(const struct lease_addr *a, const struct policy_port *pp)
{
	return !a->is_special || pp->flags & POLICY_F_PRIVATE;
}

static void collect(const struct lease_addr *a, const struct lease_use *uses,
		    size_t n_uses, struct spans *s)
{
	s->n = 0;
	s->is_full = false;
	for (size_t i = 0; i < n_uses; i++) {
		const struct lease_portset *ps = uses[i].ps;

		for (size_t j = 0; j < ps->n; j++) {
			if (applies(a, &ps->ports[j]))
				push(s, &ps->ports[j]);
		}
	}
}

static bool is_inside(const struct policy_port *pp, const struct spans *want)
{
	struct spans rest;

	rest.n = 1;
	rest.is_full = false;
	rest.v[0] = *pp;
	for (size_t i = 0; i < want->n && rest.n; i++)
		subtract(&rest, 0, &want->v[i]);
	return !rest.n && !rest.is_full;
}

int lease_plan(const struct lease_addr *a, const struct lease_use *uses,
	       size_t n_uses, struct lease_plan *ret)
{
	struct spans s;

	collect(a, uses, n_uses, &s);
	if (s.is_full)
		return -ENOSPC;
	for (uint32_t i = 0; i < a->n_elems; i++)
		ret->keep[i] = is_inside(&a->elems[i].port, &s);
	for (uint32_t i = 0; i < a->n_elems; i++) {
		if (ret->keep[i])
			subtract(&s, 0, &a->elems[i].port);
	}
	for (size_t i = 0; i < s.n; i++) {
		struct policy_port pp = s.v[i];

		subtract(&s, i + 1, &pp);
	}
	if (s.is_full)
		return -ENOSPC;
	ret->n_pieces = 0;
	ret->is_deferred = false;
	for (size_t i = 0; i < s.n; i++) {
		bool must_wait = false;

		for (uint32_t j = 0; j < a->n_elems; j++)
			must_wait |= a->elems[j].op &&
				     is_overlapping(&a->elems[j].port, &s.v[i]);
		if (must_wait)
			ret->is_deferred = true;
		else
			ret->pieces[ret->n_pieces++] = s.v[i];
	}
	return 0;
}

bool lease_is_covered(const struct lease_addr *a,
		      const struct lease_portset *ps)
{
	struct spans have = { .n = 0 };

	for (uint32_t i = 0; i < a->n_elems; i++) {
		if (a->elems[i].state != LEASE_ELEM_DELETING)
			push(&have, &a->elems[i].port);
	}
	for (size_t i = 0; i < ps->n; i++) {
		if (applies(a, &ps->ports[i]) &&
		    !is_inside(&ps->ports[i], &have))
			return false;
	}
	return true;
}
