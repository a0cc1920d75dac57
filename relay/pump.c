/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pump.c - when the two directions of a flow run
 *
 * Both sockets are watched edge-triggered for input, from the flow's start to
 * its end, and for room only from the first time on that one was full. A round
 * trip then costs three calls each way (wait, receive, send) and a connection
 * two epoll_ctl() for adding and two for removing. Level-triggered watching
 * would need the same for a quiet flow, but two more epoll_ctl() for each time
 * that a receiver is slower than its sender, which is the normal state of bulk
 * transfers.
 *
 * The price is that what was reported must be remembered (struct side) until a
 * call says "would block", and that a flow which used up its share of a turn
 * must be run again without being reported. Such flows are on a list, and an
 * eventfd that always is readable makes the next wait return at once; it is
 * watched only while the list has members.
 *
 * Errors: a reset of one side is passed on as a reset to the other. What the
 * peer had sent before it is delivered first, as far as it goes at once: a
 * server may answer, close with unread input, and so reset. When the other
 * side is full the reset doesn't wait for it.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "relay/flow_internal.h"

#define EVENTS_INPUT (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET)
#define EVENTS_END   (EPOLLRDHUP | EPOLLHUP | EPOLLERR)

static enum flow_side other(enum flow_side s)
{
	return s == FLOW_CLIENT ? FLOW_SERVER : FLOW_CLIENT;
}

static void run_later(struct flow *f)
{
	struct relay *r = f->relay;

	if (!list_empty(&f->ready))
		return;
	list_add_tail(&r->ready, &f->ready);
	if (!r->is_kicked && loop_mod_fd(&r->kick, EPOLLIN) == 0)
		r->is_kicked = true;
}

/*
 * Nobody reads from this side any more, or can't now: then its error would
 * stay unseen.
 */
static bool has_unseen_error(const struct flow *f, enum flow_side s)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (!f->side[s].has_err)
		return false;
	if (!f->half[s].is_eof && f->side[other(s)].is_writable)
		return false;
	if (getsockopt(f->side[s].w.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return true;
	return error != 0;
}

void pump_run(struct flow *f, enum flow_side first)
{
	enum flow_side second = other(first);
	/*
	 * Both, even if the first fails: that may be a write to a side whose
	 * last bytes the second still delivers.
	 */
	int r1 = half_run(f, first);
	int r2 = half_run(f, second);

	if (r1 < 0 || r2 < 0) {
		flow_close(f, RELAY_CLOSE_RESET);
		return;
	}
	if (r1 == HALF_DONE && r2 == HALF_DONE) {
		flow_close(f, RELAY_CLOSE_END);
		return;
	}
	if (has_unseen_error(f, first) || has_unseen_error(f, second)) {
		flow_close(f, RELAY_CLOSE_RESET);
		return;
	}
	if (r1 == HALF_MORE || r2 == HALF_MORE)
		run_later(f);
}

static void on_side(struct flow *f, enum flow_side which, uint32_t events)
{
	struct side *s = &f->side[which];

	if (events & EPOLLPRI)
		s->has_urgent = true;
	if (events & EPOLLERR)
		s->has_err = true;
	if (events & EVENTS_END)
		s->has_hup = true;
	if (events & (EPOLLIN | EPOLLPRI | EVENTS_END))
		s->is_readable = !f->half[which].is_eof;
	/* Writing to what has ended fails, and the failure is wanted. */
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		s->is_writable = true;
	pump_run(f, which);
}

static void on_client(struct loop_fd *w, uint32_t events)
{
	on_side(container_of(w, struct flow, side[FLOW_CLIENT].w), FLOW_CLIENT,
		events);
}

static void on_server(struct loop_fd *w, uint32_t events)
{
	on_side(container_of(w, struct flow, side[FLOW_SERVER].w), FLOW_SERVER,
		events);
}

int pump_watch(struct flow *f, int client_fd, int server_fd)
{
	struct loop *l = f->relay->loop;
	int r;

	/* Neither has been written to, so both have room. */
	f->side[FLOW_CLIENT].is_writable = true;
	f->side[FLOW_SERVER].is_writable = true;
	r = loop_add_fd(l, &f->side[FLOW_CLIENT].w, client_fd, EVENTS_INPUT,
			on_client);
	if (r == 0)
		r = loop_add_fd(l, &f->side[FLOW_SERVER].w, server_fd,
				EVENTS_INPUT, on_server);
	return r;
}

/* One round of those that were on the list when it began. */
static void on_kick(struct loop_fd *w, uint32_t events)
{
	struct relay *r = container_of(w, struct relay, kick);
	struct list *end = &r->ready_end;

	(void)events;
	list_add_tail(&r->ready, end);
	while (r->ready.next != end) {
		struct flow *f =
			container_of(r->ready.next, struct flow, ready);

		list_del(&f->ready);
		pump_run(f, FLOW_CLIENT);
	}
	list_del(end);
	if (list_empty(&r->ready) && loop_mod_fd(&r->kick, 0) == 0)
		r->is_kicked = false;
}

int pump_init(struct relay *r, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int res;

	list_init(&r->ready);
	list_init(&r->ready_end);
	fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot create an eventfd");
	res = loop_add_fd(r->loop, &r->kick, fd, 0, on_kick);
	if (res < 0)
		return err_set_errno(err, res, "cannot watch an eventfd");
	(void)fd_steal(&fd); /* now kick.fd */
	return 0;
}

void pump_done(struct relay *r)
{
	int fd = r->kick.fd;

	if (!loop_fd_is_watching(&r->kick))
		return;
	loop_del_fd(&r->kick);
	fd_closep(&fd);
}
