/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds a name, and what doesn't. A mount on a directory, a file or a
 * symbolic link keeps its name from being renamed or removed, in the mount
 * namespace that has it. In a tree that was detached after pivot_root the name
 * can be changed, while the mount still covers what it covered. And a file that
 * is replaced from another mount namespace loses its mount.
 */
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/integration/kernel/fact.h"

#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 4
#endif

static char base[] = "/tmp/egret-fact-XXXXXX";

static void put(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	fact_need(fd >= 0 && write(fd, text, strlen(text)) > 0, path);
	(void)close(fd);
}

static bool is_text(const char *path, const char *text)
{
	char buf[16];

	fact_read(path, buf, sizeof(buf));
	return strcmp(buf, text) == 0;
}

static void busy(int r, const char *what)
{
	if (r == 0)
		fact_fail("%s is allowed", what);
	fact_need(errno == EBUSY, what);
}

static void bind_on(const char *from, const char *to)
{
	fact_need(mount(from, to, NULL, MS_BIND, NULL) == 0, to);
}

static void pin_link(const char *path)
{
	long fd = syscall(SYS_open_tree, AT_FDCWD, path,
			  OPEN_TREE_CLONE | AT_SYMLINK_NOFOLLOW);

	fact_need(fd >= 0, "open_tree of a link");
	if (syscall(SYS_move_mount, fd, "", AT_FDCWD, path,
		    MOVE_MOUNT_F_EMPTY_PATH) < 0)
		fact_fail("a link can't be mounted on: %s", strerror(errno));
}

static void try_names(void)
{
	busy(rename("above", "x"), "rename of a directory that is bound");
	busy(rename("above/dir", "above/x"), "rename of a mask");
	busy(rmdir("above/dir"), "rmdir of a mask");
	busy(unlink("file"), "unlink of a masked file");
	busy(rename("new", "file"), "rename over a masked file");
	busy(unlink("link"), "unlink of a link mounted on");
	busy(rename("link", "x"), "rename of a link mounted on");
	if (access("link/dir", F_OK) < 0)
		fact_fail("a link mounted on isn't followed");
}

static void try_detached(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fact_need(dir >= 0 && mount("none", "/mnt", "tmpfs", 0, NULL) == 0 &&
			  mkdir("/mnt/old", 0700) == 0 && chdir("/mnt") == 0,
		  "a new root");
	if (syscall(SYS_pivot_root, ".", "old") < 0)
		fact_skip("this root can't be pivoted");
	fact_need(umount2("/old", MNT_DETACH) == 0, "detach");
	if (renameat(dir, "above", dir, "moved") < 0)
		fact_fail("a detached tree keeps names too: %s",
			  strerror(errno));
	if (faccessat(dir, "moved/dir/secret", F_OK, 0) == 0)
		fact_fail("a detached tree uncovers");
}

static void inside(int to_outside, int from_outside)
{
	char byte = 0;

	fact_need(write(to_outside, &byte, 1) == 1, "pipe");
	fact_need(read(from_outside, &byte, 1) == 1, "pipe");
	if (!is_text("file2", "new"))
		fact_fail("a file replaced from outside stays covered");
	fact_enter(CLONE_NEWNS);
	try_names();
	try_detached();
	fact_ok();
}

static void child(int to_outside, int from_outside)
{
	fact_enter(CLONE_NEWNS);
	fact_need(chdir(base) == 0, base);
	fact_need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0,
		  "private");
	bind_on("above", "above");
	fact_need(chdir(base) == 0, base);
	fact_need(mount("none", "above/dir", "tmpfs", 0, NULL) == 0, "mask");
	bind_on("mask", "file");
	bind_on("mask", "file2");
	pin_link("link");
	if (!is_text("file2", "mask"))
		fact_fail("the mask doesn't mask");
	inside(to_outside, from_outside);
}

int main(void)
{
	int up[2], down[2], status;
	char byte = 0;
	pid_t pid;

	fact_name = "mount_rename";
	fact_be_plain();
	fact_need(mkdtemp(base) != NULL && chdir(base) == 0, base);
	fact_need(mkdir("above", 0700) == 0 && mkdir("above/dir", 0700) == 0 &&
			  symlink("above", "link") == 0,
		  "set-up");
	put("above/dir/secret", "x");
	put("file", "old");
	put("file2", "old");
	put("new", "new");
	put("new2", "new");
	put("mask", "mask");
	fact_need(pipe2(up, O_CLOEXEC) == 0 && pipe2(down, O_CLOEXEC) == 0,
		  "pipe");
	pid = fork();
	fact_need(pid >= 0, "fork");
	if (pid == 0)
		child(up[1], down[0]);
	(void)close(up[1]);
	if (read(up[0], &byte, 1) == 1) {
		fact_need(rename("new2", "file2") == 0, "replace");
		fact_need(write(down[1], &byte, 1) == 1, "pipe");
	}
	fact_need(waitpid(pid, &status, 0) == pid, "wait");
	fact_run("rm -rf %s", base);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
