/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * match.c - asking a policy
 *
 * First the groups that speak of the name or address are collected, the most
 * specific first: the name itself, then the keys above it at the depths where
 * any "*." entry exists; for an address the prefix lengths in use. Then every
 * question is one about those few groups: does one that denies hold the port,
 * does one that allows. Nothing is allocated and no list of entries is walked.
 */
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "policy/policy.h"
#include "policy/policy_internal.h"
#include "policy/special.h"

/*
 * Two groups of the name and of each of the 127 depths above it, or of each of
 * 129 prefix lengths; policy_learned_ports() has the first and half of the
 * second together. Too small a number would lose what is denied.
 */
#define GROUPS_MAX 400

_Static_assert(GROUPS_MAX >= 2 * (1 + DNSNAME_LABELS_MAX) + 129, "all fit");

struct groups {
	struct port_group at[GROUPS_MAX];
	size_t n;
	uint32_t flags; /* of all groups that allow */
	bool may_deny;	/* there is one that denies */
};

static void put_group(struct groups *gs, const struct table *t, uint32_t key,
		      enum group group)
{
	size_t i = (size_t)key * GROUP_MAX + group;
	bool deny = group == GROUP_DENY || group == GROUP_DENY_BELOW;

	if (t->start[i] == t->start[i + 1])
		return;
	gs->at[gs->n++] = (struct port_group){
		.list = { t->ranges + t->start[i],
			  t->ranges + t->start[i + 1] },
		.deny = deny,
		.flags = t->flags[i],
	};
	if (deny)
		gs->may_deny = true;
	else
		gs->flags |= t->flags[i];
}

