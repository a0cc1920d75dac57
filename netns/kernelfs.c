/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernelfs.c - /proc and /sys, here and elsewhere
 *
 * /proc shows the sandbox's own pid namespace. It is mounted in U1's mount
 * namespace, so the host's can't be uncovered. It stays whole: the kernel lets
 * a nested container mount a /proc of its own only where it sees a whole one.
 *
 * Except for the user who is root outside: the kernel settings below /proc are
 * the machine's, and their files go by that user's id. There everything but the
 * processes' directories becomes read-only. Control groups go by the id too,
 * and root inside could mount them anew by a namespace for them, which would be
 * the machine's whole tree where egret runs in its root: so it gets no such
 * namespace.
 *
 * /sys is read-only for everybody (control groups too: by them a user moves and
 * kills processes of the host). A /sys of the sandbox's own network namespace
 * can only be mounted once that exists, in U2, and where the kernel refuses,
 * the host's stays in sight: it names the host's links, and no more.
 *
 * A file tree of another system (a chroot, a container's) has all these mounted
 * once more, and shows the host's processes, settings, terminals and devices
 * there. Wherever else a file system of the kernel's is mounted, it is masked.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "netns/mounts.h"
#include "netns/mounts_internal.h"

#define PROC_ENTRIES_MAX 4096
#define ATTRS		 (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

static const char *const kernel_types[] = {
	"proc",	      "sysfs",	"cgroup",   "cgroup2",	   "devtmpfs",
	"devpts",     "mqueue", "debugfs",  "tracefs",	   "securityfs",
	"configfs",   "bpf",	"efivarfs", "binfmt_misc", "selinuxfs",
	"resctrl",    "pstore", "nsfs",	    "rpc_pipefs",  "nfsd",
	"functionfs", "xenfs",	"smackfs",  "fusectl",
};

/* Dealt with where they belong. */
static const char *const own_places[] = { "/proc", "/sys", "/dev" };

static void closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d); /* only read from */
}

static bool is_elsewhere(const struct mountinfo_entry *e)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(own_places); i++) {
		size_t len = strlen(own_places[i]);

		if (strncmp(e->point, own_places[i], len) == 0 &&
		    (e->point[len] == '/' || e->point[len] == '\0'))
			return false;
	}
	for (i = 0; i < ARRAY_SIZE(kernel_types); i++) {
		if (strcmp(e->type, kernel_types[i]) == 0)
			return true;
	}
	return false;
}

int kernelfs_mask_elsewhere(struct mounts_ctx *c, struct err *err)
{
	for (size_t i = 0; i < c->mi.n; i++) {
		const struct mountinfo_entry *e = &c->mi.entries[i];
		_cleanup_(fd_closep) int fd = -1;
		int r;

		if (!is_elsewhere(e))
			continue;
		fd = mountapi_open(AT_FDCWD, e->point, O_NOFOLLOW);
		if (mountapi_is_absent(fd) || fd == -EACCES)
			continue; /* gone with what was masked above it */
		r = fd < 0 ? fd : workshop_mask(&c->ws, fd);
		if (r < 0)
			return err_set_errno(err, r,
					     "cannot hide '%s' from the "
					     "command",
					     e->point);
	}
	return 0;
}

static int make_readonly(int dirfd, const char *name)
{
	_cleanup_(fd_closep) int fd = -1;
	_cleanup_(fd_closep) int copy = -1;
	struct stat st;

	fd = mountapi_open(dirfd, name, O_NOFOLLOW);
	if (mountapi_is_absent(fd))
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) &&
	    !(S_ISREG(st.st_mode) && (st.st_mode & 0222)))
		return 0;
	copy = mountapi_clone(fd, "", AT_EMPTY_PATH, ATTRS | MOUNT_ATTR_RDONLY);
	if (copy < 0)
		return copy;
	return mountapi_attach(copy, fd);
}

