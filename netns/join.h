/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * join.h - a further command inside a sandbox that runs already
 */
#ifndef EGRET_NETNS_JOIN_H
#define EGRET_NETNS_JOIN_H

#include <stddef.h>
#include <sys/types.h>

#include "netns/command.h"

struct err;
struct nsset;

struct join_config {
	struct command_config command; /* keep_fds isn't used */
	const struct nsset *ns;
	const char *cwd; /* where the command starts, if it exists inside */
	int alive_fd;	 /* end of file here means that the front is gone */
	int status_fd;	 /* struct init_report for the front */
	const int *close_fds; /* the front's, which nothing inside may hold */
	size_t n_close_fds;
};

/**
 * join_spawn() - start the command with the confinement that the sandbox's own
 * has
 *
 * The caller is single-threaded and of the user that made the sandbox. Its new
 * child ends with the command's status as a shell would have it, and takes
 * everything along that the command has started.
 *
 * Return: the child's pid, or negative errno.
 */
pid_t join_spawn(const struct join_config *cfg, struct err *err);

#endif /* EGRET_NETNS_JOIN_H */
