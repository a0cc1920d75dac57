/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"

static struct addr must_parse(const char *text)
{
	struct addr a = { 0 };

	ck_assert_msg(addr_parse(text, &a) == 0, "'%s'", text);
	return a;
}

static const struct {
	const char *text;
	const char *want;
} good[] = {
	{ "0.0.0.0", "0.0.0.0" },
	{ "203.0.113.7", "203.0.113.7" },
	{ "255.255.255.255", "255.255.255.255" },
	{ "::", "::" },
	{ "::1", "::1" },
	{ "1::", "1::" },
	{ "2001:DB8::1", "2001:db8::1" },
	{ "2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1" },
	/* RFC 5952: the longer run, the first of equals, no single zero */
	{ "1:0:0:2:0:0:0:3", "1:0:0:2::3" },
	{ "1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7" },
	{ "0:0:1:2:3:4:5:0", "::1:2:3:4:5:0" },
	{ "1:2:3:4:5:6:0:0", "1:2:3:4:5:6::" },
	{ "0:1:2:3:4:5:6:7", "0:1:2:3:4:5:6:7" },
	{ "::ffff:192.0.2.1", "::ffff:192.0.2.1" },
	/* not a known prefix, so no dotted form */
	{ "::192.0.2.1", "::c000:201" },
	{ "64:ff9b::192.0.2.1", "64:ff9b::c000:201" },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
};

START_TEST(parses_and_formats)
{
	struct addr a = must_parse(good[_i].text), again;
	char text[ADDR_STR_LEN];

	ck_assert_str_eq(addr_format(&a, text), good[_i].want);
	again = must_parse(text);
	ck_assert(addr_equal(&a, &again));
}
END_TEST

static const char *const bad[] = {
	"",
	"1.2.3",
	"1.2.3.4.5",
	"01.2.3.4",
	"1.2.3.010",
	"0x1.2.3.4",
	"256.1.1.1",
	"1.2.3.4 ",
	" 1.2.3.4",
	"127.1",
	"16909060",
	"1.2.3.4/8",
	":::",
	"1::2::3",
	"12345::",
	"fe80::1%1",
	"[::1]",
	"1:2:3:4:5:6:7",
	"1:2:3:4:5:6:7:8:9",
	"::1.2.3",
	"example.org",
};

START_TEST(refuses_other_forms)
{
	struct addr a = { .family = 77 };

	ck_assert_msg(addr_parse(bad[_i], &a) == -EINVAL, "'%s'", bad[_i]);
	ck_assert_uint_eq(a.family, 77);
}
END_TEST

START_TEST(bytes_and_length)
{
	static const uint8_t b[16] = { 1, 2, 3, 4, 5 };
	struct addr v4 = addr_from_bytes(b, 4), v6 = addr_from_bytes(b, 16);
	struct addr none = addr_from_bytes(b, 5);
	char text[ADDR_STR_LEN];

	ck_assert_uint_eq(addr_len(&v4), 4);
	ck_assert_uint_eq(addr_len(&v6), 16);
	ck_assert_uint_eq(addr_len(&none), 0);
	ck_assert_uint_eq(v4.bytes[4], 0);
	ck_assert_uint_eq(v6.bytes[4], 5);
	ck_assert(!addr_equal(&v4, &v6));
	ck_assert_str_eq(addr_format(&none, text), "-");
}
END_TEST

START_TEST(families_differ_with_equal_bytes)
{
	struct addr a = must_parse("0.0.0.0"), b = must_parse("::");

	ck_assert(!addr_equal(&a, &b));
	ck_assert(addr_equal(&a, &a));
}
END_TEST

