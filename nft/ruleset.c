/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruleset.c - the rules that hold the sandbox
 *
 * SECURITY: base chains drop by policy, so what no rule speaks of is lost.
 *
 * table netdev egret, chain ingress: only frames that are plain IPv4 or IPv6
 * between the two fixed MACs and from the sandbox's own addresses. The type is
 * compared in the link header too: a VLAN tag has been stripped from the packet
 * by now and meta protocol shows what is inside, but loading bytes 12-13 of the
 * link header gives the tag's own type back. Fragments arrive here one by one,
 * so no rule may look at ports.
 *
 * table inet egret, hook prerouting after defragmentation (which tproxy turns
 * on), nothing uses ct:
 *
 *   prerouting --inj1--> inject --mark 1--+
 *        |                                v
 *        +--gw0, not quiet, not DNS--> judge4/6 --icmp--> echo4/6
 *                                         |                  |
 *                                         +--> open <--------+
 *                                         +--> refuse <------+
 *
 * judge and echo look the destination up in the sets: DENY refuses; PRIVATE and
 * LISTED open; CLOSED refuses; OPEN, ANYPORT, RANGE and PUBLIC open; else it is
 * refused. Every packet is judged, so deleting an element ends a flow at its
 * next packet. echo is judge for pings, with 0 in the port's place.
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
 *
 * lo is closed: what this namespace sends to the sandbox leaves by gw0, also
 * the rejects; with a local default route any other destination would be the
 * namespace itself, and nothing in it talks to itself.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <string.h>

#include <libnftnl/chain.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include "base/cleanup.h"
#include "nft/batch_internal.h"
#include "nft/expr_internal.h"
#include "nft/fw.h"
#include "nft/ruleset_internal.h"
#include "nft/sets_internal.h"

#define GUARD_TABLE "egret_guard"
#define PRIO_MANGLE (-150)

/* Log lines a second, burst the same: unlimited, a flood takes a core. */
#define LIMIT_SYN   50
#define LIMIT_OTHER 100

#define DNS_PORT 53

/* Offsets within their headers. */
#define ETH_TYPE_OFFSET 12
#define IP4_SADDR	12
#define IP4_DADDR	16
#define IP6_NEXTHDR	6
#define IP6_SADDR	8
#define IP6_DADDR	24
#define TH_DPORT	2

#define LL NFT_PAYLOAD_LL_HEADER
#define NH NFT_PAYLOAD_NETWORK_HEADER
#define TH NFT_PAYLOAD_TRANSPORT_HEADER

/* Everything is put into one batch; the first error stays. */
struct ruleset {
	struct batch *batch;
	const struct fw_config *cfg;
	uint32_t family;
	const char *table;
	int error;
};

static void fail(struct ruleset *rs, int error)
{
	if (rs->error == 0)
		rs->error = error;
}

static void put_table(struct ruleset *rs, uint32_t family, const char *table)
{
	struct nftnl_table *t = nftnl_table_alloc();
	struct nlmsghdr *nlh;

	rs->family = family;
	rs->table = table;
	if (!t || nftnl_table_set_str(t, NFTNL_TABLE_NAME, table) < 0) {
		fail(rs, -ENOMEM);
	} else {
		nlh = batch_put(rs->batch, NFT_MSG_NEWTABLE, (uint16_t)family,
				NLM_F_CREATE | NLM_F_EXCL);
		if (nlh) {
			nftnl_table_nlmsg_build_payload(nlh, t);
			batch_finish(rs->batch, nlh);
		} else {
			fail(rs, -ENOSPC);
		}
	}
	if (t)
		nftnl_table_free(t);
}

/* A base chain's place; dev only in the netdev family. */
struct hook {
	uint32_t num;
	int32_t prio;
	const char *dev;
};

static int fill_chain(const struct ruleset *rs, struct nftnl_chain *c,
		      const char *name, const struct hook *hook)
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
static void put_chain(struct ruleset *rs, const char *name,
		      const struct hook *hook)
{
	struct nftnl_chain *c = nftnl_chain_alloc();
	struct nlmsghdr *nlh;

	if (!c || fill_chain(rs, c, name, hook) < 0) {
		fail(rs, -ENOMEM);
	} else {
		nlh = batch_put(rs->batch, NFT_MSG_NEWCHAIN,
				(uint16_t)rs->family,
				NLM_F_CREATE | NLM_F_EXCL);
		if (nlh) {
			nftnl_chain_nlmsg_build_payload(nlh, c);
			batch_finish(rs->batch, nlh);
		} else {
			fail(rs, -ENOSPC);
		}
	}
	if (c)
		nftnl_chain_free(c);
}

