/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syn.c - a SYN as the sandbox sent it, and the frame made from it; pure
 *
 * The bytes come from the sandbox, so nothing of them is passed on as it is:
 * parsing takes the few numbers a handshake needs, and the frame that goes to
 * the kernel is built from those alone. What isn't known here (Fast Open with
 * its data, ECN set-up, experiments) is left out, which a peer is free to do:
 * the handshake then goes on without it, and data is sent again.
 *
 * Offsets are into the TCP header as in RFC 9293 3.1; options as in its 3.2,
 * RFC 7323 (window scale, timestamps) and RFC 2018 (SACK).
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "relay/syn.h"

#define ETH_LEN 14U
#define IP4_LEN 20U
#define IP6_LEN 40U
#define TCP_LEN 20U
#define TCP_SYN 0x02U
/* FIN, RST, PSH, ACK, URG; ECE and CWR of a SYN only offer ECN. */
#define TCP_ALIEN 0x3dU
#define TTL	  64U

enum tcp_option {
	TCP_OPT_END = 0,
	TCP_OPT_NOP = 1,
	TCP_OPT_MSS = 2,
	TCP_OPT_WSCALE = 3,
	TCP_OPT_SACK = 4,
	TCP_OPT_STAMP = 8,
};

#define WSCALE_MAX 14U /* RFC 7323 2.3: larger counts as this */

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, (uint16_t)(v >> 16));
	put16(p + 2, (uint16_t)v);
}

/* An option that has its own length; others are skipped. */
static int parse_option(const uint8_t *o, struct syn *s)
{
	static const struct {
		uint8_t len, flag;
	} known[] = {
		[TCP_OPT_MSS] = { 4, SYN_OPT_MSS },
		[TCP_OPT_WSCALE] = { 3, SYN_OPT_WSCALE },
		[TCP_OPT_SACK] = { 2, SYN_OPT_SACK },
		[TCP_OPT_STAMP] = { 10, SYN_OPT_STAMP },
	};
	uint8_t kind = o[0];

	if (kind >= sizeof(known) / sizeof(known[0]) || known[kind].len == 0)
		return 0;
	if (o[1] != known[kind].len || (s->options & known[kind].flag))
		return -EBADMSG;
	s->options |= known[kind].flag;
	if (kind == TCP_OPT_MSS)
		s->mss = get16(o + 2);
	else if (kind == TCP_OPT_WSCALE)
		s->wscale = o[2] > WSCALE_MAX ? WSCALE_MAX : o[2];
	else if (kind == TCP_OPT_STAMP)
		s->tsval = get32(o + 2);
	return 0;
}

static int parse_options(const uint8_t *o, size_t len, struct syn *s)
{
	size_t at = 0;

	while (at < len && o[at] != TCP_OPT_END) {
		if (o[at] == TCP_OPT_NOP) {
			at++;
			continue;
		}
		if (len - at < 2 || o[at + 1] < 2 || o[at + 1] > len - at)
			return -EBADMSG;
		if (parse_option(o + at, s) < 0)
			return -EBADMSG;
		at += o[at + 1];
	}
	return 0;
}

static int parse_tcp(const uint8_t *tcp, size_t len, struct syn *s)
{
	size_t header;

	if (len < TCP_LEN)
		return -EBADMSG;
	header = (size_t)(tcp[12] >> 4) * 4;
	if (header < TCP_LEN || header > len)
		return -EBADMSG;
	if ((tcp[13] & (TCP_SYN | TCP_ALIEN)) != TCP_SYN)
		return -EBADMSG;
	s->key.src.port = get16(tcp);
	s->key.dst.port = get16(tcp + 2);
	if (s->key.src.port == 0 || s->key.dst.port == 0)
		return -EBADMSG;
	s->isn = get32(tcp + 4);
	s->window = get16(tcp + 14);
	return parse_options(tcp + TCP_LEN, header - TCP_LEN, s);
}

static int parse_ip4(const uint8_t *ip, size_t len, struct syn *s)
{
	size_t total;

	if (len < IP4_LEN || ip[0] != 0x45)
		return -EBADMSG;
	total = get16(ip + 2);
	if (total < IP4_LEN || total > len)
		return -EBADMSG;
	/* More fragments, or an offset; DF is nothing to us. */
	if ((get16(ip + 6) & 0x3fff) != 0 || ip[9] != IPPROTO_TCP)
		return -EBADMSG;
	s->key.src.addr = addr_from_bytes(ip + 12, 4);
	s->key.dst.addr = addr_from_bytes(ip + 16, 4);
	return parse_tcp(ip + IP4_LEN, total - IP4_LEN, s);
}

static int parse_ip6(const uint8_t *ip, size_t len, struct syn *s)
{
	size_t payload;

	if (len < IP6_LEN || ip[0] >> 4 != 6)
		return -EBADMSG;
	payload = get16(ip + 4);
	if (payload > len - IP6_LEN || ip[6] != IPPROTO_TCP)
		return -EBADMSG;
	s->key.src.addr = addr_from_bytes(ip + 8, 16);
	s->key.dst.addr = addr_from_bytes(ip + 24, 16);
	return parse_tcp(ip + IP6_LEN, payload, s);
}

