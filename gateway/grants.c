/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grants.c - from a resolver's grant to transactions, and the result back
 *
 * One grant becomes up to two transactions, since joining ranges on an address
 * may delete one element for another: deletions and additions. They are in one
 * batch; the grant is done when both are. An addition that failed closes
 * nothing and is only reported. A deletion that failed leaves something open,
 * so the network must end (P8).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "gateway/grants.h"
#include "nft/fw.h"

#define WHY_MAX 256

struct grants {
	struct fw *fw;
	struct openings *openings;
	grants_broken_fn *broken;
	void *ctx;
};

struct grant_op {
	struct grants *gs;
	struct resolver_grant *g;
	struct fw_txn txn_del, txn_add;
	struct elem_diff diff;
	int waiting; /* transactions whose result is still to come */
	int result;  /* the first failure, or 0 */
	char why[WHY_MAX];
};

int grants_new(struct grants **ret, struct fw *fw, grants_broken_fn *broken,
	       void *ctx)
{
	_cleanup_(grants_freep) struct grants *gs = NULL;
	int r;

	gs = calloc(1, sizeof(*gs));
	if (!gs)
		return -ENOMEM;
	gs->fw = fw;
	gs->broken = broken;
	gs->ctx = ctx;
	r = openings_new(&gs->openings);
	if (r < 0)
		return r;
	*ret = ptr_steal(&gs);
	return 0;
}

void grants_free(struct grants *gs)
{
	if (!gs)
		return;
	openings_free(gs->openings);
	free(gs);
}

void grants_freep(struct grants **gs)
{
	grants_free(*gs);
	*gs = NULL;
}

struct openings *grants_openings(struct grants *gs)
{
	return gs->openings;
}

static void finish(struct grant_op *op)
{
	struct resolver_grant *g = op->g;
	char why[WHY_MAX];
	int result = op->result;

	(void)snprintf(why, sizeof(why), "%s", op->why);
	elem_diff_done(&op->diff);
	free(op);
	g->impl = NULL;
	g->done(g, result, result < 0 && why[0] ? why : NULL);
}

static void note_failure(struct grant_op *op, int result, const char *why)
{
	if (op->result < 0)
		return;
	op->result = result;
	if (why)
		(void)snprintf(op->why, sizeof(op->why), "%s", why);
}

static void one_less(struct grant_op *op)
{
	if (--op->waiting == 0)
		finish(op);
}

static void on_add_done(struct fw_txn *t, int result, const char *why)
{
	struct grant_op *op = container_of(t, struct grant_op, txn_add);

	if (result < 0) {
		/* Then it isn't known what the kernel has (fw.h). */
		if (result == -EIO)
			op->gs->broken(op->gs->ctx, why ? why : "lost answers");
		/* What this one was to close is closed. */
		if (!op->g->del)
			note_failure(op, result, why);
		openings_fail(op->gs->openings, op->g->elems,
			      op->g->del ? 0 : op->g->n, op->diff.add.v,
			      op->diff.add.n);
	} else {
		openings_confirm(op->gs->openings, op->diff.add.v,
				 op->diff.add.n);
	}
	one_less(op);
}

static void on_del_done(struct fw_txn *t, int result, const char *why)
{
	struct grant_op *op = container_of(t, struct grant_op, txn_del);

	if (result < 0) {
		note_failure(op, result, why);
		op->gs->broken(op->gs->ctx, why ? why : "no reason given");
	}
	one_less(op);
}

static void submit_txn(struct grant_op *op, struct fw_txn *t,
		       const struct elem_vec *vec, bool del,
		       void (*done)(struct fw_txn *, int, const char *))
{
	if (!vec->n)
		return;
	t->elems = vec->v;
	t->n = vec->n;
	t->del = del;
	t->done = done;
	fw_submit(op->gs->fw, t);
}

void grants_submit(struct grants *gs, struct resolver_grant *g)
{
	struct grant_op *op = calloc(1, sizeof(*op));
	int r;

	if (!op) {
		g->done(g, -ENOMEM, NULL);
		return;
	}
	op->gs = gs;
	op->g = g;
	g->impl = op;
	r = openings_change(gs->openings, g->elems, g->del ? g->n : 0, g->elems,
			    g->del ? 0 : g->n, &op->diff);
	if (r < 0) {
		/* The bookkeeping may be behind the kernel: nothing may stay
		   open that it doesn't know of. */
		gs->broken(gs->ctx, "out of memory");
		op->result = r;
		finish(op);
		return;
	}
	/* Counted first: no result can finish the other's operation early. */
	op->waiting = 1 + (op->diff.del.n > 0) + (op->diff.add.n > 0);
	submit_txn(op, &op->txn_del, &op->diff.del, true, on_del_done);
	submit_txn(op, &op->txn_add, &op->diff.add, false, on_add_done);
	one_less(op);
}
