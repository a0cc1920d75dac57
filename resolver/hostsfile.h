/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostsfile.h - the host's /etc/hosts as one more upstream
 *
 * The sandbox doesn't see the file (it would look names up there itself and
 * connect to addresses that nobody learned), so allowed names of it are
 * answered here, in the form of an upstream's answer that is judged like any.
 */
#ifndef EGRET_RESOLVER_HOSTSFILE_H
#define EGRET_RESOLVER_HOSTSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct dnsname;

#define HOSTSFILE_PATH	     "/etc/hosts"
#define HOSTSFILE_ANSWER_MAX 2048
#define HOSTSFILE_TTL_S	     60U /* an edit of the file is seen after it */

/* Fields are for hostsfile.c only. */
struct hostsfile {
	const char *path;
	int fd; /* of what was last read; -1: none */
	bool is_pinned;
	struct stat st;
	char *text;
	size_t len;
};

/**
 * hostsfile_init() - before the command runs
 * @path: stays the caller's
 */
void hostsfile_init(struct hostsfile *h, const char *path);
void hostsfile_done(struct hostsfile *h);

/**
 * hostsfile_answer() - a response message for an A or AAAA question
 *
 * Return: its length, or 0 when the file doesn't have the name (or another
 * type is asked for).
 */
size_t hostsfile_answer(struct hostsfile *h, const struct dnsname *name,
			uint16_t qtype,
			uint8_t dst[static HOSTSFILE_ANSWER_MAX]);

#endif /* EGRET_RESOLVER_HOSTSFILE_H */
