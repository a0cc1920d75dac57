/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sysctl.h - the gateway netns's sysctls, written and read back
 *
 * A new netns inherits the host's IPv4 settings, so each value that the design
 * relies on is written for all, default and every link, and read back. Where
 * /proc/sys is read-only, a fresh proc in a private mount and pid namespace is
 * used. Acts on the calling thread's netns.
 */
#ifndef EGRET_NETNS_SYSCTL_H
#define EGRET_NETNS_SYSCTL_H

struct err;

/** sysctl_setup_gateway() - all links that exist, and what later ones take over
 */
int sysctl_setup_gateway(struct err *err);

/** sysctl_setup_link() - a link that was made since */
int sysctl_setup_link(const char *ifname, struct err *err);

#endif /* EGRET_NETNS_SYSCTL_H */
