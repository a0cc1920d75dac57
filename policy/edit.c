/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * edit.c - edits of an allowlist's text
 *
 * Theory of operation. Each entry that the caller gives becomes a key: bytes
 * that are equal for entries that mean the same. Every line of the text is
 * parsed and looked up by its key; lines without an entry and those that can't
 * be read have none and are copied. So one pass does any number of entries.
 *
 * SET copies comments and blank lines too. The entries come out in the order
 * given; an old line is used in its place as long as that order lets it, so
 * that a list that is set to itself doesn't change.
 *
 * New lines end as the first line of the text does. A text whose last line has
 * no newline keeps it that way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "policy/edit.h"
#include "policy/policy_internal.h"

#define PRESET_MAX 255
#define KEY_MAX	   (8 + 256 + 5 * POLICY_PORTS_MAX)

/* One entry that is wanted, or not wanted. */
struct wanted {
	struct span text;     /* as it will be written, but for the '!' */
	bool bang;	      /* a '!' goes before it */
	struct span old_line; /* SET: the first line that says the same */
	bool done;	      /* SET: written */
};

struct edit {
	enum policy_edit_op op;
	struct wanted *wanted; /* [i] has key number i, and note i */
	size_t n;
	struct keys keys, twins, hosts;
	uint32_t *twin_of, *host_of; /* key numbers to the wanted one */
	struct policy_edit_note *notes;
	const char *eol;
	char *out;
	size_t len;
	bool own_last; /* the last line is one that we wrote */
	size_t next;   /* SET: the first that isn't written yet */
	struct parsed parsed;
};

/* One line of the text. */
struct cursor {
	const char *at, *end; /* what is left */
	struct span whole;    /* with its newline */
	struct span body;     /* without, nor with a byte order mark */
	uint32_t line;
};

static void edit_done(struct edit *e)
{
	keys_done(&e->keys);
	keys_done(&e->twins);
	keys_done(&e->hosts);
	free(e->wanted);
	free(e->twin_of);
	free(e->host_of);
	free(e->notes);
	free(e->out);
}

/* ---- lines ---- */

