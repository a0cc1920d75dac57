/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway_policy.c - which policy is in force, and how another takes its place
 *
 * Theory of operation. A new policy is built beside the old one. What it
 * changes in the kernel (entries' sets, leases' sets) is collected and goes out
 * as one atomic batch, so no packet ever meets a mixture. If the file has an
 * error nothing at all happens; if the kernel refuses the batch the network
 * ends.
 *
 * Open connections are judged again just before the batch, which may take some
 * hundred milliseconds when it takes back tens of thousands of addresses. That
 * is no gap: policy and leases answer by the new state already, and every
 * connection begins with a SYN that waits for the relay's own judgement
 * (may_connect()) after the kernel's. What the old sets let through meanwhile
 * waits in a queue until the batch is done, and is refused then.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "gateway/gateway_internal.h"
#include "gateway/grants.h"
#include "gateway/uses.h"
#include "netns/hostaddr.h"
#include "nft/fw.h"
#include "policy/policy.h"
#include "policy/special.h"
#include "relay/relay.h"
#include "resolver/resolver.h"

/* ---- the closed set: special-purpose ranges and the host's own ---- */

/* Does an entry list exactly this address? Then the user means it. */
static bool is_listed_alone(const struct policy *p, const struct addr *a)
{
	size_t i, n = policy_n_nets(p);

	for (i = 0; i < n; i++) {
		struct policy_net net = policy_net_at(p, i);

		if (!net.deny && net.prefix.len == 8 * addr_len(a) &&
		    addr_equal(&net.prefix.addr, a))
			return true;
	}
	return false;
}

bool gateway_is_closed_own(const struct gateway *gw, const struct addr *a)
{
	return hostaddr_is_own(gw->hostaddr, a) &&
	       !is_listed_alone(gw->policy, a);
}

static int push_closed(struct elem_vec *vec, const struct prefix *p)
{
	struct fw_elem e;

	memset(&e, 0, sizeof(e));
	e.set = FW_SET_CLOSED;
	memcpy(&e.prefix, p, sizeof(e.prefix));
	e.port_hi = 65535;
	return elem_vec_push(vec, &e);
}

static bool in_special_prefix(const struct addr *a)
{
	const struct prefix *v;
	size_t i, n = 0;

	v = special_prefixes(a->family, &n);
	for (i = 0; i < n; i++)
		if (prefix_contains(&v[i], a))
			return true;
	return false;
}

