/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mark of a packet survives a veth pair whose ends are in one netns, and is
 * cleared when they aren't: the sandbox can't send marked packets.
 */
#include "tests/integration/kernel/fact.h"

static const uint8_t frame[60] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0, 0, 0, 2, 0x88, 0xb5,
};

static unsigned long marked_after(int fd)
{
	unsigned long any = fact_counter("any");

	fact_need(send(fd, frame, sizeof(frame), 0) == sizeof(frame), "send");
	for (int i = 0; i < 100 && fact_counter("any") == any; i++)
		(void)usleep(1000); /* a counter has no event to wait for */
	if (fact_counter("any") == any)
		fact_fail("the frame didn't arrive");
	return fact_counter("marked");
}

int main(void)
{
	int sb, own, same, other;

	fact_name = "veth_mark_kept";
	fact_need_commands();
	fact_enter(CLONE_NEWNET);
	sb = fact_lab();
	if (fact_sh("nft -f - 2>/dev/null <<'E'\n"
		    "table netdev t {\n"
		    " counter any { }\n counter marked { }\n"
		    " chain a { type filter hook ingress device inj1 "
		    "priority 0;\n"
		    " ether type 0x88b5 counter name any\n"
		    " ether type 0x88b5 meta mark 1 counter name marked\n }\n"
		    " chain b { type filter hook ingress device gw0 "
		    "priority 0;\n"
		    " ether type 0x88b5 counter name any\n"
		    " ether type 0x88b5 meta mark 1 counter name marked\n }\n"
		    "}\nE") != 0)
		fact_skip("no nftables netdev hook");
	same = fact_packet("inj0", 0, 1);
	own = fact_netns();
	fact_setns(sb);
	other = fact_packet("eth0", 0, 1);
	fact_setns(own);

	if (marked_after(same) != 1)
		fact_fail("lost within one netns");
	if (marked_after(other) != 1)
		fact_fail("kept across netns");
	fact_ok();
}
