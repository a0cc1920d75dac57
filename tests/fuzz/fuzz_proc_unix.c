/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_proc_unix.c - /proc/net/unix, whose paths any local user chooses */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "netns/sockets_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sockets_scan s;
	struct err err;

	if (sockets_scan_parse((const char *)data, size, &s, &err) < 0) {
		assert(err.code < 0 && err.msg[0]);
		return 0;
	}
	assert(s.n <= SOCKETS_SCAN_PATHS_MAX);
	for (size_t i = 0; i < s.n; i++) {
		assert(s.paths[i][0] == '/');
		assert(i == 0 || strcmp(s.paths[i - 1], s.paths[i]) < 0);
	}
	sockets_scan_done(&s);
	return 0;
}
