/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PR_SET_PDEATHSIG isn't inherited over fork(2) and is cleared by a change of
 * uid; execve(2) of an ordinary program and unshare(CLONE_NEWUSER) keep it.
 */
#include <signal.h>

#include "tests/integration/kernel/fact.h"

static int pdeathsig(void)
{
	int sig = -1;

	fact_need(prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0) == 0,
		  "PR_GET_PDEATHSIG");
	return sig;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	fact_name = "pdeathsig_cleared";
	if (argc > 1) {
		if (pdeathsig() != SIGKILL)
			fact_fail("cleared by execve()");
		fact_ok();
	}
	fact_need(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0,
		  "PR_SET_PDEATHSIG");
	pid = fork();
	if (pid == 0)
		_exit(pdeathsig() == 0 ? 0 : 1);
	fact_need(waitpid(pid, &status, 0) == pid, "waitpid");
	if (status != 0)
		fact_fail("inherited over fork()");

	if (geteuid() == 0) {
		fact_be_plain();
		if (pdeathsig() != 0)
			fact_fail("kept over a change of uid");
		fact_need(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0,
			  "PR_SET_PDEATHSIG");
	}
	fact_enter(0);
	if (pdeathsig() != SIGKILL)
		fact_fail("cleared by unshare(CLONE_NEWUSER)");
	(void)execl("/proc/self/exe", argv[0], "again", (char *)NULL);
	fact_fail("execl: %s", strerror(errno));
}
