/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.c - a question to the matcher, asked from inside the sandbox
 *
 * TXT _PORT._PROTO.HOST.check.egret.internal, where HOST is a name or an
 * address as one label before `ip4` or `ip6`, with '-' for '.' or ':':
 *
 *   _443._tcp.example.org.check.egret.internal      allowed rule=example.org
 *   _22._tcp.203-0-113-7.ip4.check.egret.internal   refused reason=not_listed
 *   _443._tcp.2001-db8--1.ip6.check.egret.internal
 *
 * The same functions decide here as for a connection.
 */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "resolver/resolver_internal.h"

#define TXT_STRING_MAX 255

struct check {
	enum policy_proto proto;
	uint16_t port;
	struct dnsname host;
	bool is_addr;
	struct addr addr;
};

/* The label at @at of @n, which must begin with an underscore. */
static bool service_label(const struct dnsname *n, size_t at, const char **text,
			  size_t *len)
{
	if (!n->wire[at] || n->wire[at + 1] != '_')
		return false;
	*text = (const char *)n->wire + at + 2;
	*len = n->wire[at] - 1U;
	return true;
}

static bool parse_proto(const char *text, size_t len, enum policy_proto *ret)
{
	for (unsigned int i = 0; i < POLICY_PROTO_MAX; i++) {
		const char *s = policy_proto_str((enum policy_proto)i);

		if (strlen(s) == len && !memcmp(s, text, len)) {
			*ret = (enum policy_proto)i;
			return true;
		}
	}
	return false;
}

/* "203-0-113-7" before "ip4", "2001-db8--1" before "ip6". */
static bool parse_addr_host(const struct dnsname *n, struct addr *ret)
{
	size_t len = n->wire[0];
	const uint8_t *kind = n->wire + len + 1;
	char text[DNSNAME_LABEL_MAX + 1], sep;

	if (dnsname_labels(n) != 2 || kind[0] != 3 || kind[1] != 'i' ||
	    kind[2] != 'p' || (kind[3] != '4' && kind[3] != '6'))
		return false;
	sep = kind[3] == '4' ? '.' : ':';
	memcpy(text, n->wire + 1, len);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '-')
			text[i] = sep;
	}
	text[len] = '\0';
	return !memchr(text, 0, len) && !addr_parse(text, ret) &&
	       addr_len(ret) == (sep == '.' ? 4 : 16);
}

static bool parse_check(const struct resolver *r, const struct dnsname *n,
			struct check *ret)
{
	size_t port_len, proto_len, head, tail = r->zones[LOCAL_CHECK].len;
	const char *port, *proto;

	if (!service_label(n, 0, &port, &port_len) ||
	    !service_label(n, n->wire[0] + 1U, &proto, &proto_len) ||
	    parse_u16(port, port_len, &ret->port) ||
	    !parse_proto(proto, proto_len, &ret->proto))
		return false;
	if (ret->proto == POLICY_ICMP)
		ret->port = 0; /* it has none, but the question has to */
	head = port_len + proto_len + 4;
	if (head + tail >= n->len)
		return false;
	memcpy(ret->host.wire, n->wire + head, n->len - head - tail);
	ret->host.len = (uint8_t)(n->len - head - tail + 1);
	ret->host.wire[ret->host.len - 1] = 0;
	ret->is_addr = parse_addr_host(&ret->host, &ret->addr);
	return true;
}

/* As the gateway judges a connection to an address. */
static struct policy_verdict judge_addr(const struct resolver *r,
					const struct check *c)
{
	struct policy_verdict v, l;
	bool own = r->ops->is_host_addr(r->ctx, &c->addr);

	v = policy_judge_addr(r->policy, &c->addr, c->proto, c->port);
	if (v.reason == POLICY_DENIED ||
	    (v.reason == POLICY_ALLOWED &&
	     (!own || (v.flags & POLICY_F_PRIVATE))))
		return v;
	l = lease_judge(r->leases, r->policy, &c->addr, c->proto, c->port,
			NULL);
	if (l.reason == POLICY_ALLOWED &&
	    (!own || (l.flags & POLICY_F_PRIVATE)))
		return l;
	if (own)
		return (struct policy_verdict){ POLICY_PRIVATE, POLICY_NO_ENTRY,
						0 };
	return l.reason == POLICY_PORT ? l : v;
}

static struct policy_verdict judge(const struct resolver *r,
				   const struct check *c)
{
	if (c->is_addr)
		return judge_addr(r, c);
	return policy_judge_name_port(r->policy, &c->host, c->proto, c->port);
}

void check_answer(struct resolver *r, const struct question *q)
{
	char text[TXT_STRING_MAX + 1];
	uint8_t rdata[TXT_STRING_MAX + 1];
	struct check c = { 0 };
	struct policy_verdict v;
	size_t len;

	if (!parse_check(r, &q->name, &c)) {
		reply_negative(r, q, WIRE_NXDOMAIN, WIRE_EDE_NONE, NULL);
		return;
	}
	if (q->qtype != WIRE_TXT) {
		reply_negative(r, q, WIRE_NOERROR, WIRE_EDE_NONE, NULL);
		return;
	}
	v = judge(r, &c);
	if (v.reason == POLICY_ALLOWED)
		(void)snprintf(text, sizeof(text), "allowed rule=%s",
			       policy_entry(r->policy, v.entry).text);
	else
		(void)snprintf(text, sizeof(text), "refused reason=%s",
			       policy_reason_str(v.reason));
	len = strlen(text);
	rdata[0] = (uint8_t)len;
	memcpy(rdata + 1, text, len);
	reply_rr(r, q, WIRE_TXT, 0, rdata, len + 1);
}
