/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control.c - the control socket's clients
 *
 * Theory of operation. A client has one line of input and one reply of output.
 * A request is answered when its line is complete and the reply before it has
 * been taken; meanwhile nothing more is read, so a peer that doesn't read holds
 * up only itself. One request a turn of the loop and client, so that DNS and
 * connections don't wait for a row of them.
 *
 *   reading -- newline --> answered -> writing -- all taken --> reading
 *
 * A line or a reply under way has CONTROL_PATIENCE_MS. A client between two
 * requests may stay; when all places are taken, the one that has been idle
 * longest makes way.
 *
 * SECURITY. Who can connect can change the policy. The directory is the user's
 * alone and hidden from the sandbox. Should a sandboxed process reach the
 * socket all the same, it has the user's id, but never the network namespace of
 * the gateway: an accepted socket has its peer's, and its cookie is compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "gateway/control.h"

#define BACKLOG	 16
#define PAUSE_MS CLOCK_MS_PER_S

struct client {
	struct loop_fd w;
	struct loop_timer patience; /* a line or a reply is under way */
	struct loop_timer again;    /* another line is here already */
	struct control *control;
	pid_t pid;
	uint64_t since_ms; /* when it became idle */
	bool is_used, is_eof;
	bool is_last; /* close when the reply is out */
	char *in;     /* CONTROL_REQUEST_MAX + 1, NULL while empty */
	size_t n_in;
	struct control_reply reply;
	size_t n_sent;
};

struct control {
	struct loop *loop;
	control_answer_fn *answer;
	void *ctx;
	uid_t uid;
	uint64_t cookie; /* of our network namespace; 0: unknown */
	struct loop_fd w;
	struct loop_timer pause;
	struct client clients[CONTROL_CLIENTS_MAX];
	struct control_stats stats;
};

/* ---- replies ---- */

void control_ok(struct control_reply *r)
{
	control_put_bool(&r->text, "ok", true);
}

