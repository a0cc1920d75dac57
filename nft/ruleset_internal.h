/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruleset_internal.h - tables, chains and rules into a batch
 */
#ifndef EGRET_NFT_RULESET_INTERNAL_H
#define EGRET_NFT_RULESET_INTERNAL_H

#include <stdint.h>

#include "nft/expr_internal.h"

struct batch;
struct fw_config;

/* Offsets within their headers. */
#define ETH_TYPE_OFFSET 12
#define IP4_SADDR	12
#define IP4_DADDR	16
#define IP6_NEXTHDR	6
#define IP6_SADDR	8
#define IP6_DADDR	24
#define TH_DPORT	2
#define ICMP_TYPE	0
#define ICMP_CODE	1

#define LL NFT_PAYLOAD_LL_HEADER
#define NH NFT_PAYLOAD_NETWORK_HEADER
#define TH NFT_PAYLOAD_TRANSPORT_HEADER

/** ruleset_put() - the gateway's ruleset; 0, -EINVAL, -ENOMEM or -ENOSPC */
int ruleset_put(struct batch *b, const struct fw_config *cfg);

/** ruleset_put_guard() - all but lo and @ifname closed; likewise */
int ruleset_put_guard(struct batch *b, const char *ifname);

/* ---- for the ruleset's own files ---- */

/* Everything is put into one batch; the first error stays. */
struct ruleset {
	struct batch *batch;
	const struct fw_config *cfg;
	uint32_t family;   /* of the table being filled */
	const char *table; /* likewise */
	int error;
};

/* A base chain's place; dev only in the netdev family. */
struct ruleset_hook {
	uint32_t num;
	int32_t prio;
	const char *dev;
};

void ruleset_fail(struct ruleset *rs, int error);

/** ruleset_add_table() - what is added from now on belongs to it */
void ruleset_add_table(struct ruleset *rs, uint32_t family, const char *table);

/** ruleset_add_chain() - @hook: NULL for a chain that is only gone to */
void ruleset_add_chain(struct ruleset *rs, const char *name,
		       const struct ruleset_hook *hook);

/** ruleset_begin() - a rule at the end of @chain, finished by one of the next
 */
void ruleset_begin(const struct ruleset *rs, struct rule *r, const char *chain);
void ruleset_end(struct ruleset *rs, struct rule *r);
void ruleset_end_with(struct ruleset *rs, struct rule *r, int verdict,
		      const char *chain);
void ruleset_drop(struct ruleset *rs, struct rule *r);
void ruleset_go(struct ruleset *rs, struct rule *r, const char *chain);

/** ruleset_add_judges() - the chains judge4/6, echo4/6, open and refuse */
void ruleset_add_judges(struct ruleset *rs);

#endif /* EGRET_NFT_RULESET_INTERNAL_H */
