/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rundir.c - runtime directories and project files
 *
 * A directory is alive as long as its lock file is locked. Making and removing
 * one takes several steps; they happen under a lock on the base directory, so
 * that no run takes a directory away that another one is about to lock.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "cmd/rundir.h"

#define NAME_LEN_MAX  48
#define SAME_NAME_MAX 100 /* sandboxes of one project at once */

static const char project_text[] =
	"# Allowlist of an egret project. One entry a line; edits apply at "
	"once,\n"
	"# to running commands too. Everything that isn't here is refused.\n"
	"# 'egret allow NAME ENTRY' adds one, 'egret lint FILE' checks all.\n"
	"#\n"
	"# example.org                # TCP 443 and 80 of exactly this name\n"
	"# *.example.org              # any name below it, not example.org\n"
	"# example.org:8443           # only this port; also :22,443 "
	":8000-8010\n"
	"# 203.0.113.7:5432           # an address; networks as "
	"10.1.0.0/16:443\n"
	"# @pypi                      # a preset, see: egret presets\n"
	"# db.example.org:5432 private  # the name may have private addresses\n"
	"# !ads.example.org           # denied, whatever else allows it\n";

bool rundir_is_name(const char *name)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(name);

	return len > 0 && len <= NAME_LEN_MAX && name[0] != '.' &&
	       name[0] != '-' && strspn(name, ok) == len;
}

static int check_name(const char *project, struct err *err)
{
	if (rundir_is_name(project))
		return 0;
	return err_set(err, -EINVAL,
		       "'%s' can't be a project's name: letters, digits, '.', "
		       "'_' and '-', at most %d",
		       project, NAME_LEN_MAX);
}

static int join(char *dst, size_t size, const char *dir, const char *name,
		struct err *err)
{
	int n = snprintf(dst, size, "%s/%s", dir, name);

	if (n < 0 || (size_t)n >= size)
		return err_set(err, -ENAMETOOLONG,
			       "the path %s/... is too long", dir);
	return 0;
}

static bool is_private(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() &&
	       !(st->st_mode & 022);
}

/* A directory of ours that nobody else can write. */
static int make_private_dir(const char *path, struct err *err)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set_errno(err, -errno, "cannot make %s", path);
	if (lstat(path, &st) < 0)
		return err_set_errno(err, -errno, "cannot look at %s", path);
	if (!is_private(&st))
		return err_set(err, -EPERM,
			       "%s must be a directory that only you can "
			       "write; move it away, or set XDG_RUNTIME_DIR",
			       path);
	return 0;
}

static int base_dir(char *dst, size_t size, struct err *err)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	struct stat st;
	int n;

	/* Another user's, as after sudo, could change under our feet. */
	if (xdg && xdg[0] == '/' && stat(xdg, &st) == 0 && is_private(&st))
		n = snprintf(dst, size, "%s/egret", xdg);
	else if (geteuid() == 0 && access("/run", W_OK) == 0)
		n = snprintf(dst, size, "/run/egret");
	else
		n = snprintf(dst, size, "/tmp/egret-%u", (unsigned)geteuid());
	if (n < 0 || (size_t)n >= size)
		return err_set(err, -ENAMETOOLONG,
			       "XDG_RUNTIME_DIR is too long");
	return 0;
}

