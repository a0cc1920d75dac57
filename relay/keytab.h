/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keytab.h - objects by 4-tuple, and counts by destination address
 *
 * Both are chained hash tables with a keyed hash: the sandbox chooses the keys.
 */
#ifndef EGRET_RELAY_KEYTAB_H
#define EGRET_RELAY_KEYTAB_H

#include <stdint.h>

#include "relay/relay.h"

struct err;

/* Embedded in what is found by its 4-tuple. */
struct key_node {
	struct relay_key key;
	uint32_t hash;
	struct key_node *next;
};

struct keytab {
	struct key_node **buckets;
	uint32_t mask; /* number of buckets less one */
};

/** keytab_init() - for about @n nodes; more only cost time */
int keytab_init(struct keytab *t, uint32_t n);
void keytab_done(struct keytab *t);

/** keytab_find() - NULL when there is none */
struct key_node *keytab_find(const struct keytab *t,
			     const struct relay_key *key);

/** keytab_add() - @n->key is set and isn't in the table */
void keytab_add(struct keytab *t, struct key_node *n);
void keytab_del(struct keytab *t, struct key_node *n);

/* One destination address that something is open or pending to. */
struct dest {
	struct addr addr;
	uint32_t hash;
	uint32_t refs;	    /* flows and pending SYNs */
	uint32_t n_pending; /* the latter alone; kept by pending.c */
	struct dest *next;
};

struct dests {
	struct pool *pool;
	struct dest **buckets;
	uint32_t mask;
};

int dests_init(struct dests *t, uint32_t max, struct err *err);
void dests_done(struct dests *t);
struct dest *dests_find(const struct dests *t, const struct addr *a);

/** dests_get() - a reference; NULL when the table is full */
struct dest *dests_get(struct dests *t, const struct addr *a);

/** dests_put() - give a reference back; the last one forgets the address */
void dests_put(struct dests *t, struct dest *d);

#endif /* EGRET_RELAY_KEYTAB_H */
