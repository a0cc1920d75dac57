/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolver_lab.h - the resolver between a scripted upstream and a model of the
 * kernel's sets, on virtual time
 *
 * Plain functions over texts: records are lines "owner ttl TYPE rdata", in
 * questions' answers ("--" begins the authority section) as in replies, so a
 * scenario can be read, and a file of scenarios can be run by the same code.
 *
 * The model holds the kernel's side to its rules: an element is added once,
 * elements of an address don't overlap, what isn't there can't be deleted. Each
 * reply is held to P3: an address goes out only if the model has it open.
 * Whatever breaks is counted in ->broken, with a line in ->trouble.
 */
#ifndef EGRET_TESTS_RESOLVER_LAB_H
#define EGRET_TESTS_RESOLVER_LAB_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/parse.h"
#include "policy/policy.h"
#include "resolver/resolver.h"
#include "resolver/wire.h"

#define LAB_ASKS_MAX   2048
#define LAB_GRANTS_MAX 2048
#ifndef LAB_ELEMS_MAX /* a fuzzer wants a small lab */
#define LAB_ELEMS_MAX	262144
#define LAB_REPLIES_MAX 8192
#endif
#define LAB_LOG_MAX   65536
#define LAB_ADDRS_MAX 2048
#define LAB_START_MS  1000000

struct lab_ask {
	struct dnsname name;
	uint16_t qtype;
	resolver_answer_fn *done;
	void *arg;
	bool is_open;
};

struct lab_reply {
	struct lab *lab;
	bool is_done, is_local;
	size_t len;
	uint8_t *msg;
};

enum lab_grant_mode {
	LAB_GRANT_NOW,	 /* acknowledged within the call */
	LAB_GRANT_LATER, /* by lab_ack() */
	LAB_GRANT_FAIL,	 /* refused within the call */
};

struct lab {
	struct loop *loop;
	struct resolver *r;
	struct policy *policy;
	uint64_t now_ms;
	enum lab_grant_mode grant_mode;
	bool has_ipv6, fail_change;
	struct lab_ask asks[LAB_ASKS_MAX];
	size_t n_asks;
	struct resolver_grant *grants[LAB_GRANTS_MAX];
	size_t n_grants; /* waiting for lab_ack() */
	struct resolver_grant_elem *elems;
	size_t n_elems;
	struct lab_reply replies[LAB_REPLIES_MAX];
	size_t n_replies;
	struct addr in_use[LAB_ADDRS_MAX], host[LAB_ADDRS_MAX];
	size_t n_in_use, n_host;
	char log[LAB_LOG_MAX]; /* refused, learned, failed: a line each */
	size_t log_len;
	unsigned int n_failed, n_learned, n_refused;
	uint32_t hold; /* ticket for the next refusal; 0: answered at once */
	unsigned int n_del_failed;
	size_t n_change_del, n_change_add;
	unsigned int broken;
	char trouble[256];
};

static inline void lab_broken(struct lab *l, const char *what, const void *addr)
{
	char text[ADDR_STR_LEN] = "";

	if (addr)
		(void)addr_format(addr, text);
	if (!l->broken++)
		(void)snprintf(l->trouble, sizeof(l->trouble), "%s %s", what,
			       text);
}

__attribute__((format(printf, 2, 3))) static inline void
lab_log(struct lab *l, const char *fmt, ...)
{
	va_list ap;

	if (l->log_len + 512 > sizeof(l->log))
		return;
	va_start(ap, fmt);
	l->log_len += (size_t)vsnprintf(l->log + l->log_len, 512, fmt, ap);
	va_end(ap);
}

static inline void lab_clear_log(struct lab *l)
{
	l->log_len = 0;
	l->log[0] = '\0';
}

/* ---- the model of the kernel's sets ---- */

static inline bool lab_is_same(const struct resolver_grant_elem *a,
			       const struct resolver_grant_elem *b)
{
	return addr_equal(&a->addr, &b->addr) &&
	       a->port.proto == b->port.proto && a->port.lo == b->port.lo &&
	       a->port.hi == b->port.hi &&
	       !((a->port.flags ^ b->port.flags) & POLICY_F_NOMAIL);
}

