/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.c - which records of upstream's message belong to the question
 *
 * Stages:
 *   1. header and question must be those of our query;
 *   2. the answer section is indexed once, owners by hash;
 *   3. from the queried name on, the chain of CNAMEs is followed, at most 16,
 *      never twice the same name; a record is used only if its owner is the end
 *      of that chain and its type the one asked for. Whatever else the message
 *      says is not looked at;
 *   4. addresses are judged; those that may not be opened are left out, so the
 *      client never sees an address that isn't open;
 *   5. for a negative answer the SOA is kept if its owner is above the name.
 */
#include "resolver/answer.h"

#include <string.h>

#include "policy/special.h"

struct indexed {
	uint64_t hash; /* of the owner */
	size_t at;     /* where the record begins */
	uint16_t type;
};

struct answer_scratch {
	struct indexed index[ANSWER_RRS_MAX];
	struct lease_item items[LEASE_PER_ANSWER_MAX];
	uint16_t ttls[ANSWER_RRS_MAX + ANSWER_CHAIN_MAX + 1];
	uint8_t body[ANSWER_BODY_MAX];
};

/* One judgement under way. */
struct work {
	const struct answer_context *c;
	struct answer_scratch *s;
	const struct dnsname *name;
	uint16_t qtype;
	const uint8_t *msg;
	size_t len;
	struct wire_reader r;
	struct wire_header h;
	size_t n_index, n_items, n_ttls, max_items;
	struct dnsname chain[ANSWER_CHAIN_MAX + 1];
	size_t n_chain; /* names, the queried one included */
	struct wire_writer w;
	struct answer a; /* what becomes of it */
};

struct answer_scratch *answer_scratch_new(void)
{
	return malloc(sizeof(struct answer_scratch));
}

void answer_scratch_free(struct answer_scratch *s)
{
	free(s);
}

bool answer_is_passed(uint16_t qtype)
{
	switch (qtype) {
	case WIRE_A:
	case WIRE_AAAA:
	case WIRE_CNAME:
	case WIRE_NS:
	case WIRE_SOA:
	case WIRE_PTR:
	case WIRE_MX:
	case WIRE_TXT:
	case WIRE_SRV:
	case WIRE_CAA:
		return true;
	default:
		return false;
	}
}

static bool is_address(uint16_t type)
{
	return type == WIRE_A || type == WIRE_AAAA;
}

/* RFC 2181 8: a TTL with the top bit set means 0. */
static uint32_t sane_ttl(uint32_t ttl_s)
{
	if (ttl_s > INT32_MAX)
		return 0;
	return ttl_s > ANSWER_TTL_MAX_S ? ANSWER_TTL_MAX_S : ttl_s;
}

static int check_question(struct work *k)
{
	struct dnsname n;
	uint16_t qtype, qclass;

	if (wire_read_header(&k->r, &k->h) || !(k->h.flags & WIRE_FLAG_QR) ||
	    WIRE_OPCODE(k->h.flags) || k->h.flags & WIRE_FLAG_TC ||
	    k->h.n_qd != 1)
		return -EBADMSG;
	if (wire_read_name(&k->r, &n) || wire_read_u16(&k->r, &qtype) ||
	    wire_read_u16(&k->r, &qclass))
		return -EBADMSG;
	if (!dnsname_equal(&n, k->name) || qtype != k->qtype ||
	    qclass != WIRE_CLASS_IN)
		return -EBADMSG;
	k->a.rcode = WIRE_RCODE(k->h.flags);
	if (k->a.rcode != WIRE_NOERROR && k->a.rcode != WIRE_NXDOMAIN)
		return -EREMOTEIO;
	return 0;
}

static int index_answers(struct work *k)
{
	if (k->h.n_an > ANSWER_RRS_MAX)
		return -EBADMSG;
	for (unsigned int i = 0; i < k->h.n_an; i++) {
		size_t at = k->r.pos;
		struct wire_rr rr;

		if (wire_read_rr(&k->r, &rr))
			return -EBADMSG;
		if (rr.rclass != WIRE_CLASS_IN)
			continue;
		k->s->index[k->n_index++] = (struct indexed){
			.hash = dnsname_hash(&rr.owner),
			.at = at,
			.type = rr.type,
		};
	}
	return 0;
}

/* The record @i if it is owned by @owner and of @type. */
static bool get_rr(const struct work *k, size_t i, const struct dnsname *owner,
		   uint64_t hash, uint16_t type, struct wire_rr *ret)
{
	const struct indexed *x = &k->s->index[i];
	struct wire_reader r = { .msg = k->msg, .len = k->len, .pos = x->at };

	return x->type == type && x->hash == hash && !wire_read_rr(&r, ret) &&
	       dnsname_equal(&ret->owner, owner);
}

