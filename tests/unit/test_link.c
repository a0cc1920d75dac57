/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_link.c - the pairs as the kernel has them, and what goes over them */
#include <fcntl.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "tests/unit/gwlab.h"

#define WAIT_MS 5000

struct expect_link {
	const char *ifname;
	uint8_t mac[6];
};

static int check_link(void *arg, struct err *err)
{
	const struct expect_link *want = arg;
	_cleanup_(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq ifr = { .ifr_ifru.ifru_flags = 0 };

	(void)snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", want->ifname);
	if (ioctl(fd, SIOCGIFHWADDR, &ifr) < 0)
		return err_set_errno(err, -errno, "no %s", want->ifname);
	if (memcmp(ifr.ifr_hwaddr.sa_data, want->mac, sizeof(want->mac)) != 0)
		return err_set(err, -EIO, "wrong MAC of %s", want->ifname);
	if (ioctl(fd, SIOCGIFMTU, &ifr) < 0 || ifr.ifr_mtu != LAYOUT_MTU)
		return err_set(err, -EIO, "wrong MTU of %s", want->ifname);
	if (ioctl(fd, SIOCGIFFLAGS, &ifr) < 0 || !(ifr.ifr_flags & IFF_UP))
		return err_set(err, -EIO, "%s is down", want->ifname);
	return link_wait_running(want->ifname, err);
}

START_TEST(links_have_our_shape)
{
	static struct expect_link gw[] = {
		{ LAYOUT_GW_IFNAME, LAYOUT_GW_MAC },
		{ LAYOUT_INJ_TX_IFNAME, LAYOUT_INJ_TX_MAC },
		{ LAYOUT_INJ_RX_IFNAME, LAYOUT_INJ_RX_MAC },
	};
	static struct expect_link sb = { LAYOUT_SB_IFNAME, LAYOUT_SB_MAC };
	struct gwlab lab;

	if (!gwlab_start(&lab))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(gw); i++)
		gwlab_call(lab.gw, check_link, &gw[i]);
	gwlab_call(lab.sb, check_link, &sb);
	gwlab_end(&lab);
}
END_TEST

/* Only our addresses, none tentative: no fe80::, no DAD, no autoconf. */
static int check_ipv6(void *arg, struct err *err)
{
	FILE *f = fopen("/proc/thread-self/net/if_inet6", "re");
	unsigned int index, plen, scope, flags;
	char addr[33], ifname[17];
	int n = 0;

	(void)arg;
	if (!f)
		return 0; /* no IPv6 here */
	while (fscanf(f, "%32s %x %x %x %x %16s", addr, &index, &plen, &scope,
		      &flags, ifname) == 6) {
		if (strcmp(ifname, "lo") == 0)
			continue;
		n++;
		if (strncmp(addr, "fd77", 4) != 0 || (flags & 0x40))
			n = 100;
	}
	(void)fclose(f);
	return n == 1 ? 0 : err_set(err, -EIO, "%d odd IPv6 addresses", n);
}

START_TEST(no_generated_addresses)
{
	struct gwlab lab;

	if (!gwlab_start(&lab))
		return;
	gwlab_call(lab.gw, check_ipv6, NULL);
	gwlab_call(lab.sb, check_ipv6, NULL);
	gwlab_end(&lab);
}
END_TEST

static void wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	ck_assert_int_eq(poll(&p, 1, WAIT_MS), 1);
}

/* A connection to any address ends in the gateway netns. */
static void connect_to(const struct gwlab *lab, const char *dst)
{
	struct sockaddr_storage to, any, got;
	socklen_t len = gwlab_addr(&to, dst, 4711);
	_cleanup_(fd_closep) int listener = -1;
	_cleanup_(fd_closep) int client = -1;
	_cleanup_(fd_closep) int server = -1;
	char text[INET6_ADDRSTRLEN];
	socklen_t got_len = sizeof(got);
	const int on = 1;

	listener = gwlab_open(lab->gw, to.ss_family, SOCK_STREAM);
	(void)gwlab_addr(&any,
			 to.ss_family == AF_INET ? "0.0.0.0" : "::", 4711);
	ck_assert_int_eq(
		setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)),
		0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&any, len), 0);
	ck_assert_int_eq(listen(listener, 5), 0);
	client = gwlab_open(lab->sb, to.ss_family, SOCK_STREAM);
	ck_assert_int_eq(connect(client, (struct sockaddr *)&to, len), 0);

	server = accept(listener, (struct sockaddr *)&got, &got_len);
	ck_assert_int_ge(server, 0);
	gwlab_text(&got, text);
	ck_assert_str_eq(text, to.ss_family == AF_INET ? LAYOUT_SB_ADDR4
						       : LAYOUT_SB_ADDR6);
	got_len = sizeof(got);
	ck_assert_int_eq(getsockname(server, (struct sockaddr *)&got, &got_len),
			 0);
	gwlab_text(&got, text);
	ck_assert_str_eq(text, dst);
}

