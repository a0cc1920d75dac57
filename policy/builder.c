/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * builder.c - texts in, complaints or a policy out
 *
 * The builder fills the keys of a half-made policy and notes a rule for each
 * thing an entry says. A text with an error is read to its end all the same, so
 * that all errors are known at once, but then nothing is built of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/builder_internal.h"
#include "policy/policy.h"
#include "policy/policy_internal.h"
#include "policy/preset.h"

static void table_done(struct table *t)
{
	keys_done(&t->keys);
	free(t->start);
	free(t->ranges);
	free(t->flags);
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	table_done(&p->names);
	table_done(&p->nets);
	for (size_t i = 0; i < p->n_sources; i++)
		free(p->sources[i]);
	free(p->sources);
	uses_done(p);
	free(p->net_list);
	free(p->entries);
	free(p->texts);
	free(p);
}

void policy_freep(struct policy **p)
{
	int saved = errno;

	policy_free(*p);
	*p = NULL;
	errno = saved;
}

int policy_builder_new(struct policy_builder **ret)
{
	struct policy_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->p = calloc(1, sizeof(*b->p));
	if (!b->p) {
		free(b);
		return -ENOMEM;
	}
	*ret = b;
	return 0;
}

void policy_builder_free(struct policy_builder *b)
{
	if (!b)
		return;
	policy_free(b->p);
	rules_done(&b->names);
	rules_done(&b->nets);
	errors_done(&b->errors);
	preset_set_free(b->own_presets);
	free(b->expansions);
	free(b);
}

void policy_builder_freep(struct policy_builder **b)
{
	int saved = errno;

	policy_builder_free(*b);
	*b = NULL;
	errno = saved;
}

void policy_builder_set_presets(struct policy_builder *b,
				const struct preset_set *s)
{
	b->presets = s;
}

const struct policy_error *policy_builder_errors(const struct policy_builder *b,
						 size_t *ret_n)
{
	*ret_n = b->errors.n;
	return b->errors.at;
}

/* ---- rules ---- */

static enum group group_for(const struct parsed *e, bool below)
{
	if (below)
		return e->deny ? GROUP_DENY_BELOW : GROUP_ALLOW_BELOW;
	return e->deny ? GROUP_DENY : GROUP_ALLOW;
}

static int add_name(struct policy_builder *b, const struct dnsname *n,
		    bool below, uint32_t entry)
{
	unsigned int labels = dnsname_labels(n);
	uint32_t key;
	int r = keys_put(&b->p->names.keys, n->wire, n->len, &key);

	if (r < 0)
		return r;
	if (below)
		b->p->depths[labels / 64] |= 1ULL << labels % 64;
	return rules_add(&b->names, key, group_for(&b->parsed, below),
			 &b->parsed.ports, 0, entry);
}

static int add_one_net(struct policy_builder *b, const struct prefix *net,
		       uint32_t entry)
{
	bool leave = !b->parsed.deny && net_is_leave(net);
	uint64_t *lengths =
		net->addr.family == AF_INET ? &b->p->lengths4 : b->p->lengths6;
	uint8_t bytes[NET_KEY_MAX];
	uint32_t key;
	int r = keys_put(&b->p->nets.keys, bytes, net_key(net, bytes), &key);

	if (r < 0)
		return r;
	lengths[net->len / 64] |= 1ULL << net->len % 64;
	return rules_add(&b->nets, key, group_for(&b->parsed, false),
			 &b->parsed.ports, leave ? POLICY_F_PRIVATE : 0, entry);
}

/*
 * SECURITY: a denied IPv4 network is denied in the forms that a router may turn
 * back into IPv4 as well, else `*` would leave a way round it.
 */
static int add_net(struct policy_builder *b, const struct prefix *net,
		   uint32_t entry)
{
	struct prefix nat64 = {
		{ AF_INET6, { 0, 0x64, 0xff, 0x9b } },
		(uint8_t)(96 + net->len),
	};
	struct prefix six_to_4 = {
		{ AF_INET6, { 0x20, 0x02 } },
		(uint8_t)(16 + net->len),
	};
	int r = add_one_net(b, net, entry);

	if (r < 0 || net->addr.family != AF_INET || !b->parsed.deny)
		return r;
	memcpy(nat64.addr.bytes + 12, net->addr.bytes, 4);
	memcpy(six_to_4.addr.bytes + 2, net->addr.bytes, 4);
	r = add_one_net(b, &nat64, entry);
	return r < 0 ? r : add_one_net(b, &six_to_4, entry);
}

