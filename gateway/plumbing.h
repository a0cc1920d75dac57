/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plumbing.h - the namespaces, links and sockets of one run, in their order
 */
#ifndef EGRET_GATEWAY_PLUMBING_H
#define EGRET_GATEWAY_PLUMBING_H

#include <stdbool.h>
#include <sys/types.h>

#include "netns/gwsock.h"
#include "netns/init.h"
#include "netns/nsset.h"
#include "netns/sockdiag.h"

struct err;

struct plumbing_config {
	int front_sock;		  /* messages of msg.h; blocking */
	struct init_config *init; /* gateway_fd and close_fds are filled in */
	bool map_whole;		  /* see idmap_write() */
};

struct plumbing {
	struct gwsock sock;
	struct sockdiag sockdiag; /* of the sandbox; may be shut */
	pid_t init_pid;
	int init_pidfd;
	int init_sock;
	struct nsset ns; /* the sandbox's, for `egret exec` */
};

/**
 * plumbing_setup() - from an ordinary process to a gateway whose sandbox waits
 * for GO: U1, init with its masks and U2, the gateway netns, links, addresses,
 * sysctls, sockets
 *
 * The caller must be single-threaded. After a failure the caller ends; init
 * ends with it.
 */
int plumbing_setup(struct plumbing *p, const struct plumbing_config *cfg,
		   struct err *err);

/** plumbing_done() - close what is left */
void plumbing_done(struct plumbing *p);

#endif /* EGRET_GATEWAY_PLUMBING_H */
