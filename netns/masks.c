/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * masks.c - directories of sockets, and every path socket of the host
 *
 * A daemon of the host that answers on a path socket is a way round the
 * network: it may resolve, connect or start programs for whoever asks. Three
 * nets, each for what the other two let through:
 *  - /run as a whole, where most daemons have theirs, also those started later;
 *  - known directories elsewhere, for the same reason;
 *  - each socket that is bound at this moment, wherever it is.
 *
 * A masked directory is replaced by an empty one that the command may use, so
 * that its own tmux, agent or X server work. Last links aren't followed for
 * directories: an earlier sandbox may have left one that points at the user's
 * work. Sockets are reached through any links, as connect(2) would.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/mounts.h"
#include "netns/mounts_internal.h"

#define RUN_LINKS_MAX 256 /* links at the top of /run that are made again */
#define TMP_MASKS_MAX 256 /* directories masked in one of the tmp_dirs */

/* Masked where they exist; "~" is the home directory. */
static const char *const dirs[] = {
	"~/.screen",	       "~/.emacs.d/server",
	"~/.ssh/agent",	       "~/.docker/run",
	"~/.docker/desktop",   "/var/lib/sss/pipes",
	"/var/lib/gssproxy",   "/var/lib/samba/winbindd_privileged",
	"/var/lib/lxd/devlxd", "/var/cache/nscd",
	"/dev/socket",
};

/* Directories there that agents, multiplexers, editors and displays use. */
static const char *const tmp_dirs[] = { "/tmp", "/var/tmp" };
static const char *const tmp_patterns[] = {
	".X11-unix",	  ".ICE-unix",	      ".XIM-unix",  ".font-unix",
	"ssh-??????????", "ssh-????????????", "gpg-??????", "keyring-??????",
	"tmux-[0-9]*",	  "emacs[0-9]*",      "screens",    "uscreens",
	"nvim.*",	  "ksocket-*",	      "orbit-*",
};

static void closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d); /* only read from */
}

static int fail(struct err *err, int r, const char *path)
{
	return err_set_errno(err, r, "cannot hide '%s' from the command", path);
}

/* An empty directory of the same mode instead; fine if there is none. */
static int mask_dir_at(struct mounts_ctx *c, int dirfd, const char *path)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;

	fd = mountapi_open(dirfd, path, O_NOFOLLOW);
	if (mountapi_is_absent(fd))
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return 0;
	return workshop_mask_dir(&c->ws, fd, st.st_mode & 01777);
}

/* NULL and errno on failure. */
static DIR *open_list(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		fd_closep(&fd);
	return dir;
}

/*
 * Links at the top of /run lead to where a system keeps its programs or its
 * shared memory (/run/current-system, /run/shm); nothing opens by having them.
 */
static int copy_run_links(int from, int to)
{
	_cleanup_(closedirp) DIR *dir = open_list(from);
	struct dirent *de;
	unsigned int n = 0;

	if (!dir)
		return errno == EACCES ? 0 : -errno;
	while (n < RUN_LINKS_MAX && (errno = 0, de = readdir(dir))) {
		char target[PATH_MAX];
		ssize_t len;

		len = readlinkat(from, de->d_name, target, sizeof(target) - 1);
		if (len <= 0)
			continue; /* not a link */
		target[len] = '\0';
		if (symlinkat(target, to, de->d_name) < 0)
			return -errno;
		n++;
	}
	return n < RUN_LINKS_MAX ? -errno : 0;
}

static int make_dir(int at, const char *name, mode_t mode)
{
	if (mkdirat(at, name, 0700) < 0 || fchmodat(at, name, mode, 0) < 0)
		return -errno;
	return 0;
}

/* Disks that the desktop mounted are files like any others. */
static int keep_media(int from, int to)
{
	_cleanup_(fd_closep) int copy = -1;
	_cleanup_(fd_closep) int point = -1;
	int r;

	copy = mountapi_clone(from, "media", AT_RECURSIVE | AT_SYMLINK_NOFOLLOW,
			      0);
	if (mountapi_is_absent(copy))
		return 0;
	if (copy < 0)
		return copy;
	r = make_dir(to, "media", 0755);
	if (r < 0)
		return r;
	point = mountapi_open(to, "media", O_NOFOLLOW);
	if (point < 0)
		return point;
	return mountapi_attach(copy, point);
}

