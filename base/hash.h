/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hash.h - SipHash-2-4 with a random key of this process
 *
 * Keys of our tables (names, addresses, ports) are chosen by the sandbox; a
 * keyed hash keeps it from choosing the collisions too.
 */
#ifndef EGRET_BASE_HASH_H
#define EGRET_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/** hash_bytes() - keyed hash of @len bytes; the key is drawn at first use */
uint64_t hash_bytes(const void *data, size_t len);

#endif /* EGRET_BASE_HASH_H */