static inline bool lab_is_overlapping(const struct resolver_grant_elem *a,
				      const struct resolver_grant_elem *b)
{
	return addr_equal(&a->addr, &b->addr) &&
	       a->port.proto == b->port.proto && a->port.lo <= b->port.hi &&
	       b->port.lo <= a->port.hi &&
	       !((a->port.flags ^ b->port.flags) & POLICY_F_NOMAIL);
}

static inline void lab_model_add(struct lab *l,
				 const struct resolver_grant_elem *e)
{
	for (size_t i = 0; i < l->n_elems; i++) {
		if (lab_is_overlapping(&l->elems[i], e))
			lab_broken(l, "added over an element", &e->addr);
	}
	if (l->n_elems < LAB_ELEMS_MAX)
		l->elems[l->n_elems++] = *e;
}

static inline void lab_model_del(struct lab *l,
				 const struct resolver_grant_elem *e)
{
	for (size_t i = 0; i < l->n_elems; i++) {
		if (lab_is_same(&l->elems[i], e)) {
			l->elems[i] = l->elems[--l->n_elems];
			return;
		}
	}
	lab_broken(l, "deleted what isn't there", &e->addr);
}

static inline bool lab_is_open(const struct lab *l, const struct addr *a,
			       enum policy_proto proto, uint16_t port)
{
	for (size_t i = 0; i < l->n_elems; i++) {
		const struct resolver_grant_elem *e = &l->elems[i];

		if (addr_equal(&e->addr, a) && e->port.proto == proto &&
		    port >= e->port.lo && port <= e->port.hi &&
		    (!(e->port.flags & POLICY_F_NOMAIL) ||
		     (port != 25 && port != 465 && port != 587)))
			return true;
	}
	return false;
}

static inline bool lab_open(const struct lab *l, const char *addr,
			    uint16_t port)
{
	struct addr a;

	return !addr_parse(addr, &a) && lab_is_open(l, &a, POLICY_TCP, port);
}

/* After a refused deletion its replacement meets what is still there. */
static inline bool lab_meets_leftover(const struct lab *l,
				      const struct resolver_grant *g)
{
	for (size_t i = 0; l->n_del_failed && !g->del && i < g->n; i++) {
		for (size_t j = 0; j < l->n_elems; j++) {
			if (lab_is_overlapping(&l->elems[j], &g->elems[i]))
				return true;
		}
	}
	return false;
}

static inline void lab_finish_grant(struct lab *l, struct resolver_grant *g,
				    int result)
{
	l->n_del_failed += result && g->del;
	if (!result && lab_meets_leftover(l, g))
		result = -EEXIST;
	if (!result) {
		for (size_t i = 0; i < g->n; i++) {
			if (g->del)
				lab_model_del(l, &g->elems[i]);
			else
				lab_model_add(l, &g->elems[i]);
		}
	}
	g->done(g, result, result ? "scripted" : NULL);
}

/* The oldest change that waits is done; false when none does. */
static inline bool lab_ack(struct lab *l, int result)
{
	struct resolver_grant *g = l->grants[0];

	if (!l->n_grants)
		return false;
	memmove(&l->grants[0], &l->grants[1],
		--l->n_grants * sizeof(l->grants[0]));
	lab_finish_grant(l, g, result);
	return true;
}

/* ---- ops ---- */

static inline void lab_op_ask(void *ctx, const struct dnsname *name,
			      uint16_t qtype, resolver_answer_fn *done,
			      void *arg)
{
	struct lab *l = ctx;

	if (l->n_asks == LAB_ASKS_MAX) {
		done(arg, -ENOSPC, NULL, 0);
		return;
	}
	l->asks[l->n_asks++] = (struct lab_ask){
		.name = *name,
		.qtype = qtype,
		.done = done,
		.arg = arg,
		.is_open = true,
	};
}

static inline void lab_op_grant(void *ctx, struct resolver_grant *g)
{
	struct lab *l = ctx;

	if (l->grant_mode == LAB_GRANT_LATER && l->n_grants < LAB_GRANTS_MAX)
		l->grants[l->n_grants++] = g;
	else
		lab_finish_grant(l, g,
				 l->grant_mode == LAB_GRANT_FAIL ? -ENFILE : 0);
}

