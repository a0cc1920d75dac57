/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway_judge.c - the ops that join relay and resolver to policy and leases,
 * and the report of what was refused
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "gateway/asker.h"
#include "gateway/event.h"
#include "gateway/gateway_internal.h"
#include "gateway/grants.h"
#include "gateway/packet.h"
#include "gateway/uses.h"
#include "netns/hostaddr.h"
#include "netns/layout.h"
#include "nft/nflog.h"
#include "policy/policy.h"
#include "relay/relay.h"
#include "resolver/resolver.h"
#include "resolver/upstream.h"

static enum event_reason reason_of(enum policy_reason r)
{
	switch (r) {
	case POLICY_PORT:
		return EVENT_REASON_PORT;
	case POLICY_DENIED:
		return EVENT_REASON_DENIED;
	case POLICY_PRIVATE:
		return EVENT_REASON_PRIVATE;
	case POLICY_ALLOWED:
	case POLICY_NOT_LISTED:
	case POLICY_REASON_MAX:
		break;
	}
	return EVENT_REASON_NOT_LISTED;
}

static void put_entry(const struct gateway *gw, struct event *e, uint32_t entry)
{
	struct policy_entry pe;

	if (entry == POLICY_NO_ENTRY)
		return;
	pe = policy_entry(gw->policy, entry);
	log_escape(e->entry, sizeof(e->entry), pe.text, strlen(pe.text));
}

/* Joins what the entries and what the leases say of an endpoint. */
struct policy_verdict gateway_judge(const struct gateway *gw,
				    const struct endpoint *dst,
				    enum policy_proto proto,
				    struct dnsname *ret_name)
{
	struct policy_verdict by_entry, by_lease;
	bool own = gateway_is_closed_own(gw, &dst->addr);

	memset(ret_name, 0, sizeof(*ret_name));
	by_entry = policy_judge_addr(gw->policy, &dst->addr, proto, dst->port);
	if (by_entry.reason == POLICY_DENIED)
		return by_entry;
	if (by_entry.reason == POLICY_ALLOWED &&
	    (!own || (by_entry.flags & POLICY_F_PRIVATE)))
		return by_entry;
	by_lease = resolver_judge_addr(gw->resolver, &dst->addr, proto,
				       dst->port, ret_name);
	if (by_lease.reason == POLICY_ALLOWED &&
	    (!own || (by_lease.flags & POLICY_F_PRIVATE)))
		return by_lease;
	if (own) {
		by_entry.reason = POLICY_PRIVATE;
		by_entry.entry = POLICY_NO_ENTRY;
		return by_entry;
	}
	return by_lease.reason == POLICY_PORT ? by_lease : by_entry;
}

/* ---- relay ---- */

static bool may_connect(void *ctx, const struct relay_key *key)
{
	struct dnsname name;

	return gateway_judge(ctx, &key->dst, POLICY_TCP, &name).reason ==
	       POLICY_ALLOWED;
}

static void flow_event(struct gateway *gw, enum event_type type,
		       const struct relay_flow_info *f,
		       enum event_reason reason)
{
	struct policy_verdict v;
	struct dnsname name;
	struct event e;

	event_init(&e, type, EVENT_KIND_TCP);
	e.addr = f->key.dst.addr;
	e.port = f->key.dst.port;
	e.bytes_out = f->bytes_out;
	e.bytes_in = f->bytes_in;
	e.reason = reason;
	v = gateway_judge(gw, &f->key.dst, POLICY_TCP, &name);
	if (name.len)
		dnsname_format(&name, e.name);
	put_entry(gw, &e, v.entry);
	if (type == EVENT_REFUSED && reason == EVENT_REASON_NOT_LISTED)
		e.reason = reason_of(v.reason);
	if (f->error)
		(void)snprintf(e.text, sizeof(e.text), "%s",
			       strerror(f->error));
	if (type == EVENT_REFUSED)
		e.socket_inode = asker_find_socket(gw->asker, IPPROTO_TCP,
						   &f->key.src, &f->key.dst);
	gateway_tell(gw, &e);
}

static void flow_opened(void *ctx, const struct relay_flow_info *f)
{
	struct gateway *gw = ctx;
	struct dnsname name;

	uses_bump(gw->uses,
		  gateway_judge(gw, &f->key.dst, POLICY_TCP, &name).entry);
	if (gw->cfg->want_events)
		flow_event(gw, EVENT_ALLOWED, f, EVENT_REASON_NONE);
}

