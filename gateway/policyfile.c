/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policyfile.c - loading and watching the sources of a policy
 *
 * Theory of operation. inotify watches directories, not files: a watch on a
 * file dies with the first rename over it. For each file the directory of its
 * path is watched, and the directory of what the path resolves to, which
 * differs when the file is a symbolic link. After every event the watches are
 * laid anew (adding an existing one changes nothing), so a link that now points
 * elsewhere is followed.
 *
 * A closed or renamed file is read at once. A write without close (IN_MODIFY)
 * may be the middle of something: it waits for QUIET_MS of silence.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/loop.h"
#include "gateway/policyfile.h"
#include "policy/policy.h"

/* Well below the 100 ms in which an edit must apply. */
#define QUIET_MS 25
#define WATCH_MASK                                                   \
	(IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | \
	 IN_CREATE | IN_DELETE | IN_ATTRIB)
#define ERROR_LINE_MAX (PATH_MAX + 1024)

struct policyfile_watch {
	struct loop *loop;
	const struct policyfile_sources *sources;
	policyfile_changed_fn *changed;
	void *ctx;
	struct loop_fd fd_watch;
	struct loop_timer quiet;
	int fd;
};

static int load_file(struct policy_builder *b, const char *path,
		     bool must_exist, policyfile_error_fn *on_error, void *ctx)
{
	_cleanup_(freep) char *text = NULL;
	char line[ERROR_LINE_MAX];
	struct err err = { 0 };
	size_t len = 0;
	int r;

	r = io_read_file(path, POLICY_TEXT_MAX, &text, &len, &err);
	if (r == -ENOENT && !must_exist)
		return 0;
	if (r == 0) {
		r = policy_builder_add_text(b, path, text, len);
		if (r == 0)
			return 0;
		(void)err_set_errno(&err, r, "cannot take %s in", path);
	}
	(void)snprintf(line, sizeof(line), "%s", err.msg);
	on_error(ctx, line);
	return r;
}

static int load_entries(struct policy_builder *b,
			const struct policyfile_sources *s)
{
	size_t i;
	int r;

	for (i = 0; i < s->n_allow; i++) {
		r = policy_builder_add_entry(b, "--allow", s->allow[i], false);
		if (r < 0)
			return r;
	}
	for (i = 0; i < s->n_deny; i++) {
		r = policy_builder_add_entry(b, "--deny", s->deny[i], true);
		if (r < 0)
			return r;
	}
	return 0;
}

int policyfile_load(const struct policyfile_sources *s, struct policy **ret,
		    policyfile_error_fn *on_error, void *ctx)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	const struct policy_error *errors;
	char line[ERROR_LINE_MAX];
	size_t i, n = 0;
	bool bad = false;
	int r;

	r = policy_builder_new(&b);
	if (r < 0)
		return r;
	for (i = 0; i < s->n_files; i++)
		if (load_file(b, s->files[i].path, s->files[i].must_exist,
			      on_error, ctx) < 0)
			bad = true;
	r = load_entries(b, s);
	if (r < 0)
		return r;
	errors = policy_builder_errors(b, &n);
	for (i = 0; i < n; i++)
		on_error(ctx, policy_error_format(&errors[i], line,
						  sizeof(line)));
	if (bad || n)
		return -EINVAL;
	return policy_build(b, ret);
}

static int watch_dir_of(int fd, const char *path)
{
	char copy[PATH_MAX];

	if (strlen(path) >= sizeof(copy))
		return -ENAMETOOLONG;
	(void)strcpy(copy, path);
	if (inotify_add_watch(fd, dirname(copy), WATCH_MASK | IN_ONLYDIR) < 0)
		return -errno;
	return 0;
}

static int lay_watches(struct policyfile_watch *w, struct err *err)
{
	size_t i;
	int r;

	for (i = 0; i < w->sources->n_files; i++) {
		const char *path = w->sources->files[i].path;
		_cleanup_(freep) char *real = NULL;

		r = watch_dir_of(w->fd, path);
		if (r == -ENOENT && !w->sources->files[i].must_exist)
			continue; /* its directory isn't there: nothing to
				     read, and none can come by a rename */
		if (r < 0)
			return err_set_errno(err, r,
					     "cannot watch the directory of %s",
					     path);
		real = realpath(path, NULL);
		/* Gone for the moment, or the same directory: both fine. */
		if (real)
			(void)watch_dir_of(w->fd, real);
	}
	return 0;
}

static void tell_changed(struct policyfile_watch *w)
{
	loop_del_timer(&w->quiet);
	/* What can't be watched now was reported at the start, or comes back
	   with the next event of its parent. */
	(void)lay_watches(w, NULL);
	w->changed(w->ctx);
}

static void on_quiet(struct loop_timer *t)
{
	tell_changed(container_of(t, struct policyfile_watch, quiet));
}

/* Is this event about one of our files' names (or about what we can't tell)? */
static bool concerns_us(const struct policyfile_watch *w,
			const struct inotify_event *ev)
{
	size_t i;

	if (!ev->len || (ev->mask & IN_Q_OVERFLOW))
		return true;
	for (i = 0; i < w->sources->n_files; i++) {
		const char *path = w->sources->files[i].path;
		_cleanup_(freep) char *real = realpath(path, NULL);
		const char *base = strrchr(path, '/') + 1;

		if (!strcmp(ev->name, base))
			return true;
		if (real && !strcmp(ev->name, strrchr(real, '/') + 1))
			return true;
	}
	return false;
}

static void on_inotify(struct loop_fd *lw, uint32_t events)
{
	struct policyfile_watch *w =
		container_of(lw, struct policyfile_watch, fd_watch);
	char buf[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	bool now = false, later = false;
	ssize_t n, at;

	(void)events;
	n = read(w->fd, buf, sizeof(buf));
	for (at = 0; at < n;) {
		const struct inotify_event *ev =
			(const struct inotify_event *)(const void *)(buf + at);

		at += (ssize_t)(sizeof(*ev) + ev->len);
		if (!concerns_us(w, ev))
			continue;
		if (ev->mask & (IN_MODIFY | IN_CREATE | IN_ATTRIB))
			later = true;
		else
			now = true;
	}
	if (now)
		tell_changed(w);
	else if (later &&
		 loop_set_timer(w->loop, &w->quiet, QUIET_MS, on_quiet) < 0)
		tell_changed(w);
}

int policyfile_watch_new(struct policyfile_watch **ret, struct loop *loop,
			 const struct policyfile_sources *s,
			 policyfile_changed_fn *changed, void *ctx,
			 struct err *err)
{
	_cleanup_(policyfile_watch_freep) struct policyfile_watch *w = NULL;
	int r;

	w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->loop = loop;
	w->sources = s;
	w->changed = changed;
	w->ctx = ctx;
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0)
		return err_set_errno(err, -errno,
				     "cannot watch the allowlist (inotify)");
	r = lay_watches(w, err);
	if (r < 0)
		return r;
	r = loop_add_fd(loop, &w->fd_watch, w->fd, EPOLLIN, on_inotify);
	if (r < 0)
		return err_set_errno(err, r, "cannot watch the allowlist");
	*ret = ptr_steal(&w);
	return 0;
}

void policyfile_watch_free(struct policyfile_watch *w)
{
	if (!w)
		return;
	loop_del_fd(&w->fd_watch);
	loop_del_timer(&w->quiet);
	fd_closep(&w->fd);
	free(w);
}

void policyfile_watch_freep(struct policyfile_watch **w)
{
	policyfile_watch_free(*w);
	*w = NULL;
}