static inline bool lab_has_addr(const struct addr *v, size_t n,
				const struct addr *a)
{
	for (size_t i = 0; i < n; i++) {
		if (addr_equal(&v[i], a))
			return true;
	}
	return false;
}

static inline bool lab_op_in_use(void *ctx, const struct addr *a)
{
	struct lab *l = ctx;

	return lab_has_addr(l->in_use, l->n_in_use, a);
}

static inline bool lab_op_host(void *ctx, const struct addr *a)
{
	struct lab *l = ctx;

	return lab_has_addr(l->host, l->n_host, a);
}

static inline bool lab_op_ipv6(void *ctx)
{
	struct lab *l = ctx;

	return l->has_ipv6;
}

static inline void lab_op_refused(void *ctx, const struct resolver_refusal *r)
{
	char name[DNSNAME_STR_LEN], addr[ADDR_STR_LEN] = "-";
	struct lab *l = ctx;

	l->n_refused++;
	if (r->ret_hold)
		*r->ret_hold = l->hold;
	if (r->addr)
		(void)addr_format(r->addr, addr);
	lab_log(l, "refused %.200s %u %s %s\n", dnsname_format(r->name, name),
		r->qtype, policy_reason_str(r->reason), addr);
}

static inline void lab_op_learned(void *ctx, const struct dnsname *name,
				  const struct addr *a, uint32_t ttl_s)
{
	char text[DNSNAME_STR_LEN], addr[ADDR_STR_LEN];
	struct lab *l = ctx;

	l->n_learned++;
	lab_log(l, "learned %.200s %s %u\n", dnsname_format(name, text),
		addr_format(a, addr), ttl_s);
}

static inline void lab_op_failed(void *ctx, const struct dnsname *name,
				 int result, const char *why)
{
	char text[DNSNAME_STR_LEN] = "-";
	struct lab *l = ctx;

	(void)why;
	l->n_failed++;
	if (name)
		(void)dnsname_format(name, text);
	lab_log(l, "failed %.200s %d\n", text, result);
}

static const struct resolver_ops lab_ops = {
	.ask = lab_op_ask,
	.grant = lab_op_grant,
	.addr_in_use = lab_op_in_use,
	.has_ipv6 = lab_op_ipv6,
	.is_host_addr = lab_op_host,
	.refused = lab_op_refused,
	.learned = lab_op_learned,
	.grant_failed = lab_op_failed,
};

/* ---- policy ---- */

static inline struct policy *lab_build(const char *text)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	struct policy *p = NULL;

	if (policy_builder_new(&b) ||
	    policy_builder_add_text(b, "t", text, strlen(text)) ||
	    policy_build(b, &p))
		return NULL;
	return p;
}

static inline int lab_op_change(void *ctx,
				const struct resolver_grant_elem *del,
				size_t n_del,
				const struct resolver_grant_elem *add,
				size_t n_add, struct err *err)
{
	struct lab *l = ctx;

	l->n_change_del = n_del;
	l->n_change_add = n_add;
	if (l->fail_change)
		return err_set(err, -ENFILE, "scripted");
	for (size_t i = 0; i < n_del; i++)
		lab_model_del(l, &del[i]);
	for (size_t i = 0; i < n_add; i++)
		lab_model_add(l, &add[i]);
	return 0;
}

/* Return: what resolver_set_policy() says; -EINVAL for a bad text. */
static inline int lab_set_policy(struct lab *l, const char *text)
{
	struct policy *p = lab_build(text);
	struct err err;
	int e;

	if (!p)
		return -EINVAL;
	e = resolver_set_policy(l->r, p, lab_op_change, l, &err);
	policy_free(e ? p : l->policy);
	if (!e)
		l->policy = p;
	return e;
}

/* ---- life ---- */

static inline struct lab *lab_new_with(const struct resolver_config *cfg)
{
	struct lab *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->now_ms = LAB_START_MS;
	l->has_ipv6 = true;
	l->elems = calloc(LAB_ELEMS_MAX, sizeof(*l->elems));
	clock_set_fake(l->now_ms);
	if (!l->elems || loop_new(&l->loop, NULL) ||
	    resolver_new(&l->r, l->loop, cfg, &lab_ops, l, NULL))
		abort();
	return l;
}

