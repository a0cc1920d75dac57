/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timer.c - binary heap of the loop's timers
 *
 * slots[0] is the earliest; the children of i are 2i+1 and 2i+2, and no child
 * is earlier than its parent. Each timer knows its index (heap_at, plus one),
 * so removing one from the middle costs O(log n).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/loop.h"
#include "base/timer_internal.h"

#define ROOM_FIRST 64

struct timer_slot {
	struct loop_timer *timer;
	uint64_t due_ms; /* copied, so that sifting stays in this array */
	uint64_t seq;
};

static bool is_before(const struct timer_slot *a, const struct timer_slot *b)
{
	return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->seq < b->seq;
}

static void place(struct timer_heap *h, uint32_t at, struct timer_slot s)
{
	h->slots[at] = s;
	s.timer->heap_at = at + 1;
}

static void sift_up(struct timer_heap *h, uint32_t at, struct timer_slot s)
{
	while (at > 0) {
		uint32_t parent = (at - 1) / 2;

		if (!is_before(&s, &h->slots[parent]))
			break;
		place(h, at, h->slots[parent]);
		at = parent;
	}
	place(h, at, s);
}

static void sift_down(struct timer_heap *h, uint32_t at, struct timer_slot s)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= h->used)
			break;
		if (child + 1 < h->used &&
		    is_before(&h->slots[child + 1], &h->slots[child]))
			child++;
		if (!is_before(&h->slots[child], &s))
			break;
		place(h, at, h->slots[child]);
		at = child;
	}
	place(h, at, s);
}

/* Puts @s at @at, where the slot is free, and restores the order. */
static void settle(struct timer_heap *h, uint32_t at, struct timer_slot s)
{
	if (at > 0 && is_before(&s, &h->slots[(at - 1) / 2]))
		sift_up(h, at, s);
	else
		sift_down(h, at, s);
}

static int make_room(struct timer_heap *h)
{
	uint32_t room = h->room ? 2 * h->room : ROOM_FIRST;
	struct timer_slot *slots;

	if (h->used < h->room)
		return 0;
	if (room < h->room)
		return -ENOMEM;
	slots = reallocarray(h->slots, room, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	h->slots = slots;
	h->room = room;
	return 0;
}

void timer_heap_done(struct timer_heap *h)
{
	for (uint32_t i = 0; i < h->used; i++)
		h->slots[i].timer->heap_at = 0;
	free(h->slots);
	*h = (struct timer_heap){ 0 };
}

int timer_heap_set(struct timer_heap *h, struct loop_timer *t, uint64_t due_ms)
{
	struct timer_slot s = { .timer = t, .due_ms = due_ms };

	if (t->heap_at == 0) {
		int r = make_room(h);

		if (r < 0)
			return r;
		s.seq = h->next_seq++;
		t->due_ms = due_ms;
		sift_up(h, h->used++, s);
		return 0;
	}
	s.seq = h->next_seq++;
	t->due_ms = due_ms;
	settle(h, t->heap_at - 1, s);
	return 0;
}

void timer_heap_del(struct timer_heap *h, struct loop_timer *t)
{
	uint32_t at = t->heap_at - 1;
	struct timer_slot last = h->slots[--h->used];

	t->heap_at = 0;
	if (last.timer != t)
		settle(h, at, last);
}

struct loop_timer *timer_heap_first(const struct timer_heap *h)
{
	return h->used ? h->slots[0].timer : NULL;
}

struct loop_timer *timer_heap_due(const struct timer_heap *h, uint64_t now_ms,
				  uint64_t before_seq)
{
	/*
	 * One set in the meantime is due at @now_ms or later, so it hides no
	 * older one that is due: equal times are in the order of setting.
	 */
	if (h->used == 0 || h->slots[0].due_ms > now_ms ||
	    h->slots[0].seq >= before_seq)
		return NULL;
	return h->slots[0].timer;
}
