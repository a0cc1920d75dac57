/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease.h - which addresses the names taught us, and until when
 *
 * A lease joins a name and an address. What an address opens is the union over
 * its leases, kept in the kernel as elements that don't overlap; this module
 * keeps both in step, one change at a time per element. No clock of its own.
 */
#ifndef EGRET_RESOLVER_LEASE_H
#define EGRET_RESOLVER_LEASE_H

#include "base/list.h"
#include "resolver/resolver.h"

struct lease_table;

#define LEASE_MAX		   65536 /* leases, and so addresses and names */
#define LEASE_PER_NAME_MAX	   1024 /* above: the name's oldest unused goes */
#define LEASE_PER_ANSWER_MAX	   1024
#define LEASE_ELEMS_PER_ANSWER_MAX 8192
#define LEASE_ELEMS_PER_ADDR_MAX   512
#define LEASE_COST_MAX		   262144 /* see lease_room.c */
#define LEASE_COST_PER_ANSWER_MAX  65536
#define LEASE_ELEMS_MAX		   (2 * LEASE_COST_MAX) /* the leaving included */
#define LEASE_FLOOR_MS		   30000U /* shortest life, whatever the TTL */
#define LEASE_GRACE_MS		   30000U /* after the TTL, and after the last flow */

struct lease_item {
	struct addr addr;
	uint32_t ttl_s;
};

struct lease_request {
	const struct policy *policy;
	const struct dnsname *name;
	const struct lease_item *items;
	size_t n;
	uint32_t age_s; /* to be taken off every ttl_s (from the cache) */
	uint64_t now_ms;
};

/*
 * Someone who waits for elements. Zero-initialise; embedded in its owner, which
 * cancels it before it goes away.
 */
struct lease_wait {
	void (*done)(struct lease_wait *w);
	int result;    /* of the first change that failed, or 0 */
	char why[128]; /* its text */
	/* private */
	struct list links;
	unsigned int n_pending;
};

struct lease_stats {
	uint32_t leases, addrs, names, elems;
	uint64_t cost; /* above LEASE_COST_MAX only by what was in use when the
			  policy changed */
	uint64_t evicted, refused; /* refused: nothing could be evicted */
};

/* @ops: grant, addr_in_use, is_host_addr and grant_failed are called */
int lease_new(struct lease_table **ret, const struct resolver_ops *ops,
	      void *ctx);
void lease_free(struct lease_table *t);
void lease_freep(struct lease_table **t);

#define LEASE_READY   0
#define LEASE_PENDING 1

/**
 * lease_ensure() - make or renew leases; may the answer go out
 *
 * Return: LEASE_READY when every element is acknowledged; LEASE_PENDING, then
 * w->done() comes exactly once and the caller asks again (the same request is
 * harmless); negative errno when the kernel refused or a limit was met.
 */
int lease_ensure(struct lease_table *t, const struct lease_request *q,
		 struct lease_wait *w);

/**
 * lease_renew() - lease_ensure() when there is nothing to do but to renew
 *
 * Return: false when some address isn't leased or not acknowledged; then
 * lease_ensure() is to be asked.
 */
bool lease_renew(struct lease_table *t, const struct lease_request *q);

/**
 * lease_addrs_max() - how many addresses one answer may teach a name that has
 * these ports; at least 1
 */
size_t lease_addrs_max(const struct policy_port *ports, size_t n);

/** lease_wait_cancel() - done() won't come any more */
void lease_wait_cancel(struct lease_wait *w);

/**
 * lease_announce() - true the first time for this name and address
 */
bool lease_announce(struct lease_table *t, const struct dnsname *name,
		    const struct addr *a);

/** lease_expire() - end what is over at @now_ms */
void lease_expire(struct lease_table *t, uint64_t now_ms);

/** lease_next_ms() - when lease_expire() has something to do; 0: never */
uint64_t lease_next_ms(const struct lease_table *t);

void lease_flow_ended(struct lease_table *t, const struct addr *a,
		      uint64_t now_ms);

/** lease_set_policy() - see resolver_set_policy() */
int lease_set_policy(struct lease_table *t, const struct policy *p,
		     resolver_change_fn *change, void *change_ctx,
		     struct err *err);

/**
 * lease_judge() - see resolver_judge_addr(); @p is the present policy
 *
 * Called from within @change of lease_set_policy() with the new policy it
 * answers as it will when the change is through.
 */
struct policy_verdict lease_judge(const struct lease_table *t,
				  const struct policy *p, const struct addr *a,
				  enum policy_proto proto, uint16_t port,
				  struct dnsname *ret_name);

/** lease_each() - see resolver_each_lease() */
void lease_each(const struct lease_table *t, uint64_t now_ms,
		resolver_lease_fn *fn, void *ctx);

/** lease_name_of() - the name that taught @a last; false if none did */
bool lease_name_of(const struct lease_table *t, const struct addr *a,
		   struct dnsname *ret);

/** lease_count_cost() - the sum counted anew, for tests */
uint64_t lease_count_cost(const struct lease_table *t);

void lease_get_stats(const struct lease_table *t, struct lease_stats *ret);

#endif /* EGRET_RESOLVER_LEASE_H */
