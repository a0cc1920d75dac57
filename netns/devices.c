/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * devices.c - /dev stays the host's, less what leads out of the network
 *
 * Masked are devices that carry data elsewhere (virtual machine sockets,
 * modems, serial and USB ports, RDMA, taps of the host's links), that act on
 * the user's session (input, consoles), or that show memory and disks past the
 * file system. /dev/net/tun stays: a device made with it belongs to the
 * sandbox's own network namespace, and nested containers need it.
 *
 * The terminals of /dev/pts are the user's other windows, so devpts is new and
 * empty. The terminal on 0..2 goes on working; its node is bound on
 * /dev/console, where ttyname(3) finds it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/mounts_internal.h"

#define ENTRIES_MAX 20000 /* names in /dev */
#define TTY_GID	    "5"	  /* owns terminals on most systems, for mode 620 */

/* Directories are masked whole. Block devices are masked whatever their name.
 */
static const char *const patterns[] = {
	/* other machines and networks */
	"vsock",
	"vhost-*",
	"vhci",
	"kvm",
	"vmci",
	"vbox*",
	"virtio-ports",
	"vport*",
	"hvc*",
	"xen",
	"tty[A-Z]*",
	"cdc-wdm*",
	"wwan*",
	"ppp",
	"rfcomm*",
	"rfkill",
	"bus",
	"usb",
	"usbmon*",
	"infiniband",
	"hfi1*",
	"cxi*",
	"tap[0-9]*",
	"vfio",
	"uio*",
	"mei*",
	"ipmi*",
	"isdn",
	"capi20",
	/* the user's session */
	"input",
	"uinput",
	"uhid",
	"hidraw*",
	"tty[0-9]*",
	"vcs*",
	/* memory, disks, processor */
	"mem",
	"kmem",
	"port",
	"cpu",
	"raw",
	"sg[0-9]*",
	"bsg",
	"nvme*",
};

static void closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d); /* only read from */
}

static int fail(struct err *err, int r, const char *what)
{
	return err_set_errno(err, r, "cannot set up %s for the command", what);
}

static bool is_masked_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (fnmatch(patterns[i], name, 0) == 0)
			return true;
	}
	return false;
}

/* A node that the user's ids may not open needs no mask. */
static bool may_open(int fd)
{
	return faccessat(fd, "", R_OK, AT_EACCESS | AT_EMPTY_PATH) == 0 ||
	       faccessat(fd, "", W_OK, AT_EACCESS | AT_EMPTY_PATH) == 0;
}

static int mask_entry(struct mounts_ctx *c, int dirfd, const char *name)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;

	fd = mountapi_open(dirfd, name, O_NOFOLLOW);
	if (mountapi_is_absent(fd))
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) && !S_ISCHR(st.st_mode) &&
	    !S_ISBLK(st.st_mode))
		return 0;
	if (!S_ISBLK(st.st_mode) && !is_masked_name(name))
		return 0;
	return may_open(fd) ? workshop_mask(&c->ws, fd) : 0;
}

static int mask_nodes(struct mounts_ctx *c)
{
	_cleanup_(closedirp) DIR *dir = opendir("/dev");
	struct dirent *de;
	unsigned int n = 0;

	if (!dir)
		return -errno;
	while ((errno = 0, de = readdir(dir))) {
		int r;

		if (++n > ENTRIES_MAX)
			return -E2BIG;
		if (de->d_type != DT_BLK && de->d_type != DT_UNKNOWN &&
		    !is_masked_name(de->d_name))
			continue;
		r = mask_entry(c, dirfd(dir), de->d_name);
		if (r < 0)
			return r;
	}
	return -errno;
}

/* An instance of its own, with the group of terminals where that id exists. */
static int new_devpts(void)
{
	static const struct mountapi_option options[] = {
		{ "ptmxmode", "0666" },
		{ "mode", "0620" },
		{ "gid", TTY_GID },
	};
	const uint64_t attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	int fd = mountapi_new("devpts", options, ARRAY_SIZE(options), attrs);

	if (fd == -EINVAL)
		fd = mountapi_new("devpts", options, ARRAY_SIZE(options) - 1,
				  attrs);
	return fd;
}

