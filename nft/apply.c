/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apply.c - a policy change: elements to delete and to add, at once
 *
 * It is one atomic batch if it fits. If not (thousands of networks), it is cut
 * so that nothing is open in between that is closed before and after: first
 * what opens is deleted, then what closes is exchanged, then what opens is
 * added. Only between deletions and additions of the closing sets themselves
 * something may be open too early, and only what is open before or after.
 */
#include <errno.h>

#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "nft/fw_internal.h"

/* A change and how much of it; masks as in struct sets_job. */
struct apply {
	struct sets_change del, add;
	uint32_t del_mask, add_mask;
};

static int refused(struct fw *fw, const struct batch_result *res,
		   struct err *err)
{
	fw->stats.failures++;
	return err_set_errno(err, res->error,
			     "the kernel refused the change of its sets%s%s",
			     res->why[0] ? ", " : "", res->why);
}

static struct sets_job del_job(const struct apply *a)
{
	return (struct sets_job){ .type = NFT_MSG_DELSETELEM,
				  .mask = a->del_mask,
				  .changes = &a->del,
				  .n_changes = 1 };
}

static struct sets_job add_job(const struct apply *a)
{
	return (struct sets_job){ .type = NFT_MSG_NEWSETELEM,
				  .flags = NLM_F_CREATE | NLM_F_EXCL,
				  .mask = a->add_mask,
				  .changes = &a->add,
				  .n_changes = 1 };
}

/* Acknowledgements were lost: bring about the state that was asked for. */
static int settle(struct fw *fw, const struct apply *a, struct err *err)
{
	struct batch_result res = { 0 };

	res.error = fw_settle_del(fw, &a->del);
	if (res.error == 0)
		res.error = fw_settle_add(fw, &a->add);
	return res.error < 0 ? refused(fw, &res, err) : 0;
}

/* Return: 1 when it doesn't fit into one batch, 0, or negative errno. */
static int apply_at_once(struct fw *fw, const struct apply *a, struct err *err)
{
	struct sets_job del = del_job(a), add = add_job(a);
	struct batch_result res = { 0 };
	int r = fw_fill(fw, &del, &add);

	if (r == -ENOSPC)
		return 1;
	if (r < 0) {
		res.error = r;
		return refused(fw, &res, err);
	}
	fw_send(fw, &res);
	if (res.unknown)
		return settle(fw, a, err);
	return res.error < 0 ? refused(fw, &res, err) : 0;
}

static int apply_part(struct fw *fw, const struct apply *a,
		      struct batch_result *res)
{
	struct sets_job del = del_job(a), add = add_job(a);
	int r;

	do {
		r = fw_fill(fw, &del, &add);
		if (r < 0 && r != -ENOSPC) {
			res->error = r;
			return r;
		}
		fw_send(fw, res);
		if (res->error < 0)
			return res->error;
	} while (r == -ENOSPC);
	return 0;
}

static int apply_in_parts(struct fw *fw, const struct apply *whole,
			  struct err *err)
{
	const uint32_t closing =
		sets_mask(FW_SET_DENY) | sets_mask(FW_SET_CLOSED);
	const uint32_t opening = SETS_ALL & ~closing;
	const uint32_t masks[][2] = { { opening, 0 },
				      { closing, closing },
				      { 0, opening } };
	struct batch_result res = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		struct apply part = *whole;

		part.del_mask = masks[i][0];
		part.add_mask = masks[i][1];
		if (apply_part(fw, &part, &res) < 0)
			break;
	}
	if (res.unknown)
		return settle(fw, whole, err);
	return res.error < 0 ? refused(fw, &res, err) : 0;
}

int fw_apply(struct fw *fw, const struct fw_elem *del, size_t n_del,
	     const struct fw_elem *add, size_t n_add, struct err *err)
{
	struct apply a = { .del = { .elems = del, .n = n_del },
			   .add = { .elems = add, .n = n_add },
			   .del_mask = SETS_ALL,
			   .add_mask = SETS_ALL };
	int r = apply_at_once(fw, &a, err);

	if (r > 0)
		r = apply_in_parts(fw, &a, err);
	if (r < 0)
		return r;
	fw->stats.dels += n_del;
	fw->stats.adds += n_add;
	return 0;
}
