/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control_json.h - the control socket's lines: requests read, replies written
 *
 * Pure. A request's bytes are hostile. A reply is written as text while it is
 * made, without a tree in memory, and never grows beyond CONTROL_REPLY_MAX.
 */
#ifndef EGRET_GATEWAY_CONTROL_JSON_H
#define EGRET_GATEWAY_CONTROL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/question.h"

struct err;

#define CONTROL_REQUEST_MAX 65536U     /* a line, without its newline */
#define CONTROL_REPLY_MAX   (4U << 20) /* likewise */
#define CONTROL_DEPTH_MAX   8	       /* objects and arrays in one another */

enum control_op {
	CONTROL_STATUS,
	CONTROL_RELOAD,
	CONTROL_SHOW,
	CONTROL_CHECK,
	CONTROL_EXEC,
	CONTROL_OP_MAX,
};

struct control_request {
	enum control_op op;
	struct policy_question question; /* CONTROL_CHECK */
	uint32_t entries_from; /* CONTROL_SHOW: index of the first entry */
	pid_t peer;	       /* who asks, as the kernel says; not decoded */
};

/**
 * control_decode() - one line
 * @line: any bytes, @len at most CONTROL_REQUEST_MAX
 *
 * Members that the operation doesn't know are skipped.
 * Return: 0, or negative errno with a sentence for the peer.
 */
int control_decode(const char *line, size_t len, struct control_request *ret,
		   struct err *err);

/* A reply under way. Zero-initialise. */
struct control_text {
	char *v; /* malloc'ed; not terminated */
	size_t len, room;
	unsigned int depth;
	bool is_first; /* nothing stands in the open object or array yet */
	bool is_bad;   /* no memory, too long, or wrongly nested */
	bool close[CONTROL_DEPTH_MAX]; /* true: array */
};

void control_text_done(struct control_text *t);

/*
 * @key is NULL inside an array and for the outermost object. Failures are kept
 * in is_bad.
 */
void control_open_object(struct control_text *t, const char *key);
void control_open_array(struct control_text *t, const char *key);
void control_close(struct control_text *t); /* the innermost */
void control_put_str(struct control_text *t, const char *key,
		     const char *value); /* what isn't UTF-8 becomes U+FFFD */
void control_put_num(struct control_text *t, const char *key, uint64_t value);
void control_put_bool(struct control_text *t, const char *key, bool value);

/** control_is_long() - a list should end here, with "truncated" */
bool control_is_long(const struct control_text *t);

#endif /* EGRET_GATEWAY_CONTROL_JSON_H */
