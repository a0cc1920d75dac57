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
 * The judging chains are in ruleset_judge.c.
 *
 * lo is closed: what this namespace sends to the sandbox leaves by gw0, also
 * the rejects; with a local default route any other destination would be the
 * namespace itself, and nothing in it talks to itself.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdbool.h>
#include <string.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "base/cleanup.h"
#include "nft/fw.h"
#include "nft/ruleset_internal.h"
#include "nft/sets_internal.h"

#define GUARD_TABLE "egret_guard"
#define PRIO_MANGLE (-150)
#define DNS_PORT    53

/* ---- netdev ---- */

static void put_ingress_family(struct ruleset *rs, uint16_t ethertype)
{
	const struct fw_config *cfg = rs->cfg;
	bool v6 = ethertype == ETHERTYPE_IPV6;
	const struct addr *sb = v6 ? &cfg->sb_addr6 : &cfg->sb_addr4;
	const uint16_t ether = ARPHRD_ETHER, type_be = htons(ethertype);
	uint32_t alen = v6 ? 16 : 4;
	uint8_t macs[12];
	struct rule r;

	memcpy(macs, cfg->gw_mac, 6);
	memcpy(macs + 6, cfg->sb_mac, 6);
	ruleset_begin(rs, &r, "ingress");
	rule_load_meta(&r, NFT_META_IIFTYPE, 0);
	rule_cmp(&r, NFT_CMP_EQ, &ether, sizeof(ether));
	rule_load_meta(&r, NFT_META_PROTOCOL, 0);
	rule_cmp(&r, NFT_CMP_EQ, &type_be, sizeof(type_be));
	rule_match_u16(&r, LL, ETH_TYPE_OFFSET, NFT_CMP_EQ, ethertype);
	rule_load_payload(&r, LL, 0, sizeof(macs), 0);
	rule_cmp(&r, NFT_CMP_EQ, macs, sizeof(macs));
	rule_load_payload(&r, NH, v6 ? IP6_SADDR : IP4_SADDR, alen, 0);
	rule_cmp(&r, NFT_CMP_EQ, sb->bytes, alen);
	ruleset_end_with(rs, &r, NF_ACCEPT, NULL);
}

static void put_netdev(struct ruleset *rs)
{
	const struct ruleset_hook ingress = { .num = NF_NETDEV_INGRESS,
					      .dev = rs->cfg->gw_ifname };

	ruleset_add_table(rs, NFPROTO_NETDEV, SETS_TABLE);
	ruleset_add_chain(rs, "ingress", &ingress);
	put_ingress_family(rs, ETHERTYPE_IP);
	put_ingress_family(rs, ETHERTYPE_IPV6);
}

/* ---- injected packets ---- */

static void put_inject(struct ruleset *rs)
{
	const uint32_t accept_mark = FW_MARK_ACCEPT;
	const uint8_t tcp = IPPROTO_TCP;
	struct rule r;

	ruleset_begin(rs, &r, "inject");
	rule_match_mark(&r, FW_MARK_RESET);
	rule_match_l4proto(&r, IPPROTO_TCP);
	rule_reject(&r, NFT_REJECT_TCP_RST, 0);
	ruleset_end(rs, &r);

	ruleset_begin(rs, &r, "inject");
	rule_match_mark(&r, FW_MARK_UNREACH);
	rule_reject(&r, NFT_REJECT_ICMPX_UNREACH,
		    NFT_REJECT_ICMPX_HOST_UNREACH);
	ruleset_end(rs, &r);

	ruleset_begin(rs, &r, "inject");
	rule_load_meta(&r, NFT_META_MARK, 0);
	rule_cmp(&r, NFT_CMP_NEQ, &accept_mark, sizeof(accept_mark));
	ruleset_drop(rs, &r);

	ruleset_begin(rs, &r, "inject");
	rule_load_meta(&r, NFT_META_L4PROTO, 0);
	rule_cmp(&r, NFT_CMP_NEQ, &tcp, sizeof(tcp));
	ruleset_drop(rs, &r);

	ruleset_begin(rs, &r, "inject");
	rule_match_nfproto(&r, NFPROTO_IPV4);
	ruleset_go(rs, &r, "judge4");

	ruleset_begin(rs, &r, "inject");
	rule_match_nfproto(&r, NFPROTO_IPV6);
	ruleset_go(rs, &r, "judge6");
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
	ruleset_begin(rs, &r, "prerouting");
	rule_match_nfproto(&r, v6 ? NFPROTO_IPV6 : NFPROTO_IPV4);
	rule_load_payload(&r, NH, offset, alen, 0);
	if (len < alen * 8)
		rule_mask(&r, mask, alen);
	rule_cmp(&r, NFT_CMP_EQ, addr, alen);
	ruleset_drop(rs, &r);
}

