/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fw_batch.c - batches against a kernel that fails in every way
 *
 * The fake kernel holds a set of ports: it executes a batch as the real one
 * does, all or nothing, and can be told to lose answers, to be interrupted, to
 * run out of space at some element, or to take no command at all.
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
#include "base/err.h"
#include "nft/fw_internal.h"

#define N_PORTS	  1024
#define N_QUEUE	  4096
#define PORT_FULL 1000 /* adding it: ENOSPC */

struct answer {
	uint32_t seq;
	int error;
};

struct kernel {
	bool ports[N_PORTS], next[N_PORTS];
	struct answer queue[N_QUEUE];
	size_t head, tail;
	/* told by the test; counts of calls to come */
	int send_eintr, recv_eintr, lose_acks, overruns, truncated, fatal;
	int send_error, whole_error, strays;
	/* seen by the test */
	int n_sends, max_msgs;
	char order[64]; /* 'd' and 'a' for each message */
};

static void reply(struct kernel *k, uint32_t seq, int error)
{
	ck_assert_uint_lt(k->tail, N_QUEUE);
	k->queue[k->tail++] = (struct answer){ seq, error };
}

static int change_port(struct kernel *k, uint16_t type, uint16_t flags,
		       uint16_t port)
{
	ck_assert_uint_lt(port, N_PORTS);
	if (type == NFT_MSG_DELSETELEM) {
		if (!k->next[port])
			return -ENOENT;
		k->next[port] = false;
		return 0;
	}
	if (port == PORT_FULL)
		return -ENOSPC;
	if (k->next[port] && flags & NLM_F_EXCL)
		return -EEXIST;
	k->next[port] = true;
	return 0;
}

static int execute(struct kernel *k, struct nlmsghdr *nlh)
{
	uint16_t type = nlh->nlmsg_type & 0xff;
	struct nlattr *list, *elem, *key, *value;
	size_t n = strlen(k->order);

	ck_assert_uint_eq(nlh->nlmsg_flags & NLM_F_ACK, NLM_F_ACK);
	if (n + 1 < sizeof(k->order))
		k->order[n] = type == NFT_MSG_DELSETELEM ? 'd' : 'a';
	mnl_attr_for_each (list, nlh, sizeof(struct nfgenmsg)) {
		if (mnl_attr_get_type(list) != NFTA_SET_ELEM_LIST_ELEMENTS)
			continue;
		mnl_attr_for_each_nested (elem, list) {
			const uint8_t *bytes;
			int r;

			key = mnl_attr_get_payload(elem);
			value = mnl_attr_get_payload(key);
			bytes = mnl_attr_get_payload(value);
			r = change_port(k, type, nlh->nlmsg_flags,
					(uint16_t)(bytes[8] << 8 | bytes[9]));
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static void run_batch(struct kernel *k, void *data, size_t len)
{
	struct nlmsghdr *nlh = data;
	int left = (int)len, failed = k->whole_error, n = 0;
	uint32_t begin = nlh->nlmsg_seq;

	memcpy(k->next, k->ports, sizeof(k->next));
	if (failed)
		reply(k, begin, failed);
	ck_assert_uint_eq(nlh->nlmsg_type, NFNL_MSG_BATCH_BEGIN);
	for (nlh = mnl_nlmsg_next(nlh, &left);
	     mnl_nlmsg_ok(nlh, left) && nlh->nlmsg_type != NFNL_MSG_BATCH_END;
	     nlh = mnl_nlmsg_next(nlh, &left)) {
		int r = execute(k, nlh);

		reply(k, nlh->nlmsg_seq, r);
		failed = failed ? failed : r;
		n++;
	}
	ck_assert(mnl_nlmsg_ok(nlh, left));
	ck_assert_uint_eq(nlh->nlmsg_type, NFNL_MSG_BATCH_END);
	if (n > k->max_msgs)
		k->max_msgs = n;
	if (!failed)
		memcpy(k->ports, k->next, sizeof(k->ports));
}

static ssize_t fake_send(void *ctx, const void *data, size_t len)
{
	static uint8_t copy[1 << 20];
	struct kernel *k = ctx;
	size_t queued = k->tail;

	if (k->send_eintr > 0) {
		k->send_eintr--;
		return -EINTR;
	}
	k->n_sends++;
	if (k->send_error)
		return k->send_error;
	if (k->fatal > 0) {
		k->fatal--;
		return (ssize_t)len; /* aborted, and not a word */
	}
	ck_assert_uint_le(len, sizeof(copy));
	memcpy(copy, data, len);
	run_batch(k, copy, len);
	if (k->lose_acks > 0 && k->tail > queued) {
		k->lose_acks--;
		k->tail--;
	}
	return (ssize_t)len;
}

/* Return: true when the call fails with *ret. */
static bool recv_fails(struct kernel *k, ssize_t *ret)
{
	int *const causes[] = { &k->recv_eintr, &k->overruns, &k->truncated,
				&k->strays };
	static const int results[] = { -EINTR, -ENOBUFS, -EMSGSIZE, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		if (*causes[i] > 0) {
			--*causes[i];
			*ret = results[i];
			return true;
		}
	}
	return false;
}

static ssize_t fake_recv(void *ctx, void *data, size_t size)
{
	struct kernel *k = ctx;
	struct nlmsghdr *nlh;
	struct nlmsgerr *e;
	ssize_t r;

	if (recv_fails(k, &r))
		return r;
	if (k->head == k->tail) {
		k->head = k->tail = 0;
		return -EAGAIN;
	}
	ck_assert_uint_ge(size, 256);
	nlh = mnl_nlmsg_put_header(data);
	nlh->nlmsg_type = NLMSG_ERROR;
	nlh->nlmsg_seq = k->queue[k->head].seq;
	nlh->nlmsg_flags = NLM_F_CAPPED;
	e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));
	e->error = k->queue[k->head].error;
	if (e->error) {
		nlh->nlmsg_flags |= NLM_F_ACK_TLVS;
		mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "no, because");
	}
	k->head++;
	return nlh->nlmsg_len;
}

