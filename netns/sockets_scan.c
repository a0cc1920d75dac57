/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sockets_scan.c - which path sockets exist on the host
 *
 * A line of /proc/net/unix is
 *
 *     Num       RefCount Protocol Flags    Type St Inode Path
 *     ffff8800: 00000002 00000000 00010000 0001 01 12345 /run/x.sock
 *
 * with the path as it was bound: it may hold spaces, and even newlines, which
 * the kernel doesn't escape. So what isn't a line of its own belongs to the
 * path before it; that path is then taken both ways, cut and whole. A path too
 * many does no harm: only what turns out to be a socket is masked.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "netns/mounts.h"
#include "netns/sockets_scan.h"

#define UNIX_TABLE	    "/proc/thread-self/net/unix"
#define UNIX_TABLE_SIZE_MAX (32U << 20) /* some 200 000 sockets */
#define UNIX_PATH_MAX	    sizeof(((struct sockaddr_un *)NULL)->sun_path)

/* Fixed columns before the inode: digits and what follows them. */
static const struct {
	unsigned int digits; /* 0: one or more */
	char stop;
} columns[] = {
	{ 0, ':' }, { 8, ' ' }, { 8, ' ' }, { 8, ' ' }, { 4, ' ' }, { 2, ' ' },
};

/* Where the path of this line begins; @end when it has none; NULL: no line. */
static const char *find_path(const char *p, const char *end)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		unsigned int digits = 0;

		while (p < end && isxdigit((unsigned char)*p)) {
			digits++;
			p++;
		}
		if (p == end || *p != columns[i].stop || digits == 0 ||
		    (columns[i].digits && digits != columns[i].digits))
			return NULL;
		p++;
		if (columns[i].stop == ':' && (p == end || *p++ != ' '))
			return NULL;
	}
	while (p < end && *p == ' ')
		p++;
	if (p == end || !isdigit((unsigned char)*p))
		return NULL;
	while (p < end && isdigit((unsigned char)*p))
		p++;
	if (p == end)
		return end;
	return *p == ' ' ? p + 1 : NULL;
}

static int add_path(struct sockets_scan *s, size_t *room, const char *path,
		    size_t len)
{
	char *copy;

	if (s->n == *room) {
		size_t more = *room ? *room * 2 : 64;
		char **paths = reallocarray(s->paths, more, sizeof(*paths));

		if (!paths)
			return -ENOMEM;
		s->paths = paths;
		*room = more;
	}
	copy = strndup(path, len);
	if (!copy)
		return -ENOMEM;
	s->paths[s->n++] = copy;
	return 0;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Accepted sockets carry their listener's name, so most names come often. */
static void keep_unique(struct sockets_scan *s)
{
	size_t n = 0;

	if (s->n)
		qsort(s->paths, s->n, sizeof(*s->paths), compare_paths);
	for (size_t i = 0; i < s->n; i++) {
		if (n && strcmp(s->paths[i], s->paths[n - 1]) == 0)
			free(s->paths[i]);
		else
			s->paths[n++] = s->paths[i];
	}
	s->n = n;
}

/* The end of the path that began on the line ending at @eol, if it goes on. */
static const char *find_continuation(const char *eol, const char *end)
{
	const char *next_eol = eol;

	while (next_eol < end) {
		const char *next = next_eol + 1;
		const char *stop = memchr(next, '\n', (size_t)(end - next));

		if (!stop)
			stop = end;
		if (next == end || find_path(next, stop))
			break;
		next_eol = stop;
	}
	return next_eol;
}

static int parse_lines(const char *text, const char *end,
		       struct sockets_scan *s, size_t *room)
{
	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		const char *path, *whole;
		int r = 0;

		if (!eol)
			eol = end;
		path = find_path(text, eol);
		if (!path)
			return -EBADMSG;
		whole = find_continuation(eol, end);
		if (path < eol && *path == '/') {
			r = add_path(s, room, path, (size_t)(eol - path));
			if (r == 0 && whole != eol &&
			    (size_t)(whole - path) <= UNIX_PATH_MAX)
				r = add_path(s, room, path,
					     (size_t)(whole - path));
		} else if (path < eol && *path == '@') {
			s->n_abstract++;
		} else if (path < eol) {
			s->n_relative++;
		}
		if (r < 0)
			return r;
		text = whole + 1;
	}
	return 0;
}

void sockets_scan_done(struct sockets_scan *s)
{
	mounts_free_paths(s->paths, s->n);
	*s = (struct sockets_scan){ 0 };
}

int sockets_scan_parse(const char *text, size_t len, struct sockets_scan *ret,
		       struct err *err)
{
	struct sockets_scan s = { 0 };
	const char *end = text + len;
	const char *head = len ? memchr(text, '\n', len) : NULL;
	size_t room = 0;
	int r;

	if (!head || strncmp(text, "Num ", 4) != 0)
		return err_set(err, -EBADMSG,
			       "the kernel's list of sockets has no heading");
	r = parse_lines(head + 1, end, &s, &room);
	keep_unique(&s);
	if (r == 0 && s.n > SOCKETS_SCAN_PATHS_MAX)
		r = -E2BIG;
	if (r < 0) {
		size_t n = s.n;

		sockets_scan_done(&s);
		if (r == -E2BIG)
			return err_set(err, r,
				       "this machine has %zu path sockets; the "
				       "command can't be kept from more than "
				       "%d",
				       n, SOCKETS_SCAN_PATHS_MAX);
		return err_set_errno(err, r, "cannot read the list of sockets");
	}
	*ret = s;
	return 0;
}

int mounts_collect_sockets(char ***ret, size_t *ret_n, struct err *err)
{
	_cleanup_(freep) char *text = NULL;
	struct sockets_scan s = { 0 };
	size_t len;
	int r;

	r = io_read_file(UNIX_TABLE, UNIX_TABLE_SIZE_MAX, &text, &len, err);
	if (r < 0)
		return r;
	r = sockets_scan_parse(text, len, &s, err);
	if (r < 0)
		return r;
	*ret = s.paths;
	*ret_n = s.n;
	return 0;
}

void mounts_free_paths(char **paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(paths[i]);
	free(paths);
}
