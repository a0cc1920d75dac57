/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_policy_parse.c - what entries mean, and what is said of wrong ones */
#include <stdlib.h>

#include "tests/unit/policy_tools.h"

#define L20  "aaaaaaaaaaaaaaaaaaaa"
#define L60  L20 L20 L20
#define N252 L60 "." L60 "." L60 "." L60 ".aaaaaaaa"

#define EVERY_PORT "tcp 0-65535 udp 0-65535 icmp 0-0"

/* ---- names ---- */

static const struct {
	const char *entry, *name, *ports; /* ports: "" not allowed */
} names[] = {
	{ "example.org", "example.org", "tcp 80-80 443-443" },
	{ "EXAMPLE.org.", "example.org", "tcp 80-80 443-443" },
	{ "example.org", "www.example.org", "" },
	{ "example.org", "org", "" },
	{ "*.example.org", "example.org", "" },
	{ "*.example.org", "a.b.c.example.org", "tcp 80-80 443-443" },
	{ "*.example.org", "evilexample.org", "" },
	{ "*.example.org.", "a.example.org", "tcp 80-80 443-443" },
	{ "**.example.org", "a.b.example.org", "tcp 80-80 443-443" },
	{ "**.example.org", "example.org", "" },
	{ "  \texample.org \t ", "example.org", "tcp 80-80 443-443" },
	{ "example.org#comment", "example.org", "tcp 80-80 443-443" },
	{ "example.org:8443 # x", "example.org", "tcp 8443-8443" },
	{ "example.org.:8443", "example.org", "tcp 8443-8443" },
	{ "example.org:22,443", "example.org", "tcp 22-22 443-443" },
	{ "example.org:443,22,23", "example.org", "tcp 22-23 443-443" },
	{ "example.org:8000-8010", "example.org", "tcp 8000-8010" },
	{ "example.org:1-10,5-20,9", "example.org", "tcp 1-20" },
	{ "example.org:1-65535", "example.org", "tcp 1-65535" },
	{ "example.org:*", "example.org", "tcp 0-65535/8" },
	{ "example.org:*/udp", "example.org", "udp 0-65535/8" },
	{ "example.org:*,25", "example.org", "tcp 0-464 466-586 588-65535" },
	{ "example.org:25,465,*,587", "example.org", "tcp 0-65535" },
	{ "example.org:443/udp", "example.org", "udp 443-443" },
	{ "example.org:443/tcp", "example.org", "tcp 443-443" },
	{ "example.org/tcp", "example.org", "tcp 80-80 443-443" },
	{ "example.org/icmp", "example.org", "icmp 0-0" },
	{ "db private", "db", "tcp 80-80/1 443-443/1" },
	{ "localhost:1 unchecked", "localhost", "tcp 1-1/2" },
	{ "*.a_b.test:9 srv private\tunchecked", "x.a_b.test", "tcp 9-9/7" },
	{ "1.2.3.4.example", "1.2.3.4.example", "tcp 80-80 443-443" },
	{ "0x7f.example.org", "0x7f.example.org", "tcp 80-80 443-443" },
	{ "*", "anything.at.all", "tcp 80-80 443-443" },
	{ "*", "com", "tcp 80-80 443-443" },
	{ "*:*", "a.b", "tcp 0-65535/8" },
	{ "*/icmp", "a.b", "icmp 0-0" },
	{ "b\xc3\xbc"
	  "cher.example",
	  "xn--bcher-kva.example", "tcp 80-80 443-443" },
	{ "*.B\xc3\x9c"
	  "CHER.example:1",
	  "a.xn--bcher-kva.example", "tcp 1-1" },
	{ "stra\xc3\x9f"
	  "e.example",
	  "xn--strae-oqa.example", "tcp 80-80 443-443" },
	{ "\xe4\xbe\x8b\xe3\x80\x82test", "xn--fsq.test", /* ideographic dot */
	  "tcp 80-80 443-443" },
	{ "xn--bcher-kva.example", "xn--bcher-kva.example",
	  "tcp 80-80 443-443" },
	{ N252, N252, "tcp 80-80 443-443" },

	{ "https://mcp.example.org/sse?x=1#f", "mcp.example.org",
	  "tcp 443-443" },
	{ "http://example.org", "example.org", "tcp 80-80" },
	{ "http://example.org?x", "example.org", "tcp 80-80" },
	{ "https://example.org:8443/x:y/@z", "example.org", "tcp 8443-8443" },
	{ "wss://*.example.org/ unchecked", "a.example.org", "tcp 443-443/2" },
	{ "ssh://example.org/x.git", "example.org", "tcp 22-22" },
	{ "odd+scheme://example.org:7/", "example.org", "tcp 7-7" },
};

