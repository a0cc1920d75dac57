/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_grants.c - grants of a resolver against a kernel that may refuse
 *
 * The fake transport takes batches as the kernel does, all or nothing, knows
 * elements as bytes, and refuses additions or deletions of ports that the test
 * names. At the end the fake's elements are what is really open.
 */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include "base/cleanup.h"
#include "gateway/grants.h"
#include "nft/fw_internal.h"

#define ELEMS_MAX 256
#define KEY_MAX	  64
#define QUEUE_MAX 64

struct elem {
	uint8_t key[KEY_MAX];
	size_t len;
};

struct kernel {
	struct elem elems[ELEMS_MAX], next[ELEMS_MAX];
	size_t n, n_next;
	struct {
		uint32_t seq;
		int error;
	} queue[QUEUE_MAX];
	size_t head, tail;
	uint16_t bad_add, bad_del; /* ports that can't be changed; 0: none */
	int n_fail; /* so many batches are refused, whatever is in them */
};

static struct kernel kernel;
static struct fw *fw;
static struct grants *grants;
static int n_broken;

/* ---- the kernel's side ---- */

static size_t find(const struct elem *e)
{
	size_t i;

	for (i = 0; i < kernel.n_next; i++)
		if (kernel.next[i].len == e->len &&
		    !memcmp(kernel.next[i].key, e->key, e->len))
			break;
	return i;
}

static int change(bool del, const uint8_t *key, size_t len)
{
	struct elem e = { .len = len };
	uint16_t port = (uint16_t)(key[8] << 8 | key[9]);
	size_t i;

	ck_assert_uint_le(len, KEY_MAX);
	ck_assert_uint_ge(len, 12); /* address, protocol, port */
	memcpy(e.key, key, len);
	i = find(&e);
	if (port && port == (del ? kernel.bad_del : kernel.bad_add))
		return -ENOSPC;
	if (!del && i == kernel.n_next) {
		ck_assert_uint_lt(i, ELEMS_MAX);
		kernel.next[kernel.n_next++] = e;
	}
	if (del && i == kernel.n_next)
		return -ENOENT;
	if (del)
		kernel.next[i] = kernel.next[--kernel.n_next];
	return 0;
}

static int execute(const struct nlmsghdr *nlh)
{
	bool del = (nlh->nlmsg_type & 0xff) == NFT_MSG_DELSETELEM;
	struct nlattr *list, *elem; /* the macros cast away const */

	mnl_attr_for_each (list, nlh, sizeof(struct nfgenmsg)) {
		if (mnl_attr_get_type(list) != NFTA_SET_ELEM_LIST_ELEMENTS)
			continue;
		mnl_attr_for_each_nested (elem, list) {
			const struct nlattr *key = mnl_attr_get_payload(elem);
			const struct nlattr *v = mnl_attr_get_payload(key);
			int r = change(del, mnl_attr_get_payload(v),
				       mnl_attr_get_payload_len(v));

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static ssize_t fake_send(void *ctx, const void *data, size_t len)
{
	static union {
		struct nlmsghdr align;
		uint8_t bytes[65536];
	} copy;
	const struct nlmsghdr *nlh = &copy.align;
	int left = (int)len, failed = kernel.n_fail > 0;

	(void)ctx;
	kernel.n_fail -= failed;
	ck_assert_uint_le(len, sizeof(copy));
	memcpy(copy.bytes, data, len);
	memcpy(kernel.next, kernel.elems, sizeof(kernel.next));
	kernel.n_next = kernel.n;
	for (nlh = mnl_nlmsg_next(nlh, &left);
	     mnl_nlmsg_ok(nlh, left) && nlh->nlmsg_type != NFNL_MSG_BATCH_END;
	     nlh = mnl_nlmsg_next(nlh, &left)) {
		int r = failed ? -ENOMEM : execute(nlh);

		ck_assert_uint_lt(kernel.tail, QUEUE_MAX);
		kernel.queue[kernel.tail].seq = nlh->nlmsg_seq;
		kernel.queue[kernel.tail++].error = r;
		failed = failed ? failed : r;
	}
	if (!failed) {
		memcpy(kernel.elems, kernel.next, sizeof(kernel.elems));
		kernel.n = kernel.n_next;
	}
	return (ssize_t)len;
}

static ssize_t fake_recv(void *ctx, void *data, size_t size)
{
	struct nlmsghdr *nlh;
	struct nlmsgerr *e;

	(void)ctx;
	ck_assert_uint_ge(size, 256);
	if (kernel.head == kernel.tail) {
		kernel.head = kernel.tail = 0;
		return -EAGAIN;
	}
	nlh = mnl_nlmsg_put_header(data);
	nlh->nlmsg_type = NLMSG_ERROR;
	nlh->nlmsg_seq = kernel.queue[kernel.head].seq;
	nlh->nlmsg_flags = NLM_F_CAPPED;
	e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));
	e->error = kernel.queue[kernel.head++].error;
	if (e->error) {
		nlh->nlmsg_flags |= NLM_F_ACK_TLVS;
		mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "no, because");
	}
	return nlh->nlmsg_len;
}

