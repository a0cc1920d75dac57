/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.h - links, addresses, routes and neighbours, by libnl
 *
 * Each function acts on the network namespace of the calling thread (run them
 * by nsthread_call()). Names and addresses are those of layout.h.
 */
#ifndef EGRET_NETNS_LINK_H
#define EGRET_NETNS_LINK_H

struct err;

/**
 * link_create_pair() - in the gateway netns: gw0, and its peer eth0 directly in
 * @sandbox_netns_fd; fixed MACs, LAYOUT_MTU
 */
int link_create_pair(int sandbox_netns_fd, struct err *err);

/** link_create_inject_pair() - in the gateway netns: inj0 and inj1, up */
int link_create_inject_pair(struct err *err);

/**
 * link_setup_gateway() - lo and gw0 up, addresses (no DAD), static neighbours
 * of the sandbox, and `local default dev lo` for IPv4 and IPv6, so that a
 * packet to any address is delivered to this namespace's sockets
 */
int link_setup_gateway(struct err *err);

/**
 * link_setup_sandbox() - lo and eth0 up, addresses, static neighbours, default
 * routes by the gateway; returns when packets to the addresses arrive
 */
int link_setup_sandbox(struct err *err);

/**
 * link_wait_running() - until a link that is up can send
 *
 * Of two ends, the one that came up first sends nothing until the kernel has
 * noticed, by a work item, that the other one is up too: its first packets
 * would be lost. So call it for gw0 after link_setup_sandbox().
 *
 * Return: 0, -ETIMEDOUT after 2 s, or negative errno.
 */
int link_wait_running(const char *ifname, struct err *err);

/**
 * link_open_watch() - NETLINK_ROUTE socket subscribed to link changes of this
 * namespace, non-blocking; caller closes
 *
 * Return: descriptor, or negative errno.
 */
int link_open_watch(struct err *err);

/**
 * link_watch_read() - drain the socket
 *
 * Return: 1 when gw0 was deleted (or notifications were lost), 0 otherwise,
 * negative errno.
 */
int link_watch_read(int fd);

#endif /* EGRET_NETNS_LINK_H */
