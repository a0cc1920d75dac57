/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hidden.c - policy files and runtime directories, out of the command's reach
 *
 * The gateway obeys what stands at these paths, so the command must neither
 * change the thing nor put another one in its place. A mask does the first. For
 * the second every step of the path is held too, from the top: rename(2) and
 * unlink(2) refuse a mount point (EBUSY), so each directory that the command
 * could rename is bound on itself, and each symbolic link that it could replace
 * has a copy of itself mounted on it. The mask comes last, inside those binds.
 *
 * Another path to the same thing would pass the mask by: the file system may be
 * mounted twice (those mounts are masked too), and a file may have a second
 * name (then nothing is started).
 *
 * Two facts limit what mounts can do here, so the gateway must not trust paths
 * alone: it opens the directories once, before the command starts, and from
 * then on works by those descriptors.
 * - EBUSY counts mounts of the renaming process's own mount namespace. A
 *   command that makes itself a mount namespace, changes its root and detaches
 *   the old tree can rename what was held. What is masked stays masked even so.
 * - A file that is replaced from outside (an editor's rename) loses the mount
 *   that was on it. So directories are hidden where possible, and a file that
 *   lies in a directory which the command may write must not be followed to a
 *   new inode.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/mounts.h"
#include "netns/mounts_internal.h"

#define LINKS_MAX   40	  /* symbolic links in one path, as the kernel's */
#define ENTRIES_MAX 10000 /* looked at in one hidden directory */
#define DEPTH_MAX   16

/* A walk along one path, a component at a time. */
struct walk {
	const char *path;    /* as it was given, for messages */
	char done[PATH_MAX]; /* the part behind, free of links; "" is the root
			      */
	char todo[PATH_MAX]; /* the part ahead */
	int dir;	     /* what @done is, O_PATH */
	unsigned int n_links;
};

static void walk_done(struct walk *w)
{
	fd_closep(&w->dir);
}

static void closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d); /* only read from */
}

/* Could the command, as root inside too, make, rename or remove names here? */
static bool may_change(int dir)
{
	return faccessat(dir, "", W_OK | X_OK, AT_EACCESS | AT_EMPTY_PATH) == 0;
}

static int walk_reopen(struct walk *w)
{
	int fd = mountapi_open(AT_FDCWD, w->done[0] ? w->done : "/",
			       O_DIRECTORY);

	if (fd < 0)
		return fd;
	fd_closep(&w->dir);
	w->dir = fd;
	return 0;
}

/* Takes the next component; false at the end of the path. */
static bool walk_next(struct walk *w, char name[static NAME_MAX + 1])
{
	char *start = w->todo + strspn(w->todo, "/");
	size_t len = strcspn(start, "/");

	if (len == 0 || len > NAME_MAX)
		return false;
	memcpy(name, start, len);
	name[len] = '\0';
	memmove(w->todo, start + len, strlen(start + len) + 1);
	return true;
}

static bool walk_is_last(const struct walk *w)
{
	return w->todo[strspn(w->todo, "/")] == '\0';
}

static int walk_up(struct walk *w)
{
	char *slash = strrchr(w->done, '/');

	if (slash)
		*slash = '\0';
	return walk_reopen(w);
}

/* Mounts a copy of the thing on itself, unless something is mounted there. */
static int pin(int fd, unsigned int flags)
{
	_cleanup_(fd_closep) int copy = -1;
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &sx) < 0)
		return -errno;
	if (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return 0;
	copy = mountapi_clone(fd, "", AT_EMPTY_PATH | flags, 0);
	if (copy < 0)
		return copy;
	return mountapi_attach(copy, fd);
}

/* Puts the link's target in front of what is left to walk. */
static int walk_link(struct walk *w, int link)
{
	char target[PATH_MAX];
	ssize_t len;
	size_t rest = strlen(w->todo);

	if (++w->n_links > LINKS_MAX)
		return -ELOOP;
	if (may_change(w->dir)) {
		int r = pin(link, 0);

		if (r < 0)
			return r;
	}
	len = readlinkat(link, "", target, sizeof(target));
	if (len < 0)
		return -errno;
	if (len == 0 || (size_t)len + 1 + rest >= sizeof(w->todo))
		return -ENAMETOOLONG;
	memmove(w->todo + len + 1, w->todo, rest + 1);
	memcpy(w->todo, target, (size_t)len);
	w->todo[len] = '/';
	if (target[0] == '/') {
		w->done[0] = '\0';
		return walk_reopen(w);
	}
	return 0;
}

static int walk_enter(struct walk *w, int dir, const char *name)
{
	size_t len = strlen(w->done);

	if ((size_t)snprintf(w->done + len, sizeof(w->done) - len, "/%s",
			     name) >= sizeof(w->done) - len)
		return -ENAMETOOLONG;
	if (may_change(w->dir)) {
		int r = pin(dir, AT_RECURSIVE);

		if (r < 0)
			return r;
	}
	/* By path: @dir is beneath the bind that was just made. */
	return walk_reopen(w);
}

/**
 * walk_step() - one component; @ret_fd is set at the last one
 *
 * Return: 1 to go on, 0 at the end (@ret_fd >= 0) or when the path isn't there
 * and the command can't make it (@ret_fd stays -1), or negative errno.
 */
