/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uses.h - how often each entry of the policy allowed something
 *
 * A question answered or a connection opened is one use. Counts stay with an
 * entry over edits, as long as its canonical text does; what a preset's entries
 * allow counts for the `@name` that stands in the list.
 */
#ifndef EGRET_GATEWAY_USES_H
#define EGRET_GATEWAY_USES_H

#include <stdint.h>

struct policy;
struct uses;

int uses_new(struct uses **ret);
void uses_free(struct uses *u);
void uses_freep(struct uses **u);

/**
 * uses_switch() - count for another policy from now on
 * @old: that counted so far, or NULL
 *
 * Without memory the counts start anew, or there are none.
 */
void uses_switch(struct uses *u, const struct policy *old,
		 const struct policy *new);

/** uses_bump() - once more; what is no entry of the policy is ignored */
void uses_bump(struct uses *u, uint32_t entry);

/** uses_get() - of a written entry */
uint32_t uses_get(const struct uses *u, uint32_t entry);

#endif /* EGRET_GATEWAY_USES_H */
