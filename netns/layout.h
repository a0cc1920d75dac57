/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - names and addresses that every gateway has
 *
 * Each gateway has namespaces of its own, so all use the same ones. IPv4 from
 * the benchmark range 198.18.0.0/15, which collides with nobody's networks.
 */
#ifndef EGRET_NETNS_LAYOUT_H
#define EGRET_NETNS_LAYOUT_H

#define LAYOUT_GW_IFNAME     "gw0"  /* gateway netns, to the sandbox */
#define LAYOUT_SB_IFNAME     "eth0" /* sandbox netns */
#define LAYOUT_INJ_TX_IFNAME "inj0" /* gateway netns: packet sockets send */
#define LAYOUT_INJ_RX_IFNAME "inj1" /* gateway netns: and it arrives here */

#define LAYOUT_GW_ADDR4	  "198.18.0.1"
#define LAYOUT_SB_ADDR4	  "198.18.0.2"
#define LAYOUT_PLEN4	  30
#define LAYOUT_HOST_ADDR4 "198.18.0.5" /* host.egret.internal */
#define LAYOUT_GW_ADDR6	  "fd77:6567:7265:74::1"
#define LAYOUT_SB_ADDR6	  "fd77:6567:7265:74::2"
#define LAYOUT_PLEN6	  126

#define LAYOUT_GW_MAC                              \
	{                                          \
		0x02, 0x65, 0x67, 0x72, 0x00, 0x01 \
	}
#define LAYOUT_SB_MAC                              \
	{                                          \
		0x02, 0x65, 0x67, 0x72, 0x00, 0x02 \
	}
#define LAYOUT_INJ_TX_MAC                          \
	{                                          \
		0x02, 0x65, 0x67, 0x72, 0x00, 0x03 \
	}
#define LAYOUT_INJ_RX_MAC                          \
	{                                          \
		0x02, 0x65, 0x67, 0x72, 0x00, 0x04 \
	}

#define LAYOUT_MTU	  65520
#define LAYOUT_RELAY_PORT 1 /* TPROXY listener; never seen on the wire */

#endif /* EGRET_NETNS_LAYOUT_H */