/* Return: descriptor that holds the lock on the base directory. */
static int lock_base(const char *base, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set_errno(err, -errno, "cannot open %s", base);
	if (!is_private(&st))
		return err_set(err, -EPERM, "%s isn't yours alone", base);
	do {
		r = flock(fd, LOCK_EX);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_set_errno(err, -errno, "cannot lock %s", base);
	return fd_steal(&fd);
}

/*
 * Takes the directory of an id: made now, or left by a run that is dead.
 * Return: 0, or -EBUSY when a living run has it.
 */
static int take_dir(struct rundir *rd, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	char path[PATH_MAX];
	int r;

	r = join(rd->dir, sizeof(rd->dir), rd->base, rd->id, err);
	if (r == 0)
		r = make_private_dir(rd->dir, err);
	if (r == 0)
		r = join(path, sizeof(path), rd->dir, "lock", err);
	if (r < 0)
		return r;
	/* O_NONBLOCK: it may be a FIFO. */
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		  0600);
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? -EBUSY
			       : err_set_errno(err, -errno, "cannot lock %s",
					       path);
	r = join(path, sizeof(path), rd->dir, "allowlist", err);
	if (r < 0)
		return r;
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set_errno(err, -errno, "cannot remove %s", path);
	rd->lock_fd = fd_steal(&fd);
	return 0;
}

/* Under the base's lock. What can't be removed now is taken over later. */
static void remove_dir(struct rundir *rd)
{
	/* The second is what a killed edit may leave, see listfile.c. */
	static const char *const files[] = { "allowlist", ".allowlist.new",
					     RUNDIR_SOCKET, "lock" };
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (join(path, sizeof(path), rd->dir, files[i], NULL) == 0)
			(void)unlink(path);
	(void)rmdir(rd->dir);
	fd_closep(&rd->lock_fd);
}

/* Takes away what killed runs left: directories whose lock nobody holds. */
static void clean_up(const char *base)
{
	DIR *d = opendir(base);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		struct rundir old = { .lock_fd = -1 };

		if (!rundir_is_name(e->d_name) ||
		    snprintf(old.base, sizeof(old.base), "%s", base) >=
			    (int)sizeof(old.base))
			continue;
		(void)snprintf(old.id, sizeof(old.id), "%.*s",
			       (int)sizeof(old.id) - 1, e->d_name);
		if (strcmp(old.id, e->d_name) == 0 && take_dir(&old, NULL) == 0)
			remove_dir(&old);
	}
	if (d)
		(void)closedir(d);
}

int rundir_create(struct rundir *ret, const char *project, struct err *err)
{
	_cleanup_(fd_closep) int guard = -1;
	unsigned int i;
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->lock_fd = -1;
	r = project ? check_name(project, err) : 0;
	if (r == 0)
		r = base_dir(ret->base, sizeof(ret->base), err);
	if (r == 0)
		r = make_private_dir(ret->base, err);
	if (r < 0)
		return r;
	guard = lock_base(ret->base, err);
	if (guard < 0)
		return guard;
	clean_up(ret->base);
	for (i = 1; i <= SAME_NAME_MAX; i++) {
		if (!project)
			(void)snprintf(ret->id, sizeof(ret->id), "run-%d",
				       (int)getpid());
		else if (i == 1)
			(void)snprintf(ret->id, sizeof(ret->id), "%s", project);
		else
			(void)snprintf(ret->id, sizeof(ret->id), "%s.%u",
				       project, i);
		r = take_dir(ret, err);
		if (r != -EBUSY || !project)
			break;
	}
	if (r == -EBUSY && project)
		return err_set(err, r, "too many sandboxes are named %s",
			       project);
	if (r == -EBUSY)
		return err_set(err, r, "a sandbox named %s runs already",
			       ret->id);
	return r;
}

void rundir_remove(struct rundir *rd)
{
	_cleanup_(fd_closep) int guard = -1;

	if (rd->lock_fd < 0)
		return;
	guard = lock_base(rd->base, NULL);
	if (guard >= 0)
		remove_dir(rd);
	fd_closep(&rd->lock_fd);
}

int rundir_own_list(const struct rundir *rd, char *ret_path, size_t size,
		    struct err *err)
{
	static const char text[] =
		"# Allowlist of this run, beside its --allow entries. One "
		"entry a line;\n# edits apply at once.\n";
	_cleanup_(fd_closep) int fd = -1;
	int r;

