/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * front.c - egret run's own process: outside every namespace, in the terminal
 *
 * Theory of operation. The front forks the gateway and from then on only waits
 * in its loop: for messages of the gateway, for signals, for init's report that
 * the command stopped.
 *
 * Refusals. The gateway tells which socket was refused and the front which
 * process holds it; the client waits for that (a few milliseconds at most), so
 * the front says that it has looked before it prints.
 *
 * The end. Gateway and init die when the front does. When the gateway dies
 * without a word the command has been killed with it; the front waits for that
 * and says so. Afterwards the terminal's foreground group is put back.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/loop.h"
#include "cmd/cmd.h"
#include "cmd/front.h"
#include "cmd/job.h"
#include "gateway/event.h"
#include "gateway/msg.h"
#include "gateway/report.h"
#include "netns/idmap.h"
#include "netns/procfind.h"
#include "netns/stdio.h"

struct front {
	struct front_config *cfg;
	struct loop *loop;
	struct report *report;
	struct stdio_copy *copy;
	int sock;	/* to the gateway */
	int init_pidfd; /* -1 until it is known */
	int alive_fd;	/* init sees its end of file when the front is gone */
	int status_fd;	/* struct init_report from init */
	struct job job;
	pid_t gateway_pid;
	int exit_status; /* -1: none yet */
	struct procfind procfind;
	bool ended_well; /* the gateway has told the command's status */
	struct loop_fd sock_watch, status_watch, signal_watch;
};

/* ---- printing ---- */

/* In a terminal that the command put into raw mode a bare newline would not
   return the carriage. */
static void print_line(void *ctx, const char *line)
{
	bool tty = isatty(STDERR_FILENO);
	bool colour = tty && !getenv("NO_COLOR");

	(void)ctx;
	(void)fprintf(stderr, "%segret: %s%s%s\n", colour ? "\033[33m" : "",
		      line, colour ? "\033[0m" : "", tty ? "\r" : "");
}

static void print_refusal(void *ctx, const char *line)
{
	const struct front *f = ctx;

	if (!f->cfg->quiet)
		print_line(ctx, line);
}

static void write_event(struct front *f, const struct event *e)
{
	_cleanup_(freep) char *json = NULL;
	size_t len;
	int r;

	if (f->cfg->events_fd < 0)
		return;
	r = event_json(e, f->cfg->gateway.id, &json);
	if (r == 0) {
		len = strlen(json);
		json[len] = '\n'; /* in place of the NUL: one write a line */
		r = io_write_all(f->cfg->events_fd, json, len + 1);
	}
	if (r < 0) {
		log_err("cannot write the events file any more: %s",
			strerror(-r));
		fd_closep(&f->cfg->events_fd);
	}
}

/* ---- messages of the gateway ---- */

static void find_process(struct front *f, struct event *e, int ticket)
{
	struct gw_msg seen = { .type = GW_MSG_SEEN, .value = ticket };
	struct procfind_hit hit;

	if (procfind_socket(&f->procfind, e->socket_inode, &hit)) {
		_Static_assert(sizeof(e->comm) == sizeof(hit.comm), "comm");
		e->pid = hit.pid;
		memcpy(e->comm, hit.comm, sizeof(e->comm));
	}
	if (ticket)
		/* Failing means that the gateway is gone, or stops waiting. */
		(void)gw_msg_send(f->sock, &seen, -1);
}

static void on_event(struct front *f, struct event *e, int ticket)
{
	char line[EVENT_LINE_MAX];

	find_process(f, e, ticket);
	write_event(f, e);
	switch (e->type) {
	case EVENT_REFUSED:
		if (e->reason != EVENT_REASON_UPSTREAM)
			report_refused(f->report, e);
		break;
	case EVENT_ERROR:
		print_line(f, event_sentence(e, f->cfg->gateway.id, line,
					     sizeof(line)));
		break;
	case EVENT_ALLOWED:
	case EVENT_LEARNED:
	case EVENT_CLOSED:
	case EVENT_POLICY:
	case EVENT_TYPE_MAX:
		break;
	}
}

static int map_gateway(struct front *f)
{
	struct gw_msg m = { .type = GW_MSG_MAPPED };
	struct err err = { 0 };
	int r;

	r = idmap_write(f->gateway_pid, NULL, false,
			f->cfg->gateway.plumbing.map_whole, &err);
	if (r < 0) {
		log_err("%s", err.msg);
		return r;
	}
	return gw_msg_send(f->sock, &m, -1);
}

