/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expand.c - an entry `@name` becomes the entries of a preset
 *
 * Each entry of the preset gets a number and rules of its own, so that verdicts
 * can name it, and points to the entry `@name`. Errors of a preset are told
 * once, with their own place, however many entries name it. What a preset
 * allows, `!@name` denies: ports that are written there are the only ones
 * denied, and a host without ports is denied whole, as in any list.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/builder_internal.h"
#include "policy/preset.h"

#define NEAR_MAX 3

void uses_done(struct policy *p)
{
	for (size_t i = 0; i < p->n_used; i++) {
		free(p->used[i].name);
		free(p->used[i].uploads);
	}
	free(p->used);
}

static int get_presets(struct policy_builder *b, const struct preset_set **ret)
{
	int r = 0;

	if (!b->presets && !b->own_presets)
		r = preset_set_new(&b->own_presets);
	*ret = b->presets ? b->presets : b->own_presets;
	return r;
}

static int complain_unknown(const struct preset_set *set, struct span name,
			    struct complaint *c)
{
	const char *near[NEAR_MAX];
	char q[POLICY_QUOTE_LEN], list[NEAR_MAX * (PRESET_NAME_MAX + 4)];
	size_t at = 0, n;

	n = preset_set_near(set, name.at, (size_t)(name.end - name.at), near,
			    NEAR_MAX);
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s@%s",
				       i ? " or " : "", near[i]);
	if (n == 0)
		return complain(c, name.at - 1,
				"there is no preset '@%s'; 'egret presets' "
				"lists them",
				quote(q, name));
	return complain(c, name.at - 1,
			"there is no preset '@%s'; %s may have been meant",
			quote(q, name), list);
}

/* A preset that is named for the first time. */
static int note_use(struct policy_builder *b, const struct preset *preset)
{
	struct policy *p = b->p;
	struct preset_use *used =
		grow(p->used, p->n_used, &b->room_used, sizeof(*used));
	struct preset_expansion *x;
	struct preset_info info;
	uint32_t source;
	int r;

	if (!used)
		return -ENOMEM;
	p->used = used;
	x = grow(b->expansions, p->n_used, &b->room_expansions, sizeof(*x));
	if (!x)
		return -ENOMEM;
	b->expansions = x;
	r = builder_add_source(b, preset->source, &source);
	if (r < 0)
		return r;
	preset_info(preset, &info);
	used = &p->used[p->n_used];
	used->name = strdup(preset->name);
	used->uploads = info.uploads ? strdup(info.uploads_why) : NULL;
	x[p->n_used] = (struct preset_expansion){
		.preset = preset,
		.source = source,
	};
	p->n_used++;
	return used->name && (used->uploads || !info.uploads) ? 0 : -ENOMEM;
}

static int find_use(struct policy_builder *b, const struct preset *preset,
		    uint32_t *ret)
{
	size_t i = 0;

	while (i < b->p->n_used && b->expansions[i].preset != preset)
		i++;
	*ret = (uint32_t)i;
	return i < b->p->n_used ? 0 : note_use(b, preset);
}

int expand_preset(struct policy_builder *b, uint32_t entry, struct complaint *c)
{
	struct span name = b->parsed.host.preset;
	const struct preset_set *set = NULL;
	const struct preset *preset;
	struct origin o = {
		.preset = entry,
		.flags = b->parsed.flags,
		.how = PARSE_MEMBER | (b->parsed.deny ? PARSE_DENY : 0),
	};
	char q[POLICY_QUOTE_LEN];
	uint32_t use = 0;
	int r = get_presets(b, &set);

	if (r < 0)
		return r;
	preset = preset_set_find(set, name.at, (size_t)(name.end - name.at));
	if (!preset)
		return complain_unknown(set, name, c);
	if (preset->broken)
		return complain(c, name.at - 1,
				"the preset '@%s' can't be used: %s",
				quote(q, name), preset->broken);
	r = find_use(b, preset, &use);
	if (r < 0)
		return r;
	b->p->entries[entry].used = use;
	if (b->expansions[use].is_bad)
		return 0;
	o.source = b->expansions[use].source;
	r = builder_add_lines(b, &o, preset->text, preset->len);
	if (o.n_errors > 0)
		b->expansions[use].is_bad = true;
	return r;
}