static bool has_bit(const uint64_t *bits, unsigned int i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void name_groups(const struct policy *p, const struct dnsname *n,
			struct groups *gs)
{
	const struct table *t = &p->names;
	unsigned int labels = dnsname_labels(n);
	uint32_t key = keys_find(&t->keys, n->wire, n->len);

	gs->n = 0;
	gs->flags = 0;
	gs->may_deny = false;
	if (key != KEY_NONE) {
		put_group(gs, t, key, GROUP_ALLOW);
		put_group(gs, t, key, GROUP_DENY);
	}
	for (size_t at = 0; labels-- > 0;) {
		at += 1U + n->wire[at];
		if (!has_bit(p->depths, labels))
			continue;
		key = keys_find(&t->keys, n->wire + at, n->len - at);
		if (key == KEY_NONE)
			continue;
		put_group(gs, t, key, GROUP_ALLOW_BELOW);
		put_group(gs, t, key, GROUP_DENY_BELOW);
	}
}

/* What speaks of the whole network. */
static void net_groups(const struct policy *p, struct prefix net,
		       struct groups *gs)
{
	const uint64_t *lengths =
		net.addr.family == AF_INET ? &p->lengths4 : p->lengths6;

	gs->n = 0;
	gs->flags = 0;
	gs->may_deny = false;
	for (int len = net.len; len >= 0; len--) {
		uint8_t key[NET_KEY_MAX];
		uint32_t i;

		if (!has_bit(lengths, (unsigned int)len))
			continue;
		net.len = (uint8_t)len;
		net.addr = addr_mask(&net.addr, net.len);
		i = keys_find(&p->nets.keys, key, net_key(&net, key));
		if (i == KEY_NONE)
			continue;
		put_group(gs, &p->nets, i, GROUP_ALLOW);
		put_group(gs, &p->nets, i, GROUP_DENY);
	}
}

static void addr_groups(const struct policy *p, const struct addr *a,
			struct groups *gs)
{
	net_groups(p, (struct prefix){ *a, (uint8_t)(8 * addr_len(a)) }, gs);
}

static struct addr unmapped(const struct addr *a)
{
	struct prefix p = { *a, (uint8_t)(8 * addr_len(a)) };

	return addr_unmap(p).addr;
}

static struct policy_verdict verdict(enum policy_reason reason)
{
	return (struct policy_verdict){
		.reason = reason,
		.entry = POLICY_NO_ENTRY,
	};
}

static struct policy_verdict denied_by(uint32_t entry)
{
	return (struct policy_verdict){
		.reason = POLICY_DENIED,
		.entry = entry,
	};
}

/* The first range of the first group of this kind, or NULL. */
static const struct policy_port *first_range(const struct groups *gs, bool deny)
{
	for (size_t i = 0; i < gs->n; i++)
		if (gs->at[i].deny == deny)
			return gs->at[i].list.at;
	return NULL;
}

/* The verdict on a port; only ranges that have the flags @need count. */
static struct policy_verdict judge_port(const struct groups *gs, uint32_t need,
					enum policy_proto proto, uint16_t port)
{
	struct policy_verdict v = verdict(POLICY_NOT_LISTED);

	if (proto == POLICY_ICMP)
		port = 0;
	for (size_t i = 0; i < gs->n; i++) {
		const struct port_group *g = &gs->at[i];
		const struct policy_port *p = ports_find(&g->list, proto, port);

		if (g->deny && p)
			return denied_by(p->entry);
		if (g->deny)
			continue;
		if (p && (p->flags & need) == need) {
			if (v.reason != POLICY_ALLOWED)
				v.entry = p->entry;
			v.reason = POLICY_ALLOWED;
			v.flags |= p->flags;
		} else if (v.reason == POLICY_NOT_LISTED &&
			   (g->flags & need) == need) {
			v.reason = POLICY_PORT;
			v.entry = g->list.at->entry;
		}
	}
	return v;
}

/* The first entry that denies everything, or POLICY_NO_ENTRY. */
static uint32_t denied_whole(const struct groups *gs)
{
	for (size_t i = 0; gs->may_deny && i < gs->n; i++)
		if (gs->at[i].deny && ports_is_everything(&gs->at[i].list))
			return gs->at[i].list.at->entry;
	return POLICY_NO_ENTRY;
}

/* Some port was allowed and some denied: is anything left? */
static struct policy_verdict judge_rest(struct groups *gs, uint32_t denier)
{
	static const struct port_rule rule = { 0 };
	struct policy_verdict v = verdict(POLICY_ALLOWED);
	struct policy_port rest[POLICY_PORTS_MAX];
	size_t n = ports_join(gs->at, gs->n, &rule, rest, POLICY_PORTS_MAX);

	if (n == 0)
		return denied_by(denier);
	v.entry = rest[0].entry;
	for (size_t i = 0; i < n; i++)
		v.flags |= rest[i].flags;
	return v;
}

struct policy_verdict policy_judge_name(const struct policy *p,
					const struct dnsname *n)
{
	const struct policy_port *allow, *deny;
	struct policy_verdict v;
	struct groups gs;
	uint32_t denier;

	name_groups(p, n, &gs);
	denier = denied_whole(&gs);
	if (denier != POLICY_NO_ENTRY)
		return denied_by(denier);
	allow = first_range(&gs, false);
	if (!allow)
		return verdict(POLICY_NOT_LISTED);
	deny = first_range(&gs, true);
	if (deny)
		return judge_rest(&gs, deny->entry);
	v = verdict(POLICY_ALLOWED);
	v.entry = allow->entry;
	v.flags = gs.flags;
	return v;
}

struct policy_verdict policy_judge_name_port(const struct policy *p,
					     const struct dnsname *n,
					     enum policy_proto proto,
					     uint16_t port)
{
	struct groups gs;

	name_groups(p, n, &gs);
	return judge_port(&gs, 0, proto, port);
}

struct policy_verdict policy_judge_addr(const struct policy *p,
					const struct addr *a,
					enum policy_proto proto, uint16_t port)
{
	struct addr plain = unmapped(a);
	bool special = special_classify(&plain);
	struct policy_verdict v;
	struct groups gs;

	addr_groups(p, &plain, &gs);
	v = judge_port(&gs, special ? POLICY_F_PRIVATE : 0, proto, port);
	if (special && v.reason == POLICY_NOT_LISTED)
		v.reason = POLICY_PRIVATE;
	return v;
}

size_t policy_name_ports(const struct policy *p, const struct dnsname *n,
			 struct policy_port ret[static POLICY_PORTS_MAX])
{
	static const struct port_rule rule = { 0 };
	struct groups gs;
	size_t n_ret;

	name_groups(p, n, &gs);
	n_ret = ports_join(gs.at, gs.n, &rule, ret, POLICY_PORTS_MAX);
	return ports_fold_mail(ret, n_ret);
}

struct policy_verdict policy_learned_addr(const struct policy *p,
					  const struct dnsname *n,
					  const struct addr *a)
{
	struct addr plain = unmapped(a);
	struct policy_verdict v;
	struct groups gs;
	uint32_t denier;

	addr_groups(p, &plain, &gs);
	denier = denied_whole(&gs);
	if (denier != POLICY_NO_ENTRY)
		return denied_by(denier);
	v = policy_judge_name(p, n);
	if (v.reason == POLICY_ALLOWED && special_classify(&plain) &&
	    !((v.flags | gs.flags) & POLICY_F_PRIVATE))
		v.reason = POLICY_PRIVATE;
	return v;
}

size_t policy_learned_ports(const struct policy *p, const struct dnsname *n,
			    const struct addr *a,
			    struct policy_port ret[static POLICY_PORTS_MAX])
{
	struct addr plain = unmapped(a);
	struct port_rule rule = { 0 };
	struct groups gs, nets;
	size_t n_ret;

	if (special_classify(&plain))
		rule.need = POLICY_F_PRIVATE;
	name_groups(p, n, &gs);
	addr_groups(p, &plain, &nets);
	for (size_t i = 0; i < nets.n; i++)
		if (nets.at[i].deny)
			gs.at[gs.n++] = nets.at[i];
	n_ret = ports_join(gs.at, gs.n, &rule, ret, POLICY_PORTS_MAX);
	return ports_fold_mail(ret, n_ret);
}

/*
 * A name below, that no entry can have: what speaks of it speaks of all names
 * there. False where no name can be below.
 */
static bool name_below(const struct dnsname *n, struct dnsname *ret)
{
	static const uint8_t label[] = { 1, '\0' };

	if (n->len + sizeof(label) > DNSNAME_WIRE_MAX)
		return false;
	memcpy(ret->wire, label, sizeof(label));
	memcpy(ret->wire + sizeof(label), n->wire, n->len);
	ret->len = (uint8_t)(n->len + sizeof(label));
	return true;
}

static bool entry_groups(const struct policy *p, const struct host *h,
			 struct groups *gs)
{
	static const struct dnsname root = { .len = 1 };
	struct dnsname below;

	switch (h->kind) {
	case HOST_NAME:
		name_groups(p, &h->name, gs);
		return true;
	case HOST_BELOW:
	case HOST_ALL:
		if (!name_below(h->kind == HOST_ALL ? &root : &h->name, &below))
			return false;
		name_groups(p, &below, gs);
		return true;
	case HOST_NET:
		net_groups(p, h->net, gs);
		return true;
	case HOST_PRESET:
		return false;
	}
	return false;
}

uint32_t match_denied_whole(const struct policy *p, const struct parsed *e)
{
	static const struct port_rule rule = { 0 };
	struct policy_port rest;
	struct groups gs;
	uint32_t denier = POLICY_NO_ENTRY;
	size_t n = 0;

	if (!entry_groups(p, &e->host, &gs) || !gs.may_deny)
		return POLICY_NO_ENTRY;
	for (size_t i = 0; i < gs.n; i++) {
		if (!gs.at[i].deny)
			continue;
		if (denier == POLICY_NO_ENTRY)
			denier = gs.at[i].list.at->entry;
		gs.at[n++] = gs.at[i];
	}
	/* Had it allowing groups, one of them is the entry's own. */
	if (n == GROUPS_MAX)
		return POLICY_NO_ENTRY;
	gs.at[n++] = (struct port_group){
		.list = { e->ports.at, e->ports.at + e->ports.n },
	};
	return ports_join(gs.at, n, &rule, &rest, 1) == 0 ? denier
							  : POLICY_NO_ENTRY;
}

size_t policy_n_nets(const struct policy *p)
{
	return p->n_nets;
}

struct policy_net policy_net_at(const struct policy *p, size_t i)
{
	return p->net_list[i];
}

size_t policy_n_entries(const struct policy *p)
{
	return p->n_entries;
}

size_t policy_n_written(const struct policy *p)
{
	return p->n_written;
}

struct policy_entry policy_entry(const struct policy *p, uint32_t entry)
{
	const struct entry *e, *written;
	struct policy_entry ret = {
		.source = "",
		.text = "",
		.preset = POLICY_NO_ENTRY,
	};

	if (entry >= p->n_entries)
		return ret;
	e = written = &p->entries[entry];
	if (e->preset != POLICY_NO_ENTRY) {
		written = &p->entries[e->preset];
		ret.preset = e->preset;
		ret.preset_source = p->sources[e->source];
		ret.preset_text = p->texts + e->text;
		ret.preset_line = e->line;
	}
	ret.source = p->sources[written->source];
	ret.text = p->texts + written->text;
	ret.line = written->line;
	ret.column = written->column;
	ret.deny = e->deny;
	return ret;
}
