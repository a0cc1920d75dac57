/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cover.c - entries that say what others say
 *
 * An index from what an entry speaks of (a name, the names below one, a
 * network; allowed or denied) to the entries. To find who covers an entry, its
 * own key and those above it are looked up, as match.c does it. Entries are
 * parsed anew when they are compared: that is cheaper than keeping them parsed.
 *
 * "Covered" means by one other entry. Several that cover it together would take
 * longer to explain than to leave alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/lint_internal.h"

#define LOOKS_MAX 64 /* entries of one key that an entry is compared with */
#define NO_NODE	  UINT32_MAX

enum speaks_of { OF_NAME, OF_BELOW, OF_NET };

struct node {
	uint32_t entry, next;
};

struct cover {
	const struct policy *p;
	struct keys keys;
	uint32_t *first, *last; /* nodes of each key */
	size_t room_first, room_last;
	struct node *nodes;
	size_t n_nodes, room_nodes;
	struct parsed other; /* the entry that is compared; large */
};

#define COVER_KEY_MAX (2 + DNSNAME_WIRE_MAX)

static const struct dnsname root = { .len = 1 };

/* The two networks that `*` speaks of beside all names. */
static const struct prefix everything[] = {
	{ { AF_INET, { 0 } }, 0 },
	{ { AF_INET6, { 0 } }, 0 },
};

int entry_parse(const struct policy *p, uint32_t entry, struct parsed *ret)
{
	const struct entry *e = &p->entries[entry];
	const char *text = p->texts + e->text;
	struct complaint c;
	unsigned int how = (e->deny ? PARSE_DENY : 0) |
			   (e->preset != POLICY_NO_ENTRY ? PARSE_MEMBER : 0);

	/* It has been parsed before, so only memory can be missing. */
	return parse_entry((struct span){ text, text + strlen(text) }, how, ret,
			   &c) > 0
		       ? 0
		       : -ENOMEM;
}

/* ---- the index ---- */

static size_t name_key(enum speaks_of of, bool deny, const uint8_t *wire,
		       size_t len, uint8_t key[static COVER_KEY_MAX])
{
	key[0] = (uint8_t)of;
	key[1] = deny;
	memcpy(key + 2, wire, len);
	return 2 + len;
}

static size_t net_cover_key(bool deny, const struct prefix *net,
			    uint8_t key[static COVER_KEY_MAX])
{
	key[0] = OF_NET;
	key[1] = deny;
	return 2 + net_key(net, key + 2);
}

static int add_key(struct cover *c, const uint8_t *key, size_t len,
		   uint32_t entry)
{
	struct node *nodes =
		grow(c->nodes, c->n_nodes, &c->room_nodes, sizeof(*nodes));
	uint32_t k = 0, known = c->keys.n, node = (uint32_t)c->n_nodes;
	uint32_t *first, *last;

	if (!nodes)
		return -ENOMEM;
	c->nodes = nodes;
	if (keys_put(&c->keys, key, len, &k) < 0)
		return -ENOMEM;
	first = grow(c->first, known, &c->room_first, sizeof(*first));
	if (!first)
		return -ENOMEM;
	c->first = first;
	last = grow(c->last, known, &c->room_last, sizeof(*last));
	if (!last)
		return -ENOMEM;
	c->last = last;
	nodes[node] = (struct node){ entry, NO_NODE };
	c->n_nodes++;
	if (k == known)
		first[k] = node;
	else
		nodes[last[k]].next = node;
	last[k] = node;
	return 0;
}

static int add_entry(struct cover *c, uint32_t entry, const struct parsed *e)
{
	uint8_t key[COVER_KEY_MAX];
	const struct host *h = &e->host;
	int r = 0;

	switch (h->kind) {
	case HOST_NAME:
	case HOST_BELOW:
		return add_key(
			c, key,
			name_key(h->kind == HOST_NAME ? OF_NAME : OF_BELOW,
				 e->deny, h->name.wire, h->name.len, key),
			entry);
	case HOST_ALL:
		r = add_key(
			c, key,
			name_key(OF_BELOW, e->deny, root.wire, root.len, key),
			entry);
		for (size_t i = 0; i < ARRAY_SIZE(everything) && r == 0; i++)
			r = add_key(c, key,
				    net_cover_key(e->deny, &everything[i], key),
				    entry);
		return r;
	case HOST_NET:
		return add_key(c, key, net_cover_key(e->deny, &h->net, key),
			       entry);
	case HOST_PRESET:
		return 0; /* its entries come by themselves */
	}
	return 0;
}

int cover_new(const struct policy *p, struct cover **ret)
{
	_cleanup_(cover_freep) struct cover *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->p = p;
	for (uint32_t i = 0; i < p->n_entries; i++) {
		int r = entry_parse(p, i, &c->other);

		if (r == 0)
			r = add_entry(c, i, &c->other);
		if (r < 0)
			return r;
	}
	*ret = ptr_steal(&c);
	return 0;
}

