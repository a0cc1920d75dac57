/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_mounts.c - the masks, and root inside who tries to lift them
 *
 * Each test is a small egret: U1, init as pid 1 of its namespaces, the masks,
 * then U2 with every capability, where the attacks run. Once as an ordinary
 * user and, when started by root, once as real root with all ids mapped.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netns/idmap.h"
#include "netns/mounts.h"
#include "tests/unit/userns.h"

#define PLAIN_UID   USERNS_PLAIN_ID
#define RESOLV_TEXT "nameserver 198.18.0.1\n"
#define SOCKETS_MAX 8
#define PATHS_MAX   24

/* One test a process, so that nothing has to be freed. */
static char lab_paths[PATHS_MAX][PATH_MAX];
static char socket_paths[SOCKETS_MAX][PATH_MAX];

struct box {
	char dir[64];	  /* the lab's directory, the home of its user */
	char tmp_dir[64]; /* an agent's directory in /tmp */
	bool real_root;	  /* as root with all ids, else as PLAIN_UID */
	struct idmap_ids ids;
	struct mounts_config cfg;
	const char *hidden[4];
	const char *kept[2];
	char *sockets[SOCKETS_MAX];
	size_t n_sockets;
	char (*paths)[PATH_MAX]; /* by in_lab() */
	size_t n_paths;
	void (*before)(struct box *b); /* in init, before the masks */
	void (*inside)(struct box *b); /* in U2 */
	int expect;		       /* of mounts_setup() */
	const char *message;	       /* a part of its error */
};

/* A path in the lab, kept until the test ends. */
static const char *in_lab(struct box *b, const char *name)
{
	char *path = b->paths[b->n_paths];

	ck_assert_uint_lt(b->n_paths, PATHS_MAX);
	b->n_paths++;
	(void)snprintf(path, PATH_MAX, "%s/%s", b->dir, name);
	return path;
}

static void make_dir(const char *path)
{
	ck_assert_msg(mkdir(path, 0755) == 0, "%s: %m", path);
}

static void make_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_msg(fd >= 0, "%s: %m", path);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
}

