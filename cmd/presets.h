/* SPDX-License-Identifier: GPL-2.0-or-later */
/* presets.h - entries as a run of this user would read them, presets too */
#ifndef EGRET_CMD_PRESETS_H
#define EGRET_CMD_PRESETS_H

struct err;
struct policy_builder;
struct preset_set;

/** presets_load() - built-in ones, the system's and the user's */
int presets_load(struct preset_set **ret, struct err *err);

/**
 * presets_builder() - a builder that knows them
 * @ret_set: must outlive the builder; the caller frees both
 */
int presets_builder(struct policy_builder **ret, struct preset_set **ret_set,
		    struct err *err);

/**
 * presets_print_errors() - what is wrong with the entries, to standard error
 *
 * Return: number of errors.
 */
int presets_print_errors(const struct policy_builder *b);

#endif /* EGRET_CMD_PRESETS_H */
