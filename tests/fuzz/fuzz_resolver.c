/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_resolver.c - a hostile client and a hostile upstream
 *
 * The input is a script: an octet that says what, two of length, and bytes.
 *
 *   0   a query message as it is
 *   1   the answer to the oldest question: the bytes behind a header and
 *       question that fit it (the octet's upper bits: rcode and answer count)
 *   2   the answer to the oldest question: the bytes as they are
 *   3   time passes, or a change of the sets is acknowledged or refused
 *
 * Held: every reply tells only addresses that are open; an address is opened
 * only if the answer of an allowed name's chain owned it, as a second, plainer
 * reader of the same message finds it; no name that isn't allowed is asked.
 */
#include <assert.h>

#define LAB_ELEMS_MAX	16384
#define LAB_REPLIES_MAX 512

#include "tests/unit/resolver_lab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define POLICY	  "good.test\n*.good.test:8443\nwww.example:443,80\n!bad.good.test"
#define OWNED_MAX 65536

static struct addr owned[OWNED_MAX];
static size_t n_owned;

/* The name that the chain ends with; no cap: a superset of what may be used. */
static bool is_on_chain(const uint8_t *msg, size_t len, size_t answers,
			const struct dnsname *qname, const struct dnsname *end)
{
	struct dnsname at = *qname;

	for (unsigned int hop = 0; hop < 32; hop++) {
		struct wire_reader r = { .msg = msg,
					 .len = len,
					 .pos = answers };
		bool has_next = false;
		struct wire_rr rr;

		if (dnsname_equal(&at, end))
			return true;
		while (!has_next && r.pos < len && !wire_read_rr(&r, &rr)) {
			struct wire_reader t = { .msg = msg,
						 .len = len,
						 .pos = rr.rdata };

			has_next = rr.type == WIRE_CNAME &&
				   rr.rclass == WIRE_CLASS_IN &&
				   dnsname_equal(&rr.owner, &at) &&
				   !wire_read_name(&t, &at);
		}
		if (!has_next)
			return false;
	}
	return false;
}

static void note_owned(const struct lab_ask *a, const uint8_t *msg, size_t len)
{
	struct wire_reader r = { .msg = msg,
				 .len = len,
				 .pos = WIRE_HEADER_LEN };
	struct dnsname n;
	struct wire_rr rr;
	size_t answers;

	if (len < WIRE_HEADER_LEN || wire_read_name(&r, &n))
		return;
	r.pos += 4;
	answers = r.pos;
	while (r.pos < len && !wire_read_rr(&r, &rr) && n_owned < OWNED_MAX) {
		if ((rr.type == WIRE_A && rr.rdlen == 4) ||
		    (rr.type == WIRE_AAAA && rr.rdlen == 16)) {
			if (is_on_chain(msg, len, answers, &a->name, &rr.owner))
				owned[n_owned++] = addr_from_bytes(
					msg + rr.rdata, rr.rdlen);
		}
	}
}

static void check_elems(const struct lab *l)
{
	for (size_t i = 0; i < l->n_elems; i++)
		assert(lab_has_addr(owned, n_owned, &l->elems[i].addr));
	for (size_t i = 0; i < l->n_asks; i++)
		assert(policy_judge_name(l->policy, &l->asks[i].name).reason ==
		       POLICY_ALLOWED);
	assert(!l->broken);
}

static struct lab_ask *oldest(struct lab *l)
{
	for (size_t i = 0; i < l->n_asks; i++) {
		if (l->asks[i].is_open)
			return &l->asks[i];
	}
	return NULL;
}

static void answer(struct lab *l, unsigned int op, const uint8_t *data,
		   size_t len)
{
	static uint8_t msg[WIRE_MSG_MAX];
	struct lab_ask *a = oldest(l);
	struct wire_writer w;

	if (!a)
		return;
	wire_writer_init(&w, msg, sizeof(msg), 0);
	if ((op & 3) == 1) {
		wire_write_u16(&w, 1);
		wire_write_u16(&w, (uint16_t)(WIRE_FLAG_QR | (op >> 2 & 3)));
		wire_write_u16(&w, 1);
		wire_write_u16(&w, (uint16_t)(op >> 4));
		wire_write_u16(&w, op & 4 ? 1 : 0);
		wire_write_u16(&w, 0);
		wire_write_name_plain(&w, &a->name);
		wire_write_u16(&w, a->qtype);
		wire_write_u16(&w, WIRE_CLASS_IN);
	}
	wire_write_bytes(&w, data, len);
	note_owned(a, msg, w.len);
	(void)lab_upstream_bytes(l, 0, msg, w.len);
}

static void step(struct lab *l, unsigned int op, const uint8_t *data,
		 size_t len)
{
	switch (op & 3) {
	case 0:
		if (l->n_replies < 256)
			(void)lab_send(l, data, len, op & 4, true);
		break;
	case 1:
	case 2:
		answer(l, op, data, len);
		break;
	default:
		if (op & 4)
			lab_advance(l, (op >> 3) * 2000);
		else if (!lab_ack(l, op & 8 ? -ENFILE : 0))
			l->grant_mode =
				op & 16 ? LAB_GRANT_LATER : LAB_GRANT_NOW;
	}
	check_elems(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lab *l = lab_new(POLICY);

	n_owned = 0;
	(void)lab_query(l, "good.test", "A");
	(void)lab_query(l, "x.good.test", "AAAA");
	while (size >= 3) {
		unsigned int op = data[0];
		size_t len = wire_get16(data + 1);

		data += 3;
		size -= 3;
		if (len > size)
			len = size;
		step(l, op, data, len);
		data += len;
		size -= len;
	}
	lab_free(l);
	return 0;
}
