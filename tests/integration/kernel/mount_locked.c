/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mask mounted in U1 can't be lifted by root of a nested user namespace: not
 * by umount, move, remount, bind, open_tree or pivot_root.
 */
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/integration/kernel/fact.h"

#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif

static char base[] = "/tmp/egret-fact-XXXXXX";
static char mask[64], secret[96];

static bool is_visible(const char *path)
{
	return access(path, F_OK) == 0;
}

static void refuse(int r, const char *what)
{
	if (r >= 0)
		fact_fail("%s is allowed", what);
	if (is_visible(secret))
		fact_fail("visible after %s", what);
}

/* A bind without what is mounted below would show what the mask covers. */
static void try_binds(void)
{
	char path[160];
	long fd;

	refuse(mount(base, "/mnt", NULL, MS_BIND, NULL), "a plain bind");
	fd = syscall(SYS_open_tree, AT_FDCWD, base, OPEN_TREE_CLONE);
	refuse((int)fd, "open_tree of the directory above");

	/* With it, the mask comes along and stays locked to it. */
	if (mount(base, "/mnt", NULL, MS_BIND | MS_REC, NULL) == 0) {
		(void)snprintf(path, sizeof(path), "/mnt/masked");
		refuse(umount2(path, MNT_DETACH), "umount in a copy");
		(void)snprintf(path, sizeof(path), "/mnt/masked/secret");
		if (is_visible(path))
			fact_fail("visible in a copy");
	}
}

static void try_pivot(void)
{
	char path[160];

	if (mount("none", "/mnt", "tmpfs", 0, NULL) < 0 ||
	    mkdir("/mnt/old", 0700) < 0 || chdir("/mnt") < 0)
		return;
	if (syscall(SYS_pivot_root, "/mnt", "/mnt/old") < 0)
		return; /* the root may be one that can't be pivoted */
	(void)snprintf(path, sizeof(path), "/old%s", mask);
	refuse(umount2(path, MNT_DETACH), "umount after pivot_root");
	(void)snprintf(path, sizeof(path), "/old%s", secret);
	if (is_visible(path))
		fact_fail("visible after pivot_root");
	refuse(umount2("/old", 0), "umount of the old root");
}

int main(void)
{
	int fd;

	fact_name = "mount_locked";
	fact_need(mkdtemp(base) != NULL, base);
	(void)snprintf(mask, sizeof(mask), "%s/masked", base);
	(void)snprintf(secret, sizeof(secret), "%s/secret", mask);
	fact_need(mkdir(mask, 0700) == 0, mask);
	fd = open(secret, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	fact_need(fd >= 0, secret);
	(void)close(fd);

	if (fork() == 0) {
		fact_enter(CLONE_NEWNS);
		fact_need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ==
				  0,
			  "private");
		fact_need(mount("none", mask, "tmpfs", MS_RDONLY, NULL) == 0,
			  "mask");
		if (is_visible(secret))
			fact_fail("the mask doesn't mask");
		fact_enter(CLONE_NEWNS);
		refuse(umount2(mask, 0), "umount");
		refuse(umount2(mask, MNT_DETACH), "lazy umount");
		refuse(mount(mask, "/mnt", NULL, MS_MOVE, NULL), "move");
		refuse(mount(NULL, mask, NULL, MS_REMOUNT | MS_BIND, NULL),
		       "remount writable");
		try_binds();
		try_pivot();
		fact_ok();
	}
	(void)wait(&fd);
	(void)unlink(secret);
	(void)rmdir(mask);
	(void)rmdir(base);
	return WIFEXITED(fd) ? WEXITSTATUS(fd) : 1;
}
