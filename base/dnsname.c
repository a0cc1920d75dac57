/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dnsname.c - domain names as uncompressed wire form, ASCII case folded */
#include <errno.h>
#include <string.h>

#include "base/dnsname.h"
#include "base/hash.h"

/* ASCII only, whatever the locale says (RFC 4343 section 3). */
static uint8_t fold(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

static bool is_host_char(uint8_t folded)
{
	return (folded >= 'a' && folded <= 'z') ||
	       (folded >= '0' && folded <= '9') || folded == '-' ||
	       folded == '_';
}

/* Appends one label of text; @at is where its length octet goes. */
static int put_label(struct dnsname *n, size_t at, const char *label,
		     size_t len)
{
	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if (!is_host_char(fold((uint8_t)label[i])))
			return -EINVAL;
	/* One octet is kept for the root. */
	if (len > DNSNAME_LABEL_MAX || at + 1 + len + 1 > DNSNAME_WIRE_MAX)
		return -ENAMETOOLONG;
	n->wire[at] = (uint8_t)len;
	for (size_t i = 0; i < len; i++)
		n->wire[at + 1 + i] = fold((uint8_t)label[i]);
	return 0;
}

int dnsname_from_text(const char *text, size_t len, struct dnsname *ret)
{
	struct dnsname n = { 0 };
	size_t at = 0;

	if (len > 0 && text[len - 1] == '.')
		len--;
	for (size_t start = 0; start <= len;) {
		const char *dot =
			len > start ? memchr(text + start, '.', len - start)
				    : NULL;
		size_t label = dot ? (size_t)(dot - text) - start : len - start;
		int r = put_label(&n, at, text + start, label);

		if (r < 0)
			return r;
		at += 1 + label;
		start += label + 1;
	}
	n.wire[at] = 0;
	n.len = (uint8_t)(at + 1);
	*ret = n;
	return 0;
}

int dnsname_from_wire(const uint8_t *wire, size_t len, struct dnsname *ret)
{
	struct dnsname n = { 0 };
	size_t at = 0;

	for (;;) {
		uint8_t label;

		if (at >= len || at >= DNSNAME_WIRE_MAX)
			return -EBADMSG;
		label = wire[at];
		/* Also shuts out compression pointers and other label types. */
		if (label > DNSNAME_LABEL_MAX)
			return -EBADMSG;
		if (label == 0)
			break;
		if (label >= len - at || at + 1 + label >= DNSNAME_WIRE_MAX)
			return -EBADMSG;
		n.wire[at] = label;
		for (size_t i = 1; i <= label; i++)
			n.wire[at + i] = fold(wire[at + i]);
		at += 1U + label;
	}
	n.len = (uint8_t)(at + 1);
	*ret = n;
	return n.len;
}

bool dnsname_equal(const struct dnsname *a, const struct dnsname *b)
{
	return a->len == b->len && memcmp(a->wire, b->wire, a->len) == 0;
}

unsigned int dnsname_labels(const struct dnsname *n)
{
	unsigned int labels = 0;

	for (size_t at = 0; at < n->len && n->wire[at]; at += 1U + n->wire[at])
		labels++;
	return labels;
}

bool dnsname_parent(const struct dnsname *n, struct dnsname *ret)
{
	struct dnsname parent = { 0 };
	size_t skip;

	if (n->len == 0 || n->wire[0] == 0)
		return false;
	skip = 1U + n->wire[0];
	parent.len = (uint8_t)(n->len - skip);
	memcpy(parent.wire, n->wire + skip, parent.len);
	*ret = parent; /* @ret may be @n */
	return true;
}

bool dnsname_is_below(const struct dnsname *n, const struct dnsname *apex)
{
	size_t tail, at = 0;

	if (apex->len == 0 || n->len <= apex->len)
		return false;
	tail = (size_t)n->len - apex->len;
	/* The suffix must begin where a label does, not inside one. */
	while (at < tail)
		at += 1U + n->wire[at];
	return at == tail && memcmp(n->wire + tail, apex->wire, apex->len) == 0;
}

uint64_t dnsname_hash(const struct dnsname *n)
{
	return hash_bytes(n->wire, n->len);
}

static char *put_octet(char *p, uint8_t c)
{
	if (c == '.' || c == '\\') {
		*p++ = '\\';
		*p++ = (char)c;
	} else if (c > 0x20 && c < 0x7f) {
		*p++ = (char)c;
	} else {
		*p++ = '\\';
		*p++ = (char)('0' + c / 100);
		*p++ = (char)('0' + c / 10 % 10);
		*p++ = (char)('0' + c % 10);
	}
	return p;
}

char *dnsname_format(const struct dnsname *n, char dst[static DNSNAME_STR_LEN])
{
	char *p = dst;

	for (size_t at = 0; at < n->len && n->wire[at];
	     at += 1U + n->wire[at]) {
		if (at > 0)
			*p++ = '.';
		for (size_t i = 1; i <= n->wire[at]; i++)
			p = put_octet(p, n->wire[at + i]);
	}
	if (p == dst && n->len > 0)
		*p++ = '.';
	*p = '\0';
	return dst;
}
