/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow_internal.h - one relayed connection
 */
#ifndef EGRET_RELAY_FLOW_INTERNAL_H
#define EGRET_RELAY_FLOW_INTERNAL_H

#include "relay/relay_internal.h"

enum flow_side {
	FLOW_CLIENT, /* the socket to the sandbox, of the gateway netns */
	FLOW_SERVER, /* the socket to the destination, of the host netns */
};

/* One socket. What it reported stays true until a call says otherwise. */
struct side {
	struct loop_fd w;
	bool is_readable, is_writable;
	bool has_hup;	 /* an end or an error is behind what can be read */
	bool has_err;	 /* EPOLLERR came; the reason isn't fetched yet */
	bool has_urgent; /* ever: reads stop short at the mark */
};

/*
 * One direction: half[FLOW_CLIENT] reads from the client and writes to the
 * server. Bytes that were read and not yet written are in the stash or in the
 * pipe, never in both, and nothing is read while there are any.
 */
struct half {
	uint8_t *stash; /* heap, stash_len bytes, NULL when empty */
	uint32_t stash_at, stash_len;
	uint8_t n_full; /* reads in a row that filled the buffer */
	bool is_bulk;	/* splice rather than copy */
	bool is_eof;	/* nothing more will be read */
	bool is_done;	/* and the end was passed on */
	struct pipe *pipe;
	uint64_t bytes; /* written */
};

/*
 * FLOW_STAGE_FRESH: accepted and matched, nothing of the client was read yet.
 * The first flight is judged here, while the server's bytes flow; leaving the
 * stage with flow_pass() lets the client's bytes through.
 */
enum flow_stage {
	FLOW_STAGE_FRESH,
	FLOW_STAGE_PUMPING,
};

struct flow {
	struct key_node node;
	struct relay *relay;
	struct dest *dest;
	struct list ready; /* on relay->ready, or empty */
	struct side side[2];
	struct half half[2];
	uint32_t isn;		/* of the SYN that was accepted */
	uint32_t opened_s : 30; /* of the monotonic clock */
	uint32_t stage : 2;	/* enum flow_stage */
};

/* Part of the 1.5 KiB that an idle connection may cost. */
_Static_assert(sizeof(struct flow) <= 256, "flow grew");

/*
 * flow.c
 */
struct flow *flow_find(struct relay *r, const struct relay_key *key);

/** flow_info() - what the ops are told of it; without reason and error */
void flow_info(const struct flow *f, struct relay_flow_info *ret);

/**
 * flow_open() - a flow of both sockets, which it owns from now on, also when it
 * fails; then they're reset
 */
int flow_open(struct relay *r, const struct relay_key *key, uint32_t isn,
	      int client_fd, int server_fd);

/** flow_pass() - the client's bytes may go on */
void flow_pass(struct flow *f);

/**
 * flow_close() - let go of everything; @f is gone
 * @why: RELAY_CLOSE_END leaves the sockets to end in order, all others reset
 */
void flow_close(struct flow *f, enum relay_close why);

/*
 * pump.c
 */
int pump_init(struct relay *r, struct err *err);
void pump_done(struct relay *r);
int pump_watch(struct flow *f, int client_fd, int server_fd);

/** pump_run() - move what can be moved now; @f may be gone afterwards */
void pump_run(struct flow *f, enum flow_side first);

/*
 * half.c
 */
enum half_result {
	HALF_WAIT, /* until one of its sockets reports something */
	HALF_MORE, /* used up its share of the turn */
	HALF_DONE, /* the end was passed on */
};

/** half_run() - enum half_result, or negative errno: the flow has failed */
int half_run(struct flow *f, enum flow_side from);

/** half_drop() - forget what it holds */
void half_drop(struct flow *f, enum flow_side from);

#endif /* EGRET_RELAY_FLOW_INTERNAL_H */
