/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_show.c - egret show: what a sandbox has, or what a project's would have
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/columns.h"
#include "cmd/offline.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "policy/policy.h"

struct show_options {
	bool json;
};

static const struct option_spec specs[] = {
	{ "json", 0, OPTION_FLAG, NULL, "print a JSON object",
	  offsetof(struct show_options, json) },
};

static void print_usage(const struct cmd *self)
{
	(void)printf("usage: egret %s %s\n\n"
		     "Shows the entries of a running sandbox and how often "
		     "each was used, the addresses\nthat names have taught "
		     "it, its open connections and its counters; of a project "
		     "that\ndoesn't run the entries.\n\n",
		     self->name, self->args);
	options_help(specs, ARRAY_SIZE(specs));
}

/* ---- fetching ---- */

static int show_sandbox(const char *id, json_t **ret, struct err *err)
{
	int r = client_show(id, ret, err);

	if (r == 0)
		(void)json_object_set_new(*ret, "running", json_true());
	return r;
}

static json_t *entries_of(const struct policy *p)
{
	json_t *list = json_array();
	char text[POLICY_PRINT_MAX];
	size_t i;

	for (i = 0; i < policy_n_entries(p); i++) {
		struct policy_entry e = policy_entry(p, (uint32_t)i);

		if (e.preset != POLICY_NO_ENTRY)
			continue;
		(void)policy_entry_print(p, (uint32_t)i, text);
		(void)json_array_append_new(
			list, json_pack("{ss ss si sb}", "text", text, "source",
					e.source, "line", (int)e.line, "deny",
					e.deny));
	}
	return list;
}

static int show_project(const char *project, json_t **ret, struct err *err)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	char list[PATH_MAX];
	int r;

	r = offline_policy(project, &p, list, sizeof(list), err);
	if (r < 0)
		return r;
	*ret = json_pack("{ss ss sb so}", "id", project, "list", list,
			 "running", 0, "entries", entries_of(p));
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* ---- printing ---- */

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void add_number(struct columns *c, const json_t *o, const char *key)
{
	columns_add(c, "%" JSON_INTEGER_FORMAT,
		    json_integer_value(json_object_get(o, key)));
}

static void add_source(struct columns *c, const json_t *o)
{
	json_int_t line = json_integer_value(json_object_get(o, "line"));

	if (line > 0)
		columns_add(c, "%s:%" JSON_INTEGER_FORMAT, text_of(o, "source"),
			    line);
	else
		columns_add(c, "%s", text_of(o, "source"));
}

static void print_list(const char *title, struct columns *c)
{
	(void)printf("\n%s\n", title);
	if (c->n_cells == 0)
		(void)printf("  none\n");
	else if (columns_print(c, 2) < 0)
		log_err("out of memory: not all is shown");
	columns_done(c);
}

static void print_entries(const json_t *o, bool running)
{
	struct columns c = {
		.n = running ? 3 : 2,
		.heads = { "ENTRY", "FROM", "USES" },
		.is_right = { false, false, true },
	};
	const json_t *e;
	size_t i;

	json_array_foreach(json_object_get(o, "entries"), i, e)
	{
		columns_add(&c, "%s", text_of(e, "text"));
		add_source(&c, e);
		if (running)
			add_number(&c, e, "uses");
	}
	print_list("Entries", &c);
}

static void add_ports(struct columns *c, const json_t *ports)
{
	char text[1024] = "";
	const json_t *p;
	size_t i, len = 0;

	json_array_foreach(ports, i, p)
	{
		if (len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"%s%s", i ? "," : "",
						json_string_value(p));
	}
	columns_add(c, "%s", text);
}

