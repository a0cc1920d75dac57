/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asker.c - who asked for what was refused, and the answers that wait for it
 *
 * Theory of operation. A held answer has a slot; its ticket is the slot's
 * number and a count, so that a ticket that comes late finds nothing. One timer
 * serves all: it is set for the oldest and looks at every slot when it fires.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/asker.h"

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "netns/sockdiag.h"

struct held {
	uint32_t ticket; /* 0: free */
	uint64_t due_ms;
	uint8_t len;
	uint8_t syn[ASKER_SYN_MAX];
};
_Static_assert(ASKER_SYN_MAX <= UINT8_MAX, "held.len");

struct asker {
	struct loop *loop;
	struct loop_timer timer;
	struct sockdiag *diag;
	asker_release_fn *release;
	void *ctx;
	uint32_t count; /* of tickets given out, in slots */
	struct held held[ASKER_HELD_MAX];
	uint64_t second_ms; /* when the present second of look-ups began */
	uint32_t n_lookups; /* in it */
};
_Static_assert((ASKER_HELD_MAX & (ASKER_HELD_MAX - 1)) == 0,
	       "the count wraps at a multiple");

int asker_new(struct asker **ret, struct loop *loop, struct sockdiag *diag,
	      asker_release_fn *release, void *ctx, struct err *err)
{
	struct asker *a = calloc(1, sizeof(*a));

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->loop = loop;
	a->diag = diag;
	a->release = release;
	a->ctx = ctx;
	*ret = a;
	return 0;
}

void asker_free(struct asker *a)
{
	if (!a)
		return;
	loop_del_timer(&a->timer);
	free(a);
}

/* ---- look-ups ---- */

static bool may_look_up(struct asker *a)
{
	uint64_t now_ms = clock_now_ms();

	if (now_ms - a->second_ms >= CLOCK_MS_PER_S) {
		a->second_ms = now_ms;
		a->n_lookups = 0;
	}
	return a->n_lookups++ < ASKER_LOOKUPS_PER_S;
}

uint64_t asker_find_socket(struct asker *a, int proto,
			   const struct endpoint *src,
			   const struct endpoint *dst)
{
	uint32_t inode = 0;

	if ((proto != IPPROTO_TCP && proto != IPPROTO_UDP) || !may_look_up(a))
		return 0;
	/* No socket, no permission, a broken one: the line has no name. */
	(void)sockdiag_find(a->diag, proto, src, dst, &inode);
	return inode;
}

/* ---- answers that wait ---- */

static void let_go(struct asker *a, struct held *h)
{
	uint32_t ticket = h->ticket;

	h->ticket = 0;
	a->release(a->ctx, ticket, h->len ? h->syn : NULL, h->len);
}

static void on_due(struct loop_timer *t)
{
	struct asker *a = container_of(t, struct asker, timer);
	uint64_t now_ms = clock_now_ms(), next_ms = UINT64_MAX;

	for (size_t i = 0; i < ASKER_HELD_MAX; i++) {
		struct held *h = &a->held[i];

		if (h->ticket && h->due_ms <= now_ms)
			let_go(a, h);
		if (h->ticket && h->due_ms < next_ms)
			next_ms = h->due_ms;
	}
	if (next_ms == UINT64_MAX ||
	    loop_set_timer(a->loop, &a->timer, next_ms - now_ms, on_due) == 0)
		return;
	for (size_t i = 0; i < ASKER_HELD_MAX; i++) /* no timer, no waiting */
		if (a->held[i].ticket)
			let_go(a, &a->held[i]);
}

uint32_t asker_hold(struct asker *a, const uint8_t *syn, size_t len)
{
	size_t i = 0;

	if (len > ASKER_SYN_MAX)
		return 0;
	while (i < ASKER_HELD_MAX && a->held[i].ticket)
		i++;
	if (i == ASKER_HELD_MAX ||
	    (!loop_timer_is_set(&a->timer) &&
	     loop_set_timer(a->loop, &a->timer, ASKER_HOLD_MS, on_due) < 0))
		return 0;
	a->count += ASKER_HELD_MAX;
	if (!a->count)
		a->count += ASKER_HELD_MAX; /* no ticket is 0 */
	a->held[i].ticket = a->count + (uint32_t)i;
	a->held[i].due_ms = clock_now_ms() + ASKER_HOLD_MS;
	a->held[i].len = (uint8_t)len;
	if (len)
		memcpy(a->held[i].syn, syn, len);
	return a->held[i].ticket;
}

static struct held *find_held(struct asker *a, uint32_t ticket)
{
	struct held *h = &a->held[ticket % ASKER_HELD_MAX];

	return ticket && h->ticket == ticket ? h : NULL;
}

void asker_forget(struct asker *a, uint32_t ticket)
{
	struct held *h = find_held(a, ticket);

	if (h)
		h->ticket = 0;
}

void asker_release(struct asker *a, uint32_t ticket)
{
	struct held *h = find_held(a, ticket);

	if (h)
		let_go(a, h);
}
