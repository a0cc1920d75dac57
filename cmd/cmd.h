/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd.h - the table of subcommands; help is printed from it
 */
#ifndef EGRET_CMD_CMD_H
#define EGRET_CMD_CMD_H

enum cmd_status {
	CMD_OK = 0,
	CMD_NO = 1,
	CMD_USAGE = 2,
	CMD_REFUSED = 123, /* --fail-on-refused */
	CMD_FAILED = 125,  /* egret itself failed */
};

struct cmd {
	const char *name;
	const char *args; /* for the usage line */
	const char *summary;
	/* argv[0] is the subcommand's name. Return: exit status. */
	int (*run)(const struct cmd *self, int argc, char **argv);
};

int cmd_run(const struct cmd *self, int argc, char **argv);
int cmd_exec(const struct cmd *self, int argc, char **argv);
int cmd_ps(const struct cmd *self, int argc, char **argv);
int cmd_show(const struct cmd *self, int argc, char **argv);
int cmd_check(const struct cmd *self, int argc, char **argv);
int cmd_allow(const struct cmd *self, int argc, char **argv);
int cmd_deny(const struct cmd *self, int argc, char **argv);
int cmd_remove(const struct cmd *self, int argc, char **argv);
int cmd_set(const struct cmd *self, int argc, char **argv);
int cmd_lint(const struct cmd *self, int argc, char **argv);
int cmd_presets(const struct cmd *self, int argc, char **argv);

#endif /* EGRET_CMD_CMD_H */
