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
 *     here on init has no capability in U1 any more. It hands its namespaces to
 *     the gateway, which writes the id maps and builds the network, and gives
 *     them to `egret exec` later.
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
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sched.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "netns/caps.h"
#include "netns/init.h"
#include "netns/nsset.h"

struct init {
	const struct init_config *cfg;
	struct nsset ns;
	pid_t cmd;
	int signal_fd;
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

static int stage_mask(struct init *in, struct err *err)
{
	const struct init_config *cfg = in->cfg;
	int r;

	r = mounts_setup(&cfg->mounts, cfg->host_sockets, cfg->n_host_sockets,
			 err);
	if (r < 0)
		return r;
	/* Of this mount namespace, which nobody inside can change. */
	return nsset_open_proc(&in->ns, err);
}

static int stage_enter(struct init *in, struct err *err)
{
	struct init_msg m = { .type = INIT_MSG_INSIDE };
	int r;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0)
		return err_set_errno(err, -errno,
				     "cannot make the sandbox's user, mount "
				     "and network namespaces");
	r = nsset_open_own(&in->ns, err);
	if (r < 0)
		return r;
	r = io_send_fds(in->cfg->gateway_fd, &m, sizeof(m),
			&in->ns.fds[NSSET_INSIDE], NSSET_MAX - NSSET_INSIDE);
	nsset_close(&in->ns);
	if (r < 0)
		return err_set_errno(err, r, "cannot reach the gateway");
	r = wait_for(in, INIT_MSG_MAPPED);
	if (r < 0)
		return err_set_errno(err, r, "the gateway did not map ids");
	/* A change of credentials clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_set_errno(err, -errno,
				     "cannot set the parent's "
				     "death signal");
	return mounts_setup_in_u2(&in->cfg->mounts, err);
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
		command_run(&in->cfg->command);
	return caps_drop_all(err);
}

static __attribute__((noreturn)) void stage_reap(const struct init *in)
{
	const struct command_watch w = {
		.pid = in->cmd,
		.signal_fd = in->signal_fd,
		.status_fd = in->cfg->status_fd,
		.end_fds = { in->cfg->front_fd, in->cfg->gateway_fd },
	};

	command_watch(&w);
}

static __attribute__((noreturn)) void init_main(const struct init_config *cfg)
{
	struct init in = { .cfg = cfg, .signal_fd = -1 };
	struct err err = { 0 };
	size_t i;
	int r;

	nsset_init(&in.ns);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(INIT_EXIT_FAILED);
	for (i = 0; i < cfg->n_close_fds; i++)
		(void)close(cfg->close_fds[i]);
	in.signal_fd = command_open_signals(&err);
	r = in.signal_fd < 0 ? in.signal_fd : stage_mask(&in, &err);
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
