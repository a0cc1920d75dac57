/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idmap.h - user namespaces' id maps
 */
#ifndef EGRET_NETNS_IDMAP_H
#define EGRET_NETNS_IDMAP_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

/**
 * idmap_write() - the maps of a process that has just unshared a user namespace
 * @pid:     the process, in this pid namespace; 0 for the caller itself
 * @as_root: map this user to 0 inside; otherwise ids stay as they are
 * @whole:   map every id that the caller's own namespace has (needs CAP_SETUID
 *           and CAP_SETGID there); otherwise only the caller's uid and gid
 */
int idmap_write(pid_t pid, bool as_root, bool whole, struct err *err);

/** idmap_may_write_whole() - does the caller hold what @whole needs */
bool idmap_may_write_whole(void);

#endif /* EGRET_NETNS_IDMAP_H */