/* What programs expect in a /run: locks, and the user's own directory. */
static int fill_run(int old, int new)
{
	char user[sizeof("user/4294967295")];
	int r;

	r = copy_run_links(old, new);
	if (r == 0 && faccessat(new, "lock", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		r = make_dir(new, "lock", 01777);
	if (r == 0)
		r = make_dir(new, "user", 0755);
	if (r < 0)
		return r;
	(void)snprintf(user, sizeof(user), "user/%u", (unsigned int)geteuid());
	r = make_dir(new, user, 0700);
	return r < 0 ? r : keep_media(old, new);
}

static int mask_run(struct mounts_ctx *c, const char *path, int flags)
{
	_cleanup_(fd_closep) int old = -1;
	_cleanup_(fd_closep) int new = -1;
	struct stat st;
	int r;

	old = mountapi_open(AT_FDCWD, path, flags);
	if (mountapi_is_absent(old))
		return 0;
	if (old < 0)
		return old;
	if (fstat(old, &st) < 0)
		return -errno;
	/* Not a directory: a link to /run. Ours: a bind of it. */
	if (!S_ISDIR(st.st_mode) || st.st_dev == c->ws.dev)
		return 0;
	r = workshop_mask_dir(&c->ws, old, 0755);
	if (r < 0)
		return r;
	new = mountapi_open(AT_FDCWD, path, O_DIRECTORY);
	if (new < 0)
		return new;
	return fill_run(old, new);
}

static int mask_alias_of_run(void *arg, const char *alias)
{
	return mask_dir_at(arg, AT_FDCWD, alias);
}

static int mask_fixed(struct mounts_ctx *c, const char *path)
{
	const char *home = getenv("HOME");
	char full[PATH_MAX];

	if (path[0] == '~') {
		if (!home || home[0] != '/')
			return 0;
		if ((size_t)snprintf(full, sizeof(full), "%s%s", home,
				     path + 1) >= sizeof(full))
			return -ENAMETOOLONG;
		path = full;
	}
	return mask_dir_at(c, AT_FDCWD, path);
}

static bool is_tmp_pattern(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tmp_patterns); i++) {
		if (fnmatch(tmp_patterns[i], name, 0) == 0)
			return true;
	}
	return false;
}

static int mask_in_tmp(struct mounts_ctx *c, const char *path)
{
	_cleanup_(fd_closep) int fd = -1;
	_cleanup_(closedirp) DIR *dir = NULL;
	struct dirent *de;
	unsigned int n = 0;

	fd = mountapi_open(AT_FDCWD, path, O_DIRECTORY);
	if (mountapi_is_absent(fd))
		return 0;
	if (fd < 0)
		return fd;
	dir = open_list(fd);
	if (!dir)
		return errno == EACCES ? 0 : -errno;
	while ((errno = 0, de = readdir(dir))) {
		int r;

		if (!is_tmp_pattern(de->d_name))
			continue;
		if (++n > TMP_MASKS_MAX)
			return -E2BIG;
		r = mask_dir_at(c, fd, de->d_name);
		if (r < 0)
			return r;
	}
	return -errno;
}

/*
 * The user's runtime directory when it isn't in /run. Only if it looks like
 * one: some set the variable to a place that holds their files as well.
 */
static int mask_runtime_dir(struct mounts_ctx *c)
{
	const char *path = getenv("XDG_RUNTIME_DIR");
	const char *home = getenv("HOME");
	struct stat st, st_home;
	size_t len;

	if (!path || path[0] != '/' || lstat(path, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode) || st.st_dev == c->ws.dev ||
	    st.st_uid != geteuid() || (st.st_mode & 07777) != 0700)
		return 0;
	if (home && stat(home, &st_home) == 0 && st_home.st_dev == st.st_dev &&
	    st_home.st_ino == st.st_ino)
		return 0;
	len = strlen(path);
	if (c->cwd && strncmp(c->cwd, path, len) == 0)
		return 0;
	return mask_dir_at(c, AT_FDCWD, path);
}

