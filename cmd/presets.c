/* SPDX-License-Identifier: GPL-2.0-or-later */
/* presets.c - loads the presets for the commands */
#include <limits.h>

#include "base/err.h"
#include "base/log.h"
#include "cmd/presets.h"
#include "cmd/rundir.h"
#include "gateway/presetdir.h"
#include "policy/policy.h"
#include "policy/preset.h"

#define LINE_LEN (PATH_MAX + 1024)

int presets_load(struct preset_set **ret, struct err *err)
{
	char config[PATH_MAX];

	/* Without a home there are the other two. */
	if (rundir_config(config, sizeof(config), NULL) < 0)
		config[0] = '\0';
	return presetdir_load(config, ret, err);
}

int presets_builder(struct policy_builder **ret, struct preset_set **ret_set,
		    struct err *err)
{
	int r = presets_load(ret_set, err);

	if (r < 0)
		return r;
	r = policy_builder_new(ret);
	if (r < 0)
		return err_set_errno(err, r, "cannot read the entries");
	policy_builder_set_presets(*ret, *ret_set);
	return 0;
}

int presets_print_errors(const struct policy_builder *b)
{
	const struct policy_error *errors;
	char line[LINE_LEN];
	size_t i, n = 0;

	errors = policy_builder_errors(b, &n);
	for (i = 0; i < n; i++)
		log_err("%s",
			policy_error_format(&errors[i], line, sizeof(line)));
	return (int)n;
}
