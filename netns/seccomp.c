/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seccomp.c - the command's system call filter
 *
 * Theory of operation. The packets are judged elsewhere; the filter shuts what
 * never becomes a packet in the sandbox's netns: socket families that netns
 * don't isolate, typing into the caller's terminal, keys whose request makes
 * the host's kernel resolve names, and io_uring, which makes sockets past any
 * filter. All else is allowed, so that compilers, debuggers, nested containers
 * with filters of their own, and egret itself run inside.
 *
 * Arguments are compared in their lower 32 bits only: the kernel takes an int
 * or unsigned int there and ignores the rest, which the command may fill as it
 * likes. Since a comparison "none of these" can't be said in one rule, each
 * denied value gets its own; above the tables the kernel itself knows nothing
 * (AF_MAX and MAX_LINKS are smaller). No two rules of one call overlap with
 * different results, so no precedence is needed.
 *
 * A denied call fails as it would on a kernel without the feature, so that
 * programs take their fallback; for keyctl too: container runtimes go on
 * without a keyring after ENOSYS and give up after EPERM.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/seccomp.h"

#define FAMILIES 64U /* more than AF_MAX of any kernel so far (46) */
#define LOW32	 0xffffffffU

static const int families[] = {
	AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET,
};

static const int netlink_protocols[] = {
	NETLINK_ROUTE,	 NETLINK_SOCK_DIAG,	 NETLINK_NETFILTER,
	NETLINK_GENERIC, NETLINK_KOBJECT_UEVENT,
};

static const unsigned int ioctls[] = { TIOCSTI, TIOCLINUX };

static const struct {
	const char *name; /* not every architecture has each */
	int error;
} calls[] = {
	{ "add_key", ENOSYS },
	{ "request_key", ENOSYS },
	{ "keyctl", ENOSYS },
	{ "io_uring_setup", ENOSYS },
	{ "io_uring_enter", ENOSYS },
	{ "io_uring_register", ENOSYS },
	/* Its arguments are in memory; the direct calls are as old as 4.3. */
	{ "socketcall", ENOSYS },
};

static void filter_freep(scmp_filter_ctx *ctx)
{
	if (*ctx)
		seccomp_release(*ctx);
}

static bool is_among(unsigned int value, const int *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((unsigned int)list[i] == value)
			return true;
	}
	return false;
}

static struct scmp_arg_cmp low32_is(unsigned int arg, unsigned int value)
{
	return SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, LOW32, value);
}

/* socket() and socketpair() have the same first three arguments. */
static int deny_families(scmp_filter_ctx ctx, int call)
{
	for (unsigned int f = 0; f < FAMILIES; f++) {
		const struct scmp_arg_cmp cmp = low32_is(0, f);
		int r;

		if (is_among(f, families, ARRAY_SIZE(families)))
			continue;
		r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT),
					   call, 1, &cmp);
		if (r < 0)
			return r;
	}
	for (unsigned int p = 0; p < MAX_LINKS; p++) {
		const struct scmp_arg_cmp cmp[] = {
			low32_is(0, AF_NETLINK),
			low32_is(2, p),
		};
		int r;

		if (is_among(p, netlink_protocols,
			     ARRAY_SIZE(netlink_protocols)))
			continue;
		r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT),
					   call, 2, cmp);
		if (r < 0)
			return r;
	}
	return 0;
}

static int deny_ioctls(scmp_filter_ctx ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(ioctls); i++) {
		const struct scmp_arg_cmp cmp = low32_is(1, ioctls[i]);
		int r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM),
					       SCMP_SYS(ioctl), 1, &cmp);

		if (r < 0)
			return r;
	}
	return 0;
}

static int deny_calls(scmp_filter_ctx ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		int call = seccomp_syscall_resolve_name(calls[i].name);
		int r;

		if (call < 0) /* a pseudo number: not on this architecture */
			continue;
		r = seccomp_rule_add(
			ctx, SCMP_ACT_ERRNO((unsigned)calls[i].error), call, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill(scmp_filter_ctx ctx)
{
	int r;

	/* The caller set no_new_privs; without it loading has to fail. */
	r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, 0);
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
				     SCMP_ACT_ERRNO(ENOSYS));
	if (r == 0)
		r = deny_families(ctx, SCMP_SYS(socket));
	if (r == 0)
		r = deny_families(ctx, SCMP_SYS(socketpair));
	if (r == 0)
		r = deny_ioctls(ctx);
	if (r == 0)
		r = deny_calls(ctx);
	return r;
}

int seccomp_confine_command(struct err *err)
{
	_cleanup_(filter_freep) scmp_filter_ctx ctx = NULL;
	int r;

	ctx = seccomp_init(SCMP_ACT_ALLOW);
	if (!ctx)
		return err_set_errno(err, -ENOMEM,
				     "cannot make the system call filter");
	r = fill(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	if (r < 0)
		return err_set_errno(err, r,
				     "cannot install the system call filter");
	return 0;
}