static int collect_closed(const struct gateway *gw, const struct policy *p,
			  struct elem_vec *ret)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	const struct addr *own;
	const struct prefix *v;
	size_t f, i, n = 0;
	int r;

	for (f = 0; f < ARRAY_SIZE(families); f++) {
		v = special_prefixes(families[f], &n);
		for (i = 0; i < n; i++) {
			r = push_closed(ret, &v[i]);
			if (r < 0)
				return r;
		}
	}
	own = hostaddr_list(gw->hostaddr, &n);
	for (i = 0; i < n; i++) {
		struct prefix one;

		if (in_special_prefix(&own[i]) || is_listed_alone(p, &own[i]))
			continue;
		memset(&one, 0, sizeof(one));
		one.addr = own[i];
		one.len = (uint8_t)(8 * addr_len(&own[i]));
		r = push_closed(ret, &one);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- changes ---- */

struct change {
	struct gateway *gw;
	struct elem_diff diff;
	struct elem_vec policy_elems, closed_elems;
};

static void change_done(struct change *c)
{
	elem_diff_done(&c->diff);
	elem_vec_done(&c->policy_elems);
	elem_vec_done(&c->closed_elems);
}

/* The entries' part of the difference between what is in force and @p. */
static int collect_entries(struct change *c, const struct policy *p)
{
	struct gateway *gw = c->gw;
	int r;

	r = openings_of_policy(p, &c->policy_elems);
	if (r == 0)
		r = collect_closed(gw, p, &c->closed_elems);
	if (r == 0)
		r = openings_diff(&gw->policy_elems, &c->policy_elems,
				  &c->diff);
	if (r == 0)
		r = openings_diff(&gw->closed_elems, &c->closed_elems,
				  &c->diff);
	return r;
}

static int commit(struct change *c, struct err *err)
{
	struct gateway *gw = c->gw;
	int r;

	r = fw_apply(gw->fw, c->diff.del.v, c->diff.del.n, c->diff.add.v,
		     c->diff.add.n, err);
	if (r < 0)
		return r;
	openings_confirm(grants_openings(gw->grants), c->diff.add.v,
			 c->diff.add.n);
	elem_vec_done(&gw->policy_elems);
	elem_vec_done(&gw->closed_elems);
	gw->policy_elems = c->policy_elems;
	gw->closed_elems = c->closed_elems;
	memset(&c->policy_elems, 0, sizeof(c->policy_elems));
	memset(&c->closed_elems, 0, sizeof(c->closed_elems));
	return 0;
}

/* Called by the resolver with what its leases change, or that nothing does. */
static int on_lease_change(void *ctx, const struct resolver_grant_elem *del,
			   size_t n_del, const struct resolver_grant_elem *add,
			   size_t n_add, struct err *err)
{
	struct change *c = ctx;
	int r;

	c->gw->last_cut = relay_rejudge(c->gw->relay);
	r = openings_change(grants_openings(c->gw->grants), del, n_del, add,
			    n_add, &c->diff);
	if (r < 0)
		return err_set_errno(err, r, "cannot compute the change");
	return commit(c, err);
}

/* After a failure the old policy is gone as well: the caller ends the network.
 */
static int put_in_force(struct gateway *gw, struct policy *p, struct err *err)
{
	_cleanup_(change_done) struct change c = { .gw = gw };
	int r;

	/* What this turn of the loop has queued belongs to the old policy. */
	fw_flush(gw->fw);
	uses_switch(gw->uses, gw->policy, p);
	gw->policy = p;
	gw->policy_generation++;
	r = collect_entries(&c, p);
	if (r < 0)
		return err_set_errno(err, r, "cannot compute the change");
	return resolver_set_policy(gw->resolver, p, on_lease_change, &c, err);
}

int gateway_policy_start(struct gateway *gw, struct policy *p, struct err *err)
{
	return put_in_force(gw, p, err);
}

static void tell_policy(struct gateway *gw, size_t n_cut)
{
	struct event e;

	event_init(&e, EVENT_POLICY, EVENT_KIND_NONE);
	(void)snprintf(e.text, sizeof(e.text),
		       "the allowlist has changed: %zu entries; %zu open "
		       "connections cut",
		       policy_n_written(gw->policy), n_cut);
	gateway_tell(gw, &e);
}

/* An edit is often seen twice: by the watch, and by a request to load. */
static void tell_errors(struct gateway *gw, struct loaderrors *new)
{
	size_t i;

	if (!loaderrors_equal(new, &gw->load_errors)) {
		for (i = 0; i < new->n; i++)
			gateway_error(gw, "%s", new->lines[i]);
		if (new->n_more)
			gateway_error(gw, "and %zu more errors", new->n_more);
		gateway_error(gw, "the allowlist was edited but has errors; "
				  "the old one stays in force");
	}
	loaderrors_done(&gw->load_errors);
	gw->load_errors = *new;
	memset(new, 0, sizeof(*new));
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_same_entry(const struct policy_entry *a,
			  const struct policy_entry *b)
{
	return a->line == b->line && a->deny == b->deny &&
	       is_same_text(a->text, b->text) &&
	       is_same_text(a->source, b->source) && a->preset == b->preset &&
	       a->preset_line == b->preset_line &&
	       is_same_text(a->preset_text, b->preset_text) &&
	       is_same_text(a->preset_source, b->preset_source);
}

static bool is_same_policy(const struct policy *a, const struct policy *b)
{
	size_t i, n = policy_n_entries(a);

	if (n != policy_n_entries(b))
		return false;
	for (i = 0; i < n; i++) {
		struct policy_entry ea = policy_entry(a, (uint32_t)i);
		struct policy_entry eb = policy_entry(b, (uint32_t)i);

		if (!is_same_entry(&ea, &eb))
			return false;
	}
	return true;
}

/* @watch: the one that tells of a change, if one does. */
static int load(struct gateway *gw, struct policyfile_watch *watch)
{
	_cleanup_(loaderrors_done) struct loaderrors errors = { .n = 0 };
	struct policy *p = NULL, *old = gw->policy;
	struct err err = { 0 };
	int r;

	r = policyfile_load(gw->cfg->sources, &p, loaderrors_add, &errors);
	if (watch && policyfile_watch_more(watch)) {
		policy_free(p);
		return 0;
	}
	if (r < 0) {
		tell_errors(gw, &errors);
		return r;
	}
	loaderrors_done(&gw->load_errors);
	if (is_same_policy(p, old)) {
		policy_free(p);
		return 0;
	}
	r = put_in_force(gw, p, &err);
	if (r < 0) {
		gateway_fail(gw,
			     "the new allowlist could not be put in "
			     "force: %s",
			     err.msg);
		return r; /* both policies stay until the process ends */
	}
	tell_policy(gw, gw->last_cut);
	policy_free(old);
	return 0;
}

int gateway_policy_load(struct gateway *gw)
{
	return load(gw, NULL);
}

void gateway_policy_reload(void *ctx)
{
	struct gateway *gw = ctx;

	(void)load(gw, gw->watch); /* it tells what is wrong itself */
}

void gateway_hostaddr_changed(void *ctx)
{
	struct gateway *gw = ctx;
	struct change c = { .gw = gw };
	struct err err = { 0 };
	int r;

	if (!gw->policy)
		return;
	fw_flush(gw->fw);
	r = collect_entries(&c, gw->policy);
	if (r == 0)
		r = commit(&c, &err);
	change_done(&c);
	if (r < 0) {
		gateway_fail(gw,
			     "the host's changed addresses could not be "
			     "closed: %s",
			     err.msg);
		return;
	}
	(void)relay_rejudge(gw->relay);
}
