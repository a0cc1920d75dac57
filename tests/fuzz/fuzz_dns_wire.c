/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_dns_wire.c - any bytes as a message; what was read is written and read
 * again, and must be the same
 */
#include <assert.h>
#include <string.h>

#include "resolver/answer.h"
#include "resolver/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t out[2 * WIRE_MSG_MAX];

static void check_name(const uint8_t *data, size_t size, size_t at)
{
	struct wire_reader r = { .msg = data, .len = size, .pos = at };
	struct dnsname n;

	if (!wire_read_name(&r, &n)) {
		assert(r.pos > at && r.pos <= size);
		assert(n.len && n.wire[n.len - 1] == 0);
	}
}

/* Record by record into a message of our own. */
static unsigned int rewrite(const uint8_t *data, size_t size,
			    struct wire_writer *w)
{
	struct wire_reader r = { .msg = data, .len = size };
	struct wire_header h;
	unsigned int n = 0;
	struct wire_rr rr;

	if (wire_read_header(&r, &h))
		return 0;
	while (r.pos < size && !wire_read_rr(&r, &rr)) {
		struct wire_writer before = *w;

		wire_write_name(w, &rr.owner);
		wire_write_u16(w, rr.type);
		wire_write_u16(w, rr.rclass);
		wire_write_u32(w, rr.ttl);
		if (rrset_write_rdata(w, data, size, &rr))
			*w = before;
		else
			n++;
	}
	return w->full ? 0 : n;
}

static void check_same(const struct wire_writer *w, unsigned int n)
{
	static uint8_t again[2 * WIRE_MSG_MAX];
	struct wire_reader r = { .msg = out,
				 .len = w->len + WIRE_HEADER_LEN,
				 .pos = WIRE_HEADER_LEN };
	struct wire_writer w2;

	wire_writer_init(&w2, again, sizeof(again), WIRE_HEADER_LEN);
	while (n--) {
		struct wire_rr rr;
		int e = wire_read_rr(&r, &rr);

		assert(!e);
		wire_write_name(&w2, &rr.owner);
		wire_write_u16(&w2, rr.type);
		wire_write_u16(&w2, rr.rclass);
		wire_write_u32(&w2, rr.ttl);
		e = rrset_write_rdata(&w2, out, r.len, &rr);
		assert(!e);
	}
	assert(r.pos == r.len && w2.len == w->len);
	assert(!memcmp(again, out + WIRE_HEADER_LEN, w->len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_writer w;
	unsigned int n;

	if (size > WIRE_MSG_MAX)
		return 0;
	for (size_t at = 0; at < size && at < 64; at++)
		check_name(data, size, at);
	memset(out, 0, WIRE_HEADER_LEN);
	wire_writer_init(&w, out + WIRE_HEADER_LEN,
			 sizeof(out) - WIRE_HEADER_LEN, WIRE_HEADER_LEN);
	n = rewrite(data, size, &w);
	if (n)
		check_same(&w, n);
	return 0;
}
