/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * txn.c - transactions: queued during a turn, committed together
 *
 * A flush orders them deletions first, cuts the row into batches, and commits
 * each. Only if a turn deletes and adds the very same element does the order of
 * submission decide the outcome; then each transaction goes alone, as queued.
 *
 * When a batch fails, the kernel has undone all of it and each transaction is
 * tried alone. When its outcome is unknown (acknowledgements lost), each is
 * settled: an addition is repeated, which does nothing if it had worked, and is
 * removed if that fails too; a deletion is repeated element by element, and one
 * that isn't there is as good as deleted.
 *
 * done() may submit, cancel and free transactions; all that are still to be
 * told are on a list, so a cancelled one is simply gone from it. What done()
 * submits waits for the next flush.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "nft/fw_internal.h"

/* Attributes besides elements: the headers of both passes, begin and end. */
#define TXN_BATCH_COST (2 * SETS_HEAD_COST + 256)
#define TXN_SPLIT      32768 /* a list is certainly not cut below this length */
#define TXN_SPLIT_COST 128

static struct fw_txn *first(const struct list *l)
{
	return container_of(l->next, struct fw_txn, node);
}

static void move_tail(struct list *to, struct fw_txn *t)
{
	list_del(&t->node);
	list_add_tail(to, &t->node);
}

static void move_all(struct list *to, struct list *from)
{
	while (!list_empty(from))
		move_tail(to, first(from));
}

void fw_submit(struct fw *fw, struct fw_txn *t)
{
	list_add_tail(&fw->queue, &t->node);
}

void fw_cancel(struct fw_txn *t)
{
	if (t->node.next)
		list_del(&t->node);
}

bool fw_has_pending(const struct fw *fw)
{
	return !list_empty(&fw->queue);
}

/* ---- order ---- */

static bool is_same_elem(const struct fw_elem *a, const struct fw_elem *b)
{
	struct sets_key ka, kb;

	if (sets_encode(a, &ka) < 0 || sets_encode(b, &kb) < 0)
		return false;
	return ka.set == kb.set && memcmp(ka.key, kb.key, ka.len) == 0;
}

static size_t elem_slot(const struct fw_elem *e, size_t n_slots)
{
	struct sets_key k;

	if (sets_encode(e, &k) < 0)
		return 0;
	return hash_bytes(k.key, k.len) & (n_slots - 1);
}

/* Elements of all additions in an open hash table, at most half full. */
struct added {
	const struct fw_elem **slots;
	size_t n_slots;
};

static int collect_added(const struct list *work, struct added *ret)
{
	size_t n = 0, n_slots = 16;

	for (struct list *l = work->next; l != work; l = l->next) {
		const struct fw_txn *t = container_of(l, struct fw_txn, node);

		n += t->del ? 0 : t->n;
	}
	while (n_slots < 2 * n)
		n_slots *= 2;
	ret->slots = calloc(n_slots, sizeof(*ret->slots));
	ret->n_slots = n_slots;
	if (!ret->slots)
		return -ENOMEM;
	for (struct list *l = work->next; l != work; l = l->next) {
		const struct fw_txn *t = container_of(l, struct fw_txn, node);

		for (size_t i = 0; !t->del && i < t->n; i++) {
			size_t at = elem_slot(&t->elems[i], n_slots);

			while (ret->slots[at])
				at = (at + 1) & (n_slots - 1);
			ret->slots[at] = &t->elems[i];
		}
	}
	return 0;
}

static bool is_added(const struct added *a, const struct fw_elem *e)
{
	size_t at = elem_slot(e, a->n_slots);

	for (; a->slots[at]; at = (at + 1) & (a->n_slots - 1)) {
		if (is_same_elem(a->slots[at], e))
			return true;
	}
	return false;
}

static bool has_both_kinds(const struct list *work)
{
	bool add = false, del = false;

	for (struct list *l = work->next; l != work; l = l->next) {
		if (container_of(l, struct fw_txn, node)->del)
			del = true;
		else
			add = true;
	}
	return add && del;
}

/* Is some element both added and deleted? True when in doubt. */
static bool order_matters(const struct list *work)
{
	struct added a;
	bool found = false;

	if (!has_both_kinds(work))
		return false;
	if (collect_added(work, &a) < 0)
		return true;
	for (struct list *l = work->next; l != work && !found; l = l->next) {
		const struct fw_txn *t = container_of(l, struct fw_txn, node);

		for (size_t i = 0; t->del && i < t->n && !found; i++)
			found = is_added(&a, &t->elems[i]);
	}
	free(a.slots);
	return found;
}