int masks_setup_dirs(struct mounts_ctx *c, struct err *err)
{
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(tmp_dirs); i++) {
		r = mask_in_tmp(c, tmp_dirs[i]);
		if (r < 0)
			return fail(err, r, tmp_dirs[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		r = mask_fixed(c, dirs[i]);
		if (r < 0)
			return fail(err, r, dirs[i]);
	}
	r = mask_run(c, "/run", 0);
	if (r == 0)
		r = mask_run(c, "/var/run", O_NOFOLLOW);
	if (r == 0)
		r = mountinfo_aliases(&c->mi, "/run", mask_alias_of_run, c);
	if (r == 0)
		r = mask_runtime_dir(c);
	return r < 0 ? fail(err, r, "/run") : 0;
}

static bool is_kept(const struct mounts_ctx *c, const struct stat *st)
{
	for (size_t i = 0; i < c->cfg->n_sockets; i++) {
		struct stat kept;

		if (fstat(c->kept[i], &kept) == 0 &&
		    kept.st_dev == st->st_dev && kept.st_ino == st->st_ino)
			return true;
	}
	return false;
}

static int mask_socket(void *arg, const char *path)
{
	struct mounts_ctx *c = arg;
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;

	fd = mountapi_open(AT_FDCWD, path, 0);
	if (mountapi_is_absent(fd))
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode) || is_kept(c, &st))
		return 0;
	return workshop_mask(&c->ws, fd);
}

int masks_open_kept(struct mounts_ctx *c, struct err *err)
{
	for (size_t i = 0; i < c->cfg->n_sockets; i++) {
		const char *path = c->cfg->sockets[i];
		struct stat st;

		if (path[0] != '/')
			return err_set(err, -EINVAL,
				       "--socket '%s' isn't an absolute path",
				       path);
		c->kept[i] = mountapi_open(AT_FDCWD, path, 0);
		if (c->kept[i] < 0)
			return err_set_errno(err, c->kept[i],
					     "cannot open --socket '%s'", path);
		if (fstat(c->kept[i], &st) < 0 || !S_ISSOCK(st.st_mode))
			return err_set(err, -ENOTSOCK,
				       "--socket '%s' isn't a socket", path);
	}
	return 0;
}

/* Under a mask by now? Then it is bound there again. */
static int put_back(struct mounts_ctx *c, int kept, const char *path)
{
	_cleanup_(fd_closep) int now = -1;
	_cleanup_(fd_closep) int point = -1;
	_cleanup_(fd_closep) int copy = -1;
	struct stat st;

	now = mountapi_open(AT_FDCWD, path, 0);
	if (now >= 0 && fstat(now, &st) == 0 && is_kept(c, &st))
		return 0;
	point = workshop_make_point(&c->ws, path);
	if (point < 0)
		return point;
	copy = mountapi_clone(kept, "", AT_EMPTY_PATH, 0);
	if (copy < 0)
		return copy;
	return mountapi_attach(copy, point);
}

int masks_setup_sockets(struct mounts_ctx *c, struct err *err)
{
	int r;

	for (size_t i = 0; i < c->n_host_sockets; i++) {
		const char *path = c->host_sockets[i];

		r = mask_socket(c, path);
		if (r == 0)
			r = mountinfo_aliases(&c->mi, path, mask_socket, c);
		if (r < 0)
			return fail(err, r, path);
	}
	for (size_t i = 0; i < c->cfg->n_sockets; i++) {
		r = put_back(c, c->kept[i], c->cfg->sockets[i]);
		if (r < 0)
			return err_set_errno(err, r,
					     "cannot leave --socket '%s' "
					     "reachable",
					     c->cfg->sockets[i]);
	}
	return 0;
}
