/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool.c - fixed number of equal objects, named by handles that can't go stale
 *
 * One mapping holds the slots' heads and then the objects. It is reserved, not
 * committed: a page costs memory from its first use on, and free slots are
 * used last-in first-out, so a pool that was never full stays small.
 *
 * Invariants: generation is odd while the slot is live and even while it's
 * free; it grows by one at each change, so a handle (index, odd generation)
 * fits one life of one slot. A slot whose generations are used up is retired
 * rather than wrapped. Slots at and above `touched` were never used, so the
 * free list needs no set-up.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/pool.h"

#define OBJECT_ALIGN 16U
#define NO_SLOT	     UINT32_MAX
/* The last live generation; the next would wrap. */
#define GENERATION_LAST (UINT32_MAX - 2)

struct slot {
	uint32_t generation;
	uint32_t next_free; /* meaningful while free */
};

struct pool {
	struct slot *slots; /* the mapping begins here */
	uint8_t *objects;
	size_t size;   /* of an object in bytes, as asked for */
	size_t stride; /* from one object to the next */
	size_t map_len;
	uint32_t free_head;
	uint32_t touched; /* slots from here on were never used */
	struct pool_stats stats;
};

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

int pool_new(struct pool **ret, size_t size, uint32_t n, struct err *err)
{
	_cleanup_(pool_freep) struct pool *p = NULL;
	size_t head, body;
	void *map;

	if (size == 0 || size > UINT32_MAX || n == 0 || n == NO_SLOT)
		return err_set(err, -EINVAL, "pool of %u objects of %zu bytes",
			       n, size);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "no memory for a pool");
	p->size = size;
	p->stride = round_up(size, OBJECT_ALIGN);
	head = round_up(n * sizeof(struct slot), OBJECT_ALIGN);
	if (__builtin_mul_overflow(p->stride, n, &body) ||
	    __builtin_add_overflow(head, body, &p->map_len))
		return err_set(err, -EOVERFLOW,
			       "pool of %u objects of %zu bytes", n, size);
	map = mmap(NULL, p->map_len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return err_set_errno(err, -errno,
				     "cannot reserve %zu bytes for a pool",
				     p->map_len);
	p->slots = map;
	p->objects = (uint8_t *)map + head;
	p->free_head = NO_SLOT;
	p->stats.max = n;
	*ret = ptr_steal(&p);
	return 0;
}

void pool_free(struct pool *p)
{
	int saved = errno;

	if (!p)
		return;
	if (p->slots)
		(void)munmap(p->slots, p->map_len); /* our own mapping */
	free(p);
	errno = saved;
}

void pool_freep(struct pool **p)
{
	pool_free(*p);
	*p = NULL;
}

static void *object_at(const struct pool *p, uint32_t at)
{
	return p->objects + at * p->stride;
}

static uint32_t index_of(const struct pool *p, const void *obj)
{
	size_t offset = (size_t)((const uint8_t *)obj - p->objects);

	assert((const uint8_t *)obj >= p->objects);
	assert(offset % p->stride == 0);
	assert(offset / p->stride < p->touched);
	return (uint32_t)(offset / p->stride);
}

static bool is_live(const struct pool *p, uint32_t at)
{
	return p->slots[at].generation & 1U;
}

static pool_handle make_handle(const struct pool *p, uint32_t at)
{
	return (uint64_t)p->slots[at].generation << 32 | at;
}

void *pool_get(struct pool *p, pool_handle *ret_handle)
{
	uint32_t at = p->free_head;
	void *obj;

	if (at != NO_SLOT) {
		p->free_head = p->slots[at].next_free;
	} else if (p->touched < p->stats.max) {
		at = p->touched++;
	} else {
		p->stats.refused++;
		return NULL;
	}
	p->slots[at].generation++;
	p->stats.in_use++;
	if (p->stats.in_use > p->stats.peak)
		p->stats.peak = p->stats.in_use;
	obj = object_at(p, at);
	memset(obj, 0, p->size);
	if (ret_handle)
		*ret_handle = make_handle(p, at);
	return obj;
}

void pool_put(struct pool *p, void *obj)
{
	uint32_t at;
	struct slot *s;

	if (!obj)
		return;
	at = index_of(p, obj);
	s = &p->slots[at];
	assert(is_live(p, at));
	p->stats.in_use--;
	if (s->generation++ >= GENERATION_LAST)
		return;
	s->next_free = p->free_head;
	p->free_head = at;
}

void *pool_find(struct pool *p, pool_handle h)
{
	uint32_t at = (uint32_t)h;
	uint32_t generation = (uint32_t)(h >> 32);

	if (at >= p->touched || !(generation & 1U) ||
	    p->slots[at].generation != generation)
		return NULL;
	return object_at(p, at);
}

pool_handle pool_handle_of(struct pool *p, const void *obj)
{
	uint32_t at = index_of(p, obj);

	assert(is_live(p, at));
	return make_handle(p, at);
}

void *pool_next(struct pool *p, const void *prev)
{
	uint32_t at = prev ? index_of(p, prev) + 1 : 0;

	for (; at < p->touched; at++)
		if (is_live(p, at))
			return object_at(p, at);
	return NULL;
}

void pool_get_stats(const struct pool *p, struct pool_stats *ret)
{
	*ret = p->stats;
}
