/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway_control.c - what the control socket's requests mean
 *
 * Each is answered at once, from what the gateway has in memory; `reload` reads
 * the sources. docs/control.md is the contract.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gateway/control.h"
#include "gateway/gateway_control.h"
#include "gateway/gateway_internal.h"
#include "policy/policy.h"
#include "relay/relay.h"
#include "resolver/resolver.h"

static void put_errors(const struct gateway *gw, struct control_text *t)
{
	const struct loaderrors *l = &gw->load_errors;
	char more[64];
	size_t i;

	if (!l->n && !l->n_more)
		return;
	control_open_array(t, "errors");
	for (i = 0; i < l->n; i++)
		control_put_str(t, NULL, l->lines[i]);
	if (l->n_more) {
		(void)snprintf(more, sizeof(more), "and %zu more", l->n_more);
		control_put_str(t, NULL, more);
	}
	control_close(t);
}

void gateway_put_status(const struct gateway *gw, struct control_text *t,
			bool numbers)
{
	struct resolver_stats dns;
	struct relay_stats tcp;

	resolver_get_stats(gw->resolver, &dns);
	relay_get_stats(gw->relay, &tcp);
	control_put_str(t, "id", gw->cfg->id);
	control_put_num(t, "pid", (uint64_t)gw->front_pid);
	control_put_str(t, "command", gw->cfg->command);
	control_put_str(t, "list", gw->cfg->list);
	control_put_str(t, "started", gw->started);
	if (numbers) {
		control_put_num(t, "entries", policy_n_written(gw->policy));
		control_put_num(t, "flows", tcp.flows.in_use);
		control_put_num(t, "learned", dns.leases);
	}
	control_put_num(t, "refused", gw->n_refused);
	control_put_num(t, "policy_generation", gw->policy_generation);
	put_errors(gw, t);
}

static void answer_status(struct gateway *gw, struct control_reply *ret)
{
	control_ok(ret);
	gateway_put_status(gw, &ret->text, true);
}

static void answer_reload(struct gateway *gw, struct control_reply *ret)
{
	int r = gateway_policy_load(gw);

	if (r < 0) {
		control_refuse(ret, gw->ending
					    ? "the network of this sandbox has "
					      "ended"
					    : "the allowlist has errors; the "
					      "old one stays in force");
		put_errors(gw, &ret->text);
		return;
	}
	control_ok(ret);
	control_put_num(&ret->text, "generation", gw->policy_generation);
	control_put_num(&ret->text, "entries", policy_n_written(gw->policy));
	/* Also when the watch was quicker, and there was nothing left to do. */
	control_put_num(&ret->text, "cut", gw->last_cut);
}

static struct policy_verdict judge(const struct gateway *gw,
				   const struct policy_question *q)
{
	struct endpoint dst = { .addr = q->addr, .port = q->port };
	struct dnsname name;

	if (!q->addr.family)
		return policy_judge_question(gw->policy, q);
	return gateway_judge(gw, &dst, q->proto, &name);
}

static void answer_check(struct gateway *gw, const struct policy_question *q,
			 struct control_reply *ret)
{
	struct policy_verdict v = judge(gw, q);
	char host[DNSNAME_STR_LEN], text[POLICY_PRINT_MAX];
	struct control_text *t = &ret->text;
	struct policy_entry e;

	control_ok(ret);
	control_put_str(t, "host", policy_question_host(q, host));
	if (q->proto != POLICY_ICMP)
		control_put_num(t, "port", q->port);
	control_put_str(t, "proto", policy_proto_str(q->proto));
	control_put_bool(t, "allowed", v.reason == POLICY_ALLOWED);
	if (v.reason != POLICY_ALLOWED)
		control_put_str(t, "reason", policy_reason_str(v.reason));
	if (v.entry == POLICY_NO_ENTRY)
		return;
	e = policy_entry(gw->policy, v.entry);
	if (e.preset != POLICY_NO_ENTRY) {
		control_put_str(t, "preset_entry",
				policy_entry_print(gw->policy, v.entry, text));
		v.entry = e.preset;
	}
	control_put_str(t, "entry",
			policy_entry_print(gw->policy, v.entry, text));
	control_put_str(t, "source", e.source);
	control_put_num(t, "line", e.line);
}

static void answer(void *ctx, const struct control_request *rq,
		   struct control_reply *ret)
{
	struct gateway *gw = ctx;

	switch (rq->op) {
	case CONTROL_STATUS:
		answer_status(gw, ret);
		break;
	case CONTROL_RELOAD:
		answer_reload(gw, ret);
		break;
	case CONTROL_SHOW:
		gateway_control_show(gw, rq, ret);
		break;
	case CONTROL_CHECK:
		answer_check(gw, &rq->question, ret);
		break;
	case CONTROL_EXEC:
		gateway_control_exec(gw, rq, ret);
		break;
	case CONTROL_OP_MAX:
		break;
	}
}

int gateway_control_start(struct gateway *gw, struct err *err)
{
	int fd = control_listen(gw->cfg->control_path, err);

	if (fd < 0)
		return fd;
	gw->front_pid = getppid();
	clock_rfc3339(gw->started, sizeof(gw->started));
	return control_new(&gw->control, gw->loop, fd, answer, gw, err);
}
