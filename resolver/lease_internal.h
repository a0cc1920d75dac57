/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease_internal.h - the tables behind lease.h
 *
 *   lease_name --< lease >-- lease_addr --< lease_elem
 *       |                        |
 *    portset <---- counted ------+
 *
 * Names under one entry share an interned set of ports, so what an address
 * opens is computed from a handful of sets however many names lead to it.
 */
#ifndef EGRET_RESOLVER_LEASE_INTERNAL_H
#define EGRET_RESOLVER_LEASE_INTERNAL_H

#include "base/list.h"
#include "resolver/lease.h"
#include "resolver/table.h"

#define LEASE_SPANS_MAX	      1024 /* ranges of one address while computing */
#define LEASE_PORTSET_BUCKETS 256
#define LEASE_NAME_BUCKETS    16384
#define LEASE_BUCKETS	      65536

struct lease_op;

/* What a set of ports costs at one address; see lease_room.c. */
struct lease_cost {
	uint32_t alone;	  /* the only set there */
	uint32_t shared;  /* beside sets of other names */
	uint32_t special; /* at a special-purpose address */
};

struct lease_portset {
	struct table_node node;
	uint32_t refs; /* names that use it */
	struct lease_cost cost;
	size_t n;
	struct policy_port ports[]; /* ->entry is POLICY_NO_ENTRY */
};

struct lease_name {
	struct table_node node;
	struct list all_node; /* in lease_table.all_names */
	struct dnsname name;
	struct lease_portset *ps;
	struct lease_portset *next_ps; /* while the policy changes */
	struct list leases;	       /* oldest use first */
	uint32_t n_leases;
	uint64_t checked_ms; /* when is_live was found out */
	bool is_live;	     /* some address of it has a flow */
};

enum lease_elem_state {
	LEASE_ELEM_ADDING,   /* given to grant(), no answer yet */
	LEASE_ELEM_PRESENT,  /* acknowledged */
	LEASE_ELEM_DELETING, /* given to grant(), no answer yet */
	LEASE_ELEM_PLANNED,  /* in the batch of a policy change */
};

struct lease_elem {
	struct policy_port port;
	enum lease_elem_state state;
	bool is_wanted;
	bool is_leaving;     /* in the batch of a policy change */
	struct lease_op *op; /* the change under way, or NULL */
};

struct lease_use {
	struct lease_portset *ps;
	uint32_t n; /* leases of this address whose name has it */
};

struct lease_addr {
	struct table_node node;
	struct list all_node; /* in lease_table.all_addrs */
	struct addr addr;
	bool is_special;
	bool is_dirty;		/* elements don't follow the leases yet */
	uint32_t n_busy;	/* wanted elements that aren't acknowledged */
	uint64_t grace_ms;	/* kept until then: a flow ended */
	struct list leases;	/* oldest first */
	struct list stuck_node; /* in lease_table.stuck: try again */
	struct list dirty_node; /* in lease_table.dirty: to be planned */
	struct lease_use *uses;
	uint32_t n_uses, cap_uses;
	struct lease_use *next_uses; /* while the policy changes */
	uint32_t n_next_uses;
	uint64_t cost, next_cost; /* of uses, of next_uses */
	struct lease_elem *elems;
	uint32_t n_elems, cap_elems;
};

struct lease {
	struct table_node node; /* by (name, addr) */
	struct lease_name *name;
	struct lease_addr *addr;
	struct list name_node, addr_node, lru;
	uint64_t expiry_ms;
	uint64_t check_ms; /* key in the heap, never after expiry_ms */
	uint32_t heap_at;
	uint32_t stamp; /* the request that used it last */
	bool is_announced;
	bool is_dropped; /* while the policy changes */
};

struct lease_vec {
	struct resolver_grant_elem *v;
	size_t n, cap;
};

/* Deletions and additions that belong together. */
struct lease_change {
	struct lease_vec del, add;
};

struct lease_op {
	struct resolver_grant g;
	struct lease_table *t;
	struct list node;  /* in lease_table.ops */
	struct list links; /* who waits for it */
	struct resolver_grant_elem *elems;
};

struct lease_table {
	const struct resolver_ops *ops;
	void *ctx;
	struct table leases, names, addrs, portsets;
	struct list all_names, all_addrs;
	struct list lru;   /* oldest use first */
	struct list stuck; /* the kernel refused a deletion */
	struct list dirty; /* leases changed, elements not planned yet */
	struct list ops_list;
	struct lease **heap;
	uint32_t n_heap, cap_heap;
	uint32_t n_elems;
	uint32_t stamp;
	uint64_t cost;	   /* the sum over all addresses */
	bool is_changing;  /* the next_ and is_dropped fields hold */
	uint64_t retry_ms; /* when to look at the stuck again; 0: none */
	uint64_t evicted, refused;
};

