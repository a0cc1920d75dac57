/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * join.c - a further command inside a sandbox that runs already
 *
 * Theory of operation. Three processes follow one another:
 *
 *   front --fork--> joiner --clone(PARENT)--> watcher --fork--> command
 *
 * The joiner enters the namespaces (nsset.c says in which order). A pid
 * namespace takes only children in, so the joiner stays outside of that, can't
 * be seen inside, and ends as soon as the watcher lives. The watcher is the
 * front's child and is to the command what init is to the sandbox's own: it
 * reaps, passes signals on, tells of stops. It isn't pid 1, whose end would end
 * everything below, so it is a subreaper and kills what is left when the
 * command ends, or the front.
 *
 * SECURITY: the watcher and, before its execve(), the command can be seen
 * inside. Both have the memory of the joiner, undumpable and of the host's user
 * namespace, so that root inside can't look into them; and they hold nothing
 * but standard streams, two pipes and, until the fork of the command has closed
 * it, the sandbox's /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/parse.h"
#include "netns/caps.h"
#include "netns/join.h"
#include "netns/nsset.h"
#include "netns/stdio.h"

#define KILL_ROUNDS_MAX	  1000
#define CHILDREN_TEXT_MAX 4096

/* From joiner to front. */
struct join_report {
	pid_t pid; /* of the watcher, or 0 */
	int code;
	char text[512];
};

/* ---- the watcher ---- */

/* Kills the children that /proc tells, as many as fit. Return: their number. */
static size_t kill_children(int proc_fd)
{
	char text[CHILDREN_TEXT_MAX], *word, *rest = text;
	_cleanup_(fd_closep) int fd = -1;
	uint32_t pid = 0;
	size_t n = 0;
	ssize_t len;

	fd = openat(proc_fd, "thread-self/children", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	while ((word = strsep(&rest, " "))) {
		if (!rest || parse_u32(word, strlen(word), &pid) < 0)
			break; /* the last word may be cut */
		if (pid > 1 && pid <= INT32_MAX &&
		    kill((pid_t)pid, SIGKILL) == 0)
			n++;
	}
	return n;
}

/* What loses its parent becomes our child. Rounds are bounded: what forks
   faster than this ends with the sandbox. */
static void kill_all(void *ctx)
{
	const int *proc_fd = ctx;
	size_t i;

	for (i = 0; i < KILL_ROUNDS_MAX; i++) {
		size_t n = kill_children(*proc_fd);

		if (n == 0)
			return;
		while (n-- > 0 && waitpid(-1, NULL, 0) > 0)
			;
	}
}

static int become_watcher(const struct join_config *cfg, int proc_fd,
			  struct command_watch *w, struct err *err)
{
	const int *stdio = cfg->command.stdio;
	const int keep[] = { cfg->alive_fd, cfg->status_fd, proc_fd,
			     stdio[0],	    stdio[1],	    stdio[2] };

	if (prctl(PR_GET_DUMPABLE) != 0)
		return err_set(err, -EPERM, "the process can be looked into");
	if (stdio_close_others(keep, ARRAY_SIZE(keep), err) < 0)
		return -EIO;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1L) < 0)
		return err_set_errno(err, -errno, "cannot become a reaper");
	w->signal_fd = command_open_signals(err);
	if (w->signal_fd < 0)
		return w->signal_fd;
	w->pid = fork();
	if (w->pid == 0) {
		/* If this fails the command may only live longer. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		command_run(&cfg->command);
	}
	if (w->pid < 0)
		return err_set_errno(err, -errno,
				     "cannot fork the command's process");
	return caps_keep_only_kill(err);
}

static __attribute__((noreturn)) void
watcher_main(const struct join_config *cfg, int proc_fd)
{
	struct command_watch w = {
		.status_fd = cfg->status_fd,
		.end_fds = { cfg->alive_fd, -1 },
		.before_end = kill_all,
		.ctx = &proc_fd,
	};
	struct err err = { 0 };

	if (become_watcher(cfg, proc_fd, &w, &err) < 0) {
		(void)dprintf(2, "egret: %s\n", err.msg);
		kill_all(&proc_fd);
		_exit(INIT_EXIT_FAILED);
	}
	command_watch(&w);
}

/* ---- the joiner ---- */

static int join(const struct join_config *cfg, pid_t *ret_pid, struct err *err)
{
	struct clone_args args = { .flags = CLONE_PARENT };
	struct nsset rest;
	int proc_fd, r;
	size_t i;
	long pid;

	r = nsset_join(cfg->ns, err);
	if (r < 0)
		return r;
	memcpy(&rest, cfg->ns, sizeof(rest));
	proc_fd = fd_steal(&rest.fds[NSSET_PROC]);
	nsset_close(&rest);
	for (i = 0; i < cfg->n_close_fds; i++)
		(void)close(cfg->close_fds[i]);
	if (chdir(cfg->cwd) < 0 && chdir("/") < 0)
		return err_set_errno(err, -errno, "cannot enter /");
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return err_set_errno(err, -errno,
				     "cannot make a process inside");
	if (pid == 0)
		watcher_main(cfg, proc_fd);
	*ret_pid = (pid_t)pid;
	return 0;
}

static __attribute__((noreturn)) void joiner_main(const struct join_config *cfg,
						  int report_fd)
{
	struct join_report rep = { 0 };
	struct err err = { 0 };

	rep.code = join(cfg, &rep.pid, &err);
	(void)snprintf(rep.text, sizeof(rep.text), "%s", err.msg);
	/* The front sees the end of file otherwise. */
	(void)io_write_all(report_fd, &rep, sizeof(rep));
	_exit(0);
}

pid_t join_spawn(const struct join_config *cfg, struct err *err)
{
	_cleanup_(fd_closep) int rfd = -1;
	struct join_report rep = { 0 };
	int fds[2], r;
	pid_t joiner;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set_errno(err, -errno, "cannot make a pipe");
	rfd = fds[0];
	joiner = fork();
	if (joiner == 0)
		joiner_main(cfg, fds[1]);
	(void)close(fds[1]);
	if (joiner < 0)
		return err_set_errno(err, -errno, "cannot fork");
	r = io_read_full(rfd, &rep, sizeof(rep));
	while (waitpid(joiner, NULL, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return err_set(err, -EPIPE,
			       "the process that joins the sandbox ended");
	rep.text[sizeof(rep.text) - 1] = '\0';
	if (rep.code < 0)
		return err_set(err, rep.code, "%s", rep.text);
	return rep.pid;
}
