/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A SYN that was dropped, sent again by a packet socket over a second pair,
 * completes the handshake (mark 1), is refused by a reset at once (mark 2) or
 * by ICMP (mark 3, a soft error that connect() doesn't show at once).
 */
#include <time.h>

#include "tests/integration/kernel/fact.h"

#define TCP_SUM (20 + 16)

/* Starts a connection and returns its SYN as it came to gw0. */
static size_t start(int client, int tap, uint8_t *frame, size_t size)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(443) };
	ssize_t n;

	(void)inet_pton(AF_INET, "203.0.113.1", &to.sin_addr);
	if (connect(client, (struct sockaddr *)&to, sizeof(to)) == 0 ||
	    errno != EINPROGRESS)
		fact_fail("connect: %s", strerror(errno));
	do {
		if (!fact_readable(tap))
			fact_fail("no SYN came");
		n = recv(tap, frame, size, 0);
	} while (n < 54 || frame[12] != 8 || frame[13] != 0 || frame[23] != 6);
	return (size_t)n;
}

/* SO_ERROR once the connection attempt has ended; -1: it hasn't */
static int outcome(int client)
{
	struct pollfd p = { .fd = client, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	/* Less than the second after which a SYN is sent again. */
	if (poll(&p, 1, 800) != 1)
		return -1;
	(void)getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &len);
	return error;
}

static int inject(int sb, uint32_t mark)
{
	int tap = fact_packet("gw0", ETH_P_IP, 0);
	int out = fact_packet("inj0", 0, mark);
	int client = fact_socket_in(sb, AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
	static const uint8_t macs[12] = { 2, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0, 3 };
	uint8_t frame[256];
	size_t n = start(client, tap, frame, sizeof(frame));
	int r;

	memcpy(frame, macs, sizeof(macs));
	fact_fix_sums(frame + 14, n - 14, TCP_SUM);
	fact_need(send(out, frame, n, 0) == (ssize_t)n, "send");
	r = outcome(client);
	(void)close(tap);
	(void)close(out);
	(void)close(client);
	return r;
}

int main(void)
{
	int sb, r;

	fact_name = "held_syn";
	fact_need_commands();
	fact_enter(CLONE_NEWNET);
	sb = fact_lab();
	fact_run("ip link set inj1 address 02:00:00:00:00:04");
	if (fact_sh("nft -f - 2>/dev/null <<'E'\n"
		    "table inet t {\n"
		    " chain p { type filter hook prerouting priority mangle; "
		    "policy drop;\n"
		    " iifname inj1 meta mark 1 meta l4proto tcp "
		    "tproxy ip to :1 accept\n"
		    " iifname inj1 meta mark 2 meta l4proto tcp "
		    "reject with tcp reset\n"
		    " iifname inj1 meta mark 3 "
		    "reject with icmpx type host-unreachable\n"
		    " iifname gw0 tcp flags & (syn | ack) == syn drop\n"
		    " iifname gw0 meta l4proto tcp tproxy ip to :1 accept\n"
		    " }\n}\nE") != 0)
		fact_skip("no nftables tproxy, or no reject in prerouting");
	(void)fact_listen(1);

	r = inject(sb, 1);
	if (r != 0)
		fact_fail("mark 1: %s", r < 0 ? "no answer" : strerror(r));
	r = inject(sb, 2);
	if (r != ECONNREFUSED)
		fact_fail("mark 2: %s", r < 0 ? "no answer" : strerror(r));
	r = inject(sb, 3);
	if (r != -1 && r != EHOSTUNREACH)
		fact_fail("mark 3: %s", strerror(r));
	fact_ok();
}
