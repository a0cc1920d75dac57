/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.c - talks to running sandboxes over their control sockets
 *
 * The gateway answers at once, but it may be busy or stopped, so a call has a
 * deadline. A reply is trusted as far as the gateway is; its length is bounded
 * all the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "cmd/client.h"
#include "gateway/control_json.h"

/* A reply holds some thousand entries. */
#define PAGES_MAX 1024

struct call {
	const char *id;
	int sock;
	uint64_t end_ms;
	char *text; /* of the reply, so far */
	size_t len, room;
	int fds[IO_FDS_MAX];
	size_t n_fds;
};

static void call_done(struct call *c)
{
	size_t i;

	fd_closep(&c->sock);
	for (i = 0; i < c->n_fds; i++)
		fd_closep(&c->fds[i]);
	free(c->text);
}

int client_sandboxes(struct client_sandbox *ret, struct err *err)
{
	char **ids = NULL;
	size_t i, n_ids = 0;
	int n = 0, r;

	r = rundir_living(&ids, &n_ids, err);
	if (r < 0)
		return r;
	for (i = 0; i < n_ids && n < CLIENT_SANDBOXES_MAX; i++) {
		struct client_sandbox *s = &ret[n];

		(void)snprintf(s->id, sizeof(s->id), "%s", ids[i]);
		/* It may have ended by now, which is no error. */
		if (!strcmp(s->id, ids[i]) &&
		    rundir_find_list(s->id, s->list, sizeof(s->list), NULL) ==
			    0)
			n++;
	}
	rundir_free_ids(ids, n_ids);
	return n;
}

/* Connects by the directory's descriptor where the path is too long for a
   socket address. */
