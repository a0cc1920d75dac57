/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lint_internal.h - what the files of lint share */
#ifndef EGRET_POLICY_LINT_INTERNAL_H
#define EGRET_POLICY_LINT_INTERNAL_H

#include "policy/lint.h"
#include "policy/policy_internal.h"

/* ---- suffixes.c: names that many strangers share ---- */

/** suffix_is_public() - do the names right below it belong to anyone */
bool suffix_is_public(const struct dnsname *n);

/**
 * suffix_tenants() - is a wildcard for it one for the names of strangers
 *
 * Return: what it opens, to come after "opens"; NULL when it isn't known.
 */
const char *suffix_tenants(const struct dnsname *n);

/**
 * suffix_shared() - is this one name shared by strangers, told apart by path
 *
 * Return: what it serves, to come after "serves"; else NULL.
 */
const char *suffix_shared(const struct dnsname *n);

/* ---- cover.c: entries that say what others say ---- */

struct cover;

/** cover_new() - an index of all entries of @p. 0 or -ENOMEM */
int cover_new(const struct policy *p, struct cover **ret);
void cover_free(struct cover *c);
void cover_freep(struct cover **c);

enum cover_by {
	COVER_NONE,
	COVER_SAME,  /* an earlier entry says the same */
	COVER_WIDER, /* an entry says that and more */
};

/**
 * cover_find() - is an entry of no use beside another one
 * @e:	     the entry, parsed
 * @ret:     the other one
 *
 * Of many entries for one key only the first are looked at.
 */
enum cover_by cover_find(struct cover *c, uint32_t entry,
			 const struct parsed *e, uint32_t *ret);

/** entry_parse() - parse an entry of a policy anew. 0 or -ENOMEM */
int entry_parse(const struct policy *p, uint32_t entry, struct parsed *ret);

#endif /* EGRET_POLICY_LINT_INTERNAL_H */
