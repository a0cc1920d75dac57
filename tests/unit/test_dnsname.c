/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/dnsname.h"

#define L63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define L61 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct dnsname must(const char *text)
{
	struct dnsname n = { 0 };

	ck_assert_msg(dnsname_from_text(text, strlen(text), &n) == 0, "'%s'",
		      text);
	return n;
}

static const struct {
	const char *text;
	int want;
	const char *shown;
	unsigned int labels;
} texts[] = {
	{ "example.org", 0, "example.org", 2 },
	{ "www.Example.ORG.", 0, "www.example.org", 3 },
	{ "localhost", 0, "localhost", 1 },
	{ "_443._tcp.x-1.example", 0, "_443._tcp.x-1.example", 4 },
	{ "1.2.3.4", 0, "1.2.3.4", 4 },
	{ L63 ".org", 0, L63 ".org", 2 },
	/* 63 + 63 + 63 + 61 with lengths and root: 255 octets */
	{ L63 "." L63 "." L63 "." L61, 0, L63 "." L63 "." L63 "." L61, 4 },
	{ L63 "." L63 "." L63 "." L61 "a", -ENAMETOOLONG, NULL, 0 },
	{ L63 "." L63 "." L63 "." L63 "." L63, -ENAMETOOLONG, NULL, 0 },
	{ L63 "a.org", -ENAMETOOLONG, NULL, 0 },
	{ "", -EINVAL, NULL, 0 },
	{ ".", -EINVAL, NULL, 0 },
	{ "..", -EINVAL, NULL, 0 },
	{ ".org", -EINVAL, NULL, 0 },
	{ "a..org", -EINVAL, NULL, 0 },
	{ "org..", -EINVAL, NULL, 0 },
	{ "*.org", -EINVAL, NULL, 0 },
	{ "a b.org", -EINVAL, NULL, 0 },
	{ "a\\.b.org", -EINVAL, NULL, 0 },
	{ "ex\xc3\xa4mple.org", -EINVAL, NULL, 0 },
	{ "a\n.org", -EINVAL, NULL, 0 },
	{ "a/b", -EINVAL, NULL, 0 },
	{ "a:80", -EINVAL, NULL, 0 },
};

START_TEST(from_text)
{
	struct dnsname n = { .len = 99 };
	char shown[DNSNAME_STR_LEN];
	int r = dnsname_from_text(texts[_i].text, strlen(texts[_i].text), &n);

	ck_assert_msg(r == texts[_i].want, "'%s': %d", texts[_i].text, r);
	if (r < 0) {
		ck_assert_uint_eq(n.len, 99);
		return;
	}
	ck_assert_str_eq(dnsname_format(&n, shown), texts[_i].shown);
	ck_assert_uint_eq(dnsname_labels(&n), texts[_i].labels);
}
END_TEST

START_TEST(nul_in_text_is_refused)
{
	struct dnsname n;

	ck_assert_int_eq(dnsname_from_text("a\0b.org", 7, &n), -EINVAL);
	ck_assert_int_eq(dnsname_from_text("a.org\0", 6, &n), -EINVAL);
}
END_TEST

START_TEST(most_labels)
{
	char text[2 * DNSNAME_LABELS_MAX + 2];
	struct dnsname n, parent;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? '.' : 'a';
	ck_assert_int_eq(
		dnsname_from_text(text, 2 * DNSNAME_LABELS_MAX - 1, &n), 0);
	ck_assert_uint_eq(n.len, DNSNAME_WIRE_MAX);
	ck_assert_uint_eq(dnsname_labels(&n), DNSNAME_LABELS_MAX);
	ck_assert(dnsname_parent(&n, &parent));
	ck_assert(dnsname_is_below(&n, &parent));
	ck_assert_int_eq(
		dnsname_from_text(text, 2 * DNSNAME_LABELS_MAX + 1, &n),
		-ENAMETOOLONG);
}
END_TEST

static const struct {
	const char *name;
	const char *wire;
	size_t len;
	int want;
	const char *shown;
} wires[] = {
	{ "root", "\0", 1, 1, "." },
	{ "plain", "\3www\7ExAmple\3ORG\0", 17, 17, "www.example.org" },
	{ "something follows", "\3org\0\0\1\0\1", 9, 5, "org" },
	{ "dot inside a label", "\5a.b\\c\0", 7, 7, "a\\.b\\\\c" },
	{ "control octets", "\4\0\n\33 \0", 6, 6, "\\000\\010\\027\\032" },
	{ "high octets", "\2\xff\xc3\0", 4, 4, "\\255\\195" },
	{ "only ASCII is folded", "\2\xc4\xe4\0", 4, 4, "\\196\\228" },
	{ "empty", "", 0, -EBADMSG, NULL },
	{ "no root", "\3org", 4, -EBADMSG, NULL },
	{ "label runs out", "\4org", 4, -EBADMSG, NULL },
	{ "only a length", "\3", 1, -EBADMSG, NULL },
	{ "pointer", "\xc0\x0c", 2, -EBADMSG, NULL },
	{ "pointer after a label", "\1a\xc0\x0c", 4, -EBADMSG, NULL },
	{ "extended label type", "\x41\1\0", 3, -EBADMSG, NULL },
	{ "reserved label type", "\x80\0", 2, -EBADMSG, NULL },
};

