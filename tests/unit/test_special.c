/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_special.c - special-purpose addresses, in both views */
#include <stdlib.h>

#include "policy/special.h"
#include "tests/unit/policy_tools.h"

static const struct {
	const char *addr, *name; /* NULL: public */
} cases[] = {
	{ "0.0.0.0", "this-network" },
	{ "0.255.255.255", "this-network" },
	{ "1.0.0.0", NULL },
	{ "9.255.255.255", NULL },
	{ "10.0.0.0", "private" },
	{ "10.255.255.255", "private" },
	{ "11.0.0.0", NULL },
	{ "100.63.255.255", NULL },
	{ "100.64.0.0", "shared" },
	{ "100.100.100.200", "metadata" },
	{ "100.127.255.255", "shared" },
	{ "100.128.0.0", NULL },
	{ "127.0.0.1", "loopback" },
	{ "127.255.255.255", "loopback" },
	{ "168.63.129.15", NULL },
	{ "168.63.129.16", "metadata" },
	{ "168.63.129.17", NULL },
	{ "169.253.255.255", NULL },
	{ "169.254.0.0", "link-local" },
	{ "169.254.169.254", "metadata" },
	{ "169.255.0.0", NULL },
	{ "172.15.255.255", NULL },
	{ "172.16.0.0", "private" },
	{ "172.31.255.255", "private" },
	{ "172.32.0.0", NULL },
	{ "192.0.0.0", "protocol-assignments" },
	{ "192.0.0.192", "protocol-assignments" },
	{ "192.0.1.0", NULL },
	{ "192.0.2.1", "documentation" },
	{ "192.0.3.0", NULL },
	{ "192.88.99.1", "6to4-relay" },
	{ "192.167.255.255", NULL },
	{ "192.168.0.0", "private" },
	{ "192.169.0.0", NULL },
	{ "198.17.255.255", NULL },
	{ "198.18.0.1", "benchmarking" },
	{ "198.19.255.255", "benchmarking" },
	{ "198.20.0.0", NULL },
	{ "198.51.100.7", "documentation" },
	{ "203.0.113.7", "documentation" },
	{ "203.0.114.0", NULL },
	{ "223.255.255.255", NULL },
	{ "224.0.0.1", "multicast" },
	{ "239.255.255.255", "multicast" },
	{ "240.0.0.0", "reserved" },
	{ "255.255.255.254", "reserved" },
	{ "255.255.255.255", "broadcast" },

	{ "::", "unspecified" },
	{ "::1", "loopback" },
	{ "::2", "ipv4-compatible" },
	{ "::8.8.8.8", "ipv4-compatible" },
	{ "::1:0:0:0", NULL },
	{ "::ffff:8.8.8.8", NULL },
	{ "::ffff:10.0.0.1", "private" },
	{ "::ffff:169.254.169.254", "metadata" },
	{ "::ffff:0:127.0.0.1", "ipv4-translated" },
	{ "64:ff9b::8.8.8.8", NULL },
	{ "64:ff9b::169.254.169.254", "metadata" },
	{ "64:ff9b::10.1.2.3", "private" },
	{ "64:ff9b:0:0:1::8.8.8.8", NULL },
	{ "64:ff9b:1::8.8.8.8", "local-nat64" },
	{ "64:ff9b:2::", NULL },
	{ "100::1", "discard" },
	{ "100:0:0:1::1", "dummy" },
	{ "100:0:0:2::1", NULL },
	{ "2000:ffff::1", NULL },
	{ "2001::1", "teredo" },
	{ "2001:0:102:304:0:ffff:fefd:fcfb", "teredo" },
	{ "2001:1::1", "protocol-assignments" },
	{ "2001:2::1", "benchmarking" },
	{ "2001:20::1", "protocol-assignments" },
	{ "2001:1ff:ffff::", "protocol-assignments" },
	{ "2001:200::1", NULL },
	{ "2001:db8::1", "documentation" },
	{ "2001:db9::1", NULL },
	{ "2002:a00:1::1", "private" },
	{ "2002:808:808::1", NULL },
	{ "2002:a9fe:a9fe::", "metadata" },
	{ "2a0e:b107::1", NULL },
	{ "3fff::1", "documentation" },
	{ "3fff:1000::1", NULL },
	{ "5f00::1", "segment-routing" },
	{ "fbff::1", NULL },
	{ "fc00::1", "private" },
	{ "fd00:ec2::254", "metadata" },
	{ "fdff::1", "private" },
	{ "fe00::1", NULL },
	{ "fe80::1", "link-local" },
	{ "febf::1", "link-local" },
	{ "fec0::1", "site-local" },
	{ "ff02::1", "multicast" },

	/* ISATAP, local and global; in a 6to4 prefix of a public address */
	{ "2a0e:b107::5efe:10.0.0.1", "private" },
	{ "2a0e:b107::200:5efe:10.0.0.1", "private" },
	{ "2a0e:b107::200:5efe:8.8.8.8", NULL },
	{ "2a0e:b107::100:5efe:10.0.0.1", NULL },
	{ "2002:808:808::5efe:127.0.0.1", "loopback" },
};