static void put_deletions_first(struct list *work)
{
	struct list dels, adds;

	list_init(&dels);
	list_init(&adds);
	while (!list_empty(work)) {
		struct fw_txn *t = first(work);

		move_tail(t->del ? &dels : &adds, t);
	}
	move_all(work, &dels);
	move_all(work, &adds);
}

/* ---- outcome ---- */

static void finish(struct fw *fw, struct fw_txn *t, int result, const char *why)
{
	if (result < 0)
		fw->stats.failures++;
	else if (t->del)
		fw->stats.dels += t->n;
	else
		fw->stats.adds += t->n;
	list_del(&t->node);
	t->done(t, result, why && why[0] ? why : NULL);
}

static void finish_all(struct fw *fw, struct list *sent, int result,
		       const char *why)
{
	while (!list_empty(sent))
		finish(fw, first(sent), result, why);
}

static struct sets_job job_of(bool del, const struct sets_change *c, size_t n)
{
	return (struct sets_job){
		.type = del ? NFT_MSG_DELSETELEM : NFT_MSG_NEWSETELEM,
		.flags = del ? 0 : NLM_F_CREATE,
		.mask = SETS_ALL,
		.changes = c,
		.n_changes = n,
	};
}

static void settle(struct fw *fw, struct fw_txn *t)
{
	struct sets_change c = { .elems = t->elems, .n = t->n };
	int r = t->del ? fw_settle_del(fw, &c) : fw_settle_add(fw, &c);

	finish(fw, t, r, r < 0 ? "acknowledgements were lost" : NULL);
}

static void commit_alone(struct fw *fw, struct fw_txn *t)
{
	struct sets_change c = { .elems = t->elems, .n = t->n };
	struct sets_job job = job_of(t->del, &c, 1);
	struct batch_result res;
	int r = fw_fill(fw, &job, NULL);

	if (r < 0) {
		finish(fw, t, r == -ENOSPC ? -EMSGSIZE : r, NULL);
		return;
	}
	fw_send(fw, &res);
	if (res.unknown)
		settle(fw, t);
	else
		finish(fw, t, res.error, res.why);
}

/* ---- batches ---- */

static size_t cost_of(const struct fw_txn *t)
{
	size_t len = t->n * SETS_ELEM_COST;

	return len + len / TXN_SPLIT * TXN_SPLIT_COST;
}

/* Moves what fits into one batch from @work, whose deletions come first. */
static void take_batch(struct fw *fw, struct list *work, struct list *sent,
		       size_t *ret_n_del, size_t *ret_n_add)
{
	size_t cost = TXN_BATCH_COST, n_del = 0, n_add = 0;

	while (!list_empty(work) && n_del + n_add < FW_TXNS_MAX) {
		struct fw_txn *t = first(work);

		cost += cost_of(t);
		if (cost > fw->batch.size - BATCH_MSG_ROOM && n_del + n_add > 0)
			break;
		fw->changes[n_del + n_add] =
			(struct sets_change){ .elems = t->elems, .n = t->n };
		if (t->del)
			n_del++;
		else
			n_add++;
		move_tail(sent, t);
	}
	*ret_n_del = n_del;
	*ret_n_add = n_add;
}

static void commit_some(struct fw *fw, struct list *work)
{
	struct sets_job del, add;
	struct batch_result res;
	size_t n_del, n_add;
	struct list sent;
	int r;

	list_init(&sent);
	take_batch(fw, work, &sent, &n_del, &n_add);
	del = job_of(true, fw->changes, n_del);
	add = job_of(false, fw->changes + n_del, n_add);
	r = fw_fill(fw, &del, &add);
	if (r == 0) {
		fw_send(fw, &res);
		if (res.error == 0 || res.error == -EPERM) {
			/* Without permission none would fare better alone. */
			finish_all(fw, &sent, res.error, res.why);
			return;
		}
	} else {
		res = (struct batch_result){ .error = r };
	}
	while (!list_empty(&sent)) {
		if (res.unknown)
			settle(fw, first(&sent));
		else
			commit_alone(fw, first(&sent));
	}
}

void fw_flush(struct fw *fw)
{
	struct list work;

	if (fw->is_flushing)
		return;
	fw->is_flushing = true;
	list_init(&work);
	move_all(&work, &fw->queue);
	if (order_matters(&work)) {
		while (!list_empty(&work))
			commit_alone(fw, first(&work));
	}
	put_deletions_first(&work);
	while (!list_empty(&work))
		commit_some(fw, &work);
	fw->is_flushing = false;
}
