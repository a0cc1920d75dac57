/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.h - a subcommand's options as a table: parsed from it, help from it
 */
#ifndef EGRET_CMD_OPTIONS_H
#define EGRET_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct err;

#define OPTION_VALUES_MAX 4096 /* of one repeatable option */

enum option_kind {
	OPTION_FLAG,   /* bool */
	OPTION_STRING, /* const char *; the last one wins */
	OPTION_LIST,   /* struct option_list; repeatable */
};

struct option_list {
	const char **v; /* borrowed from argv */
	size_t n;
};

struct option_spec {
	const char *name; /* without the dashes */
	char letter;	  /* 0: none */
	enum option_kind kind;
	const char *value_name; /* for the help; NULL for a flag */
	const char *help;
	size_t offset; /* of the member in the options struct */
};

/**
 * options_parse() - fill @target by the table; stops at the first operand or
 * after "--"
 * @argc, @argv: argv[0] is the subcommand
 *
 * "-x VALUE", "-xVALUE", "--name VALUE" and "--name=VALUE" are taken. An option
 * "help" with letter 'h' is always there: -ECANCELED is returned for it.
 *
 * Return: index of the first operand; -EINVAL with a sentence; -ENOMEM.
 */
int options_parse(const struct option_spec *specs, size_t n, void *target,
		  int argc, char *const *argv, struct err *err);

/**
 * options_parse_all() - the same, with options before, between and after the
 * operands, which are moved to argv[1] and so on
 *
 * Return: number of operands.
 */
int options_parse_all(const struct option_spec *specs, size_t n, void *target,
		      int argc, char **argv, struct err *err);

/** options_done() - free the lists */
void options_done(const struct option_spec *specs, size_t n, void *target);

/** options_help() - one line an option, to stdout */
void options_help(const struct option_spec *specs, size_t n);

#endif /* EGRET_CMD_OPTIONS_H */
