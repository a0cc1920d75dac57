/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hash_internal.h - the hash with a given key, for known-answer tests */
#ifndef EGRET_BASE_HASH_INTERNAL_H
#define EGRET_BASE_HASH_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#define HASH_KEY_LEN 16

/** hash_siphash() - SipHash-2-4 of @data under @key */
uint64_t hash_siphash(const uint8_t key[static HASH_KEY_LEN], const void *data,
		      size_t len);

#endif /* EGRET_BASE_HASH_INTERNAL_H */
