/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scope.h - whom the command may signal (Landlock)
 */
#ifndef EGRET_NETNS_SCOPE_H
#define EGRET_NETNS_SCOPE_H

struct err;

/**
 * scope_confine_signals() - from now on this thread and its children can signal
 * only one another
 *
 * The caller has set no_new_privs. A kernel without it (before Linux 6.12, or
 * Landlock not enabled) changes nothing and is no failure.
 */
int scope_confine_signals(struct err *err);

#endif /* EGRET_NETNS_SCOPE_H */
