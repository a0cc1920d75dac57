/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * special.h - special-purpose addresses (IANA registries, RFC 6890 and later)
 *
 * Closed unless an entry says otherwise, also inside the forms that embed an
 * IPv4 address: mapped, compatible, NAT64 (64:ff9b::/96), 6to4, Teredo, ISATAP.
 * A NAT64 or 6to4 form of a public address is public. IPv4-compatible and
 * Teredo addresses are closed whatever they embed.
 */
#ifndef EGRET_POLICY_SPECIAL_H
#define EGRET_POLICY_SPECIAL_H

#include <stddef.h>
#include <stdint.h>

struct addr;
struct prefix;

/**
 * special_classify() - what kind of special address @a is
 *
 * Return: static text ("private", "loopback", "link-local", "multicast", ...),
 * or NULL for a public address.
 */
const char *special_classify(const struct addr *a);

/**
 * special_prefixes() - every closed range of a family, for the kernel's set;
 * disjoint and sorted
 *
 * ISATAP addresses of special IPv4 addresses are the one thing that can't be
 * said in prefixes (they may be in any /64); special_classify() knows them.
 */
const struct prefix *special_prefixes(uint8_t family, size_t *ret_n);

#endif /* EGRET_POLICY_SPECIAL_H */