static int setup_devpts(void)
{
	_cleanup_(fd_closep) int target = -1;
	_cleanup_(fd_closep) int pts = -1;

	target = mountapi_open(AT_FDCWD, "/dev/pts", O_DIRECTORY);
	if (mountapi_is_absent(target))
		return 0;
	if (target < 0)
		return target;
	pts = new_devpts();
	if (pts < 0)
		return pts;
	return mountapi_attach(pts, target);
}

/*
 * A /dev/ptmx that is a device node looks for "pts" beside itself and finds the
 * new instance. One that was bound from elsewhere would find the old one.
 */
static int setup_ptmx(void)
{
	_cleanup_(fd_closep) int target = -1;
	_cleanup_(fd_closep) int ptmx = -1;
	struct statx sx;

	target = mountapi_open(AT_FDCWD, "/dev/ptmx", O_NOFOLLOW);
	if (mountapi_is_absent(target))
		return 0;
	if (target < 0)
		return target;
	if (statx(target, "", AT_EMPTY_PATH, STATX_TYPE, &sx) < 0)
		return -errno;
	if (!(sx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	ptmx = mountapi_clone(AT_FDCWD, "/dev/pts/ptmx", 0, 0);
	if (ptmx < 0)
		return ptmx;
	return mountapi_attach(ptmx, target);
}

/* Message queues belong to the ipc namespace, which is new as well. */
static int setup_mqueue(struct mounts_ctx *c)
{
	_cleanup_(fd_closep) int target = -1;
	_cleanup_(fd_closep) int mq = -1;

	target = mountapi_open(AT_FDCWD, "/dev/mqueue",
			       O_DIRECTORY | O_NOFOLLOW);
	if (mountapi_is_absent(target))
		return 0;
	if (target < 0)
		return target;
	mq = mountapi_new("mqueue", NULL, 0,
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				  MOUNT_ATTR_NOEXEC);
	if (mq < 0)
		return workshop_mask(&c->ws, target);
	return mountapi_attach(mq, target);
}

int devices_open_tty(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		_cleanup_(fd_closep) int node = -1;
		struct stat st, st_node;
		char path[PATH_MAX] = "";

		if (!isatty(fd) || fstat(fd, &st) < 0 ||
		    ttyname_r(fd, path, sizeof(path)) != 0)
			continue;
		node = mountapi_open(AT_FDCWD, path, O_NOFOLLOW);
		if (node >= 0 && fstat(node, &st_node) == 0 &&
		    st_node.st_rdev == st.st_rdev && S_ISCHR(st_node.st_mode))
			return fd_steal(&node);
	}
	return -1;
}

/* Only for ttyname(3): what fails here is left as it is. */
static void show_tty(int tty)
{
	_cleanup_(fd_closep) int target = -1;
	_cleanup_(fd_closep) int copy = -1;

	target = mountapi_open(AT_FDCWD, "/dev/console", O_NOFOLLOW);
	if (tty < 0 || target < 0)
		return;
	copy = mountapi_clone(tty, "", AT_EMPTY_PATH, 0);
	if (copy >= 0)
		(void)mountapi_attach(copy, target);
}

int devices_setup(struct mounts_ctx *c, struct err *err)
{
	int r;

	r = setup_devpts();
	if (r < 0)
		return fail(err, r, "/dev/pts");
	r = setup_ptmx();
	if (r < 0)
		return fail(err, r, "/dev/ptmx");
	r = setup_mqueue(c);
	if (r < 0)
		return fail(err, r, "/dev/mqueue");
	r = mask_nodes(c);
	if (r < 0)
		return fail(err, r, "/dev");
	show_tty(c->tty);
	return 0;
}
