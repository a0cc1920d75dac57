/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rundir.h - where running sandboxes and projects have their files
 *
 *   $XDG_RUNTIME_DIR/egret/ID/lock        held by flock(2) while the run lives
 *   $XDG_RUNTIME_DIR/egret/ID/allowlist   the list, or a link to it
 *   $XDG_RUNTIME_DIR/egret/ID/control.sock  the gateway's, see client.h
 *   $XDG_CONFIG_HOME/egret/projects/NAME.hosts
 *
 * Without XDG_RUNTIME_DIR, or where that isn't the user's alone, it is
 * /run/egret for root and /tmp/egret-UID for a user; a directory of egret's
 * own that others could write is refused.
 */
#ifndef EGRET_CMD_RUNDIR_H
#define EGRET_CMD_RUNDIR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

#define RUNDIR_ID_MAX 64
#define RUNDIR_SOCKET "control.sock"

struct rundir {
	char id[RUNDIR_ID_MAX];
	char base[PATH_MAX]; /* .../egret */
	char dir[PATH_MAX];  /* .../egret/ID */
	int lock_fd;
};

/** rundir_is_name() - may this be a project's name: letters, digits, "._-", not
 * starting with a dot, at most 48 characters */
bool rundir_is_name(const char *name);

/**
 * rundir_create() - make the directory of a new sandbox
 * @project: its project's name, or NULL for "run-PID". A second sandbox of the
 *           same project gets NAME.2 and so on. What a killed run left is
 *           cleaned up.
 */
int rundir_create(struct rundir *ret, const char *project, struct err *err);

/** rundir_remove() - take the directory away again */
void rundir_remove(struct rundir *rd);

/** rundir_own_list() - create an empty list in the directory */
int rundir_own_list(const struct rundir *rd, char *ret_path, size_t size,
		    struct err *err);

/** rundir_link_list() - note that @path is the sandbox's list */
int rundir_link_list(const struct rundir *rd, const char *path,
		     struct err *err);

/**
 * rundir_living() - ids of the sandboxes that run, sorted
 * @ret: an array, and each id, malloc'ed; rundir_free_ids() frees them
 */
int rundir_living(char ***ret, size_t *ret_n, struct err *err);
void rundir_free_ids(char **ids, size_t n);

/** rundir_socket() - where the control socket of a sandbox is, if it runs */
int rundir_socket(const char *id, char *ret_path, size_t size, struct err *err);

/**
 * rundir_find_list() - the list of a running sandbox or of a project
 *
 * Return: 0, or -ENOENT with a sentence.
 */
int rundir_find_list(const char *target, char *ret_path, size_t size,
		     struct err *err);

/**
 * rundir_is_hidden() - is this a directory of lists that no command can see,
 * so that another file in a list's place is obeyed: the projects' or that of a
 * sandbox
 * @dir: without links in it
 */
bool rundir_is_hidden(const char *dir);

/** rundir_config() - $XDG_CONFIG_HOME/egret, whether it exists or not */
int rundir_config(char *ret_path, size_t size, struct err *err);

/** rundir_make_config() - the same directory, made if it isn't there */
int rundir_make_config(char *ret_path, size_t size, struct err *err);

/**
 * rundir_project_list() - a project's file, created with an explanation when
 * it isn't there yet
 */
int rundir_project_list(const char *project, char *ret_path, size_t size,
			struct err *err);

#endif /* EGRET_CMD_RUNDIR_H */
