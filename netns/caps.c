/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * caps.c - capabilities and no_new_privs, per thread
 *
 * libcap changes the calling thread only (the variant for whole processes is
 * another library, which must not be linked). Order: the bounding set can only
 * be emptied while CAP_SETPCAP is effective, so it goes first.
 *
 * For root inside, the kernel computes at execve(2) P' = (I | bounding) and,
 * because of no_new_privs, cuts that down to what was permitted before. Thus a
 * full permitted set and an untouched bounding set are what uid 0 needs, and
 * the inheritable and ambient sets stay empty, as root has them elsewhere. Any
 * other uid keeps nothing but its ambient set.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "netns/caps.h"

#include "base/cleanup.h"
#include "base/err.h"

static void sets_freep(cap_t *c)
{
	int saved = errno;

	if (*c)
		(void)cap_free(*c);
	*c = NULL;
	errno = saved;
}

static int empty_bounding(struct err *err)
{
	for (cap_value_t v = 0; v < cap_max_bits(); v++) {
		int in = cap_get_bound(v);

		if (in < 0)
			break; /* the kernel knows no more */
		if (in > 0 && cap_drop_bound(v) < 0)
			return err_set_errno(err, -errno,
					     "cannot empty the capability "
					     "bounding set");
	}
	return 0;
}

static int set_sets(cap_t sets, struct err *err)
{
	if (cap_set_proc(sets) < 0)
		return err_set_errno(err, -errno, "cannot set capabilities");
	return 0;
}

/* Leaves @keep, or nothing when @n is 0. */
static int keep_only(const cap_value_t *keep, int n, struct err *err)
{
	_cleanup_(sets_freep) cap_t sets = cap_init();
	int r;

	if (!sets)
		return err_set_errno(err, -ENOMEM, "cannot set capabilities");
	if (n > 0 && (cap_set_flag(sets, CAP_PERMITTED, n, keep, CAP_SET) < 0 ||
		      cap_set_flag(sets, CAP_EFFECTIVE, n, keep, CAP_SET) < 0))
		return err_set_errno(err, -errno, "cannot set capabilities");

	r = empty_bounding(err);
	if (r < 0)
		return r;
	if (cap_reset_ambient() < 0)
		return err_set_errno(err, -errno,
				     "cannot clear ambient capabilities");
	return set_sets(sets, err);
}

int caps_keep_only_net_admin(struct err *err)
{
	static const cap_value_t keep[] = { CAP_NET_ADMIN };

	return keep_only(keep, ARRAY_SIZE(keep), err);
}

int caps_keep_only_kill(struct err *err)
{
	static const cap_value_t keep[] = { CAP_KILL };

	return keep_only(keep, ARRAY_SIZE(keep), err);
}

int caps_drop_all(struct err *err)
{
	return keep_only(NULL, 0, err);
}

static int raise_flag(cap_t sets, cap_flag_t flag)
{
	for (cap_value_t v = 0; v < cap_max_bits(); v++) {
		cap_flag_value_t has;

		if (cap_get_flag(sets, v, CAP_PERMITTED, &has) < 0 ||
		    cap_set_flag(sets, flag, 1, &v, has) < 0)
			return -errno;
	}
	return 0;
}

static int raise_ambient(cap_t sets)
{
	for (cap_value_t v = 0; v < cap_max_bits(); v++) {
		cap_flag_value_t has;

		if (cap_get_flag(sets, v, CAP_PERMITTED, &has) < 0)
			return -errno;
		if (has == CAP_SET && cap_set_ambient(v, CAP_SET) < 0)
			return -errno;
	}
	return 0;
}

int caps_keep_all_on_exec(struct err *err)
{
	_cleanup_(sets_freep) cap_t sets = cap_get_proc();
	bool is_root = geteuid() == 0;
	int r;

	if (!sets)
		return err_set_errno(err, -errno, "cannot read capabilities");

	r = raise_flag(sets, CAP_EFFECTIVE);
	if (r == 0 && !is_root)
		r = raise_flag(sets, CAP_INHERITABLE);
	if (r < 0)
		return err_set_errno(err, r, "cannot set capabilities");
	r = set_sets(sets, err);
	if (r < 0 || is_root)
		return r;

	r = raise_ambient(sets);
	if (r < 0)
		return err_set_errno(err, r,
				     "cannot raise ambient capabilities");
	return 0;
}

int caps_no_new_privs(struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0)
		return err_set_errno(err, -errno, "cannot set no_new_privs");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L) != 1)
		return err_set(err, -EIO, "no_new_privs didn't take effect");
	return 0;
}