/* ---- lease_span.c ---- */

struct lease_plan {
	bool keep[LEASE_ELEMS_PER_ADDR_MAX]; /* by index of elems */
	struct policy_port pieces[LEASE_SPANS_MAX];
	size_t n_pieces;
	bool is_deferred; /* something overlaps a change under way */
};

/*
 * Which elements stay and what is missing, for the given sets of ports.
 * Return: 0 or -ENOSPC. Changes nothing.
 */
int lease_plan(const struct lease_addr *a, const struct lease_use *uses,
	       size_t n_uses, struct lease_plan *ret);

bool lease_port_has(const struct policy_port *pp, enum policy_proto proto,
		    uint16_t port);

/* Are all of @ps's ports in elements that the kernel has or is getting? */
bool lease_is_covered(const struct lease_addr *a,
		      const struct lease_portset *ps);

/* ---- lease_store.c ---- */

struct lease_portset *lease_portset_get(struct lease_table *t,
					const struct policy *p,
					const struct dnsname *name);
void lease_portset_put(struct lease_table *t, struct lease_portset *ps);
struct lease_name *lease_find_name(const struct lease_table *t,
				   const struct dnsname *name);
struct lease_addr *lease_find_addr(const struct lease_table *t,
				   const struct addr *a);
struct lease *lease_find(const struct lease_table *t,
			 const struct lease_name *n, const struct addr *a);
int lease_add(struct lease_table *t, struct lease_name *n, const struct addr *a,
	      uint64_t check_ms, struct lease **ret);
/* The lease goes; its address turns dirty; a name without leases goes too. */
void lease_drop(struct lease_table *t, struct lease *l);
struct lease_name *lease_add_name(struct lease_table *t,
				  const struct dnsname *name,
				  struct lease_portset *ps);
void lease_gc_name(struct lease_table *t, struct lease_name *n);
void lease_gc_addr(struct lease_table *t, struct lease_addr *a);
int lease_addr_use(struct lease_table *t, struct lease_addr *a,
		   struct lease_portset *ps);
void lease_addr_unuse(struct lease_table *t, struct lease_addr *a,
		      const struct lease_portset *ps);
int lease_add_elem(struct lease_table *t, struct lease_addr *a,
		   const struct policy_port *pp, enum lease_elem_state state);
void lease_del_elem(struct lease_table *t, struct lease_addr *a, size_t i);
void lease_count_busy(struct lease_addr *a);

/* ---- lease_room.c ---- */

struct lease_cost lease_portset_cost(const struct policy_port *ports, size_t n);
uint64_t lease_uses_cost(const struct lease_addr *a,
			 const struct lease_use *uses, size_t n_uses);
/* Room for one more lease of @n. Return: 0 or -ENOSPC. */
int lease_make_room(struct lease_table *t, struct lease_name *n);
/* The cost back under its cap after @l came. Return: 0; -ENOSPC: @l is gone. */
int lease_fit(struct lease_table *t, struct lease *l, uint64_t cost_before);
/*
 * While the policy changes, next_uses computed: drops what no longer fits.
 * Return: how many leases.
 */
uint32_t lease_shed(struct lease_table *t);

/* ---- lease_heap.c ---- */

int lease_heap_push(struct lease_table *t, struct lease *l);
void lease_heap_remove(struct lease_table *t, struct lease *l);
/* After l->check_ms grew. */
void lease_heap_later(struct lease_table *t, struct lease *l);

/* ---- lease_grant.c ---- */

int lease_change_push(struct lease_vec *v, const struct lease_addr *a,
		      const struct policy_port *pp);
/* The elements of @a are to be looked at by the next lease_flush(). */
void lease_mark(struct lease_table *t, struct lease_addr *a);
/*
 * Brings the elements of all marked addresses in step and gives the changes
 * out. @w, if any, is made to wait for every change that concerns @addrs.
 *
 * Return: LEASE_PENDING when @w waits; 0 when all changes are through already
 * (ask again, there may be more to do); negative errno.
 */
int lease_flush(struct lease_table *t, struct lease_wait *w,
		struct lease_addr *const *addrs, size_t n_addrs);

#endif /* EGRET_RESOLVER_LEASE_INTERNAL_H */
