/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sets.c - set definitions and element encoding
 *
 * Three kinds of sets:
 *
 * - hash:   single keys, a concatenation; for what DNS teaches by the thousand
 * - concat: a concatenation of intervals, each element has a key and an end
 *           of the same layout (the kernel's pipapo). Callers give disjoint
 *           ones: an overlap may be refused as EEXIST, depending on the order
 * - tree:   intervals of one address; the kernel holds the first address and
 *           the one after the last as two elements, the second flagged as an
 *           end. An interval up to the highest address has no end element
 *
 * Each field of a concatenation is padded to four bytes. ICMP has no port: its
 * elements have port 0, and its rules see to a 0 in the port's register, so
 * that one set serves all protocols.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <libnftnl/set.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "base/cleanup.h"
#include "nft/batch_internal.h"
#include "nft/sets_internal.h"

/* Datatype numbers of nft(8), only so that it can print the sets. */
#define TYPE_IPADDR	     7
#define TYPE_IP6ADDR	     8
#define TYPE_INET_PROTOCOL   12
#define TYPE_INET_SERVICE    13
#define TYPE_BITS	     6
#define BYTEORDER_BIG_ENDIAN 2

/* An attribute's length is 16 bits: lists of elements are cut before. */
#define LIST_MAX (UINT16_MAX - 1024)

enum set_kind {
	KIND_HASH,
	KIND_CONCAT,
	KIND_TREE,
};

static const struct set_def {
	const char *stem, *suffix;
	enum set_kind kind;
	bool has_proto, has_port;
} set_defs[] = {
	[FW_SET_OPEN] = { "open", "", KIND_HASH, true, true },
	[FW_SET_ANYPORT] = { "open", "_anyport", KIND_HASH, true, false },
	[FW_SET_RANGE] = { "open", "_range", KIND_CONCAT, true, true },
	[FW_SET_PRIVATE] = { "private", "", KIND_CONCAT, true, true },
	[FW_SET_LISTED] = { "listed", "", KIND_CONCAT, true, true },
	[FW_SET_DENY] = { "deny", "", KIND_CONCAT, true, true },
	[FW_SET_CLOSED] = { "closed", "", KIND_TREE, false, false },
	[FW_SET_PUBLIC] = { "public", "", KIND_CONCAT, true, true },
};

_Static_assert(ARRAY_SIZE(set_defs) == FW_SET_MAX, "a definition for each set");

static enum fw_set set_of(unsigned int index)
{
	return (enum fw_set)(index / 2);
}

static bool is_v6(unsigned int index)
{
	return index % 2 != 0;
}

static unsigned int index_of(const struct fw_elem *e)
{
	return (unsigned int)e->set * 2 + (e->prefix.addr.family == AF_INET6);
}

const char *sets_name(enum fw_set set, bool v6, char dst[static SETS_NAME_LEN])
{
	(void)snprintf(dst, SETS_NAME_LEN, "%s%c%s", set_defs[set].stem,
		       v6 ? '6' : '4', set_defs[set].suffix);
	return dst;
}

uint32_t sets_mask(enum fw_set set)
{
	return 3U << (2 * (unsigned int)set);
}

/* ---- definitions ---- */

/* What nft(8) adds so that it prints the elements in the right byte order. */
static int set_byteorder(struct nftnl_set *s)
{
	struct nftnl_udata_buf *ud = nftnl_udata_buf_alloc(64);
	int r;

	if (!ud)
		return -ENOMEM;
	(void)nftnl_udata_put_u32(ud, NFTNL_UDATA_SET_KEYBYTEORDER,
				  BYTEORDER_BIG_ENDIAN); /* cosmetic */
	r = nftnl_set_set_data(s, NFTNL_SET_USERDATA, nftnl_udata_buf_data(ud),
			       nftnl_udata_buf_len(ud));
	nftnl_udata_buf_free(ud);
	return r < 0 ? -ENOMEM : 0;
}

static int set_fields(struct nftnl_set *s, const struct set_def *d, bool v6)
{
	uint8_t fields[3] = { v6 ? 16 : 4, 1, 2 };
	uint32_t n = 1U + d->has_proto + d->has_port;
	uint32_t type = v6 ? TYPE_IP6ADDR : TYPE_IPADDR;
	uint32_t flags = 0;

	if (d->has_proto)
		type = type << TYPE_BITS | TYPE_INET_PROTOCOL;
	if (d->has_port)
		type = type << TYPE_BITS | TYPE_INET_SERVICE;
	if (d->kind != KIND_HASH)
		flags |= NFT_SET_INTERVAL;
	if (n > 1)
		flags |= NFT_SET_CONCAT;
	nftnl_set_set_u32(s, NFTNL_SET_FLAGS, flags);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_TYPE, type);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_LEN, fields[0] + 4 * (n - 1));
	if (n > 1 &&
	    nftnl_set_set_data(s, NFTNL_SET_DESC_CONCAT, fields, n) < 0)
		return -ENOMEM;
	return set_byteorder(s);
}

