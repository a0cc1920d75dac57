/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_policy.c - any bytes as a policy's text, and as names and addresses
 *
 * Beside crashes: a text either has errors, each printable and inside the text,
 * or makes a policy whose answers fit one another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_MAX 20000U /* more is only slower */

static void must(bool claim)
{
	if (!claim)
		abort();
}

static void check_errors(const struct policy_error *e, size_t n)
{
	must(n <= POLICY_ERRORS_MAX + 1);
	for (size_t i = 0; i < n; i++) {
		char line[1024];

		must(e[i].line > 0 && e[i].column > 0);
		(void)policy_error_format(&e[i], line, sizeof(line));
		for (const char *c = line; *c; c++)
			must(*c >= 0x20 && *c < 0x7f);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(policy_freep) struct policy *p = NULL;
	const struct policy_error *e;
	size_t n;
	int r;

	if (size > TEXT_MAX || policy_builder_new(&b) < 0 ||
	    policy_builder_add_text(b, "fuzz\x1b", (const char *)data, size) <
		    0)
		return 0;
	e = policy_builder_errors(b, &n);
	check_errors(e, n);
	r = policy_build(b, &p);
	must((r == 0) == (n == 0));
	if (p)
		ask(p, data, size);
	return 0;
}
