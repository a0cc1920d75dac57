/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policyfile.c - loading and watching the sources of a policy
 *
 * Theory of operation. inotify watches directories, not files: a watch on a
 * file dies with the first rename over it. A closed or renamed file is read at
 * once. A write without close (IN_MODIFY) may be the middle of something: it
 * waits for QUIET_MS of silence. The next edit may have begun, and have emptied
 * the file, when the last one is read: so what was loaded counts only if no
 * further event came meanwhile (policyfile_watch_more()). Neither waits longer
 * than PATIENCE_MS. The watch keeps the descriptors that reading
 * takes, or a command that has filled the table could keep an edit out.
 *
 * SECURITY. Masks keep the command from writing the files that are there when
 * it starts. It may still change what a path leads to: in namespaces of its own
 * it can detach the old tree and, through a descriptor that it kept, rename the
 * directories above a mask or put another file in the masked one's place. So
 * the directories are opened once, before the command runs, and names are
 * looked up from there; and another file than the one of the start is obeyed
 * only where the directory itself is out of the command's reach (is_safe), and
 * a symbolic link there leads nowhere else. Otherwise the old policy stays,
 * with a sentence.
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
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/loop.h"
#include "gateway/policyfile.h"
#include "policy/policy.h"

/* Well below the 100 ms in which an edit must apply. */
#define QUIET_MS    50
#define PATIENCE_MS 80U
#define READS_MAX   64 /* of events, at a time */
#define WATCH_MASK                                                  \
	(IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | \
	 IN_CREATE | IN_DELETE | IN_ATTRIB)
