/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_allow.c - egret allow: append entries to a sandbox's or project's list
 *
 * The running sandbox watches the file, so that this is an edit like any other.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/rundir.h"
#include "policy/policy.h"

#define ENTRIES_TEXT_MAX 65536

static int check_entries(int n, char **entries)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	const struct policy_error *errors;
	size_t i, n_errors = 0;
	char line[1024];
	int k, r;

	r = policy_builder_new(&b);
	for (k = 0; r == 0 && k < n; k++)
		r = policy_builder_add_entry(b, "entry", entries[k], false);
	if (r < 0)
		return r;
	errors = policy_builder_errors(b, &n_errors);
	for (i = 0; i < n_errors; i++)
		log_err("%s",
			policy_error_format(&errors[i], line, sizeof(line)));
	return n_errors ? -EINVAL : 0;
}

static int append(const char *path, int n, char **entries, struct err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	char text[ENTRIES_TEXT_MAX], last = '\n';
	size_t len = 0;
	struct stat st;
	int k, r;

	fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set_errno(err, -errno, "cannot open %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s is not a regular file", path);
	if (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1)
		return err_set(err, -EIO, "cannot read %s", path);
	if (last != '\n')
		text[len++] = '\n';
	for (k = 0; k < n; k++) {
		int m = snprintf(text + len, sizeof(text) - len, "%s\n",
				 entries[k]);

		if (m < 0 || (size_t)m >= sizeof(text) - len)
			return err_set(err, -E2BIG, "too many entries at once");
		len += (size_t)m;
	}
	/* One write: a reader sees all of it or nothing. */
	r = io_write_all(fd, text, len);
	if (r < 0)
		return err_set_errno(err, r, "cannot write %s", path);
	return 0;
}

int cmd_allow(const struct cmd *self, int argc, char **argv)
{
	char path[PATH_MAX];
	struct err err = { 0 };

	if (argc == 2 &&
	    (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		(void)printf("usage: egret %s %s\n\n%s\n", self->name,
			     self->args, self->summary);
		return CMD_OK;
	}
	if (argc < 3) {
		log_err("usage: egret %s %s", self->name, self->args);
		return CMD_USAGE;
	}
	if (check_entries(argc - 2, argv + 2) < 0)
		return CMD_USAGE;
	if (rundir_find_list(argv[1], path, sizeof(path), &err) < 0 ||
	    append(path, argc - 2, argv + 2, &err) < 0) {
		log_err("%s", err.msg);
		return CMD_NO;
	}
	return CMD_OK;
}
