/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_check.c - egret check: may this be connected to, and which entry decides
 *
 * Three ways, one answer. A running sandbox judges itself, by its control
 * socket. Of a project that doesn't run the lists are read. Inside a sandbox,
 * which can see neither, its resolver is asked (resolver/check.c).
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/check_inside.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/columns.h"
#include "cmd/offline.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "gateway/event.h"
#include "policy/question.h"

#define ANSWER_LEN 16384

struct check_options {
	bool json;
};

static const struct option_spec specs[] = {
	{ "json", 0, OPTION_FLAG, NULL, "print a JSON object",
	  offsetof(struct check_options, json) },
};

static void print_usage(const struct cmd *self)
{
	(void)printf("usage: egret %s %s\n\n"
		     "Tells whether a host may be connected to, and which "
		     "entry decides. TARGET is a\nrunning sandbox or a "
		     "project; inside a sandbox it is left out. Without PORT "
		     "and\nPROTO it is 443/tcp.\n\n",
		     self->name, self->args);
	options_help(specs, ARRAY_SIZE(specs));
	(void)printf("\nExit status: 0 allowed, 1 refused or no answer, "
		     "2 usage.\n");
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

/* ---- a running sandbox ---- */

static int ask_sandbox(const char *id, const struct policy_question *q,
		       json_t **ret, struct err *err)
{
	_cleanup_(json_decrefp) json_t *request = NULL;
	_cleanup_(json_decrefp) json_t *reply = NULL;
	char host[DNSNAME_STR_LEN];
	int r;

	request = json_pack("{ss ss ss}", "op", "check", "host",
			    policy_question_host(q, host), "proto",
			    policy_proto_str(q->proto));
	if (!request ||
	    (q->port &&
	     json_object_set_new(request, "port", json_integer(q->port)) < 0))
		return no_memory(err);
	r = client_call(id, request, &reply, err);
	if (r < 0)
		return r;
	(void)json_object_del(reply, "ok");
	*ret = ptr_steal(&reply);
	return 0;
}

/* ---- a project ---- */

static json_t *answer_of(const struct policy *p,
			 const struct policy_question *q)
{
	struct policy_verdict v = policy_judge_question(p, q);
	char host[DNSNAME_STR_LEN], text[POLICY_PRINT_MAX];
	struct policy_entry e;
	json_t *o;

	o = json_pack("{ss ss sb}", "host", policy_question_host(q, host),
		      "proto", policy_proto_str(q->proto), "allowed",
		      v.reason == POLICY_ALLOWED);
	if (q->port)
		(void)json_object_set_new(o, "port", json_integer(q->port));
	if (v.reason != POLICY_ALLOWED)
		(void)json_object_set_new(
			o, "reason", json_string(policy_reason_str(v.reason)));
	if (v.entry == POLICY_NO_ENTRY)
		return o;
	e = policy_entry(p, v.entry);
	if (e.preset != POLICY_NO_ENTRY) {
		(void)json_object_set_new(
			o, "preset_entry",
			json_string(policy_entry_print(p, v.entry, text)));
		v.entry = e.preset;
	}
	(void)json_object_set_new(
		o, "entry", json_string(policy_entry_print(p, v.entry, text)));
	(void)json_object_set_new(o, "source", json_string(e.source));
	(void)json_object_set_new(o, "line", json_integer(e.line));
	return o;
}

static int ask_project(const char *project, const struct policy_question *q,
		       json_t **ret, struct err *err)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	char list[PATH_MAX];
	int r;

	r = offline_policy(project, &p, list, sizeof(list), err);
	if (r < 0)
		return r;
	*ret = answer_of(p, q);
	return *ret ? 0 : no_memory(err);
}

/* ---- inside ---- */

static int ask_resolver(const struct policy_question *q, json_t **ret,
			struct err *err)
{
	char text[CHECK_INSIDE_LEN], host[DNSNAME_STR_LEN];
	static const char rule[] = "allowed rule=";
	static const char reason[] = "refused reason=";
	bool allowed;
	json_t *o;
	int r;

