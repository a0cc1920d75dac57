/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_listfile.c - lists are read and written whole, or not at all */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "cmd/listfile.h"
#include "cmd/rundir.h"
#include "tests/unit/userns.h"

static char top[64];
static struct listfile l;
static struct err err;

static const char *at(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* A path below the test's own directory; four may be in use. */
static const char *at(const char *fmt, ...)
{
	static char paths[4][PATH_MAX];
	static unsigned int next;
	char *p = paths[next++ % 4];
	int n = snprintf(p, PATH_MAX, "%s/", top);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(p + n, (size_t)(PATH_MAX - n), fmt, ap);
	va_end(ap);
	return p;
}

static void put(const char *path, const char *text)
{
	_cleanup_(fd_closep) int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
}

static void expect(const char *path, const char *text)
{
	_cleanup_(freep) char *data = NULL;
	size_t len;

	ck_assert_int_eq(io_read_file(path, 1 << 20, &data, &len, NULL), 0);
	ck_assert_str_eq(data, text);
	ck_assert_uint_eq(len, strlen(text));
}

static struct stat look(const char *path)
{
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	return st;
}

static void make_dirs(void)
{
	strcpy(top, "/tmp/egret-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", at("run"), 1), 0);
	ck_assert_int_eq(setenv("XDG_CONFIG_HOME", at("config"), 1), 0);
	ck_assert_int_eq(mkdir(at("run"), 0700), 0);
	ck_assert_int_eq(mkdir(at("run/egret"), 0700), 0);
	ck_assert_int_eq(mkdir(at("run/egret/run-1"), 0700), 0);
	ck_assert_int_eq(mkdir(at("config"), 0700), 0);
	ck_assert_int_eq(mkdir(at("config/egret"), 0700), 0);
	ck_assert_int_eq(mkdir(at("config/egret/projects"), 0700), 0);
	ck_assert_int_eq(mkdir(at("work"), 0700), 0);
	memset(&err, 0, sizeof(err));
}

static void setup(void)
{
	top[0] = '\0';
}

static void teardown(void)
{
	if (top[0])
		(void)userns_sh("rm -rf '%s'", top);
}

static void must_open(const char *path)
{
	ck_assert_msg(listfile_open(&l, path, &err) == 0, "%s", err.msg);
}

static void must_write(const char *text)
{
	ck_assert_msg(listfile_write(&l, text, strlen(text), &err) == 0, "%s",
		      err.msg);
}

/* ---- which way ---- */

START_TEST(replaced_where_hidden)
{
	static const char *const hidden[] = { "run/egret/run-1/allowlist",
					      "config/egret/projects/p.hosts" };
	const char *path;
	struct stat old, new;

	make_dirs();
	path = at("%s", hidden[_i]);
	put(path, "a.org\n");
	ck_assert_int_eq(chmod(path, 0640), 0);
	old = look(path);
	must_open(path);
	ck_assert(l.may_replace);
	ck_assert_str_eq(l.text, "a.org\n");
	must_write("b.org\nc.org\n");
	listfile_close(&l);
	new = look(path);
	expect(path, "b.org\nc.org\n");
	ck_assert_uint_ne(new.st_ino, old.st_ino);
	ck_assert_uint_eq(new.st_mode, old.st_mode);
	ck_assert_uint_eq(new.st_uid, old.st_uid);
	ck_assert_uint_eq(new.st_gid, old.st_gid);
	/* Nothing is left beside it. */
	ck_assert_int_eq(userns_sh("test $(ls -A '%s' | wc -l) = 1",
				   _i ? at("config/egret/projects")
				      : at("run/egret/run-1")),
			 0);
}
END_TEST

static const struct {
	const char *old, *new;
} in_place[] = {
	{ "", "a.org\n" },
	{ "a.org\n", "a.org\nb.org\n" },
	{ "a.org\nb.org\n", "b.org\n" },
	{ "a.org\nb.org\n", "" },
	{ "a.org\n!ads.example.org\n", "a.org\n" },
	{ "a.org\nb.org\nc.org\n", "a.org\nx.example.org\nc.org\n" },
	{ "a.org\n", "b.org\n" },
};

START_TEST(written_in_place_elsewhere)
{
	const char *path;
	struct stat old;

	make_dirs();
	path = at("work/list");
	put(path, in_place[_i].old);
	old = look(path);
	must_open(path);
	ck_assert(!l.may_replace);
	must_write(in_place[_i].new);
	listfile_close(&l);
	expect(path, in_place[_i].new);
	ck_assert_uint_eq(look(path).st_ino, old.st_ino);
	ck_assert_uint_eq(look(path).st_mode, old.st_mode);
}
END_TEST