static void note_ttl(struct work *k, uint32_t ttl_s)
{
	if (!k->w.full)
		k->s->ttls[k->n_ttls++] = (uint16_t)k->w.len;
	wire_write_u32(&k->w, ttl_s);
	if (ttl_s < k->a.ttl_s)
		k->a.ttl_s = ttl_s;
}

static int write_rr(struct work *k, const struct wire_rr *rr)
{
	wire_write_name(&k->w, &rr->owner);
	wire_write_u16(&k->w, rr->type);
	wire_write_u16(&k->w, WIRE_CLASS_IN);
	note_ttl(k, sane_ttl(rr->ttl));
	return rrset_write_rdata(&k->w, k->msg, k->len, rr);
}

static bool find_cname(const struct work *k, const struct dnsname *owner,
		       struct wire_rr *ret)
{
	uint64_t hash = dnsname_hash(owner);

	for (size_t i = 0; i < k->n_index; i++) {
		if (get_rr(k, i, owner, hash, WIRE_CNAME, ret))
			return true;
	}
	return false;
}

static int follow_chain(struct work *k)
{
	struct wire_rr rr;

	k->chain[0] = *k->name;
	k->n_chain = 1;
	if (k->qtype == WIRE_CNAME)
		return 0;
	while (find_cname(k, &k->chain[k->n_chain - 1], &rr)) {
		struct wire_reader r = { .msg = k->msg,
					 .len = rr.rdata + rr.rdlen,
					 .pos = rr.rdata };
		struct dnsname *target = &k->chain[k->n_chain];

		if (k->n_chain > ANSWER_CHAIN_MAX)
			return -ELOOP;
		if (wire_read_name(&r, target) || write_rr(k, &rr))
			return -EBADMSG;
		k->a.n_an++;
		for (size_t i = 0; i < k->n_chain; i++) {
			if (dnsname_equal(&k->chain[i], target))
				return -ELOOP;
		}
		k->n_chain++;
	}
	return 0;
}

struct answer_strip answer_judge_addr(const struct answer_context *c,
				      const struct dnsname *n,
				      const struct addr *a)
{
	struct policy_verdict v = policy_learned_addr(c->policy, n, a);
	struct answer_strip s = {
		.addr = *a,
		.reason = v.reason,
		.entry = v.entry,
	};

	if (v.reason == POLICY_PRIVATE) {
		s.category = special_classify(a);
	} else if (v.reason == POLICY_ALLOWED &&
		   c->ops->is_host_addr(c->ops_ctx, a) &&
		   !(policy_judge_name(c->policy, n).flags &
		     POLICY_F_PRIVATE)) {
		s.reason = POLICY_PRIVATE;
		s.category = "this host's own";
	}
	return s;
}

static bool is_known_item(struct work *k, const struct addr *a, uint32_t ttl_s)
{
	for (size_t i = 0; i < k->n_items; i++) {
		if (!addr_equal(&k->s->items[i].addr, a))
			continue;
		if (k->s->items[i].ttl_s < ttl_s)
			k->s->items[i].ttl_s = ttl_s;
		return true;
	}
	return false;
}

/* Return: 1 to pass the record on, 0 to leave it out, -EBADMSG. */
static int take_address(struct work *k, const struct wire_rr *rr)
{
	size_t want = rr->type == WIRE_A ? 4 : 16;
	struct answer_strip s;
	struct addr a;

	if (rr->rdlen != want)
		return -EBADMSG;
	if (k->n_items == k->max_items)
		return 0;
	a = addr_from_bytes(k->msg + rr->rdata, want);
	if (is_known_item(k, &a, sane_ttl(rr->ttl)))
		return 0;
	s = answer_judge_addr(k->c, k->name, &a);
	if (s.reason != POLICY_ALLOWED) {
		if (k->a.strip.reason == POLICY_ALLOWED)
			k->a.strip = s;
		return 0;
	}
	k->s->items[k->n_items++] = (struct lease_item){
		.addr = a,
		.ttl_s = sane_ttl(rr->ttl),
	};
	return 1;
}

static int take_records(struct work *k)
{
	const struct dnsname *owner = &k->chain[k->n_chain - 1];
	uint64_t hash = dnsname_hash(owner);

	for (size_t i = 0; i < k->n_index; i++) {
		struct wire_rr rr;
		int take = 1;

		if (!get_rr(k, i, owner, hash, k->qtype, &rr))
			continue;
		if (is_address(k->qtype))
			take = take_address(k, &rr);
		if (take < 0 || (take && write_rr(k, &rr)))
			return -EBADMSG;
		k->a.n_an = (uint16_t)(k->a.n_an + take);
	}
	k->a.is_emptied = is_address(k->qtype) && !k->n_items &&
			  k->a.strip.reason != POLICY_ALLOWED;
	return 0;
}

