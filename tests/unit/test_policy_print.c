/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_policy_print.c - entries in canonical form, and back */
#include <stdlib.h>

#include "policy/policy_internal.h"
#include "tests/unit/policy_tools.h"

static const struct {
	const char *line, *text; /* text: NULL nothing, "" wrong */
} lines[] = {
	{ " Example.ORG. # x", "example.org" },
	{ "example.org:443,80", "example.org" },
	{ "example.org:80,443/tcp", "example.org" },
	{ "example.org/tcp", "example.org" },
	{ "example.org:443", "example.org:443" },
	{ "example.org:443,22,8000-8010,8011", "example.org:22,443,8000-8011" },
	{ "example.org:80-443", "example.org:80-443" },
	{ "example.org:1-65535", "example.org:1-65535" },
	{ "example.org:*", "example.org:*" },
	{ "example.org:5,*,587,25", "example.org:*,25,587" },
	{ "example.org:*,24-26/udp", "example.org:*,25/udp" },
	{ "example.org:*,1-65535", "example.org:*,25,465,587" },
	{ "example.org:443/udp", "example.org:443/udp" },
	{ "example.org:80,443/udp", "example.org:80,443/udp" },
	{ "example.org/icmp", "example.org/icmp" },
	{ "**.Example.org", "*.example.org" },
	{ "*", "*" },
	{ "*:80,443", "*" },
	{ "*:*/udp unchecked", "*:*/udp unchecked" },
	{ "b\xc3\xbc"
	  "cher.example",
	  "xn--bcher-kva.example" },
	{ "https://MCP.example.org/sse", "mcp.example.org:443" },
	{ "http://[2001:DB8::1]:81/x", "[2001:db8::1]:81" },
	{ "a.test srv\tprivate", "a.test private srv" },
	{ "a.test private private", "a.test private" },
	{ "203.0.113.7/32:5432", "203.0.113.7:5432" },
	{ "10.1.0.0/16", "10.1.0.0/16" },
	{ "10.1.0.0/16/icmp", "10.1.0.0/16/icmp" },
	{ "[2001:DB8:0::1]", "2001:db8::1" },
	{ "[2001:db8::/32]:1", "[2001:db8::/32]:1" },
	{ "2001:db8::/32/icmp", "[2001:db8::/32]/icmp" },
	{ "::ffff:203.0.113.7", "203.0.113.7" },
	{ "::FFC0:0:0/90", "::ffc0:0:0/90" },
	{ "::/0", "::/0" },
	{ "! example.org", "!example.org" },
	{ "!example.org:*", "!example.org:*" },
	{ "!example.org/tcp", "!example.org:*" },
	{ "!example.org/udp", "!example.org:*/udp" },
	{ "!example.org:1,*", "!example.org:*" },
	{ "!example.org:1-65535", "!example.org:1-65535" },
	{ "!example.org/icmp", "!example.org/icmp" },
	{ "!example.org:80,443", "!example.org:80,443" },
	{ "!2001:db8::1", "!2001:db8::1" },
	{ "!2001:db8::1:0/udp", "![2001:db8::1:0]:*/udp" },
	{ "@PyPI", "@pypi" },
	{ "! @pypi", "!@pypi" },
	{ "@corp private", "@corp private" },
	{ "", NULL },
	{ "  # nothing", NULL },
	{ "a..b", "" },
};

START_TEST(lines_are_printed)
{
	const char *line = lines[_i].line, *want = lines[_i].text;
	char text[POLICY_PRINT_MAX], msg[POLICY_PRINT_MAX] = "";
	int r = policy_line_print(line, strlen(line), false, text, msg);

	if (!want) {
		ck_assert_int_eq(r, 0);
	} else if (!want[0]) {
		ck_assert_int_eq(r, -EINVAL);
		ck_assert_str_ne(msg, "");
		ck_assert_int_eq(policy_line_print(line, strlen(line), false,
						   text, NULL),
				 -EINVAL);
	} else {
		ck_assert_msg(r == 1, "%s: %s", line, msg);
		ck_assert_str_eq(text, want);
	}
}
END_TEST

START_TEST(entries_are_printed)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(policy_freep) struct policy *p = NULL;
	char text[POLICY_PRINT_MAX];

	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(policy_builder_add_entry(b, "--deny", "A.test", true),
			 0);
	ck_assert_int_eq(policy_builder_add_entry(b, "--deny", "@PyPI", true),
			 0);
	ck_assert_int_eq(policy_build(b, &p), 0);
	ck_assert_str_eq(policy_entry_print(p, 0, text), "!a.test");
	ck_assert_str_eq(policy_entry_print(p, 1, text), "!@pypi");
	ck_assert_str_eq(policy_entry_print(p, 2, text), "!pypi.org");
	ck_assert_str_eq(policy_entry_print(p, 99, text), "");
}
END_TEST