static void begin(const struct ruleset *rs, struct rule *r, const char *chain)
{
	rule_init(r, rs->family, rs->table, chain);
}

/* The rule is complete: into the batch with it. */
static void end(struct ruleset *rs, struct rule *r)
{
	struct nlmsghdr *nlh;

	if (r->error) {
		fail(rs, r->error);
	} else {
		nlh = batch_put(rs->batch, NFT_MSG_NEWRULE,
				(uint16_t)rs->family,
				NLM_F_CREATE | NLM_F_APPEND);
		if (nlh) {
			nftnl_rule_nlmsg_build_payload(nlh, r->nft);
			batch_finish(rs->batch, nlh);
		} else {
			fail(rs, -ENOSPC);
		}
	}
	rule_done(r);
}

static void end_with(struct ruleset *rs, struct rule *r, int verdict,
		     const char *chain)
{
	rule_verdict(r, verdict, chain);
	end(rs, r);
}

static void drop(struct ruleset *rs, struct rule *r)
{
	end_with(rs, r, NF_DROP, NULL);
}

static void go(struct ruleset *rs, struct rule *r, const char *chain)
{
	end_with(rs, r, NFT_GOTO, chain);
}

/* ---- netdev ---- */

static void put_ingress_family(struct ruleset *rs, uint16_t ethertype)
{
	const struct fw_config *cfg = rs->cfg;
	bool v6 = ethertype == ETHERTYPE_IPV6;
	const struct addr *sb = v6 ? &cfg->sb_addr6 : &cfg->sb_addr4;
	uint32_t alen = v6 ? 16 : 4;
	uint16_t type_be = htons(ethertype);
	uint8_t macs[12];
	struct rule r;

	memcpy(macs, cfg->gw_mac, 6);
	memcpy(macs + 6, cfg->sb_mac, 6);
	begin(rs, &r, "ingress");
	rule_load_meta(&r, NFT_META_PROTOCOL, 0);
	rule_cmp(&r, NFT_CMP_EQ, &type_be, sizeof(type_be));
	rule_match_u16(&r, LL, ETH_TYPE_OFFSET, NFT_CMP_EQ, ethertype);
	rule_load_payload(&r, LL, 0, sizeof(macs), 0);
	rule_cmp(&r, NFT_CMP_EQ, macs, sizeof(macs));
	rule_load_payload(&r, NH, v6 ? IP6_SADDR : IP4_SADDR, alen, 0);
	rule_cmp(&r, NFT_CMP_EQ, sb->bytes, alen);
	end_with(rs, &r, NF_ACCEPT, NULL);
}

static void put_netdev(struct ruleset *rs)
{
	const struct hook ingress = { .num = NF_NETDEV_INGRESS,
				      .dev = rs->cfg->gw_ifname };

	put_table(rs, NFPROTO_NETDEV, SETS_TABLE);
	put_chain(rs, "ingress", &ingress);
	put_ingress_family(rs, ETHERTYPE_IP);
	put_ingress_family(rs, ETHERTYPE_IPV6);
}

/* ---- injected packets ---- */

static void put_inject(struct ruleset *rs)
{
	const uint32_t accept_mark = FW_MARK_ACCEPT;
	const uint8_t tcp = IPPROTO_TCP;
	struct rule r;

	begin(rs, &r, "inject");
	rule_match_mark(&r, FW_MARK_RESET);
	rule_match_l4proto(&r, IPPROTO_TCP);
	rule_reject(&r, NFT_REJECT_TCP_RST, 0);
	end(rs, &r);

	begin(rs, &r, "inject");
	rule_match_mark(&r, FW_MARK_UNREACH);
	rule_reject(&r, NFT_REJECT_ICMPX_UNREACH,
		    NFT_REJECT_ICMPX_HOST_UNREACH);
	end(rs, &r);

	begin(rs, &r, "inject");
	rule_load_meta(&r, NFT_META_MARK, 0);
	rule_cmp(&r, NFT_CMP_NEQ, &accept_mark, sizeof(accept_mark));
	drop(rs, &r);

	begin(rs, &r, "inject");
	rule_load_meta(&r, NFT_META_L4PROTO, 0);
	rule_cmp(&r, NFT_CMP_NEQ, &tcp, sizeof(tcp));
	drop(rs, &r);

	begin(rs, &r, "inject");
	rule_match_nfproto(&r, NFPROTO_IPV4);
	go(rs, &r, "judge4");

	begin(rs, &r, "inject");
	rule_match_nfproto(&r, NFPROTO_IPV6);
	go(rs, &r, "judge6");
}

