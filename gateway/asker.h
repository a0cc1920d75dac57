/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asker.h - who asked for what was refused, and the answers that wait for it
 *
 * The gateway may not read /proc; the front may. So the gateway tells the front
 * which socket it was, and holds the answer to the client until the front has
 * seen the process that holds the socket: a short one would else be gone.
 */
#ifndef EGRET_GATEWAY_ASKER_H
#define EGRET_GATEWAY_ASKER_H

#include <stddef.h>
#include <stdint.h>

struct asker;
struct endpoint;
struct err;
struct loop;
struct sockdiag;

/* Answers held at once. Beyond that they go out at once. */
#define ASKER_HELD_MAX 64
/* Longest that one is held: the front answers in a tenth of it. */
#define ASKER_HOLD_MS 5U
/* Look-ups a second: refused DNS questions have no other limit. */
#define ASKER_LOOKUPS_PER_S 100U
#define ASKER_SYN_MAX	    192

/**
 * asker_release_fn - a held answer may go
 * @syn, @len: what asker_hold() was given
 */
typedef void asker_release_fn(void *ctx, uint32_t ticket, const uint8_t *syn,
			      size_t len);

/**
 * asker_new()
 * @diag: sockets of the sandbox, borrowed
 */
int asker_new(struct asker **ret, struct loop *loop, struct sockdiag *diag,
	      asker_release_fn *release, void *ctx, struct err *err);
void asker_free(struct asker *a); /* forgets what is held */

/**
 * asker_find_socket() - inode of the socket that sent a packet
 * @proto: IPPROTO_TCP, IPPROTO_UDP; of others nothing is known
 *
 * Return: 0 when there is none, or too many were asked for lately.
 */
uint64_t asker_find_socket(struct asker *a, int proto,
			   const struct endpoint *src,
			   const struct endpoint *dst);

/**
 * asker_hold() - hold an answer until asker_release() or for ASKER_HOLD_MS
 * @syn, @len: copied; NULL for an answer that the caller keeps itself
 *
 * Return: a ticket, or 0: it can't be held, answer at once.
 */
uint32_t asker_hold(struct asker *a, const uint8_t *syn, size_t len);

/** asker_forget() - the caller answers it after all */
void asker_forget(struct asker *a, uint32_t ticket);

/** asker_release() - the front has seen it; unknown tickets are fine */
void asker_release(struct asker *a, uint32_t ticket);

#endif /* EGRET_GATEWAY_ASKER_H */
