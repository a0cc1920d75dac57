/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_ps.c - egret ps: the sandboxes that run */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/columns.h"
#include "cmd/options.h"
#include "cmd/output.h"

struct ps_options {
	bool json;
};

static const struct option_spec specs[] = {
	{ "json", 0, OPTION_FLAG, NULL, "print a JSON array",
	  offsetof(struct ps_options, json) },
};

static void print_usage(const struct cmd *self)
{
	(void)printf("usage: egret %s %s\n\n"
		     "Lists the running sandboxes of this user.\n\n",
		     self->name, self->args);
	options_help(specs, ARRAY_SIZE(specs));
}

/* All that answer. Return: 0, or -1 after a sentence for those that don't. */
static int collect(json_t *list)
{
	_cleanup_(freep) struct client_sandbox *s = NULL;
	_cleanup_(json_decrefp) json_t *request =
		json_pack("{ss}", "op", "status");
	struct err err = { 0 };
	json_t *reply;
	int i, n, r, status = 0;

	s = calloc(CLIENT_SANDBOXES_MAX, sizeof(*s));
	n = s ? client_sandboxes(s, &err) : err_set(&err, -ENOMEM, "no memory");
	if (n < 0) {
		log_err("%s", err.msg);
		return -1;
	}
	for (i = 0; i < n; i++) {
		reply = NULL;
		r = client_call(s[i].id, request, &reply, &err);
		if (r == 0) {
			(void)json_object_del(reply, "ok");
			(void)json_array_append(list, reply);
		} else if (r != -ENOENT) { /* that one has just ended */
			log_err("%s", err.msg);
			status = -1;
		}
		json_decref(reply);
	}
	return status;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "?";
}

static void add_number(struct columns *c, const json_t *o, const char *key)
{
	columns_add(c, "%" JSON_INTEGER_FORMAT,
		    json_integer_value(json_object_get(o, key)));
}

static int print_table(const json_t *list)
{
	struct columns c = {
		.n = 6,
		.heads = { "ID", "PID", "FLOWS", "REFUSED", "LIST", "COMMAND" },
		.is_right = { false, true, true, true },
	};
	const json_t *o;
	size_t i;
	int r;

	json_array_foreach(list, i, o)
	{
		columns_add(&c, "%s", text_of(o, "id"));
		add_number(&c, o, "pid");
		add_number(&c, o, "flows");
		add_number(&c, o, "refused");
		columns_add(&c, "%s", text_of(o, "list"));
		columns_add(&c, "%s", text_of(o, "command"));
	}
	r = columns_print(&c, 0);
	columns_done(&c);
	return r;
}

int cmd_ps(const struct cmd *self, int argc, char **argv)
{
	_cleanup_(json_decrefp) json_t *list = json_array();
	struct ps_options opt = { .json = false };
	struct err err = { 0 };
	int n, status;

	n = options_parse_all(specs, ARRAY_SIZE(specs), &opt, argc, argv, &err);
	if (n == -ECANCELED) {
		print_usage(self);
		return CMD_OK;
	}
	if (n != 0) {
		log_err("%s; try 'egret ps --help'",
			n < 0 ? err.msg : "ps takes no operands");
		return CMD_USAGE;
	}
	status = collect(list) < 0 ? CMD_NO : CMD_OK;
	if (opt.json)
		return output_json(list) == CMD_OK ? status : CMD_NO;
	return print_table(list) < 0 ? CMD_NO : status;
}