static void drop_icmp(struct ruleset *rs, uint8_t proto, enum nft_cmp_ops op,
		      uint8_t type)
{
	struct rule r;

	ruleset_begin(rs, &r, "prerouting");
	rule_match_l4proto(&r, proto);
	rule_match_u8(&r, TH, ICMP_TYPE, op, type);
	ruleset_drop(rs, &r);
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

	ruleset_begin(rs, &r, "prerouting");
	rule_match_l4proto(&r, IPPROTO_ICMPV6);
	rule_match_u8(&r, TH, ICMP_TYPE, NFT_CMP_GTE, MLD_LISTENER_QUERY);
	rule_match_u8(&r, TH, ICMP_TYPE, NFT_CMP_LTE, ND_REDIRECT);
	ruleset_drop(rs, &r);
}

/* IP options, and IPv6 extension headers with all they can hide. */
static void put_quiet_headers(struct ruleset *rs)
{
	static const uint8_t nexthdr[] = { IPPROTO_TCP, IPPROTO_UDP,
					   IPPROTO_ICMPV6 };
	static const uint8_t ihl_mask = 0x0f, ihl_plain = 5;
	struct rule r;

	ruleset_begin(rs, &r, "prerouting");
	rule_match_nfproto(&r, NFPROTO_IPV4);
	rule_load_payload(&r, NH, 0, 1, 0);
	rule_mask(&r, &ihl_mask, sizeof(ihl_mask));
	rule_cmp(&r, NFT_CMP_NEQ, &ihl_plain, sizeof(ihl_plain));
	ruleset_drop(rs, &r);

	ruleset_begin(rs, &r, "prerouting");
	rule_match_nfproto(&r, NFPROTO_IPV6);
	rule_load_payload(&r, NH, IP6_NEXTHDR, 1, 0);
	for (size_t i = 0; i < ARRAY_SIZE(nexthdr); i++)
		rule_cmp(&r, NFT_CMP_NEQ, &nexthdr[i], 1);
	ruleset_drop(rs, &r);
}

static void put_prerouting(struct ruleset *rs)
{
	static const uint8_t dns_protos[] = { IPPROTO_TCP, IPPROTO_UDP };
	struct rule r;

	ruleset_begin(rs, &r, "prerouting");
	rule_match_iif(&r, NFT_CMP_EQ, rs->cfg->inject_ifname);
	ruleset_go(rs, &r, "inject");

	ruleset_begin(rs, &r, "prerouting");
	rule_match_iif(&r, NFT_CMP_NEQ, rs->cfg->gw_ifname);
	ruleset_drop(rs, &r);

	put_quiet_destinations(rs);
	put_quiet_headers(rs);
	put_quiet_icmp(rs);
	for (size_t i = 0; i < ARRAY_SIZE(dns_protos); i++) {
		ruleset_begin(rs, &r, "prerouting");
		rule_match_l4proto(&r, dns_protos[i]);
		rule_match_u16(&r, TH, TH_DPORT, NFT_CMP_EQ, DNS_PORT);
		ruleset_end_with(rs, &r, NF_ACCEPT, NULL);
	}

	ruleset_begin(rs, &r, "prerouting");
	rule_match_nfproto(&r, NFPROTO_IPV4);
	ruleset_go(rs, &r, "judge4");

	ruleset_begin(rs, &r, "prerouting");
	rule_match_nfproto(&r, NFPROTO_IPV6);
	ruleset_go(rs, &r, "judge6");
}

/* ---- all of it ---- */

static void put_inet(struct ruleset *rs)
{
	static const struct ruleset_hook prerouting = {
		.num = NF_INET_PRE_ROUTING, .prio = PRIO_MANGLE
	};
	int r;

	ruleset_add_table(rs, NFPROTO_INET, SETS_TABLE);
	r = sets_define(rs->batch);
	if (r < 0)
		ruleset_fail(rs, r);
	ruleset_add_chain(rs, "prerouting", &prerouting);
	ruleset_add_chain(rs, "inject", NULL);
	ruleset_add_judges(rs);
	put_prerouting(rs);
	put_inject(rs);
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
	const struct ruleset_hook hook = { .num = hooknum,
					   .prio = PRIO_MANGLE };
	const char *const names[] = { "lo", ifname };
	struct rule r;

	ruleset_add_chain(rs, chain, &hook);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ruleset_begin(rs, &r, chain);
		if (hooknum == NF_INET_LOCAL_IN)
			rule_match_iif(&r, NFT_CMP_EQ, names[i]);
		else
			rule_match_oif(&r, NFT_CMP_EQ, names[i]);
		ruleset_end_with(rs, &r, NF_ACCEPT, NULL);
	}
}

int ruleset_put_guard(struct batch *b, const char *ifname)
{
	static const struct ruleset_hook forward = { .num = NF_INET_FORWARD,
						     .prio = PRIO_MANGLE };
	struct ruleset rs = { .batch = b };

	if (!is_ifname(ifname))
		return -EINVAL;
	ruleset_add_table(&rs, NFPROTO_INET, GUARD_TABLE);
	put_guard_chain(&rs, NF_INET_LOCAL_IN, "input", ifname);
	put_guard_chain(&rs, NF_INET_LOCAL_OUT, "output", ifname);
	ruleset_add_chain(&rs, "forward", &forward);
	return rs.error;
}
