/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_presets.c - egret presets: which there are, and what one stands for */
#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/presets.h"
#include "policy/policy.h"
#include "policy/preset.h"

#define NEAR_MAX 3

struct presets_options {
	bool json;
};

static const struct option_spec specs[] = {
	{ "json", 0, OPTION_FLAG, NULL, "print JSON",
	  offsetof(struct presets_options, json) },
};

/* Return: the entries of the preset; NULL after a sentence. */
static json_t *read_entries(const struct preset_set *set,
			    const struct preset *preset)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(json_decrefp) json_t *list = json_array();
	char text[POLICY_PRINT_MAX];
	uint32_t i;
	int r;

	if (preset->broken) {
		log_err("%s: %s", preset->source, preset->broken);
		return NULL;
	}
	r = list ? policy_builder_new(&b) : -ENOMEM;
	if (r == 0) {
		policy_builder_set_presets(b, set);
		r = policy_builder_add_text(b, preset->source, preset->text,
					    preset->len);
	}
	if (r == 0 && presets_print_errors(b) > 0)
		return NULL;
	if (r == 0)
		r = policy_build(b, &p);
	for (i = 0; r == 0 && i < policy_n_entries(p); i++)
		if (policy_entry(p, i).preset == POLICY_NO_ENTRY &&
		    json_array_append_new(list, json_string(policy_entry_print(
							p, i, text))) < 0)
			r = -ENOMEM;
	if (r < 0) {
		log_err("cannot read %s: %s", preset->source, strerror(-r));
		return NULL;
	}
	return ptr_steal(&list);
}

static json_t *lines_json(const char (*lines)[PRESET_LINE_LEN], size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(list, json_string(lines[i]));
	return list;
}

static json_t *preset_json(const struct preset *p)
{
	struct preset_info info;
	json_t *o;

	preset_info(p, &info);
	o = json_pack("{s:s, s:s, s:s, s:b, s:s, s:s, s:b, s:o, s:o}", "name",
		      p->name, "title", info.title, "about", info.about,
		      "uploads", info.uploads, "uploads_why", info.uploads_why,
		      "file", p->source, "built_in", p->is_builtin, "sources",
		      lines_json(info.source, info.n_sources), "notes",
		      lines_json(info.note, info.n_notes));
	if (o && p->broken)
		(void)json_object_set_new(o, "broken", json_string(p->broken));
	return o;
}

/* ---- all ---- */

static void print_row(const struct preset *p, int width)
{
	struct preset_info info;

	preset_info(p, &info);
	if (p->broken)
		(void)printf("%-*s  can't be used: %s\n", width, p->name,
			     p->broken);
	else
		(void)printf("%-*s  %s%s\n", width, p->name, info.title,
			     info.uploads ? "  [accepts uploads]" : "");
}

static int list_all(const struct preset_set *set, bool json)
{
	_cleanup_(json_decrefp) json_t *all = json_array();
	size_t i, n = preset_set_n(set), width = 0;

	for (i = 0; i < n; i++) {
		const struct preset *p = preset_set_at(set, i);

		if (strlen(p->name) > width)
			width = strlen(p->name);
		if (json && json_array_append_new(all, preset_json(p)) < 0) {
			log_err("out of memory");
			return CMD_NO;
		}
	}
	if (json)
		return output_json(all);
	for (i = 0; i < n; i++)
		print_row(preset_set_at(set, i), (int)width);
	(void)printf("\n'egret presets NAME' shows its hosts; an entry @NAME "
		     "allows them.\n[accepts uploads]: data can be sent there, "
		     "by whoever has an account.\n");
	return CMD_OK;
}

/* ---- one ---- */

static void print_fact(const char *what, const char *text)
{
	if (text[0])
		(void)printf("%-9s%s\n", what, text);
}

static void print_one(const struct preset *p, const json_t *entries)
{
	struct preset_info info;
	size_t i;

	preset_info(p, &info);
	(void)printf("@%s\n", p->name);
	print_fact("title:", info.title);
	print_fact("about:", info.about);
	(void)printf("%-9s%s%s%s\n", "uploads:", info.uploads ? "yes" : "no",
		     info.uploads_why[0] ? " - " : "", info.uploads_why);
	for (i = 0; i < info.n_sources; i++)
		print_fact("source:", info.source[i]);
	for (i = 0; i < info.n_notes; i++)
		print_fact("note:", info.note[i]);
	print_fact("file:", p->source);
	(void)printf("\n");
	for (i = 0; i < json_array_size(entries); i++)
		(void)printf("%s\n",
			     json_string_value(json_array_get(entries, i)));
}

static void say_unknown(const struct preset_set *set, const char *name)
{
	const char *near[NEAR_MAX];
	char shown[PRESET_NAME_MAX * 4];
	size_t n = preset_set_near(set, name, strlen(name), near, NEAR_MAX);

	(void)log_escape(shown, sizeof(shown), name, strlen(name));
	if (n)
		log_err("there is no preset '%s'; '%s' may have been meant",
			shown, near[0]);
	else
		log_err("there is no preset '%s'; 'egret presets' lists them",
			shown);
}

static int show_one(const struct preset_set *set, const char *name, bool json)
{
	_cleanup_(json_decrefp) json_t *entries = NULL, *o = NULL;
	const struct preset *p;

	name += *name == '@';
	p = preset_set_find(set, name, strlen(name));
	if (!p) {
		say_unknown(set, name);
		return CMD_NO;
	}
	entries = read_entries(set, p);
	if (!entries)
		return CMD_NO;
	if (!json) {
		print_one(p, entries);
		return CMD_OK;
	}
	o = preset_json(p);
	if (!o || json_object_set(o, "entries", entries) < 0) {
		log_err("out of memory");
		return CMD_NO;
	}
	return output_json(o);
}

int cmd_presets(const struct cmd *self, int argc, char **argv)
{
	_cleanup_(preset_set_freep) struct preset_set *set = NULL;
	struct presets_options opt = { 0 };
	struct err err = { 0 };
	int n;

	n = options_parse_all(specs, ARRAY_SIZE(specs), &opt, argc, argv, &err);
	if (n == -ECANCELED) {
		(void)printf("usage: egret %s %s\n\n%s\n\n", self->name,
			     self->args, self->summary);
		options_help(specs, ARRAY_SIZE(specs));
		return CMD_OK;
	}
	if (n < 0 || n > 1) {
		log_err("%s; usage: egret %s %s",
			n < 0 ? err.msg : "one preset at a time", self->name,
			self->args);
		return CMD_USAGE;
	}
	if (presets_load(&set, &err) < 0) {
		log_err("%s", err.msg);
		return CMD_NO;
	}
	return n ? show_one(set, argv[1], opt.json) : list_all(set, opt.json);
}
