/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timer_internal.h - binary heap of the loop's timers
 *
 * Timers with one time come out in the order in which they were set.
 */
#ifndef EGRET_BASE_TIMER_INTERNAL_H
#define EGRET_BASE_TIMER_INTERNAL_H

#include <stdint.h>

struct loop_timer;
struct timer_slot;

/* Zero-initialised is empty. */
struct timer_heap {
	struct timer_slot *slots;
	uint32_t used;
	uint32_t room;
	uint64_t next_seq; /* breaks ties between equal times */
};

/** timer_heap_done() - disarm everything and free the heap's memory */
void timer_heap_done(struct timer_heap *h);

/**
 * timer_heap_set() - put @t in, or move it if it's in
 *
 * Return: 0, or -ENOMEM (@t as it was).
 */
int timer_heap_set(struct timer_heap *h, struct loop_timer *t, uint64_t due_ms);

/** timer_heap_del() - take @t out; it must be in */
void timer_heap_del(struct timer_heap *h, struct loop_timer *t);

/** timer_heap_first() - the earliest, or NULL */
struct loop_timer *timer_heap_first(const struct timer_heap *h);

/** timer_heap_due() - the earliest if due by @now_ms and set before @before_seq
 */
struct loop_timer *timer_heap_due(const struct timer_heap *h, uint64_t now_ms,
				  uint64_t before_seq);

#endif /* EGRET_BASE_TIMER_INTERNAL_H */
