/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway.c - the process between a sandbox and the host's network
 *
 * Theory of operation. One single-threaded loop in the host's network
 * namespace, with sockets of the gateway's namespace in its table:
 *
 *   SYNs held by the ruleset (NFLOG)  -> relay: connect, inject, move bytes
 *   DNS sockets                       -> resolver: judge, ask, learn, answer
 *   refused packets (NFLOG)           -> events for the front
 *   inotify, rtnetlink                -> policy and closed addresses anew
 *   init's pidfd                      -> the run's end
 *   front's socket                    -> refusals whose process it has looked
 *                                        for are answered; its end is ours
 *
 * All changes of the kernel's sets that one turn asks for go out in one batch,
 * in the hook before the loop sleeps; the answers that wait for them leave from
 * there.
 *
 * Whatever goes wrong after the start, the process ends: its sockets close, the
 * ruleset has no listener any more, open connections end in a reset
 * (SO_LINGER), init is killed. Nothing opens (P8).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "gateway/asker.h"
#include "gateway/control.h"
#include "gateway/gateway_internal.h"
#include "gateway/grants.h"
#include "gateway/msg.h"
#include "gateway/uses.h"
#include "netns/caps.h"
#include "netns/hostaddr.h"
#include "netns/layout.h"
#include "netns/link.h"
#include "netns/sandbox.h"
#include "nft/fw.h"
#include "nft/nflog.h"
#include "policy/policy.h"
#include "relay/relay.h"
#include "resolver/resolver.h"
#include "resolver/upstream.h"

/* Descriptors that aren't the relay's: sockets of the set-up, DNS clients,
   upstream queries, inotify. */
#define FDS_RESERVED 512U
#define FDS_MIN	     64U
/* A held SYN has at most 60 + 60 octets of headers; a refused packet is only
   read up to its ports. */
#define SYN_COPY_LEN  192
#define DROP_COPY_LEN 128
/* Between the end of the sandbox's link and that of its first process. */
#define LINK_PATIENCE_MS 300U

/* ---- telling the front ---- */

bool gateway_ask(struct gateway *gw, const struct event *e, uint32_t ticket)
{
	struct gw_msg m = { .type = GW_MSG_EVENT, .value = (int)ticket };

	memcpy(&m.event, e, sizeof(*e));
	if (e->type == EVENT_REFUSED && e->reason != EVENT_REASON_UPSTREAM)
		gw->n_refused++;
	if (gw_msg_send(gw->cfg->plumbing.front_sock, &m, -1) == 0)
		return true;
	gw->events_lost++;
	return false;
}

void gateway_tell(struct gateway *gw, const struct event *e)
{
	(void)gateway_ask(gw, e, 0); /* what is lost is counted */
}

static void tell_error(struct gateway *gw, const char *text)
{
	struct event e;

	event_init(&e, EVENT_ERROR, EVENT_KIND_NONE);
	(void)snprintf(e.text, sizeof(e.text), "%s", text);
	gateway_tell(gw, &e);
}

void gateway_error(struct gateway *gw, const char *fmt, ...)
{
	char text[EVENT_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tell_error(gw, text);
}

void gateway_fail(struct gateway *gw, const char *fmt, ...)
{
	char text[EVENT_TEXT_MAX];
	va_list ap;

	if (gw->ending)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gw->ending = true;
	(void)gw_msg_send_text(gw->cfg->plumbing.front_sock, GW_MSG_FAILED, 0,
			       text);
	loop_stop(gw->loop, -EIO);
}

static void on_broken(void *ctx, const char *why)
{
	gateway_fail(ctx, "the kernel would not close an address (%s)", why);
}

/* ---- watchers ---- */

static void on_front(struct loop_fd *w, uint32_t events)
{
	struct gateway *gw = container_of(w, struct gateway, front_watch);
	struct gw_msg m;
	int fd = -1, r;

	(void)events;
	r = gw_msg_recv(w->fd, &m, &fd);
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r == 1 && m.type == GW_MSG_SEEN) {
		asker_release(gw->asker, (uint32_t)m.value);
		return;
	}
	fd_closep(&fd);
	gw->ending = true; /* the front is gone, or isn't ours */
	loop_stop(gw->loop, -EPIPE);
}

