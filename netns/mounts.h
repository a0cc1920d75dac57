/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mounts.h - what of the host's file tree the command doesn't see
 *
 * Everything here runs in a mount namespace that U1 owns, before U2 exists: the
 * kernel locks these mounts together for U2, whose root can't lift them.
 *
 * SECURITY: mounts hold the policy files only as far as mounts can. Whoever
 * reads them (the gateway) has to open the hidden directories once, before the
 * command starts, and look files up from these descriptors, never again by the
 * whole path: a command that changes its root and detaches the old tree may
 * rename the directories above. A hidden *file* in a directory that the command
 * may write loses its mask when it is replaced from outside; a new inode there
 * must not be obeyed.
 */
#ifndef EGRET_NETNS_MOUNTS_H
#define EGRET_NETNS_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

struct err;

struct mounts_config {
	const char *resolv_conf; /* content of the sandbox's resolv.conf */
	const char *hosts;	 /* and of its /etc/hosts, if the host has one;
				    NULL leaves the host's in sight */
	const char *const
		*sockets; /* --socket: absolute paths left reachable */
	size_t n_sockets;
	const char *const *hidden; /* files and directories to make unreadable
				      and unwritable, by any path: allowlists,
				      runtime directory; absolute. One that
				      doesn't exist is an error if the command
				      could make it */
	size_t n_hidden;
	const char *runtime_dir; /* hidden as well, but by an empty directory
				    that an egret inside may use; or NULL */
	bool kuid_is_root; /* the user is root outside: kernel settings in /proc
			      and /sys would be writable, so they become
			      read-only */
};

/**
 * mounts_collect_sockets() - bound path sockets of the host, from
 * /proc/net/unix of the calling thread's netns; before the namespaces change
 * @ret: malloc'ed array of malloc'ed absolute paths; free by
 * mounts_free_paths()
 */
int mounts_collect_sockets(char ***ret, size_t *ret_n, struct err *err);
void mounts_free_paths(char **paths, size_t n);

/**
 * mounts_setup() - masks, fresh /proc (the caller is pid 1 of the new pid
 * namespace), /sys, devpts, mqueue, resolv.conf, ssh configuration
 * @host_sockets: from mounts_collect_sockets()
 *
 * HOME and XDG_RUNTIME_DIR are taken from the environment, the working
 * directory from the process: it is entered anew by its path.
 *
 * Return: 0 or negative errno; after a failure the caller must end, nothing was
 * started.
 */
int mounts_setup(const struct mounts_config *cfg, char *const *host_sockets,
		 size_t n_host_sockets, struct err *err);

/**
 * mounts_setup_in_u2() - what needs the sandbox netns: a fresh /sys that shows
 * its links; where the kernel refuses, the host's stays in sight, read-only.
 * The id maps are written and the caller has the capabilities of U2.
 */
int mounts_setup_in_u2(const struct mounts_config *cfg, struct err *err);

#endif /* EGRET_NETNS_MOUNTS_H */
