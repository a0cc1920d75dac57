/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mountapi.c - the mount system calls, by descriptor
 *
 * Linux 5.12 and later. The path forms of mount(2) would look a target up a
 * second time; here what was inspected is what is mounted over.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "netns/mounts_internal.h"

int mountapi_open(int dirfd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

bool mountapi_is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ELOOP;
}

int mountapi_set_attrs(int dirfd, const char *path, uint64_t attrs)
{
	struct mount_attr attr = { .attr_set = attrs };
	unsigned int flags = AT_RECURSIVE | (*path ? 0 : AT_EMPTY_PATH);

	if (mount_setattr(dirfd, path, flags, &attr, sizeof(attr)) < 0)
		return -errno;
	return 0;
}

int mountapi_clone(int dirfd, const char *path, unsigned int flags,
		   uint64_t attrs)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	fd = open_tree(dirfd, path,
		       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	if (attrs) {
		r = mountapi_set_attrs(fd, "", attrs);
		if (r < 0)
			return r;
	}
	return fd_steal(&fd);
}

int mountapi_new(const char *type, const struct mountapi_option *options,
		 size_t n_options, uint64_t attrs)
{
	_cleanup_(fd_closep) int fs = -1;
	int fd;

	fs = fsopen(type, FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	for (size_t i = 0; i < n_options; i++) {
		const char *value = options[i].value;

		if (fsconfig(fs,
			     value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
			     options[i].key, value, 0) < 0)
			return -errno;
	}
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned int)attrs);
	return fd < 0 ? -errno : fd;
}

int mountapi_attach(int mount, int target)
{
	if (move_mount(mount, "", target, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}