static int protect_settings(void)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	struct dirent *de;
	unsigned int n = 0;

	if (!dir)
		return -errno;
	while ((errno = 0, de = readdir(dir)) && n++ < PROC_ENTRIES_MAX) {
		int r;

		if (de->d_name[0] == '.' ||
		    isdigit((unsigned char)de->d_name[0]))
			continue;
		r = make_readonly(dirfd(dir), de->d_name);
		if (r < 0)
			return r;
	}
	return -errno;
}

/* The limit of U1 holds for every namespace below it. */
static int forbid_cgroup_namespaces(void)
{
	static const char path[] = "/proc/sys/user/max_cgroup_namespaces";
	_cleanup_(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0) /* a kernel without control groups has none to keep */
		return errno == ENOENT ? 0 : -errno;
	return io_write_all(fd, "0", 1);
}

int kernelfs_setup_proc(const struct mounts_config *cfg, struct err *err)
{
	_cleanup_(fd_closep) int target = -1;
	_cleanup_(fd_closep) int proc = -1;
	int r;

	target = mountapi_open(AT_FDCWD, "/proc", O_DIRECTORY);
	if (target < 0)
		return err_set_errno(err, target, "cannot open /proc");
	proc = mountapi_new("proc", NULL, 0, ATTRS);
	if (proc == -EPERM)
		return err_set(err, proc,
			       "the kernel refuses a new /proc: parts of this "
			       "one are masked, as in a container (run that "
			       "with --security-opt unmask=ALL or "
			       "systempaths=unconfined)");
	r = proc < 0 ? proc : mountapi_attach(proc, target);
	if (r < 0)
		return err_set_errno(err, r, "cannot mount a new /proc");
	r = cfg->kuid_is_root ? forbid_cgroup_namespaces() : 0;
	if (r < 0)
		return err_set_errno(err, r,
				     "cannot keep control groups from the "
				     "command");
	r = cfg->kuid_is_root ? protect_settings() : 0;
	if (r < 0)
		return err_set_errno(err, r,
				     "cannot make the settings in /proc "
				     "read-only");
	return 0;
}

int kernelfs_setup_sys(struct err *err)
{
	int r = mountapi_set_attrs(AT_FDCWD, "/sys", MOUNT_ATTR_RDONLY);

	/* Not mounted, or not there at all. */
	if (r == -EINVAL || mountapi_is_absent(r))
		return 0;
	return r < 0 ? err_set_errno(err, r, "cannot make /sys read-only") : 0;
}

/* Control groups are seen in the new /sys too, still read-only. */
static void show_cgroups(int old)
{
	_cleanup_(fd_closep) int copy = -1;
	_cleanup_(fd_closep) int point = -1;

	copy = mountapi_clone(old, "fs/cgroup",
			      AT_RECURSIVE | AT_SYMLINK_NOFOLLOW,
			      ATTRS | MOUNT_ATTR_RDONLY);
	point = mountapi_open(AT_FDCWD, "/sys/fs/cgroup",
			      O_DIRECTORY | O_NOFOLLOW);
	if (copy >= 0 && point >= 0)
		(void)mountapi_attach(copy, point); /* less is seen then */
}

int kernelfs_remount_sys(struct err *err)
{
	_cleanup_(fd_closep) int old = -1;
	_cleanup_(fd_closep) int sys = -1;
	int r;

	old = mountapi_open(AT_FDCWD, "/sys", O_DIRECTORY);
	if (mountapi_is_absent(old))
		return 0;
	if (old < 0)
		return err_set_errno(err, old, "cannot open /sys");
	sys = mountapi_new("sysfs", NULL, 0, ATTRS | MOUNT_ATTR_RDONLY);
	if (sys < 0)
		return 0;
	r = mountapi_attach(sys, old);
	if (r < 0)
		return err_set_errno(err, r, "cannot mount a new /sys");
	show_cgroups(old);
	return 0;
}
