/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command.c - from a process inside the sandbox to its command, and the process
 * above that
 *
 * Two kinds of commands end here: the sandbox's own, whose parent is init (pid
 * 1, init.c), and those of `egret exec`, whose parent came in by the sandbox's
 * namespaces (join.c). Both are confined by the very same calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "netns/caps.h"
#include "netns/command.h"
#include "netns/scope.h"
#include "netns/seccomp.h"
#include "netns/stdio.h"

/* Signals that the front passes on by sending them to init. SIGTSTP, SIGTTIN
   and SIGTTOU are among them so that stopping a job works from outside too. */
static const int forwarded_signals[] = {
	SIGHUP,	 SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,  SIGUSR2, SIGALRM,
	SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGPIPE,
};

/* In the command's process: after the last step nothing is left but execve. */
static int confine_command(const struct command_config *cfg, struct err *err)
{
	int r;

	if (setrlimit(RLIMIT_NOFILE, &cfg->nofile) < 0)
		return err_set_errno(err, -errno,
				     "cannot restore the descriptor limit");
	r = caps_no_new_privs(err);
	if (r < 0)
		return r;
	r = scope_confine_signals(err);
	if (r < 0)
		return r;
	r = cfg->as_root ? caps_keep_all_on_exec(err) : caps_drop_all(err);
	if (r < 0)
		return r;
	return seccomp_confine_command(err);
}

static int place_stdio(const struct command_config *cfg, struct err *err)
{
	int moved[3];
	int i;

	/* First above 2, so that no target overwrites a source. */
	for (i = 0; i < 3; i++) {
		moved[i] = cfg->stdio[i];
		if (moved[i] >= 0 && moved[i] != i) {
			moved[i] = fcntl(moved[i], F_DUPFD_CLOEXEC, 3);
			if (moved[i] < 0)
				return err_set_errno(err, -errno,
						     "cannot place "
						     "descriptor %d",
						     i);
		}
	}
	for (i = 0; i < 3; i++) {
		if (moved[i] < 0 || moved[i] == i)
			continue;
		if (dup2(moved[i], i) < 0)
			return err_set_errno(err, -errno,
					     "cannot place descriptor %d", i);
	}
	return stdio_close_others(cfg->keep_fds, cfg->n_keep_fds, err);
}

/* The command starts with the mask and the ignored signals that egret found. */
static void restore_signals(const struct command_config *cfg)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };

	if (!cfg->sigpipe_ignored)
		(void)sigaction(SIGPIPE, &sa, NULL);
	(void)sigprocmask(SIG_SETMASK, &cfg->sigmask, NULL);
}

void command_run(const struct command_config *cfg)
{
	struct err err = { 0 };
	int code;

	if (confine_command(cfg, &err) < 0 || place_stdio(cfg, &err) < 0) {
		(void)dprintf(2, "egret: %s\n", err.msg);
		_exit(INIT_EXIT_FAILED);
	}
	restore_signals(cfg);
	environ = (char **)(uintptr_t)cfg->envp;
	(void)execvp(cfg->argv[0], cfg->argv);
	code = errno;
	(void)dprintf(2, "egret: cannot execute '%s': %s\n", cfg->argv[0],
		      strerror(code));
	_exit(code == ENOENT || code == ENOTDIR ? INIT_EXIT_NOT_FOUND
						: INIT_EXIT_NOT_EXEC);
}

int command_open_signals(struct err *err)
{
	sigset_t set;
	size_t i;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < ARRAY_SIZE(forwarded_signals); i++)
		sigaddset(&set, forwarded_signals[i]);
	fd = loop_signalfd(&set);
	if (fd < 0)
		return err_set_errno(err, fd, "cannot watch signals");
	return fd;
}

/* Exit status of a waited process as a shell would have it. */
static int shell_status(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return 128 + WTERMSIG(status);
}

static __attribute__((noreturn)) void end(const struct command_watch *w,
					  int status)
{
	if (w->before_end)
		w->before_end(w->ctx);
	_exit(status);
}

static void reap(const struct command_watch *w)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != w->pid)
			continue;
		if (WIFSTOPPED(status)) {
			struct init_report rep = { WSTOPSIG(status) };

			/* A pipe that is full already says "stopped". */
			(void)!write(w->status_fd, &rep, sizeof(rep));
			continue;
		}
		end(w, shell_status(status));
	}
}

static void handle_signal(const struct command_watch *w)
{
	struct signalfd_siginfo si;

	if (read(w->signal_fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return;
	if (si.ssi_signo == SIGCHLD) {
		reap(w);
		return;
	}
	/* The terminal signals the whole foreground group by itself: the
	   command has had it already. */
	if (si.ssi_code == SI_KERNEL)
		return;
	(void)kill(w->pid, (int)si.ssi_signo);
}

void command_watch(const struct command_watch *w)
{
	struct pollfd pfd[] = {
		{ .fd = w->signal_fd, .events = POLLIN },
		{ .fd = w->end_fds[0], .events = POLLIN },
		{ .fd = w->end_fds[1], .events = POLLIN },
	};

	reap(w); /* a child that ended before signals were looked at */
	for (;;) {
		if (poll(pfd, ARRAY_SIZE(pfd), -1) < 0) {
			if (errno == EINTR)
				continue;
			end(w, INIT_EXIT_FAILED);
		}
		/* Nobody writes to these: anything is the end. */
		if (pfd[1].revents || pfd[2].revents)
			end(w, INIT_EXIT_FAILED);
		if (pfd[0].revents)
			handle_signal(w);
	}
}
