/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nflog_internal.h - the parser of nflog.c, for tests and the fuzzer
 */
#ifndef EGRET_NFT_NFLOG_INTERNAL_H
#define EGRET_NFT_NFLOG_INTERNAL_H

#include <stddef.h>

#include "nft/nflog.h"

/**
 * nflog_parse() - one datagram of an nfnetlink_log socket
 * @data: aligned as a struct nlmsghdr
 *
 * Messages that aren't packets, or are cut or malformed, are skipped.
 * Return: packets passed to @fn.
 */
int nflog_parse(void *data, size_t len, nflog_fn *fn, void *ctx);

#endif /* EGRET_NFT_NFLOG_INTERNAL_H */
