/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listfile.h - reads and writes an allowlist's file as a whole
 *
 * Edits by egret exclude each other from open to close. Whatever goes wrong,
 * the file has its old content or the new one.
 */
#ifndef EGRET_CMD_LISTFILE_H
#define EGRET_CMD_LISTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct err;

struct listfile {
	char path[PATH_MAX]; /* of the file itself, not of a link to it */
	const char *name;    /* the last part of it */
	int dir_fd;	     /* holds the lock */
	int fd;
	struct stat st; /* when it was read */
	char *text;	/* owned; NUL-terminated beyond its length */
	size_t len;
	bool may_replace; /* by another file; else it is written in place */
};

/**
 * listfile_open() - lock and read the file that @path leads to
 *
 * Return: 0; -EINVAL for what isn't a regular file; -EFBIG above
 * POLICY_TEXT_MAX; -EBUSY when another program keeps the lock.
 */
int listfile_open(struct listfile *ret, const char *path, struct err *err);

/**
 * listfile_write() - the new content
 *
 * Return: 0; -EAGAIN when somebody else wrote to it since it was read: open it
 * again; or negative errno with the old content in the file.
 */
int listfile_write(struct listfile *l, const char *text, size_t len,
		   struct err *err);
void listfile_close(struct listfile *l);

#endif /* EGRET_CMD_LISTFILE_H */
