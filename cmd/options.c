/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.c - table-driven options of the subcommands */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cmd/options.h"

#define HELP_COLUMN 28

static void *member(const struct option_spec *s, void *target)
{
	return (char *)target + s->offset;
}

static const struct option_spec *find_long(const struct option_spec *specs,
					   size_t n, const char *name,
					   size_t len)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strlen(specs[i].name) == len &&
		    !strncmp(specs[i].name, name, len))
			return &specs[i];
	return NULL;
}

static const struct option_spec *find_letter(const struct option_spec *specs,
					     size_t n, char letter)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (specs[i].letter == letter)
			return &specs[i];
	return NULL;
}

static int list_push(struct option_list *l, const char *value)
{
	const char **v;

	if (l->n >= OPTION_VALUES_MAX)
		return -E2BIG;
	v = realloc(l->v, (l->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	l->v = v;
	v[l->n++] = value;
	return 0;
}

static int store(const struct option_spec *s, void *target, const char *value,
		 struct err *err)
{
	int r;

	switch (s->kind) {
	case OPTION_FLAG:
		*(bool *)member(s, target) = true;
		return 0;
	case OPTION_STRING:
		*(const char **)member(s, target) = value;
		return 0;
	case OPTION_LIST:
		r = list_push(member(s, target), value);
		if (r < 0)
			return err_set_errno(err, r, "too many --%s", s->name);
		return 0;
	}
	return -EINVAL;
}

/* Parses argv[at], which starts with '-'. Return: words used (1 or 2). */
static int parse_one(const struct option_spec *specs, size_t n, void *target,
		     int left, char *const *arg, struct err *err)
{
	const char *word = arg[0], *value = NULL;
	const struct option_spec *s;
	int used = 1, r;

	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return -ECANCELED;
	if (word[1] == '-') {
		const char *eq = strchr(word, '=');
		size_t len = eq ? (size_t)(eq - word) - 2 : strlen(word) - 2;

		s = find_long(specs, n, word + 2, len);
		value = eq ? eq + 1 : NULL;
	} else {
		s = word[1] ? find_letter(specs, n, word[1]) : NULL;
		value = s && word[2] ? word + 2 : NULL;
	}
	if (!s)
		return err_set(err, -EINVAL, "there is no option '%s'", word);
	if (s->kind == OPTION_FLAG && value)
		return err_set(err, -EINVAL, "--%s takes no value", s->name);
	if (s->kind != OPTION_FLAG && !value) {
		if (left < 2)
			return err_set(err, -EINVAL, "--%s needs a value (%s)",
				       s->name, s->value_name);
		value = arg[1];
		used = 2;
	}
	r = store(s, target, value, err);
	return r < 0 ? r : used;
}

int options_parse(const struct option_spec *specs, size_t n, void *target,
		  int argc, char *const *argv, struct err *err)
{
	int at = 1, r;

	while (at < argc) {
		if (!strcmp(argv[at], "--"))
			return at + 1;
		if (argv[at][0] != '-' || !argv[at][1])
			return at;
		r = parse_one(specs, n, target, argc - at, argv + at, err);
		if (r < 0)
			return r;
		at += r;
	}
	return at;
}

int options_parse_all(const struct option_spec *specs, size_t n, void *target,
		      int argc, char **argv, struct err *err)
{
	bool is_over = false; /* "--" was there */
	int at = 0, n_operands = 0, r;

	for (;;) {
		if (is_over) {
			at++;
		} else {
			/* An operand takes the place of the name. */
			r = options_parse(specs, n, target, argc - at,
					  argv + at, err);
			if (r < 0)
				return r;
			at += r;
			is_over = !strcmp(argv[at - 1], "--") && r > 1;
		}
		if (at >= argc)
			return n_operands;
		argv[++n_operands] = argv[at];
	}
}

void options_done(const struct option_spec *specs, size_t n, void *target)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (specs[i].kind == OPTION_LIST) {
			struct option_list *l = member(&specs[i], target);

			free(l->v);
			memset(l, 0, sizeof(*l));
		}
	}
}

void options_help(const struct option_spec *specs, size_t n)
{
	char left[128];
	size_t i;

	for (i = 0; i < n; i++) {
		const struct option_spec *s = &specs[i];

		(void)snprintf(left, sizeof(left), "%c%c%s --%s%s%s",
			       s->letter ? '-' : ' ',
			       s->letter ? s->letter : ' ',
			       s->letter ? "," : " ", s->name,
			       s->value_name ? " " : "",
			       s->value_name ? s->value_name : "");
		(void)printf("  %-*s %s\n", HELP_COLUMN, left, s->help);
	}
	(void)printf("  %-*s %s\n", HELP_COLUMN, "-h, --help",
		     "show this help");
}
