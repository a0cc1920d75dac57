/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_question.c - hosts, ports and protocols that may be asked for */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "policy/question.h"

static struct err err;

static const struct {
	const char *text, *printed; /* NULL: refused */
	const char *part;	    /* of the sentence */
} cases[] = {
	{ "example.org", "example.org:443/tcp", NULL },
	{ "Example.ORG.", "example.org:443/tcp", NULL },
	{ "example.org:22", "example.org:22/tcp", NULL },
	{ "example.org/udp", "example.org:443/udp", NULL },
	{ "example.org:53/UDP", "example.org:53/udp", NULL },
	{ "example.org/icmp", "example.org/icmp", NULL },
	{ "b\xc3\xbc"
	  "cher.example",
	  "xn--bcher-kva.example:443/tcp", NULL },
	{ "10.1.2.3:5432", "10.1.2.3:5432/tcp", NULL },
	{ "2001:db8::1", "[2001:db8::1]:443/tcp", NULL },
	{ "[2001:db8::1]", "[2001:db8::1]:443/tcp", NULL },
	{ "[2001:DB8:0::1]:8443/udp", "[2001:db8::1]:8443/udp", NULL },
	{ "::ffff:10.1.2.3", "10.1.2.3:443/tcp", NULL },
	{ "https://example.org", "example.org:443/tcp", NULL },
	{ "http://example.org/a/b?c=d:1#e", "example.org:80/tcp", NULL },
	{ "HTTPS://user:pw@example.org:8443/x", "example.org:8443/tcp", NULL },
	{ "wss://[2001:db8::1]:9/x", "[2001:db8::1]:9/tcp", NULL },
	{ "ssh://git@example.org/repo", "example.org:22/tcp", NULL },
	{ "https://evil.test\\@example.org/", "evil.test:443/tcp", NULL },
	{ "", NULL, "a host is missing" },
	{ ":443", NULL, "a host is missing" },
	{ "[]", NULL, "a host is missing" },
	{ "https:///x", NULL, "a host is missing" },
	{ "*.example.org", NULL, "one host can be checked" },
	{ "*", NULL, "one host can be checked" },
	{ "example.org:", NULL, "a port is a number" },
	{ "example.org:0", NULL, "a port is a number" },
	{ "example.org:65536", NULL, "a port is a number" },
	{ "example.org:https", NULL, "a port is a number" },
	{ "example.org:22/icmp", NULL, "ICMP has no ports" },
	{ "example.org/sctp", NULL, "a protocol follows" },
	{ "10.1.0.0/16", NULL, "a protocol follows" },
	{ "gopher://example.org", NULL, "scheme isn't known" },
	{ "exa mple.org", NULL, "can't stand in a host name" },
	{ "1.2.3", NULL, "not a well-written IPv4 address" },
	{ "[2001:db8::1", NULL, "IPv6" },
	{ "a..b", NULL, "empty label" },
};

START_TEST(texts)
{
	char printed[POLICY_QUESTION_STR_LEN];
	struct policy_question q, before;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r;

		memset(&q, 0x55, sizeof(q));
		before = q;
		err.msg[0] = '\0';
		r = policy_question_parse(cases[i].text, &q, &err);
		if (cases[i].printed) {
			ck_assert_msg(r == 0, "%s: %s", cases[i].text, err.msg);
			ck_assert_str_eq(policy_question_format(&q, printed),
					 cases[i].printed);
			continue;
		}
		ck_assert_msg(r == -EINVAL, "%s", cases[i].text);
		ck_assert_msg(strstr(err.msg, cases[i].part), "%s: %s",
			      cases[i].text, err.msg);
		ck_assert_int_eq(memcmp(&q, &before, sizeof(q)), 0);
	}
}
END_TEST

START_TEST(too_long)
{
	struct policy_question q;
	char text[4096];

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(policy_question_parse(text, &q, &err), -EINVAL);
	text[300] = '\0';
	ck_assert_int_eq(policy_question_parse(text, &q, &err), -EINVAL);
}
END_TEST

START_TEST(judged_by_name_or_address)
{
	static const char list[] = "example.org:22\n10.1.0.0/16:5432\n"
				   "!bad.example.org\n*.example.org/icmp\n";
	static const struct {
		const char *text;
		enum policy_reason reason;
	} asked[] = {
		{ "example.org:22", POLICY_ALLOWED },
		{ "example.org", POLICY_PORT },
		{ "bad.example.org/icmp", POLICY_DENIED },
		{ "a.example.org/icmp", POLICY_ALLOWED },
		{ "10.1.2.3:5432", POLICY_ALLOWED },
		{ "10.1.2.3:5433", POLICY_PORT },
		{ "10.2.2.3:5432", POLICY_PRIVATE },
		{ "11.0.0.1", POLICY_NOT_LISTED },
	};
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(policy_freep) struct policy *p = NULL;
	struct policy_question q;

	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(policy_builder_add_text(b, "f", list, strlen(list)),
			 0);
	ck_assert_int_eq(policy_build(b, &p), 0);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		ck_assert_int_eq(policy_question_parse(asked[i].text, &q, &err),
				 0);
		ck_assert_msg(policy_judge_question(p, &q).reason ==
				      asked[i].reason,
			      "%s: %d", asked[i].text,
			      policy_judge_question(p, &q).reason);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("question");
	TCase *tc = tcase_create("texts");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, texts);
	tcase_add_test(tc, too_long);
	tcase_add_test(tc, judged_by_name_or_address);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
