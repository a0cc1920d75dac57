/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hash.c - SipHash-2-4 with a random key of this process
 *
 * Written from the paper (Aumasson and Bernstein, 2012): two rounds a word of
 * eight bytes, four at the end; the last word carries the length in its top
 * byte.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/hash_internal.h"

struct sip {
	uint64_t v0, v1, v2, v3;
};

static uint64_t rotl(uint64_t x, unsigned int n)
{
	return x << n | x >> (64 - n);
}

static uint64_t load_le64(const uint8_t *p, size_t n)
{
	uint64_t x = 0;

	for (size_t i = 0; i < n; i++)
		x |= (uint64_t)p[i] << (8 * i);
	return x;
}

static void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotl(s->v1, 13) ^ s->v0;
	s->v0 = rotl(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotl(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotl(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotl(s->v1, 17) ^ s->v2;
	s->v2 = rotl(s->v2, 32);
}

static void sip_word(struct sip *s, uint64_t m)
{
	s->v3 ^= m;
	sip_round(s);
	sip_round(s);
	s->v0 ^= m;
}

uint64_t hash_siphash(const uint8_t key[static HASH_KEY_LEN], const void *data,
		      size_t len)
{
	uint64_t k0 = load_le64(key, 8);
	uint64_t k1 = load_le64(key + 8, 8);
	struct sip s = {
		.v0 = k0 ^ 0x736f6d6570736575ULL,
		.v1 = k1 ^ 0x646f72616e646f6dULL,
		.v2 = k0 ^ 0x6c7967656e657261ULL,
		.v3 = k1 ^ 0x7465646279746573ULL,
	};
	const uint8_t *p = data;
	size_t left = len;

	for (; left >= 8; left -= 8, p += 8)
		sip_word(&s, load_le64(p, 8));
	sip_word(&s, load_le64(p, left) | (uint64_t)len << 56);
	s.v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t hash_bytes(const void *data, size_t len)
{
	static uint8_t key[HASH_KEY_LEN];
	static bool drawn;

	/*
	 * The kernel hands out 16 bytes whole once its generator is seeded,
	 * which it has been long before anyone logs in. Without randomness
	 * there is no way to bound the tables' cost, hence the abort.
	 */
	if (!drawn) {
		if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
			abort();
		drawn = true;
	}
	return hash_siphash(key, data, len);
}
