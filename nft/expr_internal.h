/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expr_internal.h - one rule, built from small matches and actions
 *
 * A failed allocation is remembered in the rule, so a rule reads as a list of
 * calls and is checked once, when it goes into the batch.
 */
#ifndef EGRET_NFT_EXPR_INTERNAL_H
#define EGRET_NFT_EXPR_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

struct nftnl_rule;

struct rule {
	struct nftnl_rule *nft;
	int error; /* 0 or -ENOMEM, sticky */
};

/* A rule for a family's table and chain; rule_done() frees it. */
void rule_init(struct rule *r, uint32_t family, const char *table,
	       const char *chain);
void rule_done(struct rule *r);

/* ---- loads into 32-bit register number @reg, 0 being NFT_REG32_00 ---- */

void rule_load_meta(struct rule *r, enum nft_meta_keys key, unsigned int reg);
void rule_load_payload(struct rule *r, enum nft_payload_bases base,
		       uint32_t offset, uint32_t len, unsigned int reg);
void rule_load_value(struct rule *r, const void *data, uint32_t len,
		     unsigned int reg);
/** rule_mask() - register 0 &= @mask */
void rule_mask(struct rule *r, const void *mask, uint32_t len);

/* ---- comparisons of register 0, or of what they load there ---- */

void rule_cmp(struct rule *r, enum nft_cmp_ops op, const void *data,
	      uint32_t len);
void rule_match_u8(struct rule *r, enum nft_payload_bases base, uint32_t offset,
		   enum nft_cmp_ops op, uint8_t value);
void rule_match_u16(struct rule *r, enum nft_payload_bases base,
		    uint32_t offset, enum nft_cmp_ops op, uint16_t value);
void rule_match_iif(struct rule *r, enum nft_cmp_ops op, const char *ifname);
void rule_match_oif(struct rule *r, enum nft_cmp_ops op, const char *ifname);
void rule_match_nfproto(struct rule *r, uint8_t nfproto);
void rule_match_l4proto(struct rule *r, uint8_t proto);
void rule_match_mark(struct rule *r, uint32_t mark);
/** rule_match_tcp_flags() - (flags & (fin|syn|rst|ack)) @op @value */
void rule_match_tcp_flags(struct rule *r, enum nft_cmp_ops op, uint8_t value);
/** rule_match_set() - registers from 0 on are an element of @set */
void rule_match_set(struct rule *r, const char *set);
/** rule_limit() - go on only below @rate packets a second, burst the same */
void rule_limit(struct rule *r, uint32_t rate);

/* ---- actions ---- */

void rule_counter(struct rule *r);
/** rule_log() - @prefix may be NULL */
void rule_log(struct rule *r, uint16_t group, const char *prefix);
void rule_tproxy(struct rule *r, uint16_t port);
void rule_reject(struct rule *r, enum nft_reject_types type, uint8_t code);
/** rule_verdict() - NF_ACCEPT, NF_DROP, or NFT_GOTO to @chain */
void rule_verdict(struct rule *r, int verdict, const char *chain);

#endif /* EGRET_NFT_EXPR_INTERNAL_H */