/* ---- packets of the sandbox that nobody needs to hear of ---- */

/* Drop where the bytes at @offset of the network header begin with @len bits
   of @addr. */
static void drop_prefix(struct ruleset *rs, bool v6, uint32_t offset,
			const uint8_t *addr, unsigned int len)
{
	static const uint8_t ones[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff };
	uint32_t alen = v6 ? 16 : 4;
	uint8_t mask[16] = { 0 };
	struct rule r;

	memcpy(mask, ones, len / 8);
	if (len % 8)
		mask[len / 8] = (uint8_t)(0xff << (8 - len % 8));
	begin(rs, &r, "prerouting");
	rule_match_nfproto(&r, v6 ? NFPROTO_IPV6 : NFPROTO_IPV4);
	rule_load_payload(&r, NH, offset, alen, 0);
	if (len < alen * 8)
		rule_mask(&r, mask, alen);
	rule_cmp(&r, NFT_CMP_EQ, addr, alen);
	drop(rs, &r);
}

static void drop_icmp(struct ruleset *rs, uint8_t proto, enum nft_cmp_ops op,
		      uint8_t type)
{
	struct rule r;

	begin(rs, &r, "prerouting");
	rule_match_l4proto(&r, proto);
	rule_match_u8(&r, TH, 0, op, type);
	drop(rs, &r);
}

static void put_quiet_destinations(struct ruleset *rs)
{
	static const uint8_t multicast4[4] = { 224 };
	static const uint8_t broadcast4[4] = { 255, 255, 255, 255 };
	static const uint8_t multicast6[16] = { 0xff };
	static const uint8_t linklocal6[16] = { 0xfe, 0x80 };

	drop_prefix(rs, false, IP4_DADDR, multicast4, 4);
	drop_prefix(rs, false, IP4_DADDR, broadcast4, 32);
	drop_prefix(rs, true, IP6_DADDR, multicast6, 8);
	drop_prefix(rs, true, IP6_SADDR, linklocal6, 10);
}

/*
 * NDP and MLD, and ICMP errors: the sandbox's kernel sends those by itself, say
 * for an answer to a UDP socket that was closed meanwhile. None is needed here,
 * and an error could only mislead the relay's sockets.
 */
static void put_quiet_icmp(struct ruleset *rs)
{
	struct rule r;

	drop_icmp(rs, IPPROTO_ICMP, NFT_CMP_EQ, ICMP_DEST_UNREACH);
	drop_icmp(rs, IPPROTO_ICMP, NFT_CMP_EQ, ICMP_TIME_EXCEEDED);
	drop_icmp(rs, IPPROTO_ICMP, NFT_CMP_EQ, ICMP_PARAMETERPROB);
	drop_icmp(rs, IPPROTO_ICMPV6, NFT_CMP_LT, ICMP6_ECHO_REQUEST);
	drop_icmp(rs, IPPROTO_ICMPV6, NFT_CMP_EQ, 143); /* MLDv2 report */

	begin(rs, &r, "prerouting");
	rule_match_l4proto(&r, IPPROTO_ICMPV6);
	rule_match_u8(&r, TH, 0, NFT_CMP_GTE, MLD_LISTENER_QUERY);
	rule_match_u8(&r, TH, 0, NFT_CMP_LTE, ND_REDIRECT);
	drop(rs, &r);
}

/* IP options, and IPv6 extension headers with all they can hide. */
static void put_quiet_headers(struct ruleset *rs)
{
	static const uint8_t nexthdr[] = { IPPROTO_TCP, IPPROTO_UDP,
					   IPPROTO_ICMPV6 };
	static const uint8_t ihl_mask = 0x0f, ihl_plain = 5;
	struct rule r;

	begin(rs, &r, "prerouting");
	rule_match_nfproto(&r, NFPROTO_IPV4);
	rule_load_payload(&r, NH, 0, 1, 0);
	rule_mask(&r, &ihl_mask, sizeof(ihl_mask));
	rule_cmp(&r, NFT_CMP_NEQ, &ihl_plain, sizeof(ihl_plain));
	drop(rs, &r);

	begin(rs, &r, "prerouting");
	rule_match_nfproto(&r, NFPROTO_IPV6);
	rule_load_payload(&r, NH, IP6_NEXTHDR, 1, 0);
	for (size_t i = 0; i < ARRAY_SIZE(nexthdr); i++)
		rule_cmp(&r, NFT_CMP_NEQ, &nexthdr[i], 1);
	drop(rs, &r);
}

