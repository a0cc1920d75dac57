/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keys.c - byte strings to small numbers
 *
 * An open hash table with linear probing. A slot holds half of the hash beside
 * the number, so a look-up that finds nothing, which is the usual case when the
 * suffixes of a name are tried, reads one cache line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "policy/policy_internal.h"

#define GROW_START     16
#define SLOTS_START    64
#define KEYS_BYTES_MAX (UINT32_MAX / 2)

struct key_slot {
	uint32_t tag; /* upper half of the hash */
	uint32_t key; /* its number + 1; 0 is empty */
};

void *grow(void *array, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : GROW_START;

	if (n < *room)
		return array;
	array = reallocarray(array, more, size);
	if (array)
		*room = more;
	return array;
}

static bool key_is(const struct keys *k, uint32_t i, const void *key,
		   size_t len)
{
	return k->offset[i + 1] - k->offset[i] == len &&
	       memcmp(k->bytes + k->offset[i], key, len) == 0;
}

/* The slot of the key, or the empty one where it belongs. */
static uint32_t find_slot(const struct keys *k, uint64_t hash, const void *key,
			  size_t len)
{
	uint32_t tag = (uint32_t)(hash >> 32);
	uint32_t mask = k->n_slots - 1;
	uint32_t at = (uint32_t)hash & mask;

	for (;; at = (at + 1) & mask) {
		const struct key_slot *s = &k->slots[at];

		if (s->key == 0 ||
		    (s->tag == tag && key_is(k, s->key - 1, key, len)))
			return at;
	}
}

static int grow_slots(struct keys *k)
{
	struct keys bigger = *k;

	bigger.n_slots = k->n_slots ? k->n_slots * 2 : SLOTS_START;
	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < k->n; i++) {
		size_t len;
		const uint8_t *key = keys_get(k, i, &len);
		uint64_t hash = hash_bytes(key, len);
		uint32_t at = find_slot(&bigger, hash, key, len);

		bigger.slots[at].tag = (uint32_t)(hash >> 32);
		bigger.slots[at].key = i + 1;
	}
	free(k->slots);
	*k = bigger;
	return 0;
}

static int reserve(struct keys *k, size_t len)
{
	if (k->n_bytes + len > KEYS_BYTES_MAX)
		return -ENOMEM;
	while (k->n_bytes + len > k->room_bytes) {
		uint8_t *bytes = grow(k->bytes, k->room_bytes, &k->room_bytes,
				      sizeof(*bytes));

		if (!bytes)
			return -ENOMEM;
		k->bytes = bytes;
	}
	if (k->n + 2 > k->room) {
		size_t room = k->room;
		uint32_t *offset =
			grow(k->offset, room, &room, sizeof(*offset));

		if (!offset)
			return -ENOMEM;
		k->offset = offset;
		k->room = (uint32_t)room;
		if (k->n == 0)
			offset[0] = 0;
	}
	if (2 * (k->n + 1) > k->n_slots)
		return grow_slots(k);
	return 0;
}

int keys_put(struct keys *k, const void *key, size_t len, uint32_t *ret)
{
	uint64_t hash = hash_bytes(key, len);
	int r = reserve(k, len);
	uint32_t at;

	if (r < 0)
		return r;
	at = find_slot(k, hash, key, len);
	if (k->slots[at].key == 0) {
		memcpy(k->bytes + k->n_bytes, key, len);
		k->n_bytes += len;
		k->offset[++k->n] = (uint32_t)k->n_bytes;
		k->slots[at].tag = (uint32_t)(hash >> 32);
		k->slots[at].key = k->n;
	}
	*ret = k->slots[at].key - 1;
	return 0;
}

uint32_t keys_find(const struct keys *k, const void *key, size_t len)
{
	uint32_t at;

	if (k->n_slots == 0)
		return KEY_NONE;
	at = find_slot(k, hash_bytes(key, len), key, len);
	return k->slots[at].key == 0 ? KEY_NONE : k->slots[at].key - 1;
}

const uint8_t *keys_get(const struct keys *k, uint32_t i, size_t *ret_len)
{
	*ret_len = k->offset[i + 1] - k->offset[i];
	return k->bytes + k->offset[i];
}

void keys_done(struct keys *k)
{
	free(k->bytes);
	free(k->offset);
	free(k->slots);
	*k = (struct keys){ 0 };
}
