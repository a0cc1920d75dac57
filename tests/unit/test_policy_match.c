/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_policy_match.c - verdicts, ports and learned addresses, case by case */
#include <stdlib.h>

#include "tests/unit/policy_tools.h"

#define NO POLICY_NO_ENTRY

/* ---- names ---- */

/* @entry: 0-based line of the entry that decides */
static const struct {
	const char *text, *name;
	enum policy_reason reason;
	uint32_t entry;
} judged_names[] = {
	{ "a.test\n", "a.test", POLICY_ALLOWED, 0 },
	{ "a.test\n", "b.test", POLICY_NOT_LISTED, NO },
	{ "", "b.test", POLICY_NOT_LISTED, NO },
	{ "*\n*.a.test\na.test\n", "a.test", POLICY_ALLOWED, 2 },
	{ "*\n*.test\n*.a.test\n", "b.a.test", POLICY_ALLOWED, 2 },
	{ "*\n", "b.a.test", POLICY_ALLOWED, 0 },
	/* denied whole */
	{ "a.test\n!a.test\n", "a.test", POLICY_DENIED, 1 },
	{ "!a.test\n", "a.test", POLICY_DENIED, 0 },
	{ "*\n!a.test\n", "b.a.test", POLICY_ALLOWED, 0 },
	{ "*\n!*.a.test\n", "a.test", POLICY_ALLOWED, 0 },
	{ "*\n!*.a.test\n", "c.b.a.test", POLICY_DENIED, 1 },
	{ "c.b.a.test\n!*.a.test\n", "c.b.a.test", POLICY_DENIED, 1 },
	{ "*.a.test\n!*.test\n", "b.a.test", POLICY_DENIED, 1 },
	{ "a.test\n!*\n", "a.test", POLICY_DENIED, 1 },
	{ "!a.test/tcp\n!a.test/udp\n!a.test/icmp\n", "a.test", POLICY_DENIED,
	  0 },
	/* a port taken away leaves the name */
	{ "a.test:22,443\n!a.test:22\n", "a.test", POLICY_ALLOWED, 0 },
	{ "a.test:22\n!a.test:22\n", "a.test", POLICY_DENIED, 1 },
	{ "a.test:22\n!*.test:1-30\n", "a.test", POLICY_DENIED, 1 },
	{ "a.test:22\n!a.test/udp\n", "a.test", POLICY_ALLOWED, 0 },
	{ "a.test:22\n!a.test/tcp\n", "a.test", POLICY_DENIED, 1 },
	{ "a.test/icmp\n!a.test:*\n", "a.test", POLICY_ALLOWED, 0 },
	{ "!a.test:22\n", "a.test", POLICY_NOT_LISTED, NO },
	{ "a.test:*\n!a.test:1-24,26-464,466-586\n", "a.test", POLICY_ALLOWED,
	  0 },
};

START_TEST(names_are_judged)
{
	_cleanup_(policy_freep) struct policy *p =
		policy_of(judged_names[_i].text);
	struct dnsname n = name_of(judged_names[_i].name);
	struct policy_verdict v = policy_judge_name(p, &n);

	ck_assert_int_eq(v.reason, judged_names[_i].reason);
	ck_assert_uint_eq(v.entry, judged_names[_i].entry);
}
END_TEST

