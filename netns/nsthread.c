/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nsthread.c - a helper thread that lives in another network namespace
 *
 * Theory of operation. One job slot, guarded by a mutex. The caller fills it
 * and waits; the thread runs it and wakes the caller. So jobs are synchronous,
 * at most one runs, and what a job writes is visible to the caller when
 * nsthread_call() returns. Only one thread (the loop's) may call.
 *
 *	ENTERING -> IDLE <-> JOB, IDLE -> QUIT
 *	ENTERING -> FAILED
 *
 * The thread never handles a signal: all are blocked before it exists, so that
 * the loop's signalfd sees them. It takes a descriptor of its own namespace at
 * once: when the process has become undumpable, nobody else can open its
 * /proc files, and this descriptor is what others are handed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "netns/nsthread.h"

#include "base/cleanup.h"
#include "base/err.h"

enum nsthread_state {
	NSTHREAD_ENTERING,
	NSTHREAD_FAILED,
	NSTHREAD_IDLE,
	NSTHREAD_JOB,
	NSTHREAD_QUIT,
};

struct nsthread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* of state, in either direction */
	enum nsthread_state state;

	int enter_fd; /* borrowed during nsthread_new(); -1: make a new one */
	int netns_fd; /* of the namespace the thread is in; owned */

	/* The job, valid in NSTHREAD_JOB. */
	nsthread_fn *fn;
	void *arg;
	struct err *err;
	int result; /* of the last job, or of entering */
};

static int explain_new(struct err *err, int code)
{
	static const char what[] = "no network namespaces";

	switch (-code) {
	case EPERM:
		return err_set(
			err, code,
			"%s: the kernel doesn't permit this user to make "
			"one (see `egret doctor`)",
			what);
	case ENOSPC:
		return err_set(err, code,
			       "%s: the limit user.max_net_namespaces is "
			       "reached",
			       what);
	case EINVAL:
		return err_set(err, code,
			       "%s: this kernel has none (CONFIG_NET_NS)",
			       what);
	default:
		return err_set_errno(err, code, "%s", what);
	}
}

static int enter(struct nsthread *t, struct err *err)
{
	int fd;

	if (t->enter_fd < 0) {
		if (unshare(CLONE_NEWNET) < 0)
			return explain_new(err, -errno);
	} else if (setns(t->enter_fd, CLONE_NEWNET) < 0) {
		return err_set_errno(err, -errno,
				     "cannot enter the network namespace");
	}

	fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set_errno(err, -errno,
				     "cannot open /proc/thread-self/ns/net");

	t->netns_fd = fd;
	return 0;
}

static void run_jobs(struct nsthread *t)
{
	int r;

	for (;;) {
		while (t->state == NSTHREAD_IDLE)
			(void)pthread_cond_wait(&t->changed, &t->lock);
		if (t->state == NSTHREAD_QUIT)
			return;

		(void)pthread_mutex_unlock(&t->lock);
		r = t->fn(t->arg, t->err);
		(void)pthread_mutex_lock(&t->lock);

		t->result = r;
		t->state = NSTHREAD_IDLE;
		(void)pthread_cond_broadcast(&t->changed);
	}
}

static void *thread_main(void *arg)
{
	struct nsthread *t = arg;
	int r = enter(t, t->err);

	(void)pthread_mutex_lock(&t->lock);
	t->result = r;
	t->state = r < 0 ? NSTHREAD_FAILED : NSTHREAD_IDLE;
	(void)pthread_cond_broadcast(&t->changed);
	if (r == 0)
		run_jobs(t);
	(void)pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Signals are blocked before the thread exists, so it never runs without. */
static int start_blocked(struct nsthread *t)
{
	sigset_t all, old;
	int r;

	(void)sigfillset(&all);
	r = pthread_sigmask(SIG_SETMASK, &all, &old);
	if (r != 0)
		return -r;
	r = pthread_create(&t->thread, NULL, thread_main, t);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

static void destroy(struct nsthread *t)
{
	fd_closep(&t->netns_fd);
	(void)pthread_cond_destroy(&t->changed);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

int nsthread_new(struct nsthread **ret, int netns_fd, struct err *err)
{
	struct nsthread *t;
	int r;

	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set_errno(err, -ENOMEM, "cannot start a thread");
	(void)pthread_mutex_init(&t->lock, NULL);
	(void)pthread_cond_init(&t->changed, NULL);
	t->state = NSTHREAD_ENTERING;
	t->enter_fd = netns_fd;
	t->netns_fd = -1;
	t->err = err;

	r = start_blocked(t);
	if (r < 0) {
		destroy(t);
		return err_set_errno(err, r, "cannot start a thread");
	}

	(void)pthread_mutex_lock(&t->lock);
	while (t->state == NSTHREAD_ENTERING)
		(void)pthread_cond_wait(&t->changed, &t->lock);
	r = t->result;
	(void)pthread_mutex_unlock(&t->lock);

	if (r < 0) {
		(void)pthread_join(t->thread, NULL);
		destroy(t);
		return r;
	}
	*ret = t;
	return 0;
}

void nsthread_free(struct nsthread *t)
{
	int saved = errno;

	if (!t)
		return;

	(void)pthread_mutex_lock(&t->lock);
	t->state = NSTHREAD_QUIT;
	(void)pthread_cond_broadcast(&t->changed);
	(void)pthread_mutex_unlock(&t->lock);
	(void)pthread_join(t->thread, NULL);
	destroy(t);
	errno = saved;
}

void nsthread_freep(struct nsthread **t)
{
	nsthread_free(*t);
	*t = NULL;
}

int nsthread_call(struct nsthread *t, nsthread_fn *fn, void *arg,
		  struct err *err)
{
	int r;

	(void)pthread_mutex_lock(&t->lock);
	t->fn = fn;
	t->arg = arg;
	t->err = err;
	t->state = NSTHREAD_JOB;
	(void)pthread_cond_broadcast(&t->changed);
	while (t->state == NSTHREAD_JOB)
		(void)pthread_cond_wait(&t->changed, &t->lock);
	r = t->result;
	(void)pthread_mutex_unlock(&t->lock);
	return r;
}

int nsthread_netns_fd(const struct nsthread *t)
{
	return t->netns_fd;
}
