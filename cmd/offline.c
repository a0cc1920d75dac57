/* SPDX-License-Identifier: GPL-2.0-or-later */
/* offline.c - the policy that a project's run would have */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/offline.h"
#include "cmd/presets.h"
#include "cmd/rundir.h"
#include "gateway/policyfile.h"
#include "policy/preset.h"

static void add(struct policyfile_sources *s, char *path, bool must_exist)
{
	s->files[s->n_files++] = (struct policyfile){
		.path = path,
		.must_exist = must_exist,
		.dir_fd = -1,
		.file_fd = -1,
	};
}

static void on_error(void *ctx, const char *line)
{
	(void)ctx;
	log_err("%s", line);
}

int offline_policy(const char *project, struct policy **ret, char *ret_list,
		   size_t size, struct err *err)
{
	char system[] = "/etc/egret/always.hosts";
	char config[PATH_MAX], user[PATH_MAX + 16];
	_cleanup_(preset_set_freep) struct preset_set *presets = NULL;
	struct policyfile_sources s = { .n_files = 0 };
	int r;

	r = rundir_find_list(project, ret_list, size, err);
	if (r == 0)
		r = presets_load(&presets, err);
	if (r < 0)
		return r;
	s.presets = presets;
	add(&s, system, false);
	if (rundir_config(config, sizeof(config), NULL) == 0) {
		(void)snprintf(user, sizeof(user), "%s/always.hosts", config);
		add(&s, user, false);
	}
	add(&s, ret_list, true);
	r = policyfile_load(&s, ret, on_error, NULL);
	if (r < 0)
		return err_set(err, r == -ENOENT ? -EINVAL : r,
			       "the allowlist of %s can't be used", project);
	return 0;
}
