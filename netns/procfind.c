/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * procfind.c - which process of a sandbox holds a socket
 *
 * Theory of operation. The tree below the sandbox's first process is walked by
 * /proc/PID/task/TID/children, the last child first: who connects is as a rule
 * a young process. In each the links of /proc/PID/fd are read, one of which is
 * "socket:[INODE]". The user may read them, as the namespaces are this user's,
 * but for a process that made itself undumpable: its directory is root's.
 *
 * The sandbox decides how many processes and descriptors there are, so both are
 * bounded, and the time is: for one answer, and the share for all of them. A
 * process that hides among thousands stays without a name.
 *
 * Everything about one process is read below one descriptor of its directory,
 * so a number that is used again in the meantime can't mix two of them up.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "netns/procfind.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"

#define US_PER_S      1000000U
#define NS_PER_US     1000U
#define CHECK_EVERY   64    /* links read between two looks at the clock */
#define CHILDREN_SIZE 32768 /* of one thread, some 4096 */

struct walk {
	uint64_t until_ns;
	char want[32]; /* "socket:[INODE]" */
	pid_t stack[PROCFIND_PIDS_MAX];
	size_t n;	  /* on the stack */
	size_t n_visited; /* and taken off it */
};

static void closedirp(DIR **d)
{
	int saved = errno;

	if (*d)
		(void)closedir(*d);
	*d = NULL;
	errno = saved;
}

static DIR *open_dir(int at, const char *name)
{
	_cleanup_(fd_closep) int fd = -1;
	DIR *d;

	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	d = fdopendir(fd);
	if (d)
		(void)fd_steal(&fd);
	return d;
}

static ssize_t read_at(int at, const char *name, char *buf, size_t size)
{
	_cleanup_(fd_closep) int fd = openat(at, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf + len, size - len);
		if (n > 0)
			len += (size_t)n;
	} while (n > 0 && len < size);
	return n < 0 ? -errno : (ssize_t)len;
}

static bool is_late(const struct walk *w)
{
	return clock_now_ns() >= w->until_ns;
}

/* ---- one process ---- */

static bool has_socket(const struct walk *w, int proc)
{
	_cleanup_(closedirp) DIR *dir = open_dir(proc, "fd");
	unsigned int n_read = 0;
	const struct dirent *de;
	char link[64];
	ssize_t n;

	if (!dir)
		return false;
	while ((de = readdir(dir))) {
		if (de->d_name[0] == '.')
			continue;
		if (++n_read % CHECK_EVERY == 0 && is_late(w))
			return false;
		n = readlinkat(dirfd(dir), de->d_name, link, sizeof(link));
		if (n == (ssize_t)strlen(w->want) &&
		    memcmp(link, w->want, (size_t)n) == 0)
			return true;
	}
	return false;
}

static void put_children(struct walk *w, const char *text, size_t len)
{
	const char *end = text + len, *space;
	uint32_t pid;

	while (text < end && w->n + w->n_visited < ARRAY_SIZE(w->stack)) {
		space = memchr(text, ' ', (size_t)(end - text));
		if (!space)
			return; /* cut */
		if (parse_u32(text, (size_t)(space - text), &pid) == 0 &&
		    pid > 0 && pid <= INT32_MAX)
			w->stack[w->n++] = (pid_t)pid;
		text = space + 1;
	}
}

/* A child hangs below the thread that made it. */
static void add_children(struct walk *w, int proc)
{
	_cleanup_(closedirp) DIR *dir = open_dir(proc, "task");
	static char text[CHILDREN_SIZE];
	const struct dirent *de;
	char path[300];
	ssize_t n;

	if (!dir)
		return;
	while ((de = readdir(dir))) {
		if (de->d_name[0] == '.')
			continue;
		if (is_late(w))
			return;
		(void)snprintf(path, sizeof(path), "%s/children", de->d_name);
		n = read_at(dirfd(dir), path, text, sizeof(text));
		if (n > 0)
			put_children(w, text, (size_t)n);
	}
}

