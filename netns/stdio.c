/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stdio.c - copying between the caller's sockets and the command
 *
 * Theory of operation. Runs in the front. Every socket among 0..2 that must not
 * be inherited becomes a "link": the socket outside, and one end of a pipe or
 * socketpair whose other end the command gets. Descriptors that are one and the
 * same socket share a link, so what is a connection outside is one inside:
 *
 *     socket outside --- in  lane ---> our end | command's end
 *     socket outside <-- out lane ---- our end | command's end
 *
 * Where the socket is descriptor 0 there are both lanes and a socketpair, of
 * packets if the socket keeps boundaries; otherwise only the out lane and a
 * pipe. A lane holds one bounded buffer and reads only when that is empty, so a
 * slow reader holds up its writer as it would without us.
 *
 * The end of file from outside is passed in. In the other direction the command
 * may have shut down its half, which is passed on, or closed its descriptors
 * (or ended), which isn't: the caller's socket may have other users, and it is
 * the end of the front that closes it, as the end of the command would have.
 * (Once the input is at its end too the two look alike, and count as closed.)
 *
 * The caller's socket is never made non-blocking, as that would change it for
 * everyone who shares it: single calls are made so.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "netns/stdio.h"

#define LANE_BUFFER   (64U << 10) /* bytes held, and the biggest packet */
#define DRAIN_WAIT_MS 2000 /* for a reader that takes nothing at the end */

struct end {
	struct loop_fd watch;
	int fd; /* borrowed outside, owned inside */
	bool is_socket;
};

struct lane {
	struct end *from, *to;
	bool is_outward;   /* @from is ours, inside */
	bool is_packets;   /* one read is one write */
	bool is_on;	   /* not at its end yet */
	size_t start, len; /* what of the buffer is still to be written */
	char buffer[LANE_BUFFER];
};

struct link {
	struct stdio_copy *owner;
	struct end outside, inside;
	struct lane in, out;
};

struct stdio_copy {
	struct loop *loop;
	struct link links[3];
	size_t n_links;
};

