/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection with SO_LINGER(1, 0) ends with a reset when its process is
 * killed; without, with a clean end of file.
 */
#include <signal.h>

#include "tests/integration/kernel/fact.h"

/* What the client reads after the other end was killed: 0 or an errno. */
static int end_seen(bool linger)
{
	struct linger l = { .l_onoff = linger };
	int client, server, pipefd[2];
	char byte;
	ssize_t n;
	pid_t pid;

	fact_tcp_pair(&client, &server);
	fact_need(setsockopt(server, SOL_SOCKET, SO_LINGER, &l, sizeof(l)) == 0,
		  "SO_LINGER");
	fact_need(pipe2(pipefd, O_CLOEXEC) == 0, "pipe");
	pid = fork();
	if (pid == 0) {
		(void)close(client);
		(void)!write(pipefd[1], "x", 1);
		for (;;)
			(void)pause();
	}
	(void)close(server);
	fact_need(read(pipefd[0], &byte, 1) == 1, "child");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (!fact_readable(client))
		fact_fail("the connection stays open");
	n = read(client, &byte, 1);
	(void)close(client);
	return n < 0 ? errno : 0;
}

int main(void)
{
	int r;

	fact_name = "linger_reset_on_kill";
	fact_need_commands();
	fact_enter(CLONE_NEWNET);
	fact_run("ip link set lo up");
	r = end_seen(true);
	if (r != ECONNRESET)
		fact_fail("with linger: %s", r ? strerror(r) : "end of file");
	r = end_seen(false);
	if (r != 0)
		fact_fail("without: %s", strerror(r));
	fact_ok();
}
