/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nsthread.h - a helper thread that lives in another network namespace
 *
 * Namespaces are per thread while the descriptor table is shared: a socket the
 * helper makes in its namespace is simply used by the loop. Rootless, a thread
 * that left the host's netns can't come back (EPERM), so the helper leaves for
 * good and runs jobs on request. The calling thread never changes namespace.
 */
#ifndef EGRET_NETNS_NSTHREAD_H
#define EGRET_NETNS_NSTHREAD_H

struct err;
struct nsthread;

/**
 * nsthread_new() - start a thread and move it into a netns
 * @netns_fd: namespace to enter; -1 makes a new one, owned by the user
 *            namespace of the caller
 */
int nsthread_new(struct nsthread **ret, int netns_fd, struct err *err);
void nsthread_free(struct nsthread *t); /* ends and joins the thread */
void nsthread_freep(struct nsthread **t);

/**
 * nsthread_call() - run @fn(@arg) in the thread and wait for it
 *
 * Return: what @fn returned.
 */
typedef int nsthread_fn(void *arg, struct err *err);
int nsthread_call(struct nsthread *t, nsthread_fn *fn, void *arg,
		  struct err *err);

/** nsthread_netns_fd() - descriptor of the thread's netns; borrowed */
int nsthread_netns_fd(const struct nsthread *t);

#endif /* EGRET_NETNS_NSTHREAD_H */
