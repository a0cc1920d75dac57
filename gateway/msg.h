/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * msg.h - messages between the front and the gateway (SEQPACKET socketpair)
 *
 * Both ends are the same program after a fork, so the struct goes over as it
 * is; length, type and strings are checked all the same.
 */
#ifndef EGRET_GATEWAY_MSG_H
#define EGRET_GATEWAY_MSG_H

#include <stddef.h>

#include "gateway/event.h"

enum gw_msg_type {
	GW_MSG_UNSHARED, /* gateway -> front: in U1, maps are wanted */
	GW_MSG_MAPPED,	 /* front -> gateway: they are written */
	GW_MSG_INIT,	 /* gateway -> front: carries init's pidfd */
	GW_MSG_STARTED,	 /* gateway -> front: the command runs */
	GW_MSG_FAILED,	 /* gateway -> front: set-up or run failed, text */
	GW_MSG_LOG,	 /* gateway -> front: value is the level, text */
	GW_MSG_EVENT,	 /* gateway -> front; value is 0, or a ticket that
			    comes back with SEEN */
	GW_MSG_SEEN,	 /* front -> gateway: the process behind the event was
			    looked for; value is its ticket */
	GW_MSG_JOINED, /* gateway -> front: value is the pid of a process whose
			  children may come into the sandbox */
	GW_MSG_EXIT,   /* gateway -> front: value is init's exit status */
	GW_MSG_MAX,
};

struct gw_msg {
	enum gw_msg_type type;
	int value;
	union {
		char text[1024];
		struct event event;
	};
};

/** gw_msg_len() - octets of a message of this type on the wire */
size_t gw_msg_len(enum gw_msg_type type);

/**
 * gw_msg_send() - send one; @fd -1 or a descriptor that goes with it
 *
 * Return: 0 or negative errno (-EAGAIN when the socket is full).
 */
int gw_msg_send(int sock, const struct gw_msg *m, int fd);

/** gw_msg_send_text() - a message of @type with @value and a sentence */
int gw_msg_send_text(int sock, enum gw_msg_type type, int value,
		     const char *text);

/**
 * gw_msg_recv() - receive and check one
 * @ret_fd: descriptor that came with it, or -1; caller closes
 *
 * Return: 1, 0 at the end of file, -EAGAIN, or negative errno.
 */
int gw_msg_recv(int sock, struct gw_msg *ret, int *ret_fd);

#endif /* EGRET_GATEWAY_MSG_H */
