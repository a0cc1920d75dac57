/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sockets_scan.h - the text of /proc/net/unix
 *
 * Pure, and fuzzed: any local user chooses the names in it.
 */
#ifndef EGRET_NETNS_SOCKETS_SCAN_H
#define EGRET_NETNS_SOCKETS_SCAN_H

#include <stddef.h>

struct err;

#define SOCKETS_SCAN_PATHS_MAX 4096 /* one mount each at the most */

struct sockets_scan {
	char **paths; /* absolute, sorted, each once */
	size_t n;
	size_t n_relative; /* bound by a relative path: can't be found */
	size_t n_abstract; /* shut by the network namespace */
};

/**
 * sockets_scan_parse() - the bound path sockets
 *
 * Every state counts: one that doesn't listen yet may do so later.
 * Return: 0, -EBADMSG, -ENOMEM, or -E2BIG above SOCKETS_SCAN_PATHS_MAX.
 */
int sockets_scan_parse(const char *text, size_t len, struct sockets_scan *ret,
		       struct err *err);
void sockets_scan_done(struct sockets_scan *s);

#endif /* EGRET_NETNS_SOCKETS_SCAN_H */
