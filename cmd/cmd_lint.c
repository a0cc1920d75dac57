/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_lint.c - egret lint: errors of lists, and what may not have been meant
 *
 * A list with errors gets no warnings: they are about what the whole list says.
 * Nothing is asked of the network unless --resolve is given; --unused asks the
 * running sandboxes.
 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/presets.h"
#include "policy/lint.h"
#include "policy/policy.h"
#include "policy/preset.h"

#define LINE_LEN (PATH_MAX + 1024)
#define MSG_LEN	 1024
#define WHAT_MAX 300 /* bytes of an entry in a message */

struct lint_options {
	bool json, resolve, unused;
};

#define OPT(m) offsetof(struct lint_options, m)

static const struct option_spec specs[] = {
	{ "json", 0, OPTION_FLAG, NULL, "print JSON", OPT(json) },
	{ "resolve", 0, OPTION_FLAG, NULL,
	  "look the names up, from here, and tell those that don't resolve",
	  OPT(resolve) },
	{ "unused", 0, OPTION_FLAG, NULL,
	  "tell entries that no running sandbox with this list has used",
	  OPT(unused) },
};

struct lint_run {
	struct lint_options opt;
	json_t *findings; /* NULL: print text */
	size_t n_errors, n_warnings;
};

/* ---- findings ---- */

static void add_json(struct lint_run *run, const struct policy_error *e,
		     const char *kind)
{
	json_t *o = json_pack("{s:s, s:i, s:i, s:s, s:s}", "file", e->source,
			      "line", (int)e->line, "column", (int)e->column,
			      "kind", kind, "message", e->msg);

	(void)json_object_set_new(
		o, "severity",
		json_string(strcmp(kind, "error") ? "warning" : "error"));
	if (json_array_append_new(run->findings, o) < 0)
		log_err("out of memory: a finding is missing");
}

/* @kind: "error", or that of a warning. */
static void found(struct lint_run *run, const struct policy_error *e,
		  const char *kind)
{
	bool is_error = !strcmp(kind, "error");
	char msg[MSG_LEN], line[LINE_LEN];
	struct policy_error shown = *e;

	if (is_error)
		run->n_errors++;
	else
		run->n_warnings++;
	if (run->findings) {
		add_json(run, e, kind);
		return;
	}
	(void)snprintf(msg, sizeof(msg), "%s: %s",
		       is_error ? "error" : "warning", e->msg);
	shown.msg = msg;
	(void)printf("%s\n", policy_error_format(&shown, line, sizeof(line)));
}

/* "'WHAT' REST" about an entry. */
static void found_at(struct lint_run *run, const struct policy_entry *e,
		     const char *kind, const char *what, const char *rest)
{
	char msg[MSG_LEN];
	struct policy_error at = { .source = e->source,
				   .line = e->line,
				   .column = e->column,
				   .msg = msg };

	(void)snprintf(msg, sizeof(msg), "'%.*s' %s", WHAT_MAX, what, rest);
	found(run, &at, kind);
}

/* ---- --resolve ---- */

/* The name of an entry that allows one name. Return: is it one? */
static bool name_of(const struct policy *p, uint32_t i,
		    char dst[static DNSNAME_STR_LEN])
{
	char text[POLICY_PRINT_MAX];
	struct addr a;
	size_t len;

	(void)policy_entry_print(p, i, text);
	len = strcspn(text, ":/ ");
	if (policy_entry(p, i).deny || strchr("!@*[", text[0]) ||
	    len >= DNSNAME_STR_LEN)
		return false;
	memcpy(dst, text, len);
	dst[len] = '\0';
	return addr_parse(dst, &a) < 0;
}

static void resolve_one(struct lint_run *run, const struct policy_entry *e,
			const char *name)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int r = getaddrinfo(name, NULL, &hints, &list);

	if (r == 0)
		freeaddrinfo(list);
	else if (r == EAI_NONAME || r == EAI_NODATA)
		found_at(run, e, "resolve", name, "doesn't resolve");
	else
		found_at(run, e, "resolve", name,
			 "could not be looked up: the resolver failed");
}

static void resolve_all(struct lint_run *run, const struct policy *p)
{
	json_auto_t *seen = json_object();
	char name[DNSNAME_STR_LEN];
	uint32_t i;

	for (i = 0; i < policy_n_entries(p); i++) {
		struct policy_entry e = policy_entry(p, i);

		if (!name_of(p, i, name) || json_object_get(seen, name))
			continue;
		(void)json_object_set_new(seen, name, json_true());
		resolve_one(run, &e, name);
	}
}

/* ---- --unused ---- */

/* Adds up the uses of the list's lines: line number -> sum. */
static void add_uses(json_t *uses, const json_t *reply, const char *list)
{
	const json_t *entries = json_object_get(reply, "entries");
	char key[32], path[PATH_MAX];
	size_t i;

	for (i = 0; i < json_array_size(entries); i++) {
		const json_t *e = json_array_get(entries, i);
		const char *source =
			json_string_value(json_object_get(e, "source"));
		json_int_t n;

		if (!source || !realpath(source, path) ||
		    strcmp(path, list) != 0)
			continue;
		(void)snprintf(key, sizeof(key), "%lld",
			       json_integer_value(json_object_get(e, "line")));
		n = json_integer_value(json_object_get(uses, key)) +
		    json_integer_value(json_object_get(e, "uses"));
		(void)json_object_set_new(uses, key, json_integer(n));
	}
}

