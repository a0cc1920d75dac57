/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rtsock.h - plain rtnetlink reading, where a lost notification must be noticed
 *
 * libnl folds ENOBUFS into "out of memory" and allocates an object a message;
 * what only watches needs neither. For this folder only.
 */
#ifndef EGRET_NETNS_RTSOCK_H
#define EGRET_NETNS_RTSOCK_H

#include <stddef.h>
#include <stdint.h>

#include <linux/netlink.h>

/** rtsock_open() - non-blocking, in the calling thread's netns; fd or -errno */
int rtsock_open(void);

/** rtsock_join() - subscribe to a group (RTNLGRP_...) */
int rtsock_join(int fd, unsigned int group);

/** rtsock_request() - send one message that is complete but for its flags */
int rtsock_request(int fd, struct nlmsghdr *nlh, uint16_t flags);

/*
 * Called for every message, NLMSG_DONE and NLMSG_ERROR too. A value other than
 * 0 ends the reading of this datagram and is what rtsock_read() returns.
 */
typedef int rtsock_fn(void *ctx, const struct nlmsghdr *nlh);

/**
 * rtsock_read() - one datagram from the kernel
 *
 * Return: 0 when all messages were handled; what @fn returned; -EAGAIN when
 * there is none; -ENOBUFS when notifications were lost; -errno.
 */
int rtsock_read(int fd, rtsock_fn *fn, void *ctx);

/** rtsock_body() - fixed header of @size bytes; NULL when the message has less
 */
const void *rtsock_body(const struct nlmsghdr *nlh, size_t size);

/**
 * rtsock_attrs() - find attributes
 * @hdr_len: length of the family's fixed header
 * @ret:     [0..@max], NULL where there is none
 */
void rtsock_attrs(const struct nlmsghdr *nlh, size_t hdr_len,
		  const struct nlattr **ret, uint16_t max);

/** rtsock_attr_data() - its bytes, and their number in @ret_len */
const void *rtsock_attr_data(const struct nlattr *a, size_t *ret_len);

/** rtsock_error() - of an NLMSG_ERROR: 0 or negative errno */
int rtsock_error(const struct nlmsghdr *nlh);

#endif /* EGRET_NETNS_RTSOCK_H */
