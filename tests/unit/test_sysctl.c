/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sysctl.c - every setting, from a bad start, in three kinds of /proc */
#include <fcntl.h>
#include <sys/mount.h>

#include "netns/sysctl.h"

#include "tests/unit/gwlab.h"

/* What a host may hand down, or a user may have set. */
static const char *const bad[] = {
	"ipv4/ip_forward 1",
	"ipv4/conf/all/rp_filter 1",
	"ipv4/conf/default/rp_filter 2",
	"ipv4/conf/gw0/rp_filter 1",
	"ipv4/conf/inj1/rp_filter 2",
	"ipv4/conf/gw0/accept_redirects 1",
	"ipv4/conf/lo/send_redirects 1",
	"ipv4/conf/all/accept_source_route 1",
	"ipv4/conf/gw0/route_localnet 1",
	"ipv4/conf/gw0/accept_local 1",
	"ipv4/conf/all/proxy_arp 1",
	"ipv4/icmp_ratemask 6168",
	"ipv6/conf/all/forwarding 1",
	"ipv6/conf/gw0/accept_ra 2",
	"ipv6/conf/gw0/accept_dad 1",
	"ipv6/conf/default/accept_redirects 1",
	"ipv6/icmp/ratemask 0-1,3-127",
};

static int spoil(void *arg, struct err *err)
{
	char path[128], value[32];

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		FILE *f;

		ck_assert_int_eq(sscanf(bad[i], "%99s %31s", path, value), 2);
		memmove(path + strlen("/proc/sys/net/"), path,
			strlen(path) + 1);
		memcpy(path, "/proc/sys/net/", strlen("/proc/sys/net/"));
		f = fopen(path, "we");
		if (!f)
			return err_set_errno(err, -errno, "%s", path);
		(void)fprintf(f, "%s\n", value);
		if (fclose(f) != 0)
			return err_set_errno(err, -errno, "%s", path);
	}
	return 0;
}

static int are_good(void *arg, struct err *err)
{
	char path[128], seen[64];

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		FILE *f;

		(void)snprintf(path, sizeof(path), "/proc/sys/net/%.*s",
			       (int)strcspn(bad[i], " "), bad[i]);
		f = fopen(path, "re");
		if (!f)
			return err_set_errno(err, -errno, "%s", path);
		if (!fgets(seen, sizeof(seen), f))
			seen[0] = '\0';
		(void)fclose(f);
		if (strcmp(seen, "0\n") != 0 && strcmp(seen, "\n") != 0)
			return err_set(err, -EIO, "%s is %s", path, seen);
	}
	return 0;
}

static int setup(void *arg, struct err *err)
{
	(void)arg;
	return sysctl_setup_gateway(err);
}

/* Uid inside isn't 0, and 0 isn't mapped: CAP_NET_ADMIN must do. */
START_TEST(written_and_read_back)
{
	struct err err = { .code = 0 };
	struct gwlab lab;

	if (!gwlab_start(&lab))
		return;
	gwlab_call(lab.gw, spoil, NULL);
	ck_assert_int_lt(nsthread_call(lab.gw, are_good, NULL, &err), 0);
	gwlab_call(lab.gw, setup, NULL);
	gwlab_call(lab.gw, are_good, NULL);
	gwlab_call(lab.gw, setup, NULL);
	gwlab_end(&lab);
}
END_TEST

/* The mounts of a container with a read-only, or a masked, /proc/sys. */
static void cover_proc_sys(int kind)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	if (kind == 1) {
		ck_assert_int_eq(mount("none", "/proc/sys", "tmpfs", 0, NULL),
				 0);
		return;
	}
	ck_assert_int_eq(mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL),
			 0);
	ck_assert_int_eq(mount(NULL, "/proc/sys", NULL,
			       MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID |
				       MS_NODEV | MS_NOEXEC,
			       NULL),
			 0);
}

struct fallback {
	int kind;
	bool may_succeed;
};

static int fall_back(void *arg, struct err *err)
{
	const struct fallback *f = arg;

	(void)err;
	/*
	 * A thread shares its root with the process, and a mount namespace
	 * needs one of its own.
	 */
	if (unshare(CLONE_FS) < 0)
		return -errno;
	cover_proc_sys(f->kind);
	return sysctl_setup_gateway(err);
}

static int read_outside(void *arg, struct err *err)
{
	int fd = *(int *)arg;

	if (setns(fd, CLONE_NEWNS) < 0)
		return err_set_errno(err, -errno, "setns");
	return are_good(NULL, err);
}

START_TEST(by_a_proc_of_its_own)
{
	struct fallback f = { .kind = _i };
	int ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	struct err err = { .code = 0 };
	struct gwlab lab;

	if (!gwlab_start(&lab))
		return;
	/* The mount namespace to come back to must be of this user ns. */
	(void)close(ns);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	gwlab_call(lab.gw, spoil, NULL);
	ck_assert_msg(nsthread_call(lab.gw, fall_back, &f, &err) == 0, "%s",
		      err.msg);
	gwlab_call(lab.gw, read_outside, &ns);
	/* No child is left. */
	ck_assert_int_eq(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	gwlab_end(&lab);
	(void)close(ns);
}
END_TEST

/* Covered by somebody above us, the kernel lets nobody mount a full proc. */
START_TEST(impossible_is_explained)
{
	struct err err = { .code = 0 };
	struct gwlab lab;

	if (!userns_enter(0, false))
		return;
	cover_proc_sys(_i);
	if (!gwlab_start(&lab))
		return;
	if (nsthread_call(lab.gw, spoil, NULL, &err) == 0)
		ck_abort_msg("/proc/sys could be written");
	ck_assert_int_lt(nsthread_call(lab.gw, setup, NULL, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.msg, "/proc/sys"));
	ck_assert_ptr_nonnull(strstr(err.msg, "doctor"));
	gwlab_end(&lab);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sysctl");
	TCase *tc = tcase_create("kernel");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, written_and_read_back);
	tcase_add_loop_test(tc, by_a_proc_of_its_own, 0, 2);
	tcase_add_loop_test(tc, impossible_is_explained, 0, 2);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
