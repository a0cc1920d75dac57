/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_policy.c - any bytes as a policy's text, and as names and addresses
 *
 * What stands behind a form feed is the text of the preset @f. Beside crashes:
 * a text either has errors, each printable and inside the text, or makes a
 * policy whose answers fit one another, whose entries print to what reads the
 * same, and whose warnings are printable.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/lint.h"
#include "policy/policy.h"
#include "policy/preset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_MAX 20000U /* more is only slower */

static void must(bool claim)
{
	if (!claim)
		abort();
}

static void check_printable(const char *text)
{
	for (const char *c = text; *c; c++)
		must(*c >= 0x20 && *c < 0x7f);
}

static void check_errors(const struct policy_error *e, size_t n)
{
	must(n <= 2 * (POLICY_ERRORS_MAX + 1)); /* of the text and of @f */
	for (size_t i = 0; i < n; i++) {
		char line[1024];

		must(e[i].line > 0 && e[i].column > 0);
		(void)policy_error_format(&e[i], line, sizeof(line));
		check_printable(line);
	}
}

static void check_list(const struct policy_port *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		must(list[i].lo <= list[i].hi);
		must(i == 0 || list[i].proto > list[i - 1].proto ||
		     (list[i].proto == list[i - 1].proto &&
		      list[i].lo > list[i - 1].hi));
	}
}

static void ask_name(const struct policy *p, const struct dnsname *n,
		     const struct addr *a)
{
	struct policy_port list[POLICY_PORTS_MAX];
	size_t n_list = policy_name_ports(p, n, list);

	check_list(list, n_list);
	must((policy_judge_name(p, n).reason == POLICY_ALLOWED) ==
	     (n_list > 0));
	for (size_t i = 0; i < n_list; i++) {
		struct policy_verdict v =
			policy_judge_name_port(p, n, list[i].proto, list[i].lo);

		must(v.reason == POLICY_ALLOWED);
		must(v.entry < policy_n_entries(p));
		v = policy_judge_name_port(p, n, list[i].proto, list[i].hi);
		must(v.reason == POLICY_ALLOWED);
	}
	n_list = policy_learned_ports(p, n, a, list);
	check_list(list, n_list);
	if (n_list > 0)
		must(policy_learned_addr(p, n, a).reason == POLICY_ALLOWED);
}

static void ask(const struct policy *p, const uint8_t *data, size_t size)
{
	struct addr a = addr_from_bytes(data, size < 16 ? 0 : 16);
	struct dnsname n;

	for (size_t i = 0; i < policy_n_nets(p); i++) {
		struct policy_net net = policy_net_at(p, i);
		struct policy_verdict v = policy_judge_addr(
			p, &net.prefix.addr, net.port.proto, net.port.lo);

		must(v.reason != POLICY_NOT_LISTED);
		must(!net.deny || v.reason == POLICY_DENIED);
	}
	(void)policy_judge_addr(p, &a, POLICY_TCP, 443);
	for (size_t at = 0; at < size && at < 64; at++)
		if (dnsname_from_wire(data + at, size - at, &n) > 0)
			ask_name(p, &n, &a);
	for (uint32_t i = 0; i < policy_n_entries(p); i++) {
		const char *text = policy_entry(p, i).text;

		if (dnsname_from_text(text, strcspn(text, ":/ "), &n) == 0)
			ask_name(p, &n, &a);
	}
}

static void print_entries(const struct policy *p)
{
	char text[POLICY_PRINT_MAX], again[POLICY_PRINT_MAX];

	for (uint32_t i = 0; i < policy_n_entries(p); i++) {
		(void)policy_entry_print(p, i, text);
		check_printable(text);
		must(policy_line_print(text, strlen(text), false, again,
				       NULL) == 1);
		must(strcmp(text, again) == 0);
	}
}

static void check_lint(const struct policy *p)
{
	_cleanup_(lint_freep) struct lint *l = NULL;

	if (policy_lint(p, LINT_ALL, &l) < 0)
		return;
	for (size_t i = 0; i < lint_n(l, NULL); i++) {
		const struct lint_warning *w = lint_at(l, i);

		must(w->at.line > 0 && w->at.column > 0);
		must(w->entry < policy_n_entries(p));
		check_printable(w->at.msg);
	}
}

static void check_info(const struct preset *preset)
{
	struct preset_info info;

	preset_info(preset, &info);
	check_printable(info.title);
	check_printable(info.about);
	check_printable(info.uploads_why);
	for (size_t i = 0; i < info.n_sources; i++)
		check_printable(info.source[i]);
	for (size_t i = 0; i < info.n_notes; i++)
		check_printable(info.note[i]);
}

/* A set with @f alone beside what is built in. */
static int make_set(struct preset_set **ret, const char *text, size_t len)
{
	int r = preset_set_new(ret);

	if (r == 0)
		r = preset_set_add(*ret, "f", "f\x1b", text, len);
	if (r == 0)
		check_info(preset_set_find(*ret, "f", 1));
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(preset_set_freep) struct preset_set *set = NULL;
	_cleanup_(policy_freep) struct policy *p = NULL;
	const struct policy_error *e;
	const uint8_t *feed = size ? memchr(data, '\f', size) : NULL;
	size_t n, len = feed ? (size_t)(feed - data) : size;
	int r;

	if (size > TEXT_MAX || policy_builder_new(&b) < 0 ||
	    make_set(&set, (const char *)data + len + !!feed,
		     size - len - !!feed) < 0)
		return 0;
	policy_builder_set_presets(b, set);
	if (policy_builder_add_text(b, "fuzz\x1b", (const char *)data, len) < 0)
		return 0;
	e = policy_builder_errors(b, &n);
	check_errors(e, n);
	r = policy_build(b, &p);
	must((r == 0) == (n == 0));
	if (!p)
		return 0;
	ask(p, data, size);
	print_entries(p);
	check_lint(p);
	return 0;
}
