/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_policy_lint.c - what is said of entries that are right */
#include <stdlib.h>

#include "policy/lint.h"
#include "policy/preset.h"
#include "tests/unit/policy_tools.h"

/* A policy of texts, with the presets x (uploads) and y. */
static struct policy *lint_policy(const char *text, const char *second)
{
	static const char x[] = "# uploads: yes - by post\na.test\n*.com\n";
	static const char y[] = "# uploads: no\n*.github.io\n"
				"!*.pages.dev\nb.test:53\ngist.github.com\n";
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(preset_set_freep) struct preset_set *s = NULL;
	const struct policy_error *e;
	struct policy *p = NULL;
	size_t n;

	ck_assert_int_eq(preset_set_new(&s), 0);
	ck_assert_int_eq(preset_set_add(s, "x", "/x", x, strlen(x)), 0);
	ck_assert_int_eq(preset_set_add(s, "y", "/y", y, strlen(y)), 0);
	ck_assert_int_eq(preset_set_add(s, "z", "/z", "a.test", 6), 0);
	ck_assert_int_eq(policy_builder_new(&b), 0);
	policy_builder_set_presets(b, s);
	ck_assert_int_eq(policy_builder_add_text(b, "l", text, strlen(text)),
			 0);
	if (second)
		ck_assert_int_eq(
			policy_builder_add_entry(b, "--allow", second, false),
			0);
	e = policy_builder_errors(b, &n);
	ck_assert_msg(n == 0, "%s: %s", text, n ? e[0].msg : "");
	ck_assert_int_eq(policy_build(b, &p), 0);
	return p;
}