START_TEST(names_open_ports)
{
	_cleanup_(policy_freep) struct policy *p = policy_of(names[_i].entry);
	struct dnsname n = name_of(names[_i].name);
	struct policy_port ports[POLICY_PORTS_MAX];
	size_t n_ports = policy_name_ports(p, &n, ports);
	char text[512];

	ck_assert_str_eq(ports_text(ports, n_ports, text, sizeof(text)),
			 names[_i].ports);
	ck_assert_int_eq(policy_judge_name(p, &n).reason,
			 n_ports ? POLICY_ALLOWED : POLICY_NOT_LISTED);
}
END_TEST

/* ---- networks ---- */

static const struct {
	const char *entry;
	const char *nets; /* "net ports" of each network, '|' between */
} nets[] = {
	{ "11.0.0.7", "11.0.0.7/32 tcp 80-80 443-443" },
	{ "11.0.0.7:5432", "11.0.0.7/32 tcp 5432-5432" },
	{ "11.0.0.0/8:53/udp", "11.0.0.0/8 udp 53-53" },
	{ "11.0.0.0/8/icmp", "11.0.0.0/8 icmp 0-0" },
	{ "10.1.0.0/16:443", "10.1.0.0/16 tcp 443-443/1" },
	{ "0.0.0.0/0:*", "0.0.0.0/0 tcp 0-65535/8" },
	{ "10.0.0.0/7", "10.0.0.0/7 tcp 80-80 443-443" },
	{ "10.0.0.0/7 private", "10.0.0.0/7 tcp 80-80/1 443-443/1" },
	{ "[2a0e:b107::1]:443", "2a0e:b107::1/128 tcp 443-443" },
	{ "[2A0E:B107::1]", "2a0e:b107::1/128 tcp 80-80 443-443" },
	{ "2a0e:b107::1", "2a0e:b107::1/128 tcp 80-80 443-443" },
	{ "2a0e:b107::1/icmp", "2a0e:b107::1/128 icmp 0-0" },
	{ "2a0e:b107::/32", "2a0e:b107::/32 tcp 80-80 443-443" },
	{ "[2a0e:b107::/32]:1", "2a0e:b107::/32 tcp 1-1" },
	{ "[2a0e:b107::]/32:1/udp", "2a0e:b107::/32 udp 1-1" },
	{ "fd00::/8", "fd00::/8 tcp 80-80/1 443-443/1" },
	{ "::ffff:11.0.0.1", "11.0.0.1/32 tcp 80-80 443-443" },
	{ "[::ffff:11.0.0.0/104]:1", "11.0.0.0/8 tcp 1-1" },
	{ "2a0e:b107::5efe:10.0.0.1",
	  "2a0e:b107::5efe:a00:1/128 tcp 80-80/1 443-443/1" },
	{ "https://11.0.0.1/x", "11.0.0.1/32 tcp 443-443" },
	{ "http://[2a0e:b107::1]:81/", "2a0e:b107::1/128 tcp 81-81" },
	{ "*", "0.0.0.0/0 tcp 80-80 443-443|::/0 tcp 80-80 443-443" },
	{ "!11.0.0.0/8",
	  "!11.0.0.0/8 " EVERY_PORT "|!64:ff9b::b00:0/104 " EVERY_PORT
	  "|!2002:b00::/24 " EVERY_PORT },
	{ "![2a0e:b107::/32]:*", "!2a0e:b107::/32 tcp 0-65535" },
	{ "!2a0e:b107::/32/udp", "!2a0e:b107::/32 udp 0-65535" },
	{ "! 2a0e:b107::1/icmp", "!2a0e:b107::1/128 icmp 0-0" },
	{ "!*:25", "!0.0.0.0/0 tcp 25-25|!::/0 tcp 25-25" },
	{ "example.org", "" },
};