static int add_all(struct policy_builder *b, uint32_t entry)
{
	static const struct dnsname root = { .len = 1 };
	static const struct prefix all4 = { { AF_INET, { 0 } }, 0 };
	static const struct prefix all6 = { { AF_INET6, { 0 } }, 0 };
	int r = add_name(b, &root, true, entry);

	if (r == 0)
		r = add_one_net(b, &all4, entry);
	return r < 0 ? r : add_one_net(b, &all6, entry);
}

static int add_rules(struct policy_builder *b, const struct origin *o,
		     uint32_t entry, struct complaint *c)
{
	const struct host *h = &b->parsed.host;

	switch (h->kind) {
	case HOST_NAME:
		return add_name(b, &h->name, false, entry);
	case HOST_BELOW:
		return add_name(b, &h->name, true, entry);
	case HOST_ALL:
		return add_all(b, entry);
	case HOST_NET:
		return add_net(b, &h->net, entry);
	case HOST_PRESET:
		if (o->preset == POLICY_NO_ENTRY)
			return expand_preset(b, entry, c);
		return complain(c, h->preset.at - 1,
				"a preset can't contain another preset; its "
				"hosts were meant");
	}
	return -EINVAL; /* not reached: the parser knows no other kind */
}

/* ---- entries ---- */

int builder_add_source(struct policy_builder *b, const char *source,
		       uint32_t *ret)
{
	struct policy *p = b->p;
	char **sources;

	if (!p)
		return -EINVAL; /* used up */
	if (p->n_sources > 0 &&
	    strcmp(p->sources[p->n_sources - 1], source) == 0) {
		*ret = (uint32_t)p->n_sources - 1;
		return 0;
	}
	sources = grow(p->sources, p->n_sources, &b->room_sources,
		       sizeof(*sources));
	if (!sources)
		return -ENOMEM;
	p->sources = sources;
	sources[p->n_sources] = strdup(source);
	if (!sources[p->n_sources])
		return -ENOMEM;
	*ret = (uint32_t)p->n_sources++;
	return 0;
}

static int add_text(struct policy_builder *b, struct span s, size_t *ret)
{
	size_t len = (size_t)(s.end - s.at);

	while (b->n_texts + len + 1 > b->room_texts) {
		char *texts = grow(b->p->texts, b->room_texts, &b->room_texts,
				   sizeof(*texts));

		if (!texts)
			return -ENOMEM;
		b->p->texts = texts;
	}
	*ret = b->n_texts;
	memcpy(b->p->texts + b->n_texts, s.at, len);
	b->p->texts[b->n_texts + len] = '\0';
	b->n_texts += len + 1;
	return 0;
}

/* Columns count characters, as an editor does. */
static uint32_t column_of(const char *start, const char *at)
{
	uint32_t column = 1;

	for (; start < at; start++)
		if (((unsigned char)*start & 0xc0) != 0x80)
			column++;
	return column;
}

/* An entry of `@name private` is as if it had the word itself. */
static void lend_words(struct parsed *e, uint32_t flags)
{
	if (e->deny)
		return;
	if (e->host.kind == HOST_ALL)
		flags &= ~POLICY_F_PRIVATE;
	e->flags |= flags;
	for (size_t i = 0; i < e->ports.n; i++)
		e->ports.at[i].flags |= flags;
}

/* Keeps the entry that was parsed. */
static int keep_entry(struct policy_builder *b, const struct origin *o,
		      struct complaint *c)
{
	struct policy *p = b->p;
	struct entry *e;
	int r;

	if (p->n_entries == POLICY_ENTRIES_MAX)
		return complain(c, b->parsed.text.at,
				"more than %d entries in all; fewer were meant",
				POLICY_ENTRIES_MAX);
	e = grow(p->entries, p->n_entries, &b->room_entries, sizeof(*e));
	if (!e)
		return -ENOMEM;
	p->entries = e;
	e = &e[p->n_entries];
	*e = (struct entry){
		.source = o->source,
		.line = o->line,
		.column = column_of(o->start, b->parsed.text.at),
		.preset = o->preset,
		.used = POLICY_NO_ENTRY,
		.deny = b->parsed.deny,
	};
	r = add_text(b, b->parsed.text, &e->text);
	if (r < 0)
		return r;
	if (o->preset == POLICY_NO_ENTRY)
		p->n_written++;
	else
		lend_words(&b->parsed, o->flags);
	return add_rules(b, o, (uint32_t)p->n_entries++, c);
}

