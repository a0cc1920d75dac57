/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop.c - the event loop: descriptors, signals, children, hooks
 *
 * A turn waits for descriptors, calls their watchers, then the timers that are
 * due, then the hooks. Watchers live in their owners and may vanish in any
 * callback, so nothing may point at one that has been removed:
 *
 * - epoll gives pointers to watchers. The batch of a turn stays in
 *   loop->ready, and each watcher in it knows its place (slot). Removing one
 *   clears the place, and the rest of the batch skips it. So a callback never
 *   comes after removal, also when memory or the descriptor's number has been
 *   used again within the turn.
 * - Entries that epoll reports lie in the batch from the wait on; a watcher
 *   that is added later in the turn has no place and waits for the next one.
 * - Hooks are walked with a marker node of the loop's own, so that the current
 *   hook, the next one, or any other may be removed.
 * - Timers are in timer.c; the loop calls only the earliest until none is due.
 *
 * A removed watcher whose descriptor was closed first would stay in epoll while
 * a duplicate is open somewhere; that is why the owner removes before closing.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/timer_internal.h"

/* Events a turn; more wait for the next, so timers and hooks get their turn. */
#define READY_MAX 256

#define NS_PER_MS 1000000U

struct loop {
	int epoll_fd;
	bool stopped;
	int value; /* of loop_stop() */
	struct timer_heap timers;
	struct list hooks;
	struct list marker; /* stands behind the hook being called */
	int n_ready;	    /* used entries of ready, 0 outside a turn */
	struct epoll_event ready[READY_MAX];
};

int loop_new(struct loop **ret, struct err *err)
{
	_cleanup_(loop_freep) struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set(err, -ENOMEM, "no memory for the event loop");
	list_init(&l->hooks);
	list_init(&l->marker);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0)
		return err_set_errno(err, -errno, "cannot create an epoll");
	*ret = ptr_steal(&l);
	return 0;
}

void loop_free(struct loop *l)
{
	struct list *pos, *tmp;

	if (!l)
		return;
	/* Owners may outlive the loop and remove their watchers later. */
	list_for_each_safe (pos, tmp, &l->hooks) {
		loop_del_hook(container_of(pos, struct loop_hook, node));
	}
	timer_heap_done(&l->timers);
	fd_closep(&l->epoll_fd);
	freep(&l);
}

void loop_freep(struct loop **l)
{
	loop_free(*l);
	*l = NULL;
}

int loop_add_fd(struct loop *l, struct loop_fd *w, int fd, uint32_t events,
		loop_fd_fn *fn)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	assert(!w->loop);
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return -errno;
	w->loop = l;
	w->fd = fd;
	w->fn = fn;
	w->events = events;
	w->slot = 0;
	return 0;
}

int loop_mod_fd(struct loop_fd *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (!w->loop)
		return -EBADF;
	if (w->events == events)
		return 0;
	if (epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_MOD, w->fd, &ev) < 0)
		return -errno;
	w->events = events;
	return 0;
}