static const struct {
	const char *text, *name;
	enum policy_proto proto;
	uint16_t port;
	enum policy_reason reason;
	uint32_t entry, flags;
} judged_ports[] = {
	{ "a.test", "a.test", POLICY_TCP, 443, POLICY_ALLOWED, 0, 0 },
	{ "a.test", "a.test", POLICY_TCP, 80, POLICY_ALLOWED, 0, 0 },
	{ "a.test", "a.test", POLICY_TCP, 22, POLICY_PORT, 0, 0 },
	{ "a.test", "a.test", POLICY_UDP, 443, POLICY_PORT, 0, 0 },
	{ "a.test", "a.test", POLICY_ICMP, 0, POLICY_PORT, 0, 0 },
	{ "a.test/icmp", "a.test", POLICY_ICMP, 8, POLICY_ALLOWED, 0, 0 },
	{ "a.test", "b.test", POLICY_TCP, 443, POLICY_NOT_LISTED, NO, 0 },
	{ "a.test:1\na.test:2", "a.test", POLICY_TCP, 2, POLICY_ALLOWED, 1, 0 },
	{ "a.test:1-9\na.test:2 srv", "a.test", POLICY_TCP, 2, POLICY_ALLOWED,
	  0, POLICY_F_SRV },
	{ "a.test:1-9\na.test:2 srv", "a.test", POLICY_TCP, 3, POLICY_ALLOWED,
	  0, 0 },
	{ "*:1 unchecked\n*.test:2\nx.test:1 private", "x.test", POLICY_TCP, 1,
	  POLICY_ALLOWED, 2, POLICY_F_UNCHECKED | POLICY_F_PRIVATE },
	{ "*:1 unchecked\n*.test:2\nx.test:1 private", "x.test", POLICY_TCP, 2,
	  POLICY_ALLOWED, 1, 0 },
	{ "*:1\n*.test:2\nx.test:3", "x.test", POLICY_TCP, 4, POLICY_PORT, 2,
	  0 },
	{ "a.test:*", "a.test", POLICY_TCP, 24, POLICY_ALLOWED, 0, 0 },
	{ "a.test:*", "a.test", POLICY_TCP, 25, POLICY_PORT, 0, 0 },
	{ "a.test:*", "a.test", POLICY_TCP, 465, POLICY_PORT, 0, 0 },
	{ "a.test:*", "a.test", POLICY_TCP, 587, POLICY_PORT, 0, 0 },
	{ "a.test:*", "a.test", POLICY_TCP, 65535, POLICY_ALLOWED, 0, 0 },
	{ "a.test:*\na.test:25", "a.test", POLICY_TCP, 25, POLICY_ALLOWED, 1,
	  0 },
	{ "a.test:25\n!a.test:*", "a.test", POLICY_TCP, 25, POLICY_DENIED, 1,
	  0 },
	{ "a.test\n!a.test:443", "a.test", POLICY_TCP, 443, POLICY_DENIED, 1,
	  0 },
	{ "a.test\n!a.test:443", "a.test", POLICY_TCP, 80, POLICY_ALLOWED, 0,
	  0 },
	{ "a.test\n!a.test:22", "a.test", POLICY_TCP, 23, POLICY_PORT, 0, 0 },
	{ "a.test\n!a.test:22", "a.test", POLICY_TCP, 22, POLICY_DENIED, 1, 0 },
	{ "!a.test", "a.test", POLICY_ICMP, 0, POLICY_DENIED, 0, 0 },
	{ "!a.test", "a.test", POLICY_UDP, 0, POLICY_DENIED, 0, 0 },
	{ "!a.test:443", "a.test", POLICY_TCP, 80, POLICY_NOT_LISTED, NO, 0 },
	{ "*\n!https://a.test/x", "a.test", POLICY_TCP, 80, POLICY_ALLOWED, 0,
	  0 },
};

START_TEST(ports_are_judged)
{
	_cleanup_(policy_freep) struct policy *p =
		policy_of(judged_ports[_i].text);
	struct dnsname n = name_of(judged_ports[_i].name);
	struct policy_verdict v = policy_judge_name_port(
		p, &n, judged_ports[_i].proto, judged_ports[_i].port);

	ck_assert_int_eq(v.reason, judged_ports[_i].reason);
	ck_assert_uint_eq(v.entry, judged_ports[_i].entry);
	ck_assert_uint_eq(v.flags, judged_ports[_i].flags);
}
END_TEST

static const struct {
	const char *text, *name, *ports;
} name_ports[] = {
	{ "a.test\n*.test:22\n*:8000-8010/udp", "a.test",
	  "tcp 22-22 80-80 443-443 udp 8000-8010" },
	{ "a.test:1-10\na.test:5-20\na.test:21", "a.test", "tcp 1-21" },
	{ "a.test:1-10\na.test:5 private", "a.test", "tcp 1-4 5-5/1 6-10" },
	{ "*:*\na.test\na.test:9", "a.test", "tcp 0-65535/8" },
	{ "*:* unchecked\n", "a.test", "tcp 0-65535/a" },
	{ "*:*\n!a.test:1000", "a.test",
	  "tcp 0-24 26-464 466-586 588-999 1001-65535" },
	{ "*:*\n!a.test:25", "a.test", "tcp 0-65535/8" },
	{ "*:*\na.test:25\na.test:1/udp", "a.test",
	  "tcp 0-464 466-586 588-65535 udp 1-1" },
	{ "*:*\n*.test:25 srv", "a.test",
	  "tcp 0-24 25-25/4 26-464 466-586 588-65535" },
	{ "*:*\n*:*/udp\n*/icmp\n!*.test/tcp", "a.test",
	  "udp 0-65535/8 icmp 0-0" },
	{ "*:*\n!a.test", "a.test", "" },
	{ "a.test:65535\na.test:1/udp", "a.test", "tcp 65535-65535 udp 1-1" },
	{ "a.test:1-65535\na.test:1-65535/udp\n!a.test:1-65534", "a.test",
	  "tcp 65535-65535 udp 1-65535" },
};

