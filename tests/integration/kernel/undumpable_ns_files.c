/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The namespace files of an undumpable process can't be opened by another
 * process of the same user; the process itself still can.
 */
#include "tests/integration/kernel/fact.h"

/* 0 or the errno of opening the child's file. */
static int open_of(pid_t pid, const char *file)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

int main(void)
{
	int go[2], ready[2], own, before, net;
	char byte = 0;
	pid_t pid;

	fact_name = "undumpable_ns_files";
	fact_be_plain();
	fact_need(pipe2(go, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0,
		  "pipe");
	pid = fork();
	if (pid == 0) {
		(void)close(go[1]);
		byte = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 1 : 0;
		(void)!write(ready[1], &byte, 1);
		(void)!read(go[0], &byte, 1);
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		byte = open_of(getpid(), "ns/net") != 0 ? 1 : 0;
		(void)!write(ready[1], &byte, 1);
		(void)!read(go[0], &byte, 1);
		_exit(0);
	}
	fact_need(read(ready[0], &byte, 1) == 1, "child");
	if (!byte)
		fact_skip("no user namespaces");
	before = open_of(pid, "ns/net");
	fact_need(write(go[1], "x", 1) == 1, "write");
	fact_need(read(ready[0], &byte, 1) == 1, "child");
	own = byte;
	net = open_of(pid, "ns/net");
	(void)close(go[1]);
	(void)waitpid(pid, NULL, 0);

	if (before != 0)
		fact_fail("while dumpable: %s", strerror(before));
	if (net != EACCES && net != EPERM)
		fact_fail("undumpable: %s",
			  net ? strerror(net) : "it can be opened");
	if (own != 0)
		fact_fail("the process itself can't");
	fact_ok();
}
