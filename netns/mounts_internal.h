/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mounts_internal.h - what the files behind mounts.h share
 *
 * Everything works on descriptors: a target is opened once with O_PATH, looked
 * at, and mounted over by that descriptor, so nothing can be swapped between
 * the look and the mount. All of it runs in init, single-threaded, before the
 * sandbox exists.
 */
#ifndef EGRET_NETNS_MOUNTS_INTERNAL_H
#define EGRET_NETNS_MOUNTS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct err;
struct mounts_config;

/* ---- mountapi.c: the mount system calls, by descriptor ---- */

struct mountapi_option {
	const char *key, *value;
};

/**
 * mountapi_open() - O_PATH | O_CLOEXEC plus @flags (O_NOFOLLOW, O_DIRECTORY);
 * never by way of a magic link of /proc
 *
 * Return: descriptor or negative errno.
 */
int mountapi_open(int dirfd, const char *path, int flags);

/**
 * mountapi_is_absent() - does this result of mountapi_open() mean that the
 * user can't reach such a thing: it isn't there, or isn't the user's to enter
 */
bool mountapi_is_absent(int r);

/**
 * mountapi_clone() - a detached copy of the mount at @path, with @attrs added
 * @flags: AT_EMPTY_PATH, AT_RECURSIVE, AT_SYMLINK_NOFOLLOW
 * @attrs: MOUNT_ATTR_*; set on the whole copy
 *
 * Return: descriptor of the detached mount or negative errno.
 */
int mountapi_clone(int dirfd, const char *path, unsigned int flags,
		   uint64_t attrs);

/** mountapi_new() - a detached mount of a new file system instance */
int mountapi_new(const char *type, const struct mountapi_option *options,
		 size_t n_options, uint64_t attrs);

/** mountapi_attach() - put a detached mount over what @target is */
int mountapi_attach(int mount, int target);

/** mountapi_set_attrs() - add @attrs to a mount and all below it */
int mountapi_set_attrs(int dirfd, const char *path, uint64_t attrs);

/* ---- workshop.c: the private tmpfs that masks are cut from ---- */

struct workshop {
	int dir;	     /* its root, O_PATH */
	dev_t dev;	     /* to recognise what lies in it */
	unsigned int n_dirs; /* names given out by workshop_mask_dir() */
};

/**
 * workshop_open() - mount it, over /proc for the time being
 *
 * Needs a /proc; its files can't be used until workshop_close().
 */
int workshop_open(struct workshop *w, struct err *err);

/** workshop_close() - take it from /proc; what was cut from it stays */
int workshop_close(struct workshop *w, struct err *err);

/** workshop_put() - a file in it, at a path relative to its root */
int workshop_put(const struct workshop *w, const char *path, mode_t mode,
		 const void *data, size_t len, struct err *err);

/** workshop_cover() - bind a file or directory of it, read-only, on @target */
int workshop_cover(const struct workshop *w, const char *path, int target);

/** workshop_mask() - nothing: an unreadable file or an empty directory */
int workshop_mask(const struct workshop *w, int target);

/** workshop_mask_dir() - a fresh writable directory of this mode instead */
int workshop_mask_dir(struct workshop *w, int target, mode_t mode);

/**
 * workshop_make_point() - a file at absolute @path to mount on, made with its
 * directories, but only inside the workshop's own file system
 *
 * Return: O_PATH descriptor; -EXDEV when it would be made on the host.
 */
int workshop_make_point(const struct workshop *w, const char *path);

/* ---- mountinfo.c ---- */

struct mountinfo_entry {
	char *root;  /* of the mount, in its file system */
	char *point; /* where it is mounted */
	char *type;  /* of the file system; "" if the line ends before */
	dev_t dev;
};

struct mountinfo {
	struct mountinfo_entry *entries;
	size_t n;
};

/** mountinfo_parse() - the text of /proc/PID/mountinfo; -EBADMSG, -ENOMEM */
int mountinfo_parse(const char *text, size_t len, struct mountinfo *ret);
int mountinfo_read(struct mountinfo *ret, struct err *err);
void mountinfo_done(struct mountinfo *m);

/**
 * mountinfo_aliases() - other paths by which @path, or a part of what is below
 * it, shows
 * @path: absolute, without symlinks
 * @fn:   called with each; a negative result ends the search
 *
 * Return: 0, what @fn returned, or -ENAMETOOLONG.
 */
typedef int mountinfo_fn(void *ctx, const char *alias);
int mountinfo_aliases(const struct mountinfo *m, const char *path,
		      mountinfo_fn *fn, void *ctx);

/* ---- the parts, in the order in which mounts.c calls them ---- */

struct mounts_ctx {
	const struct mounts_config *cfg;
	char *const *host_sockets;
	size_t n_host_sockets;
	struct workshop ws;
	struct mountinfo mi; /* as it was before the first mask */
	int *kept;	     /* O_PATH of each cfg->sockets, before the masks */
	int tty;	     /* O_PATH of the terminal on 0..2, or -1 */
	const char *cwd;     /* by path; may be NULL */
};

/** hidden_setup() - policy files and runtime directories (hidden.c) */
int hidden_setup(struct mounts_ctx *c, struct err *err);

/** masks_setup_dirs() - /run and the known socket directories (masks.c) */
int masks_setup_dirs(struct mounts_ctx *c, struct err *err);

/** masks_setup_sockets() - the host's path sockets, then put --socket back */
int masks_setup_sockets(struct mounts_ctx *c, struct err *err);

/** masks_open_kept() - open cfg->sockets while they are visible */
int masks_open_kept(struct mounts_ctx *c, struct err *err);

/** devices_open_tty() - find the node of the caller's terminal (devices.c) */
int devices_open_tty(void);

/** devices_setup() - devpts, mqueue, device nodes that lead out */
int devices_setup(struct mounts_ctx *c, struct err *err);

/** etcfiles_setup() - resolv.conf and the ssh client's files (etcfiles.c) */
int etcfiles_setup(struct mounts_ctx *c, struct err *err);

/** kernelfs_mask_elsewhere() - other mounts of /proc, /sys, /dev */
int kernelfs_mask_elsewhere(struct mounts_ctx *c, struct err *err);

/** kernelfs_setup_proc() - a fresh /proc of this pid namespace (kernelfs.c) */
int kernelfs_setup_proc(const struct mounts_config *cfg, struct err *err);

/** kernelfs_setup_sys() - what is mounted at /sys becomes read-only */
int kernelfs_setup_sys(struct err *err);

/** kernelfs_remount_sys() - a fresh /sys of this netns, in U2 */
int kernelfs_remount_sys(struct err *err);

#endif /* EGRET_NETNS_MOUNTS_INTERNAL_H */