static const char *nets_text(const struct policy *p, char *dst, size_t size)
{
	struct policy_port ports[8];
	size_t at = 0, n = policy_n_nets(p);

	dst[0] = '\0';
	for (size_t i = 0; i < n;) {
		struct policy_net net = policy_net_at(p, i);
		char addr[ADDR_STR_LEN], text[256];
		size_t n_ports = 0;

		for (; i < n; i++) {
			struct policy_net next = policy_net_at(p, i);

			if (memcmp(&next.prefix, &net.prefix,
				   sizeof(net.prefix)) != 0 ||
			    next.deny != net.deny)
				break;
			ports[n_ports++] = next.port;
		}
		at += (size_t)snprintf(
			dst + at, size - at, "%s%s%s/%u %s", at ? "|" : "",
			net.deny ? "!" : "",
			addr_format(&net.prefix.addr, addr), net.prefix.len,
			ports_text(ports, n_ports, text, sizeof(text)));
		ck_assert_uint_lt(at, size);
	}
	return dst;
}

START_TEST(nets_are_listed)
{
	_cleanup_(policy_freep) struct policy *p = policy_of(nets[_i].entry);
	char text[1024];

	nets_text(p, text, sizeof(text));
	ck_assert_str_eq(text, nets[_i].nets);
}
END_TEST

/* ---- errors ---- */

