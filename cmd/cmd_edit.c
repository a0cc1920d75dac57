/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_edit.c - egret allow, deny, remove, set: edit a sandbox's or project's
 * list
 *
 * The file is written first and is what counts. Then every running sandbox that
 * has it is told to read it, and answers when it has: a sandbox would notice by
 * itself, but then nobody could say that it applies, or why it doesn't.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/listfile.h"
#include "cmd/options.h"
#include "cmd/presets.h"
#include "cmd/rundir.h"
#include "policy/edit.h"
#include "policy/lint.h"
#include "policy/policy.h"
#include "policy/preset.h"

#define EDIT_TRIES 5
#define SHOWN_MAX  200 /* bytes of an entry in a sentence */
#define LINE_LEN   (PATH_MAX + 1024)

struct edit_job {
	const char *target;
	struct policy_edit edit;
	struct listfile file;
	struct policy_edited result;
};

static char *shown(char dst[static SHOWN_MAX], const char *entry)
{
	return log_escape(dst, SHOWN_MAX, entry, strlen(entry));
}

/* ---- the entries and the list, as a policy would read them ---- */

/* Return: errors that were printed, or negative errno. */
static int check_entries(const struct edit_job *job, struct err *err)
{
	_cleanup_(preset_set_freep) struct preset_set *presets = NULL;
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	char name[SHOWN_MAX];
	size_t i;
	int r;

	/* What has become wrong, as a preset that is gone, can be removed. */
	if (job->edit.op == POLICY_EDIT_REMOVE)
		return 0;
	r = presets_builder(&b, &presets, err);
	if (r < 0)
		return r;
	for (i = 0; r == 0 && i < job->edit.n; i++)
		r = policy_builder_add_entry(
			b, shown(name, job->edit.entries[i]),
			job->edit.entries[i], job->edit.op == POLICY_EDIT_DENY);
	if (r < 0)
		return err_set_errno(err, r, "cannot check the entries");
	return presets_print_errors(b);
}

/* Is this one of the entries of the command line? */
static bool is_ours(const struct edit_job *job, const struct policy *p,
		    uint32_t entry)
{
	char text[POLICY_PRINT_MAX], ours[POLICY_PRINT_MAX];
	size_t i;

	(void)policy_entry_print(p, entry, text);
	for (i = 0; i < job->result.n_notes; i++) {
		const char *e = job->result.notes[i].entry;

		if (policy_line_print(e, strlen(e), false, ours, NULL) > 0 &&
		    !strcmp(text, ours))
			return true;
	}
	return false;
}

/* Says of entries that were added in vain what denies them. */
static void warn_of_vain(const struct edit_job *job, const struct policy *p)
{
	_cleanup_(lint_freep) struct lint *l = NULL;
	char line[LINE_LEN];
	size_t i;

	if ((job->edit.op != POLICY_EDIT_ALLOW &&
	     job->edit.op != POLICY_EDIT_SET) ||
	    policy_lint(p, LINT_BIT(LINT_NEVER), &l) < 0)
		return; /* the entries are written all the same */
	for (i = 0; i < lint_n(l, NULL); i++)
		if (is_ours(job, p, lint_at(l, i)->entry))
			log_warn("%s", policy_error_format(&lint_at(l, i)->at,
							   line, sizeof(line)));
}

/* Return: errors of the list (told if @tell), or negative errno. */
static int check_list(const struct edit_job *job, bool tell, struct err *err)
{
	_cleanup_(preset_set_freep) struct preset_set *presets = NULL;
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(policy_freep) struct policy *p = NULL;
	int r = presets_builder(&b, &presets, err);
	size_t n = 0;

	if (r < 0)
		return r;
	r = policy_builder_add_text(b, job->file.path, job->result.text,
				    job->result.len);
	if (r < 0)
		return err_set_errno(err, r, "cannot check the list");
	(void)policy_builder_errors(b, &n);
	if (n > 0)
		return tell ? presets_print_errors(b) : (int)n;
	if (policy_build(b, &p) == 0)
		warn_of_vain(job, p);
	return 0;
}

