/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build.c - from the rules of entries to the tables that are asked
 *
 * Entries come in any order and several may speak of one key. Compiling sorts
 * the rules by key and group and joins the ranges of each group, so that
 * asking is one binary search however many entries there were.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_internal.h"

/* Lists joined at once: each boundary looks at all of them. */
#define JOIN_FAN 16

int rules_add(struct rules *r, uint32_t key, enum group group,
	      const struct port_buf *ports, uint32_t flags, uint32_t entry)
{
	struct rule *at = grow(r->at, r->n, &r->room, sizeof(*at));

	if (!at)
		return -ENOMEM;
	r->at = at;
	at[r->n] = (struct rule){
		.key = key,
		.group = group,
		.first = r->n_ports,
		.n = ports->n,
	};
	for (size_t i = 0; i < ports->n; i++) {
		struct policy_port *p =
			grow(r->ports, r->n_ports, &r->room_ports, sizeof(*p));

		if (!p)
			return -ENOMEM;
		r->ports = p;
		p[r->n_ports] = ports->at[i];
		p[r->n_ports].flags |= flags;
		p[r->n_ports++].entry = entry;
	}
	r->n++;
	return 0;
}

void rules_done(struct rules *r)
{
	free(r->at);
	free(r->ports);
	*r = (struct rules){ 0 };
}

static size_t group_of(const struct rule *r)
{
	return (size_t)r->key * GROUP_MAX + r->group;
}

/* What compiling appends to. */
struct output {
	struct policy_port *at;
	size_t n, room;
};

static int put_ranges(struct output *o, const struct policy_port *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct policy_port *at =
			grow(o->at, o->n, &o->room, sizeof(*at));

		if (!at || o->n == UINT32_MAX)
			return -ENOMEM;
		o->at = at;
		at[o->n++] = p[i];
	}
	return 0;
}

/*
 * Joins @n lists in rounds of JOIN_FAN. All boundaries are those of the first
 * lists, so no round has more than twice their ranges.
 */
static int join_lists(struct port_group *g, size_t n, size_t n_ranges,
		      struct output *o)
{
	static const struct port_rule rule = { .keep_entry = true };
	_cleanup_(freep) struct policy_port *held = NULL;

	while (n > 1) {
		struct policy_port *next =
			reallocarray(NULL, 2 * n_ranges, sizeof(*next));
		size_t used = 0, n_next = 0;

		if (!next)
			return -ENOMEM;
		for (size_t i = 0; i < n; i += JOIN_FAN) {
			size_t fan = n - i < JOIN_FAN ? n - i : JOIN_FAN;
			size_t m = ports_join(&g[i], fan, &rule, next + used,
					      2 * n_ranges - used);

			g[n_next++].list = (struct port_list){
				next + used,
				next + used + m,
			};
			used += m;
		}
		free(held);
		held = next;
		n = n_next;
	}
	return put_ranges(o, g[0].list.at,
			  (size_t)(g[0].list.end - g[0].list.at));
}

/* All rules of one group, in the order of their entries. */
static int compile_group(const struct rules *r, const uint32_t *sorted,
			 size_t n, struct output *o)
{
	_cleanup_(freep) struct port_group *g = NULL;
	size_t n_ranges = 0;

	if (n == 1)
		return put_ranges(o, r->ports + r->at[*sorted].first,
				  r->at[*sorted].n);
	g = calloc(n, sizeof(*g));
	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct rule *rule = &r->at[sorted[i]];

		g[i].list.at = r->ports + rule->first;
		g[i].list.end = g[i].list.at + rule->n;
		n_ranges += rule->n;
	}
	return join_lists(g, n, n_ranges, o);
}

/* Counting sort: @start becomes the first place of each group in @sorted. */
static void sort_rules(const struct rules *r, uint32_t *start, size_t n_groups,
		       uint32_t *sorted)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < r->n; i++)
		start[group_of(&r->at[i])]++;
	for (size_t i = 0; i <= n_groups; i++) {
		uint32_t n = start[i];

		start[i] = sum;
		sum += n;
	}
	for (size_t i = 0; i < r->n; i++)
		sorted[start[group_of(&r->at[i])]++] = (uint32_t)i;
	/* Each start has moved on to the next one's place. */
	memmove(start + 1, start, n_groups * sizeof(*start));
	start[0] = 0;
}

static uint8_t join_flags(const struct policy_port *p, size_t n)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < n; i++)
		flags |= p[i].flags;
	return (uint8_t)flags;
}

int table_compile(struct table *t, const struct rules *r)
{
	size_t n_groups = (size_t)t->keys.n * GROUP_MAX;
	_cleanup_(freep) uint32_t *sorted = calloc(r->n + 1, sizeof(*sorted));
	_cleanup_(freep) uint32_t *start = calloc(n_groups + 1, sizeof(*start));
	_cleanup_(freep) uint8_t *flags = calloc(n_groups + 1, sizeof(*flags));
	struct output o = { 0 };
	int err = 0;

	if (!sorted || !start || !flags)
		return -ENOMEM;
	sort_rules(r, start, n_groups, sorted);
	for (size_t i = 0; i < n_groups && err == 0; i++) {
		size_t from = o.n, first = start[i], n = start[i + 1] - first;

		start[i] = (uint32_t)from;
		if (n > 0)
			err = compile_group(r, sorted + first, n, &o);
		if (o.n > from)
			flags[i] = join_flags(o.at + from, o.n - from);
	}
	if (err < 0) {
		free(o.at);
		return err;
	}
	start[n_groups] = (uint32_t)o.n;
	t->start = ptr_steal(&start);
	t->flags = ptr_steal(&flags);
	t->ranges = o.at;
	return 0;
}
