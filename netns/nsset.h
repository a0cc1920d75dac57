/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nsset.h - descriptors of all namespaces of one sandbox
 *
 * init opens its own and sends them during set-up, the gateway adds U1, checks
 * and keeps them, and `egret exec` gets copies to join the sandbox.
 */
#ifndef EGRET_NETNS_NSSET_H
#define EGRET_NETNS_NSSET_H

struct err;

/* In the order in which the kernel lets a user join them. */
enum nsset_slot {
	NSSET_U1,
	NSSET_IPC,
	NSSET_INSIDE = NSSET_IPC, /* from here on they come from init */
	NSSET_UTS,
	NSSET_PID,
	NSSET_NET,
	NSSET_MNT,
	NSSET_U2,
	NSSET_PROC, /* no namespace: the sandbox's /proc, as a directory that
		       nobody inside can mount over */
	NSSET_MAX,
};

struct nsset {
	int fds[NSSET_MAX]; /* -1: none */
};

void nsset_init(struct nsset *s);
void nsset_close(struct nsset *s);

/** nsset_open_u1() - the calling process's user namespace is U1 */
int nsset_open_u1(struct nsset *s, struct err *err);

/** nsset_open_proc() - in init, before U2 exists */
int nsset_open_proc(struct nsset *s, struct err *err);

/** nsset_open_own() - in init: all but U1 and /proc are its own */
int nsset_open_own(struct nsset *s, struct err *err);

/**
 * nsset_check() - are these the types that they should be, and is every one
 * owned by the set's U1 or U2
 *
 * The caller stands in U1 or above it. Return: 0, or -EPROTO with a sentence.
 */
int nsset_check(const struct nsset *s, struct err *err);

/**
 * nsset_join() - move the calling process, which must be single-threaded, into
 * all of them; its children are in the pid namespace
 *
 * The caller's uid must be the one that made U1. The process is undumpable
 * afterwards and has every capability of U2.
 */
int nsset_join(const struct nsset *s, struct err *err);

#endif /* EGRET_NETNS_NSSET_H */
