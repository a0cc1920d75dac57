/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_internal.h - what link's files share
 */
#ifndef EGRET_NETNS_LINK_INTERNAL_H
#define EGRET_NETNS_LINK_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "netns/layout.h"

struct err;

/* A NETLINK_ROUTE socket that is let go at the end of its scope. */
static inline void link_sock_freep(struct nl_sock **s)
{
	nl_socket_free(*s);
	*s = NULL;
}

/**
 * link_sock_open() - connected to the calling thread's netns; free with
 * nl_socket_free()
 */
int link_sock_open(struct nl_sock **ret, struct err *err);

/**
 * link_err() - libnl's error as errno and sentence
 * @code: negative NLE_ code
 */
int link_err(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * link_ifindex() - of a link of this netns
 *
 * Return: index, or negative errno.
 */
int link_ifindex(const char *ifname, struct err *err);

/** link_has_ipv6() - false when the kernel was booted without IPv6 */
bool link_has_ipv6(void);

/** link_bring_up() - no generated IPv6 address, and up */
int link_bring_up(struct nl_sock *sk, const char *ifname, struct err *err);

/* link_wait_local6() - in the sandbox netns, until the kernel receives on the
   IPv6 address that was just added */
int link_wait_local6(struct err *err);

#endif /* EGRET_NETNS_LINK_INTERNAL_H */
