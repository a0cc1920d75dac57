/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loaderrors.c - the lines of an allowlist that couldn't be taken */
#include <stdlib.h>
#include <string.h>

#include "gateway/loaderrors.h"

void loaderrors_add(void *ctx, const char *line)
{
	struct loaderrors *l = ctx;
	char *copy = l->n < LOADERRORS_MAX ? strdup(line) : NULL;

	if (copy)
		l->lines[l->n++] = copy;
	else
		l->n_more++;
}

bool loaderrors_equal(const struct loaderrors *a, const struct loaderrors *b)
{
	size_t i;

	if (a->n != b->n || a->n_more != b->n_more)
		return false;
	for (i = 0; i < a->n; i++)
		if (strcmp(a->lines[i], b->lines[i]) != 0)
			return false;
	return true;
}

void loaderrors_done(struct loaderrors *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->lines[i]);
	memset(l, 0, sizeof(*l));
}