int syn_parse(const uint8_t *packet, size_t len, struct syn *ret)
{
	struct syn s = { 0 };
	int r;

	if (len == 0)
		return -EBADMSG;
	r = packet[0] >> 4 == 4 ? parse_ip4(packet, len, &s)
				: parse_ip6(packet, len, &s);
	if (r < 0)
		return r;
	*ret = s;
	return 0;
}

/* One's complement sum of 16-bit words, RFC 1071; an odd byte is padded. */
static uint32_t sum_words(const uint8_t *p, size_t len, uint32_t sum)
{
	size_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += get16(p + i);
	if (i < len)
		sum += (uint32_t)p[i] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* In the order and alignment of Linux, so that its fast path reads them. */
static size_t build_options(const struct syn *s, uint8_t *o)
{
	size_t n = 0;

	if (s->options & SYN_OPT_MSS) {
		o[n] = TCP_OPT_MSS;
		o[n + 1] = 4;
		put16(o + n + 2, s->mss);
		n += 4;
	}
	if (s->options & SYN_OPT_SACK) {
		o[n] = TCP_OPT_SACK;
		o[n + 1] = 2;
		n += 2;
	} else if (s->options & SYN_OPT_STAMP) {
		o[n++] = TCP_OPT_NOP;
		o[n++] = TCP_OPT_NOP;
	}
	if (s->options & SYN_OPT_STAMP) {
		o[n] = TCP_OPT_STAMP;
		o[n + 1] = 10;
		put32(o + n + 2, s->tsval);
		put32(o + n + 6, 0); /* a SYN echoes nothing */
		n += 10;
	}
	if (s->options & SYN_OPT_WSCALE) {
		o[n] = TCP_OPT_NOP;
		o[n + 1] = TCP_OPT_WSCALE;
		o[n + 2] = 3;
		o[n + 3] = s->wscale;
		n += 4;
	}
	while (n % 4 != 0)
		o[n++] = TCP_OPT_NOP;
	return n;
}

/* Without the checksum, which covers addresses too. */
static size_t build_tcp(const struct syn *s, uint8_t *tcp)
{
	size_t len = TCP_LEN + build_options(s, tcp + TCP_LEN);

	memset(tcp, 0, TCP_LEN);
	put16(tcp, s->key.src.port);
	put16(tcp + 2, s->key.dst.port);
	put32(tcp + 4, s->isn);
	tcp[12] = (uint8_t)(len / 4 << 4);
	tcp[13] = TCP_SYN;
	put16(tcp + 14, s->window);
	return len;
}

static void build_ip4(const struct syn *s, uint8_t *ip, size_t tcp_len)
{
	memset(ip, 0, IP4_LEN);
	ip[0] = 0x45;
	put16(ip + 2, (uint16_t)(IP4_LEN + tcp_len));
	put16(ip + 6, 0x4000); /* don't fragment */
	ip[8] = TTL;
	ip[9] = IPPROTO_TCP;
	memcpy(ip + 12, s->key.src.addr.bytes, 4);
	memcpy(ip + 16, s->key.dst.addr.bytes, 4);
	put16(ip + 10, fold(sum_words(ip, IP4_LEN, 0)));
}

static void build_ip6(const struct syn *s, uint8_t *ip, size_t tcp_len)
{
	memset(ip, 0, IP6_LEN);
	ip[0] = 0x60;
	put16(ip + 4, (uint16_t)tcp_len);
	ip[6] = IPPROTO_TCP;
	ip[7] = TTL;
	memcpy(ip + 8, s->key.src.addr.bytes, 16);
	memcpy(ip + 24, s->key.dst.addr.bytes, 16);
}

size_t syn_build(const struct syn *s, const uint8_t src_mac[static 6],
		 const uint8_t dst_mac[static 6],
		 uint8_t ret_frame[static SYN_FRAME_MAX])
{
	bool is_ip6 = s->key.dst.addr.family == AF_INET6;
	size_t addrs = addr_len(&s->key.dst.addr);
	size_t ip_len = is_ip6 ? IP6_LEN : IP4_LEN;
	uint8_t *ip = ret_frame + ETH_LEN;
	uint8_t *tcp = ip + ip_len;
	size_t tcp_len = build_tcp(s, tcp);
	uint32_t sum = IPPROTO_TCP + (uint32_t)tcp_len;

	memcpy(ret_frame, dst_mac, 6);
	memcpy(ret_frame + 6, src_mac, 6);
	put16(ret_frame + 12, is_ip6 ? 0x86dd : 0x0800);
	if (is_ip6)
		build_ip6(s, ip, tcp_len);
	else
		build_ip4(s, ip, tcp_len);
	/* The pseudo header: addresses, protocol, length; RFC 9293 3.1. */
	sum = sum_words(s->key.src.addr.bytes, addrs, sum);
	sum = sum_words(s->key.dst.addr.bytes, addrs, sum);
	put16(tcp + 16, fold(sum_words(tcp, tcp_len, sum)));
	return ETH_LEN + ip_len + tcp_len;
}
