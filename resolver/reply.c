/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reply.c - the bytes a client gets
 *
 * Header, the question exactly as it came (clients check its case), a body made
 * earlier, and an OPT record if the client sent one. What doesn't fit the
 * client's limit goes in this order: the text of the error, then the whole body
 * with TC set; nothing is ever cut in the middle.
 */
#include <stdio.h>
#include <string.h>

#include "resolver/resolver_internal.h"

#define EDE_HEAD 6 /* option code, its length, info code */
#define SOA_MAX	 64

static size_t opt_len(const struct question *q, const struct reply *rep,
		      size_t text_len)
{
	if (!q->has_edns)
		return 0;
	return WIRE_OPT_LEN +
	       (rep->ede == WIRE_EDE_NONE ? 0 : EDE_HEAD + text_len);
}

static void write_opt(struct wire_writer *w, const struct reply *rep,
		      size_t text_len)
{
	bool has_ede = rep->ede != WIRE_EDE_NONE;

	wire_write_u8(w, 0);
	wire_write_u16(w, WIRE_OPT);
	wire_write_u16(w, RESOLVER_UDP_MAX);
	wire_write_u8(w, (uint8_t)(rep->rcode >> 4));
	wire_write_u8(w, 0);  /* version */
	wire_write_u16(w, 0); /* DO is not echoed: no signatures are passed */
	wire_write_u16(w, (uint16_t)(has_ede ? EDE_HEAD + text_len : 0));
	if (!has_ede)
		return;
	wire_write_u16(w, WIRE_OPTION_EDE);
	wire_write_u16(w, (uint16_t)(2 + text_len));
	wire_write_u16(w, (uint16_t)rep->ede);
	wire_write_bytes(w, rep->text, text_len);
}

static void count_down(uint8_t *body, const struct answer *a, uint32_t age_s)
{
	for (size_t i = 0; i < a->n_ttls; i++) {
		uint8_t *p = body + a->ttls[i];
		uint32_t ttl_s = wire_get32(p);

		wire_put32(p, ttl_s > age_s ? ttl_s - age_s : 0);
	}
}

static void count(struct resolver *r, uint16_t rcode)
{
	if (rcode == WIRE_SERVFAIL)
		r->n_servfail++;
	else if (rcode == WIRE_NOERROR || rcode == WIRE_NXDOMAIN)
		r->n_answered++;
}

void reply_send(struct resolver *r, const struct question *q,
		const struct reply *rep)
{
	size_t text_len = rep->text ? strlen(rep->text) : 0;
	size_t head = WIRE_HEADER_LEN + q->raw_len;
	struct wire_writer w;
	bool fits;

	if (head + rep->body_len + opt_len(q, rep, text_len) > q->limit)
		text_len = 0;
	fits = head + rep->body_len + opt_len(q, rep, text_len) <= q->limit;
	wire_writer_init(&w, r->out, sizeof(r->out), 0);
	wire_write_u16(&w, q->id);
	wire_write_u16(&w, (uint16_t)(WIRE_FLAG_QR | WIRE_FLAG_RA |
				      (fits ? 0 : WIRE_FLAG_TC) |
				      (q->flags & (0x7800U | WIRE_FLAG_RD |
						   WIRE_FLAG_CD)) |
				      WIRE_RCODE(rep->rcode)));
	wire_write_u16(&w, q->raw_len ? 1 : 0);
	wire_write_u16(&w, fits ? rep->n_an : 0);
	wire_write_u16(&w, fits ? rep->n_ns : 0);
	wire_write_u16(&w, q->has_edns ? 1 : 0);
	wire_write_bytes(&w, q->raw, q->raw_len);
	if (fits)
		wire_write_bytes(&w, rep->body, rep->body_len);
	if (fits && rep->answer && rep->age_s && !w.full)
		count_down(r->out + head, rep->answer, rep->age_s);
	if (q->has_edns)
		write_opt(&w, rep, text_len);
	count(r, rep->rcode);
	q->reply(q->arg, r->out, w.len);
}

void reply_error(struct resolver *r, const struct question *q, uint16_t rcode,
		 int ede, const char *text)
{
	const struct reply rep = { .rcode = rcode, .ede = ede, .text = text };

	reply_send(r, q, &rep);
}

/*
 * The owner of our SOA is the parent of the name, a pointer into the question:
 * an apex that is above the name makes the answer one that stubs may keep.
 */