/* ---- the resolver's side ---- */

struct asked {
	struct resolver_grant g;
	struct resolver_grant_elem elems[4];
	int result, n;
	char why[64];
};

static void on_done(struct resolver_grant *g, int result, const char *why)
{
	struct asked *a = container_of(g, struct asked, g);

	ck_assert_ptr_null(g->impl);
	a->result = result;
	a->n++;
	(void)snprintf(a->why, sizeof(a->why), "%s", why ? why : "");
}

static void on_broken(void *ctx, const char *why)
{
	ck_assert_ptr_eq(ctx, &n_broken);
	ck_assert_ptr_nonnull(why);
	n_broken++;
}

static void setup(void)
{
	struct batch_io io = { fake_send, fake_recv, NULL };

	memset(&kernel, 0, sizeof(kernel));
	ck_assert_int_eq(fw_new_with(&fw, &io, 32768, 64, NULL), 0);
	ck_assert_int_eq(grants_new(&grants, fw, on_broken, &n_broken), 0);
}

static void teardown(void)
{
	fw_freep(&fw);
	grants_freep(&grants);
}

/* TCP ports or ranges of 11.0.0.@host; up to four pairs lo, hi. */
static void ask(struct asked *a, bool del, uint8_t host, size_t n,
		const uint16_t (*ports)[2])
{
	memset(a, 0, sizeof(*a));
	for (size_t i = 0; i < n; i++) {
		a->elems[i].addr.family = AF_INET;
		a->elems[i].addr.bytes[0] = 11;
		a->elems[i].addr.bytes[3] = host;
		a->elems[i].port.proto = POLICY_TCP;
		a->elems[i].port.lo = ports[i][0];
		a->elems[i].port.hi = ports[i][1];
	}
	a->g.elems = a->elems;
	a->g.n = n;
	a->g.del = del;
	a->g.done = on_done;
	a->result = -1000;
	grants_submit(grants, &a->g);
}

#define ASK(a, del, host, ...)                                       \
	do {                                                         \
		static const uint16_t ports_[][2] = { __VA_ARGS__ }; \
		ask((a), (del), (host), ARRAY_SIZE(ports_), ports_); \
	} while (0)

/* Elements of 11.0.0.@host that begin with this port. */
static size_t n_open(uint8_t host, uint16_t port)
{
	size_t n = 0;

	for (size_t i = 0; i < kernel.n; i++) {
		const uint8_t *k = kernel.elems[i].key;

		n += k[3] == host && (k[8] << 8 | k[9]) == port;
	}
	return n;
}

START_TEST(opened_and_closed)
{
	struct asked a;

	ASK(&a, false, 1, { 443, 443 }, { 80, 80 });
	ck_assert_int_eq(a.n, 0); /* not before the kernel's word */
	fw_flush(fw);
	ck_assert_int_eq(a.n, 1);
	ck_assert_int_eq(a.result, 0);
	ck_assert_uint_eq(kernel.n, 2);
	ASK(&a, true, 1, { 443, 443 });
	ck_assert_int_eq(a.n, 0);
	fw_flush(fw);
	ck_assert_int_eq(a.result, 0);
	ck_assert_uint_eq(n_open(1, 443), 0);
	ck_assert_uint_eq(n_open(1, 80), 1);
	/* nothing to do is done at once */
	ASK(&a, false, 1, { 80, 80 });
	ck_assert_int_eq(a.n, 1);
	ck_assert_int_eq(a.result, 0);
	ck_assert_int_eq(n_broken, 0);
}
END_TEST

