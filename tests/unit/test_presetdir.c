/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_presetdir.c - directories of presets */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gateway/presetdir.h"
#include "policy/preset.h"

static char dir[64]; /* working directory of each test */

static void setup(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/egret-presets-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(mkdir("presets", 0700), 0);
}

static void teardown(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static const struct preset *find(const struct preset_set *s, const char *name)
{
	return preset_set_find(s, name, strlen(name));
}

static struct preset_set *loaded(void)
{
	struct preset_set *s = NULL;
	struct err err = { 0 };

	ck_assert_int_eq(preset_set_new(&s), 0);
	ck_assert_msg(presetdir_add(s, dir, &err) == 0, "%s", err.msg);
	return s;
}

static void is_broken(const struct preset_set *s, const char *name,
		      const char *why)
{
	const struct preset *p = find(s, name);

	ck_assert_msg(p && p->broken, "%s", name);
	ck_assert_msg(strstr(p->broken, why), "%s: %s", name, p->broken);
}

START_TEST(files_add_and_override)
{
	_cleanup_(preset_set_freep) struct preset_set *s = NULL;
	char path[128];

	put("presets/pypi.hosts", "mirror.test\n");
	put("presets/my_own-1.hosts", "# title: mine\nmine.test\n");
	put("presets/.hosts", "x");
	put("presets/.hidden.hosts", "x");
	put("presets/has space.hosts", "x");
	put("presets/notes.txt", "x");
	put("presets/old.hosts~", "x");
	s = loaded();
	(void)snprintf(path, sizeof(path), "%s/presets/pypi.hosts", dir);
	ck_assert_str_eq(find(s, "pypi")->source, path);
	ck_assert_uint_eq(find(s, "pypi")->len, strlen("mirror.test\n"));
	ck_assert_ptr_nonnull(find(s, "my_own-1"));
	ck_assert_uint_eq(preset_set_n(s), 55);
}
END_TEST

START_TEST(unusable_files_are_kept_with_the_reason)
{
	_cleanup_(preset_set_freep) struct preset_set *s = NULL;
	_cleanup_(freep) char *big = malloc(PRESET_TEXT_MAX + 2);

	ck_assert_ptr_nonnull(big);
	memset(big, '\n', PRESET_TEXT_MAX + 1);
	big[PRESET_TEXT_MAX + 1] = '\0';
	put("real", "a.test");
	ck_assert_int_eq(symlink("../real", "presets/link.hosts"), 0);
	ck_assert_int_eq(link("real", "presets/hard.hosts"), 0);
	ck_assert_int_eq(mkdir("presets/dir.hosts", 0700), 0);
	ck_assert_int_eq(mkfifo("presets/fifo.hosts", 0600), 0);
	put("presets/big.hosts", big);
	put("presets/Capital.hosts", "a.test");
	put("presets/Both.hosts", "a.test");
	put("presets/both.hosts", "b.test");
	put("presets/NPM.hosts", "a.test");
	s = loaded();
	is_broken(s, "link", "is a symbolic link");
	is_broken(s, "hard", "has a second name (hard link)");
	is_broken(s, "dir", "not a regular file");
	is_broken(s, "fifo", "not a regular file");
	is_broken(s, "big", "big.hosts");
	is_broken(s, "capital", "has capital letters in its name");
	is_broken(s, "npm", "NPM.hosts has capital letters");
	ck_assert_ptr_null(find(s, "both")->broken);
}
END_TEST

START_TEST(unreadable_files_are_told)
{
	_cleanup_(preset_set_freep) struct preset_set *s = NULL;

	put("presets/shut.hosts", "a.test");
	ck_assert_int_eq(chmod("presets/shut.hosts", 0), 0);
	s = loaded();
	if (geteuid() != 0)
		is_broken(s, "shut", "cannot open");
}
END_TEST

START_TEST(directories_are_checked)
{
	_cleanup_(preset_set_freep) struct preset_set *s = NULL;
	struct err err = { 0 };
	char name[64];

	ck_assert_int_eq(preset_set_new(&s), 0);
	ck_assert_int_eq(presetdir_add(s, "/nonexistent", &err), 0);
	memset(err.msg, 0, sizeof(err.msg));

	for (int i = 0; i <= PRESETDIR_FILES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "presets/x%d.hosts", i);
		put(name, "");
	}
	ck_assert_int_eq(presetdir_add(s, dir, &err), -E2BIG);
	ck_assert_ptr_nonnull(strstr(err.msg, "more than 512 presets"));

	ck_assert_int_eq(rename("presets", "elsewhere"), 0);
	ck_assert_int_eq(symlink("elsewhere", "presets"), 0);
	ck_assert_int_lt(presetdir_add(s, dir, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "no symbolic link"));
	ck_assert_int_eq(unlink("presets"), 0);
	put("presets", "a file");
	ck_assert_int_lt(presetdir_add(s, dir, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "must be a directory"));
}
END_TEST

START_TEST(too_many_in_all)
{
	_cleanup_(preset_set_freep) struct preset_set *s = NULL;
	struct err err = { 0 };
	char name[64];

	ck_assert_int_eq(preset_set_new(&s), 0);
	for (size_t i = preset_set_n(s); i < PRESETS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "x%zu", i);
		ck_assert_int_eq(preset_set_add(s, name, name, "", 0), 0);
	}
	put("presets/more.hosts", "");
	ck_assert_int_eq(presetdir_add(s, dir, &err), -E2BIG);
	ck_assert_ptr_nonnull(strstr(err.msg, "more than 1024 presets in all"));
}
END_TEST

START_TEST(all_three_places)
{
	_cleanup_(preset_set_freep) struct preset_set *s = NULL;
	struct err err = { 0 };

	put("presets/pypi.hosts", "mirror.test\n");
	ck_assert_msg(presetdir_load(dir, &s, &err) == 0, "%s", err.msg);
	ck_assert(!find(s, "pypi")->is_builtin);
	preset_set_freep(&s);
	ck_assert_int_eq(presetdir_load("", &s, &err), 0);
	preset_set_freep(&s);
	ck_assert_int_eq(presetdir_load(NULL, &s, &err), 0);
	ck_assert_ptr_nonnull(find(s, "pypi"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("presetdir");
	TCase *t = tcase_create("presetdir");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, files_add_and_override);
	tcase_add_test(t, unusable_files_are_kept_with_the_reason);
	tcase_add_test(t, unreadable_files_are_told);
	tcase_add_test(t, directories_are_checked);
	tcase_add_test(t, too_many_in_all);
	tcase_add_test(t, all_three_places);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