static const struct {
	const char *text, *second;
	/* "kind line:column: beginning of the message" */
	const char *warnings[4];
} cases[] = {
	{ "example.org\n*.example.org:22\n11.0.0.1\n!x.test\n*\n@pypi",
	  "@cran",
	  { "covered 1:1: this entry adds nothing to '*' (l:5)",
	    "covered 3:1: this entry adds nothing to '*' (l:5)" } },
	{ "example.org\n*.example.org\n[2a0e:b107::1]:443\n*.co.example\n",
	  NULL,
	  { NULL } },

	{ " *.com # x",
	  NULL,
	  { "suffix 1:2: '*.com' opens the names of everyone below a public "
	    "suffix; the names of one owner, as in *.example.com, were" } },
	{ "*.co.uk\n*.com.au:22\n*.org",
	  NULL,
	  { "suffix 1:1: '*.co.uk'", "suffix 2:1: '*.com.au'",
	    "suffix 3:1: '*.org'" } },
	{ "co.uk\n!*.org\n*.test\n*.internal\n*.foo.uk\n*.a.co.uk\n*.co.dev",
	  NULL,
	  { NULL } },

	{ "*.github.io\n*.blob.core.windows.net\n*.s3.amazonaws.com",
	  NULL,
	  { "tenants 1:1: '*.github.io' opens pages that any user can publish, "
	    "an attacker's too; the exact host was meant",
	    "tenants 2:1: '*.blob.core.windows.net' opens every customer's "
	    "storage buckets",
	    "tenants 3:1: '*.s3.amazonaws.com' opens every AWS" } },
	{ "*.windows.net\n*.s3.us-west-2.amazonaws.com\n"
	  "*.us-east-1.amazonaws.com\n*.R2.dev",
	  NULL,
	  { "tenants 1:1: '*.windows.net'",
	    "tenants 2:1: '*.s3.us-west-2.amazonaws.com' opens every AWS",
	    "tenants 3:1: '*.us-east-1.amazonaws.com' opens every AWS",
	    "tenants 4:1: '*.r2.dev'" } },
	{ "*.s3.amazonaws.com\n*.amazonaws.com",
	  NULL,
	  { "tenants 1:1: '*.s3.amazonaws.com'",
	    "covered 1:1: this entry adds nothing to '*.amazonaws.com' (l:2)",
	    "tenants 2:1: '*.amazonaws.com'" } },
	{ "me.github.io\n*.me.github.io\n!*.github.io:22\n"
	  "*.mybucket.s3.amazonaws.com\n*.xgithub.io",
	  NULL,
	  { NULL } },
	{ "storage.googleapis.com\ns3.amazonaws.com:443\n"
	  "s3-eu-west-1.amazonaws.com\ns3.eu-west-1.amazonaws.com",
	  NULL,
	  { "tenants 1:1: 'storage.googleapis.com' serves the buckets of every "
	    "customer; an allowlist of hosts can't tell them apart",
	    "tenants 2:1: 's3.amazonaws.com' serves",
	    "tenants 3:1: 's3-eu-west-1.amazonaws.com' serves",
	    "tenants 4:1: 's3.eu-west-1.amazonaws.com' serves" } },
	{ "s3.example.org\ns3x.amazonaws.com\nb.s3.amazonaws.com\n"
	  "s3.eu.amazonaws.com\ns3-x.amazonaws.com",
	  NULL,
	  { NULL } },

	{ "1.1.1.1:53\nexample.org:443,53,5353\n!dns.test:53/udp",
	  NULL,
	  { "port53 1:9: port 53 can't work: all traffic to it goes to egret's "
	    "resolver",
	    "port53 2:17: port 53 can't work", "port53 3:11: port 53" } },
	{ "1.1.1.1:50-60\nexample.org:*\nexample.net:1-53", NULL, { NULL } },

	{ "@x",
	  NULL,
	  { "uploads 1:1: the hosts of '@x' accept uploads: by post",
	    "suffix 1:1: '@x' has '*.com', which opens the names of everyone "
	    "below a public suffix" } },
	{ "a.test\n @y",
	  "@z",
	  { "covered 1:1: this entry adds nothing to '@z' (--allow), which "
	    "has 'a.test'",
	    "tenants 2:2: '@y' has '*.github.io', which opens pages that any "
	    "user can publish, an attacker's too",
	    "uploads 0:1: the hosts of '@z' accept uploads" } },
	{ "@z\na.test",
	  NULL,
	  { "uploads 1:1: the hosts of '@z' accept uploads",
	    "covered 2:1: this entry adds nothing to '@z' (l:1), which has "
	    "'a.test'" } },
	{ "!@x\n!@npm", NULL, { NULL } },
	{ "@y\n@Y # again\n@y private\n!@y",
	  "@y",
	  { "tenants 1:1: '@y' has",
	    "duplicate 2:1: '@y' (l:1) says the same already",
	    "duplicate 0:1: '@y' (l:1) says the same already" } },

	{ "example.org\nEXAMPLE.org:80,443",
	  NULL,
	  { "duplicate 2:1: 'example.org' (l:1) says the same already" } },
	{ "11.0.0.1\n::ffff:11.0.0.1",
	  NULL,
	  { "duplicate 2:1: '11.0.0.1' (l:1) says the same already" } },
	{ "example.org",
	  "example.org",
	  { "duplicate 0:1: 'example.org' (l:1) says the same already" } },
	{ "!a.test\n!a.test\n!*.b.test\n!c.b.test:22",
	  NULL,
	  { "duplicate 2:1: '!a.test' (l:1) says",
	    "covered 4:1: this entry adds nothing to '!*.b.test' (l:3)" } },
	{ "*\n*", NULL, { "duplicate 2:1: '*' (l:1) says the same already" } },

	{ "a.example.org:443\n*.example.org\n*.b.example.org\nc.example.org:22",
	  NULL,
	  { "covered 1:1: this entry adds nothing to '*.example.org' (l:2)",
	    "covered 3:1: this entry adds nothing to '*.example.org' (l:2)" } },
	{ "a.example.org private\n*.example.org\nexample.org", NULL, { NULL } },
	{ "a.example.org private\n*.example.org:1-500 private srv",
	  NULL,
	  { "covered 1:1: this entry adds nothing to '*.example.org:1-500 "
	    "private srv' (l:2)" } },
	{ "11.1.0.0/16\n11.0.0.0/8:*\n11.1.2.3:25",
	  NULL,
	  { "covered 1:1: this entry adds nothing to '11.0.0.0/8:*' (l:2)" } },
	{ "10.1.0.0/16\n*\n0.0.0.0/0",
	  NULL,
	  { "covered 3:1: this entry adds nothing to '*' (l:2)" } },
	{ "10.1.0.0/16\n10.0.0.0/8",
	  NULL,
	  { "covered 1:1: this entry adds nothing to '10.0.0.0/8' (l:2)" } },

	{ "a.b.test\n!*.b.test\n*.c.b.test",
	  NULL,
	  { "never 1:1: this entry opens nothing: it is denied whole by "
	    "'!*.b.test' (l:2), and deny always wins",
	    "never 3:1: this entry opens nothing: it is denied whole" } },
	{ "*.b.test\n!a.b.test\n!b.test\na.test\n!a.test:443", NULL, { NULL } },
	{ "a.test\n!a.test:80\n!*.test:443",
	  NULL,
	  { "never 1:1: this entry opens nothing: it is denied whole by "
	    "'!a.test:80' (l:2)" } },
	{ "11.1.0.0/16\n!11.0.0.0/8\n12.0.0.0/8\n!12.0.0.0/9",
	  NULL,
	  { "never 1:1: this entry opens nothing: it is denied whole" } },
	{ "*\n!*\n", NULL, { "never 1:1: this entry opens nothing" } },
	{ "a.test\n", "x.a.test", { NULL } },
	{ "127.0.0.1:5432\n[::1]:1\nlocalhost\n0.0.0.0",
	  NULL,
	  { "never 1:1: this entry opens nothing: it is the sandbox's own "
	    "loopback",
	    "never 2:1: this entry opens nothing: it is the sandbox's",
	    "never 3:1: this entry opens nothing: it is the sandbox's",
	    "never 4:1: this entry opens nothing: it stands for the" } },
	{ "224.0.0.251:1\nff02::fb\n255.255.255.255\n[::]:1",
	  NULL,
	  { "never 1:1: this entry opens nothing: multicast doesn't leave",
	    "never 2:1: this entry opens nothing: multicast",
	    "never 3:1: this entry opens nothing: broadcast doesn't leave",
	    "never 4:1: this entry opens nothing: it stands for" } },
	{ "x.egret.internal\n*.x.egret.internal\negret.internal",
	  NULL,
	  { "never 1:1: this entry opens nothing: egret answers names below "
	    "egret.internal itself",
	    "never 2:1: this entry opens nothing: egret",
	    "never 3:1: this entry opens nothing: egret" } },
	{ "host.egret.internal:5432\n*.egret.internal\n126.0.0.0/7\n"
	  "!127.0.0.1\nx.localhost.test",
	  NULL,
	  { NULL } },
	{ "\xc3\xa9.test\n!\xc3\xa9.test",
	  NULL,
	  { "never 1:1: this entry opens nothing: it is denied whole by "
	    "'!\\xc3\\xa9.test' (l:2)" } },
};