START_TEST(addition_fails)
{
	struct asked a;

	kernel.bad_add = 80;
	ASK(&a, false, 1, { 443, 443 }, { 80, 80 });
	fw_flush(fw);
	ck_assert_int_eq(a.n, 1);
	ck_assert_int_eq(a.result, -ENOSPC);
	ck_assert_str_eq(a.why, "no, because");
	ck_assert_uint_eq(kernel.n, 0);
	ck_assert_int_eq(n_broken, 0); /* nothing is open that shouldn't be */
	/* forgotten: the next one is told to the kernel again */
	kernel.bad_add = 0;
	ASK(&a, false, 1, { 443, 443 }, { 80, 80 });
	ck_assert_int_eq(a.n, 0);
	fw_flush(fw);
	ck_assert_int_eq(a.result, 0);
	ck_assert_uint_eq(kernel.n, 2);
}
END_TEST

START_TEST(deletion_fails)
{
	struct asked a;

	ASK(&a, false, 1, { 443, 443 });
	fw_flush(fw);
	kernel.bad_del = 443;
	ASK(&a, true, 1, { 443, 443 });
	fw_flush(fw);
	ck_assert_int_eq(a.n, 1);
	ck_assert_int_eq(a.result, -ENOSPC);
	ck_assert_int_eq(n_broken, 1);
}
END_TEST

/* Each waits for an acknowledgement of its own, and both must go. */
START_TEST(two_of_one_address)
{
	struct asked a, b;

	ASK(&a, false, 1, { 443, 443 });
	ASK(&b, false, 1, { 443, 443 });
	ck_assert_int_eq(a.n + b.n, 0);
	fw_flush(fw);
	ck_assert_int_eq(a.result, 0);
	ck_assert_int_eq(b.result, 0);
	ASK(&a, true, 1, { 443, 443 });
	fw_flush(fw);
	ck_assert_int_eq(a.result, 0);
	ck_assert_uint_eq(n_open(1, 443), 1);
	ASK(&b, true, 1, { 443, 443 });
	fw_flush(fw);
	ck_assert_int_eq(b.result, 0);
	ck_assert_uint_eq(kernel.n, 0);
}
END_TEST

/* One of two fails: what the other opened is still known, and is closed. */
START_TEST(one_of_two_fails)
{
	struct asked bad, good;

	kernel.bad_add = 80;
	if (_i)
		ASK(&good, false, 1, { 443, 443 });
	ASK(&bad, false, 1, { 443, 443 }, { 80, 80 });
	if (!_i)
		ASK(&good, false, 1, { 443, 443 });
	fw_flush(fw);
	ck_assert_int_eq(bad.result, -ENOSPC);
	/* The later one has the earlier one's ports in its own transaction,
	   as they weren't confirmed; so it may fail with it, but then nothing
	   may be open. */
	if (good.result == 0) {
		ck_assert_uint_eq(n_open(1, 443), 1);
		ASK(&good, true, 1, { 443, 443 });
		fw_flush(fw);
		ck_assert_int_eq(good.result, 0);
	}
	ck_assert_uint_eq(kernel.n, 0);
	ck_assert_int_eq(n_broken, 0);
	/* and the bookkeeping agrees with the kernel */
	kernel.bad_add = 0;
	ASK(&good, false, 1, { 443, 443 });
	fw_flush(fw);
	ck_assert_int_eq(good.result, 0);
	ck_assert_uint_eq(kernel.n, 1);
}
END_TEST

/* The kernel is short of memory for the batch and for the first of two that
   open the same; what the second one opened must not be forgotten. */
