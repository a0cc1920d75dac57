/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * special.c - special-purpose addresses
 *
 * Two views of the same facts. special_classify() reads an address: fixed
 * ranges first, then the IPv4 address inside it, which is judged in turn.
 * special_prefixes() gives ranges alone, for the kernel: there each form that
 * embeds an IPv4 address is spelled out once for every special IPv4 range. The
 * unit test compares the two.
 *
 * The ranges are those of the IANA registries for IPv4 and IPv6 that aren't
 * globally reachable, and what is closed besides: multicast, the deprecated
 * 6to4 relays and site-local addresses, and metadata services of clouds that
 * stand at a public address. Blocks of which only pieces are reachable
 * (192.0.0.0/24, 2001::/23) are closed whole; the pieces are anycast services
 * and identifiers that no allowlist misses.
 */
#include <stdbool.h>
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "policy/special.h"

/*
 * Sorted, disjoint. FORM is called with the four bytes, the length and the
 * name; the forms below turn a range into a prefix of their kind.
 */
#define V4_RANGES(FORM)                                \
	FORM(0, 0, 0, 0, 8, "this-network")            \
	FORM(10, 0, 0, 0, 8, "private")                \
	FORM(100, 64, 0, 0, 10, "shared")              \
	FORM(127, 0, 0, 0, 8, "loopback")              \
	FORM(168, 63, 129, 16, 32, "metadata")         \
	FORM(169, 254, 0, 0, 16, "link-local")         \
	FORM(172, 16, 0, 0, 12, "private")             \
	FORM(192, 0, 0, 0, 24, "protocol-assignments") \
	FORM(192, 0, 2, 0, 24, "documentation")        \
	FORM(192, 88, 99, 0, 24, "6to4-relay")         \
	FORM(192, 168, 0, 0, 16, "private")            \
	FORM(198, 18, 0, 0, 15, "benchmarking")        \
	FORM(198, 51, 100, 0, 24, "documentation")     \
	FORM(203, 0, 113, 0, 24, "documentation")      \
	FORM(224, 0, 0, 0, 4, "multicast")             \
	FORM(240, 0, 0, 0, 4, "reserved")

#define V4(a, b, c, d, n, name) { { AF_INET, { a, b, c, d } }, n },
#define MAPPED(a, b, c, d, n, name) \
	{ { AF_INET6, { [10] = 0xff, 0xff, a, b, c, d } }, 96 + (n) },
#define NAT64(a, b, c, d, n, name) \
	{ { AF_INET6, { 0, 0x64, 0xff, 0x9b, [12] = a, b, c, d } }, 96 + (n) },
#define SIX_TO_4(a, b, c, d, n, name) \
	{ { AF_INET6, { 0x20, 0x02, a, b, c, d } }, 16 + (n) },
#define NAME(a, b, c, d, n, name) name,

static const struct prefix v4_prefixes[] = { V4_RANGES(V4) };
static const char *const v4_names[] = { V4_RANGES(NAME) };

_Static_assert(ARRAY_SIZE(v4_prefixes) == ARRAY_SIZE(v4_names), "one each");

