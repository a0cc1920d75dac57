/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sockdiag.h - which socket of the sandbox a packet came from
 *
 * Answers name a socket by its inode, as the links of /proc/PID/fd do.
 */
#ifndef EGRET_NETNS_SOCKDIAG_H
#define EGRET_NETNS_SOCKDIAG_H

#include <stdbool.h>
#include <stdint.h>

struct endpoint;
struct err;

struct sockdiag {
	int fd;
	unsigned int ifindex; /* where the packets leave */
	uint32_t seq;
	bool has_tcp, has_udp; /* false: this kernel can't tell */
};

/** sockdiag_init() - nothing open; look-ups find nothing */
void sockdiag_init(struct sockdiag *d);

/**
 * sockdiag_open() - for the netns of the calling thread
 * @ifname: interface that the packets leave by; may be missing
 *
 * The descriptor may then be used from any thread and needs no capability.
 *
 * Return: 0, or negative errno: look-ups find nothing.
 */
int sockdiag_open(struct sockdiag *d, const char *ifname, struct err *err);

/** sockdiag_close() - also of one that is not open */
void sockdiag_close(struct sockdiag *d);

/**
 * sockdiag_find() - the socket that sent a packet; never waits
 * @proto:  IPPROTO_TCP or IPPROTO_UDP
 * @local:  source of the packet
 * @remote: its destination. A UDP socket that is connected to another address
 *          with this port is found too, but at a higher price.
 *
 * Return: 0; -ENOENT when there is none that a process holds; negative errno.
 */
int sockdiag_find(struct sockdiag *d, int proto, const struct endpoint *local,
		  const struct endpoint *remote, uint32_t *ret_inode);

#endif /* EGRET_NETNS_SOCKDIAG_H */
