/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease_heap.c - leases in order of the time to look at them
 *
 * The key is when to look, not when it ends: a renewal moves only expiry_ms,
 * and the lease finds its new place when its old time comes.
 */
#include "resolver/lease_internal.h"

static void put_at(struct lease_table *t, uint32_t i, struct lease *l)
{
	t->heap[i] = l;
	l->heap_at = i;
}

static void sift_up(struct lease_table *t, uint32_t i, struct lease *l)
{
	while (i && t->heap[(i - 1) / 2]->check_ms > l->check_ms) {
		put_at(t, i, t->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put_at(t, i, l);
}

static void sift_down(struct lease_table *t, uint32_t i, struct lease *l)
{
	for (;;) {
		uint32_t c = 2 * i + 1;

		if (c >= t->n_heap)
			break;
		if (c + 1 < t->n_heap &&
		    t->heap[c + 1]->check_ms < t->heap[c]->check_ms)
			c++;
		if (t->heap[c]->check_ms >= l->check_ms)
			break;
		put_at(t, i, t->heap[c]);
		i = c;
	}
	put_at(t, i, l);
}

int lease_heap_push(struct lease_table *t, struct lease *l)
{
	if (t->n_heap == t->cap_heap) {
		uint32_t cap = t->cap_heap ? 2 * t->cap_heap : 64;
		struct lease **heap =
			reallocarray(t->heap, cap, sizeof(struct lease *));

		if (!heap)
			return -ENOMEM;
		t->heap = heap;
		t->cap_heap = cap;
	}
	sift_up(t, t->n_heap++, l);
	return 0;
}

void lease_heap_remove(struct lease_table *t, struct lease *l)
{
	struct lease *last = t->heap[--t->n_heap];
	uint32_t at = l->heap_at;

	if (last == l)
		return;
	sift_up(t, at, last);
	sift_down(t, last->heap_at, last);
}

void lease_heap_later(struct lease_table *t, struct lease *l)
{
	sift_down(t, l->heap_at, l);
}