static const struct prefix v6_prefixes[] = {
	{ { AF_INET6, { 0 } }, 96 },
	V4_RANGES(MAPPED){ { AF_INET6, { [8] = 0xff, 0xff } }, 96 },
	V4_RANGES(NAT64){ { AF_INET6, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 },
	{ { AF_INET6, { 1 } }, 64 },
	{ { AF_INET6, { 1, [7] = 1 } }, 64 },
	{ { AF_INET6, { 0x20, 0x01 } }, 23 },
	{ { AF_INET6, { 0x20, 0x01, 0x0d, 0xb8 } }, 32 },
	V4_RANGES(SIX_TO_4){ { AF_INET6, { 0x3f, 0xff } }, 20 },
	{ { AF_INET6, { 0x5f, 0x00 } }, 16 },
	{ { AF_INET6, { 0xfc } }, 7 },
	{ { AF_INET6, { 0xfe, 0x80 } }, 10 },
	{ { AF_INET6, { 0xfe, 0xc0 } }, 10 },
	{ { AF_INET6, { 0xff } }, 8 },
};

struct named_range {
	struct prefix prefix;
	const char *name;
};

/* The narrower range first where one lies in another. */
static const struct named_range v6_ranges[] = {
	{ { { AF_INET6, { 0 } }, 128 }, "unspecified" },
	{ { { AF_INET6, { [15] = 1 } }, 128 }, "loopback" },
	{ { { AF_INET6, { 0 } }, 96 }, "ipv4-compatible" },
	{ { { AF_INET6, { [8] = 0xff, 0xff } }, 96 }, "ipv4-translated" },
	{ { { AF_INET6, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 }, "local-nat64" },
	{ { { AF_INET6, { 1 } }, 64 }, "discard" },
	{ { { AF_INET6, { 1, [7] = 1 } }, 64 }, "dummy" },
	{ { { AF_INET6, { 0x20, 0x01 } }, 32 }, "teredo" },
	{ { { AF_INET6, { 0x20, 0x01, 0, 2 } }, 48 }, "benchmarking" },
	{ { { AF_INET6, { 0x20, 0x01 } }, 23 }, "protocol-assignments" },
	{ { { AF_INET6, { 0x20, 0x01, 0x0d, 0xb8 } }, 32 }, "documentation" },
	{ { { AF_INET6, { 0x3f, 0xff } }, 20 }, "documentation" },
	{ { { AF_INET6, { 0x5f, 0x00 } }, 16 }, "segment-routing" },
	{ { { AF_INET6, { 0xfd, 0x00, 0x0e, 0xc2, [14] = 2, 0x54 } }, 128 },
	  "metadata" },
	{ { { AF_INET6, { 0xfc } }, 7 }, "private" },
	{ { { AF_INET6, { 0xfe, 0x80 } }, 10 }, "link-local" },
	{ { { AF_INET6, { 0xfe, 0xc0 } }, 10 }, "site-local" },
	{ { { AF_INET6, { 0xff } }, 8 }, "multicast" },
};

/* Places inside the ranges that deserve a name of their own. */
static const struct named_range v4_places[] = {
	{ { { AF_INET, { 100, 100, 100, 200 } }, 32 }, "metadata" },
	{ { { AF_INET, { 169, 254, 169, 254 } }, 32 }, "metadata" },
	{ { { AF_INET, { 255, 255, 255, 255 } }, 32 }, "broadcast" },
};

static const char *find_range(const struct named_range *ranges, size_t n,
			      const struct addr *a)
{
	for (size_t i = 0; i < n; i++)
		if (prefix_contains(&ranges[i].prefix, a))
			return ranges[i].name;
	return NULL;
}

static const char *classify_v4(const uint8_t bytes[static 4])
{
	struct addr a = addr_from_bytes(bytes, 4);

	for (size_t i = 0; i < ARRAY_SIZE(v4_prefixes); i++) {
		const char *place;

		if (!prefix_contains(&v4_prefixes[i], &a))
			continue;
		place = find_range(v4_places, ARRAY_SIZE(v4_places), &a);
		return place ? place : v4_names[i];
	}
	return NULL;
}

/* The IPv4 address that the prefix of @b says it stands for, or NULL. */
static const uint8_t *embedded_v4(const uint8_t b[static 16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
	static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b };

	if (memcmp(b, mapped, 12) == 0 || memcmp(b, nat64, 12) == 0)
		return b + 12;
	if (b[0] == 0x20 && b[1] == 0x02)
		return b + 2;
	return NULL;
}

/* RFC 5214 6.1; the first octet is 0, or 2 for a global IPv4 address. */
static bool is_isatap(const uint8_t b[static 16])
{
	return (b[8] & ~2) == 0 && b[9] == 0x00 && b[10] == 0x5e &&
	       b[11] == 0xfe;
}

const char *special_classify(const struct addr *a)
{
	const uint8_t *v4;
	const char *name;

	if (a->family == AF_INET)
		return classify_v4(a->bytes);
	name = find_range(v6_ranges, ARRAY_SIZE(v6_ranges), a);
	v4 = embedded_v4(a->bytes);
	if (!name && v4)
		name = classify_v4(v4);
	if (!name && is_isatap(a->bytes))
		name = classify_v4(a->bytes + 12);
	return name;
}

const struct prefix *special_prefixes(uint8_t family, size_t *ret_n)
{
	if (family == AF_INET) {
		*ret_n = ARRAY_SIZE(v4_prefixes);
		return v4_prefixes;
	}
	*ret_n = ARRAY_SIZE(v6_prefixes);
	return v6_prefixes;
}