static const struct {
	const char *entry;
	unsigned int column;
	const char *msg; /* a part of it */
} errors[] = {
	{ "@pipy", 1, "there is no preset '@pipy'; @pypi may have been meant" },
	{ "!@PiPy", 2, "there is no preset '@PiPy'; @pypi may have been" },
	{ "@nowhere", 1, "'@nowhere'; 'egret presets' lists them" },
	{ "@docker", 1, "@dockerhub may have been meant" },
	{ "@pypi:443", 6, "a preset has ports of its own; '@pypi' alone was" },
	{ "@pypi/udp", 6, "a preset has ports of its own" },
	{ "@", 2, "'' is not the name of a preset" },
	{ "@:443", 2, "':443' is not the name of a preset" },
	{ "@py.pi", 2, "'py.pi' is not the name of a preset" },
	{ "!@pypi private", 8, "a denied entry has no words" },
	{ "example.org:0", 13, "port 0 is not a port; ports are 1-65535" },
	{ "example.org:65536", 13,
	  "port 65536 is not a port; ports are 1-65535" },
	{ "example.org:99999999999999999999", 13, "is not a port" },
	{ "example.org:", 13, "a port is missing" },
	{ "example.org:22,,23", 16, "a port is missing" },
	{ "example.org:22,", 16, "a port is missing" },
	{ "example.org:22-", 16, "a port is missing" },
	{ "example.org:-22", 13, "a port is missing" },
	{ "example.org:022", 13, "without leading zeros" },
	{ "example.org:https", 13, "'https' is not a port" },
	{ "example.org:+1", 13, "'+1' is not a port" },
	{ "example.org:22-*", 16, "'*' is not a port" },
	{ "example.org:8010-8000", 13, "8000-8010 was meant" },
	{ "example.org: 22", 13, "a port is missing" },
	{ "example.org:22, 23", 16, "a port is missing" },
	{ "fd00::/8:", 1, "in brackets" },
	{ "11.0.0.1/udp:1", 10, "'udp:1' is not a protocol" },

	{ "example.org *.example.org", 13, "on a line of its own" },
	{ "example.org privat", 13, "'privat' is not a word" },
	{ "example.org Private", 13, "(private, unchecked, srv)" },
	{ "!example.org private", 14, "a denied entry has no words" },
	{ "* private", 3, "'*' never opens private addresses" },
	{ "11.0.0.1 srv", 10, "'srv' needs a name" },
	{ "* srv", 3, "'srv' needs a name" },

	{ "*.", 3, "a name is missing after '*.'" },
	{ "*.*", 3,
	  "'*' may only stand alone or as the first label, as in "
	  "*.example.org" },
	{ "*example.org", 1, "'*' may only stand alone" },
	{ "a.*.example.org", 3, "'*' may only stand alone" },
	{ "example.*", 9, "'*' may only stand alone" },
	{ "ex*mple.org", 3, "'*' may only stand alone" },
	{ "*.*.example.org", 3, "'*' may only stand alone" },
	{ "*.11.0.0.1", 3, "not a well-written IPv4 address" },
	{ ".example.org", 1, "an empty label" },
	{ "a..example.org", 3, "an empty label" },
	{ "example.org..", 13, "an empty label" },
	{ ".", 1, "an empty label" },
	{ "*..example.org", 3, "an empty label" },
	{ "!!example.org", 2, "'!' can't stand in a host name" },
	{ "ex\\ample.org", 3, "can't stand in a host name" },
	{ "user@example.org", 5, "'@' can't stand in a host name" },
	{ "a." L60 "aaaa.example", 3, "a label of 64 characters" },
	{ "*." N252 "aa", 3, "a name of 254 characters" },
	{ "b\xc3\xbc"
	  "cher..example",
	  1, "an empty label" },
	{ "a\x80.example", 1, "is not an internationalised name" },
	{ "a.b\xe2\x98\x83\xc2\xa0.example", 1, "internationalised" },
	{ "\xef\xbc\x91.\xef\xbc\x92.3.\xef\xbc\x94", 1, /* fullwidth digits */
	  "not a well-written IPv4 address" },
	{ "\xc3\xbc\xef\xbc\x8f.example", 1, "internationalised" },
	{ "\xc3\xbc*.example", 1, "internationalised" },
	{ "\xef\xbc\x8a.\xc3\xbc.example", 1, "'*' may only stand alone" },
	{ "\xe2\x84\x80.example", 1, "'/' can't stand in a host" }, /* a/c */

	{ "", 1, "an empty entry; a host was meant" },
	{ "# only", 1, "an empty entry" },
	{ "!", 2, "a host is missing" },
	{ ":443", 1, "a host is missing" },
	{ "/udp", 1, "a host is missing" },
	{ "https:///x", 9, "a host is missing" },
	{ "example.org/24", 13,
	  "'example.org/24' mixes a name with a prefix length" },
	{ "*/0", 3, "mixes a name with a prefix length" },
	{ "example.org/sse", 13, "'sse' is not a protocol" },
	{ "example.org/UDP", 13, "'UDP' is not a protocol" },
	{ "example.org:1/", 15, "'' is not a protocol" },
	{ "example.org/udp", 13, "UDP needs its ports named" },
	{ "example.org:1/icmp", 13, "icmp has no ports" },
	{ "example.org:22:443", 12, "ports are joined by commas" },
	{ "11.0.0.1:22:443", 9, "ports are joined by commas" },
	{ "https://u:p@example.org/", 9,
	  "the host alone was meant: 'example.org'" },
	{ "https://good.example@evil.example/", 9, "'evil.example'" },
	{ "gopher://example.org/", 1,
	  "no port is known for URLs that begin with 'gopher://'" },
	{ "https://exa\\mple.org/", 12, "can't stand in a host name" },
	{ "https://[::1/", 9, "'[' without ']'" },

	{ "010.0.0.1", 1, "'010.0.0.1' is not a well-written IPv4 address" },
	{ "127.1", 1, "not a well-written IPv4 address" },
	{ "2130706433", 1, "not a well-written IPv4 address" },
	{ "1.2.3.256", 1, "not a well-written IPv4 address" },
	{ "1.2.3.4.5", 1, "not a well-written IPv4 address" },
	{ "1.2.3.4.", 1, "not a well-written IPv4 address" },
	{ "0x7f.0.0.1", 1, "not a well-written IPv4 address" },
	{ "0x7f000001", 1, "not a well-written IPv4 address" },
	{ "example.0x1", 1, "not a well-written IPv4 address" },
	{ "example.0X", 1, "not a well-written IPv4 address" },
	{ "example.1", 1, "a name whose last label is not a number" },
	{ "https://127.1/", 9, "not a well-written IPv4 address" },
	{ "11.0.0.0/33", 10,
	  "'33' is not a prefix length; IPv4 networks have 0-32" },
	{ "11.0.0.0/08", 10, "'08' is not a prefix length" },
	{ "2a0e:b107::/129", 13, "IPv6 networks have 0-128" },
	{ "[2a0e:b107::/x]:1", 14, "'x' is not a prefix length" },
	{ "11.0.0.0:443/16", 14, "the prefix length stands before the port" },
	{ "11.1.2.3/16", 1,
	  "11.1.2.3 has bits set behind its first 16; the network is "
	  "11.1.0.0/16" },
	{ "2a0e:b107::1/64", 1, "the network is 2a0e:b107::/64" },
	{ "11.0.0.1/31", 1, "the network is 11.0.0.0/31" },
	{ "2a0e:b107:1:2:3:4:5:6:443", 1,
	  "put IPv6 addresses with a port in brackets: [2001:db8::1]:443" },
	{ "2a0e:b107::1:22,443", 1, "in brackets" },
	{ "2a0e:b107::1:*", 1, "in brackets" },
	{ "2a0e:b107::/32:443", 1, "[2001:db8::/32]:443" },
	{ "2a0e::b107::1", 1, "is not an IPv6 address" },
	{ "[2a0e:b107::1]443", 15, "can follow ']'" },
	{ "[2a0e:b107::1", 1, "'[' without ']'" },
	{ "[example.org]:443", 2, "only IPv6 addresses stand in brackets" },
	{ "[11.0.0.1]:443", 2, "only IPv6 addresses stand in brackets" },
	{ "[]", 2, "only IPv6 addresses stand in brackets" },
	{ "fe80::1%eth0", 8,
	  "an address with a zone; the address without '%eth0' was meant" },
	{ "[fe80::1%eth0]:1", 9, "an address with a zone" },
	{ "[2a0e:b107::1]/64/64", 2, "has bits set" },
	{ "[2a0e:b107::]/64/64", 18, "'64' is not a protocol" },

	{ "example.org\x01", 12, "the control byte 0x01" },
	{ "exam\x7fple.org", 5, "the control byte 0x7f" },
	{ "a.example\nb.example", 10, "the control byte 0x0a" },
	{ "\x1b[2J.example", 1, "the control byte 0x1b" },
};

