/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_nflog.c - one datagram of nfnetlink_log */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nft/nflog_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(void *ctx, const struct nflog_packet *p)
{
	volatile uint8_t *sum = ctx;

	for (size_t i = 0; i < p->len; i++)
		*sum = (uint8_t)(*sum + p->data[i]);
	if (!memchr(p->prefix, 0, sizeof(p->prefix)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile uint8_t sum = 0;
	uint8_t *copy = malloc(size ? size : 1);
	void *ctx = (void *)(uintptr_t)&sum;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	(void)nflog_parse(copy, size, read_all, ctx); /* only how it ends */
	free(copy);
	return 0;
}
