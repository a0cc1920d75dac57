/* SPDX-License-Identifier: GPL-2.0-or-later */
/* control_json.c - requests of the control socket read, replies written */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gateway/control_json.h"

#define TEXT_ROOM_MIN 1024U
/* What follows a list (counters, the ends) fits in here. */
#define TEXT_RESERVE (64U << 10)

static const char *const op_str[] = {
	[CONTROL_STATUS] = "status", [CONTROL_RELOAD] = "reload",
	[CONTROL_SHOW] = "show",     [CONTROL_CHECK] = "check",
	[CONTROL_EXEC] = "exec",
};
_Static_assert(ARRAY_SIZE(op_str) == CONTROL_OP_MAX, "op_str");

/* ---- requests ---- */

static int decode_op(const json_t *o, enum control_op *ret, struct err *err)
{
	const char *word = json_string_value(json_object_get(o, "op"));
	unsigned int i;

	for (i = 0; word && i < CONTROL_OP_MAX; i++) {
		if (!strcmp(op_str[i], word)) {
			*ret = (enum control_op)i;
			return 0;
		}
	}
	return err_set(err, -EINVAL,
		       "\"op\" must be one of \"status\", \"reload\", "
		       "\"show\", \"check\" and \"exec\"");
}

/* A number that may be absent: then @ret keeps its value. */
static int decode_num(const json_t *o, const char *key, uint32_t min,
		      uint32_t max, uint32_t *ret, struct err *err)
{
	const json_t *j = json_object_get(o, key);
	json_int_t v = json_integer_value(j);

	if (!j)
		return 0;
	if (!json_is_integer(j) || v < min || v > max)
		return err_set(err, -EINVAL,
			       "\"%s\" must be a number from %" PRIu32
			       " to %" PRIu32,
			       key, min, max);
	*ret = (uint32_t)v;
	return 0;
}

static int decode_proto(const json_t *o, enum policy_proto *ret,
			struct err *err)
{
	const json_t *j = json_object_get(o, "proto");
	const char *word = json_string_value(j);

	if (!j)
		return 0;
	if (!word || policy_proto_parse(word, strlen(word), ret) < 0)
		return err_set(err, -EINVAL,
			       "\"proto\" must be \"tcp\", \"udp\" or "
			       "\"icmp\"");
	return 0;
}

static int decode_question(const json_t *o, struct policy_question *ret,
			   struct err *err)
{
	const char *host = json_string_value(json_object_get(o, "host"));
	struct policy_question q = { .port = POLICY_QUESTION_PORT };
	uint32_t port = q.port;
	int r;

	if (!host)
		return err_set(err, -EINVAL,
			       "\"host\" must be a name or an address");
	r = policy_question_set_host(&q, host, err);
	if (r == 0)
		r = decode_num(o, "port", 1, UINT16_MAX, &port, err);
	if (r == 0)
		r = decode_proto(o, &q.proto, err);
	if (r < 0)
		return r;
	q.port = q.proto == POLICY_ICMP ? 0 : (uint16_t)port;
	*ret = q;
	return 0;
}

int control_decode(const char *line, size_t len, struct control_request *ret,
		   struct err *err)
{
	struct control_request rq = { .op = CONTROL_STATUS };
	_cleanup_(json_decrefp) json_t *o = NULL;
	json_error_t je;
	int r;

	if (len > CONTROL_REQUEST_MAX)
		return err_set(err, -EMSGSIZE, "the request is too long");
	o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &je);
	if (!json_is_object(o))
		return err_set(err, -EINVAL,
			       "a request is one JSON object a line");
	r = decode_op(o, &rq.op, err);
	if (r == 0 && rq.op == CONTROL_CHECK)
		r = decode_question(o, &rq.question, err);
	if (r == 0 && rq.op == CONTROL_SHOW)
		r = decode_num(o, "entries_from", 0, UINT32_MAX,
			       &rq.entries_from, err);
	if (r == 0)
		*ret = rq;
	return r;
}

/* ---- replies ---- */

void control_text_done(struct control_text *t)
{
	freep(&t->v);
	memset(t, 0, sizeof(*t));
}

static void append(struct control_text *t, const char *s, size_t n)
{
	size_t room = t->room ? t->room : TEXT_ROOM_MIN;
	char *v;

	if (t->is_bad || n > CONTROL_REPLY_MAX - t->len) {
		t->is_bad = true;
		return;
	}
	while (room - t->len < n)
		room *= 2;
	if (room != t->room) {
		v = realloc(t->v, room);
		if (!v) {
			t->is_bad = true;
			return;
		}
		t->v = v;
		t->room = room;
	}
	memcpy(t->v + t->len, s, n);
	t->len += n;
}

/* Octets of the UTF-8 character at @s; 0 when it is none. */
static size_t utf8_len(const unsigned char *s)
{
	uint32_t c = s[0] & (s[0] < 0xe0 ? 0x1fU : s[0] < 0xf0 ? 0x0fU : 0x07U);
	size_t i, n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) /* also at the end of the string */
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if ((n == 3 && (c < 0x800 || (c >= 0xd800 && c <= 0xdfff))) ||
	    (n == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	return n;
}

static void append_quoted(struct control_text *t, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char esc[8];
	size_t n;

	append(t, "\"", 1);
	for (; *s; s += n) {
		n = 1;
		if (*s < 0x20 || *s == 0x7f) {
			(void)snprintf(esc, sizeof(esc), "\\u%04x", *s);
			append(t, esc, 6);
			continue;
		}
		if (*s == '"' || *s == '\\')
			append(t, "\\", 1);
		if (*s >= 0x80)
			n = utf8_len(s);
		if (n)
			append(t, (const char *)s, n);
		else
			append(t, "\\ufffd", 6);
		n += !n;
	}
	append(t, "\"", 1);
}

/* What stands before a value: a comma, its name. */
static void begin(struct control_text *t, const char *key)
{
	if (t->depth && !t->is_first)
		append(t, ",", 1);
	t->is_first = false;
	if (!key)
		return;
	append_quoted(t, key);
	append(t, ":", 1);
}

static void open_any(struct control_text *t, const char *key, bool is_array)
{
	begin(t, key);
	if (t->depth == CONTROL_DEPTH_MAX) {
		t->is_bad = true;
		return;
	}
	append(t, is_array ? "[" : "{", 1);
	t->close[t->depth++] = is_array;
	t->is_first = true;
}

void control_open_object(struct control_text *t, const char *key)
{
	open_any(t, key, false);
}

void control_open_array(struct control_text *t, const char *key)
{
	open_any(t, key, true);
}

void control_close(struct control_text *t)
{
	if (!t->depth) {
		t->is_bad = true;
		return;
	}
	append(t, t->close[--t->depth] ? "]" : "}", 1);
	t->is_first = false;
}

void control_put_str(struct control_text *t, const char *key, const char *value)
{
	begin(t, key);
	append_quoted(t, value);
}

void control_put_num(struct control_text *t, const char *key, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64, value);

	begin(t, key);
	append(t, text, (size_t)n);
}

void control_put_bool(struct control_text *t, const char *key, bool value)
{
	begin(t, key);
	append(t, value ? "true" : "false", value ? 4 : 5);
}

bool control_is_long(const struct control_text *t)
{
	return t->is_bad || t->len > CONTROL_REPLY_MAX - TEXT_RESERVE;
}