	r = join(ret_path, size, rd->dir, "allowlist", err);
	if (r < 0)
		return r;
	fd = open(ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot make %s", ret_path);
	r = io_write_all(fd, text, strlen(text));
	if (r < 0)
		return err_set_errno(err, r, "cannot write %s", ret_path);
	return 0;
}

int rundir_link_list(const struct rundir *rd, const char *path, struct err *err)
{
	char link_path[PATH_MAX];
	int r;

	r = join(link_path, sizeof(link_path), rd->dir, "allowlist", err);
	if (r < 0)
		return r;
	if (symlink(path, link_path) < 0)
		return err_set_errno(err, -errno, "cannot make %s", link_path);
	return 0;
}

int rundir_config(char *ret_path, size_t size, struct err *err)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n;

	if (xdg && xdg[0] == '/')
		n = snprintf(ret_path, size, "%s/egret", xdg);
	else if (home && home[0] == '/')
		n = snprintf(ret_path, size, "%s/.config/egret", home);
	else
		return err_set(err, -ENOENT,
			       "neither XDG_CONFIG_HOME nor HOME is set, so "
			       "there is no place for projects");
	if (n < 0 || (size_t)n >= size)
		return err_set(err, -ENAMETOOLONG,
			       "XDG_CONFIG_HOME is too long");
	return 0;
}

static int project_path(const char *project, char *dst, size_t size,
			struct err *err)
{
	char config[PATH_MAX - 128];
	int n, r;

	r = check_name(project, err);
	if (r < 0)
		return r;
	r = rundir_config(config, sizeof(config), err);
	if (r < 0)
		return r;
	n = snprintf(dst, size, "%s/projects/%s.hosts", config, project);
	if (n < 0 || (size_t)n >= size)
		return err_set(err, -ENAMETOOLONG,
			       "XDG_CONFIG_HOME is too long");
	return 0;
}

/* Under the base's lock: is the directory one of a running sandbox? */
static bool is_living(const char *base, const char *id)
{
	_cleanup_(fd_closep) int fd = -1;
	char path[PATH_MAX + 128];

	(void)snprintf(path, sizeof(path), "%s/%s/lock", base, id);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 &&
	       errno == EWOULDBLOCK;
}

/* The list of a running sandbox, malloc'ed, or NULL: what a killed run left
   would take entries without effect. */
static char *find_living(const char *base, const char *id, bool *ret_lives)
{
	_cleanup_(fd_closep) int guard = -1;
	char path[PATH_MAX + 128];

	guard = lock_base(base, NULL);
	*ret_lives = guard >= 0 && is_living(base, id);
	if (!*ret_lives)
		return NULL;
	(void)snprintf(path, sizeof(path), "%s/%s/allowlist", base, id);
	return realpath(path, NULL);
}

static int compare_ids(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strverscmp(*x, *y);
}

