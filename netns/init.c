/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * init.c - pid 1 of the sandbox
 *
 * Theory of operation. init is cloned by the gateway inside U1 and goes through
 * stages that can't change places:
 *
 *  1. mask: in U1's mount namespace it puts the masks over the host's tree.
 *     U1 owns these mounts, so the kernel locks them for everything below.
 *  2. enter: one unshare(2) makes U2 and its mount and network namespaces. From
 *     here on init has no capability in U1 any more. It hands its netns to the
 *     gateway, which writes the id maps and builds the network.
 *  3. wait: nothing of the command runs before the gateway says GO, so no
 *     packet can come earlier than the rules.
 *  4. start: the command's process drops what it must not have and executes.
 *     init itself drops every capability and is undumpable, so that root inside
 *     can't write into it.
 *  5. reap: it forwards signals that the front sends it, reports when the
 *     command stops, and ends with the command's status; the kernel then kills
 *     all that is left in the pid namespace.
 *
 * It ends at once when the front goes away (end of file) or the gateway does
 * (PR_SET_PDEATHSIG).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/loop.h"
#include "netns/caps.h"
#include "netns/init.h"
#include "netns/scope.h"
#include "netns/seccomp.h"
#include "netns/stdio.h"

struct init {
	const struct init_config *cfg;
	pid_t cmd;
	int signal_fd;
};

/* Signals that the front passes on by sending them to init. SIGTSTP, SIGTTIN
   and SIGTTOU are among them so that stopping a job works from outside too. */
static const int forwarded_signals[] = {
	SIGHUP,	 SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,  SIGUSR2, SIGALRM,
	SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGPIPE,
};

static void tell_gateway_failed(const struct init *in, int code,
				const struct err *err)
{
	struct init_msg m = { .type = INIT_MSG_ERROR, .code = code };

	(void)snprintf(m.text, sizeof(m.text), "%s", err->msg);
	/* If this fails too the gateway sees the end of file. */
	(void)io_send_fds(in->cfg->gateway_fd, &m, sizeof(m), NULL, 0);
}

static int wait_for(const struct init *in, enum init_msg_type type)
{
	int fds[IO_FDS_MAX];
	struct init_msg m;
	size_t n_fds = 0;
	ssize_t n;

	n = io_recv_fds(in->cfg->gateway_fd, &m, sizeof(m), fds, &n_fds);
	if (n < 0)
		return (int)n;
	if (n != (ssize_t)sizeof(m) || n_fds != 0 || m.type != type)
		return -EPROTO;
	return 0;
}

static int stage_mask(const struct init *in, struct err *err)
{
	const struct init_config *cfg = in->cfg;

	return mounts_setup(&cfg->mounts, cfg->host_sockets,
			    cfg->n_host_sockets, err);
}

static int stage_enter(const struct init *in, struct err *err)
{
	_cleanup_(fd_closep) int netns = -1;
	struct init_msg m = { .type = INIT_MSG_NETNS };
	int r;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0)
		return err_set_errno(err, -errno,
				     "cannot make the sandbox's user, mount "
				     "and network namespaces");
	netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (netns < 0)
		return err_set_errno(err, -errno,
				     "cannot open the sandbox's network "
				     "namespace");
	r = io_send_fds(in->cfg->gateway_fd, &m, sizeof(m), &netns, 1);
	if (r < 0)
		return err_set_errno(err, r, "cannot reach the gateway");
	r = wait_for(in, INIT_MSG_MAPPED);
	if (r < 0)
		return err_set_errno(err, r, "the gateway did not map ids");
	/* A change of credentials clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_set_errno(err, -errno, "cannot set the parent's "
						  "death signal");
	return mounts_setup_in_u2(&in->cfg->mounts, err);
}

/* In the command's process: after the last step nothing is left but execve. */
static int confine_command(const struct init_config *cfg, struct err *err)
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

static int place_stdio(const struct init_config *cfg, struct err *err)
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
static void restore_signals(const struct init_config *cfg)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };

	if (!cfg->sigpipe_ignored)
		(void)sigaction(SIGPIPE, &sa, NULL);
	(void)sigprocmask(SIG_SETMASK, &cfg->sigmask, NULL);
}

