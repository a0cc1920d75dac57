/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * etcfiles.c - resolv.conf, and the ssh client's configuration
 *
 * resolv.conf is bound over what /etc/resolv.conf leads to, so that programs
 * that follow the link and programs that open its target see the same. The
 * target is often under /run, which is masked by now: there it is made anew,
 * in our own tmpfs. No file is ever made on the host; where the link leads
 * nowhere else, the file is mounted on the link itself.
 *
 * /etc/hosts is replaced as well: a name that the command looks up there would
 * give it an address that nobody has learned.
 *
 * ssh refuses included files that belong neither to root nor to the user. In a
 * user namespace that maps one user only, root's files belong to nobody; so the
 * command sees copies that the user owns.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "netns/mounts.h"
#include "netns/mounts_internal.h"

#define RESOLV_CONF   "/etc/resolv.conf"
#define RESOLV_PIECE  "resolv.conf"
#define HOSTS	      "/etc/hosts"
#define HOSTS_PIECE   "hosts"
#define LINKS_MAX     40
#define SSH_FILE_MAX  (256U << 10) /* bytes of one configuration file */
#define SSH_FILES_MAX 256	   /* in one directory */

/* Files and directories that the ssh client reads as a part of its own. */
static const char *const ssh_paths[] = {
	"/etc/ssh/ssh_config",
	"/etc/ssh/ssh_config.d",
	"/etc/crypto-policies/back-ends/openssh.config",
	"/usr/etc/ssh/ssh_config",
	"/usr/etc/ssh/ssh_config.d",
};

static void closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d); /* only read from */
}

/* Where a chain of links ends, though nothing is there. */
static int end_of_links(char path[static PATH_MAX])
{
	char target[PATH_MAX], next[PATH_MAX];

	for (int i = 0; i < LINKS_MAX; i++) {
		ssize_t len = readlink(path, target, sizeof(target) - 1);
		int dir_len = 0, n;

		if (len < 0)
			return errno == ENOENT || errno == EINVAL ? 0 : -errno;
		target[len] = '\0';
		if (target[0] != '/')
			dir_len = (int)(strrchr(path, '/') - path) + 1;
		n = snprintf(next, sizeof(next), "%.*s%s", dir_len, path,
			     target);
		if (n >= (int)sizeof(next))
			return -ENAMETOOLONG;
		memcpy(path, next, (size_t)n + 1);
	}
	return -ELOOP;
}

/* What to mount on; negative errno when there is neither file nor link. */
static int open_resolv_conf(const struct mounts_ctx *c)
{
	char path[PATH_MAX] = RESOLV_CONF;
	int fd = mountapi_open(AT_FDCWD, RESOLV_CONF, 0);

	if (!mountapi_is_absent(fd))
		return fd;
	if (end_of_links(path) == 0 && strcmp(path, RESOLV_CONF) != 0) {
		fd = workshop_make_point(&c->ws, path);
		if (fd >= 0)
			return fd;
	}
	return mountapi_open(AT_FDCWD, RESOLV_CONF, O_NOFOLLOW);
}

static int setup_resolv_conf(const struct mounts_ctx *c, struct err *err)
{
	_cleanup_(fd_closep) int target = -1;
	const char *text = c->cfg->resolv_conf;
	int r;

	r = workshop_put(&c->ws, RESOLV_PIECE, 0444, text, strlen(text), err);
	if (r < 0)
		return r;
	target = open_resolv_conf(c);
	if (target == -ENOENT)
		return err_set(err, target,
			       "this system has no " RESOLV_CONF "; an empty "
			       "file is enough: touch " RESOLV_CONF);
	r = target < 0 ? target : workshop_cover(&c->ws, RESOLV_PIECE, target);
	if (r < 0)
		return err_set_errno(
			err, r,
			"cannot put the sandbox's resolver into " RESOLV_CONF);
	return 0;
}

static int setup_hosts(const struct mounts_ctx *c, struct err *err)
{
	_cleanup_(fd_closep) int target = -1;
	const char *text = c->cfg->hosts;
	int r;

	target = mountapi_open(AT_FDCWD, HOSTS, 0);
	if (mountapi_is_absent(target))
		return 0;
	r = target < 0 ? target : 0;
	if (r == 0)
		r = workshop_put(&c->ws, HOSTS_PIECE, 0444, text, strlen(text),
				 err);
	if (r == 0)
		r = workshop_cover(&c->ws, HOSTS_PIECE, target);
	if (r < 0)
		return err_set_errno(err, r, "cannot put a file over " HOSTS);
	return 0;
}

/* A file that can't be read is none to ssh either. */
static int copy_file(const struct mounts_ctx *c, const char *from,
		     const char *piece, struct err *err)
{
	_cleanup_(freep) char *data = NULL;
	struct err ignored;
	size_t len;

	if (io_read_file(from, SSH_FILE_MAX, &data, &len, &ignored) < 0)
		return 0;
	return workshop_put(&c->ws, piece, 0644, data, len, err);
}

static int copy_dir(const struct mounts_ctx *c, const char *from,
		    const char *piece, struct err *err)
{
	_cleanup_(closedirp) DIR *dir = opendir(from);
	struct dirent *de;
	unsigned int n = 0;

	if (mkdirat(c->ws.dir, piece, 0755) < 0)
		return err_set_errno(err, -errno, "cannot copy '%s'", from);
	if (!dir)
		return 0;
	while ((errno = 0, de = readdir(dir)) && n++ < SSH_FILES_MAX) {
		char source[PATH_MAX], copy[PATH_MAX];
		int r;

		if (de->d_name[0] == '.')
			continue;
		if (snprintf(source, PATH_MAX, "%s/%s", from, de->d_name) >=
			    PATH_MAX ||
		    snprintf(copy, PATH_MAX, "%s/%s", piece, de->d_name) >=
			    PATH_MAX)
			continue;
		r = copy_file(c, source, copy, err);
		if (r < 0)
			return r;
	}
	return errno ? err_set_errno(err, -errno, "cannot read '%s'", from) : 0;
}

/* Is root one of the users that this user namespace knows? */
static bool is_root_mapped(void)
{
	struct stat st;

	return geteuid() == 0 || (stat("/", &st) == 0 && st.st_uid == 0);
}

static int setup_ssh(const struct mounts_ctx *c, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(ssh_paths); i++) {
		_cleanup_(fd_closep) int target = -1;
		char piece[sizeof("ssh") + 10];
		struct stat st;
		int r;

		target = mountapi_open(AT_FDCWD, ssh_paths[i], 0);
		if (target < 0 || fstat(target, &st) < 0)
			continue;
		(void)snprintf(piece, sizeof(piece), "ssh%zu", i);
		r = S_ISDIR(st.st_mode)
			    ? copy_dir(c, ssh_paths[i], piece, err)
			    : copy_file(c, ssh_paths[i], piece, err);
		if (r < 0)
			return r;
		r = workshop_cover(&c->ws, piece, target);
		/* No copy was made of what can't be read. */
		if (r < 0 && r != -ENOENT)
			return err_set_errno(err, r,
					     "cannot bind a copy of "
					     "'%s'",
					     ssh_paths[i]);
	}
	return 0;
}

int etcfiles_setup(struct mounts_ctx *c, struct err *err)
{
	int r = 0;

	if (c->cfg->resolv_conf)
		r = setup_resolv_conf(c, err);
	if (r == 0 && c->cfg->hosts)
		r = setup_hosts(c, err);
	if (r == 0 && !is_root_mapped())
		r = setup_ssh(c, err);
	return r;
}