START_TEST(links_are_followed)
{
	make_dirs();
	put(at("work/list"), "a.org\n");
	ck_assert_int_eq(
		symlink(at("work/list"), at("config/egret/projects/p.hosts")),
		0);
	ck_assert_int_eq(symlink(at("config/egret/projects/p.hosts"),
				 at("run/egret/run-1/allowlist")),
			 0);
	must_open(at("run/egret/run-1/allowlist"));
	ck_assert(!l.may_replace);
	ck_assert_str_eq(l.path, at("work/list"));
	must_write("b.org\n");
	listfile_close(&l);
	expect(at("work/list"), "b.org\n");
	ck_assert(S_ISLNK(look(at("config/egret/projects/p.hosts")).st_mode));
}
END_TEST

/* Directories that only look like egret's own. */
START_TEST(what_is_hidden)
{
	make_dirs();
	ck_assert_int_eq(mkdir(at("config/egret/projects/x"), 0700), 0);
	ck_assert(rundir_is_hidden(at("config/egret/projects")));
	ck_assert(rundir_is_hidden(at("run/egret/run-1")));
	ck_assert(!rundir_is_hidden(at("config/egret")));
	ck_assert(!rundir_is_hidden(at("config/egret/projects/x")));
	ck_assert(!rundir_is_hidden(at("run/egret")));
	ck_assert(!rundir_is_hidden(at("run/egret/run-1/x")));
	ck_assert(!rundir_is_hidden(at("run")));
	ck_assert(!rundir_is_hidden("/"));
	/* A link that leads out of it leads to what isn't hidden. */
	ck_assert_int_eq(rename(at("config/egret/projects"), at("work/p")), 0);
	ck_assert_int_eq(symlink(at("work/p"), at("config/egret/projects")), 0);
	ck_assert(!rundir_is_hidden(at("work/p")));
}
END_TEST

START_TEST(second_name_is_kept)
{
	const char *path;

	make_dirs();
	path = at("config/egret/projects/p.hosts");
	put(path, "a.org\n");
	ck_assert_int_eq(link(path, at("work/other")), 0);
	must_open(path);
	must_write("a.org\nb.org\n");
	listfile_close(&l);
	expect(at("work/other"), "a.org\nb.org\n");
}
END_TEST

/* A killed edit's file is in nobody's way. */
START_TEST(left_over_file)
{
	make_dirs();
	put(at("config/egret/projects/p.hosts"), "a.org\n");
	put(at("config/egret/projects/.p.hosts.new"), "half");
	must_open(at("config/egret/projects/p.hosts"));
	must_write("b.org\n");
	listfile_close(&l);
	expect(at("config/egret/projects/p.hosts"), "b.org\n");
	ck_assert_int_ne(access(at("config/egret/projects/.p.hosts.new"), F_OK),
			 0);
}
END_TEST

/* ---- what isn't a list ---- */

static void refuse(const char *path, int code, const char *why)
{
	ck_assert_int_eq(listfile_open(&l, path, &err), code);
	ck_assert_msg(strstr(err.msg, why), "%s", err.msg);
	ck_assert_int_eq(l.fd, -1);
	ck_assert_int_eq(l.dir_fd, -1);
	ck_assert_ptr_null(l.text);
}

START_TEST(refused)
{
	make_dirs();
	refuse(at("work/none"), -ENOENT, "work/none");
	refuse(at("work"), -EINVAL, "not a regular file");
	ck_assert_int_eq(mkfifo(at("work/fifo"), 0600), 0);
	refuse(at("work/fifo"), -EINVAL, "not a regular file");
	refuse("/dev/null", -EINVAL, "not a regular file");
	refuse("/", -EINVAL, "not a regular file");
	put(at("work/big"), "a.org\n");
	ck_assert_int_eq(truncate(at("work/big"), 100 << 20), 0);
	refuse(at("work/big"), -EFBIG, "work/big");
	put(at("work/full"), "a.org\n");
	must_open(at("work/full"));
	ck_assert_int_eq(listfile_write(&l, "", (64U << 20) + 1, &err), -EFBIG);
	listfile_close(&l);
	expect(at("work/full"), "a.org\n");
}
END_TEST

/* ---- others at the same time ---- */