void loop_del_fd(struct loop_fd *w)
{
	int saved = errno;
	struct loop *l = w->loop;

	if (!l)
		return;
	if (w->slot > 0)
		l->ready[w->slot - 1].data.ptr = NULL;
	/* Fails only if the owner closed it before, and then it's gone. */
	(void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	w->slot = 0;
	w->loop = NULL;
	w->fd = -1;
	errno = saved;
}

bool loop_fd_is_watching(const struct loop_fd *w)
{
	return w->loop != NULL;
}

int loop_set_timer(struct loop *l, struct loop_timer *t, uint64_t after_ms,
		   loop_timer_fn *fn)
{
	/* Rounded up, because a timer must not fire early. */
	uint64_t now = (clock_now_ns() + NS_PER_MS - 1) / NS_PER_MS;
	uint64_t due = now + after_ms;
	int r;

	assert(t->heap_at == 0 || t->loop == l);
	r = timer_heap_set(&l->timers, t, due < now ? UINT64_MAX : due);
	if (r < 0)
		return r;
	t->loop = l;
	t->fn = fn;
	return 0;
}

void loop_del_timer(struct loop_timer *t)
{
	if (t->heap_at > 0)
		timer_heap_del(&t->loop->timers, t);
}

bool loop_timer_is_set(const struct loop_timer *t)
{
	return t->heap_at > 0;
}

void loop_add_hook(struct loop *l, struct loop_hook *h, loop_hook_fn *fn)
{
	assert(!h->loop);
	h->loop = l;
	h->fn = fn;
	list_add_tail(&l->hooks, &h->node);
}

void loop_del_hook(struct loop_hook *h)
{
	if (!h->loop)
		return;
	list_del(&h->node);
	h->loop = NULL;
}

void loop_stop(struct loop *l, int value)
{
	l->stopped = true;
	l->value = value;
}

/* How long epoll may wait: to the first timer, at most @limit (-1: no limit).
 */
static int wait_ms(struct loop *l, int limit)
{
	const struct loop_timer *first = timer_heap_first(&l->timers);
	uint64_t now, left;

	if (!first)
		return limit;
	now = clock_now_ms();
	left = first->due_ms > now ? first->due_ms - now : 0;
	if (left > INT_MAX)
		left = INT_MAX;
	return limit >= 0 && (uint64_t)limit < left ? limit : (int)left;
}

static void call_ready(struct loop *l)
{
	for (int i = 0; i < l->n_ready; i++) {
		struct loop_fd *w = l->ready[i].data.ptr;

		w->slot = i + 1;
	}
	for (int i = 0; i < l->n_ready; i++) {
		struct loop_fd *w = l->ready[i].data.ptr;
		uint32_t events;

		if (!w)
			continue;
		w->slot = 0;
		/* A callback before may have asked this one to wait. */
		events = l->ready[i].events;
		events &= w->events | EPOLLERR | EPOLLHUP;
		if (events)
			w->fn(w, events);
	}
	l->n_ready = 0;
}

/*
 * Timers that are set meanwhile wait for the next turn, or two that set each
 * other for "now" would keep descriptors from ever being looked at.
 */
static void call_timers(struct loop *l)
{
	uint64_t before_seq = l->timers.next_seq;
	uint64_t now = clock_now_ms();
	struct loop_timer *t;

	while ((t = timer_heap_due(&l->timers, now, before_seq))) {
		timer_heap_del(&l->timers, t);
		t->fn(t);
	}
}

static void list_insert_after(struct list *at, struct list *node)
{
	node->prev = at;
	node->next = at->next;
	at->next->prev = node;
	at->next = node;
}

static void call_hooks(struct loop *l)
{
	struct list *marker = &l->marker;

	list_del(marker);
	list_insert_after(&l->hooks, marker);
	while (marker->next != &l->hooks) {
		struct list *node = marker->next;
		struct loop_hook *h =
			container_of(node, struct loop_hook, node);

		/* Step over the hook, then call it: it may go away. */
		list_del(marker);
		list_insert_after(node, marker);
		h->fn(h);
	}
	list_del(marker);
}

int loop_run_once(struct loop *l, int timeout_ms)
{
	int n;

	n = epoll_wait(l->epoll_fd, l->ready, READY_MAX,
		       wait_ms(l, timeout_ms));
	if (n < 0 && errno != EINTR)
		return -errno;
	l->n_ready = n > 0 ? n : 0;
	call_ready(l);
	call_timers(l);
	call_hooks(l);
	return 0;
}

int loop_run(struct loop *l)
{
	/* What was prepared before the first wait is committed by the hooks. */
	call_hooks(l);
	while (!l->stopped) {
		int r = loop_run_once(l, -1);

		if (r < 0)
			return r;
	}
	l->stopped = false;
	return l->value;
}

int loop_signalfd(const sigset_t *set)
{
	sigset_t old;
	int fd, r;

	r = pthread_sigmask(SIG_BLOCK, set, &old);
	if (r != 0)
		return -r;
	fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0) {
		r = -errno;
		(void)pthread_sigmask(SIG_SETMASK, &old, NULL); /* was valid */
		return r;
	}
	return fd;
}

int loop_pidfd(pid_t pid)
{
	/* pidfds are close-on-exec from birth; glibc 2.36 has the wrapper. */
	long fd = syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : (int)fd;
}
