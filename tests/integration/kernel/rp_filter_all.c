/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rp_filter of `all` is a maximum: with 1 or 2 there, a packet injected into
 * inj1, which has no address, is dropped although inj1 itself says 0.
 */
#include "tests/integration/kernel/fact.h"

static const char all[] = "/proc/sys/net/ipv4/conf/all/rp_filter";

static uint8_t frame[60] = {
	2,   0, 0,   0, 0,    4,    2,	  0,	0,  0, 0, 3,   0x08, 0x00, 0x45,
	0,   0, 29,  0, 0,    0,    0,	  64,	17, 0, 0, 198, 18,   0,	   2,
	203, 0, 113, 1, 0x30, 0x39, 0x12, 0x67, 0,  9, 0, 0,   'x',
};

static bool arrives(int out, int server, const char *value)
{
	struct pollfd p = { .fd = server, .events = POLLIN };
	char buf[8];

	fact_write(all, value);
	fact_need(send(out, frame, 14 + 29, 0) == 14 + 29, "send");
	if (poll(&p, 1, 200) != 1)
		return false;
	(void)!recv(server, buf, sizeof(buf), 0);
	return true;
}

int main(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_port = htons(4711) };
	int server, out;

	fact_name = "rp_filter_all";
	fact_need_commands();
	fact_enter(CLONE_NEWNET);
	(void)fact_lab();
	server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	fact_need(bind(server, (struct sockaddr *)&any, sizeof(any)) == 0,
		  "bind");
	fact_fix_sums(frame + 14, 29, 26);
	out = fact_packet("inj0", 0, 1);
	fact_run("ip link set inj1 address 02:00:00:00:00:04");
	if (!arrives(out, server, "0"))
		fact_fail("dropped with 0");
	if (arrives(out, server, "1"))
		fact_fail("passes with 1");
	if (arrives(out, server, "2"))
		fact_fail("passes with 2");
	if (!arrives(out, server, "0"))
		fact_fail("dropped with 0 again");
	fact_ok();
}
