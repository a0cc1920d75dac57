/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netlink_internal.h - what libmnl checks less strictly than we need it
 */
#ifndef EGRET_NFT_NETLINK_INTERNAL_H
#define EGRET_NFT_NETLINK_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/netlink.h>

/**
 * netlink_is_whole() - does a message lie within @left bytes
 *
 * mnl_nlmsg_ok() compares the length as an int, and takes one of 2 GiB and
 * more for a negative one.
 */
static inline bool netlink_is_whole(const struct nlmsghdr *nlh, int left)
{
	return left >= (int)sizeof(*nlh) && nlh->nlmsg_len >= sizeof(*nlh) &&
	       nlh->nlmsg_len <= (uint32_t)left;
}

#endif /* EGRET_NFT_NETLINK_INTERNAL_H */
