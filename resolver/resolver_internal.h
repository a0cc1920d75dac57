/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolver_internal.h - what the files of the resolver share
 *
 *   listener.c -> query.c -> local.c          names answered by us
 *                    |---> cache.c, lease.c   names answered again
 *                    |---> flight.c           names asked upstream
 *                    `---> reply.c            the bytes
 */
#ifndef EGRET_RESOLVER_RESOLVER_INTERNAL_H
#define EGRET_RESOLVER_RESOLVER_INTERNAL_H

#include "base/list.h"
#include "base/loop.h"
#include "base/pool.h"
#include "resolver/answer.h"
#include "resolver/cache.h"
#include "resolver/lease.h"
#include "resolver/resolver.h"
#include "resolver/table.h"
#include "resolver/wire.h"

#define RESOLVER_FLIGHTS_MAX 1024 /* distinct questions asked upstream */
#define RESOLVER_WAITERS_MAX 4096 /* clients that wait for them */
/* After that a client hears SERVFAIL; stubs ask again after 5 s, and join. */
#define RESOLVER_PATIENCE_MS  8000U
#define RESOLVER_HELD_MAX     64 /* refusals that wait to be answered */
#define RESOLVER_SANDBOX_LEN  64
#define RESOLVER_QUESTION_MAX (DNSNAME_WIRE_MAX + 4)
#define RESOLVER_UDP_PLAIN    512  /* without EDNS */
#define RESOLVER_UDP_MAX      4096 /* with EDNS, whatever the client says */
#define RESOLVER_LOCAL_TTL_S  5	   /* an edit may change it at any moment */
#define RESOLVER_TEXT_MAX     400  /* of an Extended DNS Error */

struct listener;

/* One client's question, as parsed. */
struct question {
	struct dnsname name;
	uint16_t qtype, qclass;
	uint16_t id, flags;
	uint16_t raw_len;
	uint8_t raw[RESOLVER_QUESTION_MAX]; /* as it came, for its case */
	bool is_tcp;
	bool has_edns;
	uint8_t edns_version;
	size_t limit; /* largest reply */
	struct endpoint client;
	resolver_reply_fn *reply;
	void *arg;
};

/* What goes into a reply besides the question. */
struct reply {
	uint16_t rcode; /* may be above 15 */
	const uint8_t *body;
	size_t body_len;
	uint16_t n_an, n_ns;
	int ede; /* enum wire_ede */
	const char *text;
	const struct answer *answer; /* its TTLs are counted down, or NULL */
	uint32_t age_s;
};

enum flight_state {
	FLIGHT_ASKING,	 /* upstream has it */
	FLIGHT_GRANTING, /* the kernel has it */
};

/* A question under way, with all who asked it. */
struct flight {
	struct table_node node;
	struct resolver *r;
	struct dnsname name;
	uint16_t qtype;
	enum flight_state state;
	bool is_listed;	     /* in the table, can be joined */
	uint8_t rounds;	     /* changes waited for so far */
	uint32_t policy_gen; /* by which the answer was judged */
	struct answer *answer;
	struct lease_wait wait;
	struct list waiters;
};

struct waiter {
	struct list node;     /* in flight.waiters */
	struct list age_node; /* in resolver.waiting, oldest first */
	uint64_t since_ms;
	struct question q;
};

/* A refused question whose answer waits. */
struct held {
	uint32_t ticket; /* given by the op */
	struct question q;
};

enum local_zone {
	LOCAL_LOCALHOST,
	LOCAL_MDNS,
	LOCAL_HOME,
	LOCAL_ONION,
	LOCAL_INVALID,
	LOCAL_REVERSE4,
	LOCAL_REVERSE6,
	LOCAL_INTERNAL,
	LOCAL_CHECK,
	LOCAL_CANARY,
	LOCAL_MAX,
};

struct resolver {
	struct loop *loop;
	const struct resolver_ops *ops;
	void *ctx;
	char sandbox[RESOLVER_SANDBOX_LEN];
	struct dnsname zones[LOCAL_MAX];
	const struct policy *policy; /* NULL until the first one */
	uint32_t policy_gen;
	struct cache *cache;
	struct lease_table *leases;
	struct pool *flights, *waiters, *held;
	struct table by_question;
	struct list waiting;
	struct answer_scratch *scratch;
	struct loop_timer timer;
	uint64_t timer_ms; /* when it fires; 0: not set */
	struct listener *listener;
	uint64_t n_queries, n_answered, n_refused, n_servfail, n_malformed;
	uint8_t out[WIRE_MSG_MAX + 1];
};

struct answer_context resolver_context(struct resolver *r);

/** resolver_arm() - set the timer for what comes first */
void resolver_arm(struct resolver *r);

/** resolver_report() - ops->refused */
void resolver_report(struct resolver *r, const struct question *q,
		     enum policy_reason reason, uint32_t entry,
		     const struct answer_strip *strip);

/** resolver_report_held() - the same; true: the answer is to wait, @q is kept
 */
bool resolver_report_held(struct resolver *r, const struct question *q,
			  const struct policy_verdict *v);

/* ---- query.c ---- */

/** query_answer() - answer a question that isn't a local one, by the policy
 *  @may_hold: false: it has been reported and held already */
void query_answer(struct resolver *r, const struct question *q, bool may_hold);

/* ---- reply.c ---- */

void reply_send(struct resolver *r, const struct question *q,
		const struct reply *rep);
void reply_error(struct resolver *r, const struct question *q, uint16_t rcode,
		 int ede, const char *text);

/** reply_negative() - with a SOA of ours: no such name, or no such record */
void reply_negative(struct resolver *r, const struct question *q,
		    uint16_t rcode, int ede, const char *text);
void reply_answer(struct resolver *r, const struct question *q,
		  const struct answer *a, uint64_t now_ms);

/** reply_rr() - one record of the queried name */
void reply_rr(struct resolver *r, const struct question *q, uint16_t type,
	      uint32_t ttl_s, const void *rdata, size_t len);

/** reply_refused() - not allowed; says why and what would allow it */
void reply_refused(struct resolver *r, const struct question *q,
		   const struct policy_verdict *v);

/* ---- local.c ---- */

int local_init(struct resolver *r);

/** local_answer() - true when the question was one of ours and is answered */
bool local_answer(struct resolver *r, const struct question *q);

/* ---- check.c ---- */

void check_answer(struct resolver *r, const struct question *q);

/* ---- flight.c ---- */

/**
 * flight_take() - let @q wait for the answer
 * @a: what the cache has, whose leases aren't ready; or NULL: ask upstream
 */
void flight_take(struct resolver *r, const struct question *q,
		 struct answer *a);

/** flight_give_up() - answer those who waited too long */
void flight_give_up(struct resolver *r, uint64_t now_ms);

/** flight_reply() - the answer, and the report of what was taken out of it */
void flight_reply(struct resolver *r, const struct question *q,
		  const struct answer *a);
void flight_free_all(struct resolver *r);

/* ---- listener.c ---- */

int listener_new(struct listener **ret, struct resolver *r,
		 const struct resolver_config *cfg, struct err *err);
void listener_free(struct listener *l);
uint32_t listener_n_clients(const struct listener *l);

#endif /* EGRET_RESOLVER_RESOLVER_INTERNAL_H */
