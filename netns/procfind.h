/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * procfind.h - which process of a sandbox holds a socket
 *
 * For the front, which stands outside and sees the sandbox's processes in its
 * own /proc.
 */
#ifndef EGRET_NETNS_PROCFIND_H
#define EGRET_NETNS_PROCFIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCFIND_COMM_MAX  16	  /* with its NUL */
#define PROCFIND_PIDS_MAX  4096	  /* processes looked at for one answer */
#define PROCFIND_BUDGET_US 10000U /* time for one answer */
/* All answers together may take this share of the time: hundredths. */
#define PROCFIND_SHARE	   10U
#define PROCFIND_ROOTS_MAX 32 /* besides the first; the last ones are kept */

struct procfind {
	pid_t root;			/* 0: nothing is found */
	pid_t more[PROCFIND_ROOTS_MAX]; /* 0: none */
	size_t next;			/* place in it */
	pid_t last;			/* it asked last, and is asked first */
	uint64_t credit_us, refilled_us;
};

struct procfind_hit {
	pid_t pid;		      /* in the caller's pid namespace */
	char comm[PROCFIND_COMM_MAX]; /* hostile bytes, no newline at the end */
};

/** procfind_init() - look among @root and its descendants */
void procfind_init(struct procfind *f, pid_t root);

/** procfind_add() - look below @root as well */
void procfind_add(struct procfind *f, pid_t root);

/**
 * procfind_pidfd_pid() - the process of a pidfd
 *
 * Return: pid, or negative errno; -ESRCH when it has ended.
 */
pid_t procfind_pidfd_pid(int pidfd);

/**
 * procfind_socket() - a process that has socket:[@inode] open
 *
 * Of several the youngest, as a rule. What can't be read is passed over.
 */
bool procfind_socket(struct procfind *f, uint64_t inode,
		     struct procfind_hit *ret);

#endif /* EGRET_NETNS_PROCFIND_H */
