/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fw_internal.h - what fw.c, txn.c and apply.c share; a seam for unit tests
 */
#ifndef EGRET_NFT_FW_INTERNAL_H
#define EGRET_NFT_FW_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "nft/batch_internal.h"
#include "nft/fw.h"
#include "nft/sets_internal.h"

struct err;

/* Transactions in one batch at most; a bigger turn takes several. */
#define FW_TXNS_MAX 1024

struct fw {
	struct batch_io io;
	int nl_fd; /* not owned; -1 with another transport */
	struct batch batch;
	uint32_t seq; /* last sequence number used */
	struct list queue;
	bool is_flushing;
	struct fw_stats stats;
	struct sets_change changes[FW_TXNS_MAX]; /* of the batch being made */
};

/**
 * fw_new_with() - as fw_new(), with another transport
 * @io:       copied
 * @max_len:  bytes of one batch
 * @max_msgs: messages of one batch
 */
int fw_new_with(struct fw **ret, const struct batch_io *io, size_t max_len,
		uint32_t max_msgs, struct err *err);

/**
 * fw_fill() - a new batch of @del and then @add, either may be NULL
 *
 * Return: 0; -ENOSPC when it is full and the jobs aren't at their ends;
 * -EINVAL.
 */
int fw_fill(struct fw *fw, struct sets_job *del, struct sets_job *add);

/** fw_send() - run the batch made by fw_fill(); an empty one succeeds */
void fw_send(struct fw *fw, struct batch_result *ret);

/**
 * fw_settle_del() - after an unknown outcome: delete each element by itself
 *
 * Return: 0 when none of them is in the kernel any more, or negative errno.
 */
int fw_settle_del(struct fw *fw, const struct sets_change *c);

/**
 * fw_settle_add() - after an unknown outcome: add again, which is harmless; if
 * that fails, see to it that none of the elements is there
 *
 * Return: 0 when all are in the kernel, or negative errno.
 */
int fw_settle_add(struct fw *fw, const struct sets_change *c);

#endif /* EGRET_NFT_FW_INTERNAL_H */
