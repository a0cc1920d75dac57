/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host.c - the host of an entry: a name, "*." and a name, an address, a network
 *
 * Strict on purpose. Forms that programs read differently (octal or short IPv4
 * addresses, names that end in a number) are refused, so that an entry means
 * the same here and in the program it is written for.
 */
#include <errno.h>
#include <idn2.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "policy/policy_internal.h"

#define NAME_TEXT_MAX 253  /* what fits 255 octets of wire form */
#define IDN_TEXT_MAX  1024 /* octets of UTF-8; far more than can fit */

static void idn_freep(char **p)
{
	idn2_free(*p);
}

static size_t span_len(struct span s)
{
	return (size_t)(s.end - s.at);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* WHATWG URL, "ends in a number": 127.1, 0x7f000001, 1.2.3.256 */
static bool is_number(struct span label)
{
	const char *p = label.at;
	bool hex = span_len(label) >= 2 && p[0] == '0' &&
		   (p[1] == 'x' || p[1] == 'X');

	if (hex)
		p += 2;
	for (; p < label.end; p++)
		if (hex ? !is_hex(*p) : !is_digit(*p))
			return false;
	return true;
}

static int check_label(struct span label, struct complaint *c)
{
	char q[POLICY_QUOTE_LEN];

	if (label.at == label.end)
		return complain(
			c, label.at,
			"an empty label; exactly one dot stands between "
			"the labels of a name, as in www.example.org");
	for (const char *p = label.at; p < label.end; p++) {
		if (is_alnum(*p) || *p == '-' || *p == '_')
			continue;
		if (*p == '*')
			return complain(c, p,
					"'*' may only stand alone or as the "
					"first label, as in *.example.org");
		return complain(c, p,
				"'%s' can't stand in a host name; letters, "
				"digits, '-', '_' and dots can",
				quote(q, (struct span){ p, p + 1 }));
	}
	if (span_len(label) > DNSNAME_LABEL_MAX)
		return complain(c, label.at,
				"a label of %zu characters; a label has at "
				"most %d",
				span_len(label), DNSNAME_LABEL_MAX);
	return 0;
}

static int check_name(struct span name, struct complaint *c)
{
	struct span label = { name.at, name.at };
	char q[POLICY_QUOTE_LEN];

	if (span_len(name) > 1 && name.end[-1] == '.')
		name.end--;
	for (;; label.at = label.end + 1) {
		int r;

		label.end = label.at;
		while (label.end < name.end && *label.end != '.')
			label.end++;
		r = check_label(label, c);
		if (r < 0)
			return r;
		if (label.end == name.end)
			break;
	}
	if (is_number(label))
		return complain(c, name.at,
				"'%s' is not a well-written IPv4 address; four "
				"decimal numbers 0-255 without leading zeros, "
				"as in 192.0.2.1, or a name whose last label "
				"is not a number was meant",
				quote(q, name));
	return 0;
}

static int parse_ascii(struct span name, struct host *ret, struct complaint *c)
{
	size_t len = span_len(name);
	int r = check_name(name, c);

	if (r < 0)
		return r;
	/* Each label is fine: only the whole can be too long. */
	if (dnsname_from_text(name.at, len, &ret->name) < 0)
		return complain(c, name.at,
				"a name of %zu characters; a name has at most "
				"%d",
				len, NAME_TEXT_MAX);
	return 0;
}

/*
 * TR46 without transitional mappings, as browsers do it. The flag for STD3
 * ASCII rules is left out: with it libidn2 (2.3.3) drops the characters that
 * they forbid, '*' and '/' among them, and names another host. Without it they
 * are refused, or come out as they are for check_label() to refuse.
 */
static int parse_idn(struct span name, struct host *ret, struct complaint *c)
{
	_cleanup_(idn_freep) char *ascii = NULL;
	char text[IDN_TEXT_MAX + 1], q[POLICY_QUOTE_LEN];
	int r;

	if (span_len(name) > IDN_TEXT_MAX)
		return complain(c, name.at,
				"a name of %zu bytes; a name has at most %d "
				"characters",
				span_len(name), NAME_TEXT_MAX);
	memcpy(text, name.at, span_len(name));
	text[span_len(name)] = '\0';
	r = idn2_to_ascii_8z(text, &ascii, IDN2_NONTRANSITIONAL);
	if (r == IDN2_MALLOC)
		return -ENOMEM;
	if (r != IDN2_OK)
		return complain(c, name.at,
				"'%s' is not an internationalised name (%s); "
				"UTF-8 text that IDNA allows was meant",
				quote(q, name), idn2_strerror(r));
	r = parse_ascii((struct span){ ascii, ascii + strlen(ascii) }, ret, c);
	if (r == -EINVAL)
		c->at = name.at; /* columns of the ASCII form mean nothing */
	return r;
}

static bool is_ascii(struct span s)
{
	for (; s.at < s.end; s.at++)
		if ((unsigned char)*s.at >= 0x80)
			return false;
	return true;
}

int host_parse_name(struct span text, struct host *ret, struct complaint *c)
{
	ret->kind = HOST_NAME;
	if (span_len(text) == 1 && *text.at == '*') {
		ret->kind = HOST_ALL;
		return 0;
	}
	/* Elsewhere "**." means any depth and "*." one label; here both mean
	   any depth. */
	if (span_len(text) >= 3 && memcmp(text.at, "**.", 3) == 0)
		text.at++;
	if (span_len(text) >= 2 && text.at[0] == '*' && text.at[1] == '.') {
		ret->kind = HOST_BELOW;
		text.at += 2;
		if (text.at == text.end)
			return complain(c, text.at,
					"a name is missing after '*.'; as in "
					"*.example.org");
	}
	if (is_ascii(text))
		return parse_ascii(text, ret, c);
	return parse_idn(text, ret, c);
}

static int parse_addr(struct span text, struct addr *ret, struct complaint *c)
{
	const char *zone = memchr(text.at, '%', span_len(text));
	bool v6 = memchr(text.at, ':', span_len(text));
	char copy[ADDR_STR_LEN] = "", q[POLICY_QUOTE_LEN];

	if (zone)
		return complain(c, zone,
				"an address with a zone; the address without "
				"'%s' was meant",
				quote(q, (struct span){ zone, text.end }));
	if (span_len(text) < sizeof(copy))
		memcpy(copy, text.at, span_len(text));
	if (addr_parse(copy, ret) == 0)
		return 0;
	if (v6)
		return complain(c, text.at,
				"'%s' is not an IPv6 address; put IPv6 "
				"addresses with a port in brackets: "
				"[2001:db8::1]:443",
				quote(q, text));
	return complain(c, text.at,
			"'%s' is not a well-written IPv4 address; four decimal "
			"numbers 0-255 without leading zeros, as in 192.0.2.1, "
			"were meant",
			quote(q, text));
}

static int parse_prefix_len(struct span text, const struct addr *a,
			    uint8_t *ret, struct complaint *c)
{
	unsigned int max = a->family == AF_INET ? 32 : 128;
	char q[POLICY_QUOTE_LEN];
	uint16_t len;

	if (parse_u16(text.at, span_len(text), &len) < 0 || len > max)
		return complain(c, text.at,
				"'%s' is not a prefix length; %s networks have "
				"0-%u",
				quote(q, text),
				a->family == AF_INET ? "IPv4" : "IPv6", max);
	*ret = (uint8_t)len;
	return 0;
}

int host_parse_net(struct span text, struct span len, struct host *ret,
		   struct complaint *c)
{
	char whole[ADDR_STR_LEN], meant[ADDR_STR_LEN];
	struct prefix net = { 0 };
	struct addr masked;
	int r = parse_addr(text, &net.addr, c);

	if (r < 0)
		return r;
	net.len = (uint8_t)(8 * addr_len(&net.addr));
	if (len.at) {
		r = parse_prefix_len(len, &net.addr, &net.len, c);
		if (r < 0)
			return r;
	}
	masked = addr_mask(&net.addr, net.len);
	if (!addr_equal(&masked, &net.addr))
		return complain(c, text.at,
				"%s has bits set behind its first %u; the "
				"network is %s/%u",
				addr_format(&net.addr, whole), net.len,
				addr_format(&masked, meant), net.len);
	ret->kind = HOST_NET;
	ret->net = addr_unmap(net); /* hosts see no difference */
	return 0;
}