START_TEST(classify)
{
	struct addr a = addr_of(cases[_i].addr);
	const char *name = special_classify(&a);

	if (!cases[_i].name)
		ck_assert_msg(!name, "%s: %s", cases[_i].addr, name);
	else
		ck_assert_msg(name && strcmp(name, cases[_i].name) == 0,
			      "%s: %s", cases[_i].addr, name ? name : "public");
}
END_TEST

static bool in_prefixes(const struct addr *a)
{
	size_t n;
	const struct prefix *p = special_prefixes(a->family, &n);

	for (size_t i = 0; i < n; i++)
		if (prefix_contains(&p[i], a))
			return true;
	return false;
}

/* The one form that prefixes can't say. */
static bool is_isatap(const struct addr *a)
{
	return a->family == AF_INET6 && (a->bytes[8] & ~2) == 0 &&
	       a->bytes[9] == 0 && a->bytes[10] == 0x5e && a->bytes[11] == 0xfe;
}

static void compare(const struct addr *a)
{
	char text[ADDR_STR_LEN];

	if (!is_isatap(a))
		ck_assert_msg(!!special_classify(a) == in_prefixes(a), "%s",
			      addr_format(a, text));
}

START_TEST(prefixes_are_sorted)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	size_t n;
	const struct prefix *p = special_prefixes(families[_i], &n);

	ck_assert_uint_gt(n, 10);
	for (size_t i = 0; i < n; i++) {
		struct addr last = prefix_last(&p[i]);

		ck_assert_uint_eq(p[i].addr.family, families[_i]);
		ck_assert_msg(prefix_contains(&p[i], &p[i].addr), "%zu", i);
		if (i + 1 < n)
			ck_assert_msg(
				memcmp(last.bytes, p[i + 1].addr.bytes, 16) < 0,
				"%zu", i);
	}
}
END_TEST

static void step(struct addr *a, int by)
{
	for (size_t i = addr_len(a); i-- > 0;) {
		int sum = a->bytes[i] + by;

		a->bytes[i] = (uint8_t)sum;
		if (sum >= 0 && sum <= 255)
			return;
	}
}

START_TEST(views_agree_at_boundaries)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	size_t n;
	const struct prefix *p = special_prefixes(families[_i], &n);

	for (size_t i = 0; i < n; i++) {
		struct addr a = p[i].addr, last = prefix_last(&p[i]);

		compare(&a);
		compare(&last);
		step(&a, -1);
		step(&last, 1);
		compare(&a);
		compare(&last);
	}
}
END_TEST

/* Random addresses, most of them put near a range or into a form. */
START_TEST(views_agree_at_random)
{
	static const uint8_t heads[][12] = {
		{ [10] = 0xff, 0xff },
		{ 0, 0x64, 0xff, 0x9b },
		{ 0, 0x64, 0xff, 0x9b, 0, 1 },
		{ 0x20, 0x02 },
		{ 0x20, 0x01 },
		{ [8] = 0xff, 0xff },
		{ 0 },
	};
	unsigned int seed = 4711;
	size_t n;

	for (int i = 0; i < 300000; i++) {
		uint8_t b[16];
		struct addr a;

		for (size_t j = 0; j < sizeof(b); j++)
			b[j] = (uint8_t)(rand_r(&seed) >> 7);
		a = addr_from_bytes(b, i % 2 ? 4 : 16);
		if (i % 4 == 0)
			memcpy(a.bytes, heads[i / 4 % ARRAY_SIZE(heads)],
			       i % 8 ? 12 : 2);
		if (i % 3 == 0) {
			const struct prefix *p = special_prefixes(a.family, &n);

			memcpy(a.bytes, p[b[15] % n].addr.bytes,
			       1 + b[14] % addr_len(&a));
		}
		compare(&a);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("special");
	TCase *t = tcase_create("special");

	tcase_add_loop_test(t, classify, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(t, prefixes_are_sorted, 0, 2);
	tcase_add_loop_test(t, views_agree_at_boundaries, 0, 2);
	tcase_add_test(t, views_agree_at_random);
	suite_add_tcase(s, t);
	return run_suite(s);
}
