/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lint.c - entries that are right but perhaps not what was meant
 *
 * Every entry of the lists is looked at alone (suffixes, port 53, places that
 * can't be reached), then beside the others (cover.c) and against the compiled
 * tables (what is denied whole). A preset's own entries are not the user's to
 * mend: of them only wildcards for strangers' names are told, at the `@name`.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/lint_internal.h"

static const char *const kind_names[] = {
	[LINT_SUFFIX] = "suffix",   [LINT_TENANTS] = "tenants",
	[LINT_UPLOADS] = "uploads", [LINT_DUPLICATE] = "duplicate",
	[LINT_COVERED] = "covered", [LINT_PORT53] = "port53",
	[LINT_NEVER] = "never",
};

_Static_assert(ARRAY_SIZE(kind_names) == LINT_KIND_MAX, "one each");

#define PLACE_LEN 400

struct lint {
	struct lint_warning *at;
	size_t n, room, more;
};

/* One run of the linter. */
struct job {
	const struct policy *p;
	struct lint *l;
	unsigned int kinds;
	struct cover *cover;
	uint32_t
		*preset_seen; /* by use: the entry that allowed it; denied it */
	uint32_t entry;	      /* at hand: */
	struct policy_entry where;
	struct parsed e;
	struct parsed member; /* of the preset at hand */
};

const char *lint_kind_str(enum lint_kind kind)
{
	return kind < LINT_KIND_MAX ? kind_names[kind] : "unknown";
}

void lint_free(struct lint *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		free((void *)(uintptr_t)l->at[i].at.msg); /* ours, not const */
	free(l->at);
	free(l);
}

void lint_freep(struct lint **l)
{
	int saved = errno;

	lint_free(*l);
	*l = NULL;
	errno = saved;
}

size_t lint_n(const struct lint *l, size_t *ret_more)
{
	if (ret_more)
		*ret_more = l->more;
	return l->n;
}

const struct lint_warning *lint_at(const struct lint *l, size_t i)
{
	return &l->at[i];
}

static bool wants(const struct job *j, enum lint_kind kind)
{
	return j->kinds & LINT_BIT(kind);
}

/* @offset: of the place in the entry's text, ASCII before it */
static int warn(struct job *j, enum lint_kind kind, size_t offset,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static int warn(struct job *j, enum lint_kind kind, size_t offset,
		const char *fmt, ...)
{
	struct lint *l = j->l;
	struct lint_warning *list;
	va_list ap;
	char *msg;
	int n;

	if (l->n == LINT_WARNINGS_MAX) {
		l->more++;
		return 0;
	}
	list = grow(l->at, l->n, &l->room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	l->at = list;
	va_start(ap, fmt);
	n = vasprintf(&msg, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	list[l->n++] = (struct lint_warning){
		.kind = kind,
		.entry = j->entry,
		.at = {
			.source = j->where.source,
			.line = j->where.line,
			.column = j->where.column + (uint32_t)offset,
			.msg = msg,
		},
	};
	return 0;
}

/* ---- one entry alone ---- */

static int check_host(struct job *j)
{
	const struct host *h = &j->e.host;
	char name[DNSNAME_STR_LEN];
	const char *what;

	if (j->e.deny || (h->kind != HOST_NAME && h->kind != HOST_BELOW))
		return 0;
	(void)dnsname_format(&h->name, name);
	if (h->kind == HOST_BELOW && suffix_is_public(&h->name))
		return wants(j, LINT_SUFFIX)
			       ? warn(j, LINT_SUFFIX, 0,
				      "'*.%s' opens the names of everyone "
				      "below "
				      "a public suffix; the names of one "
				      "owner, "
				      "as in *.example.%s, were meant",
				      name, name)
			       : 0;
	if (!wants(j, LINT_TENANTS))
		return 0;
	what = h->kind == HOST_BELOW ? suffix_tenants(&h->name) : NULL;
	if (what)
		return warn(j, LINT_TENANTS, 0,
			    "'*.%s' opens %s, an attacker's too; the exact "
			    "host was meant",
			    name, what);
	what = h->kind == HOST_NAME ? suffix_shared(&h->name) : NULL;
	if (what)
		return warn(j, LINT_TENANTS, 0,
			    "'%s' serves %s; an allowlist of hosts can't tell "
			    "them apart",
			    name, what);
	return 0;
}

/* "'x' (FILE:LINE)", or "'@p' (FILE:LINE), which has 'x'" */
static void describe(const struct policy *p, uint32_t entry,
		     char dst[static PLACE_LEN])
{
	struct policy_entry e = policy_entry(p, entry);
	char text[POLICY_QUOTE_LEN], own[POLICY_QUOTE_LEN];
	char source[POLICY_QUOTE_LEN], line[16] = "";

	if (e.line > 0)
		(void)snprintf(line, sizeof(line), ":%u", e.line);
	(void)quote(source,
		    (struct span){ e.source, e.source + strlen(e.source) });
	(void)quote(text, (struct span){ e.text, e.text + strlen(e.text) });
	if (!e.preset_text) {
		(void)snprintf(dst, PLACE_LEN, "'%s' (%s%s)", text, source,
			       line);
		return;
	}
	(void)quote(own,
		    (struct span){ e.preset_text,
				   e.preset_text + strlen(e.preset_text) });
	(void)snprintf(dst, PLACE_LEN, "'%s' (%s%s), which has '%s'", text,
		       source, line, own);
}

/* Where a 53 of the list of ports stands. */
static size_t offset_of_53(const char *text)
{
	for (const char *s = strstr(text, "53"); s; s = strstr(s + 1, "53"))
		if (s > text && (s[-1] == ':' || s[-1] == ',') &&
		    !(s[2] >= '0' && s[2] <= '9'))
			return (size_t)(s - text);
	return 0;
}

static int check_port53(struct job *j)
{
	const struct port_buf *b = &j->e.ports;

	for (size_t i = 0; i < b->n && wants(j, LINT_PORT53); i++) {
		if (b->at[i].proto == POLICY_ICMP || b->at[i].lo != 53 ||
		    b->at[i].hi != 53)
			continue;
		return warn(j, LINT_PORT53, offset_of_53(j->where.text),
			    "port 53 can't work: all traffic to it goes to "
			    "egret's resolver, whatever the address; names "
			    "need no entry for their look-up");
	}
	return 0;
}

static bool is_within(const struct prefix *net, const char *base,
		      unsigned int len)
{
	struct prefix outer = { .len = (uint8_t)len };

	return addr_parse(base, &outer.addr) == 0 &&
	       net->addr.family == outer.addr.family && net->len >= len &&
	       prefix_contains(&outer, &net->addr);
}

static const char *unreachable_net(const struct prefix *net)
{
	static const struct {
		const char *base;
		unsigned int len;
		const char *why;
	} nets[] = {
		{ "127.0.0.0", 8, "it is the sandbox's own loopback" },
		{ "::1", 128, "it is the sandbox's own loopback" },
		{ "0.0.0.0", 32, "it stands for the sandbox's own loopback" },
		{ "::", 128, "it stands for the sandbox's own loopback" },
		{ "224.0.0.0", 4, "multicast doesn't leave the sandbox" },
		{ "ff00::", 8, "multicast doesn't leave the sandbox" },
		{ "255.255.255.255", 32,
		  "broadcast doesn't leave the sandbox" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(nets); i++)
		if (is_within(net, nets[i].base, nets[i].len))
			return nets[i].why;
	return NULL;
}

static bool is_name_or_below(const struct dnsname *n, const char *text)
{
	struct dnsname apex;

	return dnsname_from_text(text, strlen(text), &apex) == 0 &&
	       (dnsname_equal(n, &apex) || dnsname_is_below(n, &apex));
}

static const char *unreachable_name(const struct host *h)
{
	const struct dnsname *n = &h->name;

	if (is_name_or_below(n, "localhost"))
		return "it is the sandbox's own loopback";
	if (!is_name_or_below(n, "egret.internal") ||
	    is_name_or_below(n, "host.egret.internal"))
		return NULL;
	/* *.egret.internal has host.egret.internal in it. */
	return h->kind == HOST_BELOW && dnsname_labels(n) == 2
		       ? NULL
		       : "egret answers names below egret.internal itself";
}

static int check_never(struct job *j)
{
	const struct host *h = &j->e.host;
	const char *why = NULL;
	char place[PLACE_LEN];
	uint32_t denier;

	if (j->e.deny || !wants(j, LINT_NEVER))
		return 0;
	if (h->kind == HOST_NET)
		why = unreachable_net(&h->net);
	else if (h->kind == HOST_NAME || h->kind == HOST_BELOW)
		why = unreachable_name(h);
	if (why)
		return warn(j, LINT_NEVER, 0, "this entry opens nothing: %s",
			    why);
	denier = match_denied_whole(j->p, &j->e);
	if (denier == POLICY_NO_ENTRY)
		return 0;
	describe(j->p, denier, place);
	return warn(j, LINT_NEVER, 0,
		    "this entry opens nothing: it is denied whole by %s, and "
		    "deny always wins",
		    place);
}

/* ---- one entry beside others ---- */

static int check_cover(struct job *j)
{
	uint32_t by = POLICY_NO_ENTRY;
	char place[PLACE_LEN];

	if (!j->cover)
		return 0;
	switch (cover_find(j->cover, j->entry, &j->e, &by)) {
	case COVER_NONE:
		return 0;
	case COVER_SAME:
		if (!wants(j, LINT_DUPLICATE))
			return 0;
		describe(j->p, by, place);
		return warn(j, LINT_DUPLICATE, 0, "%s says the same already",
			    place);
	case COVER_WIDER:
		if (!wants(j, LINT_COVERED))
			return 0;
		describe(j->p, by, place);
		return warn(j, LINT_COVERED, 0, "this entry adds nothing to %s",
			    place);
	}
	return 0;
}

/* ---- presets ---- */

static int check_uploads(struct job *j, const struct preset_use *use)
{
	if (j->e.deny || !use->uploads || !wants(j, LINT_UPLOADS))
		return 0;
	return warn(j, LINT_UPLOADS, 0, "the hosts of '@%s' accept uploads%s%s",
		    use->name, use->uploads[0] ? ": " : "", use->uploads);
}

/* A preset that an earlier entry has named in the same sense. */
static int check_again(struct job *j, uint32_t before)
{
	char place[PLACE_LEN], now[POLICY_PRINT_MAX], then[POLICY_PRINT_MAX];

	(void)policy_entry_print(j->p, before, then);
	(void)policy_entry_print(j->p, j->entry, now);
	if (strcmp(now, then) != 0 || !wants(j, LINT_DUPLICATE))
		return 0;
	describe(j->p, before, place);
	return warn(j, LINT_DUPLICATE, 0, "%s says the same already", place);
}

static int check_member(struct job *j, const struct preset_use *use)
{
	const struct host *h = &j->member.host;
	char name[DNSNAME_STR_LEN];
	const char *what;

	if (j->member.deny || h->kind != HOST_BELOW)
		return 0;
	(void)dnsname_format(&h->name, name);
	if (suffix_is_public(&h->name))
		return wants(j, LINT_SUFFIX)
			       ? warn(j, LINT_SUFFIX, 0,
				      "'@%s' has '*.%s', which opens the names "
				      "of everyone below a public suffix",
				      use->name, name)
			       : 0;
	what = suffix_tenants(&h->name);
	if (!what || !wants(j, LINT_TENANTS))
		return 0;
	return warn(j, LINT_TENANTS, 0,
		    "'@%s' has '*.%s', which opens %s, an attacker's too",
		    use->name, name, what);
}

static int check_preset(struct job *j)
{
	uint32_t u = j->p->entries[j->entry].used;
	const struct preset_use *use = &j->p->used[u];
	uint32_t *seen = &j->preset_seen[2 * u + j->e.deny];
	int r;

	if (*seen != POLICY_NO_ENTRY)
		return check_again(j, *seen);
	*seen = j->entry;
	r = check_uploads(j, use);
	for (uint32_t i = j->entry + 1; r == 0 && i < j->p->n_entries &&
					j->p->entries[i].preset == j->entry;
	     i++) {
		r = entry_parse(j->p, i, &j->member);
		if (r == 0)
			r = check_member(j, use);
	}
	return r;
}

/* ---- all ---- */

static int check_entry(struct job *j)
{
	int r = entry_parse(j->p, j->entry, &j->e);

	if (r < 0)
		return r;
	j->where = policy_entry(j->p, j->entry);
	if (j->e.host.kind == HOST_PRESET)
		return check_preset(j);
	r = check_host(j);
	if (r == 0)
		r = check_port53(j);
	if (r == 0)
		r = check_never(j);
	return r < 0 ? r : check_cover(j);
}

static int run(struct job *j)
{
	int r = 0;

	for (j->entry = 0; j->entry < j->p->n_entries && r == 0; j->entry++)
		if (j->p->entries[j->entry].preset == POLICY_NO_ENTRY)
			r = check_entry(j);
	return r;
}

int policy_lint(const struct policy *p, unsigned int kinds, struct lint **ret)
{
	static const unsigned int beside =
		LINT_BIT(LINT_DUPLICATE) | LINT_BIT(LINT_COVERED);
	_cleanup_(lint_freep) struct lint *l = calloc(1, sizeof(*l));
	_cleanup_(freep) uint32_t *seen =
		calloc(2 * p->n_used + 1, sizeof(*seen));
	_cleanup_(freep) struct job *j = calloc(1, sizeof(*j));
	_cleanup_(cover_freep) struct cover *cover = NULL;
	int r = 0;

	if (!l || !seen || !j)
		return -ENOMEM;
	if (kinds & beside)
		r = cover_new(p, &cover);
	if (r < 0)
		return r;
	memset(seen, 0xff, 2 * p->n_used * sizeof(*seen));
	*j = (struct job){
		.p = p,
		.l = l,
		.kinds = kinds,
		.cover = cover,
		.preset_seen = seen,
	};
	r = run(j);
	if (r == 0)
		*ret = ptr_steal(&l);
	return r;
}
