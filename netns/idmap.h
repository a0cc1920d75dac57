/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idmap.h - user namespaces' id maps
 */
#ifndef EGRET_NETNS_IDMAP_H
#define EGRET_NETNS_IDMAP_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

/* The user a map is made for, as the parent namespace numbers it. */
struct idmap_ids {
	uid_t uid;
	gid_t gid;
};

/**
 * idmap_get_ids() - the caller's effective ids; before unshare(CLONE_NEWUSER),
 * after which they read as the overflow ids until the maps are written
 */
void idmap_get_ids(struct idmap_ids *ret);

/**
 * idmap_write() - the maps of a process that has just unshared a user namespace
 * @pid:     the process, in this pid namespace; 0 for the caller itself
 * @ids:     by idmap_get_ids(); NULL for the caller's present ones, which are
 *           the right ones only when @pid isn't 0
 * @as_root: map this user to 0 inside; otherwise ids stay as they are
 * @whole:   map every id that the caller's own namespace has (needs CAP_SETUID
 *           and CAP_SETGID there, and @pid not 0); otherwise only the caller's
 *           uid and gid. Ids stay as they are, so @as_root together with @whole
 *           needs @ids to be 0 already, and maps @ids alone otherwise
 *
 * A single id comes with setgroups(2) denied, as the kernel demands it.
 */
int idmap_write(pid_t pid, const struct idmap_ids *ids, bool as_root,
		bool whole, struct err *err);

/** idmap_may_write_whole() - does the caller hold what @whole needs */
bool idmap_may_write_whole(void);

#endif /* EGRET_NETNS_IDMAP_H */
