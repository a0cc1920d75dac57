/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_rundir.c - runtime directories among living, dead and hostile ones */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "cmd/rundir.h"

static char top[64];
static struct rundir a, b;
static struct err err;

/* A path below the test's own directory; four may be in use. */
static const char *at(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

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

static void setup(void)
{
	strcpy(top, "/tmp/egret-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", top, 1), 0);
	ck_assert_int_eq(setenv("XDG_CONFIG_HOME", at("config"), 1), 0);
	memset(&err, 0, sizeof(err));
	a.lock_fd = b.lock_fd = -1;
}

static void teardown(void)
{
	char *const argv[] = { (char[]){ "rm" }, (char[]){ "-rf" }, top, NULL };
	pid_t pid = fork();

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

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	return fd;
}

START_TEST(names)
{
	static const char *const good[] = { "a", "A-b_c.9", "_x", "9", "x..y" };
	static const char *const bad[] = { "",	       ".",   "..",  ".x",
					   "-x",       "a/b", "a b", "a\n",
					   "\xc3\xa9", "$x" };
	char longest[50];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(rundir_is_name(good[i]), "%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_msg(!rundir_is_name(bad[i]), "%s", bad[i]);
		ck_assert_int_eq(rundir_create(&a, bad[i], &err), -EINVAL);
	}
	memset(longest, 'x', sizeof(longest));
	longest[48] = '\0';
	ck_assert(rundir_is_name(longest));
	longest[48] = 'x';
	longest[49] = '\0';
	ck_assert(!rundir_is_name(longest));
	ck_assert(!exists(at("egret")));
}
END_TEST

