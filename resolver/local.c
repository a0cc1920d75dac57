/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * local.c - names that are answered here and never sent upstream
 *
 * Special-use names (RFC 6761, 6762, 7686, 8375), single labels and reverse
 * zones leave only when an entry lists them; `*` doesn't. What is below
 * egret.internal never leaves.
 */
#include <string.h>

#include "resolver/resolver_internal.h"

#define IP4_LABELS 4
#define IP6_LABELS 32

static const char *const zone_texts[] = {
	[LOCAL_LOCALHOST] = "localhost",
	[LOCAL_MDNS] = "local",
	[LOCAL_HOME] = "home.arpa",
	[LOCAL_ONION] = "onion",
	[LOCAL_INVALID] = "invalid",
	[LOCAL_REVERSE4] = "in-addr.arpa",
	[LOCAL_REVERSE6] = "ip6.arpa",
	[LOCAL_INTERNAL] = "egret.internal",
	[LOCAL_CHECK] = "check.egret.internal",
	[LOCAL_CANARY] = "use-application-dns.net",
};
_Static_assert(ARRAY_SIZE(zone_texts) == LOCAL_MAX, "a text for every zone");

int local_init(struct resolver *r)
{
	for (size_t i = 0; i < LOCAL_MAX; i++) {
		int e = dnsname_from_text(zone_texts[i], strlen(zone_texts[i]),
					  &r->zones[i]);

		if (e)
			return e;
	}
	return 0;
}

static bool is_in(const struct resolver *r, const struct dnsname *n,
		  enum local_zone zone)
{
	return dnsname_equal(n, &r->zones[zone]) ||
	       dnsname_is_below(n, &r->zones[zone]);
}

/* An entry that speaks of this name, and not of everything. */
static bool is_listed(const struct resolver *r, const struct policy_verdict *v)
{
	struct policy_entry e;
	const char *text;

	if (v->reason != POLICY_ALLOWED || v->entry == POLICY_NO_ENTRY)
		return false;
	e = policy_entry(r->policy, v->entry);
	text = e.preset_text ? e.preset_text : e.text;
	return text[0] != '*' || text[1] == '.';
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_ip6(const struct dnsname *n, struct addr *ret)
{
	uint8_t bytes[16] = { 0 };
	size_t at = 0;

	for (unsigned int i = 0; i < IP6_LABELS; i++, at += 2) {
		int digit = hex_digit(n->wire[at + 1]);

		if (n->wire[at] != 1 || digit < 0)
			return false;
		bytes[15 - i / 2] |= (uint8_t)(digit << (i % 2 ? 4 : 0));
	}
	*ret = addr_from_bytes(bytes, sizeof(bytes));
	return true;
}

static bool parse_ip4(const struct dnsname *n, struct addr *ret)
{
	uint8_t bytes[4];
	size_t at = 0;

	for (unsigned int i = 0; i < IP4_LABELS; i++) {
		size_t len = n->wire[at++];
		unsigned int v = 0;

		if (len > 3 || (len > 1 && n->wire[at] == '0'))
			return false;
		for (size_t j = 0; j < len; j++, at++) {
			if (n->wire[at] < '0' || n->wire[at] > '9')
				return false;
			v = v * 10 + n->wire[at] - '0';
		}
		if (v > UINT8_MAX)
			return false;
		bytes[3 - i] = (uint8_t)v;
	}
	*ret = addr_from_bytes(bytes, sizeof(bytes));
	return true;
}

static bool reverse_addr(const struct resolver *r, const struct dnsname *n,
			 struct addr *ret)
{
	unsigned int labels = dnsname_labels(n);

	if (is_in(r, n, LOCAL_REVERSE4) && labels == IP4_LABELS + 2)
		return parse_ip4(n, ret);
	if (is_in(r, n, LOCAL_REVERSE6) && labels == IP6_LABELS + 2)
		return parse_ip6(n, ret);
	return false;
}

/* Asked by every logging program, so an unknown address isn't reported. */
static void answer_reverse(struct resolver *r, const struct question *q)
{
	struct dnsname name;
	struct addr a;

	if (!reverse_addr(r, &q->name, &a) ||
	    !lease_name_of(r->leases, &a, &name))
		reply_negative(r, q, WIRE_NXDOMAIN, WIRE_EDE_NONE, NULL);
	else if (q->qtype != WIRE_PTR)
		reply_negative(r, q, WIRE_NOERROR, WIRE_EDE_NONE, NULL);
	else
		reply_rr(r, q, WIRE_PTR, RESOLVER_LOCAL_TTL_S, name.wire,
			 name.len);
}

static void answer_localhost(struct resolver *r, const struct question *q)
{
	static const uint8_t v4[4] = { 127, 0, 0, 1 };
	static const uint8_t v6[16] = { [15] = 1 };

	if (q->qtype == WIRE_A)
		reply_rr(r, q, WIRE_A, 3600, v4, sizeof(v4));
	else if (q->qtype == WIRE_AAAA)
		reply_rr(r, q, WIRE_AAAA, 3600, v6, sizeof(v6));
	else
		reply_negative(r, q, WIRE_NOERROR, WIRE_EDE_NONE, NULL);
}

/* Below egret.internal: the check, and nothing else so far. */
static void answer_internal(struct resolver *r, const struct question *q)
{
	if (dnsname_is_below(&q->name, &r->zones[LOCAL_CHECK]))
		check_answer(r, q);
	else if (dnsname_equal(&q->name, &r->zones[LOCAL_CHECK]) ||
		 dnsname_equal(&q->name, &r->zones[LOCAL_INTERNAL]))
		reply_negative(r, q, WIRE_NOERROR, WIRE_EDE_NONE, NULL);
	else
		reply_negative(r, q, WIRE_NXDOMAIN, WIRE_EDE_NONE, NULL);
}

static bool is_special_use(const struct resolver *r, const struct dnsname *n)
{
	return dnsname_labels(n) < 2 || is_in(r, n, LOCAL_MDNS) ||
	       is_in(r, n, LOCAL_HOME) || is_in(r, n, LOCAL_ONION) ||
	       is_in(r, n, LOCAL_INVALID);
}

bool local_answer(struct resolver *r, const struct question *q)
{
	const struct dnsname *n = &q->name;
	struct policy_verdict v;

	if (is_in(r, n, LOCAL_INTERNAL)) {
		answer_internal(r, q);
		return true;
	}
	if (is_in(r, n, LOCAL_LOCALHOST)) {
		answer_localhost(r, q);
		return true;
	}
	v = policy_judge_name(r->policy, n);
	if (is_listed(r, &v))
		return false;
	if (is_in(r, n, LOCAL_REVERSE4) || is_in(r, n, LOCAL_REVERSE6)) {
		answer_reverse(r, q);
		return true;
	}
	if (dnsname_equal(n, &r->zones[LOCAL_CANARY])) {
		/* Tells browsers to use the resolver of the system: this one.
		 */
		reply_negative(r, q, WIRE_NXDOMAIN, WIRE_EDE_NONE, NULL);
		return true;
	}
	if (!is_special_use(r, n))
		return false;
	if (v.reason == POLICY_ALLOWED) {
		v.reason = POLICY_NOT_LISTED;
		v.entry = POLICY_NO_ENTRY;
	}
	resolver_report(r, q, v.reason, v.entry, NULL);
	reply_refused(r, q, &v);
	return true;
}
