/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command.h - the last steps of a process that becomes a sandboxed command,
 * and the process above it
 */
#ifndef EGRET_NETNS_COMMAND_H
#define EGRET_NETNS_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

struct err;

/* Exit statuses that are egret's own, as env(1) and podman(1) do. */
#define INIT_EXIT_FAILED    125 /* could not set the sandbox up */
#define INIT_EXIT_NOT_EXEC  126 /* command found but not executable */
#define INIT_EXIT_NOT_FOUND 127 /* command not found */

/* Report to the front on the status pipe: the command stopped. */
struct init_report {
	int stop_signal;
};

struct command_config {
	char *const *argv; /* NULL-terminated */
	char *const *envp;
	int stdio[3]; /* what the command has as 0..2 */
	const int *keep_fds;
	size_t n_keep_fds;
	bool as_root;	      /* uid 0 inside, with U2's capabilities */
	struct rlimit nofile; /* the command's descriptor limits */
	sigset_t sigmask;     /* the command's signal mask */
	bool sigpipe_ignored; /* SIGPIPE was ignored when egret started */
};

/**
 * command_run() - confine the calling process, which stands in all namespaces
 * of the sandbox, and execute the command
 *
 * The caller is undumpable: nothing inside can look into it before execve().
 */
__attribute__((noreturn)) void command_run(const struct command_config *cfg);

/**
 * command_open_signals() - before the command is forked: signalfd for what
 * command_watch() passes on
 */
int command_open_signals(struct err *err);

struct command_watch {
	pid_t pid;
	int signal_fd;	/* by command_open_signals() */
	int status_fd;	/* struct init_report for the front */
	int end_fds[2]; /* anything here is the end; -1: none */
	/* Called before the process ends; may be NULL. */
	void (*before_end)(void *ctx);
	void *ctx;
};

/**
 * command_watch() - the rest of the parent's life: reap, pass signals on,
 * report stops, end with the command's status as a shell would have it
 */
__attribute__((noreturn)) void command_watch(const struct command_watch *w);

#endif /* EGRET_NETNS_COMMAND_H */
