/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preset.c - a set of presets, and what their first comments say
 *
 * The set is an array sorted by name. Names are case-folded, so that a file
 * system that keeps case and one that doesn't give the same set.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_internal.h"
#include "policy/preset.h"
#include "policy/preset_internal.h"

struct preset_set {
	struct preset *at;
	size_t n, room;
};

static char fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		c = (char)(c + ('a' - 'A'));
	return c;
}

bool preset_is_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = fold(name[i]);

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
		    c != '-' && c != '_')
			return false;
	}
	return len > 0 && len < PRESET_NAME_MAX;
}

/* ---- the set ---- */

static void free_preset(struct preset *p)
{
	/* Ours, not const; a built-in text is not allocated. */
	free((void *)(uintptr_t)p->name);
	free((void *)(uintptr_t)p->source);
	free((void *)(uintptr_t)p->broken);
	if (!p->is_builtin)
		free((void *)(uintptr_t)p->text);
}

void preset_set_free(struct preset_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->at && i < s->n; i++)
		free_preset(&s->at[i]);
	free(s->at);
	free(s);
}

void preset_set_freep(struct preset_set **s)
{
	int saved = errno;

	preset_set_free(*s);
	*s = NULL;
	errno = saved;
}

size_t preset_set_n(const struct preset_set *s)
{
	return s->n;
}

const struct preset *preset_set_at(const struct preset_set *s, size_t i)
{
	return &s->at[i];
}