static int fill_definition(struct nftnl_set *s, unsigned int index)
{
	char name[SETS_NAME_LEN];

	nftnl_set_set_u32(s, NFTNL_SET_FAMILY, NFPROTO_INET);
	nftnl_set_set_u32(s, NFTNL_SET_ID, index + 1);
	if (nftnl_set_set_str(s, NFTNL_SET_TABLE, SETS_TABLE) < 0 ||
	    nftnl_set_set_str(s, NFTNL_SET_NAME,
			      sets_name(set_of(index), is_v6(index), name)) < 0)
		return -ENOMEM;
	return set_fields(s, &set_defs[set_of(index)], is_v6(index));
}

static int define_one(struct batch *b, unsigned int index)
{
	struct nftnl_set *s = nftnl_set_alloc();
	int r;

	if (!s)
		return -ENOMEM;
	r = fill_definition(s, index);
	if (r == 0) {
		struct nlmsghdr *nlh =
			batch_put(b, NFT_MSG_NEWSET, NFPROTO_INET,
				  NLM_F_CREATE | NLM_F_EXCL);

		if (nlh) {
			nftnl_set_nlmsg_build_payload(nlh, s);
			batch_finish(b, nlh);
		} else {
			r = -ENOSPC;
		}
	}
	nftnl_set_free(s);
	return r;
}

int sets_define(struct batch *b)
{
	int r = 0;

	for (unsigned int i = 0; i < SETS_N && r == 0; i++)
		r = define_one(b, i);
	return r;
}

/* ---- elements ---- */

static void put_field(uint8_t *key, uint32_t *len, const void *src, size_t n)
{
	memcpy(key + *len, src, n);
	memset(key + *len + n, 0, 4 - n);
	*len += 4;
}

/* Adds one; false at the highest address, which has no successor. */
static bool increment(uint8_t *addr, size_t len)
{
	while (len-- > 0) {
		if (++addr[len] != 0)
			return true;
	}
	return false;
}

static bool is_encodable(const struct fw_elem *e)
{
	size_t alen = addr_len(&e->prefix.addr);
	const struct set_def *d;
	bool single;

	if ((unsigned int)e->set >= FW_SET_MAX || alen == 0 ||
	    e->prefix.len > alen * 8)
		return false;
	d = &set_defs[e->set];
	single = e->prefix.len == alen * 8;
	if (d->kind == KIND_HASH && (!single || e->proto == 0))
		return false;
	if (!d->has_port)
		return true;
	if (e->port_lo > e->port_hi)
		return false;
	return d->kind != KIND_HASH || e->port_lo == e->port_hi;
}

static void put_proto_and_port(const struct fw_elem *e, const struct set_def *d,
			       struct sets_key *k)
{
	bool v6 = e->prefix.addr.family == AF_INET6;
	uint16_t lo_be = htons(e->port_lo), hi_be = htons(e->port_hi);
	uint8_t first = e->proto, last;
	uint32_t end_len = k->len;

	if (first == IPPROTO_ICMP && v6)
		first = IPPROTO_ICMPV6;
	last = first == 0 ? UINT8_MAX : first;
	put_field(k->key, &k->len, &first, sizeof(first));
	put_field(k->end, &end_len, &last, sizeof(last));
	if (d->has_port) {
		put_field(k->key, &k->len, &lo_be, sizeof(lo_be));
		put_field(k->end, &end_len, &hi_be, sizeof(hi_be));
	}
}

int sets_encode(const struct fw_elem *e, struct sets_key *ret)
{
	const struct set_def *d;
	struct addr last;
	size_t alen;

	if (!is_encodable(e))
		return -EINVAL;
	d = &set_defs[e->set];
	alen = addr_len(&e->prefix.addr);
	last = prefix_last(&e->prefix);
	ret->set = index_of(e);
	ret->rbtree = d->kind == KIND_TREE;
	ret->has_end = d->kind != KIND_HASH;
	ret->len = (uint32_t)alen;
	memcpy(ret->key, e->prefix.addr.bytes, alen);
	memcpy(ret->end, last.bytes, alen);
	if (ret->rbtree)
		ret->has_end = increment(ret->end, alen);
	if (d->has_proto)
		put_proto_and_port(e, d, ret);
	return 0;
}

