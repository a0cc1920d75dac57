/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seccomp.h - the command's system call filter (libseccomp)
 */
#ifndef EGRET_NETNS_SECCOMP_H
#define EGRET_NETNS_SECCOMP_H

struct err;

/**
 * seccomp_confine_command() - install the filter in the calling thread;
 * no_new_privs must be set before
 */
int seccomp_confine_command(struct err *err);

#endif /* EGRET_NETNS_SECCOMP_H */
