/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stdio_check.c - which descriptors are safe to inherit
 *
 * A list of what is known to be harmless; everything else is refused. A socket
 * stays in the netns it was made in, and some files are doors of their own: a
 * namespace, a process, a kernel setting, a directory above a mask.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/stdio.h"

#define MEM_MAJOR   1
#define PIDFS_MAGIC 0x50494446L /* "PIDF", since Linux 6.9 */

/* File systems whose regular files are the kernel's. */
static const unsigned long kernel_fs[] = {
	PROC_SUPER_MAGIC,   SYSFS_MAGIC,	 NSFS_MAGIC,	 PIDFS_MAGIC,
	CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,	 TRACEFS_MAGIC,
	SECURITYFS_MAGIC,   BPF_FS_MAGIC,	 EFIVARFS_MAGIC, BINFMTFS_MAGIC,
	SELINUX_MAGIC,
};

/* null, zero, full, random, urandom */
static const unsigned int mem_minors[] = { 3, 5, 7, 8, 9 };

static bool get_option(int fd, int option, int *ret)
{
	socklen_t len = sizeof(*ret);

	return getsockopt(fd, SOL_SOCKET, option, ret, &len) == 0;
}

/* Nobody can make it connect elsewhere, or accept. */
static bool is_connected_unix_stream(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int domain, type, listening;

	return get_option(fd, SO_DOMAIN, &domain) && domain == AF_UNIX &&
	       get_option(fd, SO_TYPE, &type) && type == SOCK_STREAM &&
	       get_option(fd, SO_ACCEPTCONN, &listening) && !listening &&
	       getpeername(fd, (struct sockaddr *)&ss, &len) == 0;
}

static const char *judge_char_device(int fd, dev_t dev)
{
	if (isatty(fd))
		return NULL;
	for (size_t i = 0;
	     major(dev) == MEM_MAJOR && i < ARRAY_SIZE(mem_minors); i++) {
		if (minor(dev) == mem_minors[i])
			return NULL;
	}
	return "a device";
}

static const char *judge_file(int fd)
{
	struct statfs sfs;

	if (fstatfs(fd, &sfs) < 0)
		return "of an unknown kind";
	for (size_t i = 0; i < ARRAY_SIZE(kernel_fs); i++) {
		if ((unsigned long)sfs.f_type == kernel_fs[i])
			return "a file of the kernel's";
	}
	return NULL;
}

/* Without a type of their own: eventfd and its like. */
static const char *judge_anonymous(int fd)
{
	char path[sizeof("/proc/self/fd/-2147483648")];
	char name[64];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, name, sizeof(name) - 1);
	if (len < 0)
		return "of an unknown kind";
	name[len] = '\0';
	return strcmp(name, "anon_inode:[eventfd]") == 0
		       ? NULL
		       : "a handle of the kernel's";
}

/* What is wrong with it, or NULL. */
static const char *judge(int fd, const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		return judge_file(fd);
	case S_IFIFO:
		return NULL;
	case S_IFCHR:
		return judge_char_device(fd, st->st_rdev);
	case S_IFSOCK:
		return is_connected_unix_stream(fd)
			       ? NULL
			       : "a socket that leads out of the sandbox";
	case S_IFDIR:
		return "a directory";
	case 0:
		return judge_anonymous(fd);
	default:
		return "of an unknown kind";
	}
}

int stdio_check_keep_fd(int fd, struct err *err)
{
	const char *what;
	struct stat st;
	int flags;

	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fstat(fd, &st) < 0)
		return err_set_errno(err, -errno, "--keep-fd %d", fd);
	what = (flags & O_PATH) ? "opened with O_PATH" : judge(fd, &st);
	if (what)
		return err_set(err, -EPERM,
			       "--keep-fd %d is %s; the command can't have it",
			       fd, what);
	return 0;
}

/* Not a matter of trust as for --keep-fd: only what no program reads or writes,
   but could walk from. A file of /proc is a fine input. */
static const char *judge_inherited(int fd, const struct stat *st)
{
	struct statfs sfs;
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_PATH))
		return "opened with O_PATH";
	switch (st->st_mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case 0:
		return judge_anonymous(fd);
	case S_IFREG:
		if (fstatfs(fd, &sfs) == 0 && sfs.f_type != NSFS_MAGIC &&
		    sfs.f_type != PIDFS_MAGIC)
			return NULL;
		return "a handle of the kernel's";
	default:
		return NULL;
	}
}

int stdio_check_inherited(int fd, struct err *err)
{
	const char *what;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return errno == EBADF ? 0
				      : err_set_errno(err, -errno,
						      "descriptor %d", fd);
	what = judge_inherited(fd, &st);
	if (what)
		return err_set(err, -EPERM,
			       "descriptor %d is %s; the command can't have it",
			       fd, what);
	return 0;
}

bool stdio_needs_copy(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       !is_connected_unix_stream(fd);
}

static int close_from_to(unsigned int first, unsigned int last)
{
	if (first > last)
		return 0;
	return syscall(SYS_close_range, first, last, 0) < 0 ? -errno : 0;
}

/* The smallest of @keep that is at least @from, or -1. */
static int next_kept(const int *keep, size_t n_keep, int from)
{
	int next = -1;

	for (size_t i = 0; i < n_keep; i++) {
		if (keep[i] >= from && (next < 0 || keep[i] < next))
			next = keep[i];
	}
	return next;
}

int stdio_close_others(const int *keep, size_t n_keep, struct err *err)
{
	unsigned int from = STDERR_FILENO + 1;
	int kept, r;

	while ((kept = next_kept(keep, n_keep, (int)from)) >= 0) {
		int flags = fcntl(kept, F_GETFD);

		if (flags < 0 || fcntl(kept, F_SETFD, flags & ~FD_CLOEXEC) < 0)
			return err_set_errno(err, -errno,
					     "cannot keep descriptor %d", kept);
		r = close_from_to(from, (unsigned int)kept - 1);
		if (r < 0)
			return err_set_errno(err, r,
					     "cannot close descriptors");
		from = (unsigned int)kept + 1;
	}
	r = close_from_to(from, UINT_MAX);
	if (r < 0)
		return err_set_errno(err, r, "cannot close descriptors");
	return 0;
}
