/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upstream_internal.h - for tests: other servers than resolv.conf's
 */
#ifndef EGRET_RESOLVER_UPSTREAM_INTERNAL_H
#define EGRET_RESOLVER_UPSTREAM_INTERNAL_H

#include "resolver/upstream.h"

struct upstream_config {
	const char *servers;	 /* "127.0.0.1:5300,[::1]:5300"; NULL: host's.
				    Not owned, must stay */
	const char *resolv_conf; /* another path; NULL: the usual one */
	int timeout_ms, tries;	 /* 0: the usual ones */
};

int upstream_new_config(struct upstream **ret, struct loop *loop,
			const struct upstream_config *cfg, struct err *err);

/* Channels that exist: one, and those that finish after a reload. */
unsigned int upstream_n_channels(const struct upstream *u);

#endif /* EGRET_RESOLVER_UPSTREAM_INTERNAL_H */
