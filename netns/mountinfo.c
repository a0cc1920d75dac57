/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mountinfo.c - /proc/self/mountinfo, and the second paths that binds make
 *
 * A mask hides a path, but the same directory may show elsewhere too: a bind
 * mount, or the file system mounted twice. Both mounts then name one device,
 * and the part of the file system that each shows ("root") tells where in the
 * other one the hidden thing appears.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/parse.h"
#include "netns/mounts_internal.h"

#define MOUNTINFO_SIZE_MAX (8U << 20) /* some 50 000 mounts */

/* The next field of the line at *@at, its octal escapes undone, or NULL. */
static char *take_field(const char **at, const char *end)
{
	const char *p = *at;
	const char *stop;
	char *field, *out;

	while (p < end && *p == ' ')
		p++;
	stop = memchr(p, ' ', (size_t)(end - p));
	if (!stop)
		stop = end;
	field = out = calloc(1, (size_t)(stop - p) + 1);
	if (!field)
		return NULL;
	while (p < stop) {
		if (*p == '\\' && stop - p >= 4) {
			*out++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 |
					(p[3] - '0'));
			p += 4;
		} else {
			*out++ = *p++;
		}
	}
	*out = '\0';
	*at = stop;
	return field;
}

static int parse_dev(const char *text, dev_t *ret)
{
	const char *colon = strchr(text, ':');
	uint32_t major, minor;

	if (!colon || parse_u32(text, (size_t)(colon - text), &major) < 0 ||
	    parse_u32(colon + 1, strlen(colon + 1), &minor) < 0)
		return -EBADMSG;
	*ret = makedev(major, minor);
	return 0;
}

/* Behind options and optional fields stands "-", then the file system's type.
 */
static int parse_type(const char *at, const char *end, char **ret)
{
	_cleanup_(freep) char *field = NULL;
	bool is_next = false;

	for (;;) {
		free(field);
		field = take_field(&at, end);
		if (!field)
			return -ENOMEM;
		if (is_next || !field[0])
			break;
		is_next = strcmp(field, "-") == 0;
	}
	*ret = ptr_steal(&field);
	return 0;
}

static int parse_line(const char *line, const char *end,
		      struct mountinfo_entry *ret)
{
	enum { F_ID, F_PARENT, F_DEV, F_ROOT, F_POINT, F_MAX };
	char *fields[F_MAX] = { NULL };
	int r = 0;

	for (int i = 0; i < F_MAX && r == 0; i++) {
		fields[i] = take_field(&line, end);
		if (!fields[i])
			r = -ENOMEM;
		else if (!fields[i][0])
			r = -EBADMSG;
	}
	if (r == 0)
		r = parse_dev(fields[F_DEV], &ret->dev);
	if (r == 0)
		r = parse_type(line, end, &ret->type);
	if (r == 0) {
		ret->root = ptr_steal(&fields[F_ROOT]);
		ret->point = ptr_steal(&fields[F_POINT]);
	}
	for (int i = 0; i < F_MAX; i++)
		free(fields[i]);
	return r;
}

void mountinfo_done(struct mountinfo *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->entries[i].root);
		free(m->entries[i].point);
		free(m->entries[i].type);
	}
	free(m->entries);
	m->entries = NULL;
	m->n = 0;
}

int mountinfo_parse(const char *text, size_t len, struct mountinfo *ret)
{
	struct mountinfo m = { NULL, 0 };
	const char *end = text + len;
	size_t lines = 0;
	int r = 0;

	for (const char *p = text; p < end; p++)
		lines += *p == '\n';
	m.entries = calloc(lines + 1, sizeof(*m.entries));
	if (!m.entries)
		return -ENOMEM;
	while (text < end && r == 0) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));

		if (!eol)
			eol = end;
		r = parse_line(text, eol, &m.entries[m.n]);
		if (r == 0)
			m.n++;
		text = eol + 1;
	}
	if (r < 0) {
		mountinfo_done(&m);
		return r;
	}
	*ret = m;
	return 0;
}

int mountinfo_read(struct mountinfo *ret, struct err *err)
{
	_cleanup_(freep) char *text = NULL;
	size_t len;
	int r;

	r = io_read_file("/proc/self/mountinfo", MOUNTINFO_SIZE_MAX, &text,
			 &len, err);
	if (r < 0)
		return r;
	r = mountinfo_parse(text, len, ret);
	if (r < 0)
		return err_set_errno(err, r, "cannot read the list of mounts");
	return 0;
}

/* What follows @dir in @path ("" or "/..."), or NULL when it isn't below. */
static const char *path_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 1 && dir[0] == '/')
		return path[1] ? path : "";
	if (strncmp(path, dir, len) != 0)
		return NULL;
	return path[len] == '/' || path[len] == '\0' ? path + len : NULL;
}

/* The mount that shows @path: the deepest point, the last of equals. */
static const struct mountinfo_entry *find_mount(const struct mountinfo *m,
						const char *path)
{
	const struct mountinfo_entry *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct mountinfo_entry *e = &m->entries[i];
		size_t len = strlen(e->point);

		if (path_below(path, e->point) && len >= best_len) {
			best = e;
			best_len = len;
		}
	}
	return best;
}

static int join(char dst[static PATH_MAX], const char *dir, const char *rest)
{
	if (dir[0] == '/' && dir[1] == '\0' && rest[0])
		dir = "";
	if ((size_t)snprintf(dst, PATH_MAX, "%s%s", dir, rest) >= PATH_MAX)
		return -ENAMETOOLONG;
	return 0;
}

int mountinfo_aliases(const struct mountinfo *m, const char *path,
		      mountinfo_fn *fn, void *ctx)
{
	const struct mountinfo_entry *home = find_mount(m, path);
	char inside[PATH_MAX], alias[PATH_MAX];
	int r;

	if (!home)
		return 0;
	r = join(inside, home->root, path_below(path, home->point));
	if (r < 0)
		return r;
	for (size_t i = 0; i < m->n; i++) {
		const struct mountinfo_entry *e = &m->entries[i];
		const char *rest;

		if (e == home || e->dev != home->dev)
			continue;
		rest = path_below(inside, e->root);
		if (!rest && !path_below(e->root, inside))
			continue;
		r = join(alias, e->point, rest ? rest : "");
		if (r == 0)
			r = fn(ctx, alias);
		if (r < 0)
			return r;
	}
	return 0;
}
