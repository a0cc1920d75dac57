/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mounts.c - the order in which the command's file tree is made
 *
 * Theory of operation. Runs in init, pid 1 of the sandbox, in a mount namespace
 * that U1 owns. When init then makes U2 and its mount namespace, the kernel
 * locks every mount of ours against whoever is root there: none can be
 * unmounted, moved, uncovered by a partial copy, or made writable again.
 *
 *  1. propagate: everything becomes private, before the first mount: neither
 *     do our masks reach the host, nor does a later mount of the host land
 *     inside, on top of a mask.
 *  2. look: what masks will cover is opened or noted now: the working directory
 *     by its path, --socket, the terminal's node, the list of mounts.
 *  3. workshop: the tmpfs that masks are cut from; /proc can't be used from
 *     here to step 8.
 *  4. hide: policy files and runtime directories come before the masks, since
 *     their paths have to be walked in the host's tree, links and all.
 *  5. mask: directories before single sockets, so that the many sockets of /run
 *     need no mask of their own; --socket is put back after all masks. So do
 *     other mounts of the kernel's file systems.
 *  6. devices: devpts, mqueue, nodes.
 *  7. etc: resolv.conf may lead into the new /run, so it comes after step 5.
 *  8. kernel: /sys, and /proc after the workshop has left its place.
 *  9. return: the working directory is entered anew by its path, because a
 *     process that stands beneath a mask still sees what the mask covers.
 *
 * Any failure that isn't "there is no such thing" ends the run before the
 * command exists. Nothing has to be undone: the namespace ends with init.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/mounts.h"
#include "netns/mounts_internal.h"

static void ctx_done(struct mounts_ctx *c)
{
	for (size_t i = 0; c->kept && i < c->cfg->n_sockets; i++)
		fd_closep(&c->kept[i]);
	free(c->kept);
	fd_closep(&c->tty);
	fd_closep(&c->ws.dir);
	mountinfo_done(&c->mi);
}

static int look(struct mounts_ctx *c, struct err *err)
{
	size_t n = c->cfg->n_sockets;
	int r;

	c->kept = calloc(n + 1, sizeof(*c->kept));
	if (!c->kept)
		return err_set_errno(err, -ENOMEM, "cannot set up mounts");
	for (size_t i = 0; i < n; i++)
		c->kept[i] = -1;
	r = masks_open_kept(c, err);
	if (r < 0)
		return r;
	c->tty = devices_open_tty();
	return mountinfo_read(&c->mi, err);
}

static int build(struct mounts_ctx *c, struct err *err)
{
	int r;

	r = workshop_open(&c->ws, err);
	if (r == 0)
		r = hidden_setup(c, err);
	if (r == 0)
		r = masks_setup_dirs(c, err);
	if (r == 0)
		r = masks_setup_sockets(c, err);
	if (r == 0)
		r = kernelfs_mask_elsewhere(c, err);
	if (r == 0)
		r = devices_setup(c, err);
	if (r == 0)
		r = etcfiles_setup(c, err);
	if (r == 0)
		r = kernelfs_setup_sys(err);
	if (r == 0)
		r = workshop_close(&c->ws, err);
	if (r == 0)
		r = kernelfs_setup_proc(c->cfg, err);
	return r;
}

/* By path; where that leads nowhere any more, the root is always there. */
static int return_to(const char *cwd, struct err *err)
{
	if (cwd && chdir(cwd) == 0)
		return 0;
	if (chdir("/") < 0)
		return err_set_errno(err, -errno, "cannot enter '/'");
	return 0;
}

int mounts_setup(const struct mounts_config *cfg, char *const *host_sockets,
		 size_t n_host_sockets, struct err *err)
{
	_cleanup_(freep) char *cwd = getcwd(NULL, 0);
	_cleanup_(ctx_done) struct mounts_ctx c = {
		.cfg = cfg,
		.host_sockets = host_sockets,
		.n_host_sockets = n_host_sockets,
		.ws = { .dir = -1 },
		.tty = -1,
		.cwd = cwd,
	};
	int r;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_set_errno(err, -errno,
				     "cannot make the mounts private");
	r = look(&c, err);
	if (r == 0)
		r = build(&c, err);
	return r < 0 ? r : return_to(cwd, err);
}

int mounts_setup_in_u2(const struct mounts_config *cfg, struct err *err)
{
	(void)cfg; /* the same for every user */
	return kernelfs_remount_sys(err);
}