START_TEST(endpoints)
{
	struct endpoint a = { must_parse("1.2.3.4"), 80 };
	struct endpoint b = { must_parse("2001:db8::1"), 65535 };
	struct endpoint c = a;
	char text[ENDPOINT_STR_LEN];

	ck_assert_str_eq(endpoint_format(&a, text), "1.2.3.4:80");
	ck_assert_str_eq(endpoint_format(&b, text), "[2001:db8::1]:65535");
	ck_assert(endpoint_equal(&a, &c));
	ck_assert(!endpoint_equal(&a, &b));
	c.port = 81;
	ck_assert(!endpoint_equal(&a, &c));
	b.addr = must_parse("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
	ck_assert_str_eq(endpoint_format(&b, text),
			 "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}
END_TEST

static const struct {
	const char *addr;
	socklen_t len;
} sockaddrs[] = {
	{ "198.51.100.9", sizeof(struct sockaddr_in) },
	{ "2001:db8::9", sizeof(struct sockaddr_in6) },
};

START_TEST(sockaddr_there_and_back)
{
	struct endpoint e = { must_parse(sockaddrs[_i].addr), 4711 }, back;
	struct sockaddr_storage ss;

	ck_assert_uint_eq(endpoint_to_sockaddr(&e, &ss), sockaddrs[_i].len);
	ck_assert_int_eq(endpoint_from_sockaddr(&ss, &back), 0);
	ck_assert(endpoint_equal(&e, &back));
}
END_TEST

START_TEST(mapped_sockaddr_becomes_ipv4)
{
	struct endpoint e = { must_parse("::ffff:192.0.2.1"), 80 }, got;
	struct addr want = must_parse("192.0.2.1");
	struct sockaddr_storage ss;

	(void)endpoint_to_sockaddr(&e, &ss);
	ck_assert_int_eq(endpoint_from_sockaddr(&ss, &got), 0);
	ck_assert(addr_equal(&got.addr, &want));
	ck_assert_uint_eq(got.port, 80);
}
END_TEST

START_TEST(other_sockaddrs_are_refused)
{
	struct sockaddr_storage ss = { .ss_family = AF_UNIX };
	struct endpoint e = { .port = 9 };
	struct endpoint none = { 0 };

	ck_assert_int_eq(endpoint_from_sockaddr(&ss, &e), -EAFNOSUPPORT);
	ck_assert_uint_eq(e.port, 9);
	ck_assert_uint_eq(endpoint_to_sockaddr(&none, &ss), 0);
}
END_TEST

static const struct {
	const char *net;
	uint8_t len;
	const char *last;
	const char *in;
	const char *out;
} prefixes[] = {
	{ "0.0.0.0", 0, "255.255.255.255", "8.8.8.8", "::1" },
	{ "10.0.0.0", 8, "10.255.255.255", "10.255.255.255", "11.0.0.0" },
	{ "172.16.0.0", 12, "172.31.255.255", "172.31.1.1", "172.32.0.0" },
	{ "192.0.2.128", 25, "192.0.2.255", "192.0.2.128", "192.0.2.127" },
	{ "192.0.2.7", 32, "192.0.2.7", "192.0.2.7", "192.0.2.6" },
	{ "::", 0, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::1",
	  "1.2.3.4" },
	{ "fe80::", 10, "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "febf::1",
	  "fec0::" },
	{ "2001:db8::", 127, "2001:db8::1", "2001:db8::1", "2001:db8::2" },
	{ "2001:db8::1", 128, "2001:db8::1", "2001:db8::1", "2001:db8::" },
};

START_TEST(prefix_bounds)
{
	struct prefix p = { must_parse(prefixes[_i].net), prefixes[_i].len };
	struct addr in = must_parse(prefixes[_i].in);
	struct addr out = must_parse(prefixes[_i].out);
	struct addr want = must_parse(prefixes[_i].last);
	struct addr last = prefix_last(&p);

	ck_assert(addr_equal(&last, &want));
	ck_assert(prefix_contains(&p, &in));
	ck_assert(prefix_contains(&p, &last));
	ck_assert(!prefix_contains(&p, &out));
}
END_TEST

START_TEST(no_address_is_in_no_prefix)
{
	struct prefix p = { 0 };
	struct addr none = { 0 };

	ck_assert(!prefix_contains(&p, &none));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("addr");
	TCase *tc = tcase_create("addr");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, parses_and_formats, 0, ARRAY_SIZE(good));
	tcase_add_loop_test(tc, refuses_other_forms, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, bytes_and_length);
	tcase_add_test(tc, families_differ_with_equal_bytes);
	tcase_add_test(tc, endpoints);
	tcase_add_loop_test(tc, sockaddr_there_and_back, 0,
			    ARRAY_SIZE(sockaddrs));
	tcase_add_test(tc, mapped_sockaddr_becomes_ipv4);
	tcase_add_test(tc, other_sockaddrs_are_refused);
	tcase_add_loop_test(tc, prefix_bounds, 0, ARRAY_SIZE(prefixes));
	tcase_add_test(tc, no_address_is_in_no_prefix);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