/* ---- the test's side ---- */

struct told {
	struct fw_txn txn;
	struct fw_elem elems[3];
	struct told *cancel; /* from done() */
	struct fw *fw;	     /* done() submits @again here */
	struct told *again;
	int result, n;
	char why[64];
};

static void tell(struct fw_txn *t, int result, const char *why)
{
	struct told *told = container_of(t, struct told, txn);

	told->result = result;
	told->n++;
	(void)snprintf(told->why, sizeof(told->why), "%s", why ? why : "");
	if (told->cancel)
		fw_cancel(&told->cancel->txn);
	if (told->again)
		fw_submit(told->fw, &told->again->txn);
	if (told->fw)
		fw_flush(told->fw); /* nothing happens inside a flush */
}

static struct fw_elem port_elem(uint16_t port)
{
	return (struct fw_elem){ .set = FW_SET_OPEN,
				 .prefix = { .addr = { .family = AF_INET,
						       .bytes = { 11 } },
					     .len = 32 },
				 .proto = IPPROTO_TCP,
				 .port_lo = port,
				 .port_hi = port };
}

static struct told *prepare(struct told *t, bool del, uint16_t port, size_t n)
{
	*t = (struct told){ .txn = { .n = n, .del = del, .done = tell } };
	for (size_t i = 0; i < n; i++)
		t->elems[i] = port_elem((uint16_t)(port + i));
	t->txn.elems = t->elems;
	return t;
}

static void submit(struct fw *fw, struct told *t, bool del, uint16_t port)
{
	fw_submit(fw, &prepare(t, del, port, 1)->txn);
}

static struct fw *start_with(struct kernel *k, size_t max_len)
{
	struct batch_io io = { fake_send, fake_recv, k };
	struct fw *fw = NULL;

	ck_assert_int_eq(fw_new_with(&fw, &io, max_len, 64, NULL), 0);
	return fw;
}

static struct fw *start(struct kernel *k)
{
	return start_with(k, 32768);
}

static int count(const struct kernel *k)
{
	int n = 0;

	for (size_t i = 0; i < N_PORTS; i++)
		n += k->ports[i];
	return n;
}

static struct kernel kernel;

