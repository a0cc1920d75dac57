/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In the netdev ingress hook a VLAN tag is stripped already: a tagged frame
 * matches as plain IP, so it must be dropped by `vlan id 0-4095` before.
 */
#include "tests/integration/kernel/fact.h"

static const uint8_t frame[60] = {
	2,    0,    0,	  0,   0,  1,  2, 0,   0, 0,   0,
	2,    0x81, 0x00, 0,   0, /* priority tag, VLAN 0 */
	0x08, 0x00, 0x45, 0,   0,  28, 0, 0,   0, 0,   64,
	17,   0,    0,	  198, 18, 0,  2, 203, 0, 113, 1,
};

int main(void)
{
	uint8_t buf[60];
	int sb, own, out;

	fact_name = "vlan_stripped";
	fact_need_commands();
	fact_enter(CLONE_NEWNET);
	sb = fact_lab();
	if (fact_sh("nft -f - 2>/dev/null <<'E'\n"
		    "table netdev t {\n"
		    " counter plain { }\n counter tagged { }\n"
		    " chain c { type filter hook ingress device gw0 "
		    "priority 0;\n"
		    " meta protocol ip ip saddr 198.18.0.2 ip daddr "
		    "203.0.113.1 counter name plain\n"
		    " vlan id 0-4095 counter name tagged drop\n"
		    " }\n}\nE") != 0)
		fact_skip("no nftables netdev hook");
	own = fact_netns();
	fact_setns(sb);
	out = fact_packet("eth0", 0, 0);
	fact_setns(own);
	for (unsigned int vlan = 0; vlan < 3; vlan++) {
		memcpy(buf, frame, sizeof(buf));
		buf[15] = (uint8_t)vlan;
		fact_need(send(out, buf, sizeof(buf), 0) == sizeof(buf),
			  "send");
	}
	for (int i = 0; i < 100 && fact_counter("tagged") < 3; i++)
		(void)usleep(1000); /* a counter has no event to wait for */
	if (fact_counter("tagged") != 3)
		fact_fail("`vlan id` saw %lu of 3 frames",
			  fact_counter("tagged"));
	if (fact_counter("plain") != 3)
		fact_fail("%lu of 3 tagged frames matched as plain IP",
			  fact_counter("plain"));
	fact_ok();
}