static void check_text(const char *path, const char *text)
{
	char buf[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s: %m", path);
	ck_assert_int_ge(read(fd, buf, sizeof(buf) - 1), 0);
	ck_assert_str_eq(buf, text);
	(void)close(fd);
}

static struct sockaddr_un unix_addr(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	ck_assert_uint_lt(strlen(path), sizeof(sun.sun_path));
	strcpy(sun.sun_path, path);
	return sun;
}

static const char *add_listener(struct box *b, const char *path)
{
	struct sockaddr_un sun = unix_addr(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_msg(bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0,
		      "%s: %m", path);
	ck_assert_int_eq(listen(fd, 4), 0);
	ck_assert_uint_lt(b->n_sockets, SOCKETS_MAX);
	b->sockets[b->n_sockets] = strcpy(socket_paths[b->n_sockets], path);
	b->n_sockets++;
	return path;
}

static int try_connect(const char *path)
{
	struct sockaddr_un sun = unix_addr(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, (struct sockaddr *)&sun, sizeof(sun));

	r = r < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

static void become_user(struct box *b)
{
	(void)strcpy(b->dir, "/tmp/egret-mounts-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(b->dir));
	(void)strcpy(b->tmp_dir, "/tmp/ssh-XXXXXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(b->tmp_dir));
	if (geteuid() == 0 && !b->real_root) {
		ck_assert_int_eq(chown(b->dir, PLAIN_UID, PLAIN_UID), 0);
		ck_assert_int_eq(chown(b->tmp_dir, PLAIN_UID, PLAIN_UID), 0);
	}
	ck_assert_int_eq(setenv("HOME", b->dir, 1), 0);
	ck_assert_int_eq(unsetenv("XDG_RUNTIME_DIR"), 0);
	ck_assert_int_eq(chdir(b->dir), 0);
	b->cfg.resolv_conf = RESOLV_TEXT;
	b->cfg.hidden = b->hidden;
	b->cfg.sockets = b->kept;
	b->cfg.kuid_is_root = b->real_root;
	if (geteuid() == 0 && !b->real_root) {
		ck_assert_int_eq(setresgid(PLAIN_UID, PLAIN_UID, PLAIN_UID), 0);
		ck_assert_int_eq(setresuid(PLAIN_UID, PLAIN_UID, PLAIN_UID), 0);
		ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
	}
}

static bool box_begin(struct box *b, bool real_root)
{
	memset(b, 0, sizeof(*b));
	b->real_root = real_root;
	b->paths = lab_paths;
	if (real_root && geteuid() != 0)
		return false;
	become_user(b);
	return true;
}

/* pid 1: masks, U2, attacks. */
static void init_main(struct box *b, int to_gateway, int from_gateway)
{
	struct err err = { 0 };
	char byte = 0;
	int r;

	ck_assert_int_eq(getpid(), 1);
	ck_assert_int_eq(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
	if (b->before)
		b->before(b);
	r = mounts_setup(&b->cfg, b->sockets, b->n_sockets, &err);
	ck_assert_msg(r == b->expect, "%d: %s", r, err.msg);
	if (r < 0) {
		ck_assert_msg(strstr(err.msg, b->message) != NULL, "%s",
			      err.msg);
		return;
	}
	ck_assert_int_eq(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET),
			 0);
	ck_assert_int_eq(write(to_gateway, &byte, 1), 1);
	ck_assert_int_eq(read(from_gateway, &byte, 1), 1);
	ck_assert_msg(mounts_setup_in_u2(&b->cfg, &err) == 0, "%s", err.msg);
	if (b->inside)
		b->inside(b);
}

static void gateway_main(struct box *b)
{
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC |
			 CLONE_NEWUTS,
		.exit_signal = SIGCHLD,
	};
	int up[2], down[2], status;
	struct err err = { 0 };
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe2(up, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(down, O_CLOEXEC), 0);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		init_main(b, up[1], down[0]);
		_exit(0);
	}
	(void)close(up[1]);
	if (read(up[0], &byte, 1) == 1) {
		ck_assert_msg(idmap_write(pid, &b->ids, true, b->real_root,
					  &err) == 0,
			      "%s", err.msg);
		ck_assert_int_eq(write(down[1], &byte, 1), 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		      "init ended with %d", status);
}

static void box_remove(const struct box *b)
{
	(void)userns_sh("rm -rf '%s' '%s'", b->dir, b->tmp_dir);
}

static void box_run(struct box *b)
{
	int up[2], down[2], status;
	struct err err = { 0 };
	char byte = 0;
	pid_t pid;

	idmap_get_ids(&b->ids);
	ck_assert_int_eq(pipe2(up, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(down, O_CLOEXEC), 0);
	/* This process stays to remove the lab as the user that made it. */
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) < 0) {
			(void)userns_skip("no user namespaces");
			_exit(0);
		}
		ck_assert_int_eq(write(up[1], &byte, 1), 1);
		ck_assert_int_eq(read(down[0], &byte, 1), 1);
		gateway_main(b);
		_exit(0);
	}
	(void)close(up[1]);
	if (read(up[0], &byte, 1) == 1) {
		ck_assert_msg(idmap_write(pid, &b->ids, false, b->real_root,
					  &err) == 0,
			      "%s", err.msg);
		ck_assert_int_eq(write(down[1], &byte, 1), 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	box_remove(b);
	ck_assert_int_eq(status, 0);
}

/* ---- attacks on one masked path, as root inside ---- */

static void check_locked(const char *path)
{
	char sub[] = "/mnt/take-XXXXXX";
	int fd;

	ck_assert_msg(umount2(path, MNT_DETACH) < 0, "umount %s", path);
	ck_assert_msg(umount2(path, 0) < 0, "umount %s", path);
	ck_assert_ptr_nonnull(mkdtemp(sub));
	ck_assert_msg(mount(path, sub, NULL, MS_MOVE, NULL) < 0, "move %s",
		      path);
	fd = open_tree(AT_FDCWD, path, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_msg(
		move_mount(fd, "", AT_FDCWD, sub, MOVE_MOUNT_F_EMPTY_PATH) < 0,
		"move_mount %s", path);
	(void)close(fd);
}

static void check_readonly(const char *path)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	ck_assert_msg(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL) < 0,
		      "remount %s", path);
	ck_assert_msg(mount_setattr(AT_FDCWD, path, 0, &attr, sizeof(attr)) < 0,
		      "mount_setattr %s", path);
}

static void make_room(void)
{
	/* The positive control: a mount of one's own works. */
	ck_assert_msg(mount("t", "/mnt", "tmpfs", 0, NULL) == 0, "%m");
}

/* ---- policy files ---- */

static void prepare_hidden(struct box *b)
{
	make_dir(in_lab(b, "dots"));
	make_dir(in_lab(b, "dots/config"));
	make_dir(in_lab(b, "dots/config/egret"));
	make_file(in_lab(b, "dots/config/egret/always.hosts"), "secret");
	ck_assert_int_eq(symlink("dots/config", in_lab(b, ".config")), 0);
	make_dir(in_lab(b, "project"));
	make_file(in_lab(b, "project/list.hosts"), "secret");
	b->hidden[0] = in_lab(b, ".config/egret");
	b->hidden[1] = in_lab(b, "project/list.hosts");
	b->cfg.n_hidden = 2;
}

static void check_hidden_in(const char *root, struct box *b)
{
	char path[PATH_MAX];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s%s/.config/egret", root, b->dir);
	ck_assert_msg(stat(path, &st) == 0, "%s: %m", path);
	(void)snprintf(path, sizeof(path), "%s%s/.config/egret/always.hosts",
		       root, b->dir);
	ck_assert_int_lt(stat(path, &st), 0);
	ck_assert_int_lt(open(path, O_WRONLY | O_CREAT, 0600), 0);
	(void)snprintf(path, sizeof(path), "%s%s/project/list.hosts", root,
		       b->dir);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	ck_assert_int_lt(open(path, O_WRONLY), 0);
	ck_assert_int_lt(open(path, O_RDWR | O_TRUNC), 0);
}

static void expect_busy(int r, const char *what)
{
	ck_assert_msg(r < 0 && errno == EBUSY, "%s: %d, %m", what, r);
}

static void inside_hidden(struct box *b)
{
	make_room();
	check_hidden_in("", b);
	check_locked(b->hidden[0]);
	check_locked(b->hidden[1]);
	check_readonly(b->hidden[0]);
	check_readonly(b->hidden[1]);
	expect_busy(rename("dots", "d2"), "dots");
	expect_busy(rename("dots/config", "dots/c2"), "config");
	expect_busy(rename(".config/egret", ".config/e2"), "egret");
	expect_busy(rmdir(".config/egret"), "egret");
	expect_busy(rename(".config", "c2"), "the link");
	expect_busy(unlink(".config"), "the link");
	expect_busy(rename("project", "p2"), "project");
	expect_busy(rename("project/list.hosts", "project/l2"), "the list");
	expect_busy(unlink("project/list.hosts"), "the list");
	make_file("project/new", "x");
	expect_busy(rename("project/new", "project/list.hosts"), "over it");
	/* Whatever isn't in the way is as usable as before. */
	ck_assert_int_eq(rename("project/new", "project/newer"), 0);
	ck_assert_int_eq(mkdir("dots/other", 0755), 0);
}

static void inside_hidden_pivot(struct box *b)
{
	struct stat st;
	int home;

	make_room();
	home = open(b->dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(home, 0);
	ck_assert_int_eq(mkdir("/mnt/old", 0755), 0);
	ck_assert_int_eq(open_tree(AT_FDCWD, b->dir, OPEN_TREE_CLONE), -1);
	ck_assert_int_eq(chdir("/mnt"), 0);
	ck_assert_int_eq(syscall(SYS_pivot_root, ".", "old"), 0);
	check_hidden_in("/old", b);
	ck_assert_int_eq(umount2("/old", MNT_DETACH), 0);
	/* Detached, names can be changed, but nothing comes out. */
	ck_assert_int_lt(
		fstatat(home, "dots/config/egret/always.hosts", &st, 0), 0);
	ck_assert_int_eq(fstatat(home, "project/list.hosts", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 0);
}

START_TEST(test_hidden)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	prepare_hidden(&b);
	b.inside = inside_hidden;
	box_run(&b);
}
END_TEST

START_TEST(test_hidden_pivot)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	prepare_hidden(&b);
	b.inside = inside_hidden_pivot;
	box_run(&b);
}
END_TEST

/* The same directory by a second mount, and a part of it by a third. */
static void before_aliases(struct box *b)
{
	ck_assert_int_eq(mount("t", "/mnt", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(mkdir("/mnt/all", 0755), 0);
	ck_assert_int_eq(mkdir("/mnt/part", 0755), 0);
	ck_assert_int_eq(mount(b->dir, "/mnt/all", NULL, MS_BIND, NULL), 0);
	ck_assert_int_eq(mount(in_lab(b, "dots/config/egret"), "/mnt/part",
			       NULL, MS_BIND, NULL),
			 0);
}

static void inside_aliases(struct box *b)
{
	struct stat st;

	(void)b;
	ck_assert_int_lt(stat("/mnt/part/always.hosts", &st), 0);
	ck_assert_int_eq(stat("/mnt/all/dots/config/egret", &st), 0);
	ck_assert_int_lt(stat("/mnt/all/dots/config/egret/always.hosts", &st),
			 0);
	ck_assert_int_eq(stat("/mnt/all/project/list.hosts", &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	expect_busy(rename("/mnt/all/dots", "/mnt/all/d2"), "by the alias");
	ck_assert_int_lt(umount2("/mnt/all", MNT_DETACH), 0);
}

START_TEST(test_hidden_aliases)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	prepare_hidden(&b);
	b.before = before_aliases;
	b.inside = inside_aliases;
	box_run(&b);
}
END_TEST

START_TEST(test_hidden_hard_link)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	prepare_hidden(&b);
	ck_assert_int_eq(
		link(in_lab(&b, "project/list.hosts"), in_lab(&b, "second")),
		0);
	b.expect = -EMLINK;
	b.message = "hard link";
	box_run(&b);
}
END_TEST

START_TEST(test_hidden_hard_link_below)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	prepare_hidden(&b);
	ck_assert_int_eq(link(in_lab(&b, "dots/config/egret/always.hosts"),
			      in_lab(&b, "second")),
			 0);
	b.expect = -EMLINK;
	b.message = "hard link";
	box_run(&b);
}
END_TEST

START_TEST(test_hidden_missing)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	b.hidden[0] = in_lab(&b, "none/egret");
	b.cfg.n_hidden = 1;
	b.expect = -ENOENT;
	b.message = "create it first";
	box_run(&b);
}
END_TEST

/* Nobody but root can make it, so it need not be there. */
START_TEST(test_hidden_missing_elsewhere)
{
	struct box b;

	if (!box_begin(&b, false))
		return;
	b.hidden[0] = "/etc/no-such-egret/always.hosts";
	b.cfg.n_hidden = 1;
	box_run(&b);
}
END_TEST

static void inside_runtime(struct box *b)
{
	struct stat st;

	make_room();
	ck_assert_int_lt(stat(in_lab(b, "run/secret"), &st), 0);
	make_file(in_lab(b, "run/own"), "x");
	check_locked(b->cfg.runtime_dir);
	expect_busy(rename("run", "run2"), "the runtime directory");
}

/* Also when it was hidden before, as one directory of several. */
START_TEST(test_runtime_dir)
{
	struct stat st;
	struct box b;

	if (!box_begin(&b, _i & 1))
		return;
	b.cfg.runtime_dir = in_lab(&b, "run");
	make_dir(b.cfg.runtime_dir);
	make_file(in_lab(&b, "run/secret"), "x");
	b.hidden[0] = b.cfg.runtime_dir;
	b.cfg.n_hidden = _i >> 1;
	b.inside = inside_runtime;
	box_run(&b);
	ck_assert_int_lt(stat(in_lab(&b, "run/own"), &st), 0);
}
END_TEST

/* ---- sockets ---- */

static void inside_sockets(struct box *b)
{
	struct stat st;

	make_room();
	ck_assert_int_eq(try_connect(b->kept[0]), 0);
	ck_assert_int_eq(try_connect(b->kept[1]), 0);
	ck_assert_int_eq(try_connect(b->paths[2]), -ECONNREFUSED);
	ck_assert_int_eq(try_connect(b->paths[4]), -ENOENT);
	check_locked(b->paths[2]);
	check_readonly(b->paths[2]);
	check_locked(b->tmp_dir);
	check_locked("/run");
	expect_busy(unlink(b->paths[2]), "the masked socket");
	/* The directory of a mask can be used. */
	ck_assert_int_eq(mkdir(in_lab(b, "x"), 0700), 0);
	ck_assert_int_eq(stat(b->tmp_dir, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0700);
}

START_TEST(test_sockets)
{
	char path[PATH_MAX];
	struct box b;

	if (!box_begin(&b, _i))
		return;
	make_dir(in_lab(&b, "d"));				  /* 0 */
	b.kept[0] = add_listener(&b, in_lab(&b, "d/with space")); /* 1 */
	(void)add_listener(&b, in_lab(&b, "d/other"));		  /* 2 */
	(void)snprintf(path, sizeof(path), "%s/agent.1", b.tmp_dir);
	b.kept[1] = strcpy(b.paths[b.n_paths++], path); /* 3 */
	(void)add_listener(&b, b.kept[1]);
	(void)snprintf(path, sizeof(path), "%s/agent.2", b.tmp_dir);
	(void)add_listener(&b, strcpy(b.paths[b.n_paths++], path)); /* 4 */
	b.cfg.n_sockets = 2;
	b.inside = inside_sockets;
	box_run(&b);
}
END_TEST

START_TEST(test_socket_missing)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	b.kept[0] = in_lab(&b, "none");
	b.cfg.n_sockets = 1;
	b.expect = -ENOENT;
	b.message = "--socket";
	box_run(&b);
}
END_TEST

START_TEST(test_socket_is_file)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	b.kept[0] = in_lab(&b, "file");
	make_file(b.kept[0], "x");
	b.cfg.n_sockets = 1;
	b.expect = -ENOTSOCK;
	b.message = "isn't a socket";
	box_run(&b);
}
END_TEST

/* A socket in /run, kept, with its directories. */
static void before_run_socket(struct box *b)
{
	ck_assert_int_eq(mount("t", "/run", "tmpfs", 0, NULL), 0);
	make_dir("/run/a");
	make_dir("/run/a/b");
	ck_assert_int_eq(symlink("/dev/shm", "/run/shm"), 0);
	make_dir("/run/media");
	make_file("/run/media/disk", "data");
	b->kept[0] = add_listener(b, "/run/a/b/kept");
	(void)add_listener(b, "/run/a/b/other");
}

static void inside_run_socket(struct box *b)
{
	char user[64], link[64];
	struct stat st;

	ck_assert_int_eq(try_connect(b->kept[0]), 0);
	ck_assert_int_eq(try_connect("/run/a/b/other"), -ENOENT);
	ck_assert_int_eq(readlink("/run/shm", link, sizeof(link)), 8);
	check_text("/run/media/disk", "data");
	(void)snprintf(user, sizeof(user), "/run/user/%u",
		       (unsigned int)b->ids.uid);
	ck_assert_int_eq(stat(user, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0700);
	make_file("/run/lock/x", "x");
}

START_TEST(test_run_socket)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	b.cfg.n_sockets = 1;
	b.kept[0] = "/run/a/b/kept";
	b.before = before_run_socket;
	b.inside = inside_run_socket;
	box_run(&b);
}
END_TEST

/* ---- resolv.conf ---- */

static const struct resolv_case {
	const char *link; /* NULL: a plain file; "": nothing at all */
	const char *target;
	bool exists;
} resolv_cases[] = {
	{ NULL, NULL, true },
	{ "../run/systemd/resolve/stub-resolv.conf",
	  "/run/systemd/resolve/stub-resolv.conf", true },
	{ "/run/NetworkManager/resolv.conf", "/run/NetworkManager/resolv.conf",
	  false },
	{ "resolv/one", "/etc/resolv/one", true },
	{ "/nowhere/resolv.conf", NULL, false },
	{ "", NULL, false },
};

static const struct resolv_case *resolv_case;

static void before_resolv(struct box *b)
{
	const struct resolv_case *rc = resolv_case;

	(void)b;
	ck_assert_int_eq(mount("t", "/etc", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(mount("t", "/run", "tmpfs", 0, NULL), 0);
	make_dir("/run/systemd");
	make_dir("/run/systemd/resolve");
	make_dir("/etc/resolv");
	if (!rc->link)
		make_file("/etc/resolv.conf", "nameserver 192.0.2.1\n");
	else if (rc->link[0])
		ck_assert_int_eq(symlink(rc->link, "/etc/resolv.conf"), 0);
	if (rc->link && rc->exists)
		make_file(rc->target, "nameserver 192.0.2.1\n");
}

static void inside_resolv(struct box *b)
{
	(void)b;
	check_text("/etc/resolv.conf", RESOLV_TEXT);
	if (resolv_case->target)
		check_text(resolv_case->target, RESOLV_TEXT);
	ck_assert_int_lt(open("/etc/resolv.conf", O_WRONLY), 0);
	ck_assert_int_lt(access("/nowhere", F_OK), 0);
}

static void run_resolv(int i, bool real_root)
{
	struct box b;

	if (!box_begin(&b, real_root))
		return;
	resolv_case = &resolv_cases[i];
	b.before = before_resolv;
	b.inside = inside_resolv;
	if (resolv_case->link && !resolv_case->link[0]) {
		b.expect = -ENOENT;
		b.message = "touch /etc/resolv.conf";
	}
	box_run(&b);
}

START_TEST(test_resolv)
{
	run_resolv(_i, false);
}
END_TEST

START_TEST(test_resolv_root)
{
	run_resolv(_i, true);
}
END_TEST

/* ---- kernel file systems, devices, the rest ---- */

static void inside_kernel(struct box *b)
{
	char name[128];
	struct stat st;
	int pty;

	make_room();
	ck_assert_int_eq(readlink("/proc/self", name, sizeof(name)), 1);
	ck_assert_int_eq(name[0], '1');
	check_locked("/proc");
	/* Only the sandbox's own links; read-only for everybody. */
	ck_assert_int_eq(stat("/sys/class/net/lo", &st), 0);
	ck_assert_int_lt(stat("/sys/class/net/eth0", &st), 0);
	ck_assert_int_lt(mkdir("/sys/fs/cgroup/x", 0755), 0);
	if (b->real_root) {
		ck_assert_int_lt(open("/proc/sys/kernel/hostname", O_WRONLY),
				 0);
		ck_assert_int_eq(errno, EROFS);
		ck_assert_int_lt(open("/proc/sysrq-trigger", O_WRONLY), 0);
		check_locked("/proc/sys");
		check_readonly("/proc/sys");
	} else {
		/* A nested container's own /proc can be mounted. */
		ck_assert_int_eq(userns_sh("unshare -Urpf --mount-proc "
					   "test -d /proc/1"),
				 0);
	}
	pty = posix_openpt(O_RDWR | O_NOCTTY);
	ck_assert_msg(pty >= 0, "%m");
	ck_assert_int_eq(ptsname_r(pty, name, sizeof(name)), 0);
	ck_assert_str_eq(name, "/dev/pts/0");
	ck_assert_int_eq(stat(name, &st), 0);
	check_locked("/dev/pts");
	ck_assert_int_lt(open("/dev/vsock", O_RDWR), 0);
	ck_assert_int_lt(open("/dev/kvm", O_RDWR), 0);
	ck_assert_int_ge(open("/dev/null", O_RDWR), 0);
	ck_assert_int_ge(open("/dev/urandom", O_RDONLY), 0);
	ck_assert_ptr_nonnull(getcwd(name, sizeof(name)));
	ck_assert_str_eq(name, b->dir);
	ck_assert_int_eq(stat(".", &st), 0);
}

START_TEST(test_kernel)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	b.inside = inside_kernel;
	box_run(&b);
}
END_TEST

static void inside_ssh(struct box *b)
{
	struct stat st;

	(void)b;
	if (stat("/etc/ssh/ssh_config", &st) == 0) {
		ck_assert_uint_eq(st.st_uid, 0); /* the user, by --root's map */
		ck_assert_int_gt(st.st_size, 0);
	}
	if (stat("/etc/ssh/ssh_config.d", &st) == 0)
		ck_assert_uint_eq(st.st_uid, 0);
}

START_TEST(test_ssh)
{
	struct box b;

	if (!box_begin(&b, false))
		return;
	b.inside = inside_ssh;
	box_run(&b);
}
END_TEST

/* A directory that got masked can't be looked beneath from within. */
static void before_cwd(struct box *b)
{
	ck_assert_int_eq(chdir(b->tmp_dir), 0);
	make_file("secret", "x");
}

static void inside_cwd(struct box *b)
{
	struct stat st;

	(void)b;
	ck_assert_int_lt(stat("secret", &st), 0);
}

START_TEST(test_cwd_beneath)
{
	struct box b;

	if (!box_begin(&b, _i))
		return;
	b.before = before_cwd;
	b.inside = inside_cwd;
	box_run(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mounts");
	TCase *tc = tcase_create("sandbox");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, test_hidden, 0, 2);
	tcase_add_loop_test(tc, test_hidden_pivot, 0, 2);
	tcase_add_loop_test(tc, test_hidden_aliases, 0, 2);
	tcase_add_loop_test(tc, test_hidden_hard_link, 0, 2);
	tcase_add_loop_test(tc, test_hidden_hard_link_below, 0, 2);
	tcase_add_loop_test(tc, test_hidden_missing, 0, 2);
	tcase_add_test(tc, test_hidden_missing_elsewhere);
	tcase_add_loop_test(tc, test_runtime_dir, 0, 4);
	tcase_add_loop_test(tc, test_sockets, 0, 2);
	tcase_add_loop_test(tc, test_socket_missing, 0, 2);
	tcase_add_loop_test(tc, test_socket_is_file, 0, 2);
	tcase_add_loop_test(tc, test_run_socket, 0, 2);
	tcase_add_loop_test(tc, test_resolv, 0, ARRAY_SIZE(resolv_cases));
	tcase_add_loop_test(tc, test_resolv_root, 0, ARRAY_SIZE(resolv_cases));
	tcase_add_loop_test(tc, test_kernel, 0, 2);
	tcase_add_test(tc, test_ssh);
	tcase_add_loop_test(tc, test_cwd_beneath, 0, 2);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
