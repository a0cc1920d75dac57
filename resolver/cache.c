/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache.c - answers that may be given again
 *
 * An entry ends when the smallest TTL of its records is over. It says nothing
 * about what the kernel has open: who uses an entry renews its leases first.
 */
#include "resolver/cache.h"

#include <string.h>

#include "base/list.h"
#include "resolver/answer.h"
#include "resolver/table.h"

#define BUCKETS 8192

struct entry {
	struct table_node node;
	struct list lru; /* oldest use first */
	struct dnsname name;
	uint16_t qtype;
	struct answer *answer;
};

struct cache {
	struct table table;
	struct list lru;
	struct cache_stats stats;
};

int cache_new(struct cache **ret)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (!c || table_init(&c->table, BUCKETS)) {
		free(c);
		return -ENOMEM;
	}
	list_init(&c->lru);
	*ret = c;
	return 0;
}

static size_t entry_bytes(const struct answer *a)
{
	return sizeof(struct entry) + sizeof(*a) +
	       a->n_items * sizeof(a->items[0]) +
	       a->n_ttls * sizeof(a->ttls[0]) + a->body_len;
}

static void drop(struct cache *c, struct entry *e)
{
	c->stats.bytes -= entry_bytes(e->answer);
	table_del(&c->table, &e->node);
	list_del(&e->lru);
	answer_unref(e->answer);
	free(e);
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	while (!list_empty(&c->lru))
		drop(c, container_of(c->lru.next, struct entry, lru));
	table_done(&c->table);
	free(c);
}

static uint64_t key_hash(const struct dnsname *name, uint16_t qtype)
{
	return dnsname_hash(name) + qtype * UINT64_C(0x9e3779b97f4a7c15);
}

static struct entry *find(const struct cache *c, const struct dnsname *name,
			  uint16_t qtype)
{
	struct table_node *i = table_first(&c->table, key_hash(name, qtype));

	for (; i; i = table_next(i)) {
		struct entry *e = container_of(i, struct entry, node);

		if (e->qtype == qtype && dnsname_equal(&e->name, name))
			return e;
	}
	return NULL;
}

struct answer *cache_get(struct cache *c, const struct dnsname *name,
			 uint16_t qtype, uint64_t now_ms)
{
	struct entry *e = find(c, name, qtype);

	if (e && answer_age_s(e->answer, now_ms) >= e->answer->ttl_s) {
		drop(c, e);
		e = NULL;
	}
	if (!e) {
		c->stats.misses++;
		return NULL;
	}
	c->stats.hits++;
	list_del(&e->lru);
	list_add_tail(&c->lru, &e->lru);
	return e->answer;
}

void cache_put(struct cache *c, const struct dnsname *name, uint16_t qtype,
	       struct answer *a)
{
	struct entry *e = find(c, name, qtype);

	if (e)
		drop(c, e);
	if (!a->ttl_s)
		return;
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->name = *name;
	e->qtype = qtype;
	e->answer = answer_ref(a);
	table_add(&c->table, &e->node, key_hash(name, qtype));
	list_add_tail(&c->lru, &e->lru);
	c->stats.bytes += entry_bytes(a);
	while (c->table.n > CACHE_ENTRIES_MAX ||
	       c->stats.bytes > CACHE_BYTES_MAX) {
		drop(c, container_of(c->lru.next, struct entry, lru));
		c->stats.evicted++;
	}
}

/* Do both open the same ports for @n? The entries may be others. */
static bool is_same_ports(const struct policy *a, const struct policy *b,
			  const struct dnsname *n)
{
	struct policy_port pa[POLICY_PORTS_MAX], pb[POLICY_PORTS_MAX];
	size_t na = policy_name_ports(a, n, pa);
	size_t nb = policy_name_ports(b, n, pb);

	if (!na || na != nb)
		return false;
	for (size_t i = 0; i < na; i++) {
		if (pa[i].proto != pb[i].proto || pa[i].lo != pb[i].lo ||
		    pa[i].hi != pb[i].hi || pa[i].flags != pb[i].flags)
			return false;
	}
	return true;
}

static bool may_stay(const struct entry *e, const struct answer_context *from,
		     const struct answer_context *to)
{
	const struct answer *a = e->answer;

	/* What was taken out might be allowed now. */
	if (!from || a->strip.reason != POLICY_ALLOWED)
		return false;
	if (!is_same_ports(from->policy, to->policy, &e->name))
		return false;
	for (size_t i = 0; i < a->n_items; i++) {
		if (answer_judge_addr(to, &e->name, &a->items[i].addr).reason !=
		    POLICY_ALLOWED)
			return false;
	}
	return true;
}

void cache_rejudge(struct cache *c, const struct answer_context *from,
		   const struct answer_context *to)
{
	struct list *i, *tmp;

	list_for_each_safe (i, tmp, &c->lru) {
		struct entry *e = container_of(i, struct entry, lru);

		if (!may_stay(e, from, to))
			drop(c, e);
	}
}

void cache_get_stats(const struct cache *c, struct cache_stats *ret)
{
	*ret = c->stats;
	ret->entries = c->table.n;
}
