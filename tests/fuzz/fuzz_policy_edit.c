/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_policy_edit.c - any bytes as a list and as the entry that edits it
 *
 * First byte: the operation. Up to the first NUL: the entry. The rest is the
 * list. Whatever the bytes, an edit is whole: done again it changes nothing,
 * and what was added can be removed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_MAX 20000U

static void must(bool claim)
{
	if (!claim)
		abort();
}

static void check_again(enum policy_edit_op op, const struct policy_edited *a,
			const char *entry)
{
	_cleanup_(policy_edited_done) struct policy_edited b = { 0 };
	const struct policy_edit edit = { op, a->text, a->len, &entry, 1 };

	must(policy_edit(&edit, &b, NULL) == 0);
	must(!b.changed);
}

static void check_gone(const struct policy_edited *a, const char *entry)
{
	_cleanup_(policy_edited_done) struct policy_edited b = { 0 };
	const struct policy_edit edit = { POLICY_EDIT_REMOVE, a->text, a->len,
					  &entry, 1 };

	must(policy_edit(&edit, &b, NULL) == 0);
	must(b.notes[0].n_removed > 0 && b.len < a->len);
	check_again(POLICY_EDIT_REMOVE, &b, entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(policy_edited_done) struct policy_edited e = { 0 };
	_cleanup_(freep) char *entry = NULL;
	struct policy_edit edit = { 0 };
	enum policy_edit_op op;
	const uint8_t *nul;
	size_t at;

	nul = size > 1 && size < TEXT_MAX ? memchr(data + 1, 0, size - 1)
					  : NULL;
	if (!nul)
		return 0;
	op = (enum policy_edit_op)(data[0] & 3);
	entry = strdup((const char *)data + 1);
	at = (size_t)(nul - data) + 1;
	edit.text = (const char *)data + at;
	edit.len = size - at;
	edit.entries = (const char *const *)&entry;
	edit.n = 1;
	edit.op = op;
	if (!entry || policy_edit(&edit, &e, NULL) < 0)
		return 0;
	must(e.n_notes == 1 && e.text[e.len] == '\0');
	must(op == POLICY_EDIT_REMOVE || e.notes[0].added ||
	     e.notes[0].line > 0);
	check_again(op, &e, entry);
	if (op == POLICY_EDIT_ALLOW || op == POLICY_EDIT_SET)
		check_gone(&e, entry);
	return 0;
}
