/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packet.c - logged packets (RFC 791, RFC 8200) */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "gateway/packet.h"

#define IP4_HEADER_MIN 20U
#define IP6_HEADER     40U

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)((unsigned int)p[0] << 8 | p[1]);
}

int packet_parse(const uint8_t *data, size_t len, struct packet *ret)
{
	struct packet p;
	bool first = true;
	size_t at;

	memset(&p, 0, sizeof(p));
	if (len < 1)
		return -EBADMSG;
	switch (data[0] >> 4) {
	case 4:
		at = 4U * (data[0] & 0x0f);
		if (at < IP4_HEADER_MIN || len < at)
			return -EBADMSG;
		p.proto = data[9];
		p.src.addr = addr_from_bytes(data + 12, 4);
		p.dst.addr = addr_from_bytes(data + 16, 4);
		first = (be16(data + 6) & 0x1fff) == 0;
		break;
	case 6:
		at = IP6_HEADER;
		if (len < at)
			return -EBADMSG;
		p.proto = data[6];
		p.src.addr = addr_from_bytes(data + 8, 16);
		p.dst.addr = addr_from_bytes(data + 24, 16);
		break;
	default:
		return -EBADMSG;
	}
	if (first && (p.proto == IPPROTO_TCP || p.proto == IPPROTO_UDP) &&
	    len >= at + 4) {
		p.src.port = be16(data + at);
		p.dst.port = be16(data + at + 2);
	}
	*ret = p;
	return 0;
}