static void put_data(struct nlmsghdr *nlh, uint16_t type, const uint8_t *data,
		     uint32_t len)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, type);

	mnl_attr_put(nlh, NFTA_DATA_VALUE, len, data);
	mnl_attr_nest_end(nlh, nest);
}

static void put_elem(struct nlmsghdr *nlh, const struct sets_key *k)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, NFTA_LIST_ELEM);

	put_data(nlh, NFTA_SET_ELEM_KEY, k->key, k->len);
	if (k->has_end && !k->rbtree)
		put_data(nlh, NFTA_SET_ELEM_KEY_END, k->end, k->len);
	mnl_attr_nest_end(nlh, nest);
	if (!k->has_end || !k->rbtree)
		return;
	nest = mnl_attr_nest_start(nlh, NFTA_LIST_ELEM);
	mnl_attr_put_u32(nlh, NFTA_SET_ELEM_FLAGS,
			 htonl(NFT_SET_ELEM_INTERVAL_END));
	put_data(nlh, NFTA_SET_ELEM_KEY, k->end, k->len);
	mnl_attr_nest_end(nlh, nest);
}

/* The message under construction; both NULL when there is none. */
struct elem_msg {
	struct nlmsghdr *nlh;
	struct nlattr *list;
};

static int open_msg(struct batch *b, struct elem_msg *m,
		    const struct sets_job *job)
{
	char name[SETS_NAME_LEN];

	m->nlh = batch_put(b, job->type, NFPROTO_INET, job->flags);
	if (!m->nlh)
		return -ENOSPC;
	mnl_attr_put_strz(m->nlh, NFTA_SET_ELEM_LIST_TABLE, SETS_TABLE);
	mnl_attr_put_strz(m->nlh, NFTA_SET_ELEM_LIST_SET,
			  sets_name(set_of(job->set), is_v6(job->set), name));
	m->list = mnl_attr_nest_start(m->nlh, NFTA_SET_ELEM_LIST_ELEMENTS);
	return 0;
}

static void close_msg(struct batch *b, struct elem_msg *m)
{
	if (!m->nlh)
		return;
	mnl_attr_nest_end(m->nlh, m->list);
	batch_finish(b, m->nlh);
	m->nlh = NULL;
}

static size_t list_len(const struct elem_msg *m)
{
	const char *tail = mnl_nlmsg_get_payload_tail(m->nlh);

	return (size_t)(tail - (const char *)m->list);
}

/* One element into the message of its set, a new one if need be. */
static int add_to_msg(struct batch *b, struct elem_msg *m,
		      const struct sets_key *k, const struct sets_job *job)
{
	if (m->nlh && list_len(m) > LIST_MAX)
		close_msg(b, m);
	if (!m->nlh) {
		int r = open_msg(b, m, job);

		if (r < 0)
			return r;
	}
	if (batch_left(b, m->nlh) < SETS_ELEM_COST)
		return -ENOSPC;
	put_elem(m->nlh, k);
	return 0;
}

/* The elements of set job->set, from job->change and job->elem on. */
static int put_one_set(struct batch *b, struct elem_msg *m,
		       struct sets_job *job)
{
	for (; job->change < job->n_changes; job->change++, job->elem = 0) {
		const struct sets_change *c = &job->changes[job->change];

		for (; job->elem < c->n; job->elem++) {
			const struct fw_elem *e = &c->elems[job->elem];
			struct sets_key k;
			int r;

			if (index_of(e) != job->set)
				continue;
			r = sets_encode(e, &k);
			if (r == 0)
				r = add_to_msg(b, m, &k, job);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Sets that occur, so that the others cost no pass; 0 for a wrong element. */
static uint32_t used_sets(const struct sets_job *job)
{
	uint32_t used = 0;

	for (size_t i = 0; i < job->n_changes; i++) {
		const struct sets_change *c = &job->changes[i];

		for (size_t j = 0; j < c->n; j++) {
			if (!is_encodable(&c->elems[j]))
				return 0;
			used |= 1U << index_of(&c->elems[j]);
		}
	}
	return used;
}

static bool is_empty(const struct sets_job *job)
{
	for (size_t i = 0; i < job->n_changes; i++) {
		if (job->changes[i].n > 0)
			return false;
	}
	return true;
}

int sets_put(struct batch *b, struct sets_job *job)
{
	uint32_t used;

	if (is_empty(job))
		return 0;
	used = used_sets(job);
	if (used == 0)
		return -EINVAL;
	for (; job->set < SETS_N; job->set++, job->change = job->elem = 0) {
		struct elem_msg m = { 0 };
		int r;

		if (!(used & job->mask & 1U << job->set))
			continue;
		r = put_one_set(b, &m, job);
		close_msg(b, &m);
		if (r < 0)
			return r;
	}
	return 0;
}
