/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * columns.h - rows of text in columns that are as wide as they must be
 */
#ifndef EGRET_CMD_COLUMNS_H
#define EGRET_CMD_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#define COLUMNS_MAX 8

/* Zero-initialise but for the first three. */
struct columns {
	size_t n;			/* columns */
	const char *heads[COLUMNS_MAX]; /* borrowed */
	bool is_right[COLUMNS_MAX];	/* numbers */
	/* private */
	char **cells;
	size_t n_cells, room;
	bool is_bad;
};

/**
 * columns_clean() - put '?' for what a terminal would obey; people's own text
 * (paths, commands) stays as it is otherwise. Returns @s
 */
char *columns_clean(char *s);

/** columns_add() - the next cell, left to right; control characters are
 * escaped
 */
void columns_add(struct columns *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * columns_print() - to stdout, @indent spaces before each row
 *
 * Return: 0, or -ENOMEM when cells are missing.
 */
int columns_print(const struct columns *c, int indent);
void columns_done(struct columns *c);

#endif /* EGRET_CMD_COLUMNS_H */
