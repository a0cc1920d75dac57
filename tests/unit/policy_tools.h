/* SPDX-License-Identifier: GPL-2.0-or-later */
/* policy_tools.h - what the tests of policy/ share */
#ifndef EGRET_TESTS_POLICY_TOOLS_H
#define EGRET_TESTS_POLICY_TOOLS_H

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/dnsname.h"
#include "policy/policy.h"

/* The policy of a text that has no error. */
static inline struct policy *policy_of(const char *text)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	const struct policy_error *e;
	struct policy *p = NULL;
	size_t n;

	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(policy_builder_add_text(b, "t", text, strlen(text)),
			 0);
	e = policy_builder_errors(b, &n);
	ck_assert_msg(n == 0, "%s: %s", text, n ? e[0].msg : "");
	ck_assert_int_eq(policy_build(b, &p), 0);
	return p;
}

static inline struct dnsname name_of(const char *text)
{
	struct dnsname n;

	ck_assert_msg(dnsname_from_text(text, strlen(text), &n) == 0, "%s",
		      text);
	return n;
}

static inline struct addr addr_of(const char *text)
{
	struct addr a;

	ck_assert_msg(addr_parse(text, &a) == 0, "%s", text);
	return a;
}

/* "tcp 80-80 443-443/1": ranges in order, flags behind a slash if any. */
static inline const char *ports_text(const struct policy_port *p, size_t n,
				     char *dst, size_t size)
{
	size_t at = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || p[i].proto != p[i - 1].proto)
			at += (size_t)snprintf(dst + at, size - at, "%s%s",
					       i ? " " : "",
					       policy_proto_str(p[i].proto));
		at += (size_t)snprintf(dst + at, size - at, " %u-%u", p[i].lo,
				       p[i].hi);
		if (p[i].flags)
			at += (size_t)snprintf(dst + at, size - at, "/%x",
					       p[i].flags);
		ck_assert_uint_lt(at, size);
	}
	return dst;
}

static inline int run_suite(Suite *s)
{
	SRunner *sr = srunner_create(s);
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif /* EGRET_TESTS_POLICY_TOOLS_H */
