/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_packet.c - a logged packet; what it yields must be a fit event */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/event.h"
#include "gateway/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[EVENT_LINE_MAX], *json = NULL;
	struct packet p;
	struct event e;

	memset(&p, 0, sizeof(p));
	if (packet_parse(data, size, &p) < 0)
		return 0;
	if (p.src.addr.family != p.dst.addr.family || !p.dst.addr.family)
		abort();
	if ((p.src.port || p.dst.port) && p.proto != IPPROTO_TCP &&
	    p.proto != IPPROTO_UDP)
		abort();
	event_init(&e, EVENT_REFUSED,
		   p.proto == IPPROTO_UDP ? EVENT_KIND_UDP : EVENT_KIND_TCP);
	e.reason = EVENT_REASON_NOT_LISTED;
	e.addr = p.dst.addr;
	e.port = p.dst.port;
	/* The payload as the process's name. */
	e.pid = 1;
	memcpy(e.comm, data, size < sizeof(e.comm) ? size : sizeof(e.comm));
	if (event_check(&e) < 0 || event_json(&e, "fuzz", &json) < 0)
		abort();
	free(json);
	event_sentence(&e, "fuzz", line, sizeof(line));
	for (const char *c = line; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			abort();
	return 0;
}
