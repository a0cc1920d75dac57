/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expr.c - builders of rule expressions over libnftnl
 *
 * Registers are counted in 32-bit steps from NFT_REG32_00, so that a
 * concatenation is simply one load after another. Single comparisons use
 * register 0 only.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>

#include "nft/expr_internal.h"

#define TCP_FLAGS_OFFSET 13
#define TCP_FLAGS_JUDGED 0x17 /* fin, syn, rst, ack */

void rule_init(struct rule *r, uint32_t family, const char *table,
	       const char *chain)
{
	r->error = 0;
	r->nft = nftnl_rule_alloc();
	if (!r->nft) {
		r->error = -ENOMEM;
		return;
	}
	nftnl_rule_set_u32(r->nft, NFTNL_RULE_FAMILY, family);
	if (nftnl_rule_set_str(r->nft, NFTNL_RULE_TABLE, table) < 0 ||
	    nftnl_rule_set_str(r->nft, NFTNL_RULE_CHAIN, chain) < 0)
		r->error = -ENOMEM;
}

void rule_done(struct rule *r)
{
	if (r->nft)
		nftnl_rule_free(r->nft);
	r->nft = NULL;
}

/* A new expression at the end of the rule, which owns it; NULL on failure. */
static struct nftnl_expr *append(struct rule *r, const char *name)
{
	struct nftnl_expr *e;

	if (r->error)
		return NULL;
	e = nftnl_expr_alloc(name);
	if (!e) {
		r->error = -ENOMEM;
		return NULL;
	}
	nftnl_rule_add_expr(r->nft, e);
	return e;
}

static void set_data(struct rule *r, struct nftnl_expr *e, uint16_t type,
		     const void *data, uint32_t len)
{
	if (nftnl_expr_set(e, type, data, len) < 0)
		r->error = -ENOMEM;
}

static void set_str(struct rule *r, struct nftnl_expr *e, uint16_t type,
		    const char *str)
{
	if (nftnl_expr_set_str(e, type, str) < 0)
		r->error = -ENOMEM;
}

void rule_load_meta(struct rule *r, enum nft_meta_keys key, unsigned int reg)
{
	struct nftnl_expr *e = append(r, "meta");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG32_00 + reg);
}

void rule_load_payload(struct rule *r, enum nft_payload_bases base,
		       uint32_t offset, uint32_t len, unsigned int reg)
{
	struct nftnl_expr *e = append(r, "payload");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, len);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG32_00 + reg);
}

void rule_load_value(struct rule *r, const void *data, uint32_t len,
		     unsigned int reg)
{
	struct nftnl_expr *e = append(r, "immediate");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG32_00 + reg);
	set_data(r, e, NFTNL_EXPR_IMM_DATA, data, len);
}

void rule_mask(struct rule *r, const void *mask, uint32_t len)
{
	static const uint8_t zero[16];
	struct nftnl_expr *e = append(r, "bitwise");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG32_00);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG32_00);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, len);
	set_data(r, e, NFTNL_EXPR_BITWISE_MASK, mask, len);
	set_data(r, e, NFTNL_EXPR_BITWISE_XOR, zero, len);
}

void rule_cmp(struct rule *r, enum nft_cmp_ops op, const void *data,
	      uint32_t len)
{
	struct nftnl_expr *e = append(r, "cmp");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG32_00);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, op);
	set_data(r, e, NFTNL_EXPR_CMP_DATA, data, len);
}

void rule_match_u8(struct rule *r, enum nft_payload_bases base, uint32_t offset,
		   enum nft_cmp_ops op, uint8_t value)
{
	rule_load_payload(r, base, offset, sizeof(value), 0);
	rule_cmp(r, op, &value, sizeof(value));
}

void rule_match_u16(struct rule *r, enum nft_payload_bases base,
		    uint32_t offset, enum nft_cmp_ops op, uint16_t value)
{
	uint16_t value_be = htons(value);

	rule_load_payload(r, base, offset, sizeof(value_be), 0);
	rule_cmp(r, op, &value_be, sizeof(value_be));
}

static void match_ifname(struct rule *r, enum nft_meta_keys key,
			 enum nft_cmp_ops op, const char *ifname)
{
	char padded[IFNAMSIZ] = { 0 };

