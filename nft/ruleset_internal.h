/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruleset_internal.h - tables, chains and rules into a batch
 */
#ifndef EGRET_NFT_RULESET_INTERNAL_H
#define EGRET_NFT_RULESET_INTERNAL_H

struct batch;
struct fw_config;

/** ruleset_put() - the gateway's ruleset; 0, -EINVAL, -ENOMEM or -ENOSPC */
int ruleset_put(struct batch *b, const struct fw_config *cfg);

/** ruleset_put_guard() - all but lo and @ifname closed; likewise */
int ruleset_put_guard(struct batch *b, const char *ifname);

#endif /* EGRET_NFT_RULESET_INTERNAL_H */
