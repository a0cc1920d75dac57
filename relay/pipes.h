/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pipes.h - a bounded number of pipes that flows borrow while bytes are in them
 */
#ifndef EGRET_RELAY_PIPES_H
#define EGRET_RELAY_PIPES_H

#include <stdint.h>

#include "base/list.h"

struct pipe {
	int read_fd, write_fd;
	uint32_t room; /* bytes asked for in one splice */
	uint32_t len;  /* bytes inside; kept by the borrower */
	struct list node;
};

struct pipes {
	struct list idle;
	uint32_t max; /* in use and idle together */
	uint32_t n_idle, n_in_use;
	uint64_t retry_ms; /* after a failure, no new pipe before */
};

void pipes_init(struct pipes *p, uint32_t max);
void pipes_done(struct pipes *p); /* none may be in use */

/** pipes_borrow() - an empty pipe, or NULL: then bytes are copied */
struct pipe *pipes_borrow(struct pipes *p);

/** pipes_return() - a pipe that isn't empty is closed with what is in it */
void pipes_return(struct pipes *p, struct pipe *pipe);

#endif /* EGRET_RELAY_PIPES_H */