static void finish(struct front *f, int exit_status)
{
	if (f->exit_status < 0)
		f->exit_status = exit_status;
	loop_stop(f->loop, 0);
}

static void take_init(struct front *f, int fd)
{
	pid_t pid;

	fd_closep(&f->init_pidfd);
	f->init_pidfd = fd;
	pid = procfind_pidfd_pid(fd);
	procfind_init(&f->procfind, pid > 0 ? pid : 0);
}

static void on_message(struct front *f, struct gw_msg *m, int fd)
{
	switch (m->type) {
	case GW_MSG_UNSHARED:
		if (map_gateway(f) < 0)
			finish(f, CMD_FAILED);
		break;
	case GW_MSG_INIT:
		take_init(f, fd);
		break;
	case GW_MSG_EVENT:
		on_event(f, &m->event, m->value);
		break;
	case GW_MSG_LOG:
		log_write((enum log_level)m->value, "%s", m->text);
		break;
	case GW_MSG_FAILED:
		log_err("%s", m->text);
		finish(f, CMD_FAILED);
		break;
	case GW_MSG_EXIT:
		f->ended_well = true;
		finish(f, m->value);
		break;
	case GW_MSG_JOINED:
		procfind_add(&f->procfind, m->value);
		break;
	case GW_MSG_STARTED:
	case GW_MSG_MAPPED:
	case GW_MSG_SEEN:
	case GW_MSG_MAX:
		break;
	}
}

static void on_sock(struct loop_fd *w, uint32_t events)
{
	struct front *f = container_of(w, struct front, sock_watch);
	struct gw_msg m;
	int fd = -1, r;

	(void)events;
	r = gw_msg_recv(f->sock, &m, &fd);
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r == 1) {
		on_message(f, &m, fd);
		return;
	}
	if (f->exit_status < 0)
		log_err("the gateway ended unexpectedly: the command has lost "
			"its network and was ended");
	finish(f, CMD_FAILED);
}

/* ---- signals ---- */

static void signal_init(const struct front *f, int signo)
{
	if (f->init_pidfd < 0)
		return;
	/* Failing means that init is gone: its exit is on the way. */
	(void)syscall(SYS_pidfd_send_signal, f->init_pidfd, signo, NULL, 0);
}

static void on_status(struct loop_fd *w, uint32_t events)
{
	struct front *f = container_of(w, struct front, status_watch);
	struct init_report rep;
	ssize_t n;

	(void)events;
	n = read(f->status_fd, &rep, sizeof(rep));
	if (n != (ssize_t)sizeof(rep)) {
		if (n == 0)
			loop_del_fd(w); /* init is gone */
		return;
	}
	job_stop();
}

static void on_signal(struct loop_fd *w, uint32_t events)
{
	struct front *f = container_of(w, struct front, signal_watch);
	int signo = job_read_signal(&f->job);

	(void)events;
	if (signo <= 0 || signo == SIGCHLD)
		return; /* the gateway's end is seen on its socket */
	if (f->init_pidfd < 0 && signo != SIGCONT && signo != SIGWINCH &&
	    signo != SIGTSTP) {
		/* Nothing runs yet that could decide. */
		finish(f, 128 + signo);
		return;
	}
	signal_init(f, signo);
}

/* ---- life ---- */

struct ends {
	int sock[2];   /* front, gateway */
	int alive[2];  /* init reads the end of file */
	int status[2]; /* init writes reports */
};

static void ends_close(struct ends *e)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		fd_closep(&e->sock[i]);
		fd_closep(&e->alive[i]);
		fd_closep(&e->status[i]);
	}
}

static int ends_open(struct ends *e, struct err *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, e->sock) <
		    0 ||
	    pipe2(e->alive, O_CLOEXEC) < 0 ||
	    pipe2(e->status, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set_errno(err, -errno, "cannot make a pipe");
	return 0;
}

static __attribute__((noreturn)) void be_gateway(struct front *f,
						 struct ends *e)
{
	struct front_config *cfg = f->cfg;

	fd_closep(&e->sock[0]);
	fd_closep(&e->alive[1]);
	fd_closep(&e->status[0]);
	job_close(&f->job);
	fd_closep(&cfg->events_fd);
	fd_closep(&cfg->lock_fd);
	cfg->init.front_fd = e->alive[0];
	cfg->init.status_fd = e->status[1];
	cfg->gateway.plumbing.front_sock = e->sock[1];
	cfg->gateway.plumbing.init = &cfg->init;
	_exit(gateway_run(&cfg->gateway));
}

