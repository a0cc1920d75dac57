/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * edit.h - changes an allowlist's text as its author would: what isn't spoken
 * of stays byte for byte
 *
 * Pure: text and entries in, new text and notes out. Entries are compared by
 * what they mean, not as they are written: Example.org:443,80 is example.org.
 */
#ifndef EGRET_POLICY_EDIT_H
#define EGRET_POLICY_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define POLICY_EDIT_ENTRIES_MAX 100000

enum policy_edit_op {
	/* append what isn't there, and take the same entry with '!' away */
	POLICY_EDIT_ALLOW,
	/* append with '!' what isn't there */
	POLICY_EDIT_DENY,
	/* take away the lines that say the same */
	POLICY_EDIT_REMOVE,
	/* have these entries, in this order, and no others; a line that says
	   the same is used, with its comment */
	POLICY_EDIT_SET,
};

/* What became of one entry; entries that mean the same have one note. */
struct policy_edit_note {
	const char *entry; /* borrowed from the caller */
	bool added;
	uint32_t n_removed;  /* lines that were taken away */
	uint32_t n_undenied; /* lines with the '!' of it that were */
	uint32_t line;	     /* the first old line that says it; 0: none */
	uint32_t near;	     /* the first old line of its host; 0: none */
};

struct policy_edited {
	char *text; /* owned; NUL-terminated beyond its length */
	size_t len;
	bool changed;
	struct policy_edit_note *notes; /* owned */
	size_t n_notes;
};

struct policy_edit {
	enum policy_edit_op op;
	const char *text; /* any bytes; lines that can't be read are kept */
	size_t len;
	const char *const *entries; /* as they stand in a file; a comment may
				       follow */
	size_t n;
};

/**
 * policy_edit() - Return: 0; -EINVAL for a wrong entry, with a sentence;
 * -E2BIG; -ENOMEM
 */
int policy_edit(const struct policy_edit *edit, struct policy_edited *ret,
		struct err *err);
void policy_edited_done(struct policy_edited *e);

#endif /* EGRET_POLICY_EDIT_H */
