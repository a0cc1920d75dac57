/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * init.h - pid 1 of the sandbox: confines itself, starts the command, reaps
 */
#ifndef EGRET_NETNS_INIT_H
#define EGRET_NETNS_INIT_H

#include <stddef.h>
#include <sys/types.h>

#include "netns/command.h"
#include "netns/mounts.h"

struct err;

#define INIT_SENTENCE_MAX 512

/* Messages on the set-up socket between gateway and init (SEQPACKET). */
enum init_msg_type {
	INIT_MSG_INSIDE, /* init -> gateway: in U2; carries a struct nsset but
			    for U1 */
	INIT_MSG_MAPPED, /* gateway -> init: the id maps of U2 are written */
	INIT_MSG_GO,	 /* gateway -> init: the network is ready, start */
	INIT_MSG_ERROR,	 /* init -> gateway: failed, why */
	INIT_MSG_MAX,
};

struct init_msg {
	enum init_msg_type type;
	int code;
	char text[INIT_SENTENCE_MAX];
};

struct init_config {
	struct mounts_config mounts;
	char *const *host_sockets; /* from mounts_collect_sockets() */
	size_t n_host_sockets;
	struct command_config command;
	int gateway_fd; /* set-up socket; becomes init's */
	int front_fd;	/* end of file here means that the front is gone */
	int status_fd;	/* struct init_report for the front */
	const int *close_fds; /* the gateway's, which init must not hold open */
	size_t n_close_fds;
};

/**
 * init_spawn() - clone init into new pid, mount, ipc and uts namespaces of the
 * caller's user namespace
 *
 * The child runs to its end inside; the parent closes its copies of the
 * descriptors in @cfg itself. Must be called while single-threaded.
 *
 * Return: pid, or negative errno.
 */
pid_t init_spawn(const struct init_config *cfg, struct err *err);

#endif /* EGRET_NETNS_INIT_H */