static void put_prerouting(struct ruleset *rs)
{
	static const uint8_t dns_protos[] = { IPPROTO_TCP, IPPROTO_UDP };
	struct rule r;

	begin(rs, &r, "prerouting");
	rule_match_iif(&r, NFT_CMP_EQ, rs->cfg->inject_ifname);
	go(rs, &r, "inject");

	begin(rs, &r, "prerouting");
	rule_match_iif(&r, NFT_CMP_NEQ, rs->cfg->gw_ifname);
	drop(rs, &r);

	put_quiet_destinations(rs);
	put_quiet_headers(rs);
	put_quiet_icmp(rs);
	for (size_t i = 0; i < ARRAY_SIZE(dns_protos); i++) {
		begin(rs, &r, "prerouting");
		rule_match_l4proto(&r, dns_protos[i]);
		rule_match_u16(&r, TH, TH_DPORT, NFT_CMP_EQ, DNS_PORT);
		end_with(rs, &r, NF_ACCEPT, NULL);
	}

	begin(rs, &r, "prerouting");
	rule_match_nfproto(&r, NFPROTO_IPV4);
	go(rs, &r, "judge4");

	begin(rs, &r, "prerouting");
	rule_match_nfproto(&r, NFPROTO_IPV6);
	go(rs, &r, "judge6");
}

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
	static const uint16_t no_port = 0;
	unsigned int reg = j->v6 ? 4 : 1;
	char name[SETS_NAME_LEN];
	struct rule r;

	begin(rs, &r, j->chain);
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
			rule_load_value(&r, &no_port, 2, reg + 1);
		else
			rule_load_payload(&r, TH, TH_DPORT, 2, reg + 1);
	}
	rule_match_set(&r, sets_name(set, j->v6, name));
	go(rs, &r, target);
}

