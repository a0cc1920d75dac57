/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rrset.c - rdata of the types that are passed on, checked and written anew
 *
 * Names in rdata come compressed against a message that the client never sees,
 * so they are expanded; they are compressed again only where RFC 3597 allows.
 */
#include <errno.h>

#include "resolver/answer.h"

#define CAA_TAG_MAX 15

/* Rdata of @rr and nothing behind it; pointers still reach the whole message.
 */
static struct wire_reader rdata_reader(const uint8_t *msg,
				       const struct wire_rr *rr)
{
	return (struct wire_reader){
		.msg = msg,
		.len = rr->rdata + rr->rdlen,
		.pos = rr->rdata,
	};
}

static int copy_u16s(struct wire_writer *w, struct wire_reader *r,
		     unsigned int n)
{
	uint16_t v;

	while (n--) {
		if (wire_read_u16(r, &v))
			return -EBADMSG;
		wire_write_u16(w, v);
	}
	return 0;
}

static int copy_name(struct wire_writer *w, struct wire_reader *r,
		     bool compress)
{
	struct dnsname n;

	if (wire_read_name(r, &n))
		return -EBADMSG;
	if (compress)
		wire_write_name(w, &n);
	else
		wire_write_name_plain(w, &n);
	return 0;
}

static int copy_soa(struct wire_writer *w, struct wire_reader *r)
{
	for (unsigned int i = 0; i < 2; i++) { /* mname, rname */
		if (copy_name(w, r, true))
			return -EBADMSG;
	}
	/* serial, refresh, retry, expire, minimum */
	return copy_u16s(w, r, 10);
}

static int copy_txt(struct wire_writer *w, struct wire_reader *r)
{
	if (r->pos == r->len)
		return -EBADMSG;
	while (r->pos < r->len) {
		size_t n = r->msg[r->pos] + 1U;

		if (r->len - r->pos < n)
			return -EBADMSG;
		wire_write_bytes(w, r->msg + r->pos, n);
		r->pos += n;
	}
	return 0;
}

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static int copy_caa(struct wire_writer *w, struct wire_reader *r)
{
	const uint8_t *p = r->msg + r->pos;
	size_t n = r->len - r->pos;

	if (n < 3 || !p[1] || p[1] > CAA_TAG_MAX || p[1] > n - 2)
		return -EBADMSG;
	for (size_t i = 2; i < 2U + p[1]; i++) {
		if (!is_alnum(p[i]))
			return -EBADMSG;
	}
	wire_write_bytes(w, p, n);
	r->pos = r->len;
	return 0;
}

static int copy_bytes(struct wire_writer *w, struct wire_reader *r, size_t n)
{
	if (r->len - r->pos != n)
		return -EBADMSG;
	wire_write_bytes(w, r->msg + r->pos, n);
	r->pos += n;
	return 0;
}

static int copy_rdata(struct wire_writer *w, struct wire_reader *r,
		      uint16_t type)
{
	switch (type) {
	case WIRE_A:
		return copy_bytes(w, r, 4);
	case WIRE_AAAA:
		return copy_bytes(w, r, 16);
	case WIRE_NS:
	case WIRE_CNAME:
	case WIRE_PTR:
		return copy_name(w, r, true);
	case WIRE_MX:
		return copy_u16s(w, r, 1) ?: copy_name(w, r, true);
	case WIRE_SRV:
		return copy_u16s(w, r, 3) ?: copy_name(w, r, false);
	case WIRE_SOA:
		return copy_soa(w, r);
	case WIRE_TXT:
		return copy_txt(w, r);
	case WIRE_CAA:
		return copy_caa(w, r);
	default:
		return -EBADMSG;
	}
}

int rrset_write_rdata(struct wire_writer *w, const uint8_t *msg, size_t len,
		      const struct wire_rr *rr)
{
	struct wire_reader r = rdata_reader(msg, rr);
	size_t at = w->len;

	if (r.len > len)
		return -EBADMSG;
	wire_write_u16(w, 0);
	if (copy_rdata(w, &r, rr->type) || r.pos != r.len)
		return -EBADMSG;
	if (!w->full)
		wire_set_u16(w, at, (uint16_t)(w->len - at - 2));
	return 0;
}