static __attribute__((noreturn)) void run_command(const struct init_config *cfg)
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

static int stage_start(struct init *in, struct err *err)
{
	int r;

	r = wait_for(in, INIT_MSG_GO);
	if (r < 0)
		return err_set_errno(err, r, "the gateway gave no start");
	/*
	 * SECURITY: once there is a child, code of the sandbox may run beside
	 * init. It could write into a dumpable init with CAP_SYS_PTRACE of U2.
	 * The command itself becomes dumpable by execve().
	 */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_set_errno(err, -errno, "cannot become undumpable");
	in->cmd = fork();
	if (in->cmd < 0)
		return err_set_errno(err, -errno,
				     "cannot fork the command's process");
	if (in->cmd == 0)
		run_command(in->cfg);
	return caps_drop_all(err);
}

/* Exit status of a waited process as a shell would have it. */
static int shell_status(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return 128 + WTERMSIG(status);
}

static void reap(struct init *in)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != in->cmd)
			continue;
		if (WIFSTOPPED(status)) {
			struct init_report rep = { WSTOPSIG(status) };

			/* A pipe that is full already says "stopped". */
			(void)!write(in->cfg->status_fd, &rep, sizeof(rep));
			continue;
		}
		_exit(shell_status(status));
	}
}

static void handle_signal(struct init *in)
{
	struct signalfd_siginfo si;

	if (read(in->signal_fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return;
	if (si.ssi_signo == SIGCHLD) {
		reap(in);
		return;
	}
	/* The terminal signals the whole foreground group by itself: the
	   command has had it already. */
	if (si.ssi_code == SI_KERNEL)
		return;
	(void)kill(in->cmd, (int)si.ssi_signo);
}

static __attribute__((noreturn)) void stage_reap(struct init *in)
{
	struct pollfd pfd[] = {
		{ .fd = in->signal_fd, .events = POLLIN },
		{ .fd = in->cfg->front_fd, .events = POLLIN },
		{ .fd = in->cfg->gateway_fd, .events = POLLIN },
	};

	reap(in); /* a child that ended before signals were looked at */
	for (;;) {
		if (poll(pfd, ARRAY_SIZE(pfd), -1) < 0) {
			if (errno == EINTR)
				continue;
			_exit(INIT_EXIT_FAILED);
		}
		/* Nobody writes to these: anything is the end. */
		if (pfd[1].revents || pfd[2].revents)
			_exit(INIT_EXIT_FAILED);
		if (pfd[0].revents)
			handle_signal(in);
	}
}

static int open_signals(struct init *in, struct err *err)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < ARRAY_SIZE(forwarded_signals); i++)
		sigaddset(&set, forwarded_signals[i]);
	in->signal_fd = loop_signalfd(&set);
	if (in->signal_fd < 0)
		return err_set_errno(err, in->signal_fd,
				     "cannot watch signals");
	return 0;
}

static __attribute__((noreturn)) void init_main(const struct init_config *cfg)
{
	struct init in = { .cfg = cfg, .signal_fd = -1 };
	struct err err = { 0 };
	size_t i;
	int r;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(INIT_EXIT_FAILED);
	for (i = 0; i < cfg->n_close_fds; i++)
		(void)close(cfg->close_fds[i]);
	r = open_signals(&in, &err);
	if (r == 0)
		r = stage_mask(&in, &err);
	if (r == 0)
		r = stage_enter(&in, &err);
	if (r == 0)
		r = stage_start(&in, &err);
	if (r < 0) {
		tell_gateway_failed(&in, r, &err);
		_exit(INIT_EXIT_FAILED);
	}
	stage_reap(&in);
}

pid_t init_spawn(const struct init_config *cfg, struct err *err)
{
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC |
			 CLONE_NEWUTS,
		.exit_signal = SIGCHLD,
	};
	long pid;

	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return err_set_errno(err, -errno,
				     "cannot make the sandbox's pid, mount, "
				     "ipc and uts namespaces");
	if (pid == 0)
		init_main(cfg);
	return (pid_t)pid;
}
