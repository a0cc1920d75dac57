/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scope.c - no signal leaves the sandbox
 *
 * A pid namespace hides the processes outside, but not the process group: the
 * command shares one with the front, so that the terminal reaches both, and
 * with whatever else the shell put there: the other side of a pipe, the script
 * that runs egret. kill(0, ...) and the signal of a terminal's readiness
 * (O_ASYNC) go to all of them. Landlock's signal scope keeps them inside; the
 * domain handles nothing else, so files and mounts are as free as without.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/scope.h"

/* Of <linux/landlock.h>, which is older than this on some systems. */
#define LANDLOCK_VERSION_FLAG 1U
#define LANDLOCK_SIGNAL_ABI   6
#define LANDLOCK_SIGNAL_SCOPE (UINT64_C(1) << 1)

struct scope_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

int scope_confine_signals(struct err *err)
{
	const struct scope_attr attr = { .scoped = LANDLOCK_SIGNAL_SCOPE };
	_cleanup_(fd_closep) int ruleset = -1;
	long abi;

	abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
		      LANDLOCK_VERSION_FLAG);
	if (abi < LANDLOCK_SIGNAL_ABI)
		return 0;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr),
			       0);
	if (ruleset < 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_set_errno(err, -errno, "cannot keep signals inside");
	return 0;
}
