/* SPDX-License-Identifier: GPL-2.0-or-later */
/* preset_internal.h - the table that scripts/gen-presets makes of presets/ */
#ifndef EGRET_POLICY_PRESET_INTERNAL_H
#define EGRET_POLICY_PRESET_INTERNAL_H

#include <stddef.h>

struct preset_builtin {
	const char *name; /* sorted by byte */
	const char *text; /* the whole file */
};

extern const struct preset_builtin presets_builtin[];
extern const size_t n_presets_builtin;

#endif /* EGRET_POLICY_PRESET_INTERNAL_H */
