/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * presetdir.c - reading the directories of presets
 *
 * Theory of operation. They are read once, by the front, before the command
 * runs; the gateway inherits the texts and loads every later policy with them.
 * So an edit of a preset counts from the next run on, and nothing that happens
 * to the files meanwhile can.
 *
 * SECURITY. What a command can write, a later run must not read as a preset.
 * Both directories are hidden from commands. A symbolic link or a second name
 * of a file could lead out of what is hidden, so neither is obeyed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "gateway/presetdir.h"
#include "policy/preset.h"

static const char suffix[] = ".hosts";

static void closedirp(DIR **dir)
{
	int saved = errno;

	if (*dir)
		(void)closedir(*dir);
	*dir = NULL;
	errno = saved;
}

/* "pypi" of "pypi.hosts". Other files are none of ours. */
static bool name_of_file(const char *file, char name[static PRESET_NAME_MAX])
{
	size_t len = strlen(file), tail = sizeof(suffix) - 1;

	if (len <= tail || strcmp(file + len - tail, suffix) != 0 ||
	    !preset_is_name(file, len - tail))
		return false;
	memcpy(name, file, len - tail);
	name[len - tail] = '\0';
	return true;
}

static bool has_capitals(const char *name)
{
	for (; *name; name++)
		if (*name >= 'A' && *name <= 'Z')
			return true;
	return false;
}

static int read_preset(int dir_fd, const char *file, const char *path,
		       char **ret, size_t *ret_len, struct err *err)
{
	_cleanup_(fd_closep) int fd = openat(dir_fd, file,
					     O_RDONLY | O_CLOEXEC | O_NONBLOCK |
						     O_NOCTTY | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return err_set(err, -ELOOP,
			       "%s is a symbolic link, which may lead to a "
			       "file that a sandboxed command can write; the "
			       "file itself was meant",
			       path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set_errno(err, -errno, "cannot open %s", path);
	if (S_ISREG(st.st_mode) && st.st_nlink > 1)
		return err_set(err, -EMLINK,
			       "%s has a second name (hard link), which a "
			       "sandboxed command may be able to write; a "
			       "copy was meant",
			       path);
	return io_read_fd(fd, path, PRESET_TEXT_MAX, ret, ret_len, err);
}

static int add_file(struct preset_set *s, int dir_fd, const char *dir,
		    const char *file, const char *name)
{
	_cleanup_(freep) char *text = NULL;
	char path[PATH_MAX + NAME_MAX + 2];
	struct err why = { 0 };
	size_t len = 0;
	int r;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (has_capitals(name))
		r = err_set(&why, -EINVAL, "%s has capital letters in its name",
			    path);
	else
		r = read_preset(dir_fd, file, path, &text, &len, &why);
	if (r < 0)
		return preset_set_add_broken(s, name, path, why.msg);
	return preset_set_add(s, name, path, text, len);
}

/* Files with capitals come first: they give way to one without. */
static int add_files(struct preset_set *s, DIR *dir, const char *path,
		     bool capitals, struct err *err)
{
	char name[PRESET_NAME_MAX];
	const struct dirent *e;
	size_t n = 0;
	int r;

	rewinddir(dir);
	for (errno = 0; (e = readdir(dir)); errno = 0) {
		if (!name_of_file(e->d_name, name) ||
		    has_capitals(name) != capitals)
			continue;
		if (++n > PRESETDIR_FILES_MAX)
			return err_set(err, -E2BIG,
				       "more than %d presets in %s",
				       PRESETDIR_FILES_MAX, path);
		r = add_file(s, dirfd(dir), path, e->d_name, name);
		if (r == -E2BIG)
			return err_set(err, r, "more than %d presets in all",
				       PRESETS_MAX);
		if (r < 0)
			return err_set_errno(err, r, "cannot take %s/%s in",
					     path, e->d_name);
	}
	if (errno)
		return err_set_errno(err, -errno, "cannot read %s", path);
	return 0;
}

int presetdir_add(struct preset_set *s, const char *parent, struct err *err)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	_cleanup_(fd_closep) int fd = -1;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/presets", parent);
	int r;

	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(err, -ENAMETOOLONG, "the path '%s' is too long",
			       parent);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return err_set(err, -errno,
			       "%s must be a directory, and no symbolic link",
			       path);
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot open %s", path);
	dir = fdopendir(fd);
	if (!dir)
		return err_set_errno(err, -errno, "cannot read %s", path);
	(void)fd_steal(&fd); /* the stream's now */
	r = add_files(s, dir, path, true, err);
	return r < 0 ? r : add_files(s, dir, path, false, err);
}

int presetdir_load(const char *config_dir, struct preset_set **ret,
		   struct err *err)
{
	_cleanup_(preset_set_freep) struct preset_set *s = NULL;
	int r = preset_set_new(&s);

	if (r < 0)
		return err_set_errno(err, r, "cannot take the presets in");
	r = presetdir_add(s, PRESETDIR_SYSTEM, err);
	if (r == 0 && config_dir && config_dir[0])
		r = presetdir_add(s, config_dir, err);
	if (r == 0)
		*ret = ptr_steal(&s);
	return r;
}
