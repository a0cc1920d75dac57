/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * batch.c - nfnetlink batches: sent, executed and acknowledged in one go
 *
 * A batch is one datagram: begin, messages, end. The kernel executes it inside
 * sendmsg(2), all or nothing, and has queued its answers when that returns:
 *
 * - one acknowledgement for each message, in their order, also for the good
 *   ones of a batch that failed;
 * - an error with the sequence number of the begin message when something
 *   concerns all of it (no permission, no memory, commit failed).
 *
 * So the outcome is:
 *
 * - any error seen: nothing was changed;
 * - every acknowledgement seen and no error: everything was changed;
 * - otherwise the queue overran, or a fatal signal was pending: unknown. The
 *   caller must settle it; it never counts as success.
 *
 * The queue is always read until it is empty, because an overrun socket gets
 * nothing more until then. Sequence numbers tell answers of an earlier,
 * unknown batch apart.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "nft/batch_internal.h"
#include "nft/netlink_internal.h"

#define BATCH_TAIL	 64 /* the end message */
#define BATCH_SEND_TRIES 8  /* interruptions to sit out */
/* Stale or foreign datagrams to skip before giving up on the queue. */
#define BATCH_STRAY_MAX 65536

/* Answers as they come in. */
struct answers {
	const struct batch *b;
	struct batch_result *res;
	uint32_t acked; /* highest message acknowledged; they come in order */
	uint32_t n_acks;
};

int batch_alloc(struct batch *b, size_t size, uint32_t max_msgs)
{
	*b = (struct batch){ .size = size, .max_msgs = max_msgs };
	b->buf = malloc(size);
	return b->buf ? 0 : -ENOMEM;
}

void batch_free(struct batch *b)
{
	free(b->buf);
	b->buf = NULL;
}

static struct nlmsghdr *put_header(struct batch *b, uint16_t type,
				   uint16_t family, uint16_t flags,
				   uint16_t res_id)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(b->buf + b->len);
	struct nfgenmsg *nfg =
		mnl_nlmsg_put_extra_header(nlh, sizeof(struct nfgenmsg));

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = b->seq_begin + b->n_msgs;
	nfg->nfgen_family = (uint8_t)family;
	nfg->version = NFNETLINK_V0;
	nfg->res_id = htons(res_id);
	return nlh;
}

void batch_begin(struct batch *b, uint32_t seq)
{
	b->len = 0;
	b->n_msgs = 0;
	b->seq_begin = seq + 1;
	batch_finish(b, put_header(b, NFNL_MSG_BATCH_BEGIN, AF_UNSPEC,
				   NLM_F_REQUEST, NFNL_SUBSYS_NFTABLES));
}

struct nlmsghdr *batch_put(struct batch *b, uint16_t type, uint16_t family,
			   uint16_t flags)
{
	if (b->n_msgs >= b->max_msgs ||
	    b->size - b->len < BATCH_MSG_ROOM + BATCH_TAIL)
		return NULL;
	b->n_msgs++;
	return put_header(b, (NFNL_SUBSYS_NFTABLES << 8) | type, family,
			  NLM_F_REQUEST | NLM_F_ACK | flags, 0);
}

void batch_finish(struct batch *b, const struct nlmsghdr *nlh)
{
	b->len += MNL_ALIGN(nlh->nlmsg_len);
}

size_t batch_left(const struct batch *b, const struct nlmsghdr *nlh)
{
	size_t used = b->len + MNL_ALIGN(nlh->nlmsg_len) + BATCH_TAIL;

	return used < b->size ? b->size - used : 0;
}

/*
 * The sentence of an extended acknowledgement. The kernel repeats the whole
 * request in front of it unless NLM_F_CAPPED says otherwise.
 */
static void copy_why(struct nlmsghdr *nlh, char why[BATCH_WHY_LEN])
{
	struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh), off = sizeof(*e);
	struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED)) {
		if (e->msg.nlmsg_len < sizeof(e->msg) || e->msg.nlmsg_len > len)
			return;
		off += MNL_ALIGN(e->msg.nlmsg_len) - sizeof(e->msg);
	}
	if (off > len)
		return;
	mnl_attr_for_each_payload ((void *)((char *)e + off), len - off) {
		if (mnl_attr_get_type(attr) != NLMSGERR_ATTR_MSG ||
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0)
			continue;
		strncpy(why, mnl_attr_get_str(attr), BATCH_WHY_LEN - 1);
		why[BATCH_WHY_LEN - 1] = '\0';
	}
}

static void take_answer(struct answers *a, struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	uint32_t n = nlh->nlmsg_seq - a->b->seq_begin;

	if (nlh->nlmsg_type != NLMSG_ERROR ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(*e) || n > a->b->n_msgs)
		return;
	if (e->error != 0 && a->res->error == 0) {
		/* A positive or absurd code is an error all the same. */
		a->res->error =
			e->error < 0 && e->error > -4096 ? e->error : -EPROTO;
		a->res->whole = n == 0;
		a->res->msg = n;
		copy_why(nlh, a->res->why);
	}
	if (e->error == 0 && n > a->acked) {
		a->acked = n;
		a->n_acks++;
	}
}

/* Empties the queue. Return: false when something was lost. */
static bool read_answers(struct answers *a, const struct batch_io *io)
{
	union {
		struct nlmsghdr align;
		uint8_t bytes[8192];
	} buf;
	bool intact = true;

	for (uint32_t i = 0; i < a->b->n_msgs + BATCH_STRAY_MAX; i++) {
		struct nlmsghdr *nlh = &buf.align;
		ssize_t r = io->recv(io->ctx, buf.bytes, sizeof(buf.bytes));
		int left;

		if (r == -EAGAIN)
			return intact;
		if (r == -EINTR)
			continue;
		if (r == -ENOBUFS || r == -EMSGSIZE) {
			intact = false;
			continue;
		}
		if (r < 0)
			return false;
		left = (int)r;
		for (; netlink_is_whole(nlh, left);
		     nlh = mnl_nlmsg_next(nlh, &left))
			take_answer(a, nlh);
	}
	return false;
}

static ssize_t send_batch(const struct batch *b, const struct batch_io *io)
{
	ssize_t r = -EINTR;

	/* An interrupted send has executed nothing. */
	for (int i = 0; i < BATCH_SEND_TRIES && r == -EINTR; i++)
		r = io->send(io->ctx, b->buf, b->len);
	return r;
}

uint32_t batch_run(struct batch *b, const struct batch_io *io,
		   struct batch_result *ret)
{
	struct answers a = { .b = b, .res = ret };
	uint32_t seq_end = b->seq_begin + b->n_msgs + 1;
	struct nlmsghdr *end;
	ssize_t sent;
	bool intact;

	*ret = (struct batch_result){ 0 };
	end = put_header(b, NFNL_MSG_BATCH_END, AF_UNSPEC, NLM_F_REQUEST,
			 NFNL_SUBSYS_NFTABLES);
	end->nlmsg_seq = seq_end;
	batch_finish(b, end);

	sent = send_batch(b, io);
	if (sent < 0) {
		ret->error = (int)sent;
		ret->whole = true;
		return seq_end;
	}
	intact = read_answers(&a, io);
	if (ret->error == 0 && (size_t)sent != b->len)
		intact = false;
	if (ret->error == 0 && (!intact || a.n_acks != b->n_msgs)) {
		ret->error = -EIO;
		ret->unknown = true;
		ret->whole = true;
	}
	return seq_end;
}
