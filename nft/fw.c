/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fw.c - the socket, the ruleset, and single batches of changes
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "nft/fw_internal.h"
#include "nft/ruleset_internal.h"

/*
 * A batch takes half of the granted send buffer (netlink refuses a datagram
 * that doesn't fit), and has no more messages than acknowledgements fit into
 * the receive buffer: one counts for less than 1280 bytes there.
 */
#define FW_LEN_MIN  32768
#define FW_LEN_MAX  (4U << 20)
#define FW_ACK_COST 1280
#define FW_MSGS_MIN 16
#define FW_MSGS_MAX 4096

static ssize_t socket_send(void *ctx, const void *data, size_t len)
{
	const struct fw *fw = ctx;
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n = sendto(fw->nl_fd, data, len, 0, (struct sockaddr *)&kernel,
			   sizeof(kernel));

	return n < 0 ? -errno : n;
}

static ssize_t socket_recv(void *ctx, void *data, size_t size)
{
	const struct fw *fw = ctx;
	struct sockaddr_nl from = { 0 };
	struct iovec iov = { .iov_base = data, .iov_len = size };
	struct msghdr msg = { .msg_name = &from,
			      .msg_namelen = sizeof(from),
			      .msg_iov = &iov,
			      .msg_iovlen = 1 };
	ssize_t n = recvmsg(fw->nl_fd, &msg, MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if (msg.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	/* Only the kernel has port 0. */
	return from.nl_pid == 0 ? n : 0;
}

static uint32_t clamp(uint32_t v, uint32_t lo, uint32_t hi)
{
	if (v < lo)
		return lo;
	return v > hi ? hi : v;
}

static int granted(int fd, int option, uint32_t *ret)
{
	int value = 0;
	socklen_t len = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0)
		return -errno;
	*ret = value > 0 ? (uint32_t)value : 0;
	return 0;
}

static int enable(int fd, int option)
{
	int one = 1;

	return setsockopt(fd, SOL_NETLINK, option, &one, sizeof(one)) < 0
		       ? -errno
		       : 0;
}

int fw_new_with(struct fw **ret, const struct batch_io *io, size_t max_len,
		uint32_t max_msgs, struct err *err)
{
	_cleanup_(fw_freep) struct fw *fw = calloc(1, sizeof(*fw));

	if (!fw)
		return err_set(err, -ENOMEM, "out of memory");
	list_init(&fw->queue);
	fw->io = *io;
	fw->nl_fd = -1;
	if (batch_alloc(&fw->batch, max_len, max_msgs) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = ptr_steal(&fw);
	return 0;
}

int fw_new(struct fw **ret, int nl_fd, struct err *err)
{
	struct batch_io io = { .send = socket_send, .recv = socket_recv };
	uint32_t sndbuf = 0, rcvbuf = 0;
	struct fw *fw = NULL;
	int r = granted(nl_fd, SO_SNDBUF, &sndbuf);

	if (r == 0)
		r = granted(nl_fd, SO_RCVBUF, &rcvbuf);
	if (r == 0)
		r = enable(nl_fd, NETLINK_EXT_ACK);
	if (r == 0)
		r = enable(nl_fd, NETLINK_CAP_ACK);
	if (r < 0)
		return err_set_errno(err, r,
				     "cannot set up the nftables socket");
	r = fw_new_with(&fw, &io, clamp(sndbuf / 2, FW_LEN_MIN, FW_LEN_MAX),
			clamp(rcvbuf / FW_ACK_COST, FW_MSGS_MIN, FW_MSGS_MAX),
			err);
	if (r < 0 || !fw)
		return r;
	fw->nl_fd = nl_fd;
	fw->io.ctx = fw;
	*ret = fw;
	return 0;
}

void fw_free(struct fw *fw)
{
	int saved = errno;

	if (!fw)
		return;
	while (!list_empty(&fw->queue)) {
		struct fw_txn *t =
			container_of(fw->queue.next, struct fw_txn, node);

		list_del(&t->node);
		t->done(t, -ECANCELED, NULL);
	}
	batch_free(&fw->batch);
	free(fw);
	errno = saved;
}

void fw_freep(struct fw **fw)
{
	fw_free(*fw);
	*fw = NULL;
}

void fw_get_stats(const struct fw *fw, struct fw_stats *ret)
{
	*ret = fw->stats;
}

/* ---- the ruleset ---- */

static int install(struct fw *fw, int filled, struct err *err)
{
	struct batch_result res;

	if (filled < 0)
		return err_set_errno(err, filled, "cannot build the ruleset");
	fw_send(fw, &res);
	if (res.error == 0)
		return 0;
	return err_set_errno(err, res.error,
			     "the kernel refused the ruleset at message %u%s%s",
			     res.msg, res.why[0] ? ", " : "", res.why);
}

int fw_install(struct fw *fw, const struct fw_config *cfg, struct err *err)
{
	batch_begin(&fw->batch, fw->seq);
	return install(fw, ruleset_put(&fw->batch, cfg), err);
}

int fw_install_guard(struct fw *fw, const char *ifname, struct err *err)
{
	batch_begin(&fw->batch, fw->seq);
	return install(fw, ruleset_put_guard(&fw->batch, ifname), err);
}

/* ---- batches ---- */

int fw_fill(struct fw *fw, struct sets_job *del, struct sets_job *add)
{
	int r = 0;

	batch_begin(&fw->batch, fw->seq);
	if (del)
		r = sets_put(&fw->batch, del);
	if (r == 0 && add)
		r = sets_put(&fw->batch, add);
	return r;
}

void fw_send(struct fw *fw, struct batch_result *ret)
{
	*ret = (struct batch_result){ 0 };
	if (fw->batch.n_msgs == 0)
		return;
	fw->stats.batches++;
	fw->seq = batch_run(&fw->batch, &fw->io, ret);
}

static void run_one(struct fw *fw, uint16_t type, const struct sets_change *c,
		    struct batch_result *res)
{
	struct sets_job job = { .type = type,
				.flags = type == NFT_MSG_NEWSETELEM
						 ? NLM_F_CREATE
						 : 0,
				.mask = SETS_ALL,
				.changes = c,
				.n_changes = 1 };
	int r;

	/* In parts if need be: each part is idempotent. */
	do {
		r = fw_fill(fw, &job, NULL);
		if (r < 0 && r != -ENOSPC) {
			*res = (struct batch_result){ .error = r };
			return;
		}
		fw_send(fw, res);
	} while (r == -ENOSPC && res->error == 0);
}

int fw_settle_del(struct fw *fw, const struct sets_change *c)
{
	int result = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct sets_change one = { .elems = &c->elems[i], .n = 1 };
		struct batch_result res;

		run_one(fw, NFT_MSG_DELSETELEM, &one, &res);
		if (res.unknown)
			run_one(fw, NFT_MSG_DELSETELEM, &one, &res);
		if (res.error < 0 && res.error != -ENOENT)
			result = res.error;
	}
	return result;
}

int fw_settle_add(struct fw *fw, const struct sets_change *c)
{
	struct batch_result res;

	run_one(fw, NFT_MSG_NEWSETELEM, c, &res);
	if (res.error == 0)
		return 0;
	/* Fail closed; the error to report is that of adding. */
	(void)fw_settle_del(fw, c);
	return res.error;
}
