/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * errors.c - complaints about entries, and the words of verdicts
 *
 * What a message quotes is made printable here, when it is written; a file's
 * name, which is printed beside it, when the error is formatted.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "policy/policy_internal.h"

static const char *const reason_names[] = {
	[POLICY_ALLOWED] = "allowed", [POLICY_NOT_LISTED] = "not_listed",
	[POLICY_PORT] = "port",	      [POLICY_DENIED] = "denied",
	[POLICY_PRIVATE] = "private",
};

_Static_assert(ARRAY_SIZE(reason_names) == POLICY_REASON_MAX, "one each");

static const char *const proto_names[] = {
	[POLICY_TCP] = "tcp",
	[POLICY_UDP] = "udp",
	[POLICY_ICMP] = "icmp",
};

_Static_assert(ARRAY_SIZE(proto_names) == POLICY_PROTO_MAX, "one each");

int complain(struct complaint *c, const char *at, const char *fmt, ...)
{
	va_list ap;

	c->at = at;
	va_start(ap, fmt);
	(void)vsnprintf(c->msg, sizeof(c->msg), fmt, ap); /* cut is fine */
	va_end(ap);
	return -EINVAL;
}

static bool is_printable(unsigned char c)
{
	return c >= 0x20 && c < 0x7f;
}

size_t put_safe(char *dst, size_t room, unsigned char c)
{
	if (is_printable(c)) {
		if (room < 2)
			return 0;
		dst[0] = (char)c;
		return 1;
	}
	if (room < 5)
		return 0;
	return (size_t)snprintf(dst, room, "\\x%02x", c);
}

char *quote(char dst[static POLICY_QUOTE_LEN], struct span s)
{
	size_t room = POLICY_QUOTE_LEN - 3; /* for the dots */
	size_t at = 0;

	for (; s.at < s.end; s.at++) {
		size_t n = put_safe(dst + at, room - at, (unsigned char)*s.at);

		if (n == 0) {
			memcpy(dst + at, "...", 3);
			at += 3;
			break;
		}
		at += n;
	}
	dst[at] = '\0';
	return dst;
}

int errors_add(struct error_list *l, const char *source, uint32_t line,
	       uint32_t column, const char *msg)
{
	struct policy_error *at = grow(l->at, l->n, &l->room, sizeof(*at));
	char *copy;

	if (!at)
		return -ENOMEM;
	l->at = at;
	copy = strdup(msg);
	if (!copy)
		return -ENOMEM;
	at[l->n++] = (struct policy_error){
		.source = source,
		.line = line,
		.column = column,
		.msg = copy,
	};
	return 0;
}

void errors_done(struct error_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free((void *)(uintptr_t)l->at[i].msg); /* ours, not const */
	free(l->at);
	*l = (struct error_list){ 0 };
}

char *policy_error_format(const struct policy_error *e, char *dst, size_t size)
{
	char place[32] = "";
	size_t at = 0;

	if (size == 0)
		return dst;
	if (e->line > 0)
		(void)snprintf(place, sizeof(place), ":%u:%u", e->line,
			       e->column);
	for (const char *s = e->source; *s; s++) {
		size_t n = put_safe(dst + at, size - at, (unsigned char)*s);

		if (n == 0)
			break;
		at += n;
	}
	(void)snprintf(dst + at, size - at, "%s: %s", place, e->msg);
	return dst;
}

const char *policy_reason_str(enum policy_reason r)
{
	return r < POLICY_REASON_MAX ? reason_names[r] : "unknown";
}

const char *policy_proto_str(enum policy_proto p)
{
	return p < POLICY_PROTO_MAX ? proto_names[p] : "unknown";
}