START_TEST(any_address_ends_in_the_gateway)
{
	static const char *const dst[] = {
		"203.0.113.5",	   "8.8.8.8",	    LAYOUT_GW_ADDR4,
		LAYOUT_HOST_ADDR4, "10.1.2.3",	    "169.254.169.254",
		"2a0e:b107::40",   LAYOUT_GW_ADDR6, "fd00::7",
	};
	struct gwlab lab;

	if (!gwlab_start(&lab))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(dst); i++)
		connect_to(&lab, dst[i]);
	gwlab_end(&lab);
}
END_TEST

/* With IPv6 switched off in new namespaces, IPv4 works. */
START_TEST(without_ipv6)
{
	static char off[] = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6;"
			    "echo 1 > "
			    "/proc/sys/net/ipv6/conf/default/disable_ipv6";
	struct err err = { .code = 0 };
	struct gwlab lab;

	if (!userns_enter(0, false))
		return;
	ck_assert_msg(nsthread_new(&lab.gw, -1, &err) == 0, "%s", err.msg);
	ck_assert_msg(nsthread_new(&lab.sb, -1, &err) == 0, "%s", err.msg);
	gwlab_call(lab.gw, gwlab_sh, off);
	gwlab_call(lab.sb, gwlab_sh, off);
	gwlab_call(lab.gw, gwlab_pair, &lab);
	gwlab_call(lab.gw, gwlab_setup_gw, NULL);
	gwlab_call(lab.sb, gwlab_setup_sb, NULL);
	gwlab_call(lab.gw, gwlab_wait, (char[]){ LAYOUT_GW_IFNAME });
	connect_to(&lab, "203.0.113.5");
	gwlab_end(&lab);
}
END_TEST

START_TEST(a_second_pair_is_refused)
{
	struct err err = { .code = 0 };
	struct gwlab lab;

	if (!gwlab_start(&lab))
		return;
	ck_assert_int_eq(nsthread_call(lab.gw, gwlab_pair, &lab, &err),
			 -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.msg, LAYOUT_GW_IFNAME));
	gwlab_end(&lab);
}
END_TEST

START_TEST(missing_link_is_explained)
{
	struct err err = { .code = 0 };

	ck_assert_int_eq(link_wait_running("none0", &err), -ENODEV);
	ck_assert_ptr_nonnull(strstr(err.msg, "none0"));
	if (!userns_enter(CLONE_NEWNET, true))
		return;
	ck_assert_int_eq(link_setup_gateway(&err), -ENODEV);
	ck_assert_ptr_nonnull(strstr(err.msg, LAYOUT_GW_IFNAME));
}
END_TEST

static int open_watch(void *arg, struct err *err)
{
	int r = link_open_watch(err);

	*(int *)arg = r;
	return r;
}

START_TEST(deletion_is_noticed)
{
	_cleanup_(fd_closep) int fd = -1;
	struct gwlab lab;

	if (!gwlab_start(&lab))
		return;
	gwlab_call(lab.gw, open_watch, &fd);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	ck_assert_int_eq(link_watch_read(fd), 0);
	/* The noise of another link is none. */
	gwlab_call(lab.gw, gwlab_sh, (char[]){ "ip link del inj0" });
	ck_assert_int_eq(link_watch_read(fd), 0);
	gwlab_call(lab.sb, gwlab_sh, (char[]){ "ip link del eth0" });
	wait_readable(fd);
	ck_assert_int_eq(link_watch_read(fd), 1);
	gwlab_end(&lab);
}
END_TEST

START_TEST(lost_notifications_are_looked_up)
{
	_cleanup_(fd_closep) int fd = -1;
	struct gwlab lab;
	int small = 1;

	if (!gwlab_start(&lab))
		return;
	gwlab_call(lab.gw, open_watch, &fd);
	ck_assert_int_eq(
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)),
		0);
	gwlab_call(lab.gw, gwlab_sh,
		   (char[]){ "for i in 1 2 3 4 5 6 7 8; do "
			     "ip link set gw0 alias x$i; done" });
	ck_assert_int_eq(link_watch_read(fd), 0);
	ck_assert_int_eq(link_watch_read(fd), 0);

	gwlab_call(lab.gw, gwlab_sh,
		   (char[]){ "for i in 1 2 3 4 5 6 7 8; do "
			     "ip link set gw0 alias x$i; done;"
			     "ip link del gw0" });
	wait_readable(fd);
	ck_assert_int_eq(link_watch_read(fd), 1);
	gwlab_end(&lab);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("link");
	TCase *tc = tcase_create("kernel");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, links_have_our_shape);
	tcase_add_test(tc, no_generated_addresses);
	tcase_add_test(tc, any_address_ends_in_the_gateway);
	tcase_add_test(tc, without_ipv6);
	tcase_add_test(tc, a_second_pair_is_refused);
	tcase_add_test(tc, missing_link_is_explained);
	tcase_add_test(tc, deletion_is_noticed);
	tcase_add_test(tc, lost_notifications_are_looked_up);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