START_TEST(one_batch_for_a_turn)
{
	struct fw *fw = start(&kernel);
	struct fw_stats stats;
	struct told t[4];

	kernel.ports[4] = true;
	submit(fw, &t[0], false, 1);
	submit(fw, &t[1], false, 2);
	submit(fw, &t[2], true, 4);
	submit(fw, &t[3], false, 3);
	fw_flush(fw);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		ck_assert_int_eq(t[i].result, 0);
		ck_assert_int_eq(t[i].n, 1);
	}
	ck_assert_int_eq(kernel.n_sends, 1);
	ck_assert_str_eq(kernel.order, "da");
	ck_assert_int_eq(count(&kernel), 3);
	fw_flush(fw);
	ck_assert_int_eq(kernel.n_sends, 1);
	fw_get_stats(fw, &stats);
	ck_assert_uint_eq(stats.batches, 1);
	ck_assert_uint_eq(stats.adds, 3);
	ck_assert_uint_eq(stats.dels, 1);
	ck_assert_uint_eq(stats.failures, 0);
	fw_free(fw);
}
END_TEST

START_TEST(bad_one_alone)
{
	struct fw *fw = start(&kernel);
	struct told t[3];

	submit(fw, &t[0], false, 1);
	submit(fw, &t[1], false, PORT_FULL);
	submit(fw, &t[2], false, 2);
	fw_flush(fw);
	ck_assert_int_eq(t[0].result, 0);
	ck_assert_str_eq(t[0].why, "");
	ck_assert_int_eq(t[1].result, -ENOSPC);
	ck_assert_str_eq(t[1].why, "no, because");
	ck_assert_int_eq(t[2].result, 0);
	ck_assert_int_eq(kernel.n_sends, 4);
	ck_assert_int_eq(count(&kernel), 2);
	fw_free(fw);
}
END_TEST

/* All of a transaction or nothing of it. */
START_TEST(transaction_is_atomic)
{
	struct fw *fw = start(&kernel);
	struct told t[2];

	fw_submit(fw, &prepare(&t[0], false, PORT_FULL - 1, 3)->txn);
	submit(fw, &t[1], false, 1);
	fw_flush(fw);
	ck_assert_int_eq(t[0].result, -ENOSPC);
	ck_assert(!kernel.ports[PORT_FULL - 1] && !kernel.ports[PORT_FULL + 1]);
	ck_assert_int_eq(t[1].result, 0);
	fw_free(fw);
}
END_TEST

START_TEST(interrupted)
{
	struct fw *fw = start(&kernel);
	struct told t;

	kernel.send_eintr = 2;
	kernel.recv_eintr = 2;
	kernel.strays = 3;
	submit(fw, &t, false, 1);
	fw_flush(fw);
	ck_assert_int_eq(t.result, 0);
	ck_assert_int_eq(kernel.n_sends, 1);
	kernel.send_eintr = 1000;
	submit(fw, &t, false, 2);
	fw_flush(fw);
	ck_assert_int_eq(t.result, -EINTR);
	ck_assert(!kernel.ports[2]);
	fw_free(fw);
}
END_TEST

START_TEST(no_permission)
{
	struct fw *fw = start(&kernel);
	struct told t[2];

	kernel.whole_error = -EPERM;
	submit(fw, &t[0], false, 1);
	submit(fw, &t[1], false, 2);
	fw_flush(fw);
	ck_assert_int_eq(t[0].result, -EPERM);
	ck_assert_int_eq(t[1].result, -EPERM);
	ck_assert_int_eq(kernel.n_sends, 1);
	kernel.whole_error = 0;
	kernel.send_error = -EPERM;
	submit(fw, &t[0], false, 1);
	fw_flush(fw);
	ck_assert_int_eq(t[0].result, -EPERM);
	ck_assert_int_eq(count(&kernel), 0);
	fw_free(fw);
}
END_TEST

START_TEST(send_fails)
{
	static const int errors[] = { -ENOBUFS, -ENOMEM, -EMSGSIZE, -EBADF };
	struct fw *fw = start(&kernel);
	struct told t[2];

	kernel.send_error = errors[_i];
	submit(fw, &t[0], false, 1);
	submit(fw, &t[1], true, 2);
	fw_flush(fw);
	ck_assert_int_eq(t[0].result, errors[_i]);
	ck_assert_int_eq(t[1].result, errors[_i]);
	fw_free(fw);
}
END_TEST

/* An answer lost once: what was wanted is brought about. */
static const struct {
	const char *name;
	struct kernel kernel;
} losses[] = {
	{ "lost", { .lose_acks = 1 } },
	{ "overrun", { .overruns = 1 } },
	{ "cut", { .truncated = 1 } },
	{ "fatal signal", { .fatal = 1 } },
};