/* Of a link's target: also that another file took its place. */
#define TARGET_MASK \
	(IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
#define ERROR_LINE_MAX (PATH_MAX + 1024)
#define SPARE_FDS      2 /* a file, and the look at where its name leads */

struct policyfile_watch {
	struct loop *loop;
	const struct policyfile_sources *sources;
	policyfile_changed_fn *changed;
	void *ctx;
	struct loop_fd fd_watch;
	struct loop_timer quiet;
	uint64_t since_ms; /* of the first event that isn't dealt with */
	int fd;
	int spare[SPARE_FDS];
	int wd[POLICYFILE_FILES_MAX];	     /* of the directories; -1: none */
	int target_wd[POLICYFILE_FILES_MAX]; /* of where links lead to */
};

static const char *base_name(const struct policyfile *f)
{
	return strrchr(f->path, '/') + 1;
}

static int open_file(const struct policyfile *f, struct err *err)
{
	static const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd;

	/* A directory that the start didn't find may be the command's. */
	if (f->is_pinned && f->dir_fd < 0)
		return -ENOENT;
	if (!f->is_pinned)
		fd = open(f->path, flags);
	else
		fd = openat(f->dir_fd, base_name(f), flags);
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot open '%s'", f->path);
	return fd;
}

/* The name that a symbolic link of our name ends in; "" when it is none. */
static const char *link_target(const struct policyfile *f, char *dst,
			       size_t size)
{
	ssize_t n = readlinkat(f->dir_fd, base_name(f), dst, size - 1);
	char *slash;

	dst[n > 0 ? n : 0] = '\0';
	slash = strrchr(dst, '/');
	return slash ? slash + 1 : dst;
}

static bool is_same_file(const struct policyfile *f, const char *name,
			 const struct stat *st)
{
	struct stat there;

	return name[0] &&
	       fstatat(f->dir_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       there.st_dev == st->st_dev && there.st_ino == st->st_ino;
}

/* Is the file itself in the pinned directory, by its name or as the target of
   the link that has the name? */
static bool is_beneath(const struct policyfile *f, const struct stat *st)
{
	char target[PATH_MAX];

	return is_same_file(f, base_name(f), st) ||
	       is_same_file(f, link_target(f, target, sizeof(target)), st);
}

/* Is this the file of the start, or one that only the user can have put
   there? */
static int check_identity(const struct policyfile *f, int fd, struct err *err)
{
	struct stat st;

	if (!f->is_pinned)
		return 0; /* before the start: nothing could interfere */
	if (fstat(fd, &st) < 0)
		return err_set_errno(err, -errno, "cannot look at '%s'",
				     f->path);
	if (st.st_dev == f->dev && st.st_ino == f->ino)
		return 0;
	if (f->is_safe && is_beneath(f, &st))
		return 0;
	return err_set(err, -EPERM,
		       "%s was replaced by another file, which the sandboxed "
		       "command could have done as well; write into the file "
		       "that was there (as 'egret allow' does), or keep the "
		       "list in a project (egret run -p NAME)",
		       f->path);
}

static int load_file(struct policy_builder *b, const struct policyfile *f,
		     policyfile_error_fn *on_error, void *ctx)
{
	_cleanup_(freep) char *text = NULL;
	_cleanup_(fd_closep) int fd = -1;
	char line[ERROR_LINE_MAX];
	struct err err = { 0 };
	size_t len = 0;
	int r;

	fd = open_file(f, &err);
	/* One that was there may hold denials: its end is no edit. */
	if (fd == -ENOENT && !f->must_exist &&
	    !(f->is_pinned && f->file_fd >= 0))
		return 0;
	r = fd < 0 ? fd : check_identity(f, fd, &err);
	if (r == 0)
		r = io_read_fd(fd, f->path, POLICY_TEXT_MAX, &text, &len, &err);
	if (r == 0) {
		r = policy_builder_add_text(b, f->path, text, len);
		if (r == 0)
			return 0;
		(void)err_set_errno(&err, r, "cannot take '%s' in", f->path);
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
	policy_builder_set_presets(b, s->presets);
	for (i = 0; i < s->n_files; i++)
		if (load_file(b, &s->files[i], on_error, ctx) < 0)
			bad = true;
	r = load_entries(b, s);
	if (r < 0)
		return r;
	errors = policy_builder_errors(b, &n);
	for (i = 0; i < n; i++)
		on_error(ctx,
			 policy_error_format(&errors[i], line, sizeof(line)));
	if (bad || n)
		return -EINVAL;
	return policy_build(b, ret);
}

static int pin_one(struct policyfile *f, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	char copy[PATH_MAX];
	struct stat st;

	f->dir_fd = f->file_fd = -1;
	f->is_pinned = true;
	if (strlen(f->path) >= sizeof(copy))
		return err_set(err, -ENAMETOOLONG, "the path '%s' is too long",
			       f->path);
	memcpy(copy, f->path, strlen(f->path) + 1);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && !f->must_exist)
		return 0;
	if (fd < 0)
		return err_set_errno(err, -errno,
				     "cannot open the directory of '%s'",
				     f->path);
	f->file_fd = openat(fd, base_name(f), O_PATH | O_CLOEXEC);
	if (f->file_fd >= 0 && fstat(f->file_fd, &st) == 0) {
		f->dev = st.st_dev;
		f->ino = st.st_ino;
	} else if (errno != ENOENT) {
		return err_set_errno(err, -errno, "cannot look at '%s'",
				     f->path);
	}
	f->dir_fd = fd_steal(&fd);
	return 0;
}

int policyfile_pin(struct policyfile_sources *s, struct err *err)
{
	size_t i;
	int r;

	for (i = 0; i < s->n_files; i++) {
		r = pin_one(&s->files[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Of a symbolic link, writes to the file that it leads to count too. */
static int watch_target(struct policyfile_watch *w, size_t i)
{
	const struct policyfile *f = &w->sources->files[i];
	char path[PATH_MAX], target[PATH_MAX];
	int wd = -1, r = 0;

	if (readlinkat(f->dir_fd, base_name(f), target, sizeof(target)) >= 0) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s",
			       f->dir_fd, base_name(f));
		wd = inotify_add_watch(w->fd, path, TARGET_MASK);
		if (wd < 0 && errno != ENOENT)
			r = -errno;
	}
	if (w->target_wd[i] >= 0 && w->target_wd[i] != wd)
		(void)inotify_rm_watch(w->fd, w->target_wd[i]); /* or gone */
	w->target_wd[i] = wd;
	return r;
}

static int watch_file(struct policyfile_watch *w, size_t i, struct err *err)
{
	const struct policyfile *f = &w->sources->files[i];
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", f->dir_fd);
	w->wd[i] = inotify_add_watch(w->fd, path, WATCH_MASK | IN_ONLYDIR);
	if (w->wd[i] < 0)
		return err_set_errno(err, -errno,
				     "cannot watch the directory of '%s'",
				     f->path);
	r = watch_target(w, i);
	if (r < 0)
		return err_set_errno(err, r, "cannot watch '%s'", f->path);
	return 0;
}

static int lay_watches(struct policyfile_watch *w, struct err *err)
{
	size_t i;
	int r;

	for (i = 0; i < w->sources->n_files; i++) {
		/* A directory that isn't there has nothing to read, now or
		   later. */
		w->wd[i] = w->target_wd[i] = -1;
		if (w->sources->files[i].dir_fd < 0)
			continue;
		r = watch_file(w, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void release_spare(struct policyfile_watch *w)
{
	size_t i;

	for (i = 0; i < SPARE_FDS; i++)
		fd_closep(&w->spare[i]);
}

static int take_spare(struct policyfile_watch *w)
{
	size_t i;

	for (i = 0; i < SPARE_FDS; i++) {
		w->spare[i] = fcntl(w->fd, F_DUPFD_CLOEXEC, 0);
		if (w->spare[i] < 0)
			return -errno;
	}
	return 0;
}

static void tell_changed(struct policyfile_watch *w)
{
	size_t i;

	loop_del_timer(&w->quiet);
	/* Before it is read: a write after that is noticed. */
	for (i = 0; i < w->sources->n_files; i++)
		if (w->wd[i] >= 0)
			(void)watch_target(w, i); /* the name still counts */
	release_spare(w);
	w->changed(w->ctx);
	if (!loop_timer_is_set(&w->quiet))
		w->since_ms = 0;
	(void)take_spare(w); /* what was free a moment ago still is */
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

	if (ev->mask & IN_IGNORED)
		return false; /* the end of a watch, told before if need be */
	if (!ev->len || (ev->mask & IN_Q_OVERFLOW))
		return true;
	for (i = 0; i < w->sources->n_files; i++)
		if (ev->wd == w->wd[i] &&
		    !strcmp(ev->name, base_name(&w->sources->files[i])))
			return true;
	return false;
}

enum news { NEWS_NONE, NEWS_LATER, NEWS_NOW };

/* What the last of a buffer's events means; @news if none is ours. */
static enum news look_at(const struct policyfile_watch *w, const char *buf,
			 ssize_t n, enum news news)
{
	ssize_t at;

	for (at = 0; at < n;) {
		const struct inotify_event *ev =
			(const struct inotify_event *)(const void *)(buf + at);

		at += (ssize_t)(sizeof(*ev) + ev->len);
		if (!concerns_us(w, ev))
			continue;
		if (ev->mask & (IN_MODIFY | IN_CREATE | IN_ATTRIB))
			news = NEWS_LATER;
		else
			news = NEWS_NOW;
	}
	return news;
}

static enum news read_events(struct policyfile_watch *w)
{
	char buf[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	enum news news = NEWS_NONE;
	unsigned int i;

	for (i = 0; i < READS_MAX; i++) {
		ssize_t n = read(w->fd, buf, sizeof(buf));

		if (n <= 0)
			break;
		news = look_at(w, buf, n, news);
	}
	if (news != NEWS_NONE && !w->since_ms)
		w->since_ms = clock_now_ms();
	return news;
}

static bool is_late(const struct policyfile_watch *w)
{
	return clock_now_ms() - w->since_ms >= PATIENCE_MS;
}

static void on_inotify(struct loop_fd *lw, uint32_t events)
{
	struct policyfile_watch *w =
		container_of(lw, struct policyfile_watch, fd_watch);
	enum news news = read_events(w);

	(void)events;
	if (news == NEWS_NONE)
		return;
	if (news == NEWS_NOW || is_late(w) ||
	    loop_set_timer(w->loop, &w->quiet, QUIET_MS, on_quiet) < 0)
		tell_changed(w);
}

bool policyfile_watch_more(struct policyfile_watch *w)
{
	enum news news = read_events(w);

	if (news == NEWS_NONE || is_late(w))
		return false;
	return loop_set_timer(w->loop, &w->quiet,
			      news == NEWS_NOW ? 0 : QUIET_MS, on_quiet) == 0;
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
	memset(w->spare, -1, sizeof(w->spare));
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0)
		return err_set_errno(err, -errno,
				     "cannot watch the allowlist (inotify)");
	r = take_spare(w);
	if (r < 0)
		return err_set_errno(err, r, "cannot watch the allowlist");
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
	release_spare(w);
	fd_closep(&w->fd);
	free(w);
}

void policyfile_watch_freep(struct policyfile_watch **w)
{
	policyfile_watch_free(*w);
	*w = NULL;
}
