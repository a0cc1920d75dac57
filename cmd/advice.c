/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * advice.c - what `egret run` says once about its allowlist
 *
 * Only what widens the sandbox more than it looks; the rest is for `egret
 * lint`. A few lines at most: it comes before every run.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/advice.h"
#include "policy/lint.h"
#include "policy/policy.h"

#define LINES_MAX   5
#define UPLOADS_MAX 8
#define LINE_LEN    (PATH_MAX + 1024)

/* Names of presets, each once. */
struct names {
	char at[UPLOADS_MAX][POLICY_PRINT_MAX];
	size_t n;
	bool more;
};

static void add_name(const struct policy *p, uint32_t entry,
		     struct names *names)
{
	char text[POLICY_PRINT_MAX];
	size_t i;

	(void)policy_entry_print(p, entry, text);
	text[strcspn(text, " ")] = '\0'; /* without its words */
	for (i = 0; i < names->n; i++)
		if (!strcmp(names->at[i], text))
			return;
	if (names->n < UPLOADS_MAX)
		memcpy(names->at[names->n++], text, sizeof(text));
	else
		names->more = true;
}

static void print_uploads(const struct names *names)
{
	char list[UPLOADS_MAX * 80] = "";
	size_t i, at = 0;

	for (i = 0; i < names->n && at < sizeof(list); i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
				       i ? ", " : "", names->at[i]);
	if (names->n > 0)
		log_warn("hosts of %s%s accept uploads; 'egret presets NAME' "
			 "says which way",
			 list, names->more ? " and others" : "");
}

void advice_print(const struct policy *p)
{
	_cleanup_(lint_freep) struct lint *l = NULL;
	_cleanup_(freep) struct names *names = calloc(1, sizeof(*names));
	char line[LINE_LEN];
	size_t i, n, more = 0, printed = 0;

	/* Without memory there is no advice; the run fails by itself. */
	if (!names || policy_lint(p, LINT_RUN | LINT_BIT(LINT_UPLOADS), &l) < 0)
		return;
	n = lint_n(l, &more);
	for (i = 0; i < n; i++) {
		const struct lint_warning *w = lint_at(l, i);

		if (w->kind == LINT_UPLOADS)
			add_name(p, w->entry, names);
		else if (printed++ < LINES_MAX)
			log_warn("%s", policy_error_format(&w->at, line,
							   sizeof(line)));
	}
	if (printed > LINES_MAX)
		log_warn("and %zu more of this kind; see 'egret lint'",
			 printed - LINES_MAX + more);
	print_uploads(names);
}
