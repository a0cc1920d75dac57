/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.c - DNS messages, read and written
 *
 * The reader keeps two rules: no access without a comparison to the length just
 * before, and a compression pointer must lead to a place before the beginning
 * of the labels that it ends. The second makes places strictly decrease, so a
 * loop is impossible whatever the bytes are; the cap on hops bounds the work.
 *
 * The writer has one sticky flag instead of a result at every call: what is
 * written after an overflow goes nowhere, and the caller looks once.
 */
#include "resolver/wire.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

#define LABEL_TYPE_MASK 0xc0U
#define LABEL_POINTER	0xc0U

static bool has(const struct wire_reader *r, size_t n)
{
	return r->pos <= r->len && r->len - r->pos >= n;
}

int wire_read_u16(struct wire_reader *r, uint16_t *ret)
{
	if (!has(r, 2))
		return -EBADMSG;
	*ret = wire_get16(r->msg + r->pos);
	r->pos += 2;
	return 0;
}

int wire_read_u32(struct wire_reader *r, uint32_t *ret)
{
	if (!has(r, 4))
		return -EBADMSG;
	*ret = wire_get32(r->msg + r->pos);
	r->pos += 4;
	return 0;
}

int wire_read_header(struct wire_reader *r, struct wire_header *ret)
{
	const uint8_t *p = r->msg + r->pos;

	if (!has(r, WIRE_HEADER_LEN))
		return -EBADMSG;
	*ret = (struct wire_header){
		.id = wire_get16(p),
		.flags = wire_get16(p + 2),
		.n_qd = wire_get16(p + 4),
		.n_an = wire_get16(p + 6),
		.n_ns = wire_get16(p + 8),
		.n_ar = wire_get16(p + 10),
	};
	r->pos += WIRE_HEADER_LEN;
	return 0;
}

/* Where a name continues: follows one pointer at @pos, or says it is none. */
static int follow(const struct wire_reader *r, size_t *pos, size_t *segment)
{
	size_t target;

	if (r->len - *pos < 2)
		return -EBADMSG;
	target = wire_get16(r->msg + *pos) & WIRE_POINTER_MAX;
	if (target >= *segment)
		return -EBADMSG;
	*pos = *segment = target;
	return 0;
}

int wire_read_name(struct wire_reader *r, struct dnsname *ret)
{
	uint8_t flat[DNSNAME_WIRE_MAX];
	size_t pos = r->pos, segment = r->pos, end = 0, n = 0;
	unsigned int hops = 0;

	for (;;) {
		size_t label;

		if (pos >= r->len)
			return -EBADMSG;
		label = r->msg[pos];
		if ((label & LABEL_TYPE_MASK) == LABEL_POINTER) {
			if (!end)
				end = pos + 2;
			if (++hops > WIRE_HOPS_MAX || follow(r, &pos, &segment))
				return -EBADMSG;
			continue;
		}
		if (label & LABEL_TYPE_MASK || r->len - pos < label + 1 ||
		    n + label + 1 > sizeof(flat))
			return -EBADMSG;
		memcpy(flat + n, r->msg + pos, label + 1);
		n += label + 1;
		pos += label + 1;
		if (!label)
			break;
	}
	if (dnsname_from_wire(flat, n, ret) != (int)n)
		return -EBADMSG;
	r->pos = end ? end : pos;
	return 0;
}

/* Steps over a name without following it; enough to find what comes after. */
static int skip_name(struct wire_reader *r)
{
	while (r->pos < r->len) {
		size_t label = r->msg[r->pos];
		size_t step = label + 1;

		if ((label & LABEL_TYPE_MASK) == LABEL_POINTER)
			step = 2;
		else if (label & LABEL_TYPE_MASK)
			return -EBADMSG;
		if (!has(r, step))
			return -EBADMSG;
		r->pos += step;
		if (!label || step != label + 1)
			return 0;
	}
	return -EBADMSG;
}

