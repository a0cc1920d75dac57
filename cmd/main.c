/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - egret: finds the subcommand and runs it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/cmd.h"

#ifndef EGRET_VERSION
#define EGRET_VERSION "unknown"
#endif

static const struct cmd cmds[] = {
	{ "run", "[OPTION]... [--] COMMAND [ARG]...",
	  "run a command whose network is an allowlist", cmd_run },
	{ "exec", "[OPTION]... TARGET [--] COMMAND [ARG]...",
	  "run a further command inside a running sandbox", cmd_exec },
	{ "ps", "[--json]", "the sandboxes that run", cmd_ps },
	{ "show", "[--json] TARGET",
	  "entries, learned addresses, open connections, counters", cmd_show },
	{ "check", "[--json] [TARGET] HOST[:PORT][/PROTO]",
	  "may this be connected to, and which entry decides", cmd_check },
	{ "allow", "TARGET ENTRY...",
	  "add entries to the list of a running sandbox or a project",
	  cmd_allow },
	{ "deny", "TARGET ENTRY...",
	  "add denied entries to it; they win over allowed ones", cmd_deny },
	{ "remove", "TARGET ENTRY...", "take entries out of it", cmd_remove },
	{ "set", "TARGET ENTRY...", "make these its entries, and no others",
	  cmd_set },
	{ "lint", "[OPTION]... FILE...",
	  "errors of lists, and what may not have been meant", cmd_lint },
	{ "presets", "[--json] [NAME]",
	  "lists of hosts with a name, or the hosts of one", cmd_presets },
};

static void print_help(FILE *f)
{
	size_t i;

	(void)fprintf(f, "egret - a network in which only an allowlist exists, "
			 "enforced by the kernel\n\n");
	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		(void)fprintf(f, "  egret %s %s\n      %s\n", cmds[i].name,
			      cmds[i].args, cmds[i].summary);
	(void)fprintf(f,
		      "\n'egret COMMAND --help' shows the options. Example:\n"
		      "  egret run --allow example.org -- curl -sS "
		      "https://example.org\n");
}

static const struct cmd *find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		if (!strcmp(cmds[i].name, name))
			return &cmds[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct cmd *c;

	if (argc < 2) {
		(void)fprintf(stderr, "egret: a command is missing; try "
				      "'egret --help'\n");
		return CMD_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		print_help(stdout);
		return CMD_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
		(void)printf("egret %s\n", EGRET_VERSION);
		return CMD_OK;
	}
	c = find(argv[1]);
	if (!c) {
		(void)fprintf(stderr,
			      "egret: there is no command '%s'; try "
			      "'egret --help'\n",
			      argv[1]);
		return CMD_USAGE;
	}
	return c->run(c, argc - 1, argv + 1);
}