	/* Names were checked to be shorter than IFNAMSIZ. */
	memcpy(padded, ifname, strnlen(ifname, sizeof(padded) - 1));
	rule_load_meta(r, key, 0);
	rule_cmp(r, op, padded, sizeof(padded));
}

void rule_match_iif(struct rule *r, enum nft_cmp_ops op, const char *ifname)
{
	match_ifname(r, NFT_META_IIFNAME, op, ifname);
}

void rule_match_oif(struct rule *r, enum nft_cmp_ops op, const char *ifname)
{
	match_ifname(r, NFT_META_OIFNAME, op, ifname);
}

void rule_match_nfproto(struct rule *r, uint8_t nfproto)
{
	rule_load_meta(r, NFT_META_NFPROTO, 0);
	rule_cmp(r, NFT_CMP_EQ, &nfproto, sizeof(nfproto));
}

void rule_match_l4proto(struct rule *r, uint8_t proto)
{
	rule_load_meta(r, NFT_META_L4PROTO, 0);
	rule_cmp(r, NFT_CMP_EQ, &proto, sizeof(proto));
}

void rule_match_mark(struct rule *r, uint32_t mark)
{
	rule_load_meta(r, NFT_META_MARK, 0);
	rule_cmp(r, NFT_CMP_EQ, &mark, sizeof(mark));
}

void rule_match_tcp_flags(struct rule *r, enum nft_cmp_ops op, uint8_t value)
{
	static const uint8_t mask = TCP_FLAGS_JUDGED;

	rule_match_l4proto(r, IPPROTO_TCP);
	rule_load_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, TCP_FLAGS_OFFSET, 1,
			  0);
	rule_mask(r, &mask, sizeof(mask));
	rule_cmp(r, op, &value, sizeof(value));
}

void rule_match_set(struct rule *r, const char *set)
{
	struct nftnl_expr *e = append(r, "lookup");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, NFT_REG32_00);
	set_str(r, e, NFTNL_EXPR_LOOKUP_SET, set);
}

void rule_limit(struct rule *r, uint32_t rate)
{
	struct nftnl_expr *e = append(r, "limit");

	if (!e)
		return;
	nftnl_expr_set_u64(e, NFTNL_EXPR_LIMIT_RATE, rate);
	nftnl_expr_set_u64(e, NFTNL_EXPR_LIMIT_UNIT, 1); /* seconds */
	nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_BURST, rate);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_TYPE, NFT_LIMIT_PKTS);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_FLAGS, 0);
}

void rule_counter(struct rule *r)
{
	(void)append(r, "counter"); /* a failure is kept in the rule */
}

void rule_log(struct rule *r, uint16_t group, const char *prefix)
{
	struct nftnl_expr *e = append(r, "log");

	if (!e)
		return;
	/* No snap length: the socket's own copy range decides. */
	nftnl_expr_set_u16(e, NFTNL_EXPR_LOG_GROUP, group);
	if (prefix)
		set_str(r, e, NFTNL_EXPR_LOG_PREFIX, prefix);
}

void rule_tproxy(struct rule *r, uint16_t port)
{
	uint16_t port_be = htons(port);
	struct nftnl_expr *e;

	rule_load_value(r, &port_be, sizeof(port_be), 0);
	e = append(r, "tproxy");
	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_TPROXY_FAMILY, NFPROTO_UNSPEC);
	nftnl_expr_set_u32(e, NFTNL_EXPR_TPROXY_REG_PORT, NFT_REG32_00);
}

void rule_reject(struct rule *r, enum nft_reject_types type, uint8_t code)
{
	struct nftnl_expr *e = append(r, "reject");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_REJECT_TYPE, type);
	nftnl_expr_set_u8(e, NFTNL_EXPR_REJECT_CODE, code);
}

void rule_verdict(struct rule *r, int verdict, const char *chain)
{
	struct nftnl_expr *e = append(r, "immediate");

	if (!e)
		return;
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, (uint32_t)verdict);
	if (chain)
		set_str(r, e, NFTNL_EXPR_IMM_CHAIN, chain);
}
