/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sets_internal.h - the sets of the ruleset and their elements on the wire
 */
#ifndef EGRET_NFT_SETS_INTERNAL_H
#define EGRET_NFT_SETS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nft/fw.h"

struct batch;

#define SETS_TABLE    "egret"
#define SETS_KEY_MAX  24 /* addr (16) . proto (4) . port (4) */
#define SETS_NAME_LEN 24

/* Each enum fw_set exists for IPv4 and for IPv6. */
#define SETS_N	 (FW_SET_MAX * 2)
#define SETS_ALL ((1U << SETS_N) - 1)

/* Upper bounds of what an element and the headers of one pass over all sets
   take in a batch, attributes included. */
#define SETS_ELEM_COST 76
#define SETS_HEAD_COST (SETS_N * 64)

/* An element as key and end of the key's interval. */
struct sets_key {
	unsigned int set; /* 0..SETS_N-1 */
	uint32_t len;	  /* of both */
	bool has_end;	  /* false: a single key, or an open end */
	bool rbtree;	  /* the end is an element of its own */
	uint8_t key[SETS_KEY_MAX];
	uint8_t end[SETS_KEY_MAX]; /* last (concatenation) or last + 1 (tree) */
};

/* Elements of one transaction as seen by sets_put(). */
struct sets_change {
	const struct fw_elem *elems;
	size_t n;
};

/* What sets_put() shall write, and how far it has come. */
struct sets_job {
	uint16_t type;	/* NFT_MSG_NEWSETELEM or NFT_MSG_DELSETELEM */
	uint16_t flags; /* further NLM_F_* flags */
	uint32_t mask;	/* only these sets */
	const struct sets_change *changes;
	size_t n_changes;
	/* where it goes on; zero at the start */
	unsigned int set;
	size_t change, elem;
};

/** sets_name() - "open4", "open6_anyport", ... */
const char *sets_name(enum fw_set set, bool v6, char dst[static SETS_NAME_LEN]);

/** sets_mask() - bit of both families of @set in a mask of sets_put() */
uint32_t sets_mask(enum fw_set set);

/** sets_define() - every set, empty, into the batch; 0 or -ENOMEM, -ENOSPC */
int sets_define(struct batch *b);

/**
 * sets_encode() - check an element and make its key
 *
 * ICMP means ICMPv6 where the address is IPv6. In FW_SET_ANYPORT and
 * FW_SET_CLOSED ports (and for CLOSED the protocol) don't count.
 * Return: 0, or -EINVAL when the set can't hold such an element.
 */
int sets_encode(const struct fw_elem *e, struct sets_key *ret);

/**
 * sets_put() - elements of @job as messages, grouped by set
 *
 * Return: 0 when all are in; -ENOSPC when the batch is full, to be continued
 * in another one; -EINVAL.
 */
int sets_put(struct batch *b, struct sets_job *job);

#endif /* EGRET_NFT_SETS_INTERNAL_H */
