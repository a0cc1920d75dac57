/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool.h - fixed number of equal objects, named by handles that can't go stale
 *
 * A handle is an index and a generation: after pool_put() the old handle finds
 * nothing, so an event that was on its way for a dead object is recognised.
 * Memory is reserved once (and touched lazily by the kernel); a full pool says
 * -ENOSPC and counts it. Objects are zeroed by pool_get(). Objects never move.
 */
#ifndef EGRET_BASE_POOL_H
#define EGRET_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct pool;

typedef uint64_t pool_handle; /* 0 is no object */

struct pool_stats {
	uint32_t max;	  /* objects the pool can hold */
	uint32_t in_use;  /* now */
	uint32_t peak;	  /* most at once so far */
	uint64_t refused; /* pool_get() calls that found it full */
};

/** pool_new() - @n objects of @size bytes (mmap, lazily backed) */
int pool_new(struct pool **ret, size_t size, uint32_t n, struct err *err);
void pool_free(struct pool *p);
void pool_freep(struct pool **p);

/** pool_get() - a zeroed object, or NULL when full; @ret_handle may be NULL */
void *pool_get(struct pool *p, pool_handle *ret_handle);

/** pool_put() - give @obj back; its handles find nothing from now on */
void pool_put(struct pool *p, void *obj);

/** pool_find() - the object of @h, or NULL if it is gone */
void *pool_find(struct pool *p, pool_handle h);

/** pool_handle_of() - the present handle of a live object */
pool_handle pool_handle_of(struct pool *p, const void *obj);

/**
 * pool_next() - iterate over live objects; start with @prev NULL. The current
 * object may be put while iterating.
 */
void *pool_next(struct pool *p, const void *prev);

void pool_get_stats(const struct pool *p, struct pool_stats *ret);

#endif /* EGRET_BASE_POOL_H */
