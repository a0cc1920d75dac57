/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io.c - reads and writes that are finished, and descriptors over a socket */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"

int io_write_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_read_full(int fd, void *data, size_t len)
{
	uint8_t *p = data;

	while (len > 0) {
		ssize_t n = read(fd, p, len);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			return -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Reads to the end, at most @room bytes. Return: bytes or negative errno. */
static ssize_t read_to_end(int fd, char *buf, size_t room)
{
	size_t used = 0;

	while (used < room) {
		ssize_t n = read(fd, buf + used, room - used);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

/*
 * The size that fstat(2) tells only bounds the allocation: files of /proc say 0
 * and others may grow meanwhile, so the read itself finds the end.
 */
static int read_opened(int fd, const struct stat *st, size_t max,
		       char **ret_data, size_t *ret_len)
{
	_cleanup_(freep) char *buf = NULL;
	size_t room = max + 1;
	ssize_t n;

	if (st->st_size > 0 && (uintmax_t)st->st_size > max)
		return -EFBIG;
	buf = malloc(room + 1);
	if (!buf)
		return -ENOMEM;
	n = read_to_end(fd, buf, room);
	if (n < 0)
		return (int)n;
	if ((size_t)n > max)
		return -EFBIG;
	buf[n] = '\0';
	*ret_data = ptr_steal(&buf);
	*ret_len = (size_t)n;
	return 0;
}

int io_read_fd(int fd, const char *name, size_t max, char **ret_data,
	       size_t *ret_len, struct err *err)
{
	struct stat st;
	int r;

	if (max > SIZE_MAX / 4)
		return err_set(err, -EINVAL, "limit of %zu bytes", max);
	if (fstat(fd, &st) < 0)
		return err_set_errno(err, -errno, "cannot stat '%s'", name);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "'%s' is not a regular file",
			       name);
	r = read_opened(fd, &st, max, ret_data, ret_len);
	if (r == -EFBIG)
		return err_set(err, r, "'%s' is larger than %zu bytes", name,
			       max);
	if (r < 0)
		return err_set_errno(err, r, "cannot read '%s'", name);
	return 0;
}

int io_read_file(const char *path, size_t max, char **ret_data, size_t *ret_len,
		 struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set_errno(err, -errno, "cannot open '%s'", path);
	return io_read_fd(fd, path, max, ret_data, ret_len, err);
}

int io_write_text(const char *path, const char *text)
{
	_cleanup_(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	/* Files of /proc take the text in one write or not at all. */
	do {
		n = write(fd, text, len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

union fds_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * IO_FDS_MAX)];
};

int io_send_fds(int sock, const void *data, size_t len, const int *fds,
		size_t n_fds)
{
	union fds_control control;
	/* sendmsg(2) doesn't write to the data; the member is for both ways. */
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data,
			     .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (n_fds > IO_FDS_MAX)
		return -EINVAL;
	if (n_fds > 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EMSGSIZE;
}

/* Return: descriptors taken from the control data into @fds. */
static size_t take_fds(struct msghdr *msg, int fds[static IO_FDS_MAX])
{
	size_t taken = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c;
	     c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (taken < IO_FDS_MAX)
				fds[taken++] = fd;
			else
				fd_closep(&fd);
		}
	}
	return taken;
}

ssize_t io_recv_fds(int sock, void *data, size_t len,
		    int fds[static IO_FDS_MAX], size_t *ret_n_fds)
{
	union fds_control control;
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	size_t n_fds;
	ssize_t n;

	msg.msg_control = control.bytes;
	msg.msg_controllen = sizeof(control.bytes);
	for (size_t i = 0; i < IO_FDS_MAX; i++)
		fds[i] = -1;
	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	n_fds = take_fds(&msg, fds);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (size_t i = 0; i < n_fds; i++)
			fd_closep(&fds[i]);
		return -EMSGSIZE;
	}
	*ret_n_fds = n_fds;
	return n;
}