/* ---- the file ---- */

static int edit_once(struct edit_job *job, const char *path, struct err *err)
{
	int r;

	r = listfile_open(&job->file, path, err);
	if (r < 0)
		return r;
	job->edit.text = job->file.text;
	job->edit.len = job->file.len;
	r = policy_edit(&job->edit, &job->result, err);
	if (r == 0 && job->result.changed)
		r = listfile_write(&job->file, job->result.text,
				   job->result.len, err);
	if (r < 0)
		policy_edited_done(&job->result);
	listfile_close(&job->file);
	return r;
}

static int edit_file(struct edit_job *job, struct err *err)
{
	char path[PATH_MAX];
	int i, r;

	r = rundir_find_list(job->target, path, sizeof(path), err);
	if (r < 0)
		return r;
	for (i = 0; i < EDIT_TRIES; i++) {
		r = edit_once(job, path, err);
		if (r != -EAGAIN)
			break;
	}
	return r;
}

/* Where else does a running sandbox have the same entry from? "" if it hasn't.
 */
static void find_elsewhere(const json_t *shown_by, const char *entry,
			   char dst[static SHOWN_MAX])
{
	const json_t *entries = json_object_get(shown_by, "entries");
	char text[POLICY_PRINT_MAX];
	size_t i;

	dst[0] = '\0';
	if (policy_line_print(entry, strlen(entry), false, text, NULL) <= 0)
		return;
	for (i = 0; i < json_array_size(entries); i++) {
		const json_t *e = json_array_get(entries, i);
		const char *its = json_string_value(json_object_get(e, "text"));
		const char *source =
			json_string_value(json_object_get(e, "source"));

		if (its && source && !strcmp(its, text)) {
			(void)shown(dst, source);
			return;
		}
	}
}

static void print_missing(const struct edit_job *job,
			  const struct policy_edit_note *n,
			  const json_t *shown_by)
{
	char entry[SHOWN_MAX], source[SHOWN_MAX];

	(void)shown(entry, n->entry);
	find_elsewhere(shown_by, n->entry, source);
	if (source[0])
		log_err("there is no entry '%s' in %s, it comes from %s%s",
			entry, job->file.path, source,
			*entry == '!' ? "" : "; 'egret deny' closes it");
	else if (n->near)
		log_err("there is no entry '%s' in %s; see line %u", entry,
			job->file.path, (unsigned)n->near);
	else
		log_err("there is no entry '%s' in %s", entry, job->file.path);
}

/* Return: entries that weren't there. */
static size_t print_notes(const struct edit_job *job)
{
	json_auto_t *shown_by = NULL;
	char entry[SHOWN_MAX];
	size_t i, missing = 0;

	for (i = 0; i < job->result.n_notes; i++) {
		const struct policy_edit_note *n = &job->result.notes[i];

		(void)shown(entry, n->entry);
		if (n->n_undenied)
			log_info("took '!%.*s' out of the list, which denied "
				 "it",
				 (int)strcspn(entry, " \t"), entry);
		if (job->edit.op != POLICY_EDIT_REMOVE || n->n_removed)
			continue;
		/* A project that doesn't run has nobody to ask. */
		if (!missing++)
			(void)client_show(job->target, &shown_by, NULL);
		print_missing(job, n, shown_by);
	}
	return missing;
}

/* ---- the sandboxes ---- */

static void print_reply_errors(const json_t *reply)
{
	const json_t *lines = json_object_get(reply, "errors");
	char text[LINE_LEN];
	size_t i;

	for (i = 0; i < json_array_size(lines); i++) {
		const json_t *line = json_array_get(lines, i);

		if (json_is_string(line))
			log_err("%s", log_escape(text, sizeof(text),
						 json_string_value(line),
						 json_string_length(line)));
	}
}

