/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * init.h - pid 1 of the sandbox: confines itself, starts the command, reaps
 */
#ifndef EGRET_NETNS_INIT_H
#define EGRET_NETNS_INIT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "netns/mounts.h"

struct err;

/* Exit statuses of init that are egret's own, as env(1) and podman(1) do. */
#define INIT_EXIT_FAILED    125 /* could not set the sandbox up */
#define INIT_EXIT_NOT_EXEC  126 /* command found but not executable */
#define INIT_EXIT_NOT_FOUND 127 /* command not found */

#define INIT_SENTENCE_MAX 512

/* Messages on the set-up socket between gateway and init (SEQPACKET). */
enum init_msg_type {
	INIT_MSG_NETNS,	 /* init -> gateway: in U2; carries its netns */
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

/* Report from init to the front on the status pipe: the command stopped. */
struct init_report {
	int stop_signal;
};

struct init_config {
	struct mounts_config mounts;
	char *const *host_sockets; /* from mounts_collect_sockets() */
	size_t n_host_sockets;
	char *const *argv; /* command, NULL-terminated */
	char *const *envp;
	int stdio[3]; /* what the command has as 0..2 */
	const int *keep_fds;
	size_t n_keep_fds;
	bool as_root;	      /* uid 0 inside, with U2's capabilities */
	struct rlimit nofile; /* the command's descriptor limits */
	sigset_t sigmask;     /* the command's signal mask */
	bool sigpipe_ignored; /* SIGPIPE was ignored when egret started */
	int gateway_fd;	      /* set-up socket; becomes init's */
	int front_fd;  /* end of file here means that the front is gone */
	int status_fd; /* struct init_report for the front */
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