	r = check_inside(q, text, err);
	if (r < 0)
		return r;
	allowed = !strncmp(text, rule, strlen(rule));
	if (!allowed && strncmp(text, reason, strlen(reason)) != 0)
		return err_set(err, -EPROTO,
			       "the resolver gave an answer that makes no "
			       "sense");
	o = json_pack("{ss ss sb}", "host", policy_question_host(q, host),
		      "proto", policy_proto_str(q->proto), "allowed", allowed);
	if (!o)
		return no_memory(err);
	if (q->port)
		(void)json_object_set_new(o, "port", json_integer(q->port));
	(void)json_object_set_new(
		o, allowed ? "entry" : "reason",
		json_string(text + strlen(allowed ? rule : reason)));
	*ret = o;
	return 0;
}

/* ---- the answer ---- */

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* "'ENTRY' (FILE:LINE)", or "" when no entry decided. */
static void describe_entry(const json_t *o, char *dst, size_t size)
{
	const char *entry = text_of(o, "entry");
	const char *inner = text_of(o, "preset_entry");
	const char *source = text_of(o, "source");
	json_int_t line = json_integer_value(json_object_get(o, "line"));
	char number[24] = "";

	dst[0] = '\0';
	if (!entry[0])
		return;
	if (line > 0)
		(void)snprintf(number, sizeof(number), ":%" JSON_INTEGER_FORMAT,
			       line);
	(void)snprintf(dst, size, "'%s'%s%s%s%s%s%s%s", entry,
		       inner[0] ? ", its '" : "", inner, inner[0] ? "'" : "",
		       source[0] ? " (" : "", source, number,
		       source[0] ? ")" : "");
}

static void print_answer(const struct policy_question *q, const json_t *o)
{
	char what[POLICY_QUESTION_STR_LEN], entry[ANSWER_LEN];
	bool allowed = json_is_true(json_object_get(o, "allowed"));

	describe_entry(o, entry, sizeof(entry));
	(void)policy_question_format(q, what);
	if (allowed)
		(void)printf("allowed %s%s%s\n", what, entry[0] ? " by " : "",
			     columns_clean(entry));
	else
		(void)printf("refused %s: %s%s%s\n", what,
			     event_reason_text(text_of(o, "reason")),
			     entry[0] ? ": " : "", columns_clean(entry));
}

static int ask(const char *target, const struct policy_question *q,
	       json_t **ret, struct err *err)
{
	const char *here = getenv("EGRET");
	int r;

	if (!target)
		return ask_resolver(q, ret, err);
	r = ask_sandbox(target, q, ret, err);
	if (r != -ENOENT)
		return r;
	if (here && !strcmp(here, target))
		return ask_resolver(q, ret, err);
	return ask_project(target, q, ret, err);
}

static int check(const char *target, const char *host, bool json)
{
	_cleanup_(json_decrefp) json_t *answer = NULL;
	struct policy_question q;
	struct err err = { 0 };

	if (policy_question_parse(host, &q, &err) < 0) {
		log_err("%s; try 'egret check --help'", err.msg);
		return CMD_USAGE;
	}
	if (ask(target, &q, &answer, &err) < 0) {
		log_err("%s", err.msg);
		return CMD_NO;
	}
	if (!json)
		print_answer(&q, answer);
	else if (output_json(answer) != CMD_OK)
		return CMD_NO;
	return json_is_true(json_object_get(answer, "allowed")) ? CMD_OK
								: CMD_NO;
}

int cmd_check(const struct cmd *self, int argc, char **argv)
{
	struct check_options opt = { .json = false };
	struct err err = { 0 };
	int n;

	n = options_parse_all(specs, ARRAY_SIZE(specs), &opt, argc, argv, &err);
	if (n == -ECANCELED) {
		print_usage(self);
		return CMD_OK;
	}
	if (n < 1 || n > 2) {
		log_err("%s; try 'egret check --help'",
			n < 0 ? err.msg : "check wants TARGET and HOST");
		return CMD_USAGE;
	}
	if (n == 1 && !getenv("EGRET")) {
		log_err("outside a sandbox, a project or the id of a sandbox "
			"is wanted: egret check TARGET %s",
			argv[1]);
		return CMD_USAGE;
	}
	return check(n == 2 ? argv[1] : NULL, argv[n], opt.json);
}
