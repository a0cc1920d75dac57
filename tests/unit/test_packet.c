/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_packet.c - logged packets, whole and cut at every length */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gateway/packet.h"

#define V4(ihl, frag_hi, frag_lo, proto)                       \
	0x40 | (ihl), 0, 0, 40,		    /* tos, length */  \
		0, 1, (frag_hi), (frag_lo), /* id, fragment */ \
		64, (proto), 0, 0,	    /* ttl, sum */     \
		10, 180, 0, 2, 11, 0, 2, 40 /* source, target */
#define V6_ADDRS                                                             \
	0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x2a, 0x0e, 0xb1, \
		7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9
#define V6(next) 0x60, 0, 0, 0, 0, 8, (next), 64, V6_ADDRS
#define PORTS	 0x9c, 0x40, 0x01, 0xbb /* 40000, 443 */

struct test {
	const char *what;
	uint8_t data[80];
	size_t len;
	size_t header; /* below it's cut; 0: never accepted */
	uint8_t proto;
	uint16_t src_port, dst_port;
};

static const struct test tests[] = {
	{ "tcp", { V4(5, 0, 0, 6), PORTS }, 24, 20, 6, 40000, 443 },
	{ "udp", { V4(5, 0x40, 0, 17), PORTS }, 24, 20, 17, 40000, 443 },
	{ "icmp has no ports",
	  { V4(5, 0, 0, 1), 8, 0, 1, 2 },
	  24,
	  20,
	  1,
	  0,
	  0 },
	{ "sctp isn't taken apart",
	  { V4(5, 0, 0, 132), PORTS },
	  24,
	  20,
	  132,
	  0,
	  0 },
	{ "options",
	  { V4(7, 0, 0, 6), 148, 4, 0, 0, 1, 1, 1, 0, PORTS },
	  32,
	  28,
	  6,
	  40000,
	  443 },
	{ "most options",
	  { V4(15, 0, 0, 6), [60] = 0x9c, 0x40, 0x01, 0xbb },
	  64,
	  60,
	  6,
	  40000,
	  443 },
	{ "first fragment",
	  { V4(5, 0x20, 0, 17), PORTS },
	  24,
	  20,
	  17,
	  40000,
	  443 },
	{ "later fragment", { V4(5, 0x20, 1, 17), PORTS }, 24, 20, 17, 0, 0 },
	{ "last fragment", { V4(5, 0x1f, 0xff, 6), PORTS }, 24, 20, 6, 0, 0 },
	{ "header too short", { V4(4, 0, 0, 6), PORTS }, 24, 0, 0, 0, 0 },
	{ "no header", { V4(0, 0, 0, 6), PORTS }, 24, 0, 0, 0, 0 },
	{ "version 5", { 0x55, [1] = 0 }, 40, 0, 0, 0, 0 },
	{ "version 0", { 0 }, 40, 0, 0, 0, 0 },
	{ "tcp6", { V6(6), PORTS }, 44, 40, 6, 40000, 443 },
	{ "udp6", { V6(17), PORTS }, 44, 40, 17, 40000, 443 },
	{ "icmp6", { V6(58), 128, 0, 1, 2 }, 44, 40, 58, 0, 0 },
	/* As the header says: what follows is not searched for TCP. */
	{ "fragment header",
	  { V6(44), 6, 0, 0, 0, 0, 0, 0, 1, PORTS },
	  52,
	  40,
	  44,
	  0,
	  0 },
	{ "hop-by-hop",
	  { V6(0), 6, 0, 1, 4, 0, 0, 0, 0, PORTS },
	  52,
	  40,
	  0,
	  0,
	  0 },
};

static void check_cut(const struct test *t, size_t len)
{
	/* Of just this size, for the sanitizers. */
	_cleanup_(freep) uint8_t *copy = malloc(len ? len : 1);
	struct packet p, untouched;
	bool ports = len >= t->header + 4;
	char text[ADDR_STR_LEN];

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, t->data, len);
	memset(&p, 0xa5, sizeof(p));
	untouched = p;
	if (!t->header || len < t->header) {
		ck_assert_int_eq(packet_parse(copy, len, &p), -EBADMSG);
		ck_assert_mem_eq(&p, &untouched, sizeof(p));
		return;
	}
	ck_assert_int_eq(packet_parse(copy, len, &p), 0);
	ck_assert_uint_eq(p.proto, t->proto);
	ck_assert_uint_eq(p.src.port, ports ? t->src_port : 0);
	ck_assert_uint_eq(p.dst.port, ports ? t->dst_port : 0);
	if (t->data[0] >> 4 == 4) {
		ck_assert_str_eq(addr_format(&p.src.addr, text), "10.180.0.2");
		ck_assert_str_eq(addr_format(&p.dst.addr, text), "11.0.2.40");
	} else {
		ck_assert_str_eq(addr_format(&p.src.addr, text), "fd00::2");
		ck_assert_str_eq(addr_format(&p.dst.addr, text),
				 "2a0e:b107::9");
	}
}

START_TEST(cut_at_every_length)
{
	for (size_t len = 0; len <= tests[_i].len; len++)
		check_cut(&tests[_i], len);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("packet");
	TCase *tc = tcase_create("packet");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_loop_test(tc, cut_at_every_length, 0, ARRAY_SIZE(tests));
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