START_TEST(ports_are_joined)
{
	_cleanup_(policy_freep) struct policy *p =
		policy_of(name_ports[_i].text);
	struct dnsname n = name_of(name_ports[_i].name);
	struct policy_port ports[POLICY_PORTS_MAX];
	size_t n_ports = policy_name_ports(p, &n, ports);
	char text[512];

	ck_assert_str_eq(ports_text(ports, n_ports, text, sizeof(text)),
			 name_ports[_i].ports);
}
END_TEST

/* More ranges than an answer holds: the first ones, never more than allowed. */
START_TEST(ports_are_clamped)
{
	char text[32 * (POLICY_PORTS_MAX + 50)] = "!a.test:3\n";
	_cleanup_(policy_freep) struct policy *p = NULL;
	struct policy_port ports[POLICY_PORTS_MAX];
	struct dnsname n = name_of("a.test");
	size_t at = strlen(text);

	for (int i = 0; i < POLICY_PORTS_MAX + 50; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s:%d\n",
				       i % 2 ? "a.test" : "*.test", 2 * i + 1);
	p = policy_of(text);
	ck_assert_uint_eq(policy_name_ports(p, &n, ports), POLICY_PORTS_MAX);
	ck_assert_uint_eq(ports[0].lo, 1);
	ck_assert_uint_eq(ports[1].lo, 5);
	ck_assert_uint_eq(ports[POLICY_PORTS_MAX - 1].hi,
			  2 * POLICY_PORTS_MAX + 1);
	ck_assert_int_eq(policy_judge_name_port(p, &n, POLICY_TCP, 601).reason,
			 POLICY_ALLOWED);
}
END_TEST

/* Many entries of one name are joined in several rounds. */
START_TEST(many_entries_of_one_name)
{
	enum { N = 5000 };
	_cleanup_(freep) char *text = malloc(N * 24);
	_cleanup_(policy_freep) struct policy *p = NULL;
	struct dnsname n = name_of("a.test");
	size_t at = 0;

	ck_assert_ptr_nonnull(text);
	for (int i = 0; i < N; i++)
		at += (size_t)sprintf(text + at, "a.test:%d-%d\n", 2 * i + 1,
				      2 * i + 2 + i % 2);
	p = policy_of(text);
	for (int i = 0; i < N; i++) {
		struct policy_verdict v = policy_judge_name_port(
			p, &n, POLICY_TCP, (uint16_t)(2 * i + 2));

		ck_assert_int_eq(v.reason, POLICY_ALLOWED);
		ck_assert_uint_eq(v.entry, (uint32_t)i);
	}
	ck_assert_int_eq(policy_judge_name_port(p, &n, POLICY_TCP, 0).reason,
			 POLICY_PORT);
}
END_TEST

