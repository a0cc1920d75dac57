/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upstream.h - asks the host's resolvers through c-ares, in the event loop
 *
 * Runs in the host's network namespace with the host's resolv.conf. Fits
 * resolver_ops.ask.
 */
#ifndef EGRET_RESOLVER_UPSTREAM_H
#define EGRET_RESOLVER_UPSTREAM_H

#include <stdint.h>

#include "resolver/resolver.h"

struct upstream;

int upstream_new(struct upstream **ret, struct loop *loop, struct err *err);
void upstream_free(struct upstream *u); /* answers what is open: -ECANCELED */
void upstream_freep(struct upstream **u);

/** upstream_ask() - one query; see resolver_ops.ask for @done */
void upstream_ask(struct upstream *u, const struct dnsname *name,
		  uint16_t qtype, resolver_answer_fn *done, void *arg);

/** upstream_reload() - read resolv.conf again; queries under way finish */
int upstream_reload(struct upstream *u, struct err *err);

#endif /* EGRET_RESOLVER_UPSTREAM_H */