static inline struct lab *lab_new(const char *policy)
{
	const struct resolver_config cfg = {
		.udp4_fd = -1,
		.udp6_fd = -1,
		.tcp4_fd = -1,
		.tcp6_fd = -1,
		.sandbox = "study42",
	};
	struct lab *l = lab_new_with(&cfg);

	if (!l || lab_set_policy(l, policy))
		abort();
	return l;
}

static inline void lab_free(struct lab *l)
{
	for (size_t i = 0; i < l->n_asks; i++) {
		if (!l->asks[i].is_open)
			continue;
		l->asks[i].is_open = false;
		l->asks[i].done(l->asks[i].arg, -ECANCELED, NULL, 0);
	}
	resolver_free(l->r);
	loop_free(l->loop);
	policy_free(l->policy);
	for (size_t i = 0; i < l->n_replies; i++)
		free(l->replies[i].msg);
	free(l->elems);
	free(l);
	clock_clear_fake();
}

static inline void lab_freep(struct lab **l)
{
	if (*l)
		lab_free(*l);
	*l = NULL;
}

static inline void lab_advance(struct lab *l, uint64_t ms)
{
	uint64_t end_ms = l->now_ms + ms;

	/* In steps, so that timers which set timers get their turns. */
	while (l->now_ms < end_ms) {
		uint64_t step = end_ms - l->now_ms;

		l->now_ms += step > 1000 ? 1000 : step;
		clock_set_fake(l->now_ms);
		if (loop_run_once(l->loop, 0) < 0)
			lab_broken(l, "the loop failed", NULL);
	}
}

static inline void lab_use(struct lab *l, const char *addr)
{
	if (l->n_in_use < LAB_ADDRS_MAX &&
	    !addr_parse(addr, &l->in_use[l->n_in_use]))
		l->n_in_use++;
}

static inline void lab_unuse(struct lab *l, const char *addr)
{
	struct addr a;

	if (addr_parse(addr, &a))
		return;
	for (size_t i = 0; i < l->n_in_use; i++) {
		if (addr_equal(&l->in_use[i], &a)) {
			l->in_use[i] = l->in_use[--l->n_in_use];
			break;
		}
	}
	resolver_flow_ended(l->r, &a);
}

/* ---- messages from texts ---- */

struct lab_type {
	const char *text;
	uint16_t type;
};

static const struct lab_type lab_types[] = {
	{ "A", WIRE_A },       { "NS", WIRE_NS },     { "CNAME", WIRE_CNAME },
	{ "SOA", WIRE_SOA },   { "PTR", WIRE_PTR },   { "HINFO", WIRE_HINFO },
	{ "MX", WIRE_MX },     { "TXT", WIRE_TXT },   { "AAAA", WIRE_AAAA },
	{ "SRV", WIRE_SRV },   { "SVCB", WIRE_SVCB }, { "HTTPS", WIRE_HTTPS },
	{ "ANY", WIRE_ANY },   { "CAA", WIRE_CAA },   { "NULL", 10 },
	{ "AXFR", WIRE_AXFR },
};

static inline uint16_t lab_type_of(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(lab_types); i++) {
		if (!strcmp(lab_types[i].text, text))
			return lab_types[i].type;
	}
	return 0;
}

static inline const char *lab_type_text(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(lab_types); i++) {
		if (lab_types[i].type == type)
			return lab_types[i].text;
	}
	return "?";
}

static inline struct dnsname lab_name(const char *text)
{
	struct dnsname n = { .len = 1 };

	if (strcmp(text, ".") && dnsname_from_text(text, strlen(text), &n))
		n.len = 1;
	return n;
}

static inline void lab_write_name(struct wire_writer *w, const char *text)
{
	struct dnsname n = lab_name(text);

	wire_write_name(w, &n);
}

