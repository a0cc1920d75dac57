/* SPDX-License-Identifier: GPL-2.0-or-later */
/* builder_internal.h - the builder, for builder.c and expand.c */
#ifndef EGRET_POLICY_BUILDER_INTERNAL_H
#define EGRET_POLICY_BUILDER_INTERNAL_H

#include "policy/policy_internal.h"

struct preset;
struct preset_set;

struct policy_builder {
	struct policy *p;
	struct rules names, nets;
	struct error_list errors;
	size_t n_texts, room_texts, room_entries, room_sources, room_used;
	struct preset_expansion *expansions; /* one for each of policy.used */
	size_t room_expansions;
	const struct preset_set *presets; /* borrowed; NULL: own_presets */
	struct preset_set *own_presets;	  /* made when one is needed */
	struct parsed parsed;		  /* of the entry at hand; large */
};

/* What the builder knows of a preset that some entry has named. */
struct preset_expansion {
	const struct preset *preset;
	uint32_t source; /* index into policy.sources */
	bool is_bad;	 /* its errors have been reported */
};

/* Where an entry comes from, and how many of its text were wrong. */
struct origin {
	uint32_t source, line;
	const char *start; /* of the line, for columns */
	size_t n_errors;
	uint32_t more_line, more_column; /* the first that isn't reported */
	/* Of the entries of a preset: */
	uint32_t preset; /* the entry `@name`; else POLICY_NO_ENTRY */
	uint32_t flags;	 /* words of that entry */
	unsigned int how;
};

/** builder_add_source() - Return: 0 or -ENOMEM; -EINVAL when used up */
int builder_add_source(struct policy_builder *b, const char *source,
		       uint32_t *ret);

/** builder_add_lines() - every line of a text. Return: 0 or -ENOMEM */
int builder_add_lines(struct policy_builder *b, struct origin *o,
		      const char *text, size_t len);

/** uses_done() - release policy.used */
void uses_done(struct policy *p);

/**
 * expand_preset() - the entry `@name` in b->parsed stands for those of a preset
 * @entry: its number
 *
 * Return: 0; -EINVAL with @c filled in; -ENOMEM.
 */
int expand_preset(struct policy_builder *b, uint32_t entry,
		  struct complaint *c);

#endif /* EGRET_POLICY_BUILDER_INTERNAL_H */