/* ---- print, parse, compare ---- */

static unsigned int below(unsigned int n)
{
	return (unsigned int)random() % n;
}

static const char *pick(const char *const *list, size_t n)
{
	return list[below((unsigned int)n)];
}

#define PICK(list) pick(list, ARRAY_SIZE(list))

static size_t put_random_ports(char *dst, size_t size)
{
	static const char *const edges[] = { "1",   "24",    "25",  "26",
					     "53",  "80",    "443", "465",
					     "587", "65535", "*",   "80,443" };
	unsigned int n = 1 + below(5);
	size_t at = 0;

	for (unsigned int i = 0; i < n; i++) {
		const char *sep = i ? "," : ":";
		unsigned int lo = 1 + below(65535);

		if (below(2))
			at += (size_t)snprintf(dst + at, size - at, "%s%s", sep,
					       PICK(edges));
		else if (below(2))
			at += (size_t)snprintf(dst + at, size - at, "%s%u", sep,
					       lo);
		else
			at += (size_t)snprintf(dst + at, size - at, "%s%u-%u",
					       sep, lo, lo + below(65536 - lo));
	}
	return at;
}

static void random_line(char *dst, size_t size)
{
	static const char *const hosts[] = {
		"example.org",
		"*.example.org",
		"**.a_b.test",
		"EXAMPLE.net.",
		"*",
		"a",
		"xn--bcher-kva.example",
		"\xc3\x9f.example",
		"11.0.0.1",
		"10.0.0.0/8",
		"0.0.0.0/0",
		"[2001:db8::1]",
		"[2001:db8::/32]",
		"[::]/0",
		"[::ffff:10.0.0.0/104]",
		"[::1.2.3.4]",
		"https://x.test",
		"ssh://[2001:db8::5]",
	};
	static const char *const protos[] = { "",     "",     "",
					      "/tcp", "/udp", "/icmp" };
	static const char *const words[] = { "",
					     "",
					     "",
					     " private",
					     " unchecked",
					     " srv",
					     " srv private",
					     "\tunchecked srv" };
	size_t at = (size_t)snprintf(dst, size, "%s%s", below(4) ? "" : "!",
				     PICK(hosts));

	if (below(3))
		at += put_random_ports(dst + at, size - at);
	(void)snprintf(dst + at, size - at, "%s%s", PICK(protos), PICK(words));
}

static void check_equal(const char *line, const struct parsed *a,
			const struct parsed *b)
{
	ck_assert_msg(a->deny == b->deny && a->flags == b->flags &&
			      a->host.kind == b->host.kind &&
			      a->ports.n == b->ports.n,
		      "%s", line);
	for (size_t i = 0; i < a->ports.n; i++)
		ck_assert_msg(a->ports.at[i].proto == b->ports.at[i].proto &&
				      a->ports.at[i].lo == b->ports.at[i].lo &&
				      a->ports.at[i].hi == b->ports.at[i].hi &&
				      a->ports.at[i].flags ==
					      b->ports.at[i].flags,
			      "%s", line);
	if (a->host.kind == HOST_NET)
		ck_assert_msg(a->host.net.len == b->host.net.len &&
				      addr_equal(&a->host.net.addr,
						 &b->host.net.addr),
			      "%s", line);
	else if (a->host.kind != HOST_ALL)
		ck_assert_msg(dnsname_equal(&a->host.name, &b->host.name), "%s",
			      line);
}

START_TEST(printing_is_the_inverse)
{
	char line[1024], text[POLICY_PRINT_MAX], again[POLICY_PRINT_MAX];
	int good = 0;

	srandom(1);
	for (int i = 0; i < 200000; i++) {
		static struct parsed a, b;
		struct complaint c;

		random_line(line, sizeof(line));
		if (parse_entry((struct span){ line, line + strlen(line) }, 0,
				&a, &c) <= 0)
			continue;
		good++;
		(void)entry_print(&a, text);
		ck_assert_msg(
			parse_entry((struct span){ text, text + strlen(text) },
				    0, &b, &c) > 0,
			"%s -> %s: %s", line, text, c.msg);
		check_equal(line, &a, &b);
		ck_assert_str_eq(entry_print(&b, again), text);
	}
	ck_assert_int_gt(good, 50000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("policy_print");
	TCase *t = tcase_create("print");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, lines_are_printed, 0, ARRAY_SIZE(lines));
	tcase_add_test(t, entries_are_printed);
	tcase_add_test(t, printing_is_the_inverse);
	suite_add_tcase(s, t);
	return run_suite(s);
}