/* The place of a name, or where it belongs; @name isn't folded yet. */
static size_t find_place(const struct preset_set *s, const char *name,
			 size_t len, bool *ret_found)
{
	char key[PRESET_NAME_MAX] = "";
	size_t lo = 0, hi = s->n;

	for (size_t i = 0; i < len; i++)
		key[i] = fold(name[i]);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(s->at[mid].name, key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret_found = lo < s->n && strcmp(s->at[lo].name, key) == 0;
	return lo;
}

const struct preset *preset_set_find(const struct preset_set *s,
				     const char *name, size_t len)
{
	bool found = false;
	size_t at;

	if (!preset_is_name(name, len))
		return NULL;
	at = find_place(s, name, len, &found);
	return found ? &s->at[at] : NULL;
}

/* Takes over what @p owns when it succeeds. */
static int put_preset(struct preset_set *s, const struct preset *p)
{
	struct preset *list;
	bool found = false;
	size_t at = find_place(s, p->name, strlen(p->name), &found);

	if (found && at < s->n) {
		free_preset(&s->at[at]);
		s->at[at] = *p;
		return 0;
	}
	if (s->n == PRESETS_MAX)
		return -E2BIG;
	list = grow(s->at, s->n, &s->room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	s->at = list;
	memmove(&list[at + 1], &list[at], (s->n - at) * sizeof(*list));
	list[at] = *p;
	s->n++;
	return 0;
}

static int add(struct preset_set *s, const char *name, struct preset p)
{
	char *folded;
	int r;

	if (!preset_is_name(name, strlen(name)))
		return -EINVAL;
	folded = strdup(name);
	p.source = strdup(p.source);
	if (p.broken)
		p.broken = strdup(p.broken);
	if (!p.is_builtin) {
		char *text = malloc(p.len + 1);

		if (text && p.len > 0)
			memcpy(text, p.text, p.len);
		p.text = text;
	}
	for (char *c = folded; c && *c; c++)
		*c = fold(*c);
	p.name = folded;
	r = p.name && p.source && p.text ? put_preset(s, &p) : -ENOMEM;
	if (r < 0)
		free_preset(&p);
	return r;
}

int preset_set_add(struct preset_set *s, const char *name, const char *source,
		   const char *text, size_t len)
{
	if (len > PRESET_TEXT_MAX)
		return -E2BIG;
	return add(s, name,
		   (struct preset){
			   .source = source,
			   .text = text,
			   .len = len,
		   });
}

int preset_set_add_broken(struct preset_set *s, const char *name,
			  const char *source, const char *why)
{
	return add(s, name,
		   (struct preset){
			   .source = source,
			   .text = "",
			   .broken = why,
		   });
}

int preset_set_new(struct preset_set **ret)
{
	_cleanup_(preset_set_freep) struct preset_set *s =
		calloc(1, sizeof(*s));
	char source[PRESET_NAME_MAX + 32];

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < n_presets_builtin; i++) {
		const struct preset_builtin *b = &presets_builtin[i];
		int r;

		(void)snprintf(source, sizeof(source), "built-in %s.hosts",
			       b->name);
		r = add(s, b->name,
			(struct preset){
				.source = source,
				.text = b->text,
				.len = strlen(b->text),
				.is_builtin = true,
			});
		if (r < 0)
			return r;
	}
	*ret = ptr_steal(&s);
	return 0;
}

/* ---- near names ---- */

static size_t min3(size_t a, size_t b, size_t c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

/* Insertions, deletions, changes and swaps of neighbours between the two. */
static size_t distance(const char *a, size_t n_a, const char *b)
{
	size_t rows[3][PRESET_NAME_MAX], n_b = strlen(b);

	for (size_t j = 0; j <= n_b; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n_a; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3];

		row[0] = i;
		for (size_t j = 1; j <= n_b; j++) {
			bool same = fold(a[i - 1]) == b[j - 1];

			row[j] = min3(row[j - 1] + 1, above[j] + 1,
				      above[j - 1] + !same);
			if (i > 1 && j > 1 && fold(a[i - 1]) == b[j - 2] &&
			    fold(a[i - 2]) == b[j - 1])
				row[j] = min3(row[j],
					      rows[(i + 1) % 3][j - 2] + 1,
					      row[j]);
		}
	}
	return rows[n_a % 3][n_b];
}

/* One is the beginning of the other: "docker", "dockerhub". */
static bool is_beginning(const char *a, size_t n_a, const char *b)
{
	size_t n = strlen(b);

	if (n_a < n)
		n = n_a;
	for (size_t i = 0; i < n; i++)
		if (fold(a[i]) != b[i])
			return false;
	return n >= 3;
}

size_t preset_set_near(const struct preset_set *s, const char *name, size_t len,
		       const char **ret, size_t max)
{
	size_t limit = len <= 3 ? len / 2 : 2, n = 0;

	if (!preset_is_name(name, len))
		return 0;
	for (size_t d = 0; d <= limit; d++)
		for (size_t i = 0; i < s->n && n < max; i++) {
			size_t far = distance(name, len, s->at[i].name);

			if (far > limit &&
			    is_beginning(name, len, s->at[i].name))
				far = limit;
			if (far == d)
				ret[n++] = s->at[i].name;
		}
	return n;
}

/* ---- the comments at the top ---- */

static struct span trim(struct span s)
{
	while (s.at < s.end && (*s.at == ' ' || *s.at == '\t'))
		s.at++;
	while (s.at < s.end &&
	       (s.end[-1] == ' ' || s.end[-1] == '\t' || s.end[-1] == '\r'))
		s.end--;
	return s;
}

static bool has_key(struct span *s, const char *key)
{
	size_t len = strlen(key);

	if ((size_t)(s->end - s->at) < len || memcmp(s->at, key, len) != 0)
		return false;
	s->at += len;
	*s = trim(*s);
	return true;
}

static void copy_line(char dst[static PRESET_LINE_LEN], struct span s)
{
	size_t at = 0;

	for (; s.at < s.end; s.at++) {
		size_t n = put_safe(dst + at, PRESET_LINE_LEN - at,
				    (unsigned char)*s.at);

		if (n == 0)
			break;
		at += n;
	}
	dst[at] = '\0';
}

static void copy_more(char dst[static PRESET_NOTES_MAX][PRESET_LINE_LEN],
		      size_t *n, struct span s)
{
	if (*n < PRESET_NOTES_MAX)
		copy_line(dst[(*n)++], s);
}

static void read_uploads(struct span s, struct preset_info *ret)
{
	ret->uploads = !has_key(&s, "no");
	if (ret->uploads)
		(void)has_key(&s, "yes");
	if (!has_key(&s, "-"))
		(void)has_key(&s, ":");
	copy_line(ret->uploads_why, s);
}

static void read_comment(struct span s, struct preset_info *ret)
{
	if (has_key(&s, "title:"))
		copy_line(ret->title, s);
	else if (has_key(&s, "about:"))
		copy_line(ret->about, s);
	else if (has_key(&s, "uploads:"))
		read_uploads(s, ret);
	else if (has_key(&s, "source:"))
		copy_more(ret->source, &ret->n_sources, s);
	else if (has_key(&s, "note:"))
		copy_more(ret->note, &ret->n_notes, s);
}

void preset_info(const struct preset *p, struct preset_info *ret)
{
	const char *at = p->text, *end = p->text + p->len;

	memset(ret, 0, sizeof(*ret));
	ret->uploads = true;
	/* The first line that is no comment ends them. */
	while (at < end && *at == '#') {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		struct span line = { at + 1, next ? next : end };

		read_comment(trim(line), ret);
		at = next ? next + 1 : end;
	}
}
