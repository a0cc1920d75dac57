/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relay.h - TCP flows: held SYN, upstream connection, byte moving
 *
 * The relay owns flows; what may be connected, and what happened, goes through
 * the ops that gateway/ fills. It never sees names or the policy.
 */
#ifndef EGRET_RELAY_RELAY_H
#define EGRET_RELAY_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/pool.h"

struct err;
struct loop;
struct relay;

/* The 4-tuple as the sandbox sees it. */
struct relay_key {
	struct endpoint src, dst;
};

enum relay_refusal {
	RELAY_REFUSED_POLICY,	/* may_connect() said no */
	RELAY_REFUSED_LIMIT,	/* too many pending, no port, no descriptor */
	RELAY_REFUSED_UPSTREAM, /* destination's own error (event only) */
};

enum relay_close {
	RELAY_CLOSE_END,     /* both sides finished */
	RELAY_CLOSE_RESET,   /* one side reset */
	RELAY_CLOSE_POLICY,  /* an edit took the permission away */
	RELAY_CLOSE_LOST,    /* never accepted inside */
	RELAY_CLOSE_STOPPED, /* the sandbox ends */
};

struct relay_flow_info {
	struct relay_key key;
	uint64_t bytes_out, bytes_in; /* out: from the sandbox */
	uint32_t age_s;		      /* since it was accepted inside */
	enum relay_close reason;
	int error; /* upstream errno, for RELAY_REFUSED_UPSTREAM */
};

struct relay_ops {
	/** may this destination be connected to, right now */
	bool (*may_connect)(void *ctx, const struct relay_key *key);
	/** a flow of this destination exists from now on / is gone */
	void (*opened)(void *ctx, const struct relay_flow_info *f);
	void (*closed)(void *ctx, const struct relay_flow_info *f);
	/** for the report; a connection that never was */
	void (*refused)(void *ctx, const struct relay_flow_info *f,
			enum relay_refusal why);
};

struct relay_config {
	int listen4_fd, listen6_fd; /* TPROXY listeners in the gateway netns;
				       owned by the relay once relay_new()
				       has succeeded; -1: none */
	int inject_fd; /* packet socket bound to the sending end of the inner
			  pair; owned likewise. Each message carries its mark
			  (SO_MARK), which needs CAP_NET_ADMIN in the user
			  namespace of the gateway netns */
	uint8_t inject_src_mac[6], inject_dst_mac[6];
	uint32_t max_fds; /* descriptors the relay may use in all */
};

struct relay_stats {
	struct pool_stats flows, pending;
	uint32_t pipes_in_use, pipes_idle;
	uint64_t syns, injected, refused_limit, lost;
	uint64_t malformed;	/* logged packets that are no proper SYN */
	uint64_t timed_out;	/* destinations that never answered */
	uint64_t unmatched;	/* accepted without an upstream, reset */
	uint64_t accept_pauses; /* no descriptors or memory for a second */
	uint64_t inject_errors; /* frames that couldn't be sent */
};

int relay_new(struct relay **ret, struct loop *loop,
	      const struct relay_config *cfg, const struct relay_ops *ops,
	      void *ctx, struct err *err);
void relay_free(struct relay *r); /* resets what is open */
void relay_freep(struct relay **r);

/**
 * relay_syn() - a SYN that the ruleset held back: IP header on
 *
 * Bytes come from the sandbox through NFLOG; everything is checked.
 */
void relay_syn(struct relay *r, const uint8_t *packet, size_t len);

/**
 * relay_refuse_syn() - answer a logged and dropped SYN with a reset (mark 2)
 */
void relay_refuse_syn(struct relay *r, const uint8_t *packet, size_t len);

/**
 * relay_rejudge() - ask may_connect() again for every flow and pending SYN;
 * those that lost it are reset on both sides now
 *
 * Return: number cut.
 */
size_t relay_rejudge(struct relay *r);

/** relay_count_addr() - open flows (and pending ones) to this address */
size_t relay_count_addr(const struct relay *r, const struct addr *dst);

/**
 * relay_each_flow() - call @fn for the open flows, until it returns false; it
 * must not open or close any
 */
typedef bool relay_flow_fn(void *ctx, const struct relay_flow_info *f);
void relay_each_flow(const struct relay *r, relay_flow_fn *fn, void *ctx);

void relay_get_stats(const struct relay *r, struct relay_stats *ret);

#endif /* EGRET_RELAY_RELAY_H */
