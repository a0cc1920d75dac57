/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway_internal.h - the parts that one gateway joins; for gateway/ only
 */
#ifndef EGRET_GATEWAY_GATEWAY_INTERNAL_H
#define EGRET_GATEWAY_GATEWAY_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "gateway/event.h"
#include "gateway/gateway.h"
#include "gateway/loaderrors.h"
#include "gateway/openings.h"
#include "gateway/plumbing.h"
#include "policy/policy.h"

struct asker;
struct control;
struct fw;
struct grants;
struct hostaddr;
struct policyfile_watch;
struct relay;
struct relay_key;
struct resolver;
struct upstream;
struct uses;

struct gateway {
	const struct gateway_config *cfg;
	struct loop *loop;
	struct plumbing plumbing;

	struct policy *policy; /* in force */
	struct policyfile_watch *watch;
	struct hostaddr *hostaddr;
	struct fw *fw;
	struct grants *grants;
	struct upstream *upstream;
	struct resolver *resolver;
	struct relay *relay;
	struct asker *asker;
	struct control *control;
	struct uses *uses; /* of the policy's entries */

	/* What the kernel's sets hold beside leases; sorted. */
	struct elem_vec policy_elems; /* LISTED, DENY, PUBLIC */
	struct elem_vec closed_elems; /* CLOSED */

	struct loop_fd front_watch, init_watch, syn_watch, drop_watch,
		link_watch;
	struct loop_hook flush_hook;
	struct loop_timer link_timer;
	uint64_t nflog_lost;  /* packets that the kernel could not log */
	uint64_t events_lost; /* messages that the front did not take in time */
	uint64_t n_refused;   /* refusals that were told, or should have been */
	uint64_t policy_generation; /* 1 for the first policy */
	size_t last_cut;	    /* connections that the last change cut */
	pid_t front_pid;
	struct loaderrors load_errors; /* of the last load, if it failed */
	char started[CLOCK_RFC3339_LEN];
	bool ending;
};

/* ---- gateway.c ---- */

/** gateway_tell() - an event for the front; counted when it takes none */
void gateway_tell(struct gateway *gw, const struct event *e);

/**
 * gateway_ask() - an event whose process the front shall look for
 * @ticket: from asker_hold(); the front's word for it releases it
 *
 * Return: false when the front takes none now: don't wait.
 */
bool gateway_ask(struct gateway *gw, const struct event *e, uint32_t ticket);

/** gateway_error() - one error line, as an event too */
void gateway_error(struct gateway *gw, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** gateway_fail() - end the network for good, with a sentence (P8) */
void gateway_fail(struct gateway *gw, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- gateway_policy.c ---- */

/** gateway_policy_start() - first policy, sets filled; @p is taken over */
int gateway_policy_start(struct gateway *gw, struct policy *p, struct err *err);

/**
 * gateway_policy_load() - load the sources anew and put them in force
 *
 * Return: 0, also when nothing has changed; -EINVAL or so with
 * gw->load_errors; after another failure the network ends.
 */
int gateway_policy_load(struct gateway *gw);

/** gateway_policy_reload() - sources may have changed */
void gateway_policy_reload(void *ctx);

/** gateway_hostaddr_changed() - the host's addresses changed */
void gateway_hostaddr_changed(void *ctx);

/** gateway_is_closed_own() - a host address that no entry lists */
bool gateway_is_closed_own(const struct gateway *gw, const struct addr *a);

/* ---- gateway_judge.c ---- */

extern const struct relay_ops gateway_relay_ops;
extern const struct resolver_ops gateway_resolver_ops;

/** gateway_dropped() - a refused packet from the log; fits nflog_fn */
struct nflog_packet;
void gateway_dropped(void *ctx, const struct nflog_packet *np);

/* ---- gateway_control.c ---- */

/** gateway_control_start() - make the control socket and serve it */
int gateway_control_start(struct gateway *gw, struct err *err);

/** gateway_judge() - what entries and leases say of an endpoint
 * @ret_name: a name that taught the address; its len is 0 if none did
 */
struct policy_verdict gateway_judge(const struct gateway *gw,
				    const struct endpoint *dst,
				    enum policy_proto proto,
				    struct dnsname *ret_name);

#endif /* EGRET_GATEWAY_GATEWAY_INTERNAL_H */