static inline void lab_write_rdata(struct wire_writer *w, uint16_t type,
				   char *rdata)
{
	char *save = NULL, *word = strtok_r(rdata, " ", &save);
	unsigned int n_numbers = type == WIRE_MX ? 1 : type == WIRE_SRV ? 3 : 0;
	struct addr a;
	uint16_t v;

	for (; word && n_numbers;
	     n_numbers--, word = strtok_r(NULL, " ", &save))
		wire_write_u16(w, parse_u16(word, strlen(word), &v) ? 0 : v);
	if (!word)
		return;
	switch (type) {
	case WIRE_A:
	case WIRE_AAAA:
		if (!addr_parse(word, &a))
			wire_write_bytes(w, a.bytes, addr_len(&a));
		break;
	case WIRE_TXT:
		wire_write_u8(w, (uint8_t)strlen(word));
		wire_write_bytes(w, word, strlen(word));
		break;
	case WIRE_SOA: /* "mname minimum" */
		lab_write_name(w, word);
		lab_write_name(w, word);
		word = strtok_r(NULL, " ", &save);
		for (unsigned int i = 0; i < 4; i++)
			wire_write_u32(w, 1);
		wire_write_u32(
			w, !word || parse_u16(word, strlen(word), &v) ? 60 : v);
		break;
	default:
		lab_write_name(w, word);
	}
}

static inline bool lab_write_record(struct wire_writer *w, char *line)
{
	char *save = NULL, *owner = strtok_r(line, " ", &save);
	char *ttl = strtok_r(NULL, " ", &save);
	char *type = strtok_r(NULL, " ", &save);
	uint32_t ttl_s = 0;
	size_t at;

	if (!owner || !ttl || !type || parse_u32(ttl, strlen(ttl), &ttl_s))
		return false;
	lab_write_name(w, owner);
	wire_write_u16(w, lab_type_of(type));
	wire_write_u16(w, WIRE_CLASS_IN);
	wire_write_u32(w, ttl_s);
	at = w->len;
	wire_write_u16(w, 0);
	if (save)
		lab_write_rdata(w, lab_type_of(type), save);
	wire_set_u16(w, at, (uint16_t)(w->len - at - 2));
	return true;
}

/* An answer message; @records as above. Return: its length. */
static inline size_t lab_message(uint8_t *dst, size_t size,
				 const struct dnsname *name, uint16_t qtype,
				 unsigned int rcode, const char *records)
{
	char *text = strdup(records), *save = NULL;
	uint16_t n[2] = { 0, 0 };
	unsigned int section = 0;
	struct wire_writer w;

	wire_writer_init(&w, dst, size, 0);
	wire_write_u16(&w, 1);
	wire_write_u16(&w, (uint16_t)(WIRE_FLAG_QR | WIRE_FLAG_RD |
				      WIRE_FLAG_RA | rcode));
	wire_write_u16(&w, 1);
	wire_write_bytes(&w, "\0\0\0\0\0\0", 6);
	wire_write_name(&w, name);
	wire_write_u16(&w, qtype);
	wire_write_u16(&w, WIRE_CLASS_IN);
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (!strcmp(line, "--"))
			section = 1;
		else if (lab_write_record(&w, line))
			n[section]++;
	}
	wire_set_u16(&w, 6, n[0]);
	wire_set_u16(&w, 8, n[1]);
	free(text);
	return w.full ? 0 : w.len;
}

/* ---- questions ---- */

static inline void lab_check_open(struct lab_reply *rep)
{
	struct wire_reader r = { .msg = rep->msg, .len = rep->len };
	struct wire_header h;
	struct dnsname n;
	struct wire_rr rr;

	if (wire_read_header(&r, &h) || !h.n_qd || wire_read_name(&r, &n))
		return;
	r.pos += 4;
	for (unsigned int i = 0; i < h.n_an && !wire_read_rr(&r, &rr); i++) {
		struct addr a;
		bool is_open = false;

		if (rr.type != WIRE_A && rr.type != WIRE_AAAA)
			continue;
		a = addr_from_bytes(rep->msg + rr.rdata, rr.rdlen);
		for (size_t j = 0; j < rep->lab->n_elems && !is_open; j++)
			is_open = addr_equal(&rep->lab->elems[j].addr, &a);
		if (!is_open)
			lab_broken(rep->lab, "P3: told but not open", &a);
	}
}

