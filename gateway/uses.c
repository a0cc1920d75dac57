/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uses.c - how often each entry of the policy allowed something
 *
 * Beside the policy, which is immutable, and by its entries' numbers. At a
 * change only the used ones are put into a table by their text, and the new
 * entries looked up in it: few are used of a long list, and of an unused one
 * there's nothing to do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "gateway/uses.h"
#include "policy/policy.h"

struct uses {
	const struct policy *policy; /* borrowed */
	uint32_t *counts;
	size_t n;
};

struct carried {
	uint64_t hash;
	uint32_t entry; /* of the old policy */
	uint32_t count; /* 0: a free slot */
};

struct carry {
	const struct policy *old;
	struct carried *slots;
	size_t n_slots; /* a power of two, at most half full */
};

int uses_new(struct uses **ret)
{
	struct uses *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	*ret = u;
	return 0;
}

void uses_free(struct uses *u)
{
	if (!u)
		return;
	free(u->counts);
	free(u);
}

void uses_freep(struct uses **u)
{
	uses_free(*u);
	*u = NULL;
}

/* The slot of a text, or the free one where it belongs. */
static struct carried *find(const struct carry *c, const char *text)
{
	uint64_t hash = hash_bytes(text, strlen(text));
	char there[POLICY_PRINT_MAX];
	size_t i = (size_t)hash & (c->n_slots - 1);

	for (; c->slots[i].count; i = (i + 1) & (c->n_slots - 1)) {
		if (c->slots[i].hash == hash &&
		    !strcmp(policy_entry_print(c->old, c->slots[i].entry,
					       there),
			    text))
			break;
	}
	c->slots[i].hash = hash;
	return &c->slots[i];
}

static uint32_t add(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* Return: false when nothing was used, or there is no memory. */
static bool collect(const struct uses *u, struct carry *c)
{
	char text[POLICY_PRINT_MAX];
	struct carried *slot;
	size_t i, n = 0;

	for (i = 0; i < u->n; i++)
		n += u->counts[i] > 0;
	if (n == 0)
		return false;
	for (c->n_slots = 4; c->n_slots < 2 * n;)
		c->n_slots *= 2;
	c->slots = calloc(c->n_slots, sizeof(*c->slots));
	for (i = 0; c->slots && i < u->n; i++) {
		if (!u->counts[i])
			continue;
		slot = find(c, policy_entry_print(c->old, (uint32_t)i, text));
		slot->entry = (uint32_t)i;
		slot->count = add(slot->count, u->counts[i]);
	}
	return c->slots;
}

void uses_switch(struct uses *u, const struct policy *old,
		 const struct policy *new)
{
	size_t i, n = policy_n_entries(new);
	uint32_t *counts = calloc(n + 1, sizeof(*counts));
	struct carry c = { .old = old };
	char text[POLICY_PRINT_MAX];
	struct carried *slot;

	if (counts && old && collect(u, &c)) {
		for (i = 0; i < n; i++) {
			if (policy_entry(new, (uint32_t)i).preset !=
			    POLICY_NO_ENTRY)
				continue;
			slot = find(&c,
				    policy_entry_print(new, (uint32_t)i, text));
			counts[i] = slot->count;
		}
	}
	free(c.slots);
	free(u->counts);
	u->counts = counts;
	u->n = counts ? n : 0;
	u->policy = new;
}

void uses_bump(struct uses *u, uint32_t entry)
{
	uint32_t preset;

	if (entry >= u->n)
		return;
	preset = policy_entry(u->policy, entry).preset;
	if (preset < u->n)
		entry = preset;
	u->counts[entry] = add(u->counts[entry], 1);
}

uint32_t uses_get(const struct uses *u, uint32_t entry)
{
	return entry < u->n ? u->counts[entry] : 0;
}