static size_t write_soa(const struct question *q, uint8_t dst[static SOA_MAX])
{
	static const uint8_t mname[] = "\5egret\10internal";
	size_t skip = q->name.wire[0] ? q->name.wire[0] + 1U : 0;
	struct wire_writer w;
	size_t at;

	wire_writer_init(&w, dst, SOA_MAX, 0);
	wire_write_u16(&w, (uint16_t)(0xc000U | (WIRE_HEADER_LEN + skip)));
	wire_write_u16(&w, WIRE_SOA);
	wire_write_u16(&w, WIRE_CLASS_IN);
	wire_write_u32(&w, RESOLVER_LOCAL_TTL_S);
	at = w.len;
	wire_write_u16(&w, 0);
	wire_write_bytes(&w, mname, sizeof(mname));
	wire_write_u8(&w, 0);			  /* nobody to write to */
	wire_write_u32(&w, 1);			  /* serial */
	wire_write_u32(&w, 3600);		  /* refresh */
	wire_write_u32(&w, 600);		  /* retry */
	wire_write_u32(&w, 86400);		  /* expire */
	wire_write_u32(&w, RESOLVER_LOCAL_TTL_S); /* minimum */
	wire_set_u16(&w, at, (uint16_t)(w.len - at - 2));
	return w.len;
}

void reply_negative(struct resolver *r, const struct question *q,
		    uint16_t rcode, int ede, const char *text)
{
	uint8_t soa[SOA_MAX];
	const struct reply rep = {
		.rcode = rcode,
		.body = soa,
		.body_len = write_soa(q, soa),
		.n_ns = 1,
		.ede = ede,
		.text = text,
	};

	reply_send(r, q, &rep);
}

static const char *describe_strip(const struct resolver *r,
				  const struct question *q,
				  const struct answer_strip *s, char *dst,
				  size_t size)
{
	char addr[ADDR_STR_LEN], name[DNSNAME_STR_LEN];

	if (s->reason == POLICY_DENIED)
		(void)snprintf(dst, size, "address %s is denied",
			       addr_format(&s->addr, addr));
	else
		(void)snprintf(dst, size,
			       "address %s withheld (%s); to allow: "
			       "egret allow %s '%.200s private'",
			       addr_format(&s->addr, addr),
			       s->category ? s->category : "special",
			       r->sandbox, dnsname_format(&q->name, name));
	return dst;
}

void reply_answer(struct resolver *r, const struct question *q,
		  const struct answer *a, uint64_t now_ms)
{
	const struct reply rep = {
		.rcode = a->rcode,
		.body = a->body,
		.body_len = a->body_len,
		.n_an = a->n_an,
		.n_ns = a->n_ns,
		.ede = WIRE_EDE_NONE,
		.answer = a,
		.age_s = answer_age_s(a, now_ms),
	};
	char text[RESOLVER_TEXT_MAX];

	if (a->is_emptied && !a->n_an)
		reply_negative(
			r, q, WIRE_NOERROR, WIRE_EDE_BLOCKED,
			describe_strip(r, q, &a->strip, text, sizeof(text)));
	else
		reply_send(r, q, &rep);
}

void reply_rr(struct resolver *r, const struct question *q, uint16_t type,
	      uint32_t ttl_s, const void *rdata, size_t len)
{
	uint8_t body[1024];
	struct wire_writer w;
	struct reply rep = { .body = body, .n_an = 1, .ede = WIRE_EDE_NONE };

	wire_writer_init(&w, body, sizeof(body), 0);
	wire_write_u16(&w, 0xc000U | WIRE_HEADER_LEN);
	wire_write_u16(&w, type);
	wire_write_u16(&w, WIRE_CLASS_IN);
	wire_write_u32(&w, ttl_s);
	wire_write_u16(&w, (uint16_t)len);
	wire_write_bytes(&w, rdata, len);
	rep.body_len = w.len;
	if (w.full)
		reply_error(r, q, WIRE_SERVFAIL, WIRE_EDE_OTHER, NULL);
	else
		reply_send(r, q, &rep);
}

void reply_refused(struct resolver *r, const struct question *q,
		   const struct policy_verdict *v)
{
	char text[RESOLVER_TEXT_MAX], name[DNSNAME_STR_LEN];

	r->n_refused++;
	if (v->reason == POLICY_DENIED && v->entry != POLICY_NO_ENTRY)
		(void)snprintf(text, sizeof(text), "denied by the entry %.200s",
			       policy_entry(r->policy, v->entry).text);
	else
		(void)snprintf(text, sizeof(text),
			       "not on the allowlist; to allow: "
			       "egret allow %s %.200s",
			       r->sandbox, dnsname_format(&q->name, name));
	/* NXDOMAIN for the root would deny every name (RFC 8020). */
	if (!dnsname_labels(&q->name))
		reply_error(r, q, WIRE_REFUSED, WIRE_EDE_BLOCKED, text);
	else
		reply_negative(r, q, WIRE_NXDOMAIN, WIRE_EDE_BLOCKED, text);
}