START_TEST(made_and_removed)
{
	int before = lowest_free();
	char path[PATH_MAX];
	struct stat st;

	ck_assert_int_eq(rundir_create(&a, NULL, &err), 0);
	(void)snprintf(path, sizeof(path), "run-%d", (int)getpid());
	ck_assert_str_eq(a.id, path);
	ck_assert_str_eq(a.base, at("egret"));
	ck_assert_str_eq(a.dir, at("egret/%s", a.id));
	ck_assert_int_eq(lstat(a.dir, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(rundir_own_list(&a, path, sizeof(path), &err), 0);
	ck_assert_str_eq(path, at("egret/%s/allowlist", a.id));
	ck_assert_int_eq(rundir_create(&b, NULL, &err), -EBUSY);
	ck_assert_ptr_nonnull(strstr(err.msg, "runs already"));
	rundir_remove(&a);
	ck_assert(!exists(a.dir));
	ck_assert_int_eq(lowest_free(), before);
	rundir_remove(&a);
}
END_TEST

START_TEST(second_of_a_project)
{
	struct rundir c;

	ck_assert_int_eq(rundir_create(&a, "study", &err), 0);
	ck_assert_int_eq(rundir_create(&b, "study", &err), 0);
	ck_assert_int_eq(rundir_create(&c, "study", &err), 0);
	ck_assert_str_eq(a.id, "study");
	ck_assert_str_eq(b.id, "study.2");
	ck_assert_str_eq(c.id, "study.3");
	rundir_remove(&b);
	ck_assert(exists(a.dir));
	ck_assert_int_eq(rundir_create(&b, "study", &err), 0);
	ck_assert_str_eq(b.id, "study.2");
	rundir_remove(&a);
	rundir_remove(&b);
	rundir_remove(&c);
}
END_TEST

START_TEST(too_many_of_a_project)
{
	static struct rundir many[100];

	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		ck_assert_int_eq(rundir_create(&many[i], "p", &err), 0);
	ck_assert_int_eq(rundir_create(&a, "p", &err), -EBUSY);
	ck_assert_str_eq(err.msg, "too many sandboxes are named p");
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		rundir_remove(&many[i]);
}
END_TEST

/* As a killed run leaves it. */
static void leave_dead(const char *id)
{
	(void)mkdir(at("egret"), 0700);
	ck_assert_int_eq(mkdir(at("egret/%s", id), 0700), 0);
	put(at("egret/%s/lock", id), "");
	put(at("egret/%s/allowlist", id), "old.example\n");
}

START_TEST(dead_are_taken_over_or_cleaned)
{
	char path[PATH_MAX];
	int before = lowest_free();

	ck_assert_int_eq(rundir_create(&b, "living", &err), 0);
	ck_assert_int_eq(rundir_own_list(&b, path, sizeof(path), &err), 0);
	leave_dead("study");
	leave_dead("run-1");
	put(at("egret/file"), "none of ours");
	ck_assert_int_eq(rundir_create(&a, "study", &err), 0);
	ck_assert_str_eq(a.id, "study");
	ck_assert(!exists(at("egret/study/allowlist")));
	ck_assert(!exists(at("egret/run-1")));
	ck_assert(exists(at("egret/living/allowlist")));
	ck_assert(exists(at("egret/file")));
	rundir_remove(&a);
	rundir_remove(&b);
	ck_assert_int_eq(lowest_free(), before);
}
END_TEST

/* What can't be cleaned must neither leak nor stop a run. */
START_TEST(odd_things_in_the_base)
{
	int before = lowest_free();

	leave_dead("x");
	ck_assert_int_eq(unlink(at("egret/x/allowlist")), 0);
	ck_assert_int_eq(mkdir(at("egret/x/allowlist"), 0700), 0);
	ck_assert_int_eq(mkdir(at("egret/y"), 0700), 0);
	ck_assert_int_eq(symlink(at("elsewhere"), at("egret/y/lock")), 0);
	ck_assert_int_eq(mkdir(at("egret/z"), 0700), 0);
	ck_assert_int_eq(mkfifo(at("egret/z/lock"), 0600), 0);
	ck_assert_int_eq(symlink(top, at("egret/link")), 0);
	ck_assert_int_eq(rundir_create(&a, "study", &err), 0);
	ck_assert(!exists(at("elsewhere")));
	ck_assert(!exists(at("lock")));
	rundir_remove(&a);
	ck_assert_int_eq(lowest_free(), before);
	ck_assert_int_lt(rundir_create(&a, "x", &err), 0);
	ck_assert_int_lt(rundir_create(&a, "y", &err), 0);
	ck_assert_int_eq(rundir_create(&a, "link", &err), -EPERM);
	ck_assert_int_eq(a.lock_fd, -1);
	ck_assert_int_eq(lowest_free(), before);
}
END_TEST

static void expect_refused_base(void)
{
	char path[PATH_MAX];

	ck_assert_int_eq(rundir_create(&a, "study", &err), -EPERM);
	ck_assert_ptr_nonnull(
		strstr(err.msg, "must be a directory that only you can write"));
	ck_assert_int_eq(rundir_find_list("study", path, sizeof(path), &err),
			 -ENOENT);
}

START_TEST(hostile_base)
{
	leave_dead("study");
	ck_assert_int_eq(chmod(at("egret"), 0770), 0);
	expect_refused_base();
	ck_assert_int_eq(chmod(at("egret"), 0702), 0);
	expect_refused_base();
	ck_assert_int_eq(chmod(at("egret"), 0700), 0);
	ck_assert_int_eq(rename(at("egret"), at("target")), 0);
	ck_assert_int_eq(symlink(at("target"), at("egret")), 0);
	expect_refused_base();
	ck_assert(exists(at("target/study/allowlist")));
	ck_assert_int_eq(unlink(at("egret")), 0);
	put(at("egret"), "");
	expect_refused_base();
	ck_assert_int_eq(unlink(at("egret")), 0);
	if (geteuid() == 0) {
		ck_assert_int_eq(mkdir(at("egret"), 0700), 0);
		ck_assert_int_eq(chown(at("egret"), 1234, 1234), 0);
		expect_refused_base();
	}
}
END_TEST

/* Not the user's alone: as if it weren't set. */
START_TEST(hostile_runtime_dir)
{
	ck_assert_int_eq(chmod(top, 0777), 0);
	if (rundir_create(&a, NULL, &err) == 0) {
		ck_assert_int_ne(strncmp(a.base, top, strlen(top)), 0);
		rundir_remove(&a);
	}
	ck_assert_int_eq(chmod(top, 0700), 0);
	ck_assert(!exists(at("egret")));
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "relative", 1), 0);
	if (rundir_create(&a, NULL, &err) == 0) {
		ck_assert_int_eq(a.base[0], '/');
		rundir_remove(&a);
	}
}
END_TEST

