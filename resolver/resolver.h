/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolver.h - answers the sandbox's DNS, learns addresses before it answers
 *
 * Everything outside goes through the ops: what a name may do, asking upstream,
 * changing the kernel's sets, reporting. So a replay test drives the very state
 * machine with scripted upstreams and a virtual clock.
 */
#ifndef EGRET_RESOLVER_RESOLVER_H
#define EGRET_RESOLVER_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/dnsname.h"
#include "policy/policy.h"

struct err;
struct loop;
struct resolver;

/* What a learned address opens in the kernel. */
struct resolver_grant_elem {
	struct addr addr;
	struct policy_port port; /* proto, lo..hi, flags */
	bool is_special;	 /* a special-purpose address under `private` */
};

/*
 * A change of the kernel's sets that an answer waits for. Owned by the
 * resolver; elems stay valid until done() was called.
 */
struct resolver_grant {
	const struct resolver_grant_elem *elems;
	size_t n;
	bool del;
	void (*done)(struct resolver_grant *g, int result, const char *why);
	void *impl; /* for the ops' own use; freed by it before done() returns
		     */
};

/* A question that was not answered, for the report. */
struct resolver_refusal {
	const struct dnsname *name;
	uint16_t qtype;
	enum policy_reason reason;
	uint32_t entry;		 /* or POLICY_NO_ENTRY */
	const struct addr *addr; /* the address stripped, for POLICY_PRIVATE */
	const char *category;	 /* special_classify() text, or NULL */
	struct endpoint client;
	bool is_tcp;
	uint32_t *ret_hold; /* NULL: the answer can't wait. Else a ticket put
			       here makes it wait for resolver_release() */
};

/**
 * Upstream's answer: @answer NULL with @error < 0 when there is none.
 * The bytes are hostile. Borrowed during the call.
 */
typedef void resolver_answer_fn(void *arg, int error, const uint8_t *answer,
				size_t len);

struct resolver_ops {
	/**
	 * ask upstream; @done is called exactly once, also after an error and
	 * at the upstream's end (-ECANCELED). May be called from within.
	 */
	void (*ask)(void *ctx, const struct dnsname *name, uint16_t qtype,
		    resolver_answer_fn *done, void *arg);
	/** queue a change of the kernel's sets; done() may come from within */
	void (*grant)(void *ctx, struct resolver_grant *g);
	/** is a flow open to @addr */
	bool (*addr_in_use)(void *ctx, const struct addr *addr);
	/** has the host a route to the IPv6 internet */
	bool (*has_ipv6)(void *ctx);
	/** is @addr one of the host's own addresses (closed like private) */
	bool (*is_host_addr)(void *ctx, const struct addr *addr);
	void (*refused)(void *ctx, const struct resolver_refusal *r);
	void (*learned)(void *ctx, const struct dnsname *name,
			const struct addr *addr, uint32_t ttl_s);
	/** a question that @entry allows; may be NULL */
	void (*allowed)(void *ctx, uint32_t entry);
	/** the kernel refused elements: one error line (P3); @name is NULL when
	    it refused to delete some (they are tried again) */
	void (*grant_failed)(void *ctx, const struct dnsname *name, int result,
			     const char *why);
};

struct resolver_config {
	int udp4_fd, udp6_fd; /* bound to port 53 in the gateway netns, with
				 IP_PKTINFO / IPV6_RECVPKTINFO; owned by the
				 resolver from resolver_new() on; -1: none */
	int tcp4_fd, tcp6_fd; /* listening; owned likewise; -1: none */
	const char *sandbox;  /* id, for texts; copied */
};

struct resolver_stats {
	uint64_t queries, answered, refused, servfail, malformed;
	uint32_t leases, lease_addrs, tcp_clients, in_flight;
	uint64_t evicted;
};

int resolver_new(struct resolver **ret, struct loop *loop,
		 const struct resolver_config *cfg,
		 const struct resolver_ops *ops, void *ctx, struct err *err);

/**
 * resolver_free() - after the upstream, whose callbacks need the resolver; the
 * grants that weren't done are forgotten and must not be done any more
 */
void resolver_free(struct resolver *r);
void resolver_freep(struct resolver **r);

/**
 * resolver_set_policy() - judge by @p from now on
 * @p: borrowed until the next call has returned
 *
 * Cached answers and leases are judged again: what lost its permission leaves
 * the tables, and the changes of the kernel's sets are given out through
 * @change (deletions and additions, all at once) for one atomic batch with the
 * rest of the policy change. It is called once unless an error came before, and
 * resolver_judge_addr() answers by the new state from then on, so
 * relay_rejudge() belongs there.
 */
typedef int resolver_change_fn(void *ctx, const struct resolver_grant_elem *del,
			       size_t n_del,
			       const struct resolver_grant_elem *add,
			       size_t n_add, struct err *err);
int resolver_set_policy(struct resolver *r, const struct policy *p,
			resolver_change_fn *change, void *change_ctx,
			struct err *err);

/**
 * resolver_judge_addr() - what the leases say of an address and port
 * @ret_name: a name that taught it (any): one that opens the port, if one does;
 *            untouched when the address isn't learned
 *
 * Return: POLICY_ALLOWED; POLICY_PORT if the address is learned but not this
 * port; POLICY_NOT_LISTED if it isn't learned.
 */
struct policy_verdict resolver_judge_addr(const struct resolver *r,
					  const struct addr *a,
					  enum policy_proto proto,
					  uint16_t port,
					  struct dnsname *ret_name);

/**
 * resolver_each_lease() - call @fn for what names have taught, until it returns
 * false; it must not change anything
 * @expires_s: from now; 0 when only an open flow or a peer keeps it
 */
typedef bool resolver_lease_fn(void *ctx, const struct dnsname *name,
			       const struct addr *addr, uint32_t expires_s);
void resolver_each_lease(const struct resolver *r, resolver_lease_fn *fn,
			 void *ctx);

/** resolver_flow_ended() - the last flow of @addr ended: its grace starts */
void resolver_flow_ended(struct resolver *r, const struct addr *addr);

/* A query message as it came. Borrowed during resolver_answer(). */
struct resolver_query {
	const struct endpoint *client; /* for the report */
	const uint8_t *msg;
	size_t len;
	bool is_tcp; /* a reply may have 65535 bytes; else what the client's
			EDNS says */
};

/**
 * resolver_answer() - one query message in, one response message out
 * @reply:  called once, now or later; @len 0 means no reply at all. The bytes
 *          are borrowed during the call, which must not ask again.
 *
 * The listener uses it; replay tests and fuzzers too.
 */
typedef void resolver_reply_fn(void *arg, const uint8_t *msg, size_t len);
void resolver_answer(struct resolver *r, const struct resolver_query *query,
		     resolver_reply_fn *reply, void *arg);

/**
 * resolver_release() - answer the question whose refusal was given this ticket;
 * it is judged anew. Fine when there is none.
 */
void resolver_release(struct resolver *r, uint32_t ticket);

void resolver_get_stats(const struct resolver *r, struct resolver_stats *ret);

#endif /* EGRET_RESOLVER_RESOLVER_H */