static void flow_closed(void *ctx, const struct relay_flow_info *f)
{
	struct gateway *gw = ctx;

	if (gw->cfg->want_events && !gw->ending)
		flow_event(gw, EVENT_CLOSED, f, EVENT_REASON_NONE);
	if (!gw->ending && !relay_count_addr(gw->relay, &f->key.dst.addr))
		resolver_flow_ended(gw->resolver, &f->key.dst.addr);
}

static void flow_refused(void *ctx, const struct relay_flow_info *f,
			 enum relay_refusal why)
{
	struct gateway *gw = ctx;

	switch (why) {
	case RELAY_REFUSED_POLICY:
		flow_event(gw, EVENT_REFUSED, f, EVENT_REASON_NOT_LISTED);
		break;
	case RELAY_REFUSED_LIMIT:
		flow_event(gw, EVENT_REFUSED, f, EVENT_REASON_LIMIT);
		break;
	case RELAY_REFUSED_UPSTREAM:
		/* The destination's own word: no refusal of egret's. */
		if (gw->cfg->want_events)
			flow_event(gw, EVENT_REFUSED, f, EVENT_REASON_UPSTREAM);
		break;
	}
}

const struct relay_ops gateway_relay_ops = {
	.may_connect = may_connect,
	.opened = flow_opened,
	.closed = flow_closed,
	.refused = flow_refused,
};

/* ---- resolver ---- */

static void ask(void *ctx, const struct dnsname *name, uint16_t qtype,
		resolver_answer_fn *done, void *arg)
{
	struct gateway *gw = ctx;

	if (gw->ending) {
		done(arg, -ECANCELED, NULL, 0);
		return;
	}
	upstream_ask(gw->upstream, name, qtype, done, arg);
}

static void grant(void *ctx, struct resolver_grant *g)
{
	struct gateway *gw = ctx;

	grants_submit(gw->grants, g);
}

static bool addr_in_use(void *ctx, const struct addr *addr)
{
	struct gateway *gw = ctx;

	return relay_count_addr(gw->relay, addr) > 0;
}

static bool has_ipv6(void *ctx)
{
	struct gateway *gw = ctx;

	return hostaddr_has_ipv6(gw->hostaddr);
}

static bool is_host_addr(void *ctx, const struct addr *addr)
{
	return gateway_is_closed_own(ctx, addr);
}

static void put_qtype(struct event *e, uint16_t qtype)
{
	static const struct {
		uint16_t type;
		const char *word;
	} known[] = {
		{ 1, "A" },	  { 2, "NS" },	   { 5, "CNAME" },
		{ 6, "SOA" },	  { 12, "PTR" },   { 15, "MX" },
		{ 16, "TXT" },	  { 28, "AAAA" },  { 33, "SRV" },
		{ 64, "SVCB" },	  { 65, "HTTPS" }, { 255, "ANY" },
		{ 257, "CAA" },	  { 10, "NULL" },  { 35, "NAPTR" },
		{ 99, "SPF" },	  { 256, "URI" },  { 43, "DS" },
		{ 48, "DNSKEY" }, { 52, "TLSA" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].type == qtype) {
			(void)snprintf(e->qtype, sizeof(e->qtype), "%s",
				       known[i].word);
			return;
		}
	}
	/* RFC 3597 5 */
	(void)snprintf(e->qtype, sizeof(e->qtype), "TYPE%u", qtype);
}

/* Tells the front; the answer to a known socket waits for its word.
   Return: the ticket, or 0: answer now. */
static uint32_t tell_and_hold(struct gateway *gw, const struct event *e,
			      const uint8_t *syn, size_t len)
{
	uint32_t ticket = 0;

	if (e->socket_inode)
		ticket = asker_hold(gw->asker, syn, len);
	if (gateway_ask(gw, e, ticket))
		return ticket;
	if (ticket)
		asker_forget(gw->asker, ticket);
	return 0;
}

static uint64_t find_dns_client(struct gateway *gw,
				const struct resolver_refusal *r)
{
	/* Where it was sent to isn't known; as a rule where resolv.conf says.
	   A UDP socket is found in either case. */
	struct endpoint server = { .port = 53 };

	if (addr_parse(r->client.addr.family == AF_INET6 ? LAYOUT_GW_ADDR6
							 : LAYOUT_GW_ADDR4,
		       &server.addr) < 0)
		return 0;
	return asker_find_socket(gw->asker,
				 r->is_tcp ? IPPROTO_TCP : IPPROTO_UDP,
				 &r->client, &server);
}