static void on_release(void *ctx, uint32_t ticket, const uint8_t *syn,
		       size_t len)
{
	struct gateway *gw = ctx;

	if (syn)
		relay_refuse_syn(gw->relay, syn, len);
	else
		resolver_release(gw->resolver, ticket);
}

static void on_init_end(struct loop_fd *w, uint32_t events)
{
	struct gateway *gw = container_of(w, struct gateway, init_watch);
	struct gw_msg m = { .type = GW_MSG_EXIT };
	struct err err = { 0 };
	int status = 0;

	(void)events;
	if (waitpid(gw->plumbing.init_pid, &status, WNOHANG) <= 0)
		return;
	if (sandbox_recv_error(gw->plumbing.init_sock, &err) == 0) {
		gateway_fail(gw, "%s", err.msg);
		return;
	}
	/* What was refused in the last moment is reported before the end; if it
	   can't be read the end is no worse. */
	(void)nflog_read(gw->drop_watch.fd, gateway_dropped, gw,
			 &gw->nflog_lost);
	gw->ending = true;
	m.value = WIFEXITED(status) ? WEXITSTATUS(status)
				    : 128 + WTERMSIG(status);
	(void)gw_msg_send(gw->cfg->plumbing.front_sock, &m, -1);
	loop_stop(gw->loop, 0);
}

static void on_syn(void *ctx, const struct nflog_packet *p)
{
	struct gateway *gw = ctx;

	relay_syn(gw->relay, p->data, p->len);
}

static void on_syn_log(struct loop_fd *w, uint32_t events)
{
	struct gateway *gw = container_of(w, struct gateway, syn_watch);

	(void)events;
	if (nflog_read(w->fd, on_syn, gw, &gw->nflog_lost) < 0)
		gateway_fail(gw, "held connections can't be read any more");
}

static void on_drop_log(struct loop_fd *w, uint32_t events)
{
	struct gateway *gw = container_of(w, struct gateway, drop_watch);

	(void)events;
	if (nflog_read(w->fd, gateway_dropped, gw, &gw->nflog_lost) < 0)
		gateway_fail(gw, "refusals can't be read any more");
}

/* Root inside can delete the pair. It is never made again: a run whose network
   was tampered with has none. */
static void on_link_lost(struct loop_timer *t)
{
	gateway_error(container_of(t, struct gateway, link_timer),
		      "the sandbox's link was deleted from inside; this run "
		      "has no network any more");
}

static void on_link(struct loop_fd *w, uint32_t events)
{
	struct gateway *gw = container_of(w, struct gateway, link_watch);

	(void)events;
	if (link_watch_read(w->fd) == 0)
		return;
	loop_del_fd(w);
	/* The end of the sandbox deletes the pair as well, shortly before its
	   first process is seen to have ended. */
	if (loop_set_timer(gw->loop, &gw->link_timer, LINK_PATIENCE_MS,
			   on_link_lost) < 0)
		on_link_lost(&gw->link_timer);
}

static void on_before_sleep(struct loop_hook *h)
{
	struct gateway *gw = container_of(h, struct gateway, flush_hook);

	if (fw_has_pending(gw->fw))
		fw_flush(gw->fw);
}

static int watch(struct gateway *gw, struct loop_fd *w, int fd, loop_fd_fn *fn,
		 struct err *err)
{
	int r = loop_add_fd(gw->loop, w, fd, EPOLLIN, fn);

	if (r < 0)
		return err_set_errno(err, r, "cannot watch a descriptor");
	return 0;
}

static int watch_all(struct gateway *gw, struct err *err)
{
	const struct gwsock *s = &gw->plumbing.sock;
	int r;

	loop_add_hook(gw->loop, &gw->flush_hook, on_before_sleep);
	r = watch(gw, &gw->front_watch, gw->cfg->plumbing.front_sock, on_front,
		  err);
	if (r == 0)
		r = watch(gw, &gw->init_watch, gw->plumbing.init_pidfd,
			  on_init_end, err);
	if (r == 0)
		r = watch(gw, &gw->syn_watch, s->nflog_syn, on_syn_log, err);
	if (r == 0)
		r = watch(gw, &gw->drop_watch, s->nflog_drop, on_drop_log, err);
	if (r == 0)
		r = watch(gw, &gw->link_watch, s->link_watch, on_link, err);
	return r;
}

