/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nflog.c - packets from nfnetlink_log
 *
 * A datagram holds one message for each packet, several when the group has a
 * queue threshold. The packet inside is the sandbox's and not looked at here;
 * the attributes around it are the kernel's, but are checked all the same, and
 * a datagram that isn't the kernel's is passed over.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "nft/netlink_internal.h"
#include "nft/nflog.h"
#include "nft/nflog_internal.h"

/* A packet of 64 KiB with its attributes. */
#define NFLOG_BUF_LEN (72U << 10)
/* Datagrams a call, so that a flood can't hold the loop's turn. */
#define NFLOG_READS_MAX 64
/* Collected packets wait this long at most: 10 ms, the kernel's unit. */
#define NFLOG_FLUSH_CS 1

#define NFLOG_TYPE(type) ((NFNL_SUBSYS_ULOG << 8) | (type))

union nflog_buf {
	struct nlmsghdr align;
	uint8_t bytes[NFLOG_BUF_LEN];
};

/* ---- parsing ---- */

static void copy_prefix(struct nflog_packet *p, const struct nlattr *attr)
{
	size_t len = strnlen(mnl_attr_get_payload(attr),
			     mnl_attr_get_payload_len(attr));

	if (len >= sizeof(p->prefix))
		len = sizeof(p->prefix) - 1;
	memcpy(p->prefix, mnl_attr_get_payload(attr), len);
	p->prefix[len] = '\0';
}

/* Return: false when the message has no packet, or a malformed attribute. */
static bool parse_packet(struct nlmsghdr *nlh, struct nflog_packet *p)
{
	size_t len = mnl_nlmsg_get_payload_len(nlh);
	struct nlattr *attr;

	*p = (struct nflog_packet){ 0 };
	if (len < sizeof(struct nfgenmsg))
		return false;
	/* mnl_attr_for_each() would round the message's length up. */
	mnl_attr_for_each_payload (
		mnl_nlmsg_get_payload_offset(nlh, sizeof(struct nfgenmsg)),
		len - sizeof(struct nfgenmsg)) {
		switch (mnl_attr_get_type(attr)) {
		case NFULA_PAYLOAD:
			p->data = mnl_attr_get_payload(attr);
			p->len = mnl_attr_get_payload_len(attr);
			break;
		case NFULA_PREFIX:
			copy_prefix(p, attr);
			break;
		case NFULA_MARK:
			if (mnl_attr_validate(attr, MNL_TYPE_U32) < 0)
				return false;
			p->mark = ntohl(mnl_attr_get_u32(attr));
			break;
		default:
			break;
		}
	}
	return p->data != NULL;
}

int nflog_parse(void *data, size_t len, nflog_fn *fn, void *ctx)
{
	struct nlmsghdr *nlh = data;
	int left = len < INT_MAX ? (int)len : INT_MAX;
	int n = 0;

	for (; netlink_is_whole(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		struct nflog_packet p;

		if (nlh->nlmsg_type != NFLOG_TYPE(NFULNL_MSG_PACKET) ||
		    !parse_packet(nlh, &p))
			continue;
		fn(ctx, &p);
		n++;
	}
	return n;
}

/* ---- reading ---- */

/* Return: bytes, 0 for a datagram to pass over, or negative errno. */
static ssize_t receive(int fd, union nflog_buf *buf)
{
	struct sockaddr_nl from = { 0 };
	struct iovec iov = { .iov_base = buf->bytes,
			     .iov_len = sizeof(buf->bytes) };
	struct msghdr msg = { .msg_name = &from,
			      .msg_namelen = sizeof(from),
			      .msg_iov = &iov,
			      .msg_iovlen = 1 };
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if (msg.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	return from.nl_pid == 0 ? n : 0;
}

int nflog_read(int nl_fd, nflog_fn *fn, void *ctx, uint64_t *ret_lost)
{
	union nflog_buf buf;
	int seen = 0;

	for (int i = 0; i < NFLOG_READS_MAX; i++) {
		ssize_t n = receive(nl_fd, &buf);

		if (n == -EAGAIN)
			break;
		if (n == -EINTR)
			continue;
		if (n == -ENOBUFS || n == -EMSGSIZE) {
			(*ret_lost)++;
			continue;
		}
		if (n < 0)
			return (int)n;
		seen += nflog_parse(&buf, (size_t)n, fn, ctx);
	}
	return seen;
}

/* ---- binding ---- */

/* All in one message: no packet can come with another copy mode. */
static void put_config(struct nlmsghdr *nlh, uint16_t group, uint32_t copy_len,
		       uint32_t qthreshold)
{
	const struct nfulnl_msg_config_cmd cmd = {
		.command = NFULNL_CFG_CMD_BIND,
	};
	const struct nfulnl_msg_config_mode mode = {
		.copy_range = htonl(copy_len),
		.copy_mode = NFULNL_COPY_PACKET,
	};
	struct nfgenmsg *nfg;

	nlh->nlmsg_type = NFLOG_TYPE(NFULNL_MSG_CONFIG);
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	nlh->nlmsg_seq = 1;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = AF_UNSPEC;
	nfg->version = NFNETLINK_V0;
	nfg->res_id = htons(group);
	mnl_attr_put(nlh, NFULA_CFG_CMD, sizeof(cmd), &cmd);
	mnl_attr_put(nlh, NFULA_CFG_MODE, sizeof(mode), &mode);
	mnl_attr_put_u32(nlh, NFULA_CFG_QTHRESH, htonl(qthreshold));
	mnl_attr_put_u32(nlh, NFULA_CFG_TIMEOUT, htonl(NFLOG_FLUSH_CS));
}

/* The kernel has answered when the request's sendto() returns. */
static int read_ack(int fd)
{
	union nflog_buf buf;

	for (int i = 0; i < NFLOG_READS_MAX; i++) {
		const struct nlmsgerr *e;
		ssize_t n = receive(fd, &buf);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		if (!netlink_is_whole(&buf.align, (int)n) ||
		    buf.align.nlmsg_type != NLMSG_ERROR ||
		    mnl_nlmsg_get_payload_len(&buf.align) < sizeof(*e))
			continue;
		e = mnl_nlmsg_get_payload(&buf.align);
		return e->error;
	}
	return -EPROTO;
}

int nflog_bind(int nl_fd, uint16_t group, uint32_t copy_len,
	       uint32_t qthreshold, struct err *err)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	union {
		struct nlmsghdr align;
		uint8_t bytes[256];
	} buf;
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf.bytes);
	int r;

	put_config(nlh, group, copy_len, qthreshold);
	if (sendto(nl_fd, nlh, nlh->nlmsg_len, 0,
		   (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		r = -errno;
	else
		r = read_ack(nl_fd);
	if (r < 0)
		return err_set_errno(err, r, "cannot bind to log group %u",
				     group);
	return 0;
}
