/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preset.h - lists with a name, which an entry `@name` stands for
 *
 * A preset is a text as an allowlist has, whose comments at the top say what it
 * is: "# title:", "# about:", "# uploads: yes - why", "# source:", "# note:"
 * (the last two may come several times). A set begins with those that are built
 * in; what is added takes the place of one with the same name. Pure: whoever
 * has files reads them (gateway/presetdir.h).
 */
#ifndef EGRET_POLICY_PRESET_H
#define EGRET_POLICY_PRESET_H

#include <stdbool.h>
#include <stddef.h>

struct preset_set;

#define PRESET_NAME_MAX	 64 /* with its NUL */
#define PRESET_TEXT_MAX	 (256U << 10)
#define PRESETS_MAX	 1024 /* in one set */
#define PRESET_LINE_LEN	 512
#define PRESET_NOTES_MAX 8

struct preset {
	const char *name;
	const char *source; /* for messages: a path, or "built-in NAME.hosts" */
	const char *text;   /* not NUL-terminated */
	size_t len;
	const char *broken; /* why it can't be used, a sentence; else NULL */
	bool is_builtin;
};

/* The comments at the top; printable ASCII, "" where there is none. */
struct preset_info {
	char title[PRESET_LINE_LEN];
	char about[PRESET_LINE_LEN];
	bool uploads; /* also when the text doesn't say: on the safe side */
	char uploads_why[PRESET_LINE_LEN]; /* without "yes - ", "no - " */
	char source[PRESET_NOTES_MAX][PRESET_LINE_LEN];
	char note[PRESET_NOTES_MAX][PRESET_LINE_LEN];
	size_t n_sources, n_notes;
};

/** preset_set_new() - a set with those that are built in */
int preset_set_new(struct preset_set **ret);
void preset_set_free(struct preset_set *s);
void preset_set_freep(struct preset_set **s);

/** preset_is_name() - letters, digits, '-' and '_', at most 63 of them */
bool preset_is_name(const char *name, size_t len);

/**
 * preset_set_add() - add one, in the place of one of the same name
 * @name:   preset_is_name(); upper case is folded
 * @source: its name for messages
 *
 * Everything is copied. Return: 0; -EINVAL for a wrong name; -E2BIG when the
 * set or the text is too large; -ENOMEM.
 */
int preset_set_add(struct preset_set *s, const char *name, const char *source,
		   const char *text, size_t len);

/**
 * preset_set_add_broken() - one that is there but can't be used; an entry that
 * names it is then an error with this sentence
 */
int preset_set_add_broken(struct preset_set *s, const char *name,
			  const char *source, const char *why);

/** preset_set_n(), preset_set_at() - all of them, sorted by name */
size_t preset_set_n(const struct preset_set *s);
const struct preset *preset_set_at(const struct preset_set *s, size_t i);

/** preset_set_find() - by name, case folded; NULL when there is none */
const struct preset *preset_set_find(const struct preset_set *s,
				     const char *name, size_t len);

/**
 * preset_set_near() - names that may have been meant instead, the nearest first
 * @ret: room for @max
 *
 * Return: their number, 0 when none is near.
 */
size_t preset_set_near(const struct preset_set *s, const char *name, size_t len,
		       const char **ret, size_t max);

/** preset_info() - read the comments at the top */
void preset_info(const struct preset *p, struct preset_info *ret);

#endif /* EGRET_POLICY_PRESET_H */
