/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_idmap.c - id maps, written for real processes */
#include <sys/socket.h>

#include "netns/idmap.h"

#include "base/cleanup.h"

#include "tests/unit/userns.h"

/* A child in a user namespace of its own, that waits for the end of @fd. */
struct child {
	pid_t pid;
	int fd;
};

static bool child_start(struct child *c)
{
	int sv[2];
	char byte = 0;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv),
			 0);
	c->pid = fork();
	ck_assert_int_ge(c->pid, 0);
	if (c->pid == 0) {
		(void)close(sv[0]);
		byte = unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';
		if (write(sv[1], &byte, 1) == 1)
			(void)!read(sv[1], &byte, 1);
		_exit(0);
	}
	(void)close(sv[1]);
	c->fd = sv[0];
	ck_assert_int_eq(read(c->fd, &byte, 1), 1);
	return byte == 'y' || userns_skip("no user namespaces");
}

static void child_end(struct child *c)
{
	(void)close(c->fd);
	ck_assert_int_eq(waitpid(c->pid, NULL, 0), c->pid);
}

/* The first line of /proc/PID/FILE with single blanks. */
static void read_line(pid_t pid, const char *file, char ret[static 64])
{
	char path[64], line[128];
	unsigned long a, b, c;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
	(void)fclose(f);
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lu %lu %lu", &a, &b, &c) == 3)
		(void)snprintf(ret, 64, "%lu %lu %lu", a, b, c);
	else
		(void)snprintf(ret, 64, "%.60s", line);
}

static void expect(pid_t pid, const char *file, const char *want)
{
	char got[64];

	read_line(pid, file, got);
	ck_assert_str_eq(got, want);
}

START_TEST(single_id)
{
	bool as_root = _i;
	struct err err = { .code = 0 };
	struct child c;
	char want[64];

	if (!child_start(&c))
		return;
	ck_assert_msg(idmap_write(c.pid, NULL, as_root, false, &err) == 0, "%s",
		      err.msg);
	(void)snprintf(want, sizeof(want), "%u %u 1", as_root ? 0 : geteuid(),
		       geteuid());
	expect(c.pid, "uid_map", want);
	(void)snprintf(want, sizeof(want), "%u %u 1", as_root ? 0 : getegid(),
		       getegid());
	expect(c.pid, "gid_map", want);
	expect(c.pid, "setgroups", "deny");
	/* A map is taken once. */
	ck_assert_int_lt(idmap_write(c.pid, NULL, as_root, false, &err), 0);
	child_end(&c);
}
END_TEST

START_TEST(whole)
{
	struct err err = { .code = 0 };
	char own[64], got[64];
	unsigned long in_own, in_got, n_own, n_got, out;
	struct child c;

	if (!idmap_may_write_whole()) {
		(void)userns_skip("needs root");
		return;
	}
	if (!child_start(&c))
		return;
	ck_assert_msg(idmap_write(c.pid, NULL, false, true, &err) == 0, "%s",
		      err.msg);
	read_line(getpid(), "uid_map", own);
	read_line(c.pid, "uid_map", got);
	ck_assert_int_eq(sscanf(own, "%lu %lu %lu", &in_own, &out, &n_own), 3);
	ck_assert_int_eq(sscanf(got, "%lu %lu %lu", &in_got, &out, &n_got), 3);
	ck_assert_uint_eq(in_own, in_got);
	ck_assert_uint_eq(out, in_own);
	ck_assert_uint_eq(n_own, n_got);
	expect(c.pid, "setgroups", "allow");
	child_end(&c);
}
END_TEST

/* The gateway in U1 writes U2's map: single, of the inner id. */
START_TEST(nested)
{
	bool as_root = _i;
	struct err err = { .code = 0 };
	struct child c;
	uid_t own = geteuid();
	char want[64];

	if (!userns_enter(0, false) || !child_start(&c))
		return;
	own = geteuid();
	ck_assert_msg(idmap_write(c.pid, NULL, as_root, false, &err) == 0, "%s",
		      err.msg);
	(void)snprintf(want, sizeof(want), "%u %u 1", as_root ? 0 : own, own);
	expect(c.pid, "uid_map", want);
	child_end(&c);
}
END_TEST

/* Whole maps of a parent that has several extents (or one id, as a user). */
START_TEST(nested_whole)
{
	struct err err = { .code = 0 };
	struct child c;
	uid_t uid;

	if (!userns_enter(0, true) || !child_start(&c))
		return;
	uid = geteuid();
	ck_assert_uint_eq(uid, 0);
	ck_assert(idmap_may_write_whole());
	ck_assert_msg(idmap_write(c.pid, NULL, true, true, &err) == 0, "%s",
		      err.msg);
	expect(c.pid, "uid_map", "0 0 1");
	child_end(&c);
}
END_TEST

START_TEST(self)
{
	struct err err = { .code = 0 };
	uid_t uid;

	ck_assert_int_eq(idmap_write(0, NULL, true, false, &err), -EINVAL);
	if (!userns_enter(0, false))
		return;
	uid = geteuid();
	ck_assert_uint_ne(uid, 0);
	ck_assert_uint_ne(uid, 65534);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("idmap");
	TCase *tc = tcase_create("kernel");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, single_id, 0, 2);
	tcase_add_test(tc, whole);
	tcase_add_loop_test(tc, nested, 0, 2);
	tcase_add_test(tc, nested_whole);
	tcase_add_test(tc, self);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
