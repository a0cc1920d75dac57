/* SPDX-License-Identifier: GPL-2.0-or-later */
/* addr.c - IP addresses, endpoints and prefixes as plain values */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"

size_t addr_len(const struct addr *a)
{
	switch (a->family) {
	case AF_INET:
		return 4;
	case AF_INET6:
		return 16;
	default:
		return 0;
	}
}

struct addr addr_from_bytes(const uint8_t *bytes, size_t len)
{
	struct addr a = { 0 };

	if (len != 4 && len != 16)
		return a;
	a.family = len == 4 ? AF_INET : AF_INET6;
	memcpy(a.bytes, bytes, len);
	return a;
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
	return a->family == b->family &&
	       memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && addr_equal(&a->addr, &b->addr);
}

int addr_parse(const char *text, struct addr *ret)
{
	uint8_t bytes[16];

	/* glibc's inet_pton takes neither "010.0.0.1" nor a zone. */
	if (inet_pton(AF_INET, text, bytes) == 1)
		*ret = addr_from_bytes(bytes, 4);
	else if (inet_pton(AF_INET6, text, bytes) == 1)
		*ret = addr_from_bytes(bytes, 16);
	else
		return -EINVAL;
	return 0;
}

/*
 * RFC 5952 section 4.2: the longest run of two or more zero groups, the first
 * of equals, becomes "::".
 */
static void find_zero_run(const uint16_t g[static 8], int *ret_at, int *ret_len)
{
	int best = -1, best_len = 1;

	for (int i = 0; i < 8;) {
		int j = i;

		while (j < 8 && g[j] == 0)
			j++;
		if (j - i > best_len) {
			best = i;
			best_len = j - i;
		}
		i = j + 1;
	}
	*ret_at = best;
	*ret_len = best < 0 ? 0 : best_len;
}

static bool is_v4_mapped(const uint8_t b[static 16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(b, mapped, sizeof(mapped)) == 0;
}

/*
 * inet_ntop(3) is not used for IPv6: it writes the last 32 bits of everything
 * below ::/96 as dotted IPv4, RFC 5952 section 5 only those of known prefixes.
 */
static void format_v6(const uint8_t b[static 16], char dst[static ADDR_STR_LEN])
{
	uint16_t g[8];
	char *p = dst;
	int at, len;

	if (is_v4_mapped(b)) {
		(void)snprintf(dst, ADDR_STR_LEN, "::ffff:%u.%u.%u.%u", b[12],
			       b[13], b[14], b[15]);
		return;
	}
	for (size_t i = 0; i < 8; i++)
		g[i] = (uint16_t)(b[2 * i] << 8 | b[2 * i + 1]);
	find_zero_run(g, &at, &len);
	for (int i = 0; i < 8; i++) {
		size_t left = ADDR_STR_LEN - (size_t)(p - dst);

		if (i == at) {
			p += snprintf(p, left, "::");
			i += len - 1;
			continue;
		}
		p += snprintf(p, left, "%s%x",
			      i == 0 || i == at + len ? "" : ":", g[i]);
	}
}

char *addr_format(const struct addr *a, char dst[static ADDR_STR_LEN])
{
	const uint8_t *b = a->bytes;

	switch (a->family) {
	case AF_INET:
		(void)snprintf(dst, ADDR_STR_LEN, "%u.%u.%u.%u", b[0], b[1],
			       b[2], b[3]);
		break;
	case AF_INET6:
		format_v6(b, dst);
		break;
	default:
		(void)snprintf(dst, ADDR_STR_LEN, "-");
		break;
	}
	return dst;
}

char *endpoint_format(const struct endpoint *e,
		      char dst[static ENDPOINT_STR_LEN])
{
	char text[ADDR_STR_LEN];
	bool v6 = e->addr.family == AF_INET6;

	(void)snprintf(dst, ENDPOINT_STR_LEN, "%s%s%s:%u", v6 ? "[" : "",
		       addr_format(&e->addr, text), v6 ? "]" : "", e->port);
	return dst;
}

int endpoint_from_sockaddr(const struct sockaddr_storage *ss,
			   struct endpoint *ret)
{
	struct sockaddr_in6 sin6;
	struct sockaddr_in sin;

	switch (ss->ss_family) {
	case AF_INET:
		memcpy(&sin, ss, sizeof(sin));
		ret->addr = addr_from_bytes((const uint8_t *)&sin.sin_addr, 4);
		ret->port = ntohs(sin.sin_port);
		return 0;
	case AF_INET6:
		memcpy(&sin6, ss, sizeof(sin6));
		if (is_v4_mapped(sin6.sin6_addr.s6_addr))
			ret->addr =
				addr_from_bytes(sin6.sin6_addr.s6_addr + 12, 4);
		else
			ret->addr = addr_from_bytes(sin6.sin6_addr.s6_addr, 16);
		ret->port = ntohs(sin6.sin6_port);
		return 0;
	default:
		return -EAFNOSUPPORT;
	}
}

socklen_t endpoint_to_sockaddr(const struct endpoint *e,
			       struct sockaddr_storage *ret)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in sin = { .sin_family = AF_INET };

	memset(ret, 0, sizeof(*ret));
	switch (e->addr.family) {
	case AF_INET:
		sin.sin_port = htons(e->port);
		memcpy(&sin.sin_addr, e->addr.bytes, 4);
		memcpy(ret, &sin, sizeof(sin));
		return sizeof(sin);
	case AF_INET6:
		sin6.sin6_port = htons(e->port);
		memcpy(&sin6.sin6_addr, e->addr.bytes, 16);
		memcpy(ret, &sin6, sizeof(sin6));
		return sizeof(sin6);
	default:
		return 0;
	}
}

/* The bits of byte @i that belong to the first @len bits. */
static uint8_t byte_mask(unsigned int len, unsigned int i)
{
	if (len >= 8 * (i + 1))
		return 0xff;
	if (len <= 8 * i)
		return 0;
	return (uint8_t)(0xff << (8 * (i + 1) - len));
}

bool prefix_contains(const struct prefix *p, const struct addr *a)
{
	size_t len = addr_len(a);

	if (len == 0 || p->addr.family != a->family)
		return false;
	for (unsigned int i = 0; i < len; i++) {
		uint8_t differ = p->addr.bytes[i] ^ a->bytes[i];

		if (differ & byte_mask(p->len, i))
			return false;
	}
	return true;
}

struct addr prefix_last(const struct prefix *p)
{
	struct addr last = p->addr;

	for (unsigned int i = 0; i < addr_len(&last); i++)
		last.bytes[i] |= (uint8_t)~byte_mask(p->len, i);
	return last;
}
