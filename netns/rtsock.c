/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rtsock.c - plain rtnetlink reading */
#include <errno.h>
#include <sys/socket.h>

#include <linux/rtnetlink.h>

#include "netns/rtsock.h"

#include "base/cleanup.h"

/* The kernel's dumps fill at most 32 KiB a datagram when asked with less. */
#define RTSOCK_BUF 32768

int rtsock_open(void)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK };
	_cleanup_(fd_closep) int fd = -1;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	return fd_steal(&fd);
}

int rtsock_join(int fd, unsigned int group)
{
	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
		       sizeof(group)) < 0)
		return -errno;
	return 0;
}

int rtsock_request(int fd, struct nlmsghdr *nlh, uint16_t flags)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n;

	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	n = sendto(fd, nlh, nlh->nlmsg_len, 0, (const struct sockaddr *)&kernel,
		   sizeof(kernel));
	return n < 0 ? -errno : 0;
}

static int each_message(const char *buf, size_t len, rtsock_fn *fn, void *ctx)
{
	const struct nlmsghdr *nlh = (const void *)buf;
	size_t step;
	int r;

	while (len >= sizeof(*nlh) && nlh->nlmsg_len >= sizeof(*nlh) &&
	       nlh->nlmsg_len <= len) {
		r = fn(ctx, nlh);
		if (r != 0)
			return r;
		step = NLMSG_ALIGN(nlh->nlmsg_len);
		if (step >= len)
			break;
		len -= step;
		nlh = (const void *)((const char *)nlh + step);
	}
	return 0;
}

int rtsock_read(int fd, rtsock_fn *fn, void *ctx)
{
	_Alignas(struct nlmsghdr) char buf[RTSOCK_BUF];
	struct sockaddr_nl from = { .nl_family = AF_NETLINK };
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	ssize_t n;

	do {
		n = recvmsg(fd, &msg, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	/* Other processes may send to our port; only the kernel counts. */
	if (from.nl_pid != 0)
		return 0;
	if (msg.msg_flags & MSG_TRUNC)
		return -ENOBUFS;
	return each_message(buf, (size_t)n, fn, ctx);
}

const void *rtsock_body(const struct nlmsghdr *nlh, size_t size)
{
	if (nlh->nlmsg_len < NLMSG_LENGTH(size))
		return NULL;
	return (const char *)nlh + NLMSG_HDRLEN;
}

void rtsock_attrs(const struct nlmsghdr *nlh, size_t hdr_len,
		  const struct nlattr **ret, uint16_t max)
{
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(hdr_len);
	const struct nlattr *a;
	uint16_t type;

	for (size_t i = 0; i <= max; i++)
		ret[i] = NULL;
	while (at + sizeof(*a) <= nlh->nlmsg_len) {
		a = (const void *)((const char *)nlh + at);
		if (a->nla_len < sizeof(*a) || a->nla_len > nlh->nlmsg_len - at)
			return;
		type = a->nla_type & NLA_TYPE_MASK;
		if (type <= max)
			ret[type] = a;
		at += NLA_ALIGN(a->nla_len);
	}
}

const void *rtsock_attr_data(const struct nlattr *a, size_t *ret_len)
{
	*ret_len = a->nla_len - NLA_HDRLEN;
	return (const char *)a + NLA_HDRLEN;
}

int rtsock_error(const struct nlmsghdr *nlh)
{
	const int *error = rtsock_body(nlh, sizeof(*error));

	return error ? *error : -EBADMSG;
}