static size_t bom_len(const char *text, size_t len)
{
	return len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static bool next_line(struct cursor *c)
{
	const char *nl;

	if (c->at == c->end)
		return false;
	nl = memchr(c->at, '\n', (size_t)(c->end - c->at));
	c->whole = (struct span){ c->at, nl ? nl + 1 : c->end };
	c->body = (struct span){ c->at, nl ? nl : c->end };
	if (c->body.end > c->body.at && c->body.end[-1] == '\r')
		c->body.end--;
	c->at = c->whole.end;
	c->line++;
	return true;
}

static const char *eol_of(const char *text, size_t len)
{
	const char *nl = memchr(text, '\n', len);

	return nl && nl > text && nl[-1] == '\r' ? "\r\n" : "\n";
}

/* Room is certain, see alloc_out(). */
static void put(struct edit *e, const char *data, size_t len)
{
	if (len > 0)
		memcpy(e->out + e->len, data, len);
	e->len += len;
	e->own_last = false;
}

static void put_span(struct edit *e, struct span s)
{
	put(e, s.at, (size_t)(s.end - s.at));
}

/* A line of ours; the one before may lack its newline. */
static void put_line(struct edit *e, struct span s, bool bang, size_t bom)
{
	if (e->len > bom && e->out[e->len - 1] != '\n')
		put(e, e->eol, strlen(e->eol));
	if (bang)
		put(e, "!", 1);
	put_span(e, s);
	put(e, e->eol, strlen(e->eol));
	e->own_last = true;
}

/* ---- keys ---- */

static size_t key_ports(const struct port_buf *p, uint8_t *key)
{
	size_t len = 0;

	for (size_t i = 0; i < p->n; i++) {
		key[len++] = (uint8_t)p->at[i].proto;
		key[len++] = (uint8_t)(p->at[i].lo >> 8);
		key[len++] = (uint8_t)p->at[i].lo;
		key[len++] = (uint8_t)(p->at[i].hi >> 8);
		key[len++] = (uint8_t)p->at[i].hi;
	}
	return len;
}

/* The host alone. Return: length, or 0 if there is no key for it. */
static size_t key_host(const struct host *h, uint8_t *key)
{
	size_t len = 0;

	key[len++] = (uint8_t)h->kind;
	switch (h->kind) {
	case HOST_NAME:
	case HOST_BELOW:
		memcpy(key + len, h->name.wire, h->name.len);
		len += h->name.len;
		break;
	case HOST_NET:
		len += net_key(&h->net, key + len);
		break;
	case HOST_PRESET:
		if (h->preset.end - h->preset.at > PRESET_MAX)
			return 0;
		for (const char *p = h->preset.at; p < h->preset.end; p++)
			key[len++] =
				(uint8_t)(*p |
					  ('A' <= *p && *p <= 'Z' ? 0x20 : 0));
		break;
	case HOST_ALL:
		break;
	}
	return len;
}

static size_t key_entry(const struct parsed *p, uint8_t key[static KEY_MAX])
{
	size_t host;

	key[0] = p->deny;
	key[1] = (uint8_t)p->flags;
	host = key_host(&p->host, key + 4);
	if (host == 0)
		return 0;
	key[2] = (uint8_t)(host >> 8);
	key[3] = (uint8_t)host;
	return 4 + host + key_ports(&p->ports, key + 4 + host);
}

/* What the first entry with this key was, kept beside the keys. */
static int remember(struct keys *k, uint32_t *of, const uint8_t *key,
		    size_t len, uint32_t wanted)
{
	uint32_t n = k->n, i = 0;
	int r = keys_put(k, key, len, &i);

	if (r == 0 && k->n > n)
		of[i] = wanted;
	return r;
}

static uint32_t look_up(const struct keys *k, const uint32_t *of,
			const uint8_t *key, size_t len)
{
	uint32_t i = len ? keys_find(k, key, len) : KEY_NONE;

	return i == KEY_NONE ? KEY_NONE : of[i];
}

/* ---- what the caller gives ---- */

static struct span trim(const char *text)
{
	struct span s = { text, text + strlen(text) };

	while (s.at < s.end && (*s.at == ' ' || *s.at == '\t'))
		s.at++;
	while (s.at < s.end && (s.end[-1] == ' ' || s.end[-1] == '\t'))
		s.end--;
	return s;
}

/* A newline in a comment would be a second line. */
static bool has_control(struct span s)
{
	for (; s.at < s.end; s.at++)
		if (((unsigned char)*s.at < 0x20 && *s.at != '\t') ||
		    *s.at == 0x7f)
			return true;
	return false;
}

/* The same target with '!', as a key: words don't go with that. */
static int add_twin(struct edit *e, uint32_t wanted)
{
	_cleanup_(freep) char *text = NULL;
	struct span t = e->parsed.text;
	uint8_t key[KEY_MAX];
	struct complaint c;
	size_t len = 0;
	int r;

	while (t.at + len < t.end && t.at[len] != ' ' && t.at[len] != '\t')
		len++;
	text = strndup(t.at, len);
	if (!text)
		return -ENOMEM;
	r = parse_entry((struct span){ text, text + len }, PARSE_DENY,
			&e->parsed, &c);
	if (r <= 0)
		return r == -EINVAL ? 0 : r;
	len = key_entry(&e->parsed, key);
	return len ? remember(&e->twins, e->twin_of, key, len, wanted) : 0;
}

static int add_wanted(struct edit *e, const char *entry, struct err *err)
{
	struct wanted w = { .text = trim(entry) };
	bool deny = e->op == POLICY_EDIT_DENY;
	char q[POLICY_QUOTE_LEN];
	uint32_t before = e->keys.n, i = 0;
	uint8_t key[KEY_MAX];
	struct complaint c;
	size_t len;
	int r;

	if (has_control(w.text))
		return err_set(err, -EINVAL,
			       "'%s' has a control byte; one entry was meant",
			       quote(q, w.text));
	r = parse_entry(w.text, deny ? PARSE_DENY : 0, &e->parsed, &c);
	len = r > 0 ? key_entry(&e->parsed, key) : 0;
	if (r == -EINVAL)
		return err_set(err, r, "'%s': %s", quote(q, w.text), c.msg);
	if (r < 0)
		return err_set_errno(err, r, "cannot read the entries");
	if (len == 0)
		return err_set(err, -EINVAL, "'%s' is not an entry",
			       quote(q, w.text));
	w.bang = deny && *w.text.at != '!';
	r = keys_put(&e->keys, key, len, &i);
	if (r == 0 && e->keys.n > before) {
		e->wanted[i] = w;
		e->notes[i].entry = entry;
		e->n = e->keys.n;
		len = key_host(&e->parsed.host, key);
		r = remember(&e->hosts, e->host_of, key, len, i);
		if (r == 0 && e->op == POLICY_EDIT_ALLOW && !e->parsed.deny)
			r = add_twin(e, i);
	}
	return r < 0 ? err_set_errno(err, r, "cannot read the entries") : 0;
}

static int alloc_tables(struct edit *e, size_t n)
{
	e->wanted = calloc(n + 1, sizeof(*e->wanted));
	e->notes = calloc(n + 1, sizeof(*e->notes));
	e->twin_of = calloc(n + 1, sizeof(*e->twin_of));
	e->host_of = calloc(n + 1, sizeof(*e->host_of));
	return e->wanted && e->notes && e->twin_of && e->host_of ? 0 : -ENOMEM;
}

/* Every old line is written once at most, and every entry once, with '!' and
   newlines on both sides. */
static int alloc_out(struct edit *e, size_t len)
{
	size_t room = len + 1, i;

	for (i = 0; i < e->n; i++)
		room += (size_t)(e->wanted[i].text.end - e->wanted[i].text.at) +
			5;
	e->out = malloc(room);
	return e->out ? 0 : -ENOMEM;
}

/* ---- one pass over the text ---- */

/* Which wanted entry the line says, if any. */
static uint32_t read_line(struct edit *e, const struct cursor *c,
			  uint32_t *ret_twin, bool *ret_entry)
{
	uint8_t key[KEY_MAX];
	struct complaint complaint;
	uint32_t i, host;
	size_t len;

	*ret_twin = KEY_NONE;
	*ret_entry = parse_entry(c->body, 0, &e->parsed, &complaint) > 0;
	if (!*ret_entry)
		return KEY_NONE;
	len = key_entry(&e->parsed, key);
	i = len ? keys_find(&e->keys, key, len) : KEY_NONE;
	*ret_twin = look_up(&e->twins, e->twin_of, key, len);
	if (i != KEY_NONE && e->notes[i].line == 0)
		e->notes[i].line = c->line;
	len = key_host(&e->parsed.host, key);
	host = look_up(&e->hosts, e->host_of, key, len);
	if (host != KEY_NONE && e->notes[host].near == 0)
		e->notes[host].near = c->line;
	return i;
}

static void pass_plain(struct edit *e, struct cursor c)
{
	uint32_t i, twin;
	bool is_entry;

	while (next_line(&c)) {
		i = read_line(e, &c, &twin, &is_entry);
		if (twin != KEY_NONE)
			e->notes[twin].n_undenied++;
		else if (i != KEY_NONE && e->op == POLICY_EDIT_REMOVE)
			e->notes[i].n_removed++;
		else
			put_span(e, c.whole);
	}
}

static void append_missing(struct edit *e, size_t bom)
{
	for (size_t i = 0; i < e->n; i++) {
		if (e->notes[i].line > 0)
			continue;
		put_line(e, e->wanted[i].text, e->wanted[i].bang, bom);
		e->notes[i].added = true;
	}
}

/* ---- set ---- */

/* The place of each entry's first line, in the order of the lines. */
static void find_old_lines(struct edit *e, struct cursor c)
{
	uint32_t i, twin;
	bool is_entry;

	while (next_line(&c)) {
		i = read_line(e, &c, &twin, &is_entry);
		if (i != KEY_NONE && !e->wanted[i].old_line.at)
			e->wanted[i].old_line = c.body;
	}
}

/* Writes the entries up to @end that aren't written yet. */
static void put_wanted(struct edit *e, size_t end, size_t bom)
{
	for (; e->next < end; e->next++) {
		struct wanted *w = &e->wanted[e->next];

		if (w->done)
			continue;
		put_line(e, w->old_line.at ? w->old_line : w->text, false, bom);
		w->done = true;
		e->notes[e->next].added = !w->old_line.at;
	}
}

/* New entries go behind the one that they follow, not before the next. */
static void put_new(struct edit *e, size_t bom)
{
	size_t end = e->next;

	while (end < e->n && !e->wanted[end].old_line.at)
		end++;
	put_wanted(e, end, bom);
}

static void pass_set(struct edit *e, struct cursor c, size_t bom)
{
	uint32_t i, twin;
	bool is_entry;

	while (next_line(&c)) {
		i = read_line(e, &c, &twin, &is_entry);
		if (!is_entry) {
			put_span(e, c.whole);
			continue;
		}
		put_new(e, bom);
		/* Out of order: it has been written before, or will be
		   written where the order wants it. */
		if (i == KEY_NONE || e->wanted[i].done)
			continue;
		put_wanted(e, i, bom);
		put_span(e, c.whole);
		e->wanted[i].done = true;
		e->next = i + 1;
		put_new(e, bom);
	}
	put_wanted(e, e->n, bom);
}

/* ---- all ---- */

static void run(struct edit *e, const char *text, size_t len)
{
	size_t bom = bom_len(text, len);
	struct cursor c = { .at = text + bom, .end = text + len };
	bool lacks_newline = len > bom && text[len - 1] != '\n';

	e->eol = eol_of(text, len);
	put(e, text, bom);
	if (e->op == POLICY_EDIT_SET) {
		find_old_lines(e, c);
		pass_set(e, c, bom);
	} else {
		pass_plain(e, c);
		if (e->op != POLICY_EDIT_REMOVE)
			append_missing(e, bom);
	}
	if (lacks_newline && e->own_last)
		e->len -= strlen(e->eol);
	e->out[e->len] = '\0';
}

int policy_edit(const struct policy_edit *edit, struct policy_edited *ret,
		struct err *err)
{
	_cleanup_(edit_done) struct edit e = { .op = edit->op };
	size_t len = edit->len;
	size_t i;
	int r;

	if (edit->n > POLICY_EDIT_ENTRIES_MAX || len > POLICY_TEXT_MAX)
		return err_set(err, -E2BIG, "that is too much for one edit");
	r = alloc_tables(&e, edit->n);
	if (r < 0)
		return err_set_errno(err, r, "cannot edit the list");
	for (i = 0; i < edit->n; i++) {
		r = add_wanted(&e, edit->entries[i], err);
		if (r < 0)
			return r;
	}
	r = alloc_out(&e, len);
	if (r < 0)
		return err_set_errno(err, r, "cannot edit the list");
	run(&e, edit->text, len);
	*ret = (struct policy_edited){
		.len = e.len,
		.changed = e.len != len || memcmp(e.out, edit->text, len) != 0,
		.n_notes = e.n,
	};
	ret->text = ptr_steal(&e.out);
	ret->notes = ptr_steal(&e.notes);
	return 0;
}

void policy_edited_done(struct policy_edited *e)
{
	free(e->text);
	free(e->notes);
	e->text = NULL;
	e->notes = NULL;
}
