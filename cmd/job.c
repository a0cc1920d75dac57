/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job.c - a process of ours in the terminal, in front of a sandboxed command
 *
 * Theory of operation. The command stays in the front's process group, so what
 * the terminal sends (Ctrl-C, Ctrl-Z, window size) reaches it directly, as it
 * would without egret. The front has all of these blocked and reads them from a
 * signalfd: what a terminal sent (SI_KERNEL) is done already, what a process
 * sent to the front is passed on. The front itself stops only when the command
 * has stopped, and continues it when it is continued.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "cmd/job.h"
#include "netns/command.h"

static const int watched_signals[] = {
	SIGHUP,	 SIGINT,  SIGQUIT, SIGTERM,  SIGUSR1, SIGUSR2,
	SIGALRM, SIGCONT, SIGTSTP, SIGWINCH, SIGCHLD,
};

static int block_signals(struct job *j, struct command_config *cc,
			 struct err *err)
{
	struct sigaction sa;
	sigset_t set;
	size_t i;

	if (sigprocmask(SIG_SETMASK, NULL, &cc->sigmask) < 0 ||
	    sigaction(SIGPIPE, NULL, &sa) < 0)
		return err_set_errno(err, -errno, "cannot read the signals");
	cc->sigpipe_ignored = sa.sa_handler == SIG_IGN;
	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(watched_signals); i++)
		sigaddset(&set, watched_signals[i]);
	j->signal_fd = loop_signalfd(&set);
	if (j->signal_fd < 0)
		return err_set_errno(err, j->signal_fd, "cannot watch signals");
	sa.sa_handler = SIG_IGN;
	if (!cc->sigpipe_ignored && sigaction(SIGPIPE, &sa, NULL) < 0)
		return err_set_errno(err, -errno, "cannot ignore SIGPIPE");
	return 0;
}

int job_start(struct job *j, struct command_config *ret, struct err *err)
{
	if (getrlimit(RLIMIT_NOFILE, &ret->nofile) < 0)
		return err_set_errno(err, -errno,
				     "cannot read the limit of descriptors");
	j->tty_fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (j->tty_fd >= 0)
		j->tty_pgrp = tcgetpgrp(j->tty_fd);
	return block_signals(j, ret, err);
}

int job_read_signal(const struct job *j)
{
	struct signalfd_siginfo si;

	if (read(j->signal_fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return 0;
	/* From the terminal: the command had it as well. */
	if (si.ssi_code == SI_KERNEL && si.ssi_signo != SIGCONT)
		return 0;
	return (int)si.ssi_signo;
}

void job_stop(void)
{
	(void)kill(getpid(), SIGSTOP); /* for the shell to see */
}

void job_close(struct job *j)
{
	fd_closep(&j->signal_fd);
	fd_closep(&j->tty_fd);
}

/* A shell inside may have made itself the foreground group. */
static void restore_terminal(const struct job *j)
{
	sigset_t set, old;

	if (j->tty_fd < 0 || j->tty_pgrp <= 0 || j->tty_pgrp != getpgrp() ||
	    tcgetpgrp(j->tty_fd) == j->tty_pgrp)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &set, &old);
	(void)tcsetpgrp(j->tty_fd, j->tty_pgrp);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
}

void job_end(struct job *j)
{
	restore_terminal(j);
	job_close(j);
}
