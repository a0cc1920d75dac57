/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control_show.c - what a sandbox has: entries, addresses, connections, counts
 *
 * The lists are cut, so that making a reply takes the loop a few milliseconds
 * at most. Entries beyond the cut can be asked for from where it stopped.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gateway/control.h"
#include "gateway/gateway_control.h"
#include "gateway/gateway_internal.h"
#include "gateway/uses.h"
#include "policy/policy.h"
#include "relay/relay.h"
#include "resolver/resolver.h"

#define ENTRIES_MAX 2048U
#define LEARNED_MAX 2048U
#define FLOWS_MAX   4096U
#define PORT_LEN    32

struct listing {
	const struct gateway *gw;
	struct control_text *t;
	size_t n, max;
	bool is_cut;
};

/* Return: false: the list ends here. */
static bool has_room(struct listing *l)
{
	if (l->n++ < l->max && !control_is_long(l->t))
		return true;
	l->is_cut = true;
	return false;
}

/* ---- entries ---- */

static void put_entry(const struct gateway *gw, struct control_text *t,
		      uint32_t i)
{
	struct policy_entry e = policy_entry(gw->policy, i);
	char text[POLICY_PRINT_MAX];

	control_open_object(t, NULL);
	control_put_str(t, "text", policy_entry_print(gw->policy, i, text));
	control_put_str(t, "source", e.source);
	control_put_num(t, "line", e.line);
	control_put_bool(t, "deny", e.deny);
	control_put_num(t, "uses", uses_get(gw->uses, i));
	control_close(t);
}

static bool put_entries(struct listing *l, uint32_t from)
{
	size_t i, n = policy_n_entries(l->gw->policy);

	control_open_array(l->t, "entries");
	for (i = from; i < n; i++) {
		/* What a preset stands for isn't in the list. */
		if (policy_entry(l->gw->policy, (uint32_t)i).preset !=
		    POLICY_NO_ENTRY)
			continue;
		if (!has_room(l))
			break;
		put_entry(l->gw, l->t, (uint32_t)i);
	}
	control_close(l->t);
	if (l->is_cut)
		control_put_num(l->t, "entries_next", i);
	return l->is_cut;
}

/* ---- learned addresses ---- */

static void put_port(struct control_text *t, const struct policy_port *p)
{
	const char *proto = policy_proto_str(p->proto);
	char text[PORT_LEN];

	if (p->proto == POLICY_ICMP)
		(void)snprintf(text, sizeof(text), "%s", proto);
	else if (p->lo == p->hi)
		(void)snprintf(text, sizeof(text), "%u/%s", p->lo, proto);
	else if (p->flags & POLICY_F_NOMAIL)
		(void)snprintf(text, sizeof(text), "*/%s", proto);
	else
		(void)snprintf(text, sizeof(text), "%u-%u/%s", p->lo, p->hi,
			       proto);
	control_put_str(t, NULL, text);
}

static bool put_learned(void *ctx, const struct dnsname *name,
			const struct addr *addr, uint32_t expires_s)
{
	struct policy_port ports[POLICY_PORTS_MAX];
	char name_text[DNSNAME_STR_LEN], addr_text[ADDR_STR_LEN];
	struct listing *l = ctx;
	size_t i, n;

	if (!has_room(l))
		return false;
	n = policy_learned_ports(l->gw->policy, name, addr, ports);
	control_open_object(l->t, NULL);
	control_put_str(l->t, "addr", addr_format(addr, addr_text));
	control_put_str(l->t, "name", dnsname_format(name, name_text));
	control_open_array(l->t, "ports");
	for (i = 0; i < n && !control_is_long(l->t); i++)
		put_port(l->t, &ports[i]);
	control_close(l->t);
	control_put_num(l->t, "expires_s", expires_s);
	control_close(l->t);
	return true;
}

/* ---- flows ---- */

