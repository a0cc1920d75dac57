/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keytab.c - objects by 4-tuple, and counts by destination address
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "relay/keytab.h"

#define BUCKETS_MIN 64U
#define BUCKETS_MAX (1U << 20)

static uint32_t buckets_for(uint32_t n)
{
	uint32_t size = BUCKETS_MIN;

	while (size < n && size < BUCKETS_MAX)
		size *= 2;
	return size;
}

/* Endpoints have padding, so the hash is of a packed copy. */
static uint32_t hash_key(const struct relay_key *k)
{
	uint8_t packed[2 * sizeof(struct addr) + 4];
	uint8_t *p = packed;

	memcpy(p, &k->src.addr, sizeof(struct addr));
	p += sizeof(struct addr);
	memcpy(p, &k->dst.addr, sizeof(struct addr));
	p += sizeof(struct addr);
	memcpy(p, &k->src.port, 2);
	memcpy(p + 2, &k->dst.port, 2);
	return (uint32_t)hash_bytes(packed, sizeof(packed));
}

static bool key_equal(const struct relay_key *a, const struct relay_key *b)
{
	return endpoint_equal(&a->src, &b->src) &&
	       endpoint_equal(&a->dst, &b->dst);
}

int keytab_init(struct keytab *t, uint32_t n)
{
	uint32_t size = buckets_for(n);

	t->buckets = calloc(size, sizeof(struct key_node *));
	if (!t->buckets)
		return -ENOMEM;
	t->mask = size - 1;
	return 0;
}

void keytab_done(struct keytab *t)
{
	free(t->buckets);
	t->buckets = NULL;
}

struct key_node *keytab_find(const struct keytab *t,
			     const struct relay_key *key)
{
	uint32_t hash = hash_key(key);
	struct key_node *n = t->buckets[hash & t->mask];

	while (n && (n->hash != hash || !key_equal(&n->key, key)))
		n = n->next;
	return n;
}

void keytab_add(struct keytab *t, struct key_node *n)
{
	struct key_node **bucket;

	n->hash = hash_key(&n->key);
	bucket = &t->buckets[n->hash & t->mask];
	n->next = *bucket;
	*bucket = n;
}

void keytab_del(struct keytab *t, struct key_node *n)
{
	struct key_node **at = &t->buckets[n->hash & t->mask];

	while (*at != n) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = n->next;
	n->next = NULL;
}

int dests_init(struct dests *t, uint32_t max, struct err *err)
{
	uint32_t size = buckets_for(max);
	int r = pool_new(&t->pool, sizeof(struct dest), max, err);

	if (r < 0)
		return r;
	t->buckets = calloc(size, sizeof(struct dest *));
	if (!t->buckets)
		return err_set(err, -ENOMEM, "no memory for a table");
	t->mask = size - 1;
	return 0;
}

void dests_done(struct dests *t)
{
	free(t->buckets);
	t->buckets = NULL;
	pool_freep(&t->pool);
}

static uint32_t hash_addr(const struct addr *a)
{
	return (uint32_t)hash_bytes(a, sizeof(*a));
}

static struct dest *find_hashed(const struct dests *t, const struct addr *a,
				uint32_t hash)
{
	struct dest *d = t->buckets[hash & t->mask];

	while (d && (d->hash != hash || !addr_equal(&d->addr, a)))
		d = d->next;
	return d;
}

struct dest *dests_find(const struct dests *t, const struct addr *a)
{
	return find_hashed(t, a, hash_addr(a));
}

struct dest *dests_get(struct dests *t, const struct addr *a)
{
	uint32_t hash = hash_addr(a);
	struct dest *d = find_hashed(t, a, hash);

	if (!d) {
		d = pool_get(t->pool, NULL);
		if (!d)
			return NULL;
		d->addr = *a;
		d->hash = hash;
		d->next = t->buckets[hash & t->mask];
		t->buckets[hash & t->mask] = d;
	}
	d->refs++;
	return d;
}

void dests_put(struct dests *t, struct dest *d)
{
	struct dest **at = &t->buckets[d->hash & t->mask];

	assert(d->refs > 0);
	if (--d->refs > 0)
		return;
	assert(d->n_pending == 0);
	while (*at != d) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = d->next;
	pool_put(t->pool, d);
}