static void dns_refused(void *ctx, const struct resolver_refusal *r)
{
	struct gateway *gw = ctx;
	struct event e;

	event_init(&e, EVENT_REFUSED, EVENT_KIND_DNS);
	e.reason = reason_of(r->reason);
	dnsname_format(r->name, e.name);
	put_qtype(&e, r->qtype);
	put_entry(gw, &e, r->entry);
	if (r->addr)
		e.addr = *r->addr;
	if (r->category)
		(void)snprintf(e.text, sizeof(e.text), "%s", r->category);
	e.socket_inode = find_dns_client(gw, r);
	if (r->ret_hold)
		*r->ret_hold = tell_and_hold(gw, &e, NULL, 0);
	else
		gateway_tell(gw, &e);
}

static void learned(void *ctx, const struct dnsname *name,
		    const struct addr *addr, uint32_t ttl_s)
{
	struct gateway *gw = ctx;
	struct event e;

	if (!gw->cfg->want_events)
		return;
	event_init(&e, EVENT_LEARNED, EVENT_KIND_DNS);
	dnsname_format(name, e.name);
	e.addr = *addr;
	(void)snprintf(e.text, sizeof(e.text), "ttl %u s", ttl_s);
	gateway_tell(gw, &e);
}

static void allowed(void *ctx, uint32_t entry)
{
	struct gateway *gw = ctx;

	uses_bump(gw->uses, entry);
}

static void grant_failed(void *ctx, const struct dnsname *name, int result,
			 const char *why)
{
	char text[DNSNAME_STR_LEN];

	if (!name) {
		gateway_error(ctx, "the kernel refused to close an address: %s",
			      why ? why : strerror(-result));
		return;
	}
	gateway_error(ctx,
		      "the kernel refused to open what %s resolves to (%s); it "
		      "was answered with SERVFAIL, try again",
		      dnsname_format(name, text),
		      why ? why : strerror(-result));
}

const struct resolver_ops gateway_resolver_ops = {
	.ask = ask,
	.grant = grant,
	.addr_in_use = addr_in_use,
	.has_ipv6 = has_ipv6,
	.is_host_addr = is_host_addr,
	.refused = dns_refused,
	.learned = learned,
	.allowed = allowed,
	.grant_failed = grant_failed,
};

/* ---- packets that the ruleset refused ---- */

static void put_protocol(struct event *e, const struct packet *p)
{
	e->kind = EVENT_KIND_PACKET;
	e->reason = EVENT_REASON_PROTOCOL;
	(void)snprintf(e->text, sizeof(e->text), "protocol %u", p->proto);
}

/* Return: false when there is nothing to tell. */
static bool describe(struct gateway *gw, const struct packet *p,
		     struct event *e)
{
	enum policy_proto proto = POLICY_TCP;
	struct policy_verdict v;
	struct dnsname name;

	event_init(e, EVENT_REFUSED, EVENT_KIND_TCP);
	e->addr = p->dst.addr;
	e->port = p->dst.port;
	switch (p->proto) {
	case IPPROTO_TCP:
		break;
	case IPPROTO_UDP:
		e->kind = EVENT_KIND_UDP;
		proto = POLICY_UDP;
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		e->kind = EVENT_KIND_ICMP;
		proto = POLICY_ICMP;
		break;
	default:
		put_protocol(e, p);
		return true;
	}
	v = gateway_judge(gw, &p->dst, proto, &name);
	if (v.reason == POLICY_ALLOWED && proto == POLICY_TCP)
		return false; /* it was opened a moment ago; the client tries
				 again */
	e->reason = v.reason == POLICY_ALLOWED ? EVENT_REASON_PROTOCOL
					       : reason_of(v.reason);
	if (name.len)
		dnsname_format(&name, e->name);
	put_entry(gw, e, v.entry);
	e->socket_inode =
		asker_find_socket(gw->asker, p->proto, &p->src, &p->dst);
	return true;
}

void gateway_dropped(void *ctx, const struct nflog_packet *np)
{
	/* A SYN waits, dropped, for its answer. The socket of any other packet
	   has had it from the ruleset. */
	bool is_syn = !strcmp(np->prefix, "syn");
	struct gateway *gw = ctx;
	struct packet p;
	struct event e;

	if (packet_parse(np->data, np->len, &p) < 0)
		return;
	if (!describe(gw, &p, &e)) {
		if (is_syn)
			relay_refuse_syn(gw->relay, np->data, np->len);
	} else if (!is_syn) {
		gateway_tell(gw, &e);
	} else if (!tell_and_hold(gw, &e, np->data, np->len)) {
		relay_refuse_syn(gw->relay, np->data, np->len);
	}
}