/* The deepest name there can be, with an entry at every depth. */
START_TEST(the_deepest_name)
{
	_cleanup_(freep) char *text = malloc(127UL * 270 * 2);
	char name[2 * DNSNAME_LABELS_MAX + 1] = "";
	_cleanup_(policy_freep) struct policy *p = NULL;
	struct policy_port ports[POLICY_PORTS_MAX];
	struct dnsname n;
	size_t at = 0;

	ck_assert_ptr_nonnull(text);
	for (int i = 0; i < DNSNAME_LABELS_MAX; i++)
		memcpy(name + 2 * i, "a.", 3);
	name[2 * DNSNAME_LABELS_MAX - 1] = '\0';
	n = name_of(name);
	ck_assert_uint_eq(dnsname_labels(&n), DNSNAME_LABELS_MAX);
	for (int i = 1; i < DNSNAME_LABELS_MAX; i++)
		at += (size_t)sprintf(text + at, "*.%s:%d\n!*.%s:%d\n",
				      name + 2 * i, 2 * i, name + 2 * i,
				      500 + i);
	(void)sprintf(text + at, "*:1\n!*:500\n%s:400\n!%s:5000", name, name);
	p = policy_of(text);
	ck_assert_uint_eq(policy_name_ports(p, &n, ports), 127);
	ck_assert_uint_eq(ports[0].lo, 1);
	ck_assert_uint_eq(ports[126].hi, 400);
	ck_assert_int_eq(policy_judge_name_port(p, &n, POLICY_TCP, 500).reason,
			 POLICY_DENIED);
	ck_assert_int_eq(policy_judge_name(p, &n).reason, POLICY_ALLOWED);
}
END_TEST

/* Bytes from the wire that no entry can spell are only bytes. */
START_TEST(names_from_the_wire)
{
	static const uint8_t star[] = "\1*\1a\4test";
	static const uint8_t dotted[] = "\10x.a.test";
	static const uint8_t below[] = "\3\0.*\1a\4test";
	_cleanup_(policy_freep) struct policy *p =
		policy_of("*.a.test\nb.test");
	struct dnsname n, root = { .len = 1 }, none = { 0 };

	ck_assert_int_gt(dnsname_from_wire(star, sizeof(star), &n), 0);
	ck_assert_int_eq(policy_judge_name(p, &n).reason, POLICY_ALLOWED);
	ck_assert_int_gt(dnsname_from_wire(dotted, sizeof(dotted), &n), 0);
	ck_assert_int_eq(policy_judge_name(p, &n).reason, POLICY_NOT_LISTED);
	ck_assert_int_gt(dnsname_from_wire(below, sizeof(below), &n), 0);
	ck_assert_int_eq(policy_judge_name(p, &n).reason, POLICY_ALLOWED);
	ck_assert_int_eq(policy_judge_name(p, &root).reason, POLICY_NOT_LISTED);
	ck_assert_int_eq(policy_judge_name(p, &none).reason, POLICY_NOT_LISTED);
	policy_freep(&p);
	p = policy_of("*");
	ck_assert_int_eq(policy_judge_name(p, &root).reason, POLICY_NOT_LISTED);
}
END_TEST

/* ---- addresses ---- */