static inline void lab_on_reply(void *arg, const uint8_t *msg, size_t len)
{
	struct lab_reply *rep = arg;

	if (rep->is_done)
		lab_broken(rep->lab, "two replies", NULL);
	rep->is_done = true;
	rep->len = len;
	free(rep->msg);
	rep->msg = malloc(len + 1);
	if (rep->msg && len)
		memcpy(rep->msg, msg, len);
	if (rep->msg && len && !rep->is_local)
		lab_check_open(rep);
}

struct lab_question {
	const char *name; /* as written: case is kept */
	const char *type;
	uint16_t qclass; /* 0: IN */
	uint16_t edns;	 /* size; 0: none */
	bool tcp, is_local;
};

/* Presentation form to wire, no folding: "wWw.tEst". */
static inline void lab_raw_name(struct wire_writer *w, const char *text)
{
	while (*text && strcmp(text, ".")) {
		size_t n = strcspn(text, ".");

		wire_write_u8(w, (uint8_t)n);
		wire_write_bytes(w, text, n);
		text += n + (text[n] == '.');
	}
	wire_write_u8(w, 0);
}

static inline size_t lab_write_query(uint8_t *buf, size_t size,
				     const struct lab_question *q)
{
	struct wire_writer w;

	wire_writer_init(&w, buf, size, 0);
	wire_write_u16(&w, 0x1234);
	wire_write_u16(&w, WIRE_FLAG_RD | 0x20); /* AD, to be cleared */
	wire_write_u16(&w, 1);
	wire_write_u32(&w, 0);
	wire_write_u16(&w, q->edns ? 1 : 0);
	lab_raw_name(&w, q->name);
	wire_write_u16(&w, lab_type_of(q->type));
	wire_write_u16(&w, q->qclass ? q->qclass : WIRE_CLASS_IN);
	if (q->edns) {
		wire_write_u8(&w, 0);
		wire_write_u16(&w, WIRE_OPT);
		wire_write_u16(&w, q->edns);
		wire_write_u32(&w, 0x8000); /* DO */
		wire_write_u16(&w, 0);
	}
	return w.len;
}

static inline struct lab_reply *lab_send(struct lab *l, const uint8_t *query,
					 size_t len, bool tcp, bool is_local)
{
	const struct endpoint client = { { AF_INET, { 198, 18, 0, 2 } }, 4711 };
	struct lab_reply *rep = &l->replies[l->n_replies++];

	if (l->n_replies == LAB_REPLIES_MAX)
		abort();
	*rep = (struct lab_reply){ .lab = l, .is_local = is_local };
	resolver_answer(l->r,
			&(struct resolver_query){
				.client = &client,
				.msg = query,
				.len = len,
				.is_tcp = tcp,
			},
			lab_on_reply, rep);
	return rep;
}

static inline struct lab_reply *lab_ask(struct lab *l,
					const struct lab_question *q)
{
	uint8_t buf[512];

	return lab_send(l, buf, lab_write_query(buf, sizeof(buf), q), q->tcp,
			q->is_local);
}

static inline struct lab_reply *lab_query(struct lab *l, const char *name,
					  const char *type)
{
	const struct lab_question q = { .name = name, .type = type };

	return lab_ask(l, &q);
}

static inline struct lab_reply *lab_query_edns(struct lab *l, const char *name,
					       const char *type)
{
	const struct lab_question q = { .name = name,
					.type = type,
					.edns = 4096 };

	return lab_ask(l, &q);
}

/* The oldest open question upstream is answered; false when there is none. */
static inline bool lab_upstream_bytes(struct lab *l, int error,
				      const uint8_t *msg, size_t len)
{
	for (size_t i = 0; i < l->n_asks; i++) {
		struct lab_ask *a = &l->asks[i];

		if (!a->is_open)
			continue;
		a->is_open = false;
		a->done(a->arg, error, error ? NULL : msg, error ? 0 : len);
		return true;
	}
	return false;
}

static inline bool lab_upstream(struct lab *l, unsigned int rcode,
				const char *records)
{
	static uint8_t msg[WIRE_MSG_MAX];

	for (size_t i = 0; i < l->n_asks; i++) {
		struct lab_ask *a = &l->asks[i];

		if (a->is_open)
			return lab_upstream_bytes(
				l, 0, msg,
				lab_message(msg, sizeof(msg), &a->name,
					    a->qtype, rcode, records));
	}
	return false;
}

