/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nsset.c - descriptors of all namespaces of one sandbox
 *
 * Theory of operation. An undumpable process's /proc/PID/ns can't be opened by
 * its own user, so descriptors are opened while there is still time, by init
 * itself, and handed on.
 *
 * An ordinary user may join because the kernel gives the maker of a user
 * namespace, in its parent, every capability over it. The order is forced:
 *
 *  1. U1. Inside it the user has its capabilities, and so those over U2.
 *  2. ipc, uts and pid, which U1 owns; then net and mount, which U2 owns. Each
 *     of them wants CAP_SYS_ADMIN both over itself and in the present user
 *     namespace.
 *  3. U2, which takes away all rights in U1. Nothing leads back.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/nsfs.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/nsset.h"

static const struct {
	const char *path;
	int type;
	enum nsset_slot owner;
} slots[] = {
	[NSSET_U1] = { "/proc/self/ns/user", CLONE_NEWUSER, NSSET_MAX },
	[NSSET_IPC] = { "/proc/self/ns/ipc", CLONE_NEWIPC, NSSET_U1 },
	[NSSET_UTS] = { "/proc/self/ns/uts", CLONE_NEWUTS, NSSET_U1 },
	[NSSET_PID] = { "/proc/self/ns/pid", CLONE_NEWPID, NSSET_U1 },
	[NSSET_NET] = { "/proc/self/ns/net", CLONE_NEWNET, NSSET_U2 },
	[NSSET_MNT] = { "/proc/self/ns/mnt", CLONE_NEWNS, NSSET_U2 },
	[NSSET_U2] = { "/proc/self/ns/user", CLONE_NEWUSER, NSSET_U1 },
};

void nsset_init(struct nsset *s)
{
	size_t i;

	for (i = 0; i < NSSET_MAX; i++)
		s->fds[i] = -1;
}

void nsset_close(struct nsset *s)
{
	size_t i;

	for (i = 0; i < NSSET_MAX; i++)
		fd_closep(&s->fds[i]);
}

static int open_slot(struct nsset *s, enum nsset_slot slot, struct err *err)
{
	int fd = open(slots[slot].path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set_errno(err, -errno, "cannot open %s",
				     slots[slot].path);
	s->fds[slot] = fd;
	return 0;
}

int nsset_open_u1(struct nsset *s, struct err *err)
{
	return open_slot(s, NSSET_U1, err);
}

int nsset_open_proc(struct nsset *s, struct err *err)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set_errno(err, -errno, "cannot open /proc");
	s->fds[NSSET_PROC] = fd;
	return 0;
}

int nsset_open_own(struct nsset *s, struct err *err)
{
	enum nsset_slot slot;
	int r = 0;

	for (slot = NSSET_INSIDE; slot <= NSSET_U2 && r == 0; slot++)
		r = open_slot(s, slot, err);
	return r;
}

static bool is_same(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 &&
	       sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static bool is_good(const struct nsset *s, enum nsset_slot slot)
{
	_cleanup_(fd_closep) int owner = -1;

	/* The type first: other files know these numbers for other things. */
	if (s->fds[slot] < 0 ||
	    ioctl(s->fds[slot], NS_GET_NSTYPE) != slots[slot].type)
		return false;
	if (slots[slot].owner == NSSET_MAX)
		return true;
	/* Of a user namespace the owner is its parent. */
	owner = ioctl(s->fds[slot], NS_GET_USERNS);
	return owner >= 0 && is_same(owner, s->fds[slots[slot].owner]);
}

int nsset_check(const struct nsset *s, struct err *err)
{
	enum nsset_slot slot;
	struct statfs sf;

	for (slot = NSSET_U1; slot <= NSSET_U2; slot++)
		if (!is_good(s, slot))
			return err_set(err, -EPROTO,
				       "what should be the sandbox's %s is "
				       "something else",
				       slots[slot].path);
	if (fstatfs(s->fds[NSSET_PROC], &sf) < 0 ||
	    (unsigned long)sf.f_type != PROC_SUPER_MAGIC)
		return err_set(err, -EPROTO,
			       "what should be the sandbox's /proc is "
			       "something else");
	return 0;
}

int nsset_join(const struct nsset *s, struct err *err)
{
	enum nsset_slot slot;
	uid_t owner = (uid_t)-1;

	/* Root could go in too, but its uid means nothing there, and would
	   still own root's files. */
	if (ioctl(s->fds[NSSET_U1], NS_GET_OWNER_UID, &owner) < 0)
		return err_set_errno(err, -errno,
				     "cannot tell whose sandbox it is");
	if (owner != geteuid())
		return err_set(err, -EPERM,
			       "the sandbox is another user's (uid %u)",
			       (unsigned int)owner);
	for (slot = NSSET_U1; slot <= NSSET_U2; slot++)
		if (setns(s->fds[slot], slots[slot].type) < 0)
			return err_set_errno(err, -errno,
					     "cannot join the sandbox's %s",
					     slots[slot].path);
	/*
	 * SECURITY: before any child exists, which processes inside could see.
	 * Joining a user namespace resets it to the system's setting.
	 */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_set_errno(err, -errno, "cannot become undumpable");
	return 0;
}