START_TEST(unknown_is_settled)
{
	struct fw *fw = start(&kernel);
	struct told t[3];

	kernel = losses[_i].kernel;
	kernel.ports[9] = kernel.ports[10] = true;
	submit(fw, &t[0], false, 1);
	fw_submit(fw, &prepare(&t[1], true, 9, 2)->txn);
	submit(fw, &t[2], false, 2);
	fw_flush(fw);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		ck_assert_msg(t[i].result == 0, "%s", losses[_i].name);
	ck_assert(kernel.ports[1] && kernel.ports[2]);
	ck_assert(!kernel.ports[9] && !kernel.ports[10]);
	fw_free(fw);
}
END_TEST

/* Never an answer: failure, and nothing stays open. */
START_TEST(unknown_fails_closed)
{
	struct fw *fw = start(&kernel);
	struct told t[2];

	kernel.lose_acks = 1000;
	kernel.ports[9] = true;
	submit(fw, &t[0], false, 1);
	submit(fw, &t[1], true, 9);
	fw_flush(fw);
	ck_assert_int_eq(t[0].result, -EIO);
	/* The deletion has worked, but nothing says so. */
	ck_assert_int_lt(t[1].result, 0);
	ck_assert_str_ne(t[1].why, "");
	ck_assert_int_eq(count(&kernel), 0);
	fw_free(fw);
}
END_TEST

START_TEST(same_element_keeps_its_order)
{
	struct fw *fw = start(&kernel);
	struct told t[3];

	submit(fw, &t[0], false, 1);
	submit(fw, &t[1], false, 2);
	submit(fw, &t[2], true, 1);
	fw_flush(fw);
	ck_assert_str_eq(kernel.order, "aad");
	ck_assert(!kernel.ports[1] && kernel.ports[2]);
	submit(fw, &t[0], true, 2);
	submit(fw, &t[1], false, 2);
	fw_flush(fw);
	ck_assert_int_eq(t[0].result, 0);
	ck_assert_int_eq(t[1].result, 0);
	ck_assert(kernel.ports[2]);
	fw_free(fw);
}
END_TEST

START_TEST(done_may_submit_and_cancel)
{
	struct fw *fw = start(&kernel);
	struct told t[4];

	submit(fw, &t[0], false, 1);
	submit(fw, &t[1], false, 2);
	submit(fw, &t[2], false, 3);
	t[0].cancel = &t[1];
	t[0].again = prepare(&t[3], false, 4, 1);
	t[0].fw = fw;
	fw_flush(fw);
	ck_assert_int_eq(t[0].n, 1);
	ck_assert_int_eq(t[1].n, 0);
	ck_assert_int_eq(t[2].n, 1);
	ck_assert_int_eq(t[3].n, 0);
	ck_assert(fw_has_pending(fw));
	fw_flush(fw);
	ck_assert_int_eq(t[3].n, 1);
	ck_assert(kernel.ports[4]);

	/* Likewise while each is tried alone; then it isn't even sent. */
	submit(fw, &t[0], false, PORT_FULL);
	submit(fw, &t[1], false, 5);
	t[0].cancel = &t[1];
	fw_flush(fw);
	ck_assert_int_eq(t[1].n, 0);
	ck_assert(!kernel.ports[5]);
	fw_free(fw);
}
END_TEST

START_TEST(cancelled_and_freed)
{
	struct fw *fw = start(&kernel);
	struct told t[2], never;

	submit(fw, &t[0], false, 1);
	submit(fw, &t[1], false, 2);
	fw_cancel(&t[0].txn);
	fw_cancel(&t[0].txn);
	fw_cancel(&prepare(&never, false, 3, 1)->txn);
	ck_assert(fw_has_pending(fw));
	fw_free(fw);
	ck_assert_int_eq(t[0].n, 0);
	ck_assert_int_eq(t[1].result, -ECANCELED);
	ck_assert_int_eq(kernel.n_sends, 0);
	fw_free(NULL);
}
END_TEST

START_TEST(empty_transaction)
{
	struct fw *fw = start(&kernel);
	struct told t;

	t.result = 1;
	fw_submit(fw, &prepare(&t, false, 0, 0)->txn);
	fw_flush(fw);
	ck_assert_int_eq(t.result, 0);
	ck_assert_int_eq(t.n, 1);
	ck_assert_int_eq(kernel.n_sends, 0);
	fw_free(fw);
}
END_TEST

