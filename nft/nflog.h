/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nflog.h - packets that the ruleset logs, read from an nfnetlink_log socket
 */
#ifndef EGRET_NFT_NFLOG_H
#define EGRET_NFT_NFLOG_H

#include <stddef.h>
#include <stdint.h>

struct err;

struct nflog_packet {
	const uint8_t *data; /* network header on; borrowed during the call */
	size_t len;
	uint32_t mark;
	char prefix[16]; /* the rule's log prefix, shows why */
};

typedef void nflog_fn(void *ctx, const struct nflog_packet *p);

/**
 * nflog_bind() - bind a NETLINK_NETFILTER socket (of the gateway netns) to one
 * group, copy mode packet
 * @copy_len:   bytes of each packet
 * @qthreshold: packets that are collected before delivery; 1: at once
 */
int nflog_bind(int nl_fd, uint16_t group, uint32_t copy_len,
	       uint32_t qthreshold, struct err *err);

/**
 * nflog_read() - read what is there (bounded), calling @fn for each packet
 * @ret_lost: incremented when the kernel reports ENOBUFS
 *
 * Return: packets seen, or negative errno (never -EAGAIN).
 */
int nflog_read(int nl_fd, nflog_fn *fn, void *ctx, uint64_t *ret_lost);

#endif /* EGRET_NFT_NFLOG_H */
