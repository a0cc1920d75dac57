/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syn.h - a SYN as the sandbox sent it, and the frame made from it; pure
 */
#ifndef EGRET_RELAY_SYN_H
#define EGRET_RELAY_SYN_H

#include <stddef.h>
#include <stdint.h>

#include "relay/relay.h"

/* Ethernet 14, IPv6 40, TCP 20, options 20. */
#define SYN_FRAME_MAX 94

enum syn_option {
	SYN_OPT_MSS = 1U << 0,
	SYN_OPT_SACK = 1U << 1, /* SACK permitted */
	SYN_OPT_STAMP = 1U << 2,
	SYN_OPT_WSCALE = 1U << 3,
};

struct syn {
	struct relay_key key;
	uint32_t isn;
	uint32_t tsval;	 /* of SYN_OPT_STAMP */
	uint16_t window; /* as sent, a SYN's is never scaled */
	uint16_t mss;	 /* of SYN_OPT_MSS */
	uint8_t wscale;	 /* of SYN_OPT_WSCALE, at most 14 */
	uint8_t options; /* enum syn_option, or'ed */
};

/**
 * syn_parse() - read a packet, IP header on
 *
 * Accepted: a whole IPv4 packet without options or an IPv6 one without
 * extension headers, no fragment, TCP with SYN and none of FIN, RST, PSH, ACK,
 * URG; options well formed, each at most once. Data behind the header is
 * ignored. Checksums aren't looked at: a packet logged before it met a network
 * card has unfinished ones.
 *
 * Return: 0, or -EBADMSG (@ret untouched).
 */
int syn_parse(const uint8_t *packet, size_t len, struct syn *ret);

/**
 * syn_build() - the Ethernet frame of a SYN without data, checksums right
 *
 * Return: its length.
 */
size_t syn_build(const struct syn *s, const uint8_t src_mac[static 6],
		 const uint8_t dst_mac[static 6],
		 uint8_t ret_frame[static SYN_FRAME_MAX]);

#endif /* EGRET_RELAY_SYN_H */