static const struct policy_error *only_error(const struct policy_builder *b)
{
	size_t n;
	const struct policy_error *e = policy_builder_errors(b, &n);

	ck_assert_uint_eq(n, 1);
	return e;
}

START_TEST(errors_are_told)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	const struct policy_error *e;
	struct policy *p = NULL;

	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(
		policy_builder_add_entry(b, "--allow", errors[_i].entry, false),
		0);
	e = only_error(b);
	ck_assert_msg(strstr(e->msg, errors[_i].msg), "%s: %s",
		      errors[_i].entry, e->msg);
	ck_assert_msg(e->column == errors[_i].column, "%s: %u: %s",
		      errors[_i].entry, e->column, e->msg);
	ck_assert_str_eq(e->source, "--allow");
	ck_assert_uint_eq(e->line, 0);
	for (const char *c = e->msg; *c; c++)
		ck_assert_msg(*c >= 0x20 && *c < 0x7f, "%s", e->msg);
	ck_assert_int_eq(policy_build(b, &p), -EINVAL);
	ck_assert_ptr_null(p);
}
END_TEST

/* Too many ports, by each way of adding them. */
START_TEST(ports_are_bounded)
{
	static const char *const tails[] = { "9999", "*" };
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	char entry[POLICY_PORTS_MAX * 6 + 64] = "example.org:";
	size_t at = strlen(entry);
	size_t n;

	ck_assert_int_eq(policy_builder_new(&b), 0);
	for (int i = 0; i < POLICY_PORTS_MAX; i++)
		at += (size_t)snprintf(entry + at, sizeof(entry) - at, "%s%d",
				       i ? "," : "", 2 * i + 1);
	ck_assert_int_eq(policy_builder_add_entry(b, "t", entry, false), 0);
	(void)policy_builder_errors(b, &n);
	ck_assert_uint_eq(n, 0);
	(void)snprintf(entry + at, sizeof(entry) - at, ",%s", tails[_i]);
	ck_assert_int_eq(policy_builder_add_entry(b, "t", entry, false), 0);
	ck_assert_ptr_nonnull(
		strstr(only_error(b)->msg, "more than 256 ports and ranges"));
}
END_TEST

/* ---- texts ---- */

static void add_text(struct policy_builder *b, const char *source,
		     const char *text, size_t len)
{
	ck_assert_int_eq(policy_builder_add_text(b, source, text, len), 0);
}

