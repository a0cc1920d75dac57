/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruleset_judge.c - the chains that judge, and those for open and for refused
 *
 * judge and echo look the destination up in the sets: DENY refuses; PRIVATE and
 * LISTED open; CLOSED refuses; OPEN, ANYPORT, RANGE and PUBLIC open; else it is
 * refused. Every packet is judged, so deleting an element ends a flow at its
 * next packet. echo is judge for pings; elements for them have port 0, and what
 * the rules put in the port's place is the echo's code, which they have found
 * to be 0 (a constant would do, but nft(8) can't print it in a concatenation).
 *
 * open: a SYN from the sandbox is logged whole and dropped: the relay holds it
 * until the destination answered, then injects it on inj1, where it is judged
 * once more and given to the listener. A TCP header of 8 bytes matches ports
 * but has no flags, hence every TCP rule here reads the flags.
 *
 * refuse: an injected SYN that isn't open any more comes here as well and is
 * logged with its mark. A refused SYN is dropped after its log line, so that
 * the gateway can find the socket's owner before it injects the SYN with mark
 * 2; beyond the limit it is reset at once.
 */
#include <arpa/inet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <stdbool.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "base/cleanup.h"
#include "nft/fw.h"
#include "nft/ruleset_internal.h"
#include "nft/sets_internal.h"

/* Log lines a second, burst the same: unlimited, a flood takes a core. */
#define LIMIT_SYN   50
#define LIMIT_OTHER 100

/* ---- judging ---- */

/* A judging chain: judge4, judge6, echo4, echo6. */
struct judge {
	const char *chain;
	bool v6, echo;
};

/* Go to @target if the destination is in @set. */
static void put_lookup(struct ruleset *rs, const struct judge *j,
		       enum fw_set set, const char *target)
{
	static const uint16_t mail[] = { 25, 465, 587 };
	unsigned int reg = j->v6 ? 4 : 1;
	char name[SETS_NAME_LEN];
	struct rule r;

	ruleset_begin(rs, &r, j->chain);
	rule_match_nfproto(&r, j->v6 ? NFPROTO_IPV6 : NFPROTO_IPV4);
	if (set == FW_SET_ANYPORT && !j->echo) {
		rule_load_payload(&r, TH, TH_DPORT, 2, 0);
		for (size_t i = 0; i < ARRAY_SIZE(mail); i++) {
			uint16_t port_be = htons(mail[i]);

			rule_cmp(&r, NFT_CMP_NEQ, &port_be, 2);
		}
	}
	rule_load_payload(&r, NH, j->v6 ? IP6_DADDR : IP4_DADDR, j->v6 ? 16 : 4,
			  0);
	if (set != FW_SET_CLOSED)
		rule_load_meta(&r, NFT_META_L4PROTO, reg);
	if (set != FW_SET_CLOSED && set != FW_SET_ANYPORT) {
		if (j->echo)
			rule_load_payload(&r, TH, ICMP_CODE, 1, reg + 1);
		else
			rule_load_payload(&r, TH, TH_DPORT, 2, reg + 1);
	}
	rule_match_set(&r, sets_name(set, j->v6, name));
	ruleset_go(rs, &r, target);
}

/* What the sets don't hold: pings go to their own chain, others are refused. */
static void put_judged_protocols(struct ruleset *rs, const struct judge *j)
{
	static const uint8_t ported[] = { IPPROTO_TCP, IPPROTO_UDP };
	const uint8_t icmp = j->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	const uint8_t echo_type = j->v6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
	struct rule r;

	ruleset_begin(rs, &r, j->chain);
	rule_match_l4proto(&r, icmp);
	if (j->echo) {
		rule_match_u8(&r, TH, ICMP_TYPE, NFT_CMP_NEQ, echo_type);
		ruleset_go(rs, &r, "refuse");
		ruleset_begin(rs, &r, j->chain);
		rule_match_l4proto(&r, icmp);
		rule_match_u8(&r, TH, ICMP_CODE, NFT_CMP_NEQ, 0);
		ruleset_go(rs, &r, "refuse");
		return;
	}
	ruleset_go(rs, &r, j->v6 ? "echo6" : "echo4");

	ruleset_begin(rs, &r, j->chain);
	rule_load_meta(&r, NFT_META_L4PROTO, 0);
	for (size_t i = 0; i < ARRAY_SIZE(ported); i++)
		rule_cmp(&r, NFT_CMP_NEQ, &ported[i], 1);
	ruleset_go(rs, &r, "refuse");
}

static void put_judge(struct ruleset *rs, const struct judge *j)
{
	static const struct {
		enum fw_set set;
		const char *target;
	} order[] = {
		{ FW_SET_DENY, "refuse" }, { FW_SET_PRIVATE, "open" },
		{ FW_SET_LISTED, "open" }, { FW_SET_CLOSED, "refuse" },
		{ FW_SET_OPEN, "open" },   { FW_SET_ANYPORT, "open" },
		{ FW_SET_RANGE, "open" },  { FW_SET_PUBLIC, "open" },
	};
	struct rule r;

	_Static_assert(ARRAY_SIZE(order) == FW_SET_MAX, "every set is asked");
	put_judged_protocols(rs, j);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		put_lookup(rs, j, order[i].set, order[i].target);
	ruleset_begin(rs, &r, j->chain);
	ruleset_go(rs, &r, "refuse");
}

/* ---- what is open ---- */

static void put_open(struct ruleset *rs)
{
	struct rule r;

	ruleset_begin(rs, &r, "open");
	rule_match_iif(&r, NFT_CMP_EQ, rs->cfg->inject_ifname);
	rule_match_tcp_flags(&r, NFT_CMP_EQ, TH_SYN);
	rule_tproxy(&r, rs->cfg->relay_port);
	ruleset_end_with(rs, &r, NF_ACCEPT, NULL);

	/* The listener is gone: silence, never a second hold. */
	ruleset_begin(rs, &r, "open");
	rule_match_iif(&r, NFT_CMP_EQ, rs->cfg->inject_ifname);
	ruleset_drop(rs, &r);

	ruleset_begin(rs, &r, "open");
	rule_match_tcp_flags(&r, NFT_CMP_EQ, TH_SYN);
	rule_log(&r, FW_GROUP_SYN, NULL);
	ruleset_drop(rs, &r);

	ruleset_begin(rs, &r, "open");
	rule_match_tcp_flags(&r, NFT_CMP_NEQ, 0);
	rule_tproxy(&r, rs->cfg->relay_port);
	ruleset_end_with(rs, &r, NF_ACCEPT, NULL);

	ruleset_begin(rs, &r, "open");
	rule_match_l4proto(&r, IPPROTO_TCP);
	ruleset_drop(rs, &r);

	/* Without a socket for it, the kernel answers port unreachable. */
	if (rs->cfg->relays_udp) {
		ruleset_begin(rs, &r, "open");
		rule_match_l4proto(&r, IPPROTO_UDP);
		ruleset_end_with(rs, &r, NF_ACCEPT, NULL);
	}

	/* What nothing relays is refused, so that it's reported. */
	ruleset_begin(rs, &r, "open");
	ruleset_go(rs, &r, "refuse");
}

/* ---- what is refused ---- */

/* What one kind of refused packet gets; type < 0: dropped. */
struct refusal {
	const char *prefix;
	uint8_t proto; /* 0: any */
	int16_t icmp_type;
	int16_t reject_type;
	uint8_t reject_code;
};

static void match_refusal(struct rule *r, const struct refusal *f)
{
	if (f->proto)
		rule_match_l4proto(r, f->proto);
	if (f->icmp_type >= 0)
		rule_match_u8(r, TH, ICMP_TYPE, NFT_CMP_EQ,
			      (uint8_t)f->icmp_type);
}

static void put_refusal(struct ruleset *rs, const struct refusal *f)
{
	struct rule r;

	ruleset_begin(rs, &r, "refuse");
	match_refusal(&r, f);
	rule_limit(&r, LIMIT_OTHER);
	rule_log(&r, FW_GROUP_DROP, f->prefix);
	ruleset_end(rs, &r);

	ruleset_begin(rs, &r, "refuse");
	match_refusal(&r, f);
	if (f->reject_type < 0) {
		ruleset_drop(rs, &r);
		return;
	}
	rule_reject(&r, (enum nft_reject_types)f->reject_type, f->reject_code);
	ruleset_end(rs, &r);
}

static void put_refuse(struct ruleset *rs)
{
	static const struct refusal refusals[] = {
		{ "tcp", IPPROTO_TCP, -1, NFT_REJECT_TCP_RST, 0 },
		{ "udp", IPPROTO_UDP, -1, NFT_REJECT_ICMPX_UNREACH,
		  NFT_REJECT_ICMPX_PORT_UNREACH },
		{ "icmp", IPPROTO_ICMP, ICMP_ECHO, NFT_REJECT_ICMPX_UNREACH,
		  NFT_REJECT_ICMPX_ADMIN_PROHIBITED },
		{ "icmp", IPPROTO_ICMPV6, ICMP6_ECHO_REQUEST,
		  NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_ADMIN_PROHIBITED },
		{ "other", 0, -1, -1, 0 },
	};
	struct rule r;

	ruleset_begin(rs, &r, "refuse");
	rule_counter(&r);
	ruleset_end(rs, &r);

	ruleset_begin(rs, &r, "refuse");
	rule_match_tcp_flags(&r, NFT_CMP_EQ, TH_SYN);
	rule_limit(&r, LIMIT_SYN);
	rule_log(&r, FW_GROUP_DROP, "syn");
	ruleset_drop(rs, &r);

	/* Too many to look each one up, so at once and without a line. */
	ruleset_begin(rs, &r, "refuse");
	rule_match_tcp_flags(&r, NFT_CMP_EQ, TH_SYN);
	rule_reject(&r, NFT_REJECT_TCP_RST, 0);
	ruleset_end(rs, &r);

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		put_refusal(rs, &refusals[i]);
}

void ruleset_add_judges(struct ruleset *rs)
{
	static const struct judge judges[] = {
		{ "judge4", false, false },
		{ "judge6", true, false },
		{ "echo4", false, true },
		{ "echo6", true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(judges); i++)
		ruleset_add_chain(rs, judges[i].chain, NULL);
	ruleset_add_chain(rs, "open", NULL);
	ruleset_add_chain(rs, "refuse", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(judges); i++)
		put_judge(rs, &judges[i]);
	put_open(rs);
	put_refuse(rs);
}
