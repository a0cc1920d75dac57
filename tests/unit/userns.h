/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * userns.h - for tests that need capabilities: a user namespace of their own
 *
 * Check runs each test in a child, so a test may leave its namespaces for good.
 * Runs as root and as an ordinary user. Where the machine has no user
 * namespaces a test is skipped, or fails when EGRET_MUST_WORK is set.
 */
#ifndef EGRET_TESTS_USERNS_H
#define EGRET_TESTS_USERNS_H

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "netns/caps.h"
#include "netns/idmap.h"

/* An unprivileged id for tests that must not be uid 0 inside. */
#define USERNS_PLAIN_ID 1234

static inline bool userns_skip(const char *why)
{
	if (getenv("EGRET_MUST_WORK"))
		ck_abort_msg("skipped: %s", why);
	(void)printf("skipped: %s\n", why);
	return false;
}

/*
 * A new user namespace and what else @flags say, the user being 0 inside or
 * (@as_root false) keeping a uid that isn't 0; false: skip.
 */
static inline bool userns_enter(int flags, bool as_root)
{
	struct idmap_ids ids;
	struct err err = { .code = 0 };

	if (!as_root && geteuid() == 0) {
		ck_assert_int_eq(setresgid(USERNS_PLAIN_ID, USERNS_PLAIN_ID,
					   USERNS_PLAIN_ID),
				 0);
		ck_assert_int_eq(setresuid(USERNS_PLAIN_ID, USERNS_PLAIN_ID,
					   USERNS_PLAIN_ID),
				 0);
		/* Changing uid makes /proc/self root's. */
		ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	}
	idmap_get_ids(&ids);
	if (unshare(CLONE_NEWUSER | flags) < 0)
		return userns_skip(strerror(errno));
	ck_assert_msg(idmap_write(0, &ids, as_root, false, &err) == 0, "%s",
		      err.msg);
	return true;
}

/* Runs a shell command in the calling thread's namespaces; exit status. */
static inline int userns_sh(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));
static inline int userns_sh(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;
	int status;
	pid_t pid;

	va_start(ap, fmt);
	(void)vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	(void)fflush(stdout);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		/* A uid other than 0 would lose its capabilities. */
		(void)caps_keep_all_on_exec(NULL);
		(void)setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
		(void)execl("/bin/sh", "sh", "-c", cmd, (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#endif /* EGRET_TESTS_USERNS_H */
