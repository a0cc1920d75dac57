/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel rate-limits its own ICMP refusals, unless icmp_ratemask is 0 and
 * the IPv6 icmp/ratemask is empty (a newline empties it, writing nothing
 * doesn't).
 */

#include "tests/integration/kernel/fact.h"

#define SENT 60

/* Datagrams to a refused port; how many refusals came back. */
static int refusals(int sb, int family)
{
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(9) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = fact_socket_in(sb, family, SOCK_DGRAM | SOCK_NONBLOCK);
	const struct sockaddr *sa = (void *)&to;
	socklen_t len = sizeof(to);
	int on = 1, n = 0;
	char buf[512];

	(void)inet_pton(AF_INET, "203.0.113.1", &to.sin_addr);
	(void)inet_pton(AF_INET6, "2a0e:b107::1", &to6.sin6_addr);
	if (family == AF_INET6) {
		sa = (void *)&to6;
		len = sizeof(to6);
	}
	fact_need(setsockopt(fd, family == AF_INET ? SOL_IP : SOL_IPV6,
			     family == AF_INET ? IP_RECVERR : IPV6_RECVERR, &on,
			     sizeof(on)) == 0,
		  "IP_RECVERR");
	for (int i = 0; i < SENT; i++)
		while (sendto(fd, "x", 1, 0, sa, len) < 0) {
			/* An error of an earlier one, told once. */
			if (errno != ECONNREFUSED)
				fact_fail("sendto: %s", strerror(errno));
		}
	for (struct msghdr m = { .msg_control = buf };; n++) {
		struct pollfd p = { .fd = fd };

		m.msg_controllen = sizeof(buf);
		if (recvmsg(fd, &m, MSG_ERRQUEUE) < 0 &&
		    (poll(&p, 1, 200) != 1 || !(p.revents & POLLERR)))
			break;
	}
	(void)close(fd);
	return n;
}

int main(void)
{
	int sb, own, n;

	fact_name = "icmp_ratemask";
	fact_need_commands();
	fact_enter(CLONE_NEWNET);
	sb = fact_lab();
	own = fact_netns();
	fact_run("ip addr add fd77::1/126 dev gw0 nodad;"
		 "ip -6 route add local default dev lo table main;"
		 "ip neigh replace fd77::2 lladdr 02:00:00:00:00:02 "
		 "nud permanent dev gw0");
	fact_setns(sb);
	fact_run("ip addr add fd77::2/126 dev eth0 nodad;"
		 "ip -6 route add default via fd77::1;"
		 "ip neigh replace fd77::1 lladdr 02:00:00:00:00:01 "
		 "nud permanent dev eth0");
	fact_setns(own);
	if (fact_sh("nft -f - 2>/dev/null <<'E'\n"
		    "table inet t {\n"
		    " chain p { type filter hook prerouting priority mangle; "
		    "policy accept;\n"
		    " meta l4proto udp reject with icmpx type "
		    "port-unreachable\n }\n}\nE") != 0)
		fact_skip("no reject in prerouting");

	fact_write("/proc/sys/net/ipv4/icmp_ratemask", "6168\n");
	n = refusals(sb, AF_INET);
	if (n >= SENT)
		fact_fail("no limit at all: %d of %d", n, SENT);
	fact_write("/proc/sys/net/ipv4/icmp_ratemask", "0\n");
	n = refusals(sb, AF_INET);
	if (n != SENT)
		fact_fail("IPv4 mask 0: %d of %d", n, SENT);
	fact_write("/proc/sys/net/ipv6/icmp/ratemask", "\n");
	n = refusals(sb, AF_INET6);
	if (n != SENT)
		fact_fail("IPv6 mask empty: %d of %d", n, SENT);
	fact_ok();
}