static void print_learned(const json_t *o)
{
	struct columns c = {
		.n = 4,
		.heads = { "NAME", "ADDRESS", "PORTS", "SECONDS LEFT" },
		.is_right = { false, false, false, true },
	};
	const json_t *e;
	size_t i;

	json_array_foreach(json_object_get(o, "learned"), i, e)
	{
		columns_add(&c, "%s", text_of(e, "name"));
		columns_add(&c, "%s", text_of(e, "addr"));
		add_ports(&c, json_object_get(e, "ports"));
		add_number(&c, e, "expires_s");
	}
	print_list("Learned addresses", &c);
}

static void print_flows(const json_t *o)
{
	struct columns c = {
		.n = 6,
		.heads = { "ADDRESS", "PORT", "NAME", "BYTES OUT", "BYTES IN",
			   "SECONDS" },
		.is_right = { false, true, false, true, true, true },
	};
	const json_t *e;
	size_t i;

	json_array_foreach(json_object_get(o, "flows"), i, e)
	{
		columns_add(&c, "%s", text_of(e, "dst"));
		add_number(&c, e, "port");
		columns_add(&c, "%s", text_of(e, "name"));
		add_number(&c, e, "bytes_out");
		add_number(&c, e, "bytes_in");
		add_number(&c, e, "age_s");
	}
	print_list("Open connections", &c);
}

static void print_counters(json_t *o)
{
	struct columns c = {
		.n = 2,
		.heads = { "COUNTER", "VALUE" },
		.is_right = { false, true },
	};
	const char *name;
	json_t *value;

	json_object_foreach(json_object_get(o, "counters"), name, value)
	{
		if (json_integer_value(value) == 0)
			continue;
		columns_add(&c, "%s", name);
		columns_add(&c, "%" JSON_INTEGER_FORMAT,
			    json_integer_value(value));
	}
	print_list("Counters (those that aren't 0)", &c);
}

static void print_head(const json_t *o, bool running)
{
	struct columns c = { .n = 2, .heads = { "ID", text_of(o, "id") } };
	const json_t *line;
	size_t i;

	if (running) {
		columns_add(&c, "pid");
		add_number(&c, o, "pid");
		columns_add(&c, "started");
		columns_add(&c, "%s", text_of(o, "started"));
		columns_add(&c, "command");
		columns_add(&c, "%s", text_of(o, "command"));
		columns_add(&c, "refused");
		add_number(&c, o, "refused");
	}
	columns_add(&c, "list");
	columns_add(&c, "%s", text_of(o, "list"));
	json_array_foreach(json_object_get(o, "errors"), i, line)
	{
		columns_add(&c, i ? "" : "errors");
		columns_add(&c, "%s", json_string_value(line));
	}
	(void)columns_print(&c, 0);
	columns_done(&c);
}

static void print_all(json_t *o)
{
	bool running = json_is_true(json_object_get(o, "running"));

	print_head(o, running);
	print_entries(o, running);
	if (!running) {
		(void)printf("\nNo sandbox of this name runs.\n");
		return;
	}
	print_learned(o);
	print_flows(o);
	print_counters(o);
	if (json_is_true(json_object_get(o, "truncated")))
		(void)printf("\nThere is more than is shown.\n");
}

int cmd_show(const struct cmd *self, int argc, char **argv)
{
	_cleanup_(json_decrefp) json_t *o = NULL;
	struct show_options opt = { .json = false };
	struct err err = { 0 };
	int n, r;

	n = options_parse_all(specs, ARRAY_SIZE(specs), &opt, argc, argv, &err);
	if (n == -ECANCELED) {
		print_usage(self);
		return CMD_OK;
	}
	if (n != 1) {
		log_err("%s; try 'egret show --help'",
			n < 0 ? err.msg : "show wants one TARGET");
		return CMD_USAGE;
	}
	r = show_sandbox(argv[1], &o, &err);
	if (r == -ENOENT)
		r = show_project(argv[1], &o, &err);
	if (r < 0) {
		log_err("%s", err.msg);
		return CMD_NO;
	}
	if (opt.json)
		return output_json(o);
	print_all(o);
	return CMD_OK;
}
