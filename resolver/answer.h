/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h - upstream's message, judged and made anew
 *
 * Nothing of the message is passed on as it came: what belongs to the question
 * is picked out, checked by type, and written again. The body stands behind any
 * header and question of the same name, whatever its case.
 */
#ifndef EGRET_RESOLVER_ANSWER_H
#define EGRET_RESOLVER_ANSWER_H

#include "resolver/lease.h"
#include "resolver/wire.h"

#define ANSWER_CHAIN_MAX     16	   /* CNAMEs in a row */
#define ANSWER_RRS_MAX	     4096  /* records of one answer section */
#define ANSWER_TTL_MAX_S     86400 /* one day */
#define ANSWER_NEG_TTL_MAX_S 300   /* "doesn't exist" is forgotten soon */
/* Header, longest question and an OPT with its options stay free. */
#define ANSWER_BODY_MAX (WIRE_MSG_MAX - WIRE_HEADER_LEN - 259 - 512)

/* An address that was taken out. */
struct answer_strip {
	struct addr addr;
	enum policy_reason reason; /* POLICY_ALLOWED: nothing was */
	uint32_t entry;
	const char *category; /* static text or NULL */
};

/* Counted references: the cache and the questions under way share it. */
struct answer {
	uint32_t refs;
	uint8_t rcode;
	uint16_t n_an, n_ns;
	bool is_emptied; /* there were addresses, and none is left */
	uint32_t ttl_s;	 /* how long it may be kept; 0: not at all */
	uint64_t born_ms;
	struct answer_strip strip; /* the first one */
	size_t n_items, n_ttls, body_len;
	struct lease_item *items; /* addresses, distinct */
	uint16_t *ttls;		  /* where TTLs stand in the body */
	uint8_t *body;
};

struct answer_context {
	const struct policy *policy;
	const struct resolver_ops *ops;
	void *ops_ctx;
	struct answer_scratch *scratch;
	uint64_t now_ms;
};

/* Room to work in, made once. */
struct answer_scratch;
struct answer_scratch *answer_scratch_new(void);
void answer_scratch_free(struct answer_scratch *s);

/** answer_is_passed() - is a type of an allowed name asked upstream */
bool answer_is_passed(uint16_t qtype);

/**
 * answer_judge() - make an answer of upstream's message
 *
 * Return: 0; -EBADMSG: malformed or for another question; -ELOOP: the chain of
 * CNAMEs is too long or goes round; -EREMOTEIO: upstream says that it failed;
 * -ENOMEM.
 */
int answer_judge(const struct answer_context *c, const struct dnsname *name,
		 uint16_t qtype, const uint8_t *msg, size_t len,
		 struct answer **ret);

struct answer *answer_ref(struct answer *a);
void answer_unref(struct answer *a);

/** answer_age_s() - seconds since it came */
uint32_t answer_age_s(const struct answer *a, uint64_t now_ms);

/**
 * answer_judge_addr() - may @a, an address of @n, be passed and opened
 */
struct answer_strip answer_judge_addr(const struct answer_context *c,
				      const struct dnsname *n,
				      const struct addr *a);

/* ---- rrset.c ---- */

/**
 * rrset_write_rdata() - rdlength and rdata of a record, checked by its type
 *
 * Return: 0 or -EBADMSG.
 */
int rrset_write_rdata(struct wire_writer *w, const uint8_t *msg, size_t len,
		      const struct wire_rr *rr);

#endif /* EGRET_RESOLVER_ANSWER_H */
