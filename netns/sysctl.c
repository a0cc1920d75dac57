/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sysctl.c - the gateway netns's sysctls, written and read back
 *
 * Theory of operation. A plan, a list of paths and values, is made first; then
 * sysctl_apply() writes what differs and reads everything back. The order
 * matters: ip_forward and forwarding reset other values, so they come first;
 * and everything is read back only when all is written.
 *
 * /proc/sys/net shows the netns of the thread that opens a path. Where it is
 * missing or read-only (a container), the plan is carried out by a child that
 * is born in a new mount and pid namespace and mounts a proc of its own. The
 * child comes from a threaded process by a bare clone(2): it makes only system
 * calls, on memory that was prepared before. Its exit signal is 0, so the loop
 * sees no SIGCHLD and a waitpid(-1) elsewhere can't take it away.
 *
 * A file that this kernel doesn't have needs no value; a missing directory is
 * no proof of that, and leads to the child.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/link_internal.h"
#include "netns/sysctl.h"

#include "base/cleanup.h"
#include "base/err.h"

#define SYSCTL_PATH_LEN	 96
#define SYSCTL_VALUE_LEN 32
/* Five links are ours; a kernel may add tunnels' fallback devices. */
#define SYSCTL_LINKS_MAX 32
#define SYSCTL_ROOT	 "/proc/sys/net"

/* Of one link; "all" and "default" count as links. In the order of writing. */
static const char *const conf4[] = {
	"forwarding",	    "rp_filter",       "accept_redirects",
	"secure_redirects", "send_redirects",  "accept_source_route",
	"route_localnet",   "accept_local",    "src_valid_mark",
	"proxy_arp",	    "proxy_arp_pvlan",
};

static const char *const conf6[] = {
	"disable_ipv6", "forwarding", "accept_redirects", "accept_source_route",
	"accept_ra",	"accept_dad", "proxy_ndp",
};

struct sysctl_entry {
	char path[SYSCTL_PATH_LEN];
	const char *value; /* as it reads, without the newline */
};

#define SYSCTL_ENTRIES_MAX \
	(8 + (SYSCTL_LINKS_MAX + 2) * (ARRAY_SIZE(conf4) + ARRAY_SIZE(conf6)))

struct sysctl_plan {
	size_t n;
	struct sysctl_entry entries[SYSCTL_ENTRIES_MAX];
};

/* How far sysctl_apply() came; travels through a pipe. */
struct sysctl_result {
	int code;		     /* 0 or negative errno */
	uint32_t at;		     /* the entry that failed */
	bool mounted;		     /* the child had its /proc */
	char seen[SYSCTL_VALUE_LEN]; /* -EILSEQ: read back instead */
};

static int add(struct sysctl_plan *p, const char *value, const char *dir,
	       const char *link, const char *name)
{
	struct sysctl_entry *e;
	int n;

	if (p->n == ARRAY_SIZE(p->entries))
		return -E2BIG;
	e = &p->entries[p->n];
	n = snprintf(e->path, sizeof(e->path), SYSCTL_ROOT "/%s/%s%s%s", dir,
		     link, *link ? "/" : "", name);
	if (n < 0 || (size_t)n >= sizeof(e->path))
		return -E2BIG;
	e->value = value;
	p->n++;
	return 0;
}

static int add_link(struct sysctl_plan *p, const char *link, bool v6)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(conf4); i++)
		r = add(p, "0", "ipv4/conf", link, conf4[i]);
	for (size_t i = 0; v6 && r == 0 && i < ARRAY_SIZE(conf6); i++)
		r = add(p, "0", "ipv6/conf", link, conf6[i]);
	return r;
}

static int add_links(struct sysctl_plan *p, bool v6)
{
	struct if_nameindex *links = if_nameindex();
	int r;

	if (!links)
		return -errno;
	r = add_link(p, "all", v6);
	if (r == 0)
		r = add_link(p, "default", v6);
	for (size_t i = 0; r == 0 && links[i].if_index != 0; i++)
		r = add_link(p, links[i].if_name, v6);
	if_freenameindex(links);
	return r;
}

static int make_plan(struct sysctl_plan *p)
{
	bool v6 = link_has_ipv6();
	int r;

	p->n = 0;
	r = add(p, "0", "ipv4", "", "ip_forward");
	if (r == 0)
		r = add_links(p, v6);
	/* Or the kernel would rate-limit our own refusals. */
	if (r == 0)
		r = add(p, "0", "ipv4", "", "icmp_ratemask");
	if (r == 0 && v6)
		r = add(p, "", "ipv6", "icmp", "ratemask");
	return r;
}

/*
 * From here on to child_main(): no allocation, no stdio, no locks, only system
 * calls and plain memory, for it also runs in the child.
 */