static int report(struct policy_builder *b, struct origin *o,
		  const struct complaint *c)
{
	uint32_t column = column_of(o->start, c->at);

	o->n_errors++;
	if (o->n_errors == POLICY_ERRORS_MAX + 1) {
		o->more_line = o->line;
		o->more_column = column;
	}
	if (o->n_errors > POLICY_ERRORS_MAX)
		return 0;
	return errors_add(&b->errors, b->p->sources[o->source], o->line, column,
			  c->msg);
}

static int report_more(struct policy_builder *b, const struct origin *o)
{
	char msg[64];

	if (o->n_errors <= POLICY_ERRORS_MAX)
		return 0;
	(void)snprintf(msg, sizeof(msg), "and %zu more errors",
		       o->n_errors - POLICY_ERRORS_MAX);
	return errors_add(&b->errors, b->p->sources[o->source], o->more_line,
			  o->more_column, msg);
}

/* Return: 1 for an entry, 0 for none or a wrong one, or -ENOMEM. */
static int add_line(struct policy_builder *b, struct origin *o,
		    struct span line)
{
	struct complaint c;
	int r = parse_entry(line, o->how, &b->parsed, &c);

	o->start = line.at;
	if (r > 0) {
		r = keep_entry(b, o, &c);
		if (r == 0)
			return 1;
	}
	return r == -EINVAL ? report(b, o, &c) : r;
}

int builder_add_lines(struct policy_builder *b, struct origin *o,
		      const char *text, size_t len)
{
	static const char bom[3] = "\xef\xbb\xbf";
	struct span line = { text, text };
	const char *end = text + len;
	int r;

	if (len >= sizeof(bom) && memcmp(text, bom, sizeof(bom)) == 0)
		line.at += sizeof(bom);
	for (; line.at < end; line.at = line.end + 1) {
		const char *next =
			memchr(line.at, '\n', (size_t)(end - line.at));
		struct span s = { line.at, next ? next : end };

		line.end = s.end;
		if (s.end > s.at && s.end[-1] == '\r')
			s.end--;
		o->line++;
		r = add_line(b, o, s);
		if (r < 0)
			return r;
		if (!next)
			break;
	}
	return report_more(b, o);
}

int policy_builder_add_text(struct policy_builder *b, const char *source,
			    const char *text, size_t len)
{
	struct origin o = { .preset = POLICY_NO_ENTRY };
	int r;

	if (len > POLICY_TEXT_MAX)
		return -EFBIG;
	r = builder_add_source(b, source, &o.source);
	return r < 0 ? r : builder_add_lines(b, &o, text, len);
}

int policy_builder_add_entry(struct policy_builder *b, const char *source,
			     const char *entry, bool deny)
{
	struct span line = { entry, entry + strlen(entry) };
	size_t before = b->errors.n;
	struct origin o = {
		.preset = POLICY_NO_ENTRY,
		.how = deny ? PARSE_DENY : 0,
	};
	int r = builder_add_source(b, source, &o.source);

	if (r < 0)
		return r;
	r = add_line(b, &o, line);
	if (r < 0)
		return r;
	if (r == 0 && b->errors.n == before)
		return errors_add(&b->errors, b->p->sources[o.source], 0, 1,
				  "an empty entry; a host was meant, as in "
				  "example.org:443");
	return 0;
}

int policy_build(struct policy_builder *b, struct policy **ret)
{
	struct policy *p = b->p;
	int r;

	if (b->errors.n > 0 || !p)
		return -EINVAL;
	r = table_compile(&p->names, &b->names);
	if (r == 0)
		r = table_compile(&p->nets, &b->nets);
	if (r == 0)
		r = nets_list(p);
	if (r < 0)
		policy_freep(&b->p);
	else
		*ret = ptr_steal(&b->p);
	return r;
}