START_TEST(first_of_two_fails_for_a_moment)
{
	struct asked bad, good;

	kernel.n_fail = 2;
	ASK(&bad, false, 1, { 443, 443 });
	ASK(&good, false, 1, { 443, 443 });
	fw_flush(fw);
	ck_assert_int_eq(bad.result, -ENOMEM);
	ck_assert_int_eq(good.result, 0);
	ck_assert_uint_eq(n_open(1, 443), 1);
	ASK(&good, true, 1, { 443, 443 });
	fw_flush(fw);
	ck_assert_int_eq(good.result, 0);
	ck_assert_uint_eq(kernel.n, 0);
	ck_assert_int_eq(n_broken, 0);
}
END_TEST

/* Taking back a part of a joined range deletes it and adds the rest. */
START_TEST(part_of_a_range)
{
	struct asked a, b;

	ASK(&a, false, 1, { 8000, 8099 });
	fw_flush(fw);
	ASK(&b, false, 1, { 8100, 8199 });
	fw_flush(fw);
	ck_assert_int_eq(b.result, 0);
	ck_assert_uint_eq(kernel.n, 1);
	ASK(&a, true, 1, { 8000, 8099 });
	fw_flush(fw);
	ck_assert_int_eq(a.result, 0);
	ck_assert_uint_eq(kernel.n, 1);
	ck_assert_uint_eq(n_open(1, 8100), 1);
	ck_assert_int_eq(n_broken, 0);
}
END_TEST

/* The rest can't be added: less is open than should be, nothing more; what was
   to be closed is closed, and isn't asked for again. */
START_TEST(rest_of_a_range_fails)
{
	struct asked a;

	ASK(&a, false, 1, { 8000, 8099 }, { 8100, 8199 });
	fw_flush(fw);
	kernel.bad_add = 8100;
	ASK(&a, true, 1, { 8000, 8099 });
	fw_flush(fw);
	ck_assert_int_eq(a.n, 1);
	ck_assert_int_eq(a.result, 0);
	ck_assert_uint_eq(kernel.n, 0);
	ck_assert_int_eq(n_broken, 0);
	kernel.bad_add = 0;
	ASK(&a, true, 1, { 8100, 8199 });
	fw_flush(fw);
	ck_assert_int_eq(a.result, 0);
	ck_assert_uint_eq(kernel.n, 0);
}
END_TEST

START_TEST(added_and_taken_back_in_a_turn)
{
	struct asked a, b, c;

	ASK(&a, false, 1, { 443, 443 });
	ASK(&b, true, 1, { 443, 443 });
	fw_flush(fw);
	ck_assert_int_eq(a.result, 0);
	ck_assert_int_eq(b.result, 0);
	ck_assert_uint_eq(kernel.n, 0);
	ASK(&a, false, 1, { 443, 443 });
	ASK(&b, true, 1, { 443, 443 });
	ASK(&c, false, 1, { 443, 443 });
	fw_flush(fw);
	ck_assert_int_eq(c.result, 0);
	ck_assert_uint_eq(kernel.n, 1);
	ASK(&c, true, 1, { 443, 443 });
	fw_flush(fw);
	ck_assert_uint_eq(kernel.n, 0);
	ck_assert_int_eq(n_broken, 0);
}
END_TEST

START_TEST(end_with_some_queued)
{
	struct asked a, b;

	ASK(&a, false, 1, { 443, 443 });
	ASK(&b, false, 2, { 443, 443 });
	fw_freep(&fw);
	ck_assert_int_eq(a.result, -ECANCELED);
	ck_assert_int_eq(b.result, -ECANCELED);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("grants");
	TCase *tc = tcase_create("grants");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, opened_and_closed);
	tcase_add_test(tc, addition_fails);
	tcase_add_test(tc, deletion_fails);
	tcase_add_test(tc, two_of_one_address);
	tcase_add_loop_test(tc, one_of_two_fails, 0, 2);
	tcase_add_test(tc, first_of_two_fails_for_a_moment);
	tcase_add_test(tc, part_of_a_range);
	tcase_add_test(tc, rest_of_a_range_fails);
	tcase_add_test(tc, added_and_taken_back_in_a_turn);
	tcase_add_test(tc, end_with_some_queued);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
