/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_dnsname.c - names from wire and text: bounds and round trips */
#include <assert.h>
#include <string.h>

#include "base/dnsname.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What every name must fulfil, however it was made. */
static void check_name(const struct dnsname *n)
{
	struct dnsname up = *n, again;
	char text[DNSNAME_STR_LEN];
	unsigned int labels = dnsname_labels(n);

	assert(n->len >= 1 && n->wire[n->len - 1] == 0);
	assert(labels <= DNSNAME_LABELS_MAX);
	assert(dnsname_from_wire(n->wire, n->len, &again) == n->len);
	assert(dnsname_equal(n, &again));
	assert(dnsname_hash(n) == dnsname_hash(&again));
	assert(dnsname_format(n, text) == text);
	for (const char *p = text; *p; p++)
		assert(*p > 0x20 && *p < 0x7f);
	for (; labels > 0; labels--) {
		assert(dnsname_parent(&up, &up));
		assert(dnsname_is_below(n, &up));
		assert(!dnsname_is_below(&up, n));
	}
	assert(!dnsname_parent(&up, &up));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dnsname wire, text, back;
	char shown[DNSNAME_STR_LEN];
	int r = dnsname_from_wire(data, size, &wire);

	if (r >= 0) {
		assert((size_t)r <= size && r == wire.len);
		check_name(&wire);
	}
	if (dnsname_from_text((const char *)data, size, &text) == 0) {
		check_name(&text);
		(void)dnsname_format(&text, shown);
		assert(dnsname_from_text(shown, strlen(shown), &back) == 0);
		assert(dnsname_equal(&text, &back));
	}
	return 0;
}
