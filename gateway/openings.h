/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * openings.h - from what leases and entries open to elements of the kernel's
 * sets
 *
 * Pure bookkeeping, no I/O. The sets want elements that don't overlap: single
 * ports go to a hash set as they are, wide ranges to an interval set, and what
 * several names open on one address is joined first. The kernel's state of each
 * address is remembered, so a change yields just the elements to delete and to
 * add.
 */
#ifndef EGRET_GATEWAY_OPENINGS_H
#define EGRET_GATEWAY_OPENINGS_H

#include <stddef.h>

#include "nft/fw.h"
#include "resolver/resolver.h"

struct openings;
struct policy;

struct elem_vec {
	struct fw_elem *v;
	size_t n, cap;
};

/** elem_vec_push() - append a copy; 0 or -ENOMEM */
int elem_vec_push(struct elem_vec *vec, const struct fw_elem *e);
void elem_vec_done(struct elem_vec *vec); /* frees, leaves it empty */

/* What leads from one state of the kernel's sets to another. */
struct elem_diff {
	struct elem_vec del, add;
};

void elem_diff_done(struct elem_diff *d);

int openings_new(struct openings **ret);
void openings_free(struct openings *o);
void openings_freep(struct openings **o);

/**
 * openings_change() - leases open (@add) or close (@del) ports of addresses
 * @ret: elements are appended; what is pending in the kernel (not yet
 *       confirmed) is given out again among the additions, as adding an element
 *       twice changes nothing
 *
 * Return: 0, or -ENOMEM: then the bookkeeping may be behind the kernel, and the
 * caller must end the network.
 */
int openings_change(struct openings *o, const struct resolver_grant_elem *del,
		    size_t n_del, const struct resolver_grant_elem *add,
		    size_t n_add, struct elem_diff *ret);

/** openings_confirm() - the kernel has acknowledged these additions */
void openings_confirm(struct openings *o, const struct fw_elem *added,
		      size_t n);

/**
 * openings_fail() - the kernel refused these additions: forget them, and the
 * grants that wanted them
 */
void openings_fail(struct openings *o, const struct resolver_grant_elem *grants,
		   size_t n_grants, const struct fw_elem *added, size_t n);

/**
 * openings_of_policy() - elements of the LISTED, DENY and PUBLIC sets:
 * disjoint
 */
int openings_of_policy(const struct policy *p, struct elem_vec *ret);

/**
 * openings_diff() - what leads from one sorted list to another; both are sorted
 * in place
 */
int openings_diff(struct elem_vec *from, struct elem_vec *to,
		  struct elem_diff *ret);

#endif /* EGRET_GATEWAY_OPENINGS_H */
