/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clang-format off */
/*
 * parse.c - the grammar of one entry
 *
 *	entry  = [ "!" ] target *( space word ) [ "#" comment ]
 *	target = url / "@" preset /
 *		 host [ "/" length ] [ ":" ports ] [ "/" proto ]
 *	host   = "*" / [ "*." ] name / ipv4 / ipv6 /
 *		 "[" ipv6 [ "/" length ] "]"
 *	ports  = item *( "," item )
 *	item   = "*" / port / port "-" port
 *	proto  = "tcp" / "udp" / "icmp"
 *	url    = scheme "://" host [ ":" ports ] [ "/" anything ]
 *	word   = "private" / "unchecked" / "srv"
 *
 * A line is first cut into pieces, then each piece is read on its own, so that
 * a complaint can say which piece it doesn't understand. Bytes are hostile: the
 * file may have been written by anything.
 */
/* clang-format on */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_internal.h"
#include "policy/preset.h"

/* The pieces of a target; @at NULL: not there. */
struct pieces {
	struct span host, len, ports, proto;
	bool bracket; /* the host stood in [ ] */
	bool bare_v6; /* an IPv6 address without them */
};

static const struct {
	const char *name;
	uint32_t flag;
} words[] = {
	{ "private", POLICY_F_PRIVATE },
	{ "unchecked", POLICY_F_UNCHECKED },
	{ "srv", POLICY_F_SRV },
};

static const struct {
	const char *name;
	uint16_t port;
} schemes[] = {
	{ "https", 443 },  { "http", 80 },    { "wss", 443 },
	{ "ws", 80 },	   { "ssh", 22 },     { "sftp", 22 },
	{ "git", 9418 },   { "ftp", 21 },     { "postgresql", 5432 },
	{ "redis", 6379 }, { "mysql", 3306 },
};

/* What an entry without a port opens. */
static const uint16_t default_ports[] = { 80, 443 };

static size_t span_len(struct span s)
{
	return (size_t)(s.end - s.at);
}

static bool span_is(struct span s, const char *text)
{
	return span_len(s) == strlen(text) &&
	       memcmp(s.at, text, span_len(s)) == 0;
}

