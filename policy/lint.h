/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lint.h - entries that are right but perhaps not what was meant
 *
 * Works on a policy, so only on lists without errors. Pure.
 */
#ifndef EGRET_POLICY_LINT_H
#define EGRET_POLICY_LINT_H

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

struct lint;

enum lint_kind {
	LINT_SUFFIX,	/* a wildcard for a public suffix: *.com */
	LINT_TENANTS,	/* hosts that anyone may rent: *.github.io */
	LINT_UPLOADS,	/* a preset whose hosts accept uploads */
	LINT_DUPLICATE, /* the same entry stands elsewhere */
	LINT_COVERED,	/* another entry opens (or denies) all of it */
	LINT_PORT53,	/* port 53 goes to egret's resolver */
	LINT_NEVER, /* it opens nothing: denied whole, or can't be reached */
	LINT_KIND_MAX,
};

#define LINT_BIT(kind) (1U << (kind))
#define LINT_ALL       ((1U << LINT_KIND_MAX) - 1)
/* What `run` says once. */
#define LINT_RUN (LINT_BIT(LINT_SUFFIX) | LINT_BIT(LINT_TENANTS))

#define LINT_WARNINGS_MAX 1000 /* then only counted */

struct lint_warning {
	enum lint_kind kind;
	uint32_t entry;		/* for policy_entry() */
	struct policy_error at; /* policy_error_format() prints it */
};

/**
 * policy_lint() - look for warnings
 * @p:	   must live as long as @ret
 * @kinds: LINT_BIT()s of those that are wanted
 *
 * Sorted as the entries. Return: 0 or -ENOMEM.
 */
int policy_lint(const struct policy *p, unsigned int kinds, struct lint **ret);
void lint_free(struct lint *l);
void lint_freep(struct lint **l);

/**
 * lint_n() - warnings that lint_at() has
 * @ret_more: those beyond LINT_WARNINGS_MAX; may be NULL
 */
size_t lint_n(const struct lint *l, size_t *ret_more);
const struct lint_warning *lint_at(const struct lint *l, size_t i);

/** lint_kind_str() - "suffix", "tenants", "uploads", ...: for programs */
const char *lint_kind_str(enum lint_kind kind);

#endif /* EGRET_POLICY_LINT_H */
