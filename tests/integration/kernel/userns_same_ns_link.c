/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who owns a netns, or is in the user namespace that owns it, may put a link
 * into it; a nested user namespace may not, even with every capability there.
 */
#include "tests/integration/kernel/fact.h"

int main(void)
{
	int sb, gw, r, status;
	pid_t pid;

	fact_name = "userns_same_ns_link";
	fact_need_commands();
	fact_enter(CLONE_NEWNET);
	gw = fact_netns();
	sb = fact_new_netns();

	fact_setns(sb);
	if (fact_sh("ip link add a0 type veth peer name a1 "
		    "netns /proc/%d/fd/%d",
		    (int)getpid(), gw) != 0)
		fact_fail("refused within one user namespace");
	fact_setns(gw);
	if (if_nametoindex("a1") == 0)
		fact_fail("a1 isn't where it was put");

	pid = fork();
	if (pid == 0) {
		fact_enter(CLONE_NEWNET);
		fact_run("ip link add c0 type veth peer name c1");
		r = fact_sh("ip link add b0 type veth peer name b1 "
			    "netns /proc/%d/fd/%d 2>/dev/null",
			    (int)getpid(), gw);
		r = r && fact_sh("ip link set c1 netns /proc/%d/fd/%d "
				 "2>/dev/null",
				 (int)getpid(), gw);
		_exit(r ? 0 : 1);
	}
	fact_need(waitpid(pid, &status, 0) == pid, "waitpid");
	if (status != 0 || if_nametoindex("b1") || if_nametoindex("c1"))
		fact_fail("a nested user namespace put a link there");
	fact_ok();
}