START_TEST(changed_meanwhile)
{
	make_dirs();
	put(at("work/list"), "a.org\n");
	must_open(at("work/list"));
	put(at("work/list"), "a.org\nother.org\n");
	ck_assert_int_eq(listfile_write(&l, "b.org\n", 6, &err), -EAGAIN);
	listfile_close(&l);
	expect(at("work/list"), "a.org\nother.org\n");
	must_open(at("work/list"));
	put(at("work/new"), "n.org\n");
	ck_assert_int_eq(rename(at("work/new"), at("work/list")), 0);
	ck_assert_int_eq(listfile_write(&l, "b.org\n", 6, &err), -EAGAIN);
	listfile_close(&l);
	expect(at("work/list"), "n.org\n");
}
END_TEST

static void append_many(const char *path, int who, int n)
{
	for (int i = 0; i < n; i++) {
		char text[8192];
		int len;

		if (listfile_open(&l, path, NULL) < 0)
			_exit(1);
		len = snprintf(text, sizeof(text), "%sh%d-%d.org\n", l.text,
			       who, i);
		if (listfile_write(&l, text, (size_t)len, NULL) < 0)
			_exit(2);
		listfile_close(&l);
	}
	_exit(0);
}

START_TEST(at_once)
{
	enum { N = 8, EACH = 20 };
	const char *path;
	pid_t pids[N];

	make_dirs();
	path = _i ? at("work/list") : at("config/egret/projects/p.hosts");
	put(path, "");
	for (int i = 0; i < N; i++) {
		pids[i] = fork();
		ck_assert_int_ge(pids[i], 0);
		if (pids[i] == 0)
			append_many(path, i, EACH);
	}
	for (int i = 0; i < N; i++) {
		int status;

		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_int_eq(
		userns_sh("test $(sort -u '%s' | wc -l) = %d", path, N * EACH),
		0);
}
END_TEST

/* A command that keeps the lock of a directory it sees can't keep the user
   out; of egret's own directories only the user can. */
START_TEST(lock_is_kept)
{
	_cleanup_(fd_closep) int fd = -1;

	make_dirs();
	put(at("work/list"), "a.org\n");
	put(at("config/egret/projects/p.hosts"), "a.org\n");
	fd = open(_i ? at("work") : at("config/egret/projects"),
		  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	if (!_i) {
		ck_assert_int_eq(
			listfile_open(&l, at("config/egret/projects/p.hosts"),
				      &err),
			-EBUSY);
		return;
	}
	must_open(at("work/list"));
	must_write("b.org\n");
	listfile_close(&l);
	expect(at("work/list"), "b.org\n");
}
END_TEST

/* ---- a full disk ---- */

static bool small_disk(const char *path)
{
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL),
			 0);
	ck_assert_int_eq(mount("tmpfs", path, "tmpfs", 0, "size=64k,mode=700"),
			 0);
	return true;
}

static void fill_disk(const char *path)
{
	char zeros[4096] = { 0 };
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	ck_assert_int_eq(errno, ENOSPC);
	ck_assert_int_eq(close(fd), 0);
}

START_TEST(full_disk)
{
	static const char old[] = "# a list\na.org\nb.org # why\n";
	static char text[20001];
	const char *dir, *path;

	if (!userns_enter(CLONE_NEWNS, true))
		return;
	make_dirs();
	dir = _i ? at("work") : at("config/egret/projects");
	ck_assert(small_disk(dir));
	path = _i ? at("work/l.hosts") : at("config/egret/projects/l.hosts");
	put(path, old);
	fill_disk(_i ? at("work/fill") : at("config/egret/projects/fill"));
	memset(text, 'x', sizeof(text) - 1);
	must_open(path);
	ck_assert_int_eq(l.may_replace, !_i);
	ck_assert_int_eq(listfile_write(&l, text, sizeof(text) - 1, &err),
			 -ENOSPC);
	ck_assert_msg(strstr(err.msg, "No space left"), "%s", err.msg);
	ck_assert_str_eq(l.text, old);
	listfile_close(&l);
	expect(path, old);
	/* In place a shorter one still fits. */
	if (_i) {
		must_open(path);
		must_write("a.org\n");
		listfile_close(&l);
		expect(path, "a.org\n");
	}
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("listfile");
	TCase *t = tcase_create("all");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, replaced_where_hidden, 0, 2);
	tcase_add_loop_test(t, written_in_place_elsewhere, 0,
			    ARRAY_SIZE(in_place));
	tcase_add_test(t, links_are_followed);
	tcase_add_test(t, what_is_hidden);
	tcase_add_test(t, second_name_is_kept);
	tcase_add_test(t, left_over_file);
	tcase_add_test(t, refused);
	tcase_add_test(t, changed_meanwhile);
	tcase_add_loop_test(t, at_once, 0, 2);
	tcase_add_loop_test(t, lock_is_kept, 0, 2);
	tcase_add_loop_test(t, full_disk, 0, 2);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
