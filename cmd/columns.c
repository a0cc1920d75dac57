/* SPDX-License-Identifier: GPL-2.0-or-later */
/* columns.c - rows of text in columns that are as wide as they must be */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/columns.h"

#define CELL_MAX 8192

char *columns_clean(char *s)
{
	char *at;

	for (at = s; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	return s;
}

static int add_cell(struct columns *c, const char *text)
{
	char **v;
	size_t room;

	if (c->n_cells == c->room) {
		room = c->room ? 2 * c->room : 64;
		v = reallocarray(c->cells, room, sizeof(*v));
		if (!v)
			return -ENOMEM;
		c->cells = v;
		c->room = room;
	}
	c->cells[c->n_cells] = strdup(text);
	if (!c->cells[c->n_cells])
		return -ENOMEM;
	(void)columns_clean(c->cells[c->n_cells++]);
	return 0;
}

void columns_add(struct columns *c, const char *fmt, ...)
{
	char text[CELL_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!c->is_bad && add_cell(c, text) < 0)
		c->is_bad = true;
}

/* Characters, as far as UTF-8 tells. */
static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void print_row(const struct columns *c, const size_t *widths,
		      const char *const *row, int indent)
{
	size_t i;

	(void)printf("%*s", indent, "");
	for (i = 0; i < c->n; i++) {
		bool is_last = i + 1 == c->n;
		int pad = (int)(widths[i] - width_of(row[i]));

		if (c->is_right[i])
			(void)printf("%*s", pad, "");
		(void)printf("%s", row[i]);
		if (!c->is_right[i] && !is_last)
			(void)printf("%*s", pad, "");
		(void)printf("%s", is_last ? "\n" : "  ");
	}
}

int columns_print(const struct columns *c, int indent)
{
	size_t widths[COLUMNS_MAX], i, w;

	if (c->n == 0)
		return 0;
	for (i = 0; i < c->n; i++)
		widths[i] = width_of(c->heads[i]);
	for (i = 0; i < c->n_cells; i++) {
		w = width_of(c->cells[i]);
		if (w > widths[i % c->n])
			widths[i % c->n] = w;
	}
	print_row(c, widths, c->heads, indent);
	for (i = 0; i + c->n <= c->n_cells; i += c->n)
		print_row(c, widths, (const char *const *)&c->cells[i], indent);
	return c->is_bad ? -ENOMEM : 0;
}

void columns_done(struct columns *c)
{
	size_t i;

	for (i = 0; i < c->n_cells; i++)
		free(c->cells[i]);
	free(c->cells);
	c->cells = NULL;
	c->n_cells = c->room = 0;
}