static int start_gateway(struct front *f, struct err *err)
{
	_cleanup_(ends_close) struct ends e = { { -1, -1 },
						{ -1, -1 },
						{ -1, -1 } };
	int r, i;

	r = ends_open(&e, err);
	if (r < 0)
		return r;
	f->gateway_pid = fork();
	if (f->gateway_pid < 0)
		return err_set_errno(err, -errno, "cannot fork the gateway");
	if (f->gateway_pid == 0)
		be_gateway(f, &e);
	f->sock = fd_steal(&e.sock[0]);
	f->alive_fd = fd_steal(&e.alive[1]);
	f->status_fd = fd_steal(&e.status[0]);
	for (i = 0; i < 3; i++)
		if (f->cfg->init.command.stdio[i] > 2)
			fd_closep(&f->cfg->init.command.stdio[i]);
	return 0;
}

static int start(struct front *f, struct err *err)
{
	struct front_config *cfg = f->cfg;
	int r;

	r = job_start(&f->job, &cfg->init.command, err);
	if (r == 0)
		r = loop_new(&f->loop, err);
	if (r == 0)
		r = report_new(&f->report, f->loop, cfg->gateway.id,
			       print_refusal, f, err);
	if (r == 0)
		r = stdio_copy_new(&f->copy, f->loop, cfg->init.command.stdio,
				   err);
	if (r == 0)
		r = start_gateway(f, err);
	if (r < 0)
		return r;
	r = loop_add_fd(f->loop, &f->sock_watch, f->sock, EPOLLIN, on_sock);
	if (r == 0)
		r = loop_add_fd(f->loop, &f->status_watch, f->status_fd,
				EPOLLIN, on_status);
	if (r == 0)
		r = loop_add_fd(f->loop, &f->signal_watch, f->job.signal_fd,
				EPOLLIN, on_signal);
	if (r < 0)
		return err_set_errno(err, r, "cannot watch the gateway");
	return 0;
}

/*
 * Waits until nothing of the run is left that could do anything: init, and with
 * it the command and all its children. A gateway that has said how the command
 * ended is done as well; it only closes descriptors, for which the kernel may
 * take 40 ms (a packet socket and an inotify group wait for grace periods), and
 * nobody has to wait for that.
 */
static void wait_for_end(struct front *f)
{
	struct pollfd pfd = { .fd = f->init_pidfd, .events = POLLIN };

	fd_closep(&f->sock); /* the gateway ends by this */
	fd_closep(&f->alive_fd);
	if (f->gateway_pid > 0 && !f->ended_well)
		while (waitpid(f->gateway_pid, NULL, 0) < 0 && errno == EINTR)
			;
	if (f->init_pidfd >= 0)
		while (poll(&pfd, 1, -1) < 0 && errno == EINTR)
			;
}

static void read_last_messages(struct front *f)
{
	struct gw_msg m;
	int fd = -1;

	if (f->sock < 0)
		return;
	(void)fcntl(f->sock, F_SETFL, O_NONBLOCK);
	while (gw_msg_recv(f->sock, &m, &fd) == 1) {
		if (m.type == GW_MSG_EVENT)
			on_event(f, &m.event, 0);
		fd_closep(&fd);
	}
}

int front_run(struct front_config *cfg)
{
	struct front f = {
		.cfg = cfg,
		.sock = -1,
		.init_pidfd = -1,
		.alive_fd = -1,
		.job = JOB_INIT,
		.status_fd = -1,
		.exit_status = -1,
	};
	struct err err = { 0 };
	int r;

	r = start(&f, &err);
	if (r < 0) {
		log_err("%s", err.msg);
		f.exit_status = CMD_FAILED;
	} else if (loop_run(f.loop) < 0 && f.exit_status < 0) {
		log_err("the event loop failed");
		f.exit_status = CMD_FAILED;
	}
	read_last_messages(&f);
	wait_for_end(&f);
	if (f.copy)
		stdio_copy_drain(f.copy);
	job_end(&f.job);
	if (cfg->fail_on_refused && f.exit_status == 0 && f.report &&
	    report_n_refused(f.report) > 0)
		f.exit_status = CMD_REFUSED;
	report_free(f.report);
	stdio_copy_free(f.copy);
	loop_free(f.loop);
	fd_closep(&f.init_pidfd);
	fd_closep(&f.status_fd);
	return f.exit_status;
}
