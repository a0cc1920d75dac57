/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruleset_build.c - tables, chains and rules as messages of the batch
 */
#include <errno.h>
#include <stdio.h>

#include <libnftnl/chain.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include "nft/batch_internal.h"
#include "nft/ruleset_internal.h"

void ruleset_fail(struct ruleset *rs, int error)
{
	if (rs->error == 0)
		rs->error = error;
}

void ruleset_add_table(struct ruleset *rs, uint32_t family, const char *table)
{
	struct nftnl_table *t = nftnl_table_alloc();

	rs->family = family;
	rs->table = table;
	if (!t || nftnl_table_set_str(t, NFTNL_TABLE_NAME, table) < 0) {
		ruleset_fail(rs, -ENOMEM);
	} else {
		struct nlmsghdr *nlh =
			batch_put(rs->batch, NFT_MSG_NEWTABLE, (uint16_t)family,
				  NLM_F_CREATE | NLM_F_EXCL);

		if (nlh) {
			nftnl_table_nlmsg_build_payload(nlh, t);
			batch_finish(rs->batch, nlh);
		} else {
			ruleset_fail(rs, -ENOSPC);
		}
	}
	if (t)
		nftnl_table_free(t);
}

static int fill_chain(const struct ruleset *rs, struct nftnl_chain *c,
		      const char *name, const struct ruleset_hook *hook)
{
	nftnl_chain_set_u32(c, NFTNL_CHAIN_FAMILY, rs->family);
	if (nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, rs->table) < 0 ||
	    nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, name) < 0)
		return -ENOMEM;
	if (!hook)
		return 0;
	if (nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, "filter") < 0)
		return -ENOMEM;
	nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, hook->num);
	nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, hook->prio);
	nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, NF_DROP);
	if (hook->dev && nftnl_chain_set_str(c, NFTNL_CHAIN_DEV, hook->dev) < 0)
		return -ENOMEM;
	return 0;
}

/* @hook: NULL for a chain that is only gone to. */
void ruleset_add_chain(struct ruleset *rs, const char *name,
		       const struct ruleset_hook *hook)
{
	struct nftnl_chain *c = nftnl_chain_alloc();

	if (!c || fill_chain(rs, c, name, hook) < 0) {
		ruleset_fail(rs, -ENOMEM);
	} else {
		struct nlmsghdr *nlh = batch_put(rs->batch, NFT_MSG_NEWCHAIN,
						 (uint16_t)rs->family,
						 NLM_F_CREATE | NLM_F_EXCL);

		if (nlh) {
			nftnl_chain_nlmsg_build_payload(nlh, c);
			batch_finish(rs->batch, nlh);
		} else {
			ruleset_fail(rs, -ENOSPC);
		}
	}
	if (c)
		nftnl_chain_free(c);
}

void ruleset_begin(const struct ruleset *rs, struct rule *r, const char *chain)
{
	rule_init(r, rs->family, rs->table, chain);
}

/* The rule is complete: into the batch with it. */
void ruleset_end(struct ruleset *rs, struct rule *r)
{
	if (r->error) {
		ruleset_fail(rs, r->error);
	} else {
		struct nlmsghdr *nlh = batch_put(rs->batch, NFT_MSG_NEWRULE,
						 (uint16_t)rs->family,
						 NLM_F_CREATE | NLM_F_APPEND);

		if (nlh) {
			nftnl_rule_nlmsg_build_payload(nlh, r->nft);
			batch_finish(rs->batch, nlh);
		} else {
			ruleset_fail(rs, -ENOSPC);
		}
	}
	rule_done(r);
}

void ruleset_end_with(struct ruleset *rs, struct rule *r, int verdict,
		      const char *chain)
{
	rule_verdict(r, verdict, chain);
	ruleset_end(rs, r);
}

void ruleset_drop(struct ruleset *rs, struct rule *r)
{
	ruleset_end_with(rs, r, NF_DROP, NULL);
}

void ruleset_go(struct ruleset *rs, struct rule *r, const char *chain)
{
	ruleset_end_with(rs, r, NFT_GOTO, chain);
}
