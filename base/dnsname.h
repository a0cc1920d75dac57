/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dnsname.h - domain names as uncompressed wire form, ASCII case folded
 *
 * The one representation that policy, resolver and relay compare. A dot inside
 * a label can't be mistaken for a separator, and "evilgood.example" never ends
 * with the labels of "good.example". RFC 1035 3.1, RFC 4343 (case).
 */
#ifndef EGRET_BASE_DNSNAME_H
#define EGRET_BASE_DNSNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNSNAME_WIRE_MAX   255
#define DNSNAME_LABEL_MAX  63
#define DNSNAME_LABELS_MAX 127
/* Presentation form: every octet may need four characters ("\000"). */
#define DNSNAME_STR_LEN (4 * DNSNAME_WIRE_MAX + 1)

struct dnsname {
	uint8_t len; /* octets used, with the root octet; 0 is no name */
	uint8_t wire[DNSNAME_WIRE_MAX]; /* length-prefixed labels, folded */
};

/**
 * dnsname_from_text() - "www.Example.org" or with a trailing dot
 * @text, @len: ASCII host name: letters, digits, '-', '_' in labels of 1..63;
 *              no escapes, no empty label, no '*', not empty, not "."
 *
 * Return: 0; -EINVAL for a character or an empty label; -ENAMETOOLONG.
 */
int dnsname_from_text(const char *text, size_t len, struct dnsname *ret);

/**
 * dnsname_from_wire() - one uncompressed name at the start of @wire, folded
 *
 * Return: octets consumed, or -EBADMSG.
 */
int dnsname_from_wire(const uint8_t *wire, size_t len, struct dnsname *ret);

bool dnsname_equal(const struct dnsname *a, const struct dnsname *b);

/** dnsname_labels() - labels without the root: 2 for "example.org" */
unsigned int dnsname_labels(const struct dnsname *n);

/**
 * dnsname_parent() - the name without its first label
 *
 * Return: false when @n is the root (@ret untouched).
 */
bool dnsname_parent(const struct dnsname *n, struct dnsname *ret);

/** dnsname_is_below() - is @n strictly below @apex, at a label boundary */
bool dnsname_is_below(const struct dnsname *n, const struct dnsname *apex);

/** dnsname_hash() - seeded hash of the folded wire form */
uint64_t dnsname_hash(const struct dnsname *n);

/**
 * dnsname_format() - presentation form without trailing dot, "." for the root;
 * octets that are not printable ASCII, and dots and backslashes inside a label,
 * are escaped (RFC 1035 5.1), so the text is safe on a terminal. Returns @dst.
 */
char *dnsname_format(const struct dnsname *n, char dst[static DNSNAME_STR_LEN]);

#endif /* EGRET_BASE_DNSNAME_H */
