/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * print.c - entries in their canonical form
 *
 * Printing is the inverse of parsing: what is printed parses to the same, and
 * entries that parse to the same print the same. So what the parser gave says
 * everything, and the text as written isn't looked at.
 *
 * A list of ports is turned back into what an entry can say. Port 0 can't be
 * written: a range that begins there comes from '*', and then all ports are in
 * the list but, in an entry that allows, those mail ports that aren't listed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "policy/policy_internal.h"

/* POLICY_PORTS_MAX ranges of 12 characters are the largest part. */
_Static_assert(POLICY_PRINT_MAX >= DNSNAME_STR_LEN + 12 * POLICY_PORTS_MAX + 64,
	       "every entry fits");

struct out {
	char *at;
	size_t room;
};

static void put(struct out *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void put(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(o->at, o->room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= o->room)
		return; /* can't be, see the assertion */
	o->at += n;
	o->room -= (size_t)n;
}

static bool is_all_of(const struct policy_port *p, enum policy_proto proto)
{
	return p->proto == proto && p->lo == 0 &&
	       p->hi == (proto == POLICY_ICMP ? 0 : POLICY_PORT_MAX);
}

/* Is it what an entry without a port means? */
static bool is_default(const struct parsed *e)
{
	const struct policy_port *p = e->ports.at;

	if (e->deny)
		return e->ports.n == 3 && is_all_of(&p[0], POLICY_TCP) &&
		       is_all_of(&p[1], POLICY_UDP) &&
		       is_all_of(&p[2], POLICY_ICMP);
	return e->ports.n == 2 && p[0].proto == POLICY_TCP && p[0].lo == 80 &&
	       p[0].hi == 80 && p[1].lo == 443 && p[1].hi == 443;
}

static bool holds(const struct port_buf *b, uint16_t port)
{
	struct port_list l = { b->at, b->at + b->n };

	return ports_find(&l, b->at[0].proto, port);
}

static void put_every_port(struct out *o, const struct parsed *e)
{
	static const uint16_t mail[] = { 25, 465, 587 };

	put(o, ":*");
	for (size_t i = 0; i < ARRAY_SIZE(mail) && !e->deny; i++)
		if (holds(&e->ports, mail[i]))
			put(o, ",%u", mail[i]);
}

static void put_ports(struct out *o, const struct parsed *e)
{
	const struct port_buf *b = &e->ports;

	if (is_default(e))
		return;
	if (b->at[0].proto == POLICY_ICMP) {
		put(o, "/icmp");
		return;
	}
	if (b->at[0].lo == 0) {
		put_every_port(o, e);
	} else {
		for (size_t i = 0; i < b->n; i++) {
			put(o, "%c%u", i ? ',' : ':', b->at[i].lo);
			if (b->at[i].hi > b->at[i].lo)
				put(o, "-%u", b->at[i].hi);
		}
	}
	if (b->at[0].proto == POLICY_UDP)
		put(o, "/udp");
}

static void put_net(struct out *o, const struct prefix *net, bool brackets)
{
	bool v6 = net->addr.family == AF_INET6;
	char text[ADDR_STR_LEN];

	brackets = brackets && v6;
	put(o, "%s%s", brackets ? "[" : "", addr_format(&net->addr, text));
	if (net->len < 8 * addr_len(&net->addr))
		put(o, "/%u", net->len);
	put(o, "%s", brackets ? "]" : "");
}

static void put_host(struct out *o, const struct parsed *e)
{
	const struct host *h = &e->host;
	char name[DNSNAME_STR_LEN];

	switch (h->kind) {
	case HOST_NAME:
		put(o, "%s", dnsname_format(&h->name, name));
		break;
	case HOST_BELOW:
		put(o, "*.%s", dnsname_format(&h->name, name));
		break;
	case HOST_ALL:
		put(o, "*");
		break;
	case HOST_NET:
		put_net(o, &h->net, !is_default(e));
		break;
	case HOST_PRESET:
		put(o, "@");
		for (const char *c = h->preset.at; c < h->preset.end; c++)
			put(o, "%c", *c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
		break;
	}
}

char *entry_print(const struct parsed *e, char dst[static POLICY_PRINT_MAX])
{
	struct out o = { dst, POLICY_PRINT_MAX };
	const char *word;

	put(&o, "%s", e->deny ? "!" : "");
	put_host(&o, e);
	if (e->host.kind != HOST_PRESET)
		put_ports(&o, e);
	for (size_t i = 0; (word = parse_word(i, e->flags)); i++)
		put(&o, "%s%s", *word ? " " : "", word);
	return dst;
}

static int print_line(struct span line, unsigned int how, char *dst,
		      struct complaint *c)
{
	struct parsed e;
	int r = parse_entry(line, how, &e, c);

	if (r > 0)
		(void)entry_print(&e, dst);
	return r;
}

int policy_line_print(const char *line, size_t len, bool deny,
		      char dst[static POLICY_PRINT_MAX], char *ret_msg)
{
	struct complaint c;
	int r = print_line((struct span){ line, line + len },
			   deny ? PARSE_DENY : 0, dst, &c);

	if (r == -EINVAL && ret_msg)
		(void)snprintf(ret_msg, POLICY_PRINT_MAX, "%s", c.msg);
	return r;
}

char *policy_entry_print(const struct policy *p, uint32_t entry,
			 char dst[static POLICY_PRINT_MAX])
{
	const struct entry *e;
	struct complaint c;
	const char *text;
	unsigned int how;

	dst[0] = '\0';
	if (entry >= p->n_entries)
		return dst;
	e = &p->entries[entry];
	text = p->texts + e->text;
	how = (e->deny ? PARSE_DENY : 0) |
	      (e->preset != POLICY_NO_ENTRY ? PARSE_MEMBER : 0);
	/* Has been parsed before; only memory can be short (names by IDNA). */
	if (print_line((struct span){ text, text + strlen(text) }, how, dst,
		       &c) <= 0)
		(void)snprintf(dst, POLICY_PRINT_MAX, "%s", text);
	return dst;
}