static int open_proc(pid_t pid)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void put_comm(int proc, struct procfind_hit *hit)
{
	ssize_t n = read_at(proc, "comm", hit->comm, sizeof(hit->comm) - 1);

	if (n < 0)
		n = 0;
	if (n > 0 && hit->comm[n - 1] == '\n')
		n--;
	hit->comm[n] = '\0';
}

/* @ret_fd: its directory, for more; -1 when it is gone. */
static bool try_process(const struct walk *w, pid_t pid, int *ret_fd,
			struct procfind_hit *ret)
{
	*ret_fd = open_proc(pid);
	if (*ret_fd < 0 || !has_socket(w, *ret_fd))
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->pid = pid;
	put_comm(*ret_fd, ret);
	return true;
}

/* ---- all of them ---- */

static bool search(const struct procfind *f, struct walk *w,
		   struct procfind_hit *ret)
{
	size_t i;

	if (f->last) {
		_cleanup_(fd_closep) int fd = -1;

		if (try_process(w, f->last, &fd, ret))
			return true;
	}
	for (i = 0; i < ARRAY_SIZE(f->more); i++)
		if (f->more[i])
			w->stack[w->n++] = f->more[i];
	w->stack[w->n++] = f->root;
	while (w->n && !is_late(w)) {
		_cleanup_(fd_closep) int fd = -1;
		pid_t pid = w->stack[--w->n];

		w->n_visited++;
		if (try_process(w, pid, &fd, ret))
			return true;
		if (fd >= 0)
			add_children(w, fd);
	}
	return false;
}

static void refill(struct procfind *f, uint64_t now_us)
{
	uint64_t max_us = (uint64_t)US_PER_S * PROCFIND_SHARE / 100;
	uint64_t more_us = (now_us - f->refilled_us) * PROCFIND_SHARE / 100;

	if (!more_us)
		return;
	f->refilled_us = now_us;
	f->credit_us += more_us;
	if (f->credit_us > max_us)
		f->credit_us = max_us;
}

bool procfind_socket(struct procfind *f, uint64_t inode,
		     struct procfind_hit *ret)
{
	uint64_t start_ns = clock_now_ns(), spent_us;
	static struct walk w; /* too large for a stack; one thread asks */
	struct procfind_hit hit;
	bool is_found;

	refill(f, start_ns / NS_PER_US);
	if (!f->root || !inode || !f->credit_us)
		return false;
	w.n = w.n_visited = 0;
	w.until_ns = start_ns + (uint64_t)PROCFIND_BUDGET_US * NS_PER_US;
	(void)snprintf(w.want, sizeof(w.want), "socket:[%" PRIu64 "]", inode);
	is_found = search(f, &w, &hit);
	spent_us = (clock_now_ns() - start_ns) / NS_PER_US;
	f->credit_us -= spent_us < f->credit_us ? spent_us : f->credit_us;
	if (!is_found)
		return false;
	f->last = hit.pid;
	*ret = hit;
	return true;
}

void procfind_init(struct procfind *f, pid_t root)
{
	*f = (struct procfind){
		.root = root,
		.credit_us = (uint64_t)US_PER_S * PROCFIND_SHARE / 100,
		.refilled_us = clock_now_ns() / NS_PER_US,
	};
}

void procfind_add(struct procfind *f, pid_t root)
{
	f->more[f->next] = root;
	f->next = (f->next + 1) % PROCFIND_ROOTS_MAX;
}

pid_t procfind_pidfd_pid(int pidfd)
{
	static const char key[] = "\nPid:\t";
	char path[48], text[512];
	const char *at, *eol;
	uint32_t pid;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	n = read_at(AT_FDCWD, path, text, sizeof(text) - 1);
	if (n < 0)
		return (pid_t)n;
	text[n] = '\0';
	at = strstr(text, key);
	if (!at)
		return -EBADF;
	at += strlen(key);
	eol = strchr(at, '\n');
	/* "-1" has ended, "0" is in no namespace of ours. */
	if (!eol || parse_u32(at, (size_t)(eol - at), &pid) < 0 || pid == 0 ||
	    pid > INT32_MAX)
		return -ESRCH;
	return (pid_t)pid;
}
