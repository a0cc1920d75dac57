/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop.h - the event loop: descriptors, timers, signals, children, hooks
 *
 * Single-threaded epoll. Watchers are embedded in their owners, so adding one
 * allocates nothing but the timer heap's slot. Guarantees, each unit-tested:
 *
 * - any watcher may be removed from any callback, its own included, and freed
 *   right after; no callback comes after removal;
 * - a turn is: descriptors, then timers that are due, then the before-sleep
 *   hooks in the order they were added; hooks run once a turn, before epoll
 *   waits again;
 * - timers fire no earlier than asked for, in order of their time; a timer is
 *   one-shot and may be set again from its own callback.
 */
#ifndef EGRET_BASE_LOOP_H
#define EGRET_BASE_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "base/list.h"

struct err;
struct loop;
struct loop_fd;
struct loop_timer;
struct loop_hook;

/* @events: EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDHUP as they came
 */
typedef void loop_fd_fn(struct loop_fd *w, uint32_t events);
typedef void loop_timer_fn(struct loop_timer *t);
typedef void loop_hook_fn(struct loop_hook *h);

/* Zero-initialise before first use; {0} means "not watching". */
struct loop_fd {
	loop_fd_fn *fn;
	int fd;
	/* private to the loop */
	struct loop *loop;
	uint32_t events;
	int32_t slot; /* place in the ready batch of this turn + 1; 0: none */
};

struct loop_timer {
	loop_timer_fn *fn;
	/* private to the loop */
	struct loop *loop;
	uint64_t due_ms;
	uint32_t heap_at; /* index in the heap + 1; 0: not set */
};

struct loop_hook {
	loop_hook_fn *fn;
	struct list node; /* private */
	struct loop *loop;
};

int loop_new(struct loop **ret, struct err *err);

/** loop_free() - timers and hooks are disarmed; descriptors' watchers must be
 * removed before. Not from a callback. */
void loop_free(struct loop *l);
void loop_freep(struct loop **l);

/**
 * loop_add_fd() - watch @fd for @events (level-triggered; the owner may pass
 * EPOLLET)
 *
 * Return: 0 or negative errno. The descriptor stays the owner's; remove the
 * watcher before closing it.
 */
int loop_add_fd(struct loop *l, struct loop_fd *w, int fd, uint32_t events,
		loop_fd_fn *fn);

/** loop_mod_fd() - watch for other events; no system call if unchanged */
int loop_mod_fd(struct loop_fd *w, uint32_t events);

/** loop_del_fd() - stop watching; fine if not watching */
void loop_del_fd(struct loop_fd *w);
bool loop_fd_is_watching(const struct loop_fd *w);

/** loop_set_timer() - (re)arm to fire once, @after_ms from now */
int loop_set_timer(struct loop *l, struct loop_timer *t, uint64_t after_ms,
		   loop_timer_fn *fn);

/** loop_del_timer() - disarm; fine if not armed */
void loop_del_timer(struct loop_timer *t);
bool loop_timer_is_set(const struct loop_timer *t);

/** loop_add_hook() - run @fn before every wait */
void loop_add_hook(struct loop *l, struct loop_hook *h, loop_hook_fn *fn);
void loop_del_hook(struct loop_hook *h);

/**
 * loop_run() - turn until loop_stop()
 *
 * Return: the value given to loop_stop(), or negative errno if epoll failed.
 */
int loop_run(struct loop *l);
void loop_stop(struct loop *l, int value);

/** loop_run_once() - one turn; waits at most @timeout_ms (-1: no limit) */
int loop_run_once(struct loop *l, int timeout_ms);

/**
 * loop_signalfd() - block @set in this thread and make a descriptor of it
 *
 * Return: descriptor, or negative errno.
 */
int loop_signalfd(const sigset_t *set);

/** loop_pidfd() - pidfd_open(2), close-on-exec; descriptor or negative errno */
int loop_pidfd(pid_t pid);

#endif /* EGRET_BASE_LOOP_H */