static int walk_step(struct walk *w, int *ret_fd)
{
	_cleanup_(fd_closep) int fd = -1;
	char name[NAME_MAX + 1];
	struct stat st;
	int r;

	if (!walk_next(w, name))
		return -EINVAL;
	if (strcmp(name, ".") == 0)
		return 1;
	if (strcmp(name, "..") == 0) {
		r = walk_up(w);
		return r < 0 ? r : 1;
	}
	fd = mountapi_open(w->dir, name, O_NOFOLLOW);
	if (fd == -EACCES)
		return 0;
	if (fd == -ENOENT && !may_change(w->dir))
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		r = walk_link(w, fd);
		return r < 0 ? r : 1;
	}
	if (!walk_is_last(w)) {
		r = walk_enter(w, fd, name);
		return r < 0 ? r : 1;
	}
	r = (int)strlen(w->done);
	if ((size_t)snprintf(w->done + r, sizeof(w->done) - (size_t)r, "/%s",
			     name) >= sizeof(w->done) - (size_t)r)
		return -ENAMETOOLONG;
	*ret_fd = fd_steal(&fd);
	return 0;
}

static int explain(struct err *err, int r, const char *path)
{
	if (r == -ENOENT)
		return err_set(err, r,
			       "'%s' doesn't exist, and the command could make "
			       "it; create it first",
			       path);
	if (r == -EMLINK)
		return err_set(err, r,
			       "'%s' holds a file that has a second name (a "
			       "hard link) by which the command could change "
			       "it; replace it by a copy",
			       path);
	if (r == -E2BIG)
		return err_set(err, r, "'%s' holds too many files to hide it",
			       path);
	return err_set_errno(err, r, "cannot hide '%s' from the command", path);
}

/* Could this be changed by another name of it? */
static bool has_second_name(int dir, const char *name, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink > 1 &&
	       faccessat(dir, name, W_OK,
			 AT_EACCESS | (*name ? 0 : AT_EMPTY_PATH)) == 0;
}

static int check_links_below(int dirfd, unsigned int depth, unsigned int *n)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	struct dirent *de;
	int fd;

	if (depth > DEPTH_MAX)
		return -E2BIG;
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd); /* only read from */
		return -ENOMEM;
	}
	while ((errno = 0, de = readdir(dir))) {
		_cleanup_(fd_closep) int sub = -1;
		struct stat st;
		int r;

		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		if (++*n > ENTRIES_MAX)
			return -E2BIG;
		sub = mountapi_open(fd, de->d_name, O_NOFOLLOW);
		if (sub == -ENOENT || sub == -EACCES)
			continue;
		if (sub < 0)
			return sub;
		if (fstat(sub, &st) < 0)
			return -errno;
		if (has_second_name(sub, "", &st))
			return -EMLINK;
		if (!S_ISDIR(st.st_mode))
			continue;
		r = check_links_below(sub, depth + 1, n);
		if (r < 0)
			return r;
	}
	return -errno;
}

struct alias_ctx {
	const struct workshop *ws;
	struct stat st; /* of the hidden thing */
};

/* The same thing or a part of it under another mount: masked as well. */
static int hide_alias(void *arg, const char *alias)
{
	const struct alias_ctx *ctx = arg;
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;

	fd = mountapi_open(AT_FDCWD, alias, O_NOFOLLOW);
	if (mountapi_is_absent(fd))
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	/* Something else covers it there. */
	if (st.st_dev != ctx->st.st_dev)
		return 0;
	return workshop_mask(ctx->ws, fd);
}

static int hide(struct mounts_ctx *c, const char *path, bool is_usable,
		struct walk *w)
{
	_cleanup_(fd_closep) int fd = -1;
	struct alias_ctx alias = { .ws = &c->ws };
	unsigned int n = 0;
	int r;

	if (path[0] != '/' || strlen(path) >= sizeof(w->todo))
		return -EINVAL;
	strcpy(w->todo, path); /* NOLINT: its length was checked */
	r = walk_reopen(w);
	if (r < 0)
		return r;
	do {
		r = walk_step(w, &fd);
	} while (r > 0);
	if (r < 0 || fd < 0)
		return r;
	if (fstat(fd, &alias.st) < 0)
		return -errno;
	if (has_second_name(fd, "", &alias.st))
		return -EMLINK;
	if (S_ISDIR(alias.st.st_mode)) {
		r = check_links_below(fd, 0, &n);
		if (r < 0)
			return r;
	}
	r = is_usable ? workshop_mask_dir(&c->ws, fd, 0700)
		      : workshop_mask(&c->ws, fd);
	if (r < 0)
		return r;
	return mountinfo_aliases(&c->mi, w->done, hide_alias, &alias);
}

static int hide_path(struct mounts_ctx *c, const char *path, bool is_usable,
		     struct err *err)
{
	_cleanup_(walk_done) struct walk w = { .dir = -1 };
	int r = hide(c, path, is_usable, &w);

	return r < 0 ? explain(err, r, path) : 0;
}

int hidden_setup(struct mounts_ctx *c, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < c->cfg->n_hidden && r == 0; i++)
		r = hide_path(c, c->cfg->hidden[i], false, err);
	if (r == 0 && c->cfg->runtime_dir)
		r = hide_path(c, c->cfg->runtime_dir, true, err);
	return r;
}