/* ---- set-up ---- */

static int raise_fd_limit(uint32_t *ret_max, struct err *err)
{
	struct rlimit rl;
	uint32_t max;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return err_set_errno(err, -errno,
				     "cannot read the limit of "
				     "descriptors");
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &rl) < 0)
		return err_set_errno(err, -errno,
				     "cannot raise the limit of "
				     "descriptors");
	if (rl.rlim_max < FDS_MIN)
		return err_set(err, -EMFILE,
			       "the hard limit of descriptors is too low; "
			       "raise it to %u at least (ulimit -Hn)",
			       FDS_MIN);
	max = rl.rlim_max > INT32_MAX ? INT32_MAX : (uint32_t)rl.rlim_max;
	*ret_max = max - (max / 2 < FDS_RESERVED ? max / 2 : FDS_RESERVED);
	return 0;
}

static int install(struct fw *fw, const struct fw_config *fc, struct err *err)
{
	int r = fw_install(fw, fc, err);

	if (r < 0)
		return err_wrap(err, r,
				"this kernel doesn't take the ruleset: it must "
				"have nftables (CONFIG_NF_TABLES) with the "
				"inet and netdev families, TPROXY, LOG, LIMIT "
				"and REJECT; 'egret doctor' tells the remedy");
	return 0;
}

static int start_fw(struct gateway *gw, struct err *err)
{
	struct gwsock *s = &gw->plumbing.sock;
	struct fw_config fc = {
		.gw_ifname = LAYOUT_GW_IFNAME,
		.inject_ifname = LAYOUT_INJ_RX_IFNAME,
		.gw_mac = LAYOUT_GW_MAC,
		.sb_mac = LAYOUT_SB_MAC,
		.relay_port = LAYOUT_RELAY_PORT,
	};
	int r;

	r = addr_parse(LAYOUT_SB_ADDR4, &fc.sb_addr4);
	if (r == 0)
		r = addr_parse(LAYOUT_SB_ADDR6, &fc.sb_addr6);
	if (r < 0)
		return err_set(err, r, "bad address in the layout");
	r = fw_new(&gw->fw, s->nfnl, err);
	if (r == 0)
		r = install(gw->fw, &fc, err);
	if (r == 0)
		r = nflog_bind(s->nflog_syn, FW_GROUP_SYN, SYN_COPY_LEN, 1,
			       err);
	/* At once as well: a refusal just before the end must not be lost, and
	   the ruleset limits their number. */
	if (r == 0)
		r = nflog_bind(s->nflog_drop, FW_GROUP_DROP, DROP_COPY_LEN, 1,
			       err);
	return r;
}

static int start_resolver(struct gateway *gw, struct err *err)
{
	struct gwsock *s = &gw->plumbing.sock;
	struct resolver_config rc = {
		.udp4_fd = fd_steal(&s->dns_udp4),
		.udp6_fd = fd_steal(&s->dns_udp6),
		.tcp4_fd = fd_steal(&s->dns_tcp4),
		.tcp6_fd = fd_steal(&s->dns_tcp6),
		.sandbox = gw->cfg->id,
	};
	int r;

	r = grants_new(&gw->grants, gw->fw, on_broken, gw);
	if (r < 0)
		return err_set_errno(err, r, "cannot start");
	r = upstream_new(&gw->upstream, gw->loop, err);
	if (r < 0)
		return r;
	return resolver_new(&gw->resolver, gw->loop, &rc, &gateway_resolver_ops,
			    gw, err);
}

static int start_relay(struct gateway *gw, uint32_t max_fds, struct err *err)
{
	struct gwsock *s = &gw->plumbing.sock;
	struct relay_config rc = {
		.listen4_fd = fd_steal(&s->relay4),
		.listen6_fd = fd_steal(&s->relay6),
		.inject_fd = fd_steal(&s->inject),
		.inject_src_mac = LAYOUT_INJ_TX_MAC,
		.inject_dst_mac = LAYOUT_INJ_RX_MAC,
		.max_fds = max_fds,
	};

	return relay_new(&gw->relay, gw->loop, &rc, &gateway_relay_ops, gw,
			 err);
}

static void on_first_load_error(void *ctx, const char *line)
{
	(void)err_set(ctx, -EINVAL, "%s", line);
}

