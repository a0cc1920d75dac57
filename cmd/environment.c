/* SPDX-License-Identifier: GPL-2.0-or-later */
/* environment.c - the command's environment variables */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/environment.h"

static const char *const kept_names[] = {
	"PATH", "HOME", "USER", "LOGNAME", "SHELL",
	"TERM", "LANG", "TZ",	"PWD",	   "TMPDIR",
};

static const char notice[] =
	"EGRET_NOTICE=This command runs in an egret sandbox: its network is "
	"an allowlist that the kernel enforces. Names and addresses that "
	"aren't listed are refused at once: look-ups fail with 'no such "
	"host', connections with 'connection refused'. That is no network "
	"fault, and retrying or going round it won't help. To check a host "
	"from inside, look up the TXT record of "
	"_PORT._tcp.HOST.check.egret.internal. The user can allow one from "
	"outside, at once: egret allow %s HOST";

static size_t name_len(const char *var)
{
	return strcspn(var, "=");
}

static char **find(const struct environment *env, const char *var)
{
	size_t i, len = name_len(var);

	for (i = 0; i < env->n; i++)
		if (name_len(env->v[i]) == len && !strncmp(env->v[i], var, len))
			return &env->v[i];
	return NULL;
}

/* Sets "NAME=VALUE", in place of an earlier one. */
static int put(struct environment *env, const char *var)
{
	char **old = find(env, var), **v, *copy = strdup(var);

	if (!copy)
		return -ENOMEM;
	if (old) {
		free(*old);
		*old = copy;
		return 0;
	}
	v = realloc(env->v, (env->n + 2) * sizeof(*v));
	if (!v) {
		free(copy);
		return -ENOMEM;
	}
	env->v = v;
	v[env->n++] = copy;
	v[env->n] = NULL;
	return 0;
}

/* Takes the variable of this name over from egret's own environment. */
static int keep(struct environment *env, const char *name)
{
	size_t len = strlen(name);
	char **e;

	for (e = environ; e && *e; e++)
		if (name_len(*e) == len && !strncmp(*e, name, len))
			return put(env, *e);
	return 0;
}

static int put_set(struct environment *env, const char *set, struct err *err)
{
	if (!name_len(set))
		return err_set(err, -EINVAL,
			       "--env wants NAME or NAME=VALUE, not '%s'", set);
	return strchr(set, '=') ? put(env, set) : keep(env, set);
}

static int put_own(struct environment *env, const char *id)
{
	char text[sizeof(notice) + 128];
	int r;

	(void)snprintf(text, sizeof(text), "EGRET=%s", id);
	r = put(env, text);
	if (r < 0)
		return r;
	(void)snprintf(text, sizeof(text), notice, id);
	return put(env, text);
}

int environment_build(struct environment *env, const char *id, bool clear,
		      const char *const *set, size_t n_set, struct err *err)
{
	size_t i;
	int r = 0;
	char **e;

	memset(env, 0, sizeof(*env));
	for (e = environ; r == 0 && !clear && e && *e; e++)
		r = put(env, *e);
	for (i = 0; r == 0 && clear && i < ARRAY_SIZE(kept_names); i++)
		r = keep(env, kept_names[i]);
	for (i = 0; r == 0 && i < n_set; i++)
		r = put_set(env, set[i], err);
	if (r == 0)
		r = put_own(env, id);
	if (r == -ENOMEM)
		(void)err_set(err, r, "out of memory");
	return r;
}

void environment_done(struct environment *env)
{
	size_t i;

	for (i = 0; i < env->n; i++)
		free(env->v[i]);
	free(env->v);
	memset(env, 0, sizeof(*env));
}
