/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event.c - events as values, JSON and sentences */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "gateway/event.h"

static const char *const type_str[] = {
	[EVENT_REFUSED] = "refused", [EVENT_ALLOWED] = "allowed",
	[EVENT_LEARNED] = "learned", [EVENT_CLOSED] = "closed",
	[EVENT_POLICY] = "policy",   [EVENT_ERROR] = "error",
};
_Static_assert(ARRAY_SIZE(type_str) == EVENT_TYPE_MAX, "type_str");

static const char *const kind_str[] = {
	[EVENT_KIND_NONE] = "",	    [EVENT_KIND_DNS] = "dns",
	[EVENT_KIND_TCP] = "tcp",   [EVENT_KIND_UDP] = "udp",
	[EVENT_KIND_ICMP] = "icmp", [EVENT_KIND_TLS] = "tls",
	[EVENT_KIND_HTTP] = "http", [EVENT_KIND_PACKET] = "packet",
};
_Static_assert(ARRAY_SIZE(kind_str) == EVENT_KIND_MAX, "kind_str");

/* The word of the JSON member, and what a person reads. */
static const struct {
	const char *word, *text;
} reason_str[] = {
	[EVENT_REASON_NONE] = { "", "refused" },
	[EVENT_REASON_NOT_LISTED] = { "not_listed", "not on the allowlist" },
	[EVENT_REASON_PORT] = { "port",
				"the allowlist has this host, but not this "
				"port" },
	[EVENT_REASON_DENIED] = { "denied", "denied by the allowlist" },
	[EVENT_REASON_PRIVATE] = { "private",
				   "a private or special-purpose address" },
	[EVENT_REASON_NAME_MISMATCH] = { "name_mismatch",
					 "the name it asked for isn't allowed "
					 "at this address" },
	[EVENT_REASON_NO_NAME] = { "no_name", "it sent no server name" },
	[EVENT_REASON_PROTOCOL] = { "protocol",
				    "this protocol isn't let through" },
	[EVENT_REASON_LIMIT] = { "limit", "a limit of the sandbox is reached" },
	[EVENT_REASON_UPSTREAM] = { "upstream",
				    "the destination or the way to it failed" },
};
_Static_assert(ARRAY_SIZE(reason_str) == EVENT_REASON_MAX, "reason_str");

const char *event_type_str(enum event_type t)
{
	return type_str[t];
}

const char *event_kind_str(enum event_kind k)
{
	return kind_str[k];
}

const char *event_reason_str(enum event_reason r)
{
	return reason_str[r].word;
}

const char *event_reason_text(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reason_str); i++)
		if (!strcmp(reason_str[i].word, word))
			return reason_str[i].text;
	return reason_str[EVENT_REASON_NONE].text;
}

void event_init(struct event *e, enum event_type type, enum event_kind kind)
{
	memset(e, 0, sizeof(*e));
	e->type = type;
	e->kind = kind;
	clock_rfc3339(e->time, sizeof(e->time));
}

int event_check(struct event *e)
{
	if ((unsigned int)e->type >= EVENT_TYPE_MAX ||
	    (unsigned int)e->kind >= EVENT_KIND_MAX ||
	    (unsigned int)e->reason >= EVENT_REASON_MAX)
		return -EPROTO;
	e->time[sizeof(e->time) - 1] = '\0';
	e->name[sizeof(e->name) - 1] = '\0';
	e->qtype[sizeof(e->qtype) - 1] = '\0';
	e->entry[sizeof(e->entry) - 1] = '\0';
	e->text[sizeof(e->text) - 1] = '\0';
	e->comm[sizeof(e->comm) - 1] = '\0';
	return 0;
}

/* Adds a string member; "" is unknown and stays absent. */
static int put_str(json_t *o, const char *key, const char *value)
{
	char escaped[EVENT_LINE_MAX];
	json_t *s;

	if (!value[0])
		return 0;
	s = json_string(value);
	if (!s) /* not UTF-8 */
		s = json_string(log_escape(escaped, sizeof(escaped), value,
					   strlen(value)));
	return json_object_set_new(o, key, s);
}

static int put_num(json_t *o, const char *key, uint64_t value)
{
	if (!value)
		return 0;
	return json_object_set_new(o, key, json_integer((json_int_t)value));
}

int event_json(const struct event *e, const char *sandbox, char **ret)
{
	char addr[ADDR_STR_LEN] = "";
	int bad = 0;
	json_t *o;
	char *text;

	o = json_object();
	if (!o)
		return -ENOMEM;
	if (e->addr.family)
		addr_format(&e->addr, addr);
	bad |= put_str(o, "time", e->time);
	bad |= put_str(o, "sandbox", sandbox);
	bad |= put_str(o, "event", type_str[e->type]);
	bad |= put_str(o, "kind", kind_str[e->kind]);
	bad |= put_str(o, "name", e->name);
	bad |= put_str(o, "qtype", e->qtype);
	bad |= put_str(o, "addr", addr);
	bad |= put_num(o, "port", e->port);
	bad |= put_str(o, "reason", reason_str[e->reason].word);
	bad |= put_str(o, "entry", e->entry);
	bad |= put_str(o, "text", e->text);
	bad |= put_num(o, "pid", (uint64_t)e->pid);
	bad |= put_str(o, "comm", e->comm);
	bad |= put_num(o, "bytes_out", e->bytes_out);
	bad |= put_num(o, "bytes_in", e->bytes_in);
	bad |= put_num(o, "count", e->count);
	text = bad ? NULL : json_dumps(o, JSON_COMPACT);
	json_decref(o);
	if (!text)
		return -ENOMEM;
	*ret = text;
	return 0;
}

