/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TPROXY, and IP_TRANSPARENT, work in a netns of a user namespace. */
#include "tests/integration/kernel/fact.h"

int main(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(443) };
	socklen_t len = sizeof(to);
	int sb, listener, client, server;

	fact_name = "tproxy_userns";
	fact_need_commands();
	fact_enter(CLONE_NEWNET);
	sb = fact_lab();
	if (fact_sh("nft -f - 2>/dev/null <<'E'\n"
		    "table inet t {\n"
		    " chain p { type filter hook prerouting priority mangle; "
		    "policy drop;\n"
		    " meta l4proto tcp tproxy ip to :1 accept\n }\n}\nE") != 0)
		fact_skip("no nftables tproxy");
	listener = fact_listen(1);
	client = fact_socket_in(sb, AF_INET, SOCK_STREAM);
	(void)inet_pton(AF_INET, "203.0.113.1", &to.sin_addr);
	if (connect(client, (struct sockaddr *)&to, len) < 0)
		fact_fail("connect: %s", strerror(errno));
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	fact_need(server >= 0, "accept");
	memset(&to, 0, sizeof(to));
	(void)getsockname(server, (struct sockaddr *)&to, &len);
	if (ntohs(to.sin_port) != 443 ||
	    ntohl(to.sin_addr.s_addr) != 0xcb007101)
		fact_fail("the destination isn't kept: %s:%u",
			  inet_ntoa(to.sin_addr), ntohs(to.sin_port));
	fact_ok();
}