/* More than a batch takes, in bytes and in transactions. */
START_TEST(many_transactions)
{
	struct fw *fw = start(&kernel);
	static struct told t[900];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		submit(fw, &t[i], false, (uint16_t)i);
	fw_flush(fw);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		ck_assert_int_eq(t[i].result, 0);
	ck_assert_int_eq(count(&kernel), ARRAY_SIZE(t));
	ck_assert_int_gt(kernel.n_sends, 1);
	ck_assert_int_le(kernel.n_sends, 4);
	ck_assert_int_eq(kernel.max_msgs, 1);
	fw_free(fw);
}
END_TEST

START_TEST(apply)
{
	struct fw *fw = start(&kernel);
	struct fw_elem one = port_elem(1), two = port_elem(2);
	struct fw_elem full = port_elem(PORT_FULL), bad = port_elem(3);
	struct err err = { .code = 0 };

	ck_assert_int_eq(fw_apply(fw, NULL, 0, &one, 1, &err), 0);
	ck_assert_int_eq(fw_apply(fw, &one, 1, &two, 1, &err), 0);
	ck_assert(!kernel.ports[1] && kernel.ports[2]);
	ck_assert_int_eq(fw_apply(fw, NULL, 0, &two, 1, &err), -EEXIST);
	ck_assert_int_eq(fw_apply(fw, &one, 1, NULL, 0, &err), -ENOENT);
	ck_assert_int_eq(fw_apply(fw, &two, 1, &full, 1, &err), -ENOSPC);
	ck_assert(kernel.ports[2]);
	ck_assert_ptr_nonnull(strstr(err.msg, "no, because"));
	bad.port_hi = 9;
	ck_assert_int_eq(fw_apply(fw, &two, 1, &bad, 1, &err), -EINVAL);
	ck_assert(kernel.ports[2]);
	ck_assert_int_eq(fw_apply(fw, NULL, 0, NULL, 0, &err), 0);

	kernel.overruns = 1;
	ck_assert_int_eq(fw_apply(fw, &two, 1, &one, 1, &err), 0);
	ck_assert(kernel.ports[1] && !kernel.ports[2]);
	kernel.lose_acks = 1000;
	ck_assert_int_eq(fw_apply(fw, NULL, 0, &two, 1, &err), -EIO);
	ck_assert(!kernel.ports[2]);
	fw_free(fw);
}
END_TEST

START_TEST(apply_in_parts)
{
	struct fw *fw = start_with(&kernel, 12288);
	struct fw_elem v[900];

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = port_elem((uint16_t)i);
	ck_assert_int_eq(fw_apply(fw, NULL, 0, v, ARRAY_SIZE(v), NULL), 0);
	ck_assert_int_eq(count(&kernel), ARRAY_SIZE(v));
	ck_assert_int_gt(kernel.n_sends, 1);
	kernel.lose_acks = 1;
	ck_assert_int_eq(fw_apply(fw, v, ARRAY_SIZE(v), NULL, 0, NULL), 0);
	ck_assert_int_eq(count(&kernel), 0);
	fw_free(fw);
}
END_TEST

static void fresh_kernel(void)
{
	memset(&kernel, 0, sizeof(kernel));
}

int main(void)
{
	Suite *s = suite_create("fw_batch");
	TCase *tc = tcase_create("fw_batch");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, fresh_kernel, NULL);
	tcase_add_test(tc, one_batch_for_a_turn);
	tcase_add_test(tc, bad_one_alone);
	tcase_add_test(tc, transaction_is_atomic);
	tcase_add_test(tc, interrupted);
	tcase_add_test(tc, no_permission);
	tcase_add_loop_test(tc, send_fails, 0, 4);
	tcase_add_loop_test(tc, unknown_is_settled, 0, ARRAY_SIZE(losses));
	tcase_add_test(tc, unknown_fails_closed);
	tcase_add_test(tc, same_element_keeps_its_order);
	tcase_add_test(tc, done_may_submit_and_cancel);
	tcase_add_test(tc, cancelled_and_freed);
	tcase_add_test(tc, empty_transaction);
	tcase_add_test(tc, many_transactions);
	tcase_add_test(tc, apply);
	tcase_add_test(tc, apply_in_parts);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