START_TEST(a_text_is_lines)
{
	static const char text[] = "\xef\xbb\xbf# head\r\n"
				   "\r\n"
				   "example.org\t# first\r\n"
				   "   \t\n"
				   "!ads.example.org\n"
				   "*.example.net:22";
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(policy_freep) struct policy *p = NULL;
	struct policy_entry e;

	ck_assert_int_eq(policy_builder_new(&b), 0);
	add_text(b, "a.hosts", text, sizeof(text) - 1);
	add_text(b, "empty.hosts", "", 0);
	ck_assert_int_eq(policy_builder_add_entry(b, "--deny", "x.test", true),
			 0);
	ck_assert_int_eq(policy_build(b, &p), 0);
	ck_assert_uint_eq(policy_n_entries(p), 4);
	e = policy_entry(p, 0);
	ck_assert_str_eq(e.source, "a.hosts");
	ck_assert_str_eq(e.text, "example.org");
	ck_assert_uint_eq(e.line, 3);
	ck_assert(!e.deny);
	e = policy_entry(p, 1);
	ck_assert_str_eq(e.text, "!ads.example.org");
	ck_assert_uint_eq(e.line, 5);
	ck_assert(e.deny);
	e = policy_entry(p, 2);
	ck_assert_uint_eq(e.line, 6);
	e = policy_entry(p, 3);
	ck_assert_str_eq(e.source, "--deny");
	ck_assert_str_eq(e.text, "x.test");
	ck_assert_uint_eq(e.line, 0);
	ck_assert(e.deny);
	e = policy_entry(p, POLICY_NO_ENTRY);
	ck_assert_str_eq(e.text, "");
	/* The builder is used up. */
	ck_assert_int_eq(policy_build(b, &p), -EINVAL);
	ck_assert_int_eq(policy_builder_add_text(b, "t", "a", 1), -EINVAL);
	ck_assert_int_eq(policy_builder_add_entry(b, "t", "a", false), -EINVAL);
}
END_TEST

START_TEST(all_errors_are_told)
{
	static const char text[] = "good.example\n"
				   "a..b\n"
				   "  b\xc3\xbc"
				   "cher.example:0 # \xc3\xbc\n"
				   "nul\0.example\n"
				   "cr\r.example\n"
				   "# \x1b is fine here\n"
				   "# but not \0\n"
				   "\xef\xbb\xbf"
				   "late.example\n";
	static const struct {
		unsigned int line, column;
		const char *msg;
	} want[] = {
		{ 2, 3, "an empty label" },
		{ 3, 18, "port 0" },
		{ 4, 4, "a NUL byte; plain text in UTF-8 was meant" },
		{ 5, 3, "the control byte 0x0d" },
		{ 7, 11, "a NUL byte" },
	};
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	const struct policy_error *e;
	struct policy *p = NULL;
	size_t n;

	ck_assert_int_eq(policy_builder_new(&b), 0);
	add_text(b, "a.hosts", text, sizeof(text) - 1);
	e = policy_builder_errors(b, &n);
	ck_assert_uint_ge(n, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		ck_assert_uint_eq(e[i].line, want[i].line);
		ck_assert_uint_eq(e[i].column, want[i].column);
		ck_assert_msg(strstr(e[i].msg, want[i].msg), "%s", e[i].msg);
	}
	ck_assert_int_eq(policy_build(b, &p), -EINVAL);
}
END_TEST

START_TEST(errors_are_capped)
{
	char text[4 * (POLICY_ERRORS_MAX + 7)] = "";
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	const struct policy_error *e;
	size_t n;

	for (int i = 0; i < POLICY_ERRORS_MAX + 7; i++)
		memcpy(text + 3 * i, "..\n", 4);
	ck_assert_int_eq(policy_builder_new(&b), 0);
	add_text(b, "a.hosts", text, strlen(text));
	add_text(b, "b.hosts", "..", 2);
	e = policy_builder_errors(b, &n);
	ck_assert_uint_eq(n, POLICY_ERRORS_MAX + 2);
	e += POLICY_ERRORS_MAX;
	ck_assert_str_eq(e->msg, "and 7 more errors");
	ck_assert_uint_eq(e->line, POLICY_ERRORS_MAX + 1);
	ck_assert_str_eq(e[1].source, "b.hosts");
	ck_assert_uint_eq(e[1].line, 1);
}
END_TEST

