/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * After unshare(CLONE_NEWUSER), a thread that left the host's netns can't come
 * back: its user namespace doesn't own that one.
 */
#include <pthread.h>

#include "tests/integration/kernel/fact.h"

static int result;

static void *helper(void *arg)
{
	int host = *(int *)arg;

	fact_need(unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
	result = setns(host, CLONE_NEWNET) < 0 ? errno : 0;
	return NULL;
}

int main(void)
{
	int host = fact_netns();
	pthread_t t;

	fact_name = "thread_cannot_return";
	fact_enter(0);
	fact_need(pthread_create(&t, NULL, helper, &host) == 0 &&
			  pthread_join(t, NULL) == 0,
		  "thread");
	if (result != EPERM)
		fact_fail("%s", result ? strerror(result) : "it did");
	fact_ok();
}