/* What the sets don't hold: pings go to their own chain, others are refused. */
static void put_judged_protocols(struct ruleset *rs, const struct judge *j)
{
	static const uint8_t ported[] = { IPPROTO_TCP, IPPROTO_UDP };
	const uint8_t echo_type = j->v6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
	struct rule r;

	begin(rs, &r, j->chain);
	if (j->echo) {
		rule_match_u8(&r, TH, 0, NFT_CMP_NEQ, echo_type);
		go(rs, &r, "refuse");
		return;
	}
	rule_match_l4proto(&r, j->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
	go(rs, &r, j->v6 ? "echo6" : "echo4");

	begin(rs, &r, j->chain);
	rule_load_meta(&r, NFT_META_L4PROTO, 0);
	for (size_t i = 0; i < ARRAY_SIZE(ported); i++)
		rule_cmp(&r, NFT_CMP_NEQ, &ported[i], 1);
	go(rs, &r, "refuse");
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
	begin(rs, &r, j->chain);
	go(rs, &r, "refuse");
}

/* ---- what is open ---- */

static void put_open(struct ruleset *rs)
{
	struct rule r;

	begin(rs, &r, "open");
	rule_match_iif(&r, NFT_CMP_EQ, rs->cfg->inject_ifname);
	rule_match_tcp_flags(&r, NFT_CMP_EQ, TH_SYN);
	rule_tproxy(&r, rs->cfg->relay_port);
	end_with(rs, &r, NF_ACCEPT, NULL);

	/* The listener is gone: silence, never a second hold. */
	begin(rs, &r, "open");
	rule_match_iif(&r, NFT_CMP_EQ, rs->cfg->inject_ifname);
	drop(rs, &r);

	begin(rs, &r, "open");
	rule_match_tcp_flags(&r, NFT_CMP_EQ, TH_SYN);
	rule_log(&r, FW_GROUP_SYN, NULL);
	drop(rs, &r);

	begin(rs, &r, "open");
	rule_match_tcp_flags(&r, NFT_CMP_NEQ, 0);
	rule_tproxy(&r, rs->cfg->relay_port);
	end_with(rs, &r, NF_ACCEPT, NULL);

	begin(rs, &r, "open");
	rule_match_l4proto(&r, IPPROTO_TCP);
	drop(rs, &r);

	/* Without a socket for it, the kernel answers port unreachable. */
	begin(rs, &r, "open");
	rule_match_l4proto(&r, IPPROTO_UDP);
	end_with(rs, &r, NF_ACCEPT, NULL);

	begin(rs, &r, "open");
	go(rs, &r, "refuse");
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
		rule_match_u8(r, TH, 0, NFT_CMP_EQ, (uint8_t)f->icmp_type);
}

static void put_refusal(struct ruleset *rs, const struct refusal *f)
{
	struct rule r;

	begin(rs, &r, "refuse");
	match_refusal(&r, f);
	rule_limit(&r, LIMIT_OTHER);
	rule_log(&r, FW_GROUP_DROP, f->prefix);
	end(rs, &r);

	begin(rs, &r, "refuse");
	match_refusal(&r, f);
	if (f->reject_type < 0) {
		drop(rs, &r);
		return;
	}
	rule_reject(&r, (enum nft_reject_types)f->reject_type, f->reject_code);
	end(rs, &r);
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

	begin(rs, &r, "refuse");
	rule_counter(&r);
	end(rs, &r);

	begin(rs, &r, "refuse");
	rule_match_tcp_flags(&r, NFT_CMP_EQ, TH_SYN);
	rule_limit(&r, LIMIT_SYN);
	rule_log(&r, FW_GROUP_DROP, "syn");
	drop(rs, &r);

	/* Too many to look each one up, so at once and without a line. */
	begin(rs, &r, "refuse");
	rule_match_tcp_flags(&r, NFT_CMP_EQ, TH_SYN);
	rule_reject(&r, NFT_REJECT_TCP_RST, 0);
	end(rs, &r);

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		put_refusal(rs, &refusals[i]);
}

/* ---- all of it ---- */

static void put_inet(struct ruleset *rs)
{
	static const struct hook prerouting = { .num = NF_INET_PRE_ROUTING,
						.prio = PRIO_MANGLE };
	static const struct judge judges[] = {
		{ "judge4", false, false },
		{ "judge6", true, false },
		{ "echo4", false, true },
		{ "echo6", true, true },
	};
	int r;

	put_table(rs, NFPROTO_INET, SETS_TABLE);
	r = sets_define(rs->batch);
	if (r < 0)
		fail(rs, r);
	put_chain(rs, "prerouting", &prerouting);
	put_chain(rs, "inject", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(judges); i++)
		put_chain(rs, judges[i].chain, NULL);
	put_chain(rs, "open", NULL);
	put_chain(rs, "refuse", NULL);

	put_prerouting(rs);
	put_inject(rs);
	for (size_t i = 0; i < ARRAY_SIZE(judges); i++)
		put_judge(rs, &judges[i]);
	put_open(rs);
	put_refuse(rs);
}

static bool is_ifname(const char *name)
{
	return name && name[0] != '\0' && strnlen(name, IFNAMSIZ) < IFNAMSIZ;
}

int ruleset_put(struct batch *b, const struct fw_config *cfg)
{
	struct ruleset rs = { .batch = b, .cfg = cfg };

	if (!is_ifname(cfg->gw_ifname) || !is_ifname(cfg->inject_ifname) ||
	    cfg->sb_addr4.family != AF_INET ||
	    cfg->sb_addr6.family != AF_INET6 || cfg->relay_port == 0)
		return -EINVAL;
	put_netdev(&rs);
	put_inet(&rs);
	return rs.error;
}

static void put_guard_chain(struct ruleset *rs, uint32_t hooknum,
			    const char *chain, const char *ifname)
{
	const struct hook hook = { .num = hooknum, .prio = PRIO_MANGLE };
	const char *const names[] = { "lo", ifname };
	struct rule r;

	put_chain(rs, chain, &hook);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		begin(rs, &r, chain);
		if (hooknum == NF_INET_LOCAL_IN)
			rule_match_iif(&r, NFT_CMP_EQ, names[i]);
		else
			rule_match_oif(&r, NFT_CMP_EQ, names[i]);
		end_with(rs, &r, NF_ACCEPT, NULL);
	}
}

int ruleset_put_guard(struct batch *b, const char *ifname)
{
	static const struct hook forward = { .num = NF_INET_FORWARD,
					     .prio = PRIO_MANGLE };
	struct ruleset rs = { .batch = b };

	if (!is_ifname(ifname))
		return -EINVAL;
	put_table(&rs, NFPROTO_INET, GUARD_TABLE);
	put_guard_chain(&rs, NF_INET_LOCAL_IN, "input", ifname);
	put_guard_chain(&rs, NF_INET_LOCAL_OUT, "output", ifname);
	put_chain(&rs, "forward", &forward);
	return rs.error;
}
