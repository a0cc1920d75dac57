/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * environment.h - the command's environment variables
 */
#ifndef EGRET_CMD_ENVIRONMENT_H
#define EGRET_CMD_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

struct err;

struct environment {
	char **v; /* NULL-terminated; owned */
	size_t n;
};

/**
 * environment_build() - egret's environment with EGRET and EGRET_NOTICE
 * @id:    of the sandbox
 * @clear: start with only what a program can hardly do without (PATH, HOME,
 *         TERM, LANG, USER and the like)
 * @set:   --env values: NAME=VALUE, or NAME to keep it
 */
int environment_build(struct environment *env, const char *id, bool clear,
		      const char *const *set, size_t n_set, struct err *err);
void environment_done(struct environment *env);

#endif /* EGRET_CMD_ENVIRONMENT_H */
