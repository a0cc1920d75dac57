/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grants.h - carries the leases' grants to the kernel's sets
 */
#ifndef EGRET_GATEWAY_GRANTS_H
#define EGRET_GATEWAY_GRANTS_H

#include <stddef.h>

#include "gateway/openings.h"
#include "resolver/resolver.h"

struct fw;
struct grants;

/**
 * grants_new()
 * @fw:     where transactions go; its flush is the caller's
 * @broken: called when the kernel wouldn't close something: what was taken
 *          back may still be open, so the caller must end the network
 */
typedef void grants_broken_fn(void *ctx, const char *why);
int grants_new(struct grants **ret, struct fw *fw, grants_broken_fn *broken,
	       void *ctx);
void grants_free(struct grants *gs); /* after the last fw_flush() */
void grants_freep(struct grants **gs);

/** grants_submit() - fits resolver_ops.grant */
void grants_submit(struct grants *gs, struct resolver_grant *g);

/** grants_openings() - the bookkeeping, for a change of the whole policy */
struct openings *grants_openings(struct grants *gs);

#endif /* EGRET_GATEWAY_GRANTS_H */
