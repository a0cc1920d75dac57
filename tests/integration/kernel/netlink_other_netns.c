/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A netlink socket that a thread made in another netns acts on that netns, when
 * the main thread, which never left its own, uses it.
 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <sys/ioctl.h>

#include "tests/integration/kernel/fact.h"

static int inside = -1, probe = -1;

static void *helper(void *arg)
{
	(void)arg;
	fact_need(unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
	inside = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return NULL;
}

static int flags_of_lo(int fd)
{
	struct ifreq ifr = { .ifr_name = "lo" };

	fact_need(ioctl(fd, SIOCGIFFLAGS, &ifr) == 0, "SIOCGIFFLAGS");
	return ifr.ifr_flags;
}

int main(void)
{
	struct {
		struct nlmsghdr nlh;
		struct ifinfomsg ifi;
	} req = {
		.nlh = { .nlmsg_len = sizeof(req),
			 .nlmsg_type = RTM_NEWLINK,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.ifi = { .ifi_index = 1,
			 .ifi_flags = IFF_UP,
			 .ifi_change = IFF_UP },
	};
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr e;
	} ack;
	pthread_t t;

	fact_name = "netlink_other_netns";
	fact_enter(0);
	fact_need(pthread_create(&t, NULL, helper, NULL) == 0 &&
			  pthread_join(t, NULL) == 0 && inside >= 0,
		  "thread");
	if (flags_of_lo(probe) & IFF_UP)
		fact_fail("lo of a new netns is up");
	fact_need(send(inside, &req, sizeof(req), 0) == sizeof(req), "send");
	fact_need(recv(inside, &ack, sizeof(ack), MSG_DONTWAIT) > 0, "recv");
	if (ack.e.error != 0)
		fact_fail("refused: %s", strerror(-ack.e.error));
	if (!(flags_of_lo(probe) & IFF_UP))
		fact_fail("lo of the other netns is still down");
	fact_ok();
}
