/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relay_internal.h - what the files of the relay share
 */
#ifndef EGRET_RELAY_RELAY_INTERNAL_H
#define EGRET_RELAY_RELAY_INTERNAL_H

#include "base/list.h"
#include "base/loop.h"
#include "relay/keytab.h"
#include "relay/pipes.h"
#include "relay/relay.h"
#include "relay/syn.h"

/*
 * Marks of injected frames. They equal enum fw_mark, which this layer can't
 * see; the gateway gives the sockets in that order.
 */
enum relay_mark {
	RELAY_MARK_ACCEPT = 1,
	RELAY_MARK_RESET = 2,
	RELAY_MARK_UNREACH = 3,
};

/* Bytes that one recv() takes at most. */
#define RELAY_SCRATCH (64U * 1024)

struct relay {
	struct loop *loop;
	struct relay_config cfg;
	const struct relay_ops *ops;
	void *ctx;

	struct pool *flow_pool; /* struct flow */
	struct keytab flows;
	struct pool *pending_pool; /* struct pending */
	struct keytab pendings;
	struct dests dests;
	struct pipes pipes;

	/* accept.c */
	struct loop_fd listen4, listen6;
	struct loop_timer accept_timer; /* set while accepting is paused */
	uint32_t n_injected;		/* pending ones that may be accepted */

	/* pump.c */
	struct list ready;     /* flows that used up their share of a turn */
	struct list ready_end; /* where a round over it stops */
	struct loop_fd kick;   /* an eventfd that's always readable */
	bool is_kicked;
	size_t stash_bytes; /* in all flows' stashes together */

	struct relay_stats stats; /* counters only, the rest is computed */
	uint8_t scratch[RELAY_SCRATCH];
};

/*
 * connect.c
 */

/**
 * connect_start() - a socket to @dst, not blocking, reset on close
 * @ret_fd: set unless the result is an error
 *
 * Return: 0 when it is established already, -EINPROGRESS, or the error.
 */
int connect_start(const struct endpoint *dst, int *ret_fd);

/** connect_result() - 0 when established, -EINPROGRESS, or the error */
int connect_result(int fd);

/** connect_options() - what both sockets of a flow have; also for listeners */
int connect_options(int fd);

/*
 * pending.c: a SYN that waits for its destination, then for accept4()
 */
struct pending;

/** pending_find() - NULL when the 4-tuple isn't pending */
struct pending *pending_find(struct relay *r, const struct relay_key *key);

/** pending_start() - judge, connect; the result comes now or later */
void pending_start(struct relay *r, const struct syn *s);

/** pending_repeat() - another SYN of the same 4-tuple */
void pending_repeat(struct pending *p, const struct syn *s);

/**
 * pending_take() - end it; its upstream socket is the caller's from now on
 *
 * Return: the descriptor, or -1 when the SYN wasn't injected yet: then it
 * stays pending.
 */
int pending_take(struct pending *p, uint32_t *ret_isn);

/** pending_rejudge() - reset those that may not connect any more */
size_t pending_rejudge(struct relay *r);

/** pending_drop_all() - reset upstream, without a word to the sandbox */
void pending_drop_all(struct relay *r);

uint32_t pending_size(void); /* bytes of an object */
#define PENDING_MAX	     1024U
#define PENDING_MAX_PER_DEST 256U

/** relay_inject() - send the SYN into the inner pair; failures are counted */
void relay_inject(struct relay *r, const struct syn *s, enum relay_mark mark);

/** relay_refuse() - tell ops and the sandbox that there's no connection */
void relay_refuse(struct relay *r, const struct syn *s, enum relay_refusal why,
		  int error, enum relay_mark mark);

/*
 * accept.c
 */
int accept_start(struct relay *r, struct err *err);
void accept_stop(struct relay *r);

#endif /* EGRET_RELAY_RELAY_INTERNAL_H */