void control_refuse(struct control_reply *r, const char *fmt, ...)
{
	char text[ERR_MSG_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	control_put_bool(&r->text, "ok", false);
	control_put_str(&r->text, "error", text);
}

static void reply_clear(struct client *c)
{
	control_text_done(&c->reply.text);
	c->reply.n_fds = 0;
	c->n_sent = 0;
}

static void reply_seal(struct client *c)
{
	struct control_text *t = &c->reply.text;

	control_close(t);
	if (t->is_bad || t->depth) {
		reply_clear(c);
		control_open_object(t, NULL);
		control_refuse(&c->reply, "the reply could not be made");
		control_close(t);
	}
}

/* ---- one client ---- */

static void client_close(struct client *c)
{
	int fd = c->w.fd;

	loop_del_fd(&c->w);
	loop_del_timer(&c->patience);
	loop_del_timer(&c->again);
	fd_closep(&fd);
	freep(&c->in);
	reply_clear(c);
	c->is_used = false;
	c->control->stats.clients--;
}

static bool is_writing(const struct client *c)
{
	return c->reply.text.len > 0;
}

static bool is_idle(const struct client *c)
{
	return !is_writing(c) && c->n_in == 0;
}

static void on_patience(struct loop_timer *t)
{
	struct client *c = container_of(t, struct client, patience);

	c->control->stats.too_slow++;
	client_close(c);
}

/* Return: 0 when all was sent, -EAGAIN, or negative errno. */
static int send_some(struct client *c)
{
	static const char newline = '\n';
	struct control_reply *r = &c->reply;

	while (c->n_sent <= r->text.len) {
		bool is_end = c->n_sent == r->text.len;
		const char *at = is_end ? &newline : r->text.v + c->n_sent;
		size_t len = is_end ? 1 : r->text.len - c->n_sent;
		ssize_t n;

		if (r->n_fds) {
			/* With the first octet alone: it goes or it doesn't. */
			int e = io_send_fds(c->w.fd, at, 1, r->fds, r->n_fds);

			if (e < 0)
				return e;
			r->n_fds = 0;
			n = 1;
		} else {
			n = send(c->w.fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		c->n_sent += (size_t)n;
	}
	return 0;
}

static void answer(struct client *c, const char *line, size_t len)
{
	struct control_request rq;
	struct err err = { 0 };

	c->control->stats.requests++;
	control_open_object(&c->reply.text, NULL);
	if (control_decode(line, len, &rq, &err) < 0) {
		control_refuse(&c->reply, "%s", err.msg);
	} else {
		rq.peer = c->pid;
		c->control->answer(c->control->ctx, &rq, &c->reply);
	}
	reply_seal(c);
}

/* Answers the first line, if there is a whole one. */
static bool take_line(struct client *c)
{
	char *end = c->n_in ? memchr(c->in, '\n', c->n_in) : NULL;
	size_t len;

	if (!end && c->n_in > CONTROL_REQUEST_MAX) {
		c->is_last = true;
		c->n_in = 0;
		control_open_object(&c->reply.text, NULL);
		control_refuse(&c->reply, "the request is too long; at most "
					  "64 KiB are taken");
		reply_seal(c);
		return true;
	}
	if (!end && !(c->is_eof && c->n_in))
		return false;
	len = end ? (size_t)(end - c->in) : c->n_in;
	answer(c, c->in, len);
	len += end ? 1 : 0;
	c->n_in -= len;
	memmove(c->in, c->in + len, c->n_in);
	return true;
}

/* Return: false when the client is gone. */
static bool read_some(struct client *c)
{
	ssize_t n;

	if (!c->in)
		c->in = malloc(CONTROL_REQUEST_MAX + 1);
	if (!c->in)
		return false;
	n = recv(c->w.fd, c->in + c->n_in, CONTROL_REQUEST_MAX + 1 - c->n_in,
		 MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->is_eof = n == 0;
	c->n_in += (size_t)n;
	return true;
}

static bool has_line(const struct client *c)
{
	return c->in && c->n_in && (c->is_eof || memchr(c->in, '\n', c->n_in));
}

static void on_again(struct loop_timer *t);

/* Sets events and timers for what comes next. Return: 0 or negative errno. */
static int rearm(struct client *c, bool has_progress)
{
	uint32_t events = is_writing(c) ? EPOLLOUT : c->is_eof ? 0 : EPOLLIN;
	struct loop *l = c->control->loop;
	int r = loop_mod_fd(&c->w, events);

	if (is_idle(c)) {
		loop_del_timer(&c->patience);
		freep(&c->in);
	} else if (r == 0 &&
		   (has_progress || !loop_timer_is_set(&c->patience))) {
		r = loop_set_timer(l, &c->patience, CONTROL_PATIENCE_MS,
				   on_patience);
	}
	if (r == 0 && !is_writing(c) && has_line(c))
		r = loop_set_timer(l, &c->again, 0, on_again);
	return r;
}

/* Whatever can be done now, but at most one request. */
static void step(struct client *c)
{
	size_t before = c->n_sent;
	bool has_answered = false;
	int r = 0;

	if (!is_writing(c))
		has_answered = take_line(c);
	if (is_writing(c)) {
		r = send_some(c);
		if (r < 0 && r != -EAGAIN) {
			client_close(c);
			return;
		}
		if (r == 0)
			reply_clear(c);
	}
	if (!is_writing(c) && (c->is_last || (c->is_eof && !c->n_in))) {
		client_close(c);
		return;
	}
	if (is_idle(c))
		c->since_ms = clock_now_ms();
	if (rearm(c, has_answered || c->n_sent != before) < 0)
		client_close(c);
}

static void on_again(struct loop_timer *t)
{
	step(container_of(t, struct client, again));
}

static void on_client(struct loop_fd *w, uint32_t events)
{
	struct client *c = container_of(w, struct client, w);
	bool may_read = !is_writing(c) && !c->is_eof;

	/* A peer that is gone altogether takes no reply; its last request is
	   still obeyed. */
	if ((events & (EPOLLERR | EPOLLHUP)) && !(events & EPOLLIN)) {
		client_close(c);
		return;
	}
	if ((events & EPOLLIN) && may_read && !read_some(c)) {
		client_close(c);
		return;
	}
	step(c);
}

/* ---- accepting ---- */

static uint64_t netns_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	/* Since Linux 5.14. */
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) < 0)
		return 0;
	return cookie;
}

static bool may_serve(const struct control *ctl, int fd, pid_t *ret_pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	/* Ids that our user namespace doesn't have read as the overflow id,
	   which is never ours. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	*ret_pid = cred.pid;
	return (cred.uid == ctl->uid || cred.uid == 0) &&
	       netns_cookie(fd) == ctl->cookie;
}

/* A free place, or that of the client that has been idle longest. */
static struct client *find_place(struct control *ctl)
{
	struct client *oldest = NULL;
	size_t i;

	for (i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct client *c = &ctl->clients[i];

		if (!c->is_used)
			return c;
		if (is_idle(c) && (!oldest || c->since_ms < oldest->since_ms))
			oldest = c;
	}
	if (oldest) {
		ctl->stats.displaced++;
		client_close(oldest);
	}
	return oldest;
}

/* Takes @fd. */
static void add_client(struct control *ctl, int fd)
{
	_cleanup_(fd_closep) int own = fd;
	struct client *c;
	pid_t pid = 0;

	if (!may_serve(ctl, own, &pid)) {
		ctl->stats.refused++;
		return;
	}
	c = find_place(ctl);
	if (!c)
		return; /* all are busy: this one sees the end at once */
	memset(c, 0, sizeof(*c));
	c->control = ctl;
	c->pid = pid;
	c->since_ms = clock_now_ms();
	if (loop_add_fd(ctl->loop, &c->w, own, EPOLLIN, on_client) < 0)
		return;
	(void)fd_steal(&own);
	c->is_used = true;
	ctl->stats.clients++;
}

static void on_resume(struct loop_timer *t)
{
	struct control *ctl = container_of(t, struct control, pause);

	if (loop_mod_fd(&ctl->w, EPOLLIN) < 0)
		(void)loop_set_timer(ctl->loop, t, PAUSE_MS, on_resume);
}

static void on_accept(struct loop_fd *w, uint32_t events)
{
	struct control *ctl = container_of(w, struct control, w);
	int fd;

	(void)events; /* accept4() tells */
	fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		add_client(ctl, fd);
		return;
	}
	if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
	    errno != ENOMEM)
		return;
	/* Else it would be reported, and fail, over and over. */
	ctl->stats.pauses++;
	if (loop_set_timer(ctl->loop, &ctl->pause, PAUSE_MS, on_resume) == 0)
		(void)loop_mod_fd(w, 0); /* failing, it is only busier */
}