/* Appends to a bounded line; what doesn't fit is cut. */
static void add(char *dst, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add(char *dst, size_t size, const char *fmt, ...)
{
	size_t len = strlen(dst);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(dst + len, size - len, fmt, ap);
	va_end(ap);
}

static const char *proto_word(enum event_kind k)
{
	switch (k) {
	case EVENT_KIND_UDP:
		return "udp";
	case EVENT_KIND_ICMP:
		return "icmp";
	default:
		return "tcp";
	}
}

/* host:port of the line and of the entry that would allow it */
static void add_host(const struct event *e, char *dst, size_t size)
{
	char addr[ADDR_STR_LEN];

	if (e->name[0]) {
		add(dst, size, "%s", e->name);
		return;
	}
	if (!e->addr.family)
		return;
	addr_format(&e->addr, addr);
	add(dst, size, e->addr.family == AF_INET6 ? "[%s]" : "%s", addr);
}

static void add_what(const struct event *e, char *dst, size_t size)
{
	char addr[ADDR_STR_LEN];

	add_host(e, dst, size);
	if (e->kind == EVENT_KIND_DNS) {
		add(dst, size, " (DNS %s)", e->qtype[0] ? e->qtype : "query");
		return;
	}
	if (e->kind == EVENT_KIND_PACKET) {
		add(dst, size, " (%s)", e->text[0] ? e->text : "packet");
		return;
	}
	if (e->port)
		add(dst, size, ":%u", e->port);
	add(dst, size, "/%s", proto_word(e->kind));
	if (e->name[0] && e->addr.family)
		add(dst, size, " [%s]", addr_format(&e->addr, addr));
}

/*
 * May the name stand in a command that a person pastes into a shell? The
 * sandboxed command chose it: "$(reboot).example" must not get there, nor what
 * an entry would mean something else by: "*.example", "@preset", "192.0.2.1".
 */
static bool is_plain_name(const char *name)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	struct addr a;

	return name[0] && name[0] != '-' && name[0] != '.' &&
	       strspn(name, ok) == strlen(name) && addr_parse(name, &a) < 0;
}

static bool has_remedy(const struct event *e)
{
	if (e->reason != EVENT_REASON_NOT_LISTED &&
	    e->reason != EVENT_REASON_PORT && e->reason != EVENT_REASON_PRIVATE)
		return false;
	if (e->kind == EVENT_KIND_PACKET)
		return false;
	if (e->kind == EVENT_KIND_UDP && !e->port)
		return false; /* an entry needs UDP's port */
	return e->name[0] ? is_plain_name(e->name) : e->addr.family != 0;
}

/* The entry that would open it, after "egret allow TARGET". */
static void add_remedy(const struct event *e, const char *sandbox, char *dst,
		       size_t size)
{
	bool is_private = e->reason == EVENT_REASON_PRIVATE && e->name[0];
	const char *quote = "";

	if (e->reason == EVENT_REASON_DENIED && e->entry[0])
		add(dst, size, " (entry '%s')", e->entry);
	if (!has_remedy(e))
		return;
	/* Brackets are a pattern to some shells. */
	if (is_private || (!e->name[0] && e->addr.family == AF_INET6))
		quote = "'";
	add(dst, size, "; to allow: egret allow %s %s", sandbox, quote);
	add_host(e, dst, size);
	if (e->kind == EVENT_KIND_ICMP)
		add(dst, size, "/icmp");
	else if (e->kind == EVENT_KIND_UDP)
		add(dst, size, ":%u/udp", e->port);
	else if (e->port && e->port != 443 && e->port != 80)
		/* An entry without a port means 443 and 80. */
		add(dst, size, ":%u", e->port);
	add(dst, size, "%s%s", is_private ? " private" : "", quote);
}

char *event_sentence(const struct event *e, const char *sandbox, char *dst,
		     size_t size)
{
	char comm[4 * EVENT_COMM_MAX];

	dst[0] = '\0';
	if (e->type != EVENT_REFUSED) {
		add(dst, size, "%s", e->text);
		return dst;
	}
	add(dst, size, "refused ");
	add_what(e, dst, size);
	if (e->pid) {
		log_escape(comm, sizeof(comm), e->comm, strlen(e->comm));
		add(dst, size, " by %s(%d)", comm, (int)e->pid);
	}
	add(dst, size, ": %s", reason_str[e->reason].text);
	if (e->reason == EVENT_REASON_PRIVATE && e->kind == EVENT_KIND_DNS &&
	    e->addr.family) {
		char addr[ADDR_STR_LEN];

		add(dst, size, " (%s)", addr_format(&e->addr, addr));
	}
	add_remedy(e, sandbox, dst, size);
	return dst;
}