static ssize_t end_read(const struct end *e, void *data, size_t size)
{
	ssize_t n;

	do {
		n = e->is_socket ? recv(e->fd, data, size, MSG_DONTWAIT)
				 : read(e->fd, data, size);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Only sockets are written to: pipes lead out of the command. */
static ssize_t end_write(const struct end *e, const void *data, size_t len)
{
	ssize_t n;

	do {
		n = send(e->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static bool is_in_state(int fd, short state)
{
	struct pollfd pfd = { .fd = fd, .events = state };

	return poll(&pfd, 1, 0) > 0 && (pfd.revents & state);
}

/* Nothing more comes: say so on the other side. */
static void lane_finish(struct lane *l)
{
	l->is_on = false;
	l->len = 0;
	/* A failure means that it is gone already. */
	if (!l->is_outward || !is_in_state(l->from->fd, POLLHUP | POLLERR))
		(void)shutdown(l->to->fd, SHUT_WR);
}

/* Nobody takes any more: a writer inside shall notice. */
static void lane_break(struct lane *l)
{
	l->is_on = false;
	l->len = 0;
	if (!l->is_outward)
		return;
	if (l->from->is_socket) {
		(void)shutdown(l->from->fd, SHUT_RD); /* gone if it fails */
		return;
	}
	loop_del_fd(&l->from->watch);
	fd_closep(&l->from->fd);
}

/* A datagram that nobody takes is lost, as it would be without us. */
static bool is_lost(const struct lane *l, ssize_t r)
{
	return l->is_packets &&
	       (r == -EMSGSIZE || r == -ECONNREFUSED || r == -ENOBUFS ||
		r == -EDESTADDRREQ || r == -ENOTCONN);
}

/* Writes what is held. Return: whether there is room to read again. */
static bool lane_flush(struct lane *l)
{
	while (l->is_on && l->len) {
		ssize_t n = end_write(l->to, l->buffer + l->start, l->len);

		if (n == -EAGAIN)
			return false;
		if (is_lost(l, n))
			n = (ssize_t)l->len;
		if (n < 0) {
			lane_break(l);
			return false;
		}
		l->start += (size_t)n;
		l->len -= (size_t)n;
	}
	return l->is_on;
}

/* One read and write. Return: whether there may be more at once. */
static bool lane_move(struct lane *l)
{
	ssize_t n;

	if (!lane_flush(l))
		return false;
	n = end_read(l->from, l->buffer, sizeof(l->buffer));
	if (n == -EAGAIN)
		return false;
	/* The error of a datagram sent before, or an empty datagram. */
	if (l->is_packets &&
	    (n == -ECONNREFUSED ||
	     (n == 0 && !is_in_state(l->from->fd, POLLRDHUP | POLLHUP))))
		return true;
	if (n <= 0) {
		lane_finish(l);
		return false;
	}
	l->start = 0;
	l->len = (size_t)n;
	(void)lane_flush(l); /* the rest waits for EPOLLOUT */
	return true;
}

static uint32_t wanted(const struct lane *read_by, const struct lane *write_by)
{
	uint32_t events = 0;

	if (read_by->is_on && read_by->len == 0)
		events |= EPOLLIN;
	if (write_by->is_on && write_by->len)
		events |= EPOLLOUT;
	return events;
}

/*
 * The kernel reports EPOLLHUP and EPOLLERR unasked, so an end that waits for
 * nothing isn't watched at all.
 */
static int watch(struct loop *loop, struct end *e, uint32_t events,
		 loop_fd_fn *fn)
{
	if (!events || e->fd < 0) {
		loop_del_fd(&e->watch);
		return 0;
	}
	if (loop_fd_is_watching(&e->watch))
		return loop_mod_fd(&e->watch, events);
	return loop_add_fd(loop, &e->watch, e->fd, events, fn);
}

static void on_outside(struct loop_fd *w, uint32_t events);
static void on_inside(struct loop_fd *w, uint32_t events);

static int link_rearm(struct link *k)
{
	struct loop *loop = k->owner->loop;
	int r;

	r = watch(loop, &k->outside, wanted(&k->in, &k->out), on_outside);
	if (r < 0)
		return r;
	return watch(loop, &k->inside, wanted(&k->out, &k->in), on_inside);
}

static void link_turn(struct link *k)
{
	(void)lane_move(&k->in);
	(void)lane_move(&k->out);
	/* The only failure is a lack of memory; the command then sees the end
	   rather than silence. */
	if (link_rearm(k) < 0) {
		lane_break(&k->out);
		lane_finish(&k->in);
	}
}

static void on_outside(struct loop_fd *w, uint32_t events)
{
	(void)events;
	link_turn(container_of(w, struct link, outside.watch));
}

static void on_inside(struct loop_fd *w, uint32_t events)
{
	(void)events;
	link_turn(container_of(w, struct link, inside.watch));
}

/* ---- making links ---- */

/* Only what carries bytes or datagrams of a peer; never netlink or raw. */
static int check_copyable(int fd, int *ret_type, struct err *err)
{
	int domain = 0, listening = 0;
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, ret_type, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0)
		return err_set_errno(err, -errno, "descriptor %d", fd);
	if (listening)
		return err_set(err, -EOPNOTSUPP,
			       "descriptor %d is a listening socket; the "
			       "command can't have it (--publish makes one "
			       "inside)",
			       fd);
	if ((domain != AF_UNIX && domain != AF_INET && domain != AF_INET6 &&
	     domain != AF_VSOCK) ||
	    (*ret_type != SOCK_STREAM && *ret_type != SOCK_DGRAM &&
	     *ret_type != SOCK_SEQPACKET))
		return err_set(err, -EOPNOTSUPP,
			       "descriptor %d is a socket of a kind that the "
			       "command can't have",
			       fd);
	return 0;
}

/* Our end in @ret[0], the command's in @ret[1]. */
static int make_channel(bool is_pipe, int type, int ret[2])
{
	if (!is_pipe)
		return socketpair(AF_UNIX,
				  (type == SOCK_STREAM ? SOCK_STREAM
						       : SOCK_SEQPACKET) |
					  SOCK_CLOEXEC,
				  0, ret) < 0
			       ? -errno
			       : 0;
	if (pipe2(ret, O_CLOEXEC) < 0)
		return -errno;
	/* Only ours: the command's end blocks as a pipe should. */
	return fcntl(ret[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static void lane_start(struct lane *l, struct end *from, struct end *to,
		       int type)
{
	l->from = from;
	l->to = to;
	l->is_packets = type != SOCK_STREAM;
	l->is_on = true;
}

static int link_add(struct stdio_copy *c, int fd, int *ret_fd, struct err *err)
{
	_cleanup_(fd_closep) int theirs = -1;
	int type = 0, channel[2] = { -1, -1 };
	struct link *k = &c->links[c->n_links];
	bool has_input = fd == STDIN_FILENO;
	bool is_pipe;
	int r;

	k->owner = c;
	r = check_copyable(fd, &type, err);
	if (r < 0)
		return r;
	is_pipe = !has_input && type == SOCK_STREAM;
	r = make_channel(is_pipe, type, channel);
	k->inside.fd = channel[0];
	theirs = channel[1];
	c->n_links++; /* freed from here on */
	if (r < 0)
		return err_set_errno(err, r, "cannot copy descriptor %d", fd);
	k->outside.fd = fd;
	k->outside.is_socket = true;
	k->inside.is_socket = !is_pipe;
	k->out.is_outward = true;
	lane_start(&k->out, &k->inside, &k->outside, type);
	if (has_input)
		lane_start(&k->in, &k->outside, &k->inside, type);
	*ret_fd = fd_steal(&theirs);
	return 0;
}

static bool is_same_socket(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 &&
	       sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* What the command gets as @fd: as it is, by a link there is, or a new one. */
static int replace(struct stdio_copy *c, int fd, int made[3], struct err *err)
{
	if (!stdio_needs_copy(fd)) {
		made[fd] = fd;
		return 0;
	}
	for (int other = 0; other < fd; other++) {
		if (made[other] == other || !is_same_socket(fd, other))
			continue;
		made[fd] =
			fcntl(made[other], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (made[fd] < 0)
			return err_set_errno(err, -errno,
					     "cannot copy descriptor %d", fd);
		return 0;
	}
	return link_add(c, fd, &made[fd], err);
}

static int copy_start(struct stdio_copy *c, int made[3], struct err *err)
{
	int r = 0;

	for (int fd = 0; fd <= STDERR_FILENO && r == 0; fd++) {
		r = stdio_check_inherited(fd, err);
		if (r == 0)
			r = replace(c, fd, made, err);
	}
	for (size_t i = 0; i < c->n_links && r == 0; i++) {
		r = link_rearm(&c->links[i]);
		if (r < 0)
			return err_set_errno(err, r,
					     "cannot watch descriptors");
	}
	return r;
}

int stdio_copy_new(struct stdio_copy **ret, struct loop *loop, int ret_fds[3],
		   struct err *err)
{
	_cleanup_(stdio_copy_freep) struct stdio_copy *c = NULL;
	int made[3] = { -1, -1, -1 };
	int r;

	c = calloc(1, sizeof(*c));
	if (!c)
		return err_set_errno(err, -ENOMEM, "cannot copy descriptors");
	c->loop = loop;
	r = copy_start(c, made, err);
	if (r < 0) {
		for (int fd = 0; fd <= STDERR_FILENO; fd++) {
			if (made[fd] != fd)
				fd_closep(&made[fd]);
		}
		return r;
	}
	memcpy(ret_fds, made, sizeof(made));
	*ret = ptr_steal(&c);
	return 0;
}

/* Blocks until the reader takes more, or takes nothing for too long. */
static bool wait_for_reader(const struct lane *l)
{
	struct pollfd pfd = { .fd = l->to->fd, .events = POLLOUT };
	int r;

	do {
		r = poll(&pfd, 1, DRAIN_WAIT_MS);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

static void lane_drain(struct lane *l)
{
	while (l->is_on) {
		if (l->len) {
			if (!lane_flush(l) && l->is_on && !wait_for_reader(l))
				return;
		} else if (!lane_move(l) && !l->len) {
			return;
		}
	}
}

void stdio_copy_drain(struct stdio_copy *c)
{
	for (size_t i = 0; i < c->n_links; i++)
		lane_drain(&c->links[i].out);
}

void stdio_copy_free(struct stdio_copy *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_links; i++) {
		loop_del_fd(&c->links[i].outside.watch);
		loop_del_fd(&c->links[i].inside.watch);
		fd_closep(&c->links[i].inside.fd);
	}
	free(c);
}

void stdio_copy_freep(struct stdio_copy **c)
{
	stdio_copy_free(*c);
	*c = NULL;
}
