/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_policyfile.c - sources that are missing, hostile, replaced, edited */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/loop.h"
#include "gateway/policyfile.h"
#include "policy/policy.h"

#define DEADLINE_MS 5000
#define SILENCE_MS  150 /* no event, where there must be none */

static char top[64], lines[8][2048];
static char paths[POLICYFILE_FILES_MAX][128];
static size_t n_lines;
static struct policyfile_sources src;
static struct policyfile_watch *watch;
static struct loop *loop;
static unsigned int n_changed;
static struct err err;

static const char *at(const char *name)
{
	static char buf[4][128];
	static unsigned int next;
	char *p = buf[next++ % 4];

	(void)snprintf(p, sizeof(buf[0]), "%s/%s", top, name);
	return p;
}

static void setup(void)
{
	strcpy(top, "/tmp/egret-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(loop_new(&loop, NULL), 0);
}

static void teardown(void)
{
	char *const argv[] = { (char[]){ "rm" }, (char[]){ "-rf" }, top, NULL };
	pid_t pid;

	policyfile_watch_freep(&watch);
	loop_freep(&loop);
	for (size_t i = 0; i < src.n_files; i++) {
		if (!src.files[i].is_pinned)
			continue;
		fd_closep(&src.files[i].dir_fd);
		fd_closep(&src.files[i].file_fd);
	}
	pid = fork();
	if (pid == 0) {
		(void)execvp("rm", argv);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	ck_assert_int_eq(close(fd), 0);
}

static void add_file(const char *name, bool must_exist, bool is_safe)
{
	struct policyfile *f = &src.files[src.n_files];
	char *path = paths[src.n_files];

	(void)snprintf(path, sizeof(paths[0]), "%s",
		       name[0] == '/' ? name : at(name));
	*f = (struct policyfile){ .path = path,
				  .must_exist = must_exist,
				  .is_safe = is_safe,
				  .dir_fd = -1 };
	src.n_files++;
}

static void take_line(void *ctx, const char *line)
{
	ck_assert_ptr_eq(ctx, &src);
	ck_assert_uint_lt(n_lines, ARRAY_SIZE(lines));
	(void)snprintf(lines[n_lines++], sizeof(lines[0]), "%s", line);
}

static int load(struct policy **ret)
{
	n_lines = 0;
	return policyfile_load(&src, ret, take_line, &src);
}

static bool allows(const struct policy *p, const char *name)
{
	struct dnsname n;

	ck_assert_int_eq(dnsname_from_text(name, strlen(name), &n), 0);
	return policy_judge_name(p, &n).reason == POLICY_ALLOWED;
}

/* Loads, and is @name allowed? */
static bool loads(const char *name)
{
	_cleanup_(policy_freep) struct policy *p = NULL;

	ck_assert_msg(load(&p) == 0, "%s", lines[0]);
	ck_assert_uint_eq(n_lines, 0);
	return allows(p, name);
}

static void refused(const char *words)
{
	struct policy *p = NULL;

	ck_assert_int_lt(load(&p), 0);
	ck_assert_ptr_null(p);
	ck_assert_uint_eq(n_lines, 1);
	ck_assert_msg(strstr(lines[0], words) != NULL, "%s", lines[0]);
}

/* ---- loading ---- */

START_TEST(sources_are_joined)
{
	static const char *const allow[] = { "c.example" };
	static const char *const deny[] = { "b.example" };

	put(at("one"), "a.example\n");
	put(at("two"), "b.example # both\n");
	add_file("one", true, false);
	add_file("two", true, false);
	add_file("none", false, true);
	add_file("no/directory", false, true);
	src.allow = allow;
	src.deny = deny;
	src.n_allow = src.n_deny = 1;
	ck_assert(loads("a.example"));
	ck_assert(!loads("b.example"));
	ck_assert(loads("c.example"));
	ck_assert(!loads("d.example"));
	ck_assert_int_eq(policyfile_pin(&src, &err), 0);
	ck_assert(loads("a.example"));
}
END_TEST

START_TEST(all_errors_at_once)
{
	static const char *const allow[] = { "a b", "c..example" };
	struct policy *p = NULL;
	char want[160];

	put(at("one"), "good.example\nbad..example\n");
	put(at("two"), "x:0\n");
	add_file("one", true, false);
	add_file("two", true, false);
	add_file("missing", true, false);
	src.allow = allow;
	src.n_allow = 2;
	ck_assert_int_eq(load(&p), -EINVAL);
	ck_assert_ptr_null(p);
	ck_assert_uint_eq(n_lines, 5);
	/* what can't be read comes first */
	ck_assert_ptr_nonnull(strstr(lines[0], "cannot open"));
	(void)snprintf(want, sizeof(want), "%s:2:", at("one"));
	ck_assert_msg(!strncmp(lines[1], want, strlen(want)), "%s", lines[1]);
	(void)snprintf(want, sizeof(want), "%s:1:", at("two"));
	ck_assert_msg(!strncmp(lines[2], want, strlen(want)), "%s", lines[2]);
	ck_assert_ptr_nonnull(strstr(lines[3], "--allow"));
}
END_TEST

START_TEST(what_is_no_file)
{
	ck_assert_int_eq(mkfifo(at("fifo"), 0600), 0);
	ck_assert_int_eq(mkdir(at("dir"), 0700), 0);
	add_file("fifo", true, false);
	refused("is not a regular file");
	src.n_files = 0;
	add_file("dir", false, false);
	refused("is not a regular file");
	src.n_files = 0;
	add_file("/dev/zero", false, false);
	refused("is not a regular file");
	src.n_files = 0;
	add_file("/proc/self/mem", false, false);
	refused("cannot");
}
END_TEST

START_TEST(too_large)
{
	put(at("big"), "a.example\n");
	ck_assert_int_eq(truncate(at("big"), POLICY_TEXT_MAX + 1), 0);
	add_file("big", true, false);
	refused("is larger than");
}
END_TEST

START_TEST(pin_errors)
{
	char name[PATH_MAX + 16];

	add_file("no/file", true, false);
	ck_assert_int_eq(policyfile_pin(&src, &err), -ENOENT);
	put(at("file"), "");
	src.n_files = 0;
	add_file("file/below", false, false);
	ck_assert_int_eq(policyfile_pin(&src, &err), -ENOTDIR);
	ck_assert_int_eq(symlink("loop", at("loop")), 0);
	src.n_files = 0;
	add_file("loop", false, false);
	ck_assert_int_eq(policyfile_pin(&src, &err), -ELOOP);
	memset(name, '/', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	src.n_files = 0;
	add_file("file", true, false);
	src.files[0].path = name;
	ck_assert_int_eq(policyfile_pin(&src, &err), -ENAMETOOLONG);
}
END_TEST

/* ---- identity ---- */

static void start(bool is_safe)
{
	put(at("list"), "a.example\n");
	add_file("list", true, is_safe);
	ck_assert_int_eq(policyfile_pin(&src, &err), 0);
	ck_assert(loads("a.example"));
}

START_TEST(written_in_place)
{
	start(_i);
	put(at("list"), "b.example\n");
	ck_assert(loads("b.example"));
	ck_assert_int_eq(chmod(at("list"), 0), 0);
	if (geteuid() != 0)
		refused("cannot open");
}
END_TEST

START_TEST(renamed_over)
{
	start(_i);
	put(at("new"), "b.example\n");
	ck_assert_int_eq(rename(at("new"), at("list")), 0);
	if (_i)
		ck_assert(loads("b.example"));
	else
		refused("was replaced by another file");
}
END_TEST

/* Some file systems give a freed inode number to the next file. */
START_TEST(deleted_and_made)
{
	start(_i);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(unlink(at("list")), 0);
		put(at("list"), "b.example\n");
		if (_i)
			ck_assert(loads("b.example"));
		else
			refused("was replaced by another file");
	}
	ck_assert_int_eq(unlink(at("list")), 0);
	refused("cannot open");
}
END_TEST

START_TEST(symlink_in_its_place)
{
	start(_i);
	put(at("other"), "b.example\n");
	ck_assert_int_eq(unlink(at("list")), 0);
	ck_assert_int_eq(symlink(at("other"), at("list")), 0);
	if (_i)
		ck_assert(loads("b.example"));
	else
		refused("was replaced by another file");
	/* The name at its end is in the directory, but another file. */
	ck_assert_int_eq(mkdir(at("sub"), 0700), 0);
	put(at("sub/other"), "evil.example\n");
	ck_assert_int_eq(unlink(at("list")), 0);
	ck_assert_int_eq(symlink("sub/other", at("list")), 0);
	refused("was replaced by another file");
	ck_assert_int_eq(unlink(at("list")), 0);
	ck_assert_int_eq(symlink("sub/", at("list")), 0);
	refused("was replaced by another file");
}
END_TEST

START_TEST(symlink_from_the_start)
{
	put(at("other"), "a.example\n");
	ck_assert_int_eq(symlink("other", at("list")), 0);
	add_file("list", true, _i);
	ck_assert_int_eq(policyfile_pin(&src, &err), 0);
	ck_assert(loads("a.example"));
	put(at("other"), "b.example\n");
	ck_assert(loads("b.example"));
	put(at("new"), "c.example\n");
	ck_assert_int_eq(rename(at("new"), at("other")), 0);
	if (_i)
		ck_assert(loads("c.example"));
	else
		refused("was replaced by another file");
}
END_TEST

START_TEST(optional_file_comes_later)
{
	add_file("list", false, _i);
	ck_assert_int_eq(policyfile_pin(&src, &err), 0);
	ck_assert(!loads("a.example"));
	put(at("list"), "a.example\n");
	if (_i)
		ck_assert(loads("a.example"));
	else
		refused("was replaced by another file");
}
END_TEST

START_TEST(optional_directory_comes_later)
{
	add_file("dir/list", false, _i);
	ck_assert_int_eq(policyfile_pin(&src, &err), 0);
	ck_assert_int_eq(mkdir(at("dir"), 0700), 0);
	put(at("dir/list"), "a.example\n");
	ck_assert(!loads("a.example"));
}
END_TEST

/* The directory of the start counts, whatever its path leads to now. */
START_TEST(directory_is_swapped)
{
	ck_assert_int_eq(mkdir(at("dir"), 0700), 0);
	put(at("dir/list"), "a.example\n");
	add_file("dir/list", true, _i);
	ck_assert_int_eq(policyfile_pin(&src, &err), 0);
	ck_assert_int_eq(rename(at("dir"), at("away")), 0);
	ck_assert_int_eq(mkdir(at("dir"), 0700), 0);
	put(at("dir/list"), "evil.example\n");
	ck_assert(loads("a.example"));
	ck_assert(!loads("evil.example"));
}
END_TEST

START_TEST(fifo_in_its_place)
{
	start(_i);
	ck_assert_int_eq(unlink(at("list")), 0);
	ck_assert_int_eq(mkfifo(at("list"), 0600), 0);
	refused(_i ? "is not a regular file" : "was replaced");
}
END_TEST

/* ---- watching ---- */

static void on_changed(void *ctx)
{
	ck_assert_ptr_eq(ctx, &n_changed);
	n_changed++;
}

static void start_watch(void)
{
	ck_assert_int_eq(policyfile_pin(&src, &err), 0);
	ck_assert_int_eq(policyfile_watch_new(&watch, loop, &src, on_changed,
					      &n_changed, &err),
			 0);
}

static void turn_for(uint64_t ms, bool until_changed)
{
	uint64_t end = clock_now_ms() + ms;

	while (clock_now_ms() < end && !(until_changed && n_changed))
		ck_assert_int_ge(loop_run_once(loop, 10), 0);
}

static void expect_change(const char *what)
{
	turn_for(DEADLINE_MS, true);
	ck_assert_msg(n_changed > 0, "not noticed: %s", what);
	/* what else belongs to it */
	turn_for(60, false);
	n_changed = 0;
}

static void expect_silence(const char *what)
{
	turn_for(SILENCE_MS, false);
	ck_assert_msg(n_changed == 0, "noticed: %s", what);
}

START_TEST(edits_are_noticed)
{
	int fd;

	ck_assert_int_eq(mkdir(at("dir"), 0700), 0);
	put(at("dir/list"), "a.example\n");
	add_file("dir/list", true, true);
	add_file("later", false, true);
	add_file("no/directory", false, true);
	start_watch();
	expect_silence("nothing");

	put(at("dir/list"), "b.example\n");
	expect_change("truncated and written");
	fd = open(at("dir/list"), O_WRONLY | O_APPEND | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, "c.example\n", 10), 0);
	expect_change("written and not closed");
	ck_assert_int_eq(close(fd), 0);
	expect_change("closed");
	put(at("dir/new"), "d.example\n");
	ck_assert_int_eq(rename(at("dir/new"), at("dir/list")), 0);
	expect_change("renamed over");
	ck_assert_int_eq(unlink(at("dir/list")), 0);
	expect_change("deleted");
	put(at("dir/list"), "e.example\n");
	expect_change("made again");
	put(at("dir/list"), "f.example\n");
	expect_change("written again");
	ck_assert_int_eq(rename(at("dir/list"), at("dir/away")), 0);
	expect_change("moved away");
	ck_assert_int_eq(symlink("away", at("dir/list")), 0);
	expect_change("a link in its place");
	put(at("later"), "");
	expect_change("an optional file made");
	ck_assert_int_eq(link(at("later"), at("dir/x")), 0);
	ck_assert_int_eq(rename(at("dir"), at("moved")), 0);
	put(at("moved/list"), "g.example\n");
	turn_for(60, false);
	n_changed = 0;
	ck_assert_int_eq(unlink(at("moved/list")), 0);
	expect_change("deleted in the directory that was moved");
}
END_TEST

START_TEST(others_are_ignored)
{
	ck_assert_int_eq(mkdir(at("dir"), 0700), 0);
	put(at("dir/list"), "a.example\n");
	add_file("dir/list", true, true);
	add_file("other", false, true);
	start_watch();
	put(at("dir/lists"), "");
	put(at("dir/lis"), "");
	/* another's name, in this one's directory */
	put(at("dir/other"), "");
	put(at("list"), "");
	ck_assert_int_eq(mkdir(at("dir/sub"), 0700), 0);
	put(at("dir/sub/list"), "");
	expect_silence("files that are none of ours");
}
END_TEST

START_TEST(target_of_a_link)
{
	ck_assert_int_eq(mkdir(at("dir"), 0700), 0);
	put(at("dir/target"), "a.example\n");
	ck_assert_int_eq(symlink("dir/target", at("list")), 0);
	add_file("list", true, true);
	start_watch();
	put(at("dir/target"), "b.example\n");
	expect_change("the target was written");
	ck_assert(loads("b.example"));
	put(at("dir/new"), "c.example\n");
	expect_silence("a neighbour of the target");
	ck_assert_int_eq(rename(at("dir/new"), at("dir/target")), 0);
	expect_change("the target was replaced");
	refused("was replaced by another file");
}
END_TEST

/* Writes one after the other are read once, when they have ended. */
START_TEST(writes_are_waited_out)
{
	int fd;

	put(at("list"), "");
	add_file("list", true, true);
	start_watch();
	fd = open(at("list"), O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(io_write_all(fd, "#", 1), 0);
		ck_assert_int_ge(loop_run_once(loop, 0), 0);
	}
	turn_for(DEADLINE_MS, true);
	turn_for(SILENCE_MS, false);
	ck_assert_uint_ge(n_changed, 1);
	ck_assert_uint_le(n_changed, 5); /* a slow machine may make a pause */
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(watch_ends)
{
	put(at("list"), "");
	add_file("list", true, true);
	start_watch();
	put(at("list"), "x");
	ck_assert_int_ge(loop_run_once(loop, 0), 0);
	policyfile_watch_freep(&watch);
	ck_assert_ptr_null(watch);
	n_changed = 0;
	put(at("list"), "y");
	expect_silence("after the end");
	policyfile_watch_free(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("policyfile");
	TCase *tc = tcase_create("policyfile");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, sources_are_joined);
	tcase_add_test(tc, all_errors_at_once);
	tcase_add_test(tc, what_is_no_file);
	tcase_add_test(tc, too_large);
	tcase_add_test(tc, pin_errors);
	/* in a directory that the command may write, and in a safe one */
	tcase_add_loop_test(tc, written_in_place, 0, 2);
	tcase_add_loop_test(tc, renamed_over, 0, 2);
	tcase_add_loop_test(tc, deleted_and_made, 0, 2);
	tcase_add_loop_test(tc, symlink_in_its_place, 0, 2);
	tcase_add_loop_test(tc, symlink_from_the_start, 0, 2);
	tcase_add_loop_test(tc, optional_file_comes_later, 0, 2);
	tcase_add_loop_test(tc, optional_directory_comes_later, 0, 2);
	tcase_add_loop_test(tc, directory_is_swapped, 0, 2);
	tcase_add_loop_test(tc, fifo_in_its_place, 0, 2);
	tcase_add_test(tc, edits_are_noticed);
	tcase_add_test(tc, others_are_ignored);
	tcase_add_test(tc, target_of_a_link);
	tcase_add_test(tc, writes_are_waited_out);
	tcase_add_test(tc, watch_ends);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
