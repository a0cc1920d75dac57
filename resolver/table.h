/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.h - intrusive hash table with chains, fixed number of buckets
 *
 * The tables of this folder have a cap each, so the buckets are made once.
 */
#ifndef EGRET_RESOLVER_TABLE_H
#define EGRET_RESOLVER_TABLE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct table_node {
	struct table_node *next;
	uint64_t hash;
};

struct table {
	struct table_node **buckets;
	size_t mask; /* buckets - 1, a power of two less one */
	uint32_t n;
};

/* @n_buckets: a power of two. Return: 0 or -ENOMEM. */
static inline int table_init(struct table *t, size_t n_buckets)
{
	t->buckets = calloc(n_buckets, sizeof(struct table_node *));
	t->mask = n_buckets - 1;
	t->n = 0;
	return t->buckets ? 0 : -ENOMEM;
}

static inline void table_done(struct table *t)
{
	free(t->buckets);
	t->buckets = NULL;
}

static inline struct table_node *table_first(const struct table *t,
					     uint64_t hash)
{
	struct table_node *n = t->buckets[hash & t->mask];

	while (n && n->hash != hash)
		n = n->next;
	return n;
}

/* The next node of the same hash. */
static inline struct table_node *table_next(const struct table_node *n)
{
	struct table_node *m = n->next;

	while (m && m->hash != n->hash)
		m = m->next;
	return m;
}

static inline void table_add(struct table *t, struct table_node *n,
			     uint64_t hash)
{
	struct table_node **b = &t->buckets[hash & t->mask];

	n->hash = hash;
	n->next = *b;
	*b = n;
	t->n++;
}

static inline void table_del(struct table *t, struct table_node *n)
{
	struct table_node **p = &t->buckets[n->hash & t->mask];

	while (*p && *p != n)
		p = &(*p)->next;
	if (*p) {
		*p = n->next;
		t->n--;
	}
}

#endif /* EGRET_RESOLVER_TABLE_H */
