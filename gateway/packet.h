/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packet.h - who and where of a logged packet; pure, bytes are hostile
 */
#ifndef EGRET_GATEWAY_PACKET_H
#define EGRET_GATEWAY_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct packet {
	struct endpoint src, dst; /* ports 0 where there are none */
	uint8_t proto;		  /* IPPROTO_*, as the header says */
};

/**
 * packet_parse() - IPv4 or IPv6 from the network header on
 *
 * Return: 0, or -EBADMSG when it's cut or isn't IP.
 */
int packet_parse(const uint8_t *data, size_t len, struct packet *ret);

#endif /* EGRET_GATEWAY_PACKET_H */
