/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idmap.c - user namespaces' id maps
 *
 * The kernel takes a map once, in one write(2). Unprivileged, it takes a single
 * id, the writer's own, and a gid map only after setgroups(2) was denied.
 * A whole map is the identity over the extents that the caller's own namespace
 * has: inside, a file's owner and `id` then read as outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>

#include "netns/idmap.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/parse.h"

/* Lines the kernel takes (UID_GID_MAP_MAX_EXTENTS), and their longest form. */
#define IDMAP_LINES_MAX 340
#define IDMAP_LINE_LEN	40
#define IDMAP_PATH_LEN	48

struct idmap_text {
	size_t len;
	char buf[IDMAP_LINES_MAX * IDMAP_LINE_LEN];
};

void idmap_get_ids(struct idmap_ids *ret)
{
	ret->uid = geteuid();
	ret->gid = getegid();
}

static void path_of(char path[static IDMAP_PATH_LEN], pid_t pid,
		    const char *name)
{
	if (pid == 0)
		(void)snprintf(path, IDMAP_PATH_LEN, "/proc/self/%s", name);
	else
		(void)snprintf(path, IDMAP_PATH_LEN, "/proc/%d/%s", (int)pid,
			       name);
}

static int write_file(pid_t pid, const char *name, const char *text, size_t len,
		      struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	char path[IDMAP_PATH_LEN];
	ssize_t n;

	path_of(path, pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot open %s", path);
	n = write(fd, text, len);
	if (n < 0)
		return err_set_errno(err, -errno, "cannot write %s", path);
	if ((size_t)n != len)
		return err_set(err, -EIO, "cannot write all of %s", path);
	return 0;
}

static int append(struct idmap_text *t, uint32_t inside, uint32_t outside,
		  uint32_t count)
{
	size_t room = sizeof(t->buf) - t->len;
	int n;

	n = snprintf(t->buf + t->len, room, "%u %u %u\n", inside, outside,
		     count);
	if (n < 0 || (size_t)n >= room)
		return -E2BIG;
	t->len += (size_t)n;
	return 0;
}

/* "  inside  outside  count" of a map as the kernel prints it. */
static int parse_line(const char *line, uint32_t *ret_inside,
		      uint32_t *ret_count)
{
	uint32_t field[3];
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(field); i++) {
		line += strspn(line, " ");
		len = strspn(line, "0123456789");
		if (parse_u32(line, len, &field[i]) < 0)
			return -EBADMSG;
		line += len;
	}
	*ret_inside = field[0];
	*ret_count = field[2];
	return 0;
}

/* The identity over every extent of the caller's own map. */
static int whole_map(struct idmap_text *t, const char *name, struct err *err)
{
	_cleanup_(fclosep) FILE *f = NULL;
	char path[IDMAP_PATH_LEN], line[128];
	uint32_t inside, count;
	int r;

	path_of(path, 0, name);
	f = fopen(path, "re");
	if (!f)
		return err_set_errno(err, -errno, "cannot open %s", path);
	while (fgets(line, sizeof(line), f)) {
		r = parse_line(line, &inside, &count);
		if (r == 0)
			r = append(t, inside, inside, count);
		if (r < 0)
			return err_set_errno(err, r, "cannot use %s", path);
	}
	if (ferror(f) || t->len == 0)
		return err_set(err, -EIO, "cannot read %s", path);
	return 0;
}

static int make_map(struct idmap_text *t, const char *name, uint32_t id,
		    bool as_root, bool whole, struct err *err)
{
	t->len = 0;
	if (whole)
		return whole_map(t, name, err);
	return append(t, as_root ? 0 : id, id, 1);
}

static int explain(struct err *err, int r)
{
	if (r != -EPERM)
		return r;
	return err_wrap(err, r,
			"the kernel refuses the id map (mapping uid 0 needs "
			"CAP_SETFCAP; see `egret doctor`)");
}

int idmap_write(pid_t pid, const struct idmap_ids *ids, bool as_root,
		bool whole, struct err *err)
{
	struct idmap_ids own;
	struct idmap_text map;
	int r;

	if (pid == 0 && (whole || !ids))
		return err_set(err, -EINVAL,
			       "a process can't write this id map of itself");
	if (!ids) {
		idmap_get_ids(&own);
		ids = &own;
	}
	if (as_root && (ids->uid != 0 || ids->gid != 0))
		whole = false;

	r = make_map(&map, "uid_map", ids->uid, as_root, whole, err);
	if (r == 0)
		r = write_file(pid, "uid_map", map.buf, map.len, err);
	if (r == 0 && !whole)
		r = write_file(pid, "setgroups", "deny", strlen("deny"), err);
	if (r == 0)
		r = make_map(&map, "gid_map", ids->gid, as_root, whole, err);
	if (r == 0)
		r = write_file(pid, "gid_map", map.buf, map.len, err);
	return explain(err, r);
}

bool idmap_may_write_whole(void)
{
	static const cap_value_t needed[] = { CAP_SETUID, CAP_SETGID,
					      CAP_SETFCAP };
	cap_t sets = cap_get_proc();
	bool may = sets != NULL;

	for (size_t i = 0; may && i < ARRAY_SIZE(needed); i++) {
		cap_flag_value_t has = CAP_CLEAR;

		may = cap_get_flag(sets, needed[i], CAP_EFFECTIVE, &has) == 0 &&
		      has == CAP_SET;
	}
	if (sets)
		(void)cap_free(sets);
	return may;
}