START_TEST(texts_are_bounded)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;

	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(
		policy_builder_add_text(b, "t", "", POLICY_TEXT_MAX + 1UL),
		-EFBIG);
}
END_TEST

START_TEST(entries_are_bounded)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	size_t len = 2UL * (POLICY_ENTRIES_MAX + 2);
	_cleanup_(freep) char *text = malloc(len);
	const struct policy_error *e;
	size_t n;

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < len; i += 2)
		memcpy(text + i, "a\n", 2);
	ck_assert_int_eq(policy_builder_new(&b), 0);
	add_text(b, "t", text, len);
	e = policy_builder_errors(b, &n);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(e[0].line, POLICY_ENTRIES_MAX + 1);
	ck_assert_ptr_nonnull(strstr(e[0].msg, "more than 1000000 entries"));
}
END_TEST

START_TEST(errors_are_formatted)
{
	struct policy_error e = { "a\x1b[2J\n.hosts", 3, 7, "what" };
	char text[64], tiny[9], none = 'x';

	ck_assert_str_eq(policy_error_format(&e, text, sizeof(text)),
			 "a\\x1b[2J\\x0a.hosts:3:7: what");
	ck_assert_str_eq(policy_error_format(&e, tiny, sizeof(tiny)),
			 "a\\x1b[2J");
	(void)policy_error_format(&e, &none, 0);
	ck_assert_int_eq(none, 'x');
	e = (struct policy_error){ "--allow", 0, 3, "what" };
	ck_assert_str_eq(policy_error_format(&e, text, sizeof(text)),
			 "--allow: what");
}
END_TEST

/* A long piece is cut, bytes that a terminal would obey are spelled out. */
START_TEST(quotes_are_safe)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	char entry[3000] = "example.org \xc2\x9b";

	memset(entry + strlen(entry), 'x', 2000);
	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(policy_builder_add_entry(b, "t", entry, false), 0);
	ck_assert_ptr_nonnull(strstr(only_error(b)->msg, "'\\xc2\\x9bxxx"));
	ck_assert_ptr_nonnull(strstr(only_error(b)->msg, "xx...'"));
}
END_TEST

START_TEST(long_names_are_told)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	char entry[3000] = "\xc3\xbc";

	memset(entry + strlen(entry), 'x', 2000);
	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(policy_builder_add_entry(b, "t", entry, false), 0);
	ck_assert_ptr_nonnull(
		strstr(only_error(b)->msg, "a name of 2002 bytes"));
}
END_TEST

START_TEST(words_of_verdicts)
{
	ck_assert_str_eq(policy_reason_str(POLICY_ALLOWED), "allowed");
	ck_assert_str_eq(policy_reason_str(POLICY_NOT_LISTED), "not_listed");
	ck_assert_str_eq(policy_reason_str(POLICY_PORT), "port");
	ck_assert_str_eq(policy_reason_str(POLICY_DENIED), "denied");
	ck_assert_str_eq(policy_reason_str(POLICY_PRIVATE), "private");
	ck_assert_str_eq(policy_reason_str(POLICY_REASON_MAX), "unknown");
	ck_assert_str_eq(policy_proto_str(POLICY_ICMP), "icmp");
	ck_assert_str_eq(policy_proto_str(POLICY_PROTO_MAX), "unknown");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("policy_parse");
	TCase *t = tcase_create("policy_parse");

	tcase_set_timeout(t, 30);
	tcase_add_loop_test(t, names_open_ports, 0, ARRAY_SIZE(names));
	tcase_add_loop_test(t, nets_are_listed, 0, ARRAY_SIZE(nets));
	tcase_add_loop_test(t, errors_are_told, 0, ARRAY_SIZE(errors));
	tcase_add_loop_test(t, ports_are_bounded, 0, 2);
	tcase_add_test(t, a_text_is_lines);
	tcase_add_test(t, all_errors_are_told);
	tcase_add_test(t, errors_are_capped);
	tcase_add_test(t, texts_are_bounded);
	tcase_add_test(t, entries_are_bounded);
	tcase_add_test(t, errors_are_formatted);
	tcase_add_test(t, quotes_are_safe);
	tcase_add_test(t, long_names_are_told);
	tcase_add_test(t, words_of_verdicts);
	suite_add_tcase(s, t);
	return run_suite(s);
}