static bool put_flow(void *ctx, const struct relay_flow_info *f)
{
	char addr[ADDR_STR_LEN], text[DNSNAME_STR_LEN];
	struct listing *l = ctx;
	struct dnsname name;

	if (!has_room(l))
		return false;
	(void)gateway_judge(l->gw, &f->key.dst, POLICY_TCP, &name);
	control_open_object(l->t, NULL);
	control_put_str(l->t, "dst", addr_format(&f->key.dst.addr, addr));
	control_put_num(l->t, "port", f->key.dst.port);
	if (name.len)
		control_put_str(l->t, "name", dnsname_format(&name, text));
	control_put_num(l->t, "bytes_out", f->bytes_out);
	control_put_num(l->t, "bytes_in", f->bytes_in);
	control_put_num(l->t, "age_s", f->age_s);
	control_close(l->t);
	return true;
}

/* ---- counters ---- */

struct counter {
	const char *name;
	uint64_t value;
};

static void put_counters(const struct gateway *gw, struct control_text *t)
{
	struct control_stats ctl;
	struct resolver_stats dns;
	struct relay_stats tcp;
	size_t i;

	control_get_stats(gw->control, &ctl);
	resolver_get_stats(gw->resolver, &dns);
	relay_get_stats(gw->relay, &tcp);
	const struct counter counters[] = {
		{ "refused", gw->n_refused },
		{ "refused_not_logged", gw->nflog_lost },
		{ "events_lost", gw->events_lost },
		{ "dns_queries", dns.queries },
		{ "dns_answered", dns.answered },
		{ "dns_refused", dns.refused },
		{ "dns_servfail", dns.servfail },
		{ "dns_malformed", dns.malformed },
		{ "dns_in_flight", dns.in_flight },
		{ "dns_tcp_clients", dns.tcp_clients },
		{ "leases", dns.leases },
		{ "lease_addrs", dns.lease_addrs },
		{ "leases_evicted", dns.evicted },
		{ "flows", tcp.flows.in_use },
		{ "flows_peak", tcp.flows.peak },
		{ "flows_max", tcp.flows.max },
		{ "pending", tcp.pending.in_use },
		{ "pending_peak", tcp.pending.peak },
		{ "pending_max", tcp.pending.max },
		{ "syns", tcp.syns },
		{ "syns_malformed", tcp.malformed },
		{ "injected", tcp.injected },
		{ "inject_errors", tcp.inject_errors },
		{ "tcp_limit", tcp.refused_limit },
		{ "tcp_lost", tcp.lost },
		{ "tcp_timed_out", tcp.timed_out },
		{ "tcp_unmatched", tcp.unmatched },
		{ "accept_pauses", tcp.accept_pauses },
		{ "pipes_in_use", tcp.pipes_in_use },
		{ "pipes_idle", tcp.pipes_idle },
		{ "control_clients", ctl.clients },
		{ "control_requests", ctl.requests },
		{ "control_refused", ctl.refused },
		{ "control_too_slow", ctl.too_slow },
		{ "control_displaced", ctl.displaced },
		{ "control_pauses", ctl.pauses },
	};

	control_open_object(t, "counters");
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		control_put_num(t, counters[i].name, counters[i].value);
	control_close(t);
}

void gateway_control_show(const struct gateway *gw,
			  const struct control_request *rq,
			  struct control_reply *ret)
{
	struct control_text *t = &ret->text;
	struct listing l = { .gw = gw, .t = t, .max = ENTRIES_MAX };
	bool is_cut;

	control_ok(ret);
	gateway_put_status(gw, t, false);
	is_cut = put_entries(&l, rq->entries_from);
	if (rq->entries_from == 0) {
		l = (struct listing){ .gw = gw, .t = t, .max = LEARNED_MAX };
		control_open_array(t, "learned");
		resolver_each_lease(gw->resolver, put_learned, &l);
		control_close(t);
		is_cut |= l.is_cut;
		l = (struct listing){ .gw = gw, .t = t, .max = FLOWS_MAX };
		control_open_array(t, "flows");
		relay_each_flow(gw->relay, put_flow, &l);
		control_close(t);
		is_cut |= l.is_cut;
		put_counters(gw, t);
	}
	if (is_cut)
		control_put_bool(t, "truncated", true);
}