START_TEST(warnings_are_told)
{
	_cleanup_(policy_freep) struct policy *p =
		lint_policy(cases[_i].text, cases[_i].second);
	_cleanup_(lint_freep) struct lint *l = NULL;
	char line[1024];
	size_t more, n, at = 0;

	ck_assert_int_eq(policy_lint(p, LINT_ALL, &l), 0);
	n = lint_n(l, &more);
	ck_assert_uint_eq(more, 0);
	for (size_t i = 0; i < n; i++) {
		const struct lint_warning *w = lint_at(l, i);
		const char *want;

		ck_assert_str_eq(w->at.source, w->at.line ? "l" : "--allow");
		(void)snprintf(line, sizeof(line), "%s %u:%u: %s",
			       lint_kind_str(w->kind), w->at.line, w->at.column,
			       w->at.msg);
		for (const char *c = line; *c; c++)
			ck_assert(*c >= 0x20 && *c < 0x7f);
		/* Further warnings of a case that has room for no more. */
		if (at == ARRAY_SIZE(cases[0].warnings))
			ck_abort_msg("case %d: one more: %s", _i, line);
		want = cases[_i].warnings[at++];
		ck_assert_msg(want && strncmp(line, want, strlen(want)) == 0,
			      "case %d: %s", _i, line);
	}
	ck_assert_msg(at == ARRAY_SIZE(cases[0].warnings) ||
			      !cases[_i].warnings[at],
		      "case %d: none for %s", _i, cases[_i].warnings[at]);
}
END_TEST

START_TEST(kinds_are_chosen)
{
	static const char text[] =
		"*.com\n*.github.io\n@x\n@x\na.com\n"
		"x.test:53\nlocalhost\nstorage.googleapis.com";
	_cleanup_(policy_freep) struct policy *p = lint_policy(text, "@y");

	for (unsigned int kinds = 0; kinds <= LINT_ALL; kinds++) {
		_cleanup_(lint_freep) struct lint *l = NULL;
		unsigned int seen = 0;

		ck_assert_int_eq(policy_lint(p, kinds, &l), 0);
		for (size_t i = 0; i < lint_n(l, NULL); i++)
			seen |= LINT_BIT(lint_at(l, i)->kind);
		ck_assert_uint_eq(seen, kinds);
	}
	ck_assert_str_eq(lint_kind_str(LINT_KIND_MAX), "unknown");
}
END_TEST

START_TEST(warnings_are_bounded)
{
	char text[(LINT_WARNINGS_MAX + 5) * 6 + 1] = "";
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(lint_freep) struct lint *l = NULL;
	size_t more;

	for (int i = 0; i < LINT_WARNINGS_MAX + 5; i++)
		memcpy(text + (size_t)i * 6, "*.com\n", 7);
	p = policy_of(text);
	ck_assert_int_eq(policy_lint(p, LINT_BIT(LINT_SUFFIX), &l), 0);
	ck_assert_uint_eq(lint_n(l, &more), LINT_WARNINGS_MAX);
	ck_assert_uint_eq(more, 5);
	lint_free(NULL);
}
END_TEST

/* One key with very many entries takes no longer than other lists. */
START_TEST(many_entries_are_quick)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(lint_freep) struct lint *l = NULL;
	_cleanup_(freep) char *text = malloc(50000 * 20 + 1);
	size_t at = 0;

	ck_assert_ptr_nonnull(text);
	for (int i = 0; i < 50000; i++)
		at += (size_t)sprintf(text + at, "example.org:%d\n", 100 + i);
	p = policy_of(text);
	ck_assert_int_eq(policy_lint(p, LINT_ALL, &l), 0);
	ck_assert_uint_eq(lint_n(l, NULL), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("policy_lint");
	TCase *t = tcase_create("lint");

	tcase_set_timeout(t, 30);
	tcase_add_loop_test(t, warnings_are_told, 0, ARRAY_SIZE(cases));
	tcase_add_test(t, kinds_are_chosen);
	tcase_add_test(t, warnings_are_bounded);
	tcase_add_test(t, many_entries_are_quick);
	suite_add_tcase(s, t);
	return run_suite(s);
}
