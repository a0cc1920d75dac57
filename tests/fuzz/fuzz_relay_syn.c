/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_relay_syn.c - whatever is accepted must come back from the built frame
 */
#include <stdlib.h>
#include <string.h>

#include "relay/syn.h"

#define ETH_LEN 14U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t src[6] = { 2, 0, 0, 0, 0, 1 };
	static const uint8_t dst[6] = { 2, 0, 0, 0, 0, 2 };
	uint8_t frame[SYN_FRAME_MAX];
	struct syn a, b;
	size_t len;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (syn_parse(data, size, &a) < 0)
		return 0;
	len = syn_build(&a, src, dst, frame);
	if (len > sizeof(frame) ||
	    syn_parse(frame + ETH_LEN, len - ETH_LEN, &b) < 0)
		abort();
	if (!endpoint_equal(&a.key.src, &b.key.src) ||
	    !endpoint_equal(&a.key.dst, &b.key.dst) || a.isn != b.isn ||
	    a.window != b.window || a.options != b.options || a.mss != b.mss ||
	    a.tsval != b.tsval || a.wscale != b.wscale)
		abort();
	return 0;
}
