/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policyfile.h - where a sandbox's policy comes from, and when it changes
 *
 * A policy joins the files and the entries of the command line. A file with any
 * error yields no policy at all: at the start nothing is started, and later the
 * old policy stays in force.
 */
#ifndef EGRET_GATEWAY_POLICYFILE_H
#define EGRET_GATEWAY_POLICYFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct loop;
struct policy;
struct policyfile_watch;
struct preset_set;

#define POLICYFILE_FILES_MAX 4

struct policyfile {
	char *path;	 /* absolute; owned */
	bool must_exist; /* a missing file is an error at the start */
	bool is_safe;	 /* its directory is one that the command can't write:
			    hidden from it, or not the user's */
	/* private, from policyfile_pin() on */
	bool is_pinned;
	int dir_fd;  /* the directory, opened before the command runs; -1 */
	int file_fd; /* O_PATH of the file at that time, so that no other can
			get its inode number; -1 */
	dev_t dev;   /* of that file; ino 0 when there was none */
	ino_t ino;
};

struct policyfile_sources {
	struct policyfile files[POLICYFILE_FILES_MAX];
	size_t n_files;
	const char *const *allow; /* --allow; borrowed from argv */
	size_t n_allow;
	const char *const *deny; /* --deny */
	size_t n_deny;
	/* Read before the command runs and never again, see presetdir.c;
	   borrowed. NULL: only what is built in. */
	const struct preset_set *presets;
};

/**
 * policyfile_pin() - open the directories and note which files they have now;
 * before the command runs
 */
int policyfile_pin(struct policyfile_sources *s, struct err *err);

/**
 * policyfile_load() - read all sources and build the policy
 * @on_error: gets each error as a line "FILE:LINE:COLUMN: ..."
 *
 * Return: 0; -EINVAL when there were errors (all were given to @on_error).
 */
typedef void policyfile_error_fn(void *ctx, const char *line);
int policyfile_load(const struct policyfile_sources *s, struct policy **ret,
		    policyfile_error_fn *on_error, void *ctx);

/**
 * policyfile_watch_new() - call @changed when a file may have been edited
 *
 * Writing in place counts for every file. Another file in its place (renamed
 * over it, deleted and made again) counts where the directory is safe. Writes
 * are waited out for a moment, so that a file isn't read half-written.
 */
typedef void policyfile_changed_fn(void *ctx);
int policyfile_watch_new(struct policyfile_watch **ret, struct loop *loop,
			 const struct policyfile_sources *s,
			 policyfile_changed_fn *changed, void *ctx,
			 struct err *err);

/**
 * policyfile_watch_more() - in @changed, after reading: has more happened
 * meanwhile
 *
 * Return: true if what was read may be the middle of an edit; @changed will be
 * called again, soon. False at the latest after a few of these.
 */
bool policyfile_watch_more(struct policyfile_watch *w);
void policyfile_watch_free(struct policyfile_watch *w);
void policyfile_watch_freep(struct policyfile_watch **w);

#endif /* EGRET_GATEWAY_POLICYFILE_H */
