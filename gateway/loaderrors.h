/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loaderrors.h - the lines of an allowlist that couldn't be taken
 *
 * Kept until a load succeeds, so that they can be asked for, and told once.
 */
#ifndef EGRET_GATEWAY_LOADERRORS_H
#define EGRET_GATEWAY_LOADERRORS_H

#include <stdbool.h>
#include <stddef.h>

#define LOADERRORS_MAX 100

/* Zero-initialise. */
struct loaderrors {
	char *lines[LOADERRORS_MAX]; /* owned */
	size_t n;
	size_t n_more; /* that were not kept */
};

/** loaderrors_add() - keep a copy; fits policyfile_error_fn */
void loaderrors_add(void *ctx, const char *line);

bool loaderrors_equal(const struct loaderrors *a, const struct loaderrors *b);
void loaderrors_done(struct loaderrors *l);

#endif /* EGRET_GATEWAY_LOADERRORS_H */
