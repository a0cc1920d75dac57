/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c - deduplicated refusal lines */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/loop.h"
#include "gateway/event.h"
#include "gateway/report.h"

#define SANDBOX_ID_MAX 128

struct kind {
	uint64_t key; /* of what and why; 0: free */
	pid_t pid;    /* who; 0: unknown */
	char comm[EVENT_COMM_MAX];
	uint64_t until_ms; /* the window's end */
	uint64_t repeats;  /* after the first */
	char *sentence;	   /* what was printed first */
};

struct report {
	struct loop *loop;
	struct loop_timer timer;
	report_line_fn *print;
	void *ctx;
	char sandbox[SANDBOX_ID_MAX];
	struct kind kinds[REPORT_KINDS_MAX];
	uint64_t n_refused;
	uint64_t flood; /* kinds beyond what is printed, this window */
	uint64_t flood_until_ms;
	uint32_t lines; /* new kinds printed in this flood window */
};

int report_new(struct report **ret, struct loop *loop, const char *sandbox,
	       report_line_fn *print, void *ctx, struct err *err)
{
	struct report *r;

	r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->loop = loop;
	r->print = print;
	r->ctx = ctx;
	(void)snprintf(r->sandbox, sizeof(r->sandbox), "%s", sandbox);
	*ret = r;
	return 0;
}

/* A and AAAA of one name are one look-up for a person. */
static bool is_address_lookup(const struct event *e)
{
	return e->kind == EVENT_KIND_DNS &&
	       (!strcmp(e->qtype, "A") || !strcmp(e->qtype, "AAAA"));
}

static uint64_t key_of(const struct event *e)
{
	struct event k;
	uint64_t key;

	memset(&k, 0, sizeof(k));
	k.kind = e->kind;
	k.reason = e->reason;
	k.addr = e->addr;
	k.port = e->port;
	memcpy(k.name, e->name, strnlen(e->name, sizeof(k.name) - 1));
	if (!is_address_lookup(e))
		memcpy(k.qtype, e->qtype,
		       strnlen(e->qtype, sizeof(k.qtype) - 1));
	if (e->kind == EVENT_KIND_PACKET)
		memcpy(k.text, e->text, strnlen(e->text, sizeof(k.text) - 1));
	key = hash_bytes(&k, sizeof(k));
	return key ? key : 1;
}

static void close_kind(struct report *r, struct kind *k)
{
	char line[EVENT_LINE_MAX];

	/* One repeat is the AAAA beside the A, or a resolver's second try:
	   nothing that a person needs to hear about again. */
	if (k->repeats > 1) {
		(void)snprintf(line, sizeof(line),
			       "%s (%" PRIu64 " times more)", k->sentence,
			       k->repeats);
		r->print(r->ctx, line);
	}
	free(k->sentence);
	memset(k, 0, sizeof(*k));
}

static void close_flood(struct report *r)
{
	char line[EVENT_LINE_MAX];

	if (r->flood) {
		(void)snprintf(line, sizeof(line),
			       "refused %" PRIu64 " other things that aren't "
			       "shown one by one; --events FILE has them all",
			       r->flood);
		r->print(r->ctx, line);
	}
	r->flood = 0;
	r->lines = 0;
	r->flood_until_ms = 0;
}

static void on_timer(struct loop_timer *t)
{
	struct report *r = container_of(t, struct report, timer);
	uint64_t now_ms = clock_now_ms();
	uint64_t next_ms = UINT64_MAX;
	size_t i;

	for (i = 0; i < REPORT_KINDS_MAX; i++) {
		struct kind *k = &r->kinds[i];

		if (k->key && k->until_ms <= now_ms)
			close_kind(r, k);
		if (k->key && k->until_ms < next_ms)
			next_ms = k->until_ms;
	}
	if (r->flood_until_ms && r->flood_until_ms <= now_ms)
		close_flood(r);
	if (r->flood_until_ms && r->flood_until_ms < next_ms)
		next_ms = r->flood_until_ms;
	if (next_ms != UINT64_MAX)
		/* Failing only delays a count to the end of the run. */
		(void)loop_set_timer(r->loop, &r->timer, next_ms - now_ms,
				     on_timer);
}

/* A script that starts one program many times is one who. A process that
   couldn't be found is taken for one that was: it is as a rule, and a line
   without a name says nothing new. */
static bool is_same_process(const struct kind *k, const struct event *e)
{
	return !e->pid || e->pid == k->pid ||
	       (e->comm[0] && !strcmp(e->comm, k->comm));
}

static struct kind *find(struct report *r, uint64_t key, const struct event *e,
			 struct kind **ret_free)
{
	size_t i;

	*ret_free = NULL;
	for (i = 0; i < REPORT_KINDS_MAX; i++) {
		if (r->kinds[i].key == key && is_same_process(&r->kinds[i], e))
			return &r->kinds[i];
		if (!r->kinds[i].key && !*ret_free)
			*ret_free = &r->kinds[i];
	}
	return NULL;
}

void report_refused(struct report *r, const struct event *e)
{
	uint64_t key = key_of(e), now_ms = clock_now_ms();
	uint32_t n = e->count ? e->count : 1;
	char line[EVENT_LINE_MAX];
	struct kind *k, *slot;

	r->n_refused += n;
	k = find(r, key, e, &slot);
	if (k) {
		k->repeats += n;
		return;
	}
	if (!r->flood_until_ms)
		r->flood_until_ms = now_ms + REPORT_WINDOW_MS;
	if (!loop_timer_is_set(&r->timer))
		(void)loop_set_timer(r->loop, &r->timer, REPORT_WINDOW_MS,
				     on_timer);
	if (!slot || r->lines >= REPORT_LINES_MAX) {
		r->flood += n;
		return;
	}
	event_sentence(e, r->sandbox, line, sizeof(line));
	slot->sentence = strdup(line);
	if (!slot->sentence) {
		r->flood += n;
		return;
	}
	slot->key = key;
	slot->pid = e->pid;
	(void)snprintf(slot->comm, sizeof(slot->comm), "%s", e->comm);
	slot->until_ms = now_ms + REPORT_WINDOW_MS;
	slot->repeats = n - 1;
	r->lines++;
	r->print(r->ctx, line);
}

uint64_t report_n_refused(const struct report *r)
{
	return r->n_refused;
}

void report_free(struct report *r)
{
	size_t i;

	if (!r)
		return;
	loop_del_timer(&r->timer);
	for (i = 0; i < REPORT_KINDS_MAX; i++)
		if (r->kinds[i].key)
			close_kind(r, &r->kinds[i]);
	close_flood(r);
	free(r);
}

void report_freep(struct report **r)
{
	report_free(*r);
	*r = NULL;
}
