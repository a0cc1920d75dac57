/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache.h - answers by name and type, bounded in number and in bytes
 */
#ifndef EGRET_RESOLVER_CACHE_H
#define EGRET_RESOLVER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer;
struct answer_context;
struct cache;
struct dnsname;

#define CACHE_ENTRIES_MAX 16384
#define CACHE_BYTES_MAX	  (8U << 20)

struct cache_stats {
	uint32_t entries;
	size_t bytes;
	uint64_t hits, misses, evicted;
};

int cache_new(struct cache **ret);
void cache_free(struct cache *c);

/** cache_get() - borrowed until the next call; NULL when absent or stale */
struct answer *cache_get(struct cache *c, const struct dnsname *name,
			 uint16_t qtype, uint64_t now_ms);

/**
 * cache_put() - keep a reference to @a, in the place of an older one; the
 * least recently used go when there is no room. No memory: it isn't kept.
 */
void cache_put(struct cache *c, const struct dnsname *name, uint16_t qtype,
	       struct answer *a);

/**
 * cache_rejudge() - drop what @from and @to don't judge alike
 * @from: the policy the entries were judged by, or NULL
 */
void cache_rejudge(struct cache *c, const struct answer_context *from,
		   const struct answer_context *to);

void cache_get_stats(const struct cache *c, struct cache_stats *ret);

#endif /* EGRET_RESOLVER_CACHE_H */
