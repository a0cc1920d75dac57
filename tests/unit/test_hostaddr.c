/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_hostaddr.c - the table follows the kernel's, through losses too */
#include <fcntl.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "netns/hostaddr.h"

#include "tests/unit/userns.h"

#define WAIT_MS 5000
/* Enough to overrun the default receive buffer (about 270 messages). */
#define MANY 1500

struct lab {
	struct loop *loop;
	struct hostaddr *h;
	unsigned int changes;
};

static void on_changed(void *ctx)
{
	struct lab *lab = ctx;

	lab->changes++;
}

static bool lab_start(struct lab *lab)
{
	struct err err = { .code = 0 };

	*lab = (struct lab){ .loop = NULL };
	if (!userns_enter(CLONE_NEWNET, true))
		return false;
	ck_assert_int_eq(
		userns_sh("ip link set lo up && "
			  "ip link add name va type veth peer name vb && "
			  "ip link set va up && ip link set vb up"),
		0);
	ck_assert_int_eq(loop_new(&lab->loop, &err), 0);
	ck_assert_msg(hostaddr_new(&lab->h, lab->loop, on_changed, lab, &err) ==
			      0,
		      "%s", err.msg);
	return true;
}

static void lab_end(struct lab *lab)
{
	hostaddr_freep(&lab->h);
	loop_freep(&lab->loop);
}

static bool is_own(const struct lab *lab, const char *text)
{
	struct addr a;

	ck_assert_int_eq(addr_parse(text, &a), 0);
	return hostaddr_is_own(lab->h, &a);
}

static void turn_until_own(struct lab *lab, const char *text, bool want)
{
	for (int i = 0; i < 50 && is_own(lab, text) != want; i++)
		ck_assert_int_ge(loop_run_once(lab->loop, WAIT_MS / 10), 0);
	ck_assert_int_eq(is_own(lab, text), want);
}

static void turn_until_ipv6(struct lab *lab, bool want)
{
	for (int i = 0; i < 50 && hostaddr_has_ipv6(lab->h) != want; i++)
		ck_assert_int_ge(loop_run_once(lab->loop, WAIT_MS / 10), 0);
	ck_assert_int_eq(hostaddr_has_ipv6(lab->h), want);
}

START_TEST(first_dump)
{
	struct lab lab;
	size_t n;

	if (!lab_start(&lab))
		return;
	ck_assert(is_own(&lab, "127.0.0.1"));
	ck_assert(is_own(&lab, "::1"));
	ck_assert(!is_own(&lab, "127.0.0.2"));
	ck_assert(!is_own(&lab, "192.0.2.1"));
	ck_assert_ptr_nonnull(hostaddr_list(lab.h, &n));
	ck_assert_uint_ge(n, 2);
	/* ::1 has a route, and fe80::/64 on two links: none leads out. */
	ck_assert(!hostaddr_has_ipv6(lab.h));
	ck_assert_uint_eq(lab.changes, 0);
	lab_end(&lab);
}
END_TEST

START_TEST(addresses_come_and_go)
{
	static const char *const own[] = { "203.0.113.7", "2a0e:b107::7" };
	struct lab lab;

	if (!lab_start(&lab))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		ck_assert_int_eq(userns_sh("ip addr add %s dev va", own[i]), 0);
		turn_until_own(&lab, own[i], true);
		ck_assert_uint_gt(lab.changes, 0);
		ck_assert_int_eq(userns_sh("ip addr del %s/%d dev va", own[i],
					   i ? 128 : 32),
				 0);
		turn_until_own(&lab, own[i], false);
	}
	/* The other end of a point-to-point address isn't ours. */
	ck_assert_int_eq(
		userns_sh("ip addr add 192.0.2.1 peer 192.0.2.2 dev va"), 0);
	turn_until_own(&lab, "192.0.2.1", true);
	ck_assert(!is_own(&lab, "192.0.2.2"));
	lab_end(&lab);
}
END_TEST

START_TEST(twice_is_once_more)
{
	size_t before, after;
	struct lab lab;

	if (!lab_start(&lab))
		return;
	(void)hostaddr_list(lab.h, &before);
	ck_assert_int_eq(userns_sh("ip addr add 203.0.113.7/32 dev va && "
				   "ip addr add 203.0.113.7/32 dev vb && "
				   "ip addr add 203.0.113.7/24 dev va"),
			 0);
	turn_until_own(&lab, "203.0.113.7", true);
	ck_assert_int_eq(userns_sh("ip addr del 203.0.113.7/32 dev va && "
				   "ip addr add 203.0.113.8/32 dev va"),
			 0);
	turn_until_own(&lab, "203.0.113.8", true);
	ck_assert(is_own(&lab, "203.0.113.7"));
	(void)hostaddr_list(lab.h, &after);
	ck_assert_uint_eq(after, before + 2);
	ck_assert_int_eq(userns_sh("ip addr del 203.0.113.7/32 dev vb && "
				   "ip addr del 203.0.113.7/24 dev va"),
			 0);
	turn_until_own(&lab, "203.0.113.7", false);
	lab_end(&lab);
}
END_TEST

START_TEST(lost_notifications)
{
	char *text = malloc(MANY * 64);
	size_t at = 0, n;
	struct lab lab;
	FILE *f;

	ck_assert_ptr_nonnull(text);
	if (!lab_start(&lab))
		return;
	for (int i = 0; i < MANY; i++)
		at += (size_t)sprintf(text + at, "addr add 11.%d.%d.1 dev va\n",
				      i / 250, i % 250);
	f = popen("ip -batch -", "we");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, at, f), at);
	ck_assert_int_eq(pclose(f), 0);
	turn_until_own(&lab, "11.5.249.1", true);
	turn_until_own(&lab, "11.0.0.1", true);
	turn_until_own(&lab, "11.3.100.1", true);
	(void)hostaddr_list(lab.h, &n);
	ck_assert_uint_ge(n, MANY);

	ck_assert_int_eq(userns_sh("ip link del va"), 0);
	turn_until_own(&lab, "11.5.249.1", false);
	turn_until_own(&lab, "11.0.0.1", false);
	ck_assert(is_own(&lab, "127.0.0.1"));
	free(text);
	lab_end(&lab);
}
END_TEST

/* A route to a network of IPv6 decides; not a refused or a local one. */
START_TEST(ipv6_route)
{
	struct lab lab;

	if (!lab_start(&lab))
		return;
	ck_assert_int_eq(userns_sh("ip -6 route add unreachable default && "
				   "ip -6 route add blackhole 2a0e:b107::/32"
				   " && ip addr add 192.0.2.9 dev va"),
			 0);
	turn_until_own(&lab, "192.0.2.9", true);
	ck_assert(!hostaddr_has_ipv6(lab.h));

	lab.changes = 0;
	ck_assert_int_eq(
		userns_sh(
			"ip -6 route add default via fe80::1 dev va metric 5"),
		0);
	turn_until_ipv6(&lab, true);
	ck_assert_uint_gt(lab.changes, 0);
	ck_assert_int_eq(userns_sh("ip -6 route del default dev va"), 0);
	turn_until_ipv6(&lab, false);
	lab_end(&lab);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hostaddr");
	TCase *tc = tcase_create("kernel");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, first_dump);
	tcase_add_test(tc, addresses_come_and_go);
	tcase_add_test(tc, twice_is_once_more);
	tcase_add_test(tc, lost_notifications);
	tcase_add_test(tc, ipv6_route);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