/* Return: did it apply, or is it gone? */
static bool reload(const char *id)
{
	struct err err = { 0 };
	json_t *request = json_pack("{s:s}", "op", "reload"), *reply = NULL;
	char why[ERR_MSG_MAX];
	int r;

	r = request ? client_call(id, request, &reply, &err)
		    : err_set(&err, -ENOMEM, "out of memory");
	if (r < 0 && r != -ENOENT) {
		print_reply_errors(reply);
		log_err("%s did not apply it and keeps its old list: %s", id,
			log_escape(why, sizeof(why), err.msg, strlen(err.msg)));
	}
	json_decref(request);
	json_decref(reply);
	return r == 0 || r == -ENOENT;
}

/* Return: did it apply everywhere? */
static bool apply(const struct edit_job *job)
{
	_cleanup_(freep) struct client_sandbox *all = NULL;
	struct err err = { 0 };
	bool ok = true, any = false;
	int i, n;

	all = calloc(CLIENT_SANDBOXES_MAX, sizeof(*all));
	n = all ? client_sandboxes(all, &err)
		: err_set(&err, -ENOMEM, "out of memory");
	if (!all || n < 0) {
		log_err("the list is written, but the running sandboxes can't "
			"be told: %s",
			err.msg);
		return false;
	}
	for (i = 0; i < n; i++) {
		if (strcmp(all[i].list, job->file.path) != 0)
			continue;
		any = true;
		ok = reload(all[i].id) && ok;
	}
	/* If a sandbox reads it, that one has told the errors. */
	n = check_list(job, !any, &err);
	if (n != 0 && !any)
		log_err("it is written, but nothing can run with this list: %s",
			n < 0 ? err.msg : "mend it first");
	return ok && (any || n == 0);
}

/* ---- the commands ---- */

static int run_job(struct edit_job *job)
{
	struct err err = { 0 };
	bool ok;
	int r;

	r = check_entries(job, &err);
	if (r < 0)
		log_err("%s", err.msg);
	if (r != 0)
		return r < 0 ? CMD_NO : CMD_USAGE;
	/* Also before the target is looked up: a wrong entry is wrong use. */
	r = policy_edit(&job->edit, &job->result, &err);
	policy_edited_done(&job->result);
	if (r < 0) {
		log_err("%s", err.msg);
		return CMD_USAGE;
	}
	r = edit_file(job, &err);
	if (r < 0) {
		log_err("%s", err.msg);
		return CMD_NO;
	}
	ok = print_notes(job) == 0;
	ok = apply(job) && ok;
	policy_edited_done(&job->result);
	return ok ? CMD_OK : CMD_NO;
}

static int edit_command(const struct cmd *self, enum policy_edit_op op,
			int argc, char **argv)
{
	struct edit_job job = { .edit = { .op = op, .text = "" } };
	struct err err = { 0 };
	int n;

	n = options_parse_all(NULL, 0, NULL, argc, argv, &err);
	if (n == -ECANCELED) {
		(void)printf("usage: egret %s %s\n\n%s\n\n"
			     "TARGET is the id of a running sandbox or the "
			     "name of a project. Returns when\nevery running "
			     "sandbox with this list has applied it.\n\n"
			     "Exit status: 0 done; 1 failed or not applied; 2 "
			     "wrong usage or a wrong entry\n(nothing is "
			     "changed then).\n",
			     self->name, self->args, self->summary);
		return CMD_OK;
	}
	if (n < 2) {
		log_err("%s; usage: egret %s %s",
			n < 0 ? err.msg : "a target and an entry are needed",
			self->name, self->args);
		return CMD_USAGE;
	}
	job.target = argv[1];
	job.edit.entries = (const char *const *)(argv + 2);
	job.edit.n = (size_t)n - 1;
	return run_job(&job);
}

int cmd_allow(const struct cmd *self, int argc, char **argv)
{
	return edit_command(self, POLICY_EDIT_ALLOW, argc, argv);
}

int cmd_deny(const struct cmd *self, int argc, char **argv)
{
	return edit_command(self, POLICY_EDIT_DENY, argc, argv);
}

int cmd_remove(const struct cmd *self, int argc, char **argv)
{
	return edit_command(self, POLICY_EDIT_REMOVE, argc, argv);
}

int cmd_set(const struct cmd *self, int argc, char **argv)
{
	return edit_command(self, POLICY_EDIT_SET, argc, argv);
}
