/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * io.h - reads and writes that are finished, and descriptors over a socket
 */
#ifndef EGRET_BASE_IO_H
#define EGRET_BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/** io_write_all() - write every byte, through EINTR; 0 or negative errno */
int io_write_all(int fd, const void *data, size_t len);

/**
 * io_read_full() - read exactly @len bytes
 *
 * Return: 0, -EPIPE at an early end, or negative errno.
 */
int io_read_full(int fd, void *data, size_t len);

/**
 * io_read_file() - a whole regular file, at most @max bytes
 * @path:     opened O_CLOEXEC | O_NONBLOCK | O_NOCTTY, so a FIFO can't block
 * @ret_data: malloc'ed, NUL-terminated beyond its length; caller frees
 *
 * Return: 0; -EFBIG when larger; -EINVAL when not a regular file; -errno.
 */
int io_read_file(const char *path, size_t max, char **ret_data, size_t *ret_len,
		 struct err *err);

/**
 * io_read_fd() - the same of an opened file
 * @name: for the sentences
 */
int io_read_fd(int fd, const char *name, size_t max, char **ret_data,
	       size_t *ret_len, struct err *err);

/** io_write_text() - open an existing file O_WRONLY, write @text once */
int io_write_text(const char *path, const char *text);

/**
 * io_send_fds() - one message with its descriptors (SCM_RIGHTS)
 * @n_fds: 0..IO_FDS_MAX
 */
#define IO_FDS_MAX 16
int io_send_fds(int sock, const void *data, size_t len, const int *fds,
		size_t n_fds);

/**
 * io_recv_fds() - one message; received descriptors are close-on-exec
 * @fds:     room for IO_FDS_MAX, filled with -1 where none came
 *
 * Return: bytes received, 0 at the end, or negative errno; -EMSGSIZE for a
 * truncated message (its descriptors are closed).
 */
ssize_t io_recv_fds(int sock, void *data, size_t len,
		    int fds[static IO_FDS_MAX], size_t *ret_n_fds);

#endif /* EGRET_BASE_IO_H */