static const char *find(struct span s, char c)
{
	return memchr(s.at, c, span_len(s));
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Sets are a few characters: strchr(3) would cost more. */
static bool is_in(char c, const char *set)
{
	while (*set && *set != c)
		set++;
	return *set;
}

static bool has_only(struct span s, const char *set)
{
	for (; s.at < s.end; s.at++)
		if (!is_in(*s.at, set))
			return false;
	return true;
}

/* The stretch from @at up to the first character of @stops. */
static struct span take(const char *at, const char *end, const char *stops)
{
	struct span s = { at, at };

	while (s.end < end && !is_in(*s.end, stops))
		s.end++;
	return s;
}

static bool looks_like_v4(struct span s)
{
	bool digit = false;

	for (const char *p = s.at; p < s.end; p++)
		digit = digit || is_digit(*p);
	return digit && has_only(s, "0123456789.");
}

/* ---- cutting ---- */

static int cut_bracket(struct span t, struct pieces *p, const char **ret_rest,
		       struct complaint *c)
{
	struct span inside = { t.at + 1, find(t, ']') };
	char q[POLICY_QUOTE_LEN];
	const char *slash;

	if (!inside.end)
		return complain(c, t.at,
				"'[' without ']'; [2001:db8::1]:443 was meant");
	if (!find(inside, ':'))
		return complain(c, inside.at,
				"'%s' is not an IPv6 address; only IPv6 "
				"addresses stand in brackets, as in "
				"[2001:db8::1]:443",
				quote(q, inside));
	slash = find(inside, '/');
	p->bracket = true;
	p->host = (struct span){ inside.at, slash ? slash : inside.end };
	if (slash)
		p->len = (struct span){ slash + 1, inside.end };
	*ret_rest = inside.end + 1;
	return 0;
}

/* Two colons: an IPv6 address, or a slip. */
static int cut_colons(struct span host, struct pieces *p, struct complaint *c)
{
	struct span first = take(host.at, host.end, ":");
	struct span no_zone = take(host.at, host.end, "%");
	char q[POLICY_QUOTE_LEN];

	if (find(first, '.') ||
	    !has_only(no_zone, "0123456789abcdefABCDEF:.,-*"))
		return complain(c, first.end,
				"more than one ':' in '%s'; ports are joined "
				"by commas, as in example.org:22,443",
				quote(q, host));
	p->bare_v6 = true;
	p->host = host;
	return 0;
}

static int cut_host(struct span t, struct pieces *p, const char **ret_rest,
		    struct complaint *c)
{
	struct span host = take(t.at, t.end, "/");
	const char *colon = find(host, ':');

	if (t.at < t.end && *t.at == '[')
		return cut_bracket(t, p, ret_rest, c);
	if (colon && find((struct span){ colon + 1, host.end }, ':')) {
		*ret_rest = host.end;
		return cut_colons(host, p, c);
	}
	p->host = (struct span){ t.at, colon ? colon : host.end };
	*ret_rest = p->host.end;
	if (p->host.at == p->host.end)
		return complain(c, t.at,
				"a host is missing; example.org:443 or "
				"192.0.2.1:443 was meant");
	return 0;
}

static int cut(struct span t, struct pieces *p, struct complaint *c)
{
	const char *rest = t.at;
	int r = cut_host(t, p, &rest, c);

	if (r < 0)
		return r;
	if (rest < t.end && *rest == '/' && !p->len.at) {
		struct span len = take(rest + 1, t.end, "/:");

		if (span_len(len) > 0 && has_only(len, "0123456789")) {
			p->len = len;
			rest = len.end;
		}
	}
	if (rest < t.end && *rest == ':') {
		p->ports = take(rest + 1, t.end, "/");
		rest = p->ports.end;
	}
	if (rest < t.end && *rest == '/') {
		p->proto = (struct span){ rest + 1, t.end };
		rest = t.end;
	}
	if (rest < t.end)
		return complain(c, rest,
				"only ':' and ports, or '/' and a protocol, "
				"can follow ']', as in [2001:db8::1]:443");
	return 0;
}

/* ---- reading ---- */

static int read_host(const struct pieces *p, struct host *ret,
		     struct complaint *c)
{
	struct span whole = { p->host.at, p->len.end };
	char q[POLICY_QUOTE_LEN];

	if (p->bare_v6 && p->ports.at)
		return complain(c, p->host.at,
				"put IPv6 addresses with a port in brackets: "
				"[2001:db8::1]:443, [2001:db8::/32]:443");
	if (p->bracket || p->bare_v6 || looks_like_v4(p->host))
		return host_parse_net(p->host, p->len, ret, c);
	if (p->len.at)
		return complain(c, p->len.at,
				"'%s' mixes a name with a prefix length; only "
				"addresses have one, as in 10.1.0.0/16",
				quote(q, whole));
	return host_parse_name(p->host, ret, c);
}

static int read_proto(const struct pieces *p, enum policy_proto *ret,
		      struct complaint *c)
{
	char q[POLICY_QUOTE_LEN];

	*ret = POLICY_TCP;
	if (!p->proto.at)
		return 0;
	for (enum policy_proto i = 0; i < POLICY_PROTO_MAX; i++) {
		*ret = i;
		if (span_is(p->proto, policy_proto_str(i)))
			return 0;
	}
	if (p->ports.at && span_len(p->proto) > 0 &&
	    has_only(p->proto, "0123456789"))
		return complain(c, p->proto.at,
				"the prefix length stands before the port, as "
				"in 10.1.0.0/16:443");
	return complain(c, p->proto.at,
			"'%s' is not a protocol; /tcp, /udp or /icmp, or a URL "
			"with its scheme, as in https://example.org/path, was "
			"meant",
			quote(q, p->proto));
}

/* An entry without a port. Room is certain: nothing is in the list yet. */
static int add_default_ports(const struct pieces *p, enum policy_proto proto,
			     struct parsed *ret, struct complaint *c)
{
	if (ret->deny) {
		for (enum policy_proto i = 0; i < POLICY_PROTO_MAX; i++)
			if (!p->proto.at || i == proto)
				(void)ports_add(
					&ret->ports, i, 0,
					i == POLICY_ICMP ? 0 : POLICY_PORT_MAX);
	} else if (proto == POLICY_ICMP) {
		(void)ports_add(&ret->ports, proto, 0, 0);
	} else if (proto == POLICY_UDP) {
		return complain(c, p->proto.at,
				"UDP needs its ports named, as in "
				"example.org:443/udp");
	} else {
		for (size_t i = 0; i < ARRAY_SIZE(default_ports); i++)
			(void)ports_add(&ret->ports, proto, default_ports[i],
					default_ports[i]);
	}
	return 0;
}

static int read_target(struct span t, struct parsed *ret, struct complaint *c)
{
	struct pieces p = { 0 };
	enum policy_proto proto = POLICY_TCP;
	int r = cut(t, &p, c);

	if (r == 0)
		r = read_host(&p, &ret->host, c);
	if (r == 0)
		r = read_proto(&p, &proto, c);
	if (r < 0)
		return r;
	if (!p.ports.at)
		return add_default_ports(&p, proto, ret, c);
	if (proto == POLICY_ICMP)
		return complain(
			c, p.ports.at,
			"icmp has no ports; example.org/icmp was meant");
	return ports_parse(p.ports, proto, ret->deny, &ret->ports, c);
}

static int read_scheme(struct span scheme, uint16_t *ret, struct complaint *c)
{
	char q[POLICY_QUOTE_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		if (!span_is(scheme, schemes[i].name))
			continue;
		*ret = schemes[i].port;
		return 0;
	}
	return complain(c, scheme.at,
			"no port is known for URLs that begin with '%s://'; "
			"the host and its port were meant, as in "
			"example.org:443",
			quote(q, scheme));
}

static int read_url(struct span scheme, const char *end, struct parsed *ret,
		    struct complaint *c)
{
	struct span authority = take(scheme.end + strlen("://"), end, "/?");
	const char *at = find(authority, '@');
	struct pieces p = { 0 };
	char q[POLICY_QUOTE_LEN];
	uint16_t port = 0;
	int r;

	/* "https://good.example@evil.example/" is the second host. */
	if (at)
		return complain(
			c, authority.at,
			"a URL with a user name; the host alone was "
			"meant: '%s'",
			quote(q, (struct span){ at + 1, authority.end }));
	r = cut(authority, &p, c);
	if (r == 0)
		r = read_host(&p, &ret->host, c);
	if (r < 0)
		return r;
	if (p.ports.at)
		return ports_parse(p.ports, POLICY_TCP, ret->deny, &ret->ports,
				   c);
	r = read_scheme(scheme, &port, c);
	if (r == 0)
		(void)ports_add(&ret->ports, POLICY_TCP, port, port);
	return r;
}

static int read_words(struct span s, uint32_t *ret, struct complaint *c)
{
	char q[POLICY_QUOTE_LEN];

	for (;;) {
		struct span word;
		size_t i;

		while (s.at < s.end && is_space(*s.at))
			s.at++;
		if (s.at == s.end)
			return 0;
		word = take(s.at, s.end, " \t");
		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (span_is(word, words[i].name))
				break;
		if (i == ARRAY_SIZE(words))
			return complain(c, word.at,
					"'%s' is not a word that an entry can "
					"have (private, unchecked, srv); each "
					"entry stands on a line of its own, "
					"without spaces inside",
					quote(q, word));
		*ret |= words[i].flag;
		s.at = word.end;
	}
}

static int check_words(const struct parsed *e, struct span s, unsigned int how,
		       struct complaint *c)
{
	bool name = e->host.kind == HOST_NAME || e->host.kind == HOST_BELOW ||
		    e->host.kind == HOST_PRESET;
	const char *at = s.at;

	while (at < s.end && is_space(*at))
		at++;
	if (e->deny && e->flags && !(how & PARSE_MEMBER))
		return complain(c, at,
				"a denied entry has no words; it denies "
				"whatever they would change");
	if (e->host.kind == HOST_ALL && e->flags & POLICY_F_PRIVATE)
		return complain(c, at,
				"'*' never opens private addresses; an address "
				"or a name with 'private' was meant");
	if (e->flags & POLICY_F_SRV && !name)
		return complain(c, at,
				"'srv' needs a name whose SRV records are "
				"looked up");
	return 0;
}

/* Finds the entry in its line; an empty span if there is none. */
static int find_entry(struct span line, struct span *ret, struct complaint *c)
{
	const char *nul = find(line, '\0');
	struct span s = take(line.at, line.end, "#");

	if (nul)
		return complain(c, nul,
				"a NUL byte; plain text in UTF-8 was meant");
	while (s.at < s.end && is_space(*s.at))
		s.at++;
	while (s.at < s.end && is_space(s.end[-1]))
		s.end--;
	for (const char *p = s.at; p < s.end; p++) {
		unsigned char b = (unsigned char)*p;

		if ((b < 0x20 && !is_space(*p)) || b == 0x7f)
			return complain(c, p,
					"the control byte 0x%02x; printable "
					"text was meant",
					b);
	}
	*ret = s;
	return 0;
}

const char *parse_word(size_t i, uint32_t flags)
{
	if (i >= ARRAY_SIZE(words))
		return NULL;
	return (flags & words[i].flag) ? words[i].name : "";
}

/* The name of a preset, and nothing else: ports and words are its own. */
static int read_preset(struct span name, struct parsed *ret,
		       struct complaint *c)
{
	const char *colon = find(name, ':');
	char q[POLICY_QUOTE_LEN];

	if (!colon)
		colon = find(name, '/');
	if (colon && colon > name.at)
		return complain(c, colon,
				"a preset has ports of its own; '@%s' alone "
				"was meant",
				quote(q, (struct span){ name.at, colon }));
	if (!preset_is_name(name.at, span_len(name)))
		return complain(c, name.at,
				"'%s' is not the name of a preset; letters, "
				"digits, '-' and '_', as in @pypi, were meant",
				quote(q, name));
	ret->host.kind = HOST_PRESET;
	ret->host.preset = name;
	return 0;
}

int parse_entry(struct span line, unsigned int how, struct parsed *ret,
		struct complaint *c)
{
	struct span s = { 0 }, target, scheme, rest;
	int r = find_entry(line, &s, c);

	if (r < 0 || s.at == s.end)
		return r;
	ret->text = s;
	ret->deny = how & PARSE_DENY;
	ret->flags = 0;
	ret->ports.n = 0;
	if (*s.at == '!') {
		ret->deny = true;
		for (s.at++; s.at < s.end && is_space(*s.at);)
			s.at++;
	}
	target = take(s.at, s.end, " \t");
	scheme = take(target.at, target.end, ":/");
	if (target.at < target.end && *target.at == '@') {
		r = read_preset((struct span){ target.at + 1, target.end }, ret,
				c);
	} else if (target.end - scheme.end >= 3 &&
		   memcmp(scheme.end, "://", 3) == 0) {
		r = read_url(scheme, target.end, ret, c);
	} else {
		r = read_target(target, ret, c);
	}
	rest = (struct span){ target.end, s.end };
	if (r == 0)
		r = read_words(rest, &ret->flags, c);
	if (r == 0)
		r = check_words(ret, rest, how, c);
	if (r < 0)
		return r;
	if (ret->deny)
		ret->flags = 0;
	for (size_t i = 0; i < ret->ports.n; i++)
		ret->ports.at[i].flags = ret->flags;
	ports_normalise(&ret->ports);
	return 1;
}