static const struct {
	const char *text, *addr;
	uint16_t port;
	enum policy_reason reason;
	uint32_t entry;
} judged_addrs[] = {
	{ "11.0.0.7", "11.0.0.7", 443, POLICY_ALLOWED, 0 },
	{ "11.0.0.7", "11.0.0.7", 80, POLICY_ALLOWED, 0 },
	{ "11.0.0.7", "11.0.0.7", 22, POLICY_PORT, 0 },
	{ "11.0.0.7", "11.0.0.8", 443, POLICY_NOT_LISTED, NO },
	{ "11.0.0.7", "::ffff:11.0.0.7", 443, POLICY_ALLOWED, 0 },
	{ "::ffff:11.0.0.7", "11.0.0.7", 443, POLICY_ALLOWED, 0 },
	{ "11.0.0.7", "64:ff9b::11.0.0.7", 443, POLICY_NOT_LISTED, NO },
	{ "11.0.0.0/8:1\n11.0.0.0/9:2", "11.0.0.7", 1, POLICY_ALLOWED, 0 },
	{ "11.0.0.0/8:1\n11.0.0.0/9:2", "11.128.0.7", 2, POLICY_PORT, 0 },
	{ "11.0.0.0/8\n!11.0.0.0/9", "11.0.0.7", 443, POLICY_DENIED, 1 },
	{ "11.0.0.7\n!11.0.0.0/9:80", "11.0.0.7", 443, POLICY_ALLOWED, 0 },
	{ "11.0.0.7\n!11.0.0.0/9:80", "11.0.0.7", 80, POLICY_DENIED, 1 },
	{ "2a0e:b107::/32", "2a0e:b107::9", 443, POLICY_ALLOWED, 0 },
	{ "2a0e:b107::/32", "2a0e:b108::9", 443, POLICY_NOT_LISTED, NO },
	{ "*", "11.0.0.7", 443, POLICY_ALLOWED, 0 },
	{ "*", "2a0e:b107::9", 443, POLICY_ALLOWED, 0 },
	{ "*", "2a0e:b107::9", 22, POLICY_PORT, 0 },
	{ "a.test\n*.test", "11.0.0.7", 443, POLICY_NOT_LISTED, NO },
	/* a denied network in its other forms */
	{ "*\n!11.0.0.0/8", "11.0.0.7", 443, POLICY_DENIED, 1 },
	{ "*\n!11.0.0.0/8", "::ffff:11.0.0.7", 443, POLICY_DENIED, 1 },
	{ "*\n!11.0.0.0/8", "64:ff9b::11.0.0.7", 443, POLICY_DENIED, 1 },
	{ "*\n!11.0.0.0/8", "2002:b00:7::1", 443, POLICY_DENIED, 1 },
	{ "*\n!11.0.0.0/8", "64:ff9b::12.0.0.7", 443, POLICY_ALLOWED, 0 },
	/* special-purpose addresses */
	{ "*", "10.0.0.1", 443, POLICY_PRIVATE, NO },
	{ "*", "169.254.169.254", 80, POLICY_PRIVATE, NO },
	{ "*", "64:ff9b::a9fe:a9fe", 80, POLICY_PRIVATE, NO },
	{ "*", "2a0e:b107::5efe:10.0.0.1", 80, POLICY_PRIVATE, NO },
	{ "", "127.0.0.1", 80, POLICY_PRIVATE, NO },
	{ "10.0.0.0/8:1", "10.0.0.1", 1, POLICY_ALLOWED, 0 },
	{ "10.0.0.0/8:1", "10.0.0.1", 2, POLICY_PORT, 0 },
	{ "*:2\n10.0.0.0/8:1", "10.0.0.1", 2, POLICY_PORT, 1 },
	{ "0.0.0.0/0", "10.0.0.1", 80, POLICY_PRIVATE, NO },
	{ "0.0.0.0/0", "11.0.0.1", 80, POLICY_ALLOWED, 0 },
	{ "0.0.0.0/0 private", "10.0.0.1", 80, POLICY_ALLOWED, 0 },
	{ "10.0.0.0/7", "10.0.0.1", 80, POLICY_PRIVATE, NO },
	{ "10.0.0.1", "64:ff9b::10.0.0.1", 80, POLICY_PRIVATE, NO },
	{ "10.0.0.1\n!10.0.0.0/8", "10.0.0.1", 80, POLICY_DENIED, 1 },
	{ "!10.0.0.0/8", "10.0.0.1", 80, POLICY_DENIED, 0 },
	{ "fd00::/8", "fd00::1", 80, POLICY_ALLOWED, 0 },
	{ "2a0e:b107::5efe:10.0.0.1", "2a0e:b107::5efe:10.0.0.1", 80,
	  POLICY_ALLOWED, 0 },
	{ "2a0e:b107::/32", "2a0e:b107::5efe:10.0.0.1", 80, POLICY_PRIVATE,
	  NO },
};

START_TEST(addrs_are_judged)
{
	_cleanup_(policy_freep) struct policy *p =
		policy_of(judged_addrs[_i].text);
	struct addr a = addr_of(judged_addrs[_i].addr);
	struct policy_verdict v =
		policy_judge_addr(p, &a, POLICY_TCP, judged_addrs[_i].port);

	ck_assert_int_eq(v.reason, judged_addrs[_i].reason);
	ck_assert_uint_eq(v.entry, judged_addrs[_i].entry);
}
END_TEST