/* Reads a value without its newline; -ENOENT when the kernel lacks it. */
static int read_value(const char *path, char ret[static SYSCTL_VALUE_LEN])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, ret, SYSCTL_VALUE_LEN - 1);
	if (n < 0)
		n = -errno;
	(void)close(fd); /* only read from */
	if (n < 0)
		return (int)n;
	if (n > 0 && ret[n - 1] == '\n')
		n--;
	ret[n] = '\0';
	return 0;
}

/* With a newline: a write of no byte would leave a list as it is. */
static int write_value(const char *path, const char *value)
{
	char text[SYSCTL_VALUE_LEN];
	size_t len;
	int fd, r = 0;

	for (len = 0; len < sizeof(text) - 1 && value[len]; len++)
		text[len] = value[len];
	text[len] = '\n';
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len + 1) != (ssize_t)len + 1)
		r = errno ? -errno : -EIO;
	(void)close(fd); /* procfs has taken it or not by now */
	return r;
}

static int write_one(const struct sysctl_entry *e)
{
	char seen[SYSCTL_VALUE_LEN];
	int r = read_value(e->path, seen);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && strcmp(seen, e->value) == 0)
		return 0;
	errno = 0;
	return write_value(e->path, e->value);
}

static void apply(const struct sysctl_plan *p, struct sysctl_result *ret)
{
	for (ret->at = 0; ret->at < p->n; ret->at++) {
		ret->code = write_one(&p->entries[ret->at]);
		if (ret->code < 0)
			return;
	}
	for (ret->at = 0; ret->at < p->n; ret->at++) {
		const struct sysctl_entry *e = &p->entries[ret->at];

		ret->code = read_value(e->path, ret->seen);
		if (ret->code == -ENOENT)
			continue;
		if (ret->code == 0 && strcmp(ret->seen, e->value) != 0)
			ret->code = -EILSEQ;
		if (ret->code < 0)
			return;
	}
	ret->code = access(SYSCTL_ROOT "/ipv4/conf/all", F_OK) < 0 ? -errno : 0;
	ret->at = 0;
}

static void child_main(const struct sysctl_plan *p, int out)
{
	struct sysctl_result result = { .code = 0 };
	ssize_t n;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  NULL) < 0) {
		result.code = -errno;
	} else {
		result.mounted = true;
		apply(p, &result);
	}
	n = write(out, &result, sizeof(result));
	_exit(n == (ssize_t)sizeof(result) ? 0 : 1);
}

/* fork(2) into new namespaces, without the exit signal. */
static pid_t clone_child(void)
{
	unsigned long flags = CLONE_NEWNS | CLONE_NEWPID;

#ifdef __s390__
	return (pid_t)syscall(SYS_clone, 0UL, flags, NULL, NULL, 0UL);
#else
	return (pid_t)syscall(SYS_clone, flags, 0UL, NULL, NULL, 0UL);
#endif
}

static int apply_in_child(const struct sysctl_plan *p,
			  struct sysctl_result *ret)
{
	_cleanup_(fd_closep) int out = -1;
	_cleanup_(fd_closep) int in = -1;
	int fds[2];
	pid_t pid;
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	in = fds[0];
	out = fds[1];
	pid = clone_child();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		child_main(p, out);

	fd_closep(&out);
	do {
		n = read(in, ret, sizeof(*ret));
	} while (n < 0 && errno == EINTR);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return n == (ssize_t)sizeof(*ret) ? 0 : -EIO;
}

static int explain(const struct sysctl_plan *p, const struct sysctl_result *res,
		   struct err *err)
{
	const struct sysctl_entry *e = &p->entries[res->at];

	if (res->code == 0)
		return 0;
	if (res->code == -EILSEQ)
		return err_set(err, -EIO,
			       "%s stays '%s' although '%s' was written",
			       e->path, res->seen, e->value);
	return err_set_errno(err, res->code, "cannot write '%s' to %s",
			     e->value, e->path);
}

static int setup(const char *link, struct err *err)
{
	_cleanup_(freep) struct sysctl_plan *plan = NULL;
	struct sysctl_result first = { .code = 0 };
	struct sysctl_result second = { .code = 0 };
	int r;

	plan = malloc(sizeof(*plan));
	if (!plan)
		return err_set_errno(err, -ENOMEM,
				     "cannot set kernel settings");
	plan->n = 0;
	r = link ? add_link(plan, link, link_has_ipv6()) : make_plan(plan);
	if (r < 0)
		return err_set_errno(err, r, "cannot list kernel settings");

	apply(plan, &first);
	if (first.code == 0 || first.code == -EILSEQ)
		return explain(plan, &first, err);

	r = apply_in_child(plan, &second);
	if (r == 0 && second.mounted)
		return explain(plan, &second, err);
	r = explain(plan, &first, err);
	return err_wrap(err, r,
			"/proc/sys can't be written here and a fresh one "
			"can't be mounted (see `egret doctor`)");
}

int sysctl_setup_gateway(struct err *err)
{
	return setup(NULL, err);
}

int sysctl_setup_link(const char *ifname, struct err *err)
{
	return setup(ifname, err);
}