START_TEST(path_too_long)
{
	char path[16];

	ck_assert_int_eq(rundir_create(&a, "study", &err), 0);
	ck_assert_int_eq(rundir_own_list(&a, path, sizeof(path), &err),
			 -ENAMETOOLONG);
	ck_assert_int_eq(rundir_config(path, sizeof(path), &err),
			 -ENAMETOOLONG);
	ck_assert_int_eq(rundir_project_list("study", path, sizeof(path), &err),
			 -ENAMETOOLONG);
	rundir_remove(&a);
}
END_TEST

/* Many start and end at once: each gets a directory of its own. */
START_TEST(at_once)
{
	enum { N = 24, ROUNDS = 20 };
	pid_t pids[N];

	for (int i = 0; i < N; i++) {
		pids[i] = fork();
		ck_assert_int_ge(pids[i], 0);
		for (int k = 0; pids[i] == 0 && k < ROUNDS; k++) {
			char path[PATH_MAX];

			if (rundir_create(&a, i % 2 ? "p" : NULL, &err) < 0 ||
			    rundir_own_list(&a, path, sizeof(path), &err) < 0)
				_exit(1);
			rundir_remove(&a);
		}
		if (pids[i] == 0)
			_exit(0);
	}
	for (int i = 0; i < N; i++) {
		int status = -1;

		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_int_eq(rmdir(at("egret")), 0); /* nothing is left */
}
END_TEST

START_TEST(find)
{
	char path[PATH_MAX], own[PATH_MAX], project[PATH_MAX];

	ck_assert_int_eq(rundir_find_list("study", path, sizeof(path), &err),
			 -ENOENT);
	ck_assert_int_eq(rundir_find_list("../x", path, sizeof(path), &err),
			 -EINVAL);
	/* a run with a list of its own */
	ck_assert_int_eq(rundir_create(&a, "study", &err), 0);
	ck_assert_int_eq(rundir_own_list(&a, own, sizeof(own), &err), 0);
	ck_assert_int_eq(rundir_find_list("study", path, sizeof(path), &err),
			 0);
	ck_assert_str_eq(path, own);
	ck_assert_int_eq(rundir_find_list("study", path, 4, &err),
			 -ENAMETOOLONG);
	/* one that uses a project's */
	ck_assert_int_eq(
		rundir_project_list("study", project, sizeof(project), &err),
		0);
	ck_assert_int_eq(rundir_create(&b, "study", &err), 0);
	ck_assert_int_eq(rundir_link_list(&b, project, &err), 0);
	ck_assert_int_eq(rundir_find_list("study.2", path, sizeof(path), &err),
			 0);
	ck_assert_str_eq(path, project);
	/* a project that isn't running */
	rundir_remove(&a);
	rundir_remove(&b);
	ck_assert_int_eq(rundir_find_list("study", path, sizeof(path), &err),
			 0);
	ck_assert_str_eq(path, project);
	ck_assert_int_eq(rundir_find_list("study.2", path, sizeof(path), &err),
			 -ENOENT);
	/* a run that was killed */
	leave_dead("run-1");
	ck_assert_int_eq(rundir_find_list("run-1", path, sizeof(path), &err),
			 -ENOENT);
}
END_TEST

START_TEST(living_ones)
{
	char **ids = NULL, path[PATH_MAX];
	size_t n = 7;

	ck_assert_int_eq(rundir_living(&ids, &n, &err), 0);
	ck_assert_uint_eq(n, 0); /* not even a base */
	ck_assert_int_eq(rundir_create(&a, "w10", &err), 0);
	ck_assert_int_eq(rundir_create(&b, "w9", &err), 0);
	ck_assert_int_eq(mkdir(at("egret/dead"), 0700), 0);
	put(at("egret/dead/lock"), "");
	put(at("egret/file"), "");
	ck_assert_int_eq(rundir_living(&ids, &n, &err), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(ids[0], "w9");
	ck_assert_str_eq(ids[1], "w10");
	rundir_free_ids(ids, n);
	ck_assert_int_eq(rundir_socket("w9", path, sizeof(path), &err), 0);
	ck_assert_str_eq(path, at("egret/w9/control.sock"));
	ck_assert_int_eq(rundir_socket("../x", path, sizeof(path), &err),
			 -EINVAL);
	ck_assert_int_eq(rundir_socket("w9", path, 20, &err), -ENAMETOOLONG);
	/* The gateway's socket goes with the directory. */
	put(at("egret/w9/control.sock"), "");
	rundir_remove(&b);
	ck_assert(!exists(at("egret/w9")));
	rundir_remove(&a);
}
END_TEST

START_TEST(project_is_explained_once)
{
	_cleanup_(freep) char *text = NULL;
	char path[PATH_MAX], again[PATH_MAX];
	struct stat st;
	size_t len;

	ck_assert_int_eq(rundir_project_list("study", path, sizeof(path), &err),
			 0);
	ck_assert_str_eq(path, at("config/egret/projects/study.hosts"));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(stat(at("config/egret"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(io_read_file(path, 4096, &text, &len, &err), 0);
	ck_assert_ptr_nonnull(strstr(text, "# Allowlist of an egret project"));
	for (const char *p = text; *p; p = strchr(p, '\n') + 1)
		ck_assert_int_eq(*p, '#');
	put(path, "a.example\n");
	ck_assert_int_eq(
		rundir_project_list("study", again, sizeof(again), &err), 0);
	freep(&text);
	ck_assert_int_eq(io_read_file(path, 4096, &text, &len, &err), 0);
	ck_assert_str_eq(text, "a.example\n");
	ck_assert_int_eq(
		rundir_project_list("../x", again, sizeof(again), &err),
		-EINVAL);
}
END_TEST

START_TEST(config_places)
{
	char path[PATH_MAX];

	ck_assert_int_eq(setenv("HOME", at("home"), 1), 0);
	ck_assert_int_eq(setenv("XDG_CONFIG_HOME", "relative", 1), 0);
	ck_assert_int_eq(rundir_config(path, sizeof(path), &err), 0);
	ck_assert_str_eq(path, at("home/.config/egret"));
	ck_assert(!exists(path));
	ck_assert_int_eq(rundir_make_config(path, sizeof(path), &err), 0);
	ck_assert(exists(at("home/.config/egret")));
	ck_assert_int_eq(rundir_make_config(path, sizeof(path), &err), 0);
	ck_assert_int_eq(unsetenv("HOME"), 0);
	ck_assert_int_eq(rundir_config(path, sizeof(path), &err), -ENOENT);
	put(at("file"), "");
	ck_assert_int_eq(setenv("HOME", at("file"), 1), 0);
	ck_assert_int_eq(rundir_make_config(path, sizeof(path), &err),
			 -ENOTDIR);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rundir");
	TCase *tc = tcase_create("rundir");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, names);
	tcase_add_test(tc, made_and_removed);
	tcase_add_test(tc, second_of_a_project);
	tcase_add_test(tc, too_many_of_a_project);
	tcase_add_test(tc, dead_are_taken_over_or_cleaned);
	tcase_add_test(tc, odd_things_in_the_base);
	tcase_add_test(tc, hostile_base);
	tcase_add_test(tc, hostile_runtime_dir);
	tcase_add_test(tc, path_too_long);
	tcase_add_test(tc, at_once);
	tcase_add_test(tc, find);
	tcase_add_test(tc, living_ones);
	tcase_add_test(tc, project_is_explained_once);
	tcase_add_test(tc, config_places);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