void cover_free(struct cover *c)
{
	if (!c)
		return;
	keys_done(&c->keys);
	free(c->first);
	free(c->last);
	free(c->nodes);
	free(c);
}

void cover_freep(struct cover **c)
{
	int saved = errno;

	cover_free(*c);
	*c = NULL;
	errno = saved;
}

/* ---- comparing ---- */

static uint32_t effective_flags(const struct parsed *e)
{
	if (e->host.kind == HOST_NET && !e->deny && net_is_leave(&e->host.net))
		return e->flags | POLICY_F_PRIVATE;
	return e->flags;
}

static bool holds_ports(const struct port_buf *outer,
			const struct port_buf *inner)
{
	struct port_list l = { outer->at, outer->at + outer->n };

	for (size_t i = 0; i < inner->n; i++) {
		const struct policy_port *p = &inner->at[i];
		const struct policy_port *in = ports_find(&l, p->proto, p->lo);

		/* Neighbours are merged, so one range must hold it all. */
		if (!in || in->hi < p->hi)
			return false;
	}
	return true;
}

/* What @e opens at a place that both speak of, @by opens there too. */
static bool opens_no_more(const struct parsed *e, const struct parsed *by)
{
	return holds_ports(&by->ports, &e->ports) &&
	       (e->deny || !(effective_flags(e) & ~effective_flags(by)));
}

static bool same_host(const struct host *a, const struct host *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == HOST_NET)
		return a->net.len == b->net.len &&
		       addr_equal(&a->net.addr, &b->net.addr);
	return a->kind == HOST_ALL || dnsname_equal(&a->name, &b->name);
}

static enum cover_by compare(struct cover *c, uint32_t entry,
			     const struct parsed *e, uint32_t by)
{
	struct parsed *other = &c->other;

	if (by == entry || entry_parse(c->p, by, other) < 0)
		return COVER_NONE;
	if (!opens_no_more(e, other))
		return COVER_NONE;
	if (!same_host(&e->host, &other->host) || !opens_no_more(other, e))
		return COVER_WIDER;
	/* A preset's own entries aren't looked at: this one is to go. */
	if (c->p->entries[by].preset != POLICY_NO_ENTRY)
		return COVER_WIDER;
	return by < entry ? COVER_SAME : COVER_NONE;
}

static enum cover_by look_at(struct cover *c, uint32_t entry,
			     const struct parsed *e, const uint8_t *key,
			     size_t len, uint32_t *ret)
{
	uint32_t k = keys_find(&c->keys, key, len);
	uint32_t node = k == KEY_NONE ? NO_NODE : c->first[k];

	for (int i = 0; node != NO_NODE && i < LOOKS_MAX; i++) {
		enum cover_by by = compare(c, entry, e, c->nodes[node].entry);

		if (by != COVER_NONE) {
			*ret = c->nodes[node].entry;
			return by;
		}
		node = c->nodes[node].next;
	}
	return COVER_NONE;
}

static enum cover_by find_name(struct cover *c, uint32_t entry,
			       const struct parsed *e, uint32_t *ret)
{
	const struct dnsname *n =
		e->host.kind == HOST_ALL ? &root : &e->host.name;
	enum cover_by by = COVER_NONE;
	uint8_t key[COVER_KEY_MAX];
	size_t at = 0;

	if (e->host.kind == HOST_NAME) {
		by = look_at(c, entry, e, key,
			     name_key(OF_NAME, e->deny, n->wire, n->len, key),
			     ret);
		at = 1U + n->wire[0];
	}
	while (by == COVER_NONE && at < n->len) {
		by = look_at(c, entry, e, key,
			     name_key(OF_BELOW, e->deny, n->wire + at,
				      n->len - at, key),
			     ret);
		at += 1U + n->wire[at];
	}
	return by;
}

static enum cover_by find_net(struct cover *c, uint32_t entry,
			      const struct parsed *e, uint32_t *ret)
{
	struct prefix net = e->host.net;
	enum cover_by by = COVER_NONE;
	uint8_t key[COVER_KEY_MAX];

	for (int len = net.len; len >= 0 && by == COVER_NONE; len--) {
		net.len = (uint8_t)len;
		net.addr = addr_mask(&net.addr, net.len);
		by = look_at(c, entry, e, key,
			     net_cover_key(e->deny, &net, key), ret);
	}
	return by;
}

enum cover_by cover_find(struct cover *c, uint32_t entry,
			 const struct parsed *e, uint32_t *ret)
{
	if (e->host.kind == HOST_PRESET)
		return COVER_NONE;
	if (e->host.kind == HOST_NET)
		return find_net(c, entry, e, ret);
	return find_name(c, entry, e, ret);
}