static int read_fixed(struct wire_reader *r, struct wire_rr *ret)
{
	const uint8_t *p = r->msg + r->pos;

	if (!has(r, WIRE_RR_FIXED))
		return -EBADMSG;
	ret->type = wire_get16(p);
	ret->rclass = wire_get16(p + 2);
	ret->ttl = wire_get32(p + 4);
	ret->rdlen = wire_get16(p + 8);
	r->pos += WIRE_RR_FIXED;
	if (!has(r, ret->rdlen))
		return -EBADMSG;
	ret->rdata = r->pos;
	r->pos += ret->rdlen;
	return 0;
}

int wire_read_rr(struct wire_reader *r, struct wire_rr *ret)
{
	int e = wire_read_name(r, &ret->owner);

	return e ? e : read_fixed(r, ret);
}

int wire_skip_rr(struct wire_reader *r)
{
	struct wire_rr rr;
	int e = skip_name(r);

	return e ? e : read_fixed(r, &rr);
}

void wire_writer_init(struct wire_writer *w, uint8_t *buf, size_t size,
		      size_t base)
{
	w->buf = buf;
	w->size = size;
	w->len = 0;
	w->base = base;
	w->full = false;
	w->n_suffixes = 0;
}

void wire_write_bytes(struct wire_writer *w, const void *data, size_t len)
{
	if (w->full || w->size - w->len < len) {
		w->full = true;
		return;
	}
	if (len)
		memcpy(w->buf + w->len, data, len);
	w->len += len;
}

void wire_write_u8(struct wire_writer *w, uint8_t v)
{
	wire_write_bytes(w, &v, 1);
}

void wire_write_u16(struct wire_writer *w, uint16_t v)
{
	uint8_t b[2];

	wire_put16(b, v);
	wire_write_bytes(w, b, sizeof(b));
}

void wire_write_u32(struct wire_writer *w, uint32_t v)
{
	uint8_t b[4];

	wire_put32(b, v);
	wire_write_bytes(w, b, sizeof(b));
}

void wire_set_u16(struct wire_writer *w, size_t at, uint16_t v)
{
	if (!w->full && at + 2 <= w->len)
		wire_put16(w->buf + at, v);
}

static int find_suffix(const struct wire_writer *w, uint64_t hash, size_t len)
{
	for (unsigned int i = 0; i < w->n_suffixes; i++) {
		if (w->suffixes[i].hash == hash && w->suffixes[i].len == len)
			return w->suffixes[i].offset;
	}
	return -1;
}

static void note_suffix(struct wire_writer *w, uint64_t hash, size_t len,
			size_t offset)
{
	if (offset > WIRE_POINTER_MAX || w->n_suffixes == WIRE_SUFFIXES_MAX)
		return;
	w->suffixes[w->n_suffixes].hash = hash;
	w->suffixes[w->n_suffixes].len = (uint8_t)len;
	w->suffixes[w->n_suffixes].offset = (uint16_t)offset;
	w->n_suffixes++;
}

void wire_note_name(struct wire_writer *w, const struct dnsname *n,
		    size_t offset)
{
	for (size_t at = 0; at < n->len && n->wire[at]; at += n->wire[at] + 1U)
		note_suffix(w, hash_bytes(n->wire + at, n->len - at),
			    n->len - at, offset + at);
}

/*
 * A suffix is recognised by its keyed 64-bit hash and its length alone: nobody
 * outside can make two names collide, and the reply stays well-formed anyway.
 */
void wire_write_name(struct wire_writer *w, const struct dnsname *n)
{
	size_t at = 0;

	while (at < n->len && n->wire[at]) {
		size_t left = n->len - at;
		uint64_t hash = hash_bytes(n->wire + at, left);
		int offset = find_suffix(w, hash, left);

		if (offset >= 0) {
			wire_write_u16(w, (uint16_t)(LABEL_POINTER << 8 |
						     (unsigned int)offset));
			return;
		}
		note_suffix(w, hash, left, w->base + w->len);
		wire_write_bytes(w, n->wire + at, n->wire[at] + 1U);
		at += n->wire[at] + 1U;
	}
	wire_write_u8(w, 0);
}

void wire_write_name_plain(struct wire_writer *w, const struct dnsname *n)
{
	wire_write_bytes(w, n->wire, n->len);
}