START_TEST(from_wire)
{
	const uint8_t *wire = (const uint8_t *)wires[_i].wire;
	char shown[DNSNAME_STR_LEN];
	struct dnsname n = { .len = 99 };
	int r = dnsname_from_wire(wire, wires[_i].len, &n);

	ck_assert_msg(r == wires[_i].want, "%s: %d", wires[_i].name, r);
	if (r < 0) {
		ck_assert_uint_eq(n.len, 99);
		return;
	}
	ck_assert_msg(strcmp(dnsname_format(&n, shown), wires[_i].shown) == 0,
		      "%s: '%s'", wires[_i].name, shown);
}
END_TEST

START_TEST(wire_of_the_greatest_length)
{
	char shown[DNSNAME_STR_LEN];
	uint8_t wire[300] = { 0 };
	struct dnsname n;

	/* 63 + 63 + 63 + 61: 255 octets with the root */
	wire[0] = wire[64] = wire[128] = 63;
	wire[192] = 61;
	ck_assert_int_eq(dnsname_from_wire(wire, sizeof(wire), &n), 255);
	ck_assert_int_eq(dnsname_from_wire(wire, 254, &n), -EBADMSG);
	wire[192] = 62;
	ck_assert_int_eq(dnsname_from_wire(wire, sizeof(wire), &n), -EBADMSG);
	/* The longest text: every octet escaped. */
	wire[192] = 61;
	ck_assert_int_eq(dnsname_from_wire(wire, sizeof(wire), &n), 255);
	ck_assert_uint_eq(strlen(dnsname_format(&n, shown)), 4 * 250 + 3);
}
END_TEST

static const struct {
	const char *name;
	const char *apex;
	bool want;
} belows[] = {
	{ "www.good.example", "good.example", true },
	{ "a.b.good.example", "good.example", true },
	{ "WWW.GOOD.EXAMPLE", "good.example.", true },
	{ "good.example", "good.example", false },
	{ "evilgood.example", "good.example", false },
	{ "good.example", "www.good.example", false },
	{ "good.example.evil", "good.example", false },
	{ "example", "good.example", false },
};

START_TEST(below_at_label_boundaries)
{
	struct dnsname n = must(belows[_i].name), apex = must(belows[_i].apex);

	ck_assert_msg(dnsname_is_below(&n, &apex) == belows[_i].want,
		      "%s below %s", belows[_i].name, belows[_i].apex);
}
END_TEST

START_TEST(a_length_octet_is_no_boundary)
{
	/* The label holds the octets of "<7>example<0>" at its end. */
	static const uint8_t wire[] = "\11x\7example\0";
	struct dnsname n, apex = must("example");

	ck_assert_int_gt(dnsname_from_wire(wire, sizeof(wire), &n), 0);
	ck_assert(!dnsname_is_below(&n, &apex));
}
END_TEST

START_TEST(everything_is_below_the_root)
{
	struct dnsname root, none = { 0 }, n = must("org");

	ck_assert_int_eq(dnsname_from_wire((const uint8_t *)"", 1, &root), 1);
	ck_assert(dnsname_is_below(&n, &root));
	ck_assert(!dnsname_is_below(&root, &root));
	ck_assert(!dnsname_is_below(&root, &n));
	ck_assert(!dnsname_is_below(&n, &none));
	ck_assert(!dnsname_is_below(&none, &root));
}
END_TEST

START_TEST(parents_down_to_the_root)
{
	struct dnsname n = must("a.example.org"), none = { 0 };
	char shown[DNSNAME_STR_LEN];

	ck_assert(dnsname_parent(&n, &n));
	ck_assert_str_eq(dnsname_format(&n, shown), "example.org");
	ck_assert(dnsname_parent(&n, &n));
	ck_assert(dnsname_parent(&n, &n));
	ck_assert_str_eq(dnsname_format(&n, shown), ".");
	ck_assert(!dnsname_parent(&n, &n));
	ck_assert(!dnsname_parent(&none, &n));
	ck_assert_uint_eq(dnsname_labels(&n), 0);
	ck_assert_str_eq(dnsname_format(&none, shown), "");
}
END_TEST

START_TEST(equality_and_hash_ignore_case)
{
	struct dnsname a = must("Www.Example.Org"),
		       b = must("www.example.org.");
	struct dnsname c = must("www.example.com");
	/* Same octets, other labels. */
	static const uint8_t joined[] = "\13www.example\3org";
	struct dnsname d;

	ck_assert_int_gt(dnsname_from_wire(joined, sizeof(joined), &d), 0);
	ck_assert(dnsname_equal(&a, &b));
	ck_assert_uint_eq(dnsname_hash(&a), dnsname_hash(&b));
	ck_assert(!dnsname_equal(&a, &c));
	ck_assert_uint_ne(dnsname_hash(&a), dnsname_hash(&c));
	ck_assert(!dnsname_equal(&a, &d));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dnsname");
	TCase *tc = tcase_create("dnsname");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, from_text, 0, ARRAY_SIZE(texts));
	tcase_add_test(tc, nul_in_text_is_refused);
	tcase_add_test(tc, most_labels);
	tcase_add_loop_test(tc, from_wire, 0, ARRAY_SIZE(wires));
	tcase_add_test(tc, wire_of_the_greatest_length);
	tcase_add_loop_test(tc, below_at_label_boundaries, 0,
			    ARRAY_SIZE(belows));
	tcase_add_test(tc, a_length_octet_is_no_boundary);
	tcase_add_test(tc, everything_is_below_the_root);
	tcase_add_test(tc, parents_down_to_the_root);
	tcase_add_test(tc, equality_and_hash_ignore_case);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
