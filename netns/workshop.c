/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * workshop.c - the private tmpfs that masks are cut from
 *
 * One tmpfs holds everything that is put over the host's files: an unreadable
 * file, an empty directory, the new /run, resolv.conf. Each piece is bound
 * where it belongs, and at the end the tmpfs as a whole is taken away, so that
 * inside only the pieces can be reached.
 *
 * Before Linux 6.15 a piece can't be cloned from a mount that is attached
 * nowhere. So the workshop hangs over /proc while it is needed: the one
 * directory that every system has and that is replaced afterwards anyway.
 *
 * Its pieces are read-only, except for the directories that programs inside
 * may use (/run, /tmp/.X11-unix): these are bounded together by its size.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "netns/mounts_internal.h"

#define WORKSHOP_AT	"/proc"
#define WORKSHOP_FILE	"void" /* mode 000: can't be opened, nor connected to */
#define WORKSHOP_DIR	"empty"
#define WORKSHOP_SIZE	"64m" /* what the command may fill, like a small /run */
#define WORKSHOP_INODES "32k"

#define ATTRS_RW (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ATTRS_RO (ATTRS_RW | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY)

static int workshop_fill(struct workshop *w, struct err *err)
{
	struct stat st;
	int r;

	if (fstat(w->dir, &st) < 0)
		return err_set_errno(err, -errno,
				     "cannot read the masks' tmpfs");
	w->dev = st.st_dev;
	r = workshop_put(w, WORKSHOP_FILE, 0, NULL, 0, err);
	if (r < 0)
		return r;
	if (mkdirat(w->dir, WORKSHOP_DIR, 0555) < 0)
		return err_set_errno(err, -errno, "cannot make an empty mask");
	return 0;
}

int workshop_open(struct workshop *w, struct err *err)
{
	static const struct mountapi_option options[] = {
		{ "size", WORKSHOP_SIZE },
		{ "nr_inodes", WORKSHOP_INODES },
		{ "mode", "0755" },
	};
	_cleanup_(fd_closep) int fs = -1;
	_cleanup_(fd_closep) int target = -1;
	int r;

	w->dir = -1;
	w->n_dirs = 0;
	fs = mountapi_new("tmpfs", options, ARRAY_SIZE(options), ATTRS_RW);
	if (fs < 0)
		return err_set_errno(err, fs, "cannot make a tmpfs for masks");
	target = mountapi_open(AT_FDCWD, WORKSHOP_AT, O_DIRECTORY);
	if (target < 0)
		return err_set_errno(err, target, "cannot open " WORKSHOP_AT);
	r = mountapi_attach(fs, target);
	if (r < 0)
		return err_set_errno(err, r, "cannot mount a tmpfs for masks");
	w->dir = mountapi_open(AT_FDCWD, WORKSHOP_AT, O_DIRECTORY);
	if (w->dir < 0)
		return err_set_errno(err, w->dir, "cannot open the masks");
	return workshop_fill(w, err);
}

int workshop_close(struct workshop *w, struct err *err)
{
	fd_closep(&w->dir);
	if (umount2(WORKSHOP_AT, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		return err_set_errno(err, -errno, "cannot detach the masks");
	return 0;
}

int workshop_put(const struct workshop *w, const char *path, mode_t mode,
		 const void *data, size_t len, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	fd = openat(w->dir, path,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot make '%s' to bind",
				     path);
	r = io_write_all(fd, data, len);
	if (r < 0)
		return err_set_errno(err, r, "cannot write '%s'", path);
	if (fchmod(fd, mode) < 0)
		return err_set_errno(err, -errno, "cannot make '%s' to bind",
				     path);
	return 0;
}

static int workshop_bind(const struct workshop *w, const char *path,
			 uint64_t attrs, int target)
{
	_cleanup_(fd_closep) int piece = -1;

	piece = mountapi_clone(w->dir, path, 0, attrs);
	if (piece < 0)
		return piece;
	return mountapi_attach(piece, target);
}

int workshop_cover(const struct workshop *w, const char *path, int target)
{
	return workshop_bind(w, path, ATTRS_RO, target);
}

int workshop_mask(const struct workshop *w, int target)
{
	struct stat st;

	if (fstat(target, &st) < 0)
		return -errno;
	return workshop_cover(
		w, S_ISDIR(st.st_mode) ? WORKSHOP_DIR : WORKSHOP_FILE, target);
}

int workshop_mask_dir(struct workshop *w, int target, mode_t mode)
{
	char name[sizeof("d4294967295")];

	(void)snprintf(name, sizeof(name), "d%u", w->n_dirs);
	if (mkdirat(w->dir, name, 0700) < 0)
		return -errno;
	w->n_dirs++;
	/* The owner can always use it, whatever the covered one was like. */
	if (fchmodat(w->dir, name, mode | 0700, 0) < 0)
		return -errno;
	return workshop_bind(w, name, ATTRS_RW, target);
}

/* Opens @name in @dir, making it there first if need be and if @dir is ours. */
static int point_step(const struct workshop *w, int dir, const char *name,
		      bool is_last)
{
	struct stat st;
	int fd = mountapi_open(dir, name, 0);

	if (fd != -ENOENT)
		return fd;
	if (fstat(dir, &st) < 0)
		return -errno;
	if (st.st_dev != w->dev)
		return -EXDEV;
	if (is_last) {
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			    0600);
		if (fd < 0)
			return -errno;
		(void)close(fd); /* nothing was written */
	} else if (mkdirat(dir, name, 0755) < 0) {
		return -errno;
	}
	return mountapi_open(dir, name, O_NOFOLLOW);
}

int workshop_make_point(const struct workshop *w, const char *path)
{
	_cleanup_(fd_closep) int dir = -1;
	char name[NAME_MAX + 1];

	dir = mountapi_open(AT_FDCWD, "/", O_DIRECTORY);
	if (dir < 0)
		return dir;
	for (;;) {
		size_t len;
		int fd;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len == 0)
			return fd_steal(&dir);
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		fd = point_step(w, dir, name, path[strspn(path, "/")] == '\0');
		if (fd < 0)
			return fd;
		fd_closep(&dir);
		dir = fd;
	}
}
