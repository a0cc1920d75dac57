/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listfile.c - the files of allowlists, for the commands that edit them
 *
 * Theory of operation. The lock is flock(2) on the directory, since the file
 * itself may be replaced. There are two ways to write.
 *
 * Where the directory is egret's own, a temporary file takes the old one's
 * place by rename(2). Elsewhere a running sandbox wouldn't obey another file
 * (see gateway/policyfile.c), so the file is written in place: the room that it
 * needs is reserved first, only what differs is written, and after an error the
 * old bytes go back, which needs no room. A shorter text is padded with
 * newlines to the old length in the same write, so that a reader between write
 * and ftruncate(2) sees no piece of an old line, which may be an entry too:
 * "example.org" is a piece of "!ads.example.org".
 *
 * The command in a sandbox can lock a directory that it can see, but must not
 * keep the user from editing a list in it: there the lock is waited for, and
 * then done without.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "cmd/listfile.h"
#include "cmd/rundir.h"
#include "policy/policy.h"

#define LOCK_TRIES    300
#define LOCK_PAUSE_NS 10000000 /* 10 ms */

/* ---- opening ---- */

static int lock_dir(struct listfile *l, struct err *err)
{
	static const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	int i;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (flock(l->dir_fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		(void)nanosleep(&pause, NULL);
	}
	if (l->may_replace)
		return err_set(err, -EBUSY,
			       "%s is being edited by another program that "
			       "doesn't end",
			       l->path);
	log_warn("the directory of %s can't be locked; another edit at the "
		 "same time may be lost",
		 l->path);
	return 0;
}

/* The path without links, and the directory opened. */
static int open_dir(struct listfile *l, const char *path, struct err *err)
{
	_cleanup_(freep) char *real = realpath(path, NULL);
	char *slash;

	if (!real)
		return err_set_errno(err, -errno, "cannot open %s", path);
	if (strlen(real) >= sizeof(l->path))
		return err_set(err, -ENAMETOOLONG, "the path is too long");
	memcpy(l->path, real, strlen(real) + 1);
	slash = strrchr(real, '/');
	l->name = slash[1] ? l->path + (slash - real) + 1 : ".";
	*slash = '\0';
	l->may_replace = rundir_is_hidden(real);
	l->dir_fd = open(slash == real ? "/" : real,
			 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dir_fd < 0)
		return err_set_errno(err, -errno,
				     "cannot open the directory of %s",
				     l->path);
	return 0;
}

/* Anything but a file isn't even opened: that of a device may do something. */
static int open_file(struct listfile *l, struct err *err)
{
	struct stat st;

	if (fstatat(l->dir_fd, l->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set_errno(err, -errno, "cannot open %s", l->path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s is not a regular file",
			       l->path);
	l->fd = openat(l->dir_fd, l->name,
		       O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (l->fd < 0)
		return err_set_errno(err, -errno, "cannot open %s", l->path);
	return 0;
}

int listfile_open(struct listfile *ret, const char *path, struct err *err)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->dir_fd = ret->fd = -1;
	r = open_dir(ret, path, err);
	if (r == 0)
		r = lock_dir(ret, err);
	if (r == 0)
		r = open_file(ret, err);
	/* Before reading: a later write shows. */
	if (r == 0 && fstat(ret->fd, &ret->st) < 0)
		r = err_set_errno(err, -errno, "cannot look at %s", ret->path);
	if (r == 0)
		r = io_read_fd(ret->fd, ret->path, POLICY_TEXT_MAX, &ret->text,
			       &ret->len, err);
	if (r < 0)
		listfile_close(ret);
	return r;
}

void listfile_close(struct listfile *l)
{
	free(l->text);
	l->text = NULL;
	fd_closep(&l->fd);
	fd_closep(&l->dir_fd); /* unlocks */
}

/* ---- writing ---- */

static int pwrite_all(int fd, const char *data, size_t len, size_t at)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		at += (size_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static size_t common_prefix(const char *a, size_t a_len, const char *b,
			    size_t b_len)
{
	size_t i = 0, max = a_len < b_len ? a_len : b_len;

	while (i < max && a[i] == b[i])
		i++;
	return i;
}

/* Return: 0, also where the file system can't reserve. */
static int reserve(int fd, size_t from, size_t to)
{
	if (from >= to || fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)from,
				    (off_t)(to - from)) == 0)
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
}

static void restore(struct listfile *l, size_t from)
{
	if (pwrite_all(l->fd, l->text + from, l->len - from, from) < 0 ||
	    ftruncate(l->fd, (off_t)l->len) < 0)
		log_err("%s is damaged: its old content could not be written "
			"back",
			l->path);
}

static int write_in_place(struct listfile *l, const char *text, size_t len,
			  struct err *err)
{
	size_t from = common_prefix(l->text, l->len, text, len);
	size_t end = len > l->len ? len : l->len;
	_cleanup_(freep) char *tail = malloc(end - from + 1);
	int r;

	if (!tail)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(tail, text + from, len - from);
	memset(tail + (len - from), '\n', end - len);
	r = reserve(l->fd, from, len);
	if (r == 0)
		r = pwrite_all(l->fd, tail, end - from, from);
	if (r == 0 && len < l->len && ftruncate(l->fd, (off_t)len) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	restore(l, from);
	return err_set_errno(err, r, "cannot write %s; it is as it was",
			     l->path);
}

static int fill_temp(const struct listfile *l, int fd, const char *text,
		     size_t len)
{
	int r = io_write_all(fd, text, len);

	if (r == 0 && (l->st.st_uid != geteuid() || l->st.st_gid != getegid()))
		r = fchown(fd, l->st.st_uid, l->st.st_gid) < 0 ? -errno : 0;
	if (r == 0)
		r = fchmod(fd, l->st.st_mode & 07777) < 0 ? -errno : 0;
	if (r == 0)
		r = fsync(fd) < 0 ? -errno : 0;
	return r;
}

/* What a killed edit left under the name is taken away: the lock is ours. */
static int replace(struct listfile *l, const char *text, size_t len,
		   struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	char temp[NAME_MAX + 1];
	int r, n;

	n = snprintf(temp, sizeof(temp), ".%s.new", l->name);
	if (n < 0 || (size_t)n >= sizeof(temp))
		return write_in_place(l, text, len, err);
	(void)unlinkat(l->dir_fd, temp, 0);
	fd = openat(l->dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot write beside %s",
				     l->path);
	r = fill_temp(l, fd, text, len);
	if (r == 0 && renameat(l->dir_fd, temp, l->dir_fd, l->name) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	(void)unlinkat(l->dir_fd, temp, 0);
	return err_set_errno(err, r, "cannot write %s; it is as it was",
			     l->path);
}

static bool is_unchanged(const struct listfile *l)
{
	const struct stat *a = &l->st;
	struct stat b;

	return fstatat(l->dir_fd, l->name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a->st_dev == b.st_dev && a->st_ino == b.st_ino &&
	       a->st_size == b.st_size &&
	       a->st_mtim.tv_sec == b.st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

int listfile_write(struct listfile *l, const char *text, size_t len,
		   struct err *err)
{
	if (len > POLICY_TEXT_MAX)
		return err_set(err, -EFBIG, "%s would become too large",
			       l->path);
	if (!is_unchanged(l))
		return err_set(err, -EAGAIN,
			       "%s was changed by another program meanwhile",
			       l->path);
	/* Another name of the file, or an owner that can't be kept, would be
	   lost with it. */
	if (!l->may_replace || l->st.st_nlink > 1 ||
	    (l->st.st_uid != geteuid() && geteuid() != 0))
		return write_in_place(l, text, len, err);
	return replace(l, text, len, err);
}