/* ---- life ---- */

/* Binds by the directory's descriptor where the path is too long for a socket
   address. */
static int bind_path(int fd, const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	_cleanup_(fd_closep) int dir = -1;
	char copy[PATH_MAX];
	int n;

	if (strlen(path) >= sizeof(copy))
		return -ENAMETOOLONG;
	if (strlen(path) < sizeof(sa.sun_path)) {
		memcpy(sa.sun_path, path, strlen(path) + 1);
	} else {
		memcpy(copy, path, strlen(path) + 1);
		dir = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return -errno;
		n = snprintf(sa.sun_path, sizeof(sa.sun_path),
			     "/proc/self/fd/%d/%s", dir,
			     strrchr(path, '/') + 1);
		if (n < 0 || (size_t)n >= sizeof(sa.sun_path))
			return -ENAMETOOLONG;
	}
	if (bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	return 0;
}

int control_listen(const char *path, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set_errno(err, -errno,
				     "cannot make the control socket");
	(void)unlink(path); /* what a dead run left, if anything */
	r = bind_path(fd, path);
	if (r == 0 && (chmod(path, 0600) < 0 || listen(fd, BACKLOG) < 0))
		r = -errno;
	if (r < 0)
		return err_set_errno(err, r, "cannot make %s", path);
	return fd_steal(&fd);
}

int control_new(struct control **ret, struct loop *loop, int listen_fd,
		control_answer_fn *answer_fn, void *ctx, struct err *err)
{
	_cleanup_(fd_closep) int fd = listen_fd;
	struct control *ctl = calloc(1, sizeof(*ctl));
	int r;

	if (!ctl)
		return err_set(err, -ENOMEM, "out of memory");
	ctl->loop = loop;
	ctl->answer = answer_fn;
	ctl->ctx = ctx;
	ctl->uid = geteuid();
	ctl->cookie = netns_cookie(fd);
	r = loop_add_fd(loop, &ctl->w, fd, EPOLLIN, on_accept);
	if (r < 0) {
		free(ctl);
		return err_set_errno(err, r, "cannot watch the control socket");
	}
	(void)fd_steal(&fd); /* closed by control_free() */
	*ret = ctl;
	return 0;
}

void control_free(struct control *c)
{
	size_t i;
	int fd;

	if (!c)
		return;
	for (i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (c->clients[i].is_used)
			client_close(&c->clients[i]);
	loop_del_timer(&c->pause);
	fd = c->w.fd;
	loop_del_fd(&c->w);
	fd_closep(&fd);
	free(c);
}

void control_freep(struct control **c)
{
	control_free(*c);
	*c = NULL;
}

void control_get_stats(const struct control *c, struct control_stats *ret)
{
	*ret = c->stats;
}