static int start_policy(struct gateway *gw, struct err *err)
{
	struct policy *p = NULL;
	int r;

	/* Watched before it is read: no edit falls between. */
	r = policyfile_pin(gw->cfg->sources, err);
	if (r < 0)
		return r;
	r = policyfile_watch_new(&gw->watch, gw->loop, gw->cfg->sources,
				 gateway_policy_reload, gw, err);
	if (r < 0)
		return r;
	r = policyfile_load(gw->cfg->sources, &p, on_first_load_error, err);
	if (r < 0)
		return r;
	return gateway_policy_start(gw, p, err);
}

/* What is needed no more once everything is open. */
static int confine(struct err *err)
{
	int r;

	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_set_errno(err, -errno, "cannot become undumpable");
	r = caps_no_new_privs(err);
	if (r < 0)
		return r;
	return caps_keep_only_net_admin(err);
}

static int start(struct gateway *gw, struct err *err)
{
	uint32_t max_fds = 0;
	int r;

	r = plumbing_setup(&gw->plumbing, &gw->cfg->plumbing, err);
	if (r < 0)
		return r;
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_set_errno(err, -errno, "cannot ignore SIGPIPE");
	r = raise_fd_limit(&max_fds, err);
	if (r == 0)
		r = loop_new(&gw->loop, err);
	if (r == 0)
		r = hostaddr_new(&gw->hostaddr, gw->loop,
				 gateway_hostaddr_changed, gw, err);
	if (r == 0)
		r = asker_new(&gw->asker, gw->loop, &gw->plumbing.sockdiag,
			      on_release, gw, err);
	if (r == 0)
		r = start_fw(gw, err);
	if (r == 0)
		r = start_resolver(gw, err);
	if (r == 0)
		r = start_relay(gw, max_fds, err);
	if (r == 0)
		r = uses_new(&gw->uses);
	if (r == 0)
		r = start_policy(gw, err);
	if (r == 0)
		r = gateway_control_start(gw, err);
	if (r == 0)
		r = watch_all(gw, err);
	if (r == 0)
		r = confine(err);
	/* From here on a front that doesn't read must not stop the loop. */
	if (r == 0 &&
	    fcntl(gw->cfg->plumbing.front_sock, F_SETFL, O_NONBLOCK) < 0)
		r = err_set_errno(err, -errno, "cannot talk to the front");
	return r;
}

static void stop(struct gateway *gw)
{
	gw->ending = true;
	control_free(gw->control);
	policyfile_watch_free(gw->watch);
	relay_free(gw->relay);
	/* Before the resolver: it answers the questions under way. */
	upstream_freep(&gw->upstream);
	resolver_free(gw->resolver);
	asker_free(gw->asker);
	if (gw->fw)
		fw_flush(gw->fw);
	grants_free(gw->grants);
	fw_free(gw->fw);
	hostaddr_free(gw->hostaddr);
	policy_free(gw->policy);
	uses_free(gw->uses);
	loaderrors_done(&gw->load_errors);
	elem_vec_done(&gw->policy_elems);
	elem_vec_done(&gw->closed_elems);
	loop_free(gw->loop);
	plumbing_done(&gw->plumbing);
}

static void on_log(void *ctx, enum log_level level, const char *line)
{
	const struct gateway *gw = ctx;

	(void)gw_msg_send_text(gw->cfg->plumbing.front_sock, GW_MSG_LOG,
			       (int)level, line);
}

int gateway_run(const struct gateway_config *cfg)
{
	struct gateway gw = { .cfg = cfg };
	struct gw_msg started = { .type = GW_MSG_STARTED };
	struct err err = { 0 };
	int r;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return EXIT_FAILURE;
	log_set_sink(on_log, &gw);
	r = start(&gw, &err);
	if (r == 0)
		r = gw_msg_send(cfg->plumbing.front_sock, &started, -1);
	if (r == 0)
		r = sandbox_send_go(gw.plumbing.init_sock, &err);
	if (r < 0) {
		(void)gw_msg_send_text(cfg->plumbing.front_sock, GW_MSG_FAILED,
				       r, err.msg);
		stop(&gw);
		return EXIT_FAILURE;
	}
	r = loop_run(gw.loop);
	stop(&gw);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