/* Return: sandboxes that have the list and told. */
static int ask_uses(json_t *uses, const char *list)
{
	_cleanup_(freep) struct client_sandbox *all =
		calloc(CLIENT_SANDBOXES_MAX, sizeof(*all));
	struct err err = { 0 };
	int i, n, told = 0;

	n = all ? client_sandboxes(all, &err)
		: err_set(&err, -ENOMEM, "out of memory");
	if (!all || n < 0) {
		log_err("%s", err.msg);
		return 0;
	}
	for (i = 0; i < n; i++) {
		json_auto_t *reply = NULL;

		if (strcmp(all[i].list, list) != 0)
			continue;
		if (client_show(all[i].id, &reply, &err) < 0) {
			log_err("%s: %s", all[i].id, err.msg);
			continue;
		}
		add_uses(uses, reply, list);
		told++;
	}
	return told;
}

static void find_unused(struct lint_run *run, const struct policy *p,
			const char *path)
{
	_cleanup_(freep) char *list = realpath(path, NULL);
	json_auto_t *uses = json_object();
	uint32_t i;

	if (!list || ask_uses(uses, list) == 0) {
		log_warn("no running sandbox has %s, so nobody knows which "
			 "entries are used",
			 path);
		return;
	}
	for (i = 0; i < policy_n_entries(p); i++) {
		struct policy_entry e = policy_entry(p, i);
		char key[32];
		const json_t *n;

		(void)snprintf(key, sizeof(key), "%u", (unsigned)e.line);
		n = json_object_get(uses, key);
		/* A sandbox doesn't tell all entries of a very long list. */
		if (e.preset == POLICY_NO_ENTRY && n &&
		    json_integer_value(n) == 0)
			found_at(run, &e, "unused", e.text,
				 "has not been used");
	}
}

/* ---- one file ---- */

static int find_warnings(struct lint_run *run, const struct policy *p,
			 const char *path)
{
	_cleanup_(lint_freep) struct lint *l = NULL;
	size_t i, more = 0;
	int r = policy_lint(p, LINT_ALL, &l);

	if (r < 0)
		return r;
	for (i = 0; i < lint_n(l, &more); i++) {
		const struct lint_warning *w = lint_at(l, i);

		found(run, &w->at, lint_kind_str(w->kind));
	}
	if (more) {
		run->n_warnings += more;
		log_warn("%s: %zu more warnings are not shown", path, more);
	}
	if (run->opt.resolve)
		resolve_all(run, p);
	if (run->opt.unused)
		find_unused(run, p, path);
	return 0;
}

static int lint_file(struct lint_run *run, const char *path, struct err *err)
{
	_cleanup_(preset_set_freep) struct preset_set *set = NULL;
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(freep) char *text = NULL;
	const struct policy_error *errors;
	size_t i, len = 0, n = 0;
	int r;

	r = io_read_file(path, POLICY_TEXT_MAX, &text, &len, err);
	if (r == 0)
		r = presets_builder(&b, &set, err);
	if (r < 0)
		return r;
	r = policy_builder_add_text(b, path, text, len);
	if (r == 0) {
		errors = policy_builder_errors(b, &n);
		for (i = 0; i < n; i++)
			found(run, &errors[i], "error");
		r = n ? 0 : policy_build(b, &p);
	}
	if (r == 0 && p)
		r = find_warnings(run, p, path);
	return r < 0 ? err_set_errno(err, r, "cannot check %s", path) : 0;
}

static int lint_files(struct lint_run *run, int n, const char *const *paths)
{
	struct err err = { 0 };
	int i, status = CMD_OK;

	for (i = 0; i < n; i++) {
		if (lint_file(run, paths[i], &err) < 0) {
			log_err("%s", err.msg);
			status = CMD_NO;
		}
	}
	if (run->findings && output_json(run->findings) != CMD_OK)
		status = CMD_NO;
	if (fflush(stdout) != 0)
		status = CMD_NO;
	return run->n_errors ? CMD_NO : status;
}

int cmd_lint(const struct cmd *self, int argc, char **argv)
{
	json_auto_t *findings = NULL;
	struct lint_run run = { 0 };
	struct err err = { 0 };
	int n;

	n = options_parse_all(specs, ARRAY_SIZE(specs), &run.opt, argc, argv,
			      &err);
	if (n == -ECANCELED) {
		(void)printf("usage: egret %s %s\n\n%s\n\n", self->name,
			     self->args, self->summary);
		options_help(specs, ARRAY_SIZE(specs));
		(void)printf("\nExit status: 0 no errors; 1 errors; 2 wrong "
			     "usage. Warnings alone are 0.\n");
		return CMD_OK;
	}
	if (n <= 0) {
		log_err("%s; usage: egret %s %s",
			n < 0 ? err.msg : "a file is needed", self->name,
			self->args);
		return CMD_USAGE;
	}
	if (run.opt.json) {
		findings = json_array();
		run.findings = findings;
		if (!findings) {
			log_err("out of memory");
			return CMD_NO;
		}
	}
	return lint_files(&run, n, (const char *const *)(argv + 1));
}
