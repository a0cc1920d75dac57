/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query.c - one query message: parsed, judged, and sent on its way
 *
 * The order is the promise: first what can be told without a name (malformed,
 * other classes), then names of our own, then the allowlist, and only a name
 * that passed it reaches the cache or upstream (P4).
 */
#include <string.h>

#include "base/clock.h"
#include "resolver/resolver_internal.h"

enum parsed {
	PARSED_OK,
	PARSED_SILENT, /* not a query: no reply, or two servers could chat */
	PARSED_FORMERR,
	PARSED_NOTIMP,
};

static bool parse_question(struct wire_reader *r, struct question *q)
{
	size_t start = r->pos;
	int n = dnsname_from_wire(r->msg + start, r->len - start, &q->name);

	if (n < 0)
		return false;
	r->pos += (size_t)n;
	if (wire_read_u16(r, &q->qtype) || wire_read_u16(r, &q->qclass))
		return false;
	q->raw_len = (uint16_t)(r->pos - start);
	memcpy(q->raw, r->msg + start, q->raw_len);
	return true;
}

static bool parse_opt(struct question *q, const struct wire_rr *rr, bool tcp)
{
	size_t limit = rr->rclass;

	if (q->has_edns || dnsname_labels(&rr->owner))
		return false;
	q->has_edns = true;
	q->edns_version = (uint8_t)(rr->ttl >> 16);
	if (limit < RESOLVER_UDP_PLAIN)
		limit = RESOLVER_UDP_PLAIN;
	if (limit > RESOLVER_UDP_MAX)
		limit = RESOLVER_UDP_MAX;
	if (!tcp)
		q->limit = limit;
	return true;
}

static enum parsed parse(const uint8_t *msg, size_t len, bool tcp,
			 struct question *q)
{
	struct wire_reader r = { .msg = msg, .len = len };
	struct wire_header h;
	unsigned int n_skip;

	if (wire_read_header(&r, &h) || h.flags & WIRE_FLAG_QR)
		return PARSED_SILENT;
	q->id = h.id;
	q->flags = h.flags;
	q->limit = tcp ? WIRE_MSG_MAX : RESOLVER_UDP_PLAIN;
	if (WIRE_OPCODE(h.flags))
		return PARSED_NOTIMP;
	if (h.n_qd != 1 || !parse_question(&r, q))
		return PARSED_FORMERR;
	for (n_skip = (unsigned int)h.n_an + h.n_ns; n_skip; n_skip--) {
		if (wire_skip_rr(&r))
			return PARSED_FORMERR;
	}
	for (unsigned int i = 0; i < h.n_ar; i++) {
		struct wire_rr rr;

		if (wire_read_rr(&r, &rr))
			return PARSED_FORMERR;
		if (rr.type == WIRE_OPT && !parse_opt(q, &rr, tcp))
			return PARSED_FORMERR;
	}
	return PARSED_OK;
}

/* Another version, another class, a transfer: nothing a name could change. */
static bool answer_unsupported(struct resolver *r, const struct question *q)
{
	uint16_t rcode;

	if (q->has_edns && q->edns_version)
		rcode = WIRE_BADVERS;
	else if (q->qclass != WIRE_CLASS_IN || q->qtype == WIRE_AXFR ||
		 q->qtype == WIRE_IXFR)
		rcode = WIRE_REFUSED;
	else if (!r->policy)
		rcode = WIRE_SERVFAIL;
	else
		return false;
	reply_error(r, q, rcode, WIRE_EDE_NONE, NULL);
	return true;
}

/* Types of an allowed name that are answered without upstream. */
static bool answer_type(struct resolver *r, const struct question *q)
{
	static const uint8_t hinfo[] = "\7RFC8482"; /* its own end: no OS */

	if (q->qtype == WIRE_ANY) {
		reply_rr(r, q, WIRE_HINFO, 3600, hinfo, sizeof(hinfo));
		return true;
	}
	if (!answer_is_passed(q->qtype) ||
	    (q->qtype == WIRE_AAAA && !r->ops->has_ipv6(r->ctx))) {
		reply_negative(r, q, WIRE_NOERROR, WIRE_EDE_NONE, NULL);
		return true;
	}
	return false;
}

/*
 * SECURITY: besides flight.c the only place that gives out addresses; only when
 * lease_renew() found every element of every address acknowledged.
 */
static void answer_allowed(struct resolver *r, const struct question *q)
{
	uint64_t now_ms = clock_now_ms();
	struct answer *a = cache_get(r->cache, &q->name, q->qtype, now_ms);
	struct lease_request req = { .policy = r->policy, .name = &q->name };

	if (a) {
		req.items = a->items;
		req.n = a->n_items;
		req.age_s = answer_age_s(a, now_ms);
		req.now_ms = now_ms;
	}
	if (a && lease_renew(r->leases, &req))
		flight_reply(r, q, a);
	else
		flight_take(r, q, a);
}

/* Return: true when there is nothing in the message to judge. */
static bool answer_unparsed(struct resolver *r, struct question *q,
			    enum parsed parsed)
{
	if (parsed == PARSED_OK)
		return false;
	r->n_malformed++;
	if (parsed == PARSED_SILENT) {
		q->reply(q->arg, NULL, 0);
		return true;
	}
	q->raw_len = 0;
	q->has_edns = false;
	reply_error(r, q, parsed == PARSED_NOTIMP ? WIRE_NOTIMP : WIRE_FORMERR,
		    WIRE_EDE_NONE, NULL);
	return true;
}

void query_answer(struct resolver *r, const struct question *q, bool may_hold)
{
	struct policy_verdict v = policy_judge_name(r->policy, &q->name);

	if (v.reason != POLICY_ALLOWED) {
		if (!may_hold || !resolver_report_held(r, q, &v))
			reply_refused(r, q, &v);
		return;
	}
	if (r->ops->allowed)
		r->ops->allowed(r->ctx, v.entry);
	if (!answer_type(r, q))
		answer_allowed(r, q);
}

void resolver_answer(struct resolver *r, const struct resolver_query *query,
		     resolver_reply_fn *reply, void *arg)
{
	struct question q = {
		.client = *query->client,
		.is_tcp = query->is_tcp,
		.reply = reply,
		.arg = arg,
	};
	enum parsed parsed = parse(query->msg, query->len, query->is_tcp, &q);

	r->n_queries++;
	if (answer_unparsed(r, &q, parsed) || answer_unsupported(r, &q) ||
	    local_answer(r, &q))
		return;
	query_answer(r, &q, true);
}