static int connect_path(int sock, const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	_cleanup_(fd_closep) int dir = -1;
	char copy[PATH_MAX];

	if (strlen(path) < sizeof(sa.sun_path)) {
		memcpy(sa.sun_path, path, strlen(path) + 1);
	} else {
		(void)snprintf(copy, sizeof(copy), "%s", path);
		dir = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return -errno;
		(void)snprintf(sa.sun_path, sizeof(sa.sun_path),
			       "/proc/self/fd/%d/" RUNDIR_SOCKET, dir);
	}
	if (connect(sock, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	return 0;
}

static int connect_to(struct call *c, struct err *err)
{
	char path[PATH_MAX];
	int r;

	r = rundir_socket(c->id, path, sizeof(path), err);
	if (r < 0)
		return r == -EINVAL ? -ENOENT : r;
	c->sock =
		socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->sock < 0)
		return err_set_errno(err, -errno, "cannot make a socket");
	r = connect_path(c->sock, path);
	if (r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR)
		return err_set(err, -ENOENT, "there is no running sandbox '%s'",
			       c->id);
	if (r < 0)
		return err_set_errno(err, r, "cannot reach the sandbox %s",
				     c->id);
	return 0;
}

/* Return: 0 when the socket is ready, or -ETIMEDOUT. */
static int wait_for(const struct call *c, short events, struct err *err)
{
	struct pollfd pfd = { .fd = c->sock, .events = events };
	uint64_t now = clock_now_ms();
	int n = 0;

	while (now < c->end_ms) {
		n = poll(&pfd, 1, (int)(c->end_ms - now));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_set_errno(err, -errno, "cannot wait");
		now = clock_now_ms();
	}
	return err_set(err, -ETIMEDOUT, "the sandbox %s doesn't answer", c->id);
}

static int broken(const struct call *c, struct err *err)
{
	return err_set(err, -EPROTO, "the sandbox %s ended, or refused to talk",
		       c->id);
}

static int send_all(struct call *c, const char *text, size_t len,
		    struct err *err)
{
	ssize_t n;
	int r;

	while (len > 0) {
		n = send(c->sock, text, len, MSG_NOSIGNAL);
		if (n >= 0) {
			text += n;
			len -= (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return broken(c, err);
		r = wait_for(c, POLLOUT, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int grow_text(struct call *c)
{
	size_t room = c->room ? 2 * c->room : 16384;
	char *v = realloc(c->text, room);

	if (!v)
		return -ENOMEM;
	c->text = v;
	c->room = room;
	return 0;
}

/* Descriptors come with the first octet. */
static ssize_t receive(struct call *c)
{
	char *at = c->text + c->len;
	ssize_t n;

	if (c->len == 0)
		return io_recv_fds(c->sock, at, c->room, c->fds, &c->n_fds);
	n = recv(c->sock, at, c->room - c->len, 0);
	return n < 0 ? -errno : n;
}

static int receive_line(struct call *c, struct err *err)
{
	ssize_t n;
	int r;

	for (;;) {
		if (c->len == c->room && c->len > CONTROL_REPLY_MAX)
			return err_set(err, -EPROTO, "the reply is too long");
		if (c->len == c->room && grow_text(c) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		n = receive(c);
		if (n == -EINTR)
			continue;
		if (n == -EAGAIN) {
			r = wait_for(c, POLLIN, err);
			if (r < 0)
				return r;
			continue;
		}
		if (n <= 0)
			return broken(c, err);
		c->len += (size_t)n;
		if (c->text[c->len - 1] == '\n')
			return 0;
	}
}

static int exchange(struct call *c, json_t *request, struct err *err)
{
	char *text = json_dumps(request, JSON_COMPACT);
	size_t len;
	int r;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	len = strlen(text);
	text[len] = '\n'; /* in place of the NUL */
	r = send_all(c, text, len + 1, err);
	free(text);
	return r < 0 ? r : receive_line(c, err);
}

static int take_reply(struct call *c, json_t **ret, struct err *err)
{
	json_t *o = json_loadb(c->text, c->len, 0, NULL);
	const json_t *ok = json_object_get(o, "ok");
	const char *error = json_string_value(json_object_get(o, "error"));

	if (!json_is_boolean(ok) || (json_is_false(ok) && !error)) {
		json_decref(o);
		return err_set(err, -EPROTO,
			       "the sandbox %s gave a reply that makes no "
			       "sense",
			       c->id);
	}
	*ret = o;
	if (json_is_true(ok))
		return 0;
	return err_set(err, -EREMOTEIO, "%s", error);
}

/* @fds: NULL when none are wanted. */
static int call(const char *id, json_t *request, json_t **ret, int *fds,
		size_t *ret_n_fds, struct err *err)
{
	_cleanup_(call_done) struct call c = {
		.id = id,
		.sock = -1,
		.end_ms = clock_now_ms() + CLIENT_TIMEOUT_MS,
	};
	int r;

	r = connect_to(&c, err);
	if (r == 0)
		r = exchange(&c, request, err);
	if (r == 0)
		r = take_reply(&c, ret, err);
	if (r == 0 && fds) {
		memcpy(fds, c.fds, c.n_fds * sizeof(*fds));
		*ret_n_fds = c.n_fds;
		c.n_fds = 0; /* the caller's now */
	}
	return r;
}

int client_call_fds(const char *id, json_t *request, json_t **ret,
		    int fds[static IO_FDS_MAX], size_t *ret_n_fds,
		    struct err *err)
{
	return call(id, request, ret, fds, ret_n_fds, err);
}

int client_call(const char *id, json_t *request, json_t **ret, struct err *err)
{
	return call(id, request, ret, NULL, NULL, err);
}

static int ask_page(const char *id, json_int_t from, json_t **ret,
		    struct err *err)
{
	_cleanup_(json_decrefp) json_t *request = NULL;
	json_t *reply = NULL;
	int r;

	request = json_pack("{ss sI}", "op", "show", "entries_from", from);
	if (!request)
		return err_set(err, -ENOMEM, "out of memory");
	r = client_call(id, request, &reply, err);
	if (r == 0)
		*ret = reply;
	else
		json_decref(reply);
	return r;
}

int client_show(const char *id, json_t **ret, struct err *err)
{
	_cleanup_(json_decrefp) json_t *all = NULL;
	json_t *page, *next;
	int i, r;

	r = ask_page(id, 0, &all, err);
	if (r < 0)
		return r;
	next = json_incref(json_object_get(all, "entries_next"));
	for (i = 0; next && i < PAGES_MAX; i++) {
		json_int_t from = json_integer_value(next);

		json_decref(next);
		page = NULL;
		r = ask_page(id, from, &page, err);
		if (r < 0)
			return r;
		(void)json_array_extend(json_object_get(all, "entries"),
					json_object_get(page, "entries"));
		next = json_incref(json_object_get(page, "entries_next"));
		json_decref(page);
	}
	json_decref(next);
	(void)json_object_del(all, "ok");
	(void)json_object_del(all, "entries_next");
	*ret = ptr_steal(&all);
	return 0;
}
