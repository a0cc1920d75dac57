/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * batch_internal.h - an nfnetlink batch and what the kernel says to it
 */
#ifndef EGRET_NFT_BATCH_INTERNAL_H
#define EGRET_NFT_BATCH_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct nlmsghdr;

/* Room that batch_put() promises to the message (the largest rule has 1 KiB).
 */
#define BATCH_MSG_ROOM 4096
#define BATCH_WHY_LEN  128

/*
 * How messages travel; replaced in unit tests. Both return bytes or a negative
 * errno; recv never waits, and says -EMSGSIZE for a cut datagram and 0 for one
 * that isn't the kernel's.
 */
struct batch_io {
	ssize_t (*send)(void *ctx, const void *data, size_t len);
	ssize_t (*recv)(void *ctx, void *data, size_t size);
	void *ctx;
};

struct batch {
	uint8_t *buf;
	size_t size, len;
	uint32_t seq_begin; /* of the begin message */
	uint32_t n_msgs;    /* messages since, each to be acknowledged */
	uint32_t max_msgs;  /* acknowledgements that the socket can queue */
};

struct batch_result {
	int error;    /* 0, or negative errno: nothing was changed */
	bool unknown; /* acknowledgements were lost; error is set too */
	bool whole;   /* the error is about the batch, not about one message */
	uint32_t msg; /* otherwise the first bad message, from 1 */
	char why[BATCH_WHY_LEN]; /* extended error, "" without one */
};

/** batch_alloc() - room for @size bytes and @max_msgs messages, or -ENOMEM */
int batch_alloc(struct batch *b, size_t size, uint32_t max_msgs);
void batch_free(struct batch *b);

/** batch_begin() - start anew; @seq: last sequence number used on the socket */
void batch_begin(struct batch *b, uint32_t seq);

/**
 * batch_put() - a message of nftables with BATCH_MSG_ROOM bytes of room
 * @type:  NFT_MSG_*
 * @flags: NLM_F_* besides REQUEST and ACK
 *
 * Return: its header, to be finished by batch_finish(), or NULL when full.
 */
struct nlmsghdr *batch_put(struct batch *b, uint16_t type, uint16_t family,
			   uint16_t flags);
void batch_finish(struct batch *b, const struct nlmsghdr *nlh);

/** batch_left() - bytes that a message may still grow by */
size_t batch_left(const struct batch *b, const struct nlmsghdr *nlh);

/**
 * batch_run() - send, and read every acknowledgement
 *
 * Return: the last sequence number used. @ret is always filled.
 */
uint32_t batch_run(struct batch *b, const struct batch_io *io,
		   struct batch_result *ret);

#endif /* EGRET_NFT_BATCH_INTERNAL_H */
