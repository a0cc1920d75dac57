/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * splice(2) from a TCP socket says 0 after a FIN, when all data has come, and
 * ECONNRESET after a reset; the other direction goes on after the FIN.
 */
#include "tests/integration/kernel/fact.h"

int main(void)
{
	struct linger reset = { .l_onoff = 1 };
	int client, server, p[2];
	char buf[8];
	ssize_t n;

	fact_name = "splice_halfclose";
	fact_need_commands();
	fact_enter(CLONE_NEWNET);
	fact_run("ip link set lo up");
	fact_need(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0, "pipe");

	fact_tcp_pair(&client, &server);
	fact_need(send(client, "abc", 3, 0) == 3, "send");
	fact_need(shutdown(client, SHUT_WR) == 0, "shutdown");
	n = splice(server, NULL, p[1], NULL, 65536, SPLICE_F_MOVE);
	if (n != 3)
		fact_fail("data before the FIN: %zd", n);
	n = splice(server, NULL, p[1], NULL, 65536, SPLICE_F_NONBLOCK);
	if (n != 0)
		fact_fail("after the FIN: %zd", n);
	n = splice(p[0], NULL, server, NULL, 3, SPLICE_F_MOVE);
	if (n != 3 || recv(client, buf, 8, 0) != 3)
		fact_fail("the other direction: %zd", n);
	(void)close(client);
	(void)close(server);

	fact_tcp_pair(&client, &server);
	(void)setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	(void)close(client);
	(void)fact_readable(server);
	n = splice(server, NULL, p[1], NULL, 65536, SPLICE_F_NONBLOCK);
	if (n >= 0 || errno != ECONNRESET)
		fact_fail("after a reset: %zd, %s", n, strerror(errno));
	fact_ok();
}
