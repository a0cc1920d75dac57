/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * caps.h - capabilities and no_new_privs, per thread (libcap)
 */
#ifndef EGRET_NETNS_CAPS_H
#define EGRET_NETNS_CAPS_H

#include <stdbool.h>

struct err;

/**
 * caps_keep_only_net_admin() - drop all but CAP_NET_ADMIN from this thread's
 * permitted and effective sets; empty inheritable, ambient and bounding sets
 */
int caps_keep_only_net_admin(struct err *err);

/** caps_keep_only_kill() - the same with CAP_KILL */
int caps_keep_only_kill(struct err *err);

/** caps_drop_all() - nothing left, bounding set emptied, ambient cleared */
int caps_drop_all(struct err *err);

/**
 * caps_keep_all_on_exec() - for root inside: make every capability of this user
 * namespace survive execve() (no_new_privs would otherwise not add any)
 */
int caps_keep_all_on_exec(struct err *err);

/** caps_no_new_privs() - PR_SET_NO_NEW_PRIVS, checked */
int caps_no_new_privs(struct err *err);

#endif /* EGRET_NETNS_CAPS_H */