static inline size_t lab_n_open_asks(const struct lab *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_asks; i++)
		n += l->asks[i].is_open;
	return n;
}

/* ---- replies as text ---- */

static inline size_t lab_rdata_text(const uint8_t *msg, size_t len,
				    const struct wire_rr *rr, char *dst,
				    size_t size)
{
	struct wire_reader r = { .msg = msg, .len = len, .pos = rr->rdata };
	char text[DNSNAME_STR_LEN];
	struct dnsname n;
	struct addr a;
	int at = 0;

	switch (rr->type) {
	case WIRE_A:
	case WIRE_AAAA:
		a = addr_from_bytes(msg + rr->rdata, rr->rdlen);
		return (size_t)snprintf(dst, size, "%s", addr_format(&a, text));
	case WIRE_TXT:
		return (size_t)snprintf(dst, size, "%.*s", msg[rr->rdata],
					msg + rr->rdata + 1);
	case WIRE_MX:
	case WIRE_SRV:
		for (unsigned int i = 0; i < (rr->type == WIRE_MX ? 1U : 3U);
		     i++, r.pos += 2)
			at += snprintf(dst + at, size - (size_t)at, "%u ",
				       wire_get16(msg + r.pos));
		break;
	case WIRE_HINFO:
		return (size_t)snprintf(dst, size, "%u", rr->rdlen);
	default:
		break;
	}
	if (wire_read_name(&r, &n))
		return (size_t)at;
	return (size_t)(at + snprintf(dst + at, size - (size_t)at, "%s",
				      dnsname_format(&n, text)));
}

static inline size_t lab_opt_text(const uint8_t *msg, const struct wire_rr *rr,
				  char *dst, size_t size)
{
	if (rr->rdlen < 6)
		return (size_t)snprintf(dst, size, "opt\n");
	return (size_t)snprintf(dst, size, "ede %u %.*s\n",
				wire_get16(msg + rr->rdata + 4), rr->rdlen - 6,
				msg + rr->rdata + 6);
}

/*
 * "RCODE[ tc]\n" and a line for each record; authority's records after "--".
 * "none" for no reply yet, "silence" for the reply of no bytes.
 */
static inline const char *lab_text(const struct lab_reply *rep)
{
	static char dst[1 << 20];
	static const char *const rcodes[] = {
		"NOERROR",  "FORMERR", "SERVFAIL",
		"NXDOMAIN", "NOTIMP",  "REFUSED"
	};
	struct wire_reader r = { .msg = rep->msg, .len = rep->len };
	char name[DNSNAME_STR_LEN];
	struct wire_header h;
	struct dnsname n;
	struct wire_rr rr;
	size_t at;

	if (!rep->is_done || !rep->len)
		return rep->is_done ? "silence" : "none";
	if (wire_read_header(&r, &h) || WIRE_RCODE(h.flags) > 5)
		return "bad";
	at = (size_t)snprintf(dst, sizeof(dst), "%s%s\n",
			      rcodes[WIRE_RCODE(h.flags)],
			      h.flags & WIRE_FLAG_TC ? " tc" : "");
	if (h.n_qd && wire_read_name(&r, &n))
		return "bad question";
	r.pos += h.n_qd ? 4 : 0;
	for (int i = 0; i < h.n_an + h.n_ns + h.n_ar; i++) {
		if (wire_read_rr(&r, &rr))
			return "bad record";
		if (h.n_ns && i == h.n_an)
			at += (size_t)snprintf(dst + at, sizeof(dst) - at,
					       "--\n");
		if (rr.type == WIRE_OPT) {
			at += lab_opt_text(rep->msg, &rr, dst + at,
					   sizeof(dst) - at);
			continue;
		}
		at += (size_t)snprintf(dst + at, sizeof(dst) - at, "%s %u %s ",
				       dnsname_format(&rr.owner, name), rr.ttl,
				       lab_type_text(rr.type));
		at += lab_rdata_text(rep->msg, rep->len, &rr, dst + at,
				     sizeof(dst) - at);
		at += (size_t)snprintf(dst + at, sizeof(dst) - at, "\n");
	}
	return r.pos == r.len ? dst : "trailing bytes";
}

#endif /* EGRET_TESTS_RESOLVER_LAB_H */
