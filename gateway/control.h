/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control.h - the control socket: requests and replies, a JSON object a line
 *
 * Everything is bounded: clients, the length of a line either way, how long a
 * peer may take. What requests mean is the answer function's business.
 */
#ifndef EGRET_GATEWAY_CONTROL_H
#define EGRET_GATEWAY_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "gateway/control_json.h"

struct control;
struct err;
struct loop;

#define CONTROL_CLIENTS_MAX 16
/* A peer may take this long to send the rest of a line, or to take a reply. */
#define CONTROL_PATIENCE_MS 5000U

struct control_reply {
	struct control_text text; /* its object is open */
	int fds[IO_FDS_MAX];	  /* go out with the reply; they stay the answer
				     function's, open until control_free() */
	size_t n_fds;
};

/** control_ok() - put "ok": true; more members may follow */
void control_ok(struct control_reply *r);

/** control_refuse() - put "ok": false and "error" */
void control_refuse(struct control_reply *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * control_answer_fn - answer one request, at once
 * @ret: calls control_ok() or control_refuse() first
 */
typedef void control_answer_fn(void *ctx, const struct control_request *rq,
			       struct control_reply *ret);

/**
 * control_listen() - make the socket; before the process is confined
 * @path: in a directory that only the user can search; what a dead process
 *        left there is replaced
 *
 * Return: descriptor, or negative errno.
 */
int control_listen(const char *path, struct err *err);

/**
 * control_new() - serve
 * @listen_fd: taken over, also when it fails
 */
int control_new(struct control **ret, struct loop *loop, int listen_fd,
		control_answer_fn *answer, void *ctx, struct err *err);
void control_free(struct control *c);
void control_freep(struct control **c);

struct control_stats {
	uint32_t clients;
	uint64_t requests;
	uint64_t refused;   /* peers of another user or network namespace */
	uint64_t too_slow;  /* ended by CONTROL_PATIENCE_MS */
	uint64_t displaced; /* idle ones that made place for others */
	uint64_t pauses;    /* no descriptors for a second */
};

void control_get_stats(const struct control *c, struct control_stats *ret);

#endif /* EGRET_GATEWAY_CONTROL_H */