static int write_soa(struct work *k, const struct wire_rr *rr)
{
	size_t ttl_at;
	uint32_t ttl_s;

	wire_write_name(&k->w, &rr->owner);
	wire_write_u16(&k->w, rr->type);
	wire_write_u16(&k->w, WIRE_CLASS_IN);
	ttl_at = k->w.len;
	wire_write_u32(&k->w, 0);
	if (rrset_write_rdata(&k->w, k->msg, k->len, rr))
		return -EBADMSG;
	if (k->w.full)
		return 0;
	/* RFC 2308 5: the smaller of its TTL and its last field. */
	ttl_s = sane_ttl(wire_get32(k->w.buf + k->w.len - 4));
	if (sane_ttl(rr->ttl) < ttl_s)
		ttl_s = sane_ttl(rr->ttl);
	if (ttl_s > ANSWER_NEG_TTL_MAX_S)
		ttl_s = ANSWER_NEG_TTL_MAX_S;
	wire_put32(k->w.buf + ttl_at, ttl_s);
	k->s->ttls[k->n_ttls++] = (uint16_t)ttl_at;
	if (ttl_s < k->a.ttl_s)
		k->a.ttl_s = ttl_s;
	k->a.n_ns = 1;
	return 0;
}

static int take_soa(struct work *k)
{
	const struct dnsname *end = &k->chain[k->n_chain - 1];

	for (unsigned int i = 0; i < k->h.n_ns; i++) {
		struct wire_rr rr;

		if (wire_read_rr(&k->r, &rr))
			return -EBADMSG;
		if (rr.type == WIRE_SOA && rr.rclass == WIRE_CLASS_IN &&
		    (dnsname_equal(&rr.owner, end) ||
		     dnsname_is_below(end, &rr.owner)))
			return write_soa(k, &rr);
	}
	k->a.ttl_s = 0; /* nobody says how long: it isn't kept */
	return 0;
}

static int finish(struct work *k, struct answer **ret)
{
	size_t items = k->n_items * sizeof(struct lease_item);
	size_t ttls = k->n_ttls * sizeof(uint16_t);
	struct answer *a = malloc(sizeof(*a) + items + ttls + k->w.len);

	if (!a)
		return -ENOMEM;
	*a = k->a;
	a->refs = 1;
	a->born_ms = k->c->now_ms;
	a->n_items = k->n_items;
	a->n_ttls = k->n_ttls;
	a->body_len = k->w.len;
	a->items = (struct lease_item *)(a + 1);
	a->ttls = (uint16_t *)(void *)((uint8_t *)(a + 1) + items);
	a->body = (uint8_t *)(a + 1) + items + ttls;
	memcpy(a->items, k->s->items, items);
	memcpy(a->ttls, k->s->ttls, ttls);
	memcpy(a->body, k->s->body, k->w.len);
	*ret = a;
	return 0;
}

/* A name with many ports may have fewer addresses, so that all fit. */
static size_t items_max(const struct work *k)
{
	struct policy_port ports[POLICY_PORTS_MAX];
	size_t n = policy_name_ports(k->c->policy, k->name, ports);
	size_t max = n ? LEASE_ELEMS_PER_ANSWER_MAX / n : 0;
	size_t fit = lease_addrs_max(ports, n);

	return max > fit ? fit : max;
}

int answer_judge(const struct answer_context *c, const struct dnsname *name,
		 uint16_t qtype, const uint8_t *msg, size_t len,
		 struct answer **ret)
{
	struct work k = {
		.c = c,
		.s = c->scratch,
		.name = name,
		.qtype = qtype,
		.msg = msg,
		.len = len,
		.r = { .msg = msg, .len = len },
		.a = { .ttl_s = ANSWER_TTL_MAX_S },
	};
	int e;

	wire_writer_init(&k.w, k.s->body, sizeof(k.s->body),
			 WIRE_HEADER_LEN + name->len + 4U);
	wire_note_name(&k.w, name, WIRE_HEADER_LEN);
	k.max_items = items_max(&k);
	e = check_question(&k);
	if (!e)
		e = index_answers(&k);
	if (!e)
		e = follow_chain(&k);
	if (!e && k.a.rcode == WIRE_NOERROR)
		e = take_records(&k);
	if (!e && k.a.n_an == k.n_chain - 1)
		e = take_soa(&k);
	if (!e && k.w.full)
		e = -EBADMSG;
	return e ? e : finish(&k, ret);
}

struct answer *answer_ref(struct answer *a)
{
	a->refs++;
	return a;
}

void answer_unref(struct answer *a)
{
	if (a && !--a->refs)
		free(a);
}

uint32_t answer_age_s(const struct answer *a, uint64_t now_ms)
{
	uint64_t age_s = now_ms > a->born_ms ? (now_ms - a->born_ms) / 1000 : 0;

	return age_s > ANSWER_TTL_MAX_S ? ANSWER_TTL_MAX_S : (uint32_t)age_s;
}
