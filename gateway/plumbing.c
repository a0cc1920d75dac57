/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plumbing.c - namespaces, links and sockets of one run
 *
 * Theory of operation. The order is forced:
 *
 *  1. unshare(CLONE_NEWUSER) wants a single thread, and the front has to write
 *     the id maps of U1 while the process is still dumpable.
 *  2. init is forked before any helper thread exists (a fork of a threaded
 *     process is delicate). It masks files while step 3 goes on beside it.
 *  3. A helper thread makes the gateway's netns and all that lies in it; it
 *     holds its capabilities only until its sockets are open, and then ends.
 *     The sockets keep the namespace alive.
 *  4. init's namespaces arrive; the pair of links joins both. A second helper
 *     sets the sandbox's end up and ends as well.
 *
 * After this no thread of the gateway stands in another netns, and none is left
 * that could make further sockets there. The one socket that was made in the
 * sandbox's netns can only ask which sockets there are.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "gateway/msg.h"
#include "gateway/plumbing.h"
#include "netns/idmap.h"
#include "netns/layout.h"
#include "netns/link.h"
#include "netns/nsthread.h"
#include "netns/sandbox.h"
#include "netns/sockdiag.h"
#include "netns/sysctl.h"

static int enter_u1(const struct plumbing_config *cfg, struct err *err)
{
	struct gw_msg m = { .type = GW_MSG_UNSHARED };
	int r, fd = -1;

	r = sandbox_enter_u1(err);
	if (r < 0)
		return r;
	r = gw_msg_send(cfg->front_sock, &m, -1);
	if (r < 0)
		return err_set_errno(err, r, "cannot reach the front");
	r = gw_msg_recv(cfg->front_sock, &m, &fd);
	if (r <= 0 || m.type != GW_MSG_MAPPED)
		return err_set(err, -EPROTO, "the front did not map ids");
	/* A change of credentials may have cleared it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_set_errno(err, -errno,
				     "cannot set the parent's "
				     "death signal");
	return 0;
}

/* The user's descriptors are the command's from now on. */
static int let_go_of_stdio(const struct init_config *ic, struct err *err)
{
	const struct command_config *cc = &ic->command;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	size_t i;
	int fd;

	if (null < 0)
		return err_set_errno(err, -errno, "cannot open /dev/null");
	for (fd = 0; fd < 3; fd++) {
		if (cc->stdio[fd] > 2)
			(void)close(cc->stdio[fd]);
		if (null != fd && dup2(null, fd) < 0)
			return err_set_errno(err, -errno,
					     "cannot let go of descriptor %d",
					     fd);
	}
	if (null > 2)
		(void)close(null);
	for (i = 0; i < cc->n_keep_fds; i++)
		(void)close(cc->keep_fds[i]);
	(void)close(ic->front_fd);
	(void)close(ic->status_fd);
	return 0;
}

static int start_init(struct plumbing *p, const struct plumbing_config *cfg,
		      struct err *err)
{
	struct gw_msg m = { .type = GW_MSG_INIT };
	int sv[2], own[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		return err_set_errno(err, -errno, "cannot make a socket pair");
	own[0] = p->init_sock = sv[0];
	own[1] = cfg->front_sock;
	cfg->init->gateway_fd = sv[1];
	cfg->init->close_fds = own;
	cfg->init->n_close_fds = ARRAY_SIZE(own);
	p->init_pid = init_spawn(cfg->init, err);
	(void)close(sv[1]);
	if (p->init_pid < 0)
		return (int)p->init_pid;
	p->init_pidfd = loop_pidfd(p->init_pid);
	if (p->init_pidfd < 0)
		return err_set_errno(err, p->init_pidfd,
				     "cannot watch the sandbox's first "
				     "process");
	r = gw_msg_send(cfg->front_sock, &m, p->init_pidfd);
	if (r < 0)
		return err_set_errno(err, r, "cannot reach the front");
	/* Only now: init and the command stay in the terminal's session. */
	if (setsid() < 0)
		return err_set_errno(err, -errno,
				     "cannot leave the terminal's session");
	return let_go_of_stdio(cfg->init, err);
}

/* Jobs of the gateway netns's helper thread. */
static int job_inject_pair(void *arg, struct err *err)
{
	int r;

	(void)arg;
	r = link_create_inject_pair(err);
	if (r < 0)
		return r;
	/* Most of the work, done while init is still at its masks. */
	return sysctl_setup_gateway(err);
}

struct gateway_job {
	int sandbox_netns;
	struct gwsock *sock;
};

static int job_gateway(void *arg, struct err *err)
{
	struct gateway_job *job = arg;
	int r;

	r = link_create_pair(job->sandbox_netns, err);
	/* Before the addresses: a netns may have IPv6 disabled by the host. */
	if (r == 0)
		r = sysctl_setup_link(LAYOUT_GW_IFNAME, err);
	if (r == 0)
		r = link_setup_gateway(err);
	if (r == 0)
		r = gwsock_open(job->sock, err);
	return r;
}

/* The end that came up first sends nothing before the kernel has seen to it;
   the first DNS answers would be lost. */
static int job_wait(void *arg, struct err *err)
{
	int r;

	(void)arg;
	r = link_wait_running(LAYOUT_GW_IFNAME, err);
	if (r < 0)
		return r;
	return link_wait_running(LAYOUT_INJ_TX_IFNAME, err);
}

static int job_sandbox(void *arg, struct err *err)
{
	struct plumbing *p = arg;
	int r;

	r = link_setup_sandbox(err);
	if (r < 0)
		return r;
	/* A kernel that can't tell only leaves refusals without a process. */
	(void)sockdiag_open(&p->sockdiag, LAYOUT_SB_IFNAME, NULL);
	return 0;
}

static int join_sandbox(struct plumbing *p, struct nsthread *gw, int netns,
			struct err *err)
{
	_cleanup_(nsthread_freep) struct nsthread *sb = NULL;
	struct gateway_job job = { netns, &p->sock };
	int r;

	r = nsthread_call(gw, job_gateway, &job, err);
	if (r < 0)
		return r;
	r = nsthread_new(&sb, netns, err);
	if (r < 0)
		return r;
	r = nsthread_call(sb, job_sandbox, p, err);
	if (r < 0)
		return r;
	return nsthread_call(gw, job_wait, NULL, err);
}

int plumbing_setup(struct plumbing *p, const struct plumbing_config *cfg,
		   struct err *err)
{
	_cleanup_(nsthread_freep) struct nsthread *gw = NULL;
	int r;

	memset(p, 0, sizeof(*p));
	gwsock_init(&p->sock);
	sockdiag_init(&p->sockdiag);
	nsset_init(&p->ns);
	p->init_pidfd = p->init_sock = -1;
	r = enter_u1(cfg, err);
	if (r == 0)
		r = start_init(p, cfg, err);
	if (r == 0)
		r = nsset_open_u1(&p->ns, err);
	if (r == 0)
		r = nsthread_new(&gw, -1, err);
	if (r == 0)
		r = nsthread_call(gw, job_inject_pair, NULL, err);
	if (r == 0)
		r = sandbox_recv_inside(p->init_sock, &p->ns, err);
	if (r == 0)
		r = idmap_write(p->init_pid, NULL, cfg->init->command.as_root,
				cfg->map_whole, err);
	if (r == 0)
		r = sandbox_send_mapped(p->init_sock, err);
	if (r == 0)
		r = join_sandbox(p, gw, p->ns.fds[NSSET_NET], err);
	return r;
}

void plumbing_done(struct plumbing *p)
{
	gwsock_close(&p->sock);
	sockdiag_close(&p->sockdiag);
	fd_closep(&p->init_pidfd);
	fd_closep(&p->init_sock);
	nsset_close(&p->ns);
}