static const struct {
	const char *text, *name, *addr;
	enum policy_reason reason;
	const char *ports;
} learned[] = {
	{ "a.test", "a.test", "11.0.0.1", POLICY_ALLOWED, "tcp 80-80 443-443" },
	{ "a.test", "b.test", "11.0.0.1", POLICY_NOT_LISTED, "" },
	{ "a.test\n!a.test", "a.test", "11.0.0.1", POLICY_DENIED, "" },
	{ "a.test\n!11.0.0.0/8", "a.test", "11.0.0.1", POLICY_DENIED, "" },
	{ "a.test\n!11.0.0.0/8", "a.test", "::ffff:11.0.0.1", POLICY_DENIED,
	  "" },
	{ "a.test\n!11.0.0.0/8", "a.test", "64:ff9b::b00:1", POLICY_DENIED,
	  "" },
	{ "a.test\n!11.0.0.0/8:80", "a.test", "11.0.0.1", POLICY_ALLOWED,
	  "tcp 443-443" },
	{ "a.test", "a.test", "10.0.0.1", POLICY_PRIVATE, "" },
	{ "a.test", "a.test", "2002:a00:1::", POLICY_PRIVATE, "" },
	{ "*\na.test", "a.test", "10.0.0.1", POLICY_PRIVATE, "" },
	{ "a.test\n0.0.0.0/0", "a.test", "10.0.0.1", POLICY_PRIVATE, "" },
	{ "a.test private", "a.test", "10.0.0.1", POLICY_ALLOWED,
	  "tcp 80-80/1 443-443/1" },
	{ "a.test:1 private\na.test:2", "a.test", "10.0.0.1", POLICY_ALLOWED,
	  "tcp 1-1/1" },
	{ "a.test:1 private\na.test:2", "a.test", "11.0.0.1", POLICY_ALLOWED,
	  "tcp 1-1/1 2-2" },
	{ "a.test private\n!10.0.0.0/8", "a.test", "10.0.0.1", POLICY_DENIED,
	  "" },
	{ "*.test private", "a.test", "fd00::1", POLICY_ALLOWED,
	  "tcp 80-80/1 443-443/1" },
	/* covered by an address entry: in the answer, but no port more */
	{ "a.test\n10.0.0.0/8:22", "a.test", "10.0.0.1", POLICY_ALLOWED, "" },
	{ "a.test\n!10.0.0.0/8:22\n10.0.0.1", "a.test", "10.0.0.1",
	  POLICY_ALLOWED, "" },
	{ "a.test:*\n!11.0.0.0/8:1000", "a.test", "11.0.0.1", POLICY_ALLOWED,
	  "tcp 0-24 26-464 466-586 588-999 1001-65535" },
};

START_TEST(learned_addrs_are_judged)
{
	_cleanup_(policy_freep) struct policy *p = policy_of(learned[_i].text);
	struct dnsname n = name_of(learned[_i].name);
	struct addr a = addr_of(learned[_i].addr);
	struct policy_port ports[POLICY_PORTS_MAX];
	size_t n_ports = policy_learned_ports(p, &n, &a, ports);
	char text[512];

	ck_assert_int_eq(policy_learned_addr(p, &n, &a).reason,
			 learned[_i].reason);
	ck_assert_str_eq(ports_text(ports, n_ports, text, sizeof(text)),
			 learned[_i].ports);
}
END_TEST

START_TEST(leave_is_in_the_flags)
{
	_cleanup_(policy_freep) struct policy *p =
		policy_of("a.test\nb.test private\n10.0.0.0/8:22");
	struct dnsname a = name_of("a.test"), b = name_of("b.test");
	struct addr addr = addr_of("10.0.0.1");

	ck_assert_uint_eq(policy_learned_addr(p, &a, &addr).flags, 0);
	ck_assert_uint_eq(policy_learned_addr(p, &b, &addr).flags,
			  POLICY_F_PRIVATE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("policy_match");
	TCase *t = tcase_create("policy_match");

	tcase_set_timeout(t, 30);
	tcase_add_loop_test(t, names_are_judged, 0, ARRAY_SIZE(judged_names));
	tcase_add_loop_test(t, ports_are_judged, 0, ARRAY_SIZE(judged_ports));
	tcase_add_loop_test(t, ports_are_joined, 0, ARRAY_SIZE(name_ports));
	tcase_add_test(t, ports_are_clamped);
	tcase_add_test(t, many_entries_of_one_name);
	tcase_add_test(t, the_deepest_name);
	tcase_add_test(t, names_from_the_wire);
	tcase_add_loop_test(t, addrs_are_judged, 0, ARRAY_SIZE(judged_addrs));
	tcase_add_loop_test(t, learned_addrs_are_judged, 0,
			    ARRAY_SIZE(learned));
	tcase_add_test(t, leave_is_in_the_flags);
	suite_add_tcase(s, t);
	return run_suite(s);
}