static int add_id(char ***ids, size_t *n, const char *id)
{
	char **v = reallocarray(*ids, *n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	*ids = v;
	v[*n] = strdup(id);
	if (!v[*n])
		return -ENOMEM;
	(*n)++;
	return 0;
}

void rundir_free_ids(char **ids, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(ids[i]);
	free(ids);
}

int rundir_living(char ***ret, size_t *ret_n, struct err *err)
{
	_cleanup_(fd_closep) int guard = -1;
	char base[PATH_MAX], **ids = NULL;
	struct dirent *e;
	size_t n = 0;
	DIR *d;
	int r;

	r = base_dir(base, sizeof(base), err);
	if (r < 0)
		return r;
	if (access(base, F_OK) == 0) {
		guard = lock_base(base, err);
		if (guard < 0)
			return guard;
	}
	d = guard < 0 ? NULL : opendir(base);
	while (d && r == 0 && (e = readdir(d)))
		if (rundir_is_name(e->d_name) && is_living(base, e->d_name))
			r = add_id(&ids, &n, e->d_name);
	if (d)
		(void)closedir(d);
	if (r < 0) {
		rundir_free_ids(ids, n);
		return err_set(err, r, "out of memory");
	}
	if (n)
		qsort(ids, n, sizeof(*ids), compare_ids);
	*ret = ids;
	*ret_n = n;
	return 0;
}

int rundir_socket(const char *id, char *ret_path, size_t size, struct err *err)
{
	char base[PATH_MAX - 128];
	int n, r;

	if (!rundir_is_name(id))
		return err_set(err, -EINVAL, "'%s' is no id of a sandbox", id);
	r = base_dir(base, sizeof(base), err);
	if (r < 0)
		return r;
	n = snprintf(ret_path, size, "%s/%s/" RUNDIR_SOCKET, base, id);
	if (n < 0 || (size_t)n >= size)
		return err_set(err, -ENAMETOOLONG,
			       "XDG_RUNTIME_DIR is too long");
	return 0;
}

int rundir_find_list(const char *target, char *ret_path, size_t size,
		     struct err *err)
{
	char base[PATH_MAX], list[PATH_MAX + 128];
	_cleanup_(freep) char *real = NULL;
	bool lives = false;
	int r;

	if (!rundir_is_name(target))
		return err_set(err, -EINVAL,
			       "'%s' is neither a project nor the id of a "
			       "sandbox",
			       target);
	r = base_dir(base, sizeof(base), err);
	if (r < 0)
		return r;
	real = find_living(base, target, &lives);
	if (!real && lives)
		return err_set(err, -ENOENT,
			       "the list of '%s' is gone; it runs on with what "
			       "the list said",
			       target);
	if (!real) {
		r = project_path(target, list, sizeof(list), err);
		if (r < 0)
			return r;
		real = realpath(list, NULL);
	}
	if (!real)
		return err_set(err, -ENOENT,
			       "there is no running sandbox and no project "
			       "named '%s'",
			       target);
	if (strlen(real) >= size)
		return err_set(err, -ENAMETOOLONG, "the path is too long");
	memcpy(ret_path, real, strlen(real) + 1);
	return 0;
}

/* Does @path consist of what @dir leads to, and of @name? */
static bool is_in(const char *dir, const char *name, const char *path)
{
	_cleanup_(freep) char *real = realpath(dir, NULL);
	size_t len = real ? strlen(real) : 0;

	return real && !strncmp(path, real, len) && path[len] == '/' &&
	       !strcmp(path + len + 1, name);
}

bool rundir_is_hidden(const char *dir)
{
	const char *last = strrchr(dir, '/');
	char path[PATH_MAX];

	if (rundir_config(path, sizeof(path), NULL) == 0 &&
	    is_in(path, "projects", dir))
		return true;
	return last && base_dir(path, sizeof(path), NULL) == 0 &&
	       is_in(path, last + 1, dir);
}

static int make_parents(char *path, struct err *err)
{
	char *p;

	for (p = path + 1; (p = strchr(p, '/')); p++) {
		int r;

		*p = '\0';
		r = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
		if (r < 0)
			(void)err_set_errno(err, r, "cannot make %s", path);
		*p = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

int rundir_make_config(char *ret_path, size_t size, struct err *err)
{
	int r;

	r = rundir_config(ret_path, size, err);
	if (r == 0)
		r = make_parents(ret_path, err);
	if (r < 0)
		return r;
	if (mkdir(ret_path, 0700) < 0 && errno != EEXIST)
		return err_set_errno(err, -errno, "cannot make %s", ret_path);
	return 0;
}

int rundir_project_list(const char *project, char *ret_path, size_t size,
			struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	int r;

	r = project_path(project, ret_path, size, err);
	if (r == 0)
		r = make_parents(ret_path, err);
	if (r < 0)
		return r;
	fd = open(ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot make %s", ret_path);
	r = io_write_all(fd, project_text, strlen(project_text));
	if (r < 0)
		return err_set_errno(err, r, "cannot write %s", ret_path);
	return 0;
}
