/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_relay_syn.c - reading a SYN and building one
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "relay/syn.h"

#define ETH_LEN 14U

/* A SYN as Linux sends it, checksums unfinished as in a log. */
static const uint8_t linux4[] = {
	0x45, 0x00, 0x00, 0x3c, /* version, header 20; length 60 */
	0x1c, 0x46, 0x40, 0x00, /* id; don't fragment */
	0x40, 0x06, 0x00, 0x00, /* ttl 64, TCP, checksum */
	198,  18,   0,	  2,	/* from */
	11,   0,    0,	  5,	/* to */
	0x9c, 0x40, 0x01, 0xbb, /* 40000 -> 443 */
	0x01, 0x02, 0x03, 0x04, /* ISN */
	0x00, 0x00, 0x00, 0x00, /* acknowledgement */
	0xa0, 0x02, 0xfa, 0xf0, /* header 40, SYN, window 64240 */
	0xab, 0xcd, 0x00, 0x00, /* checksum, urgent */
	0x02, 0x04, 0xff, 0xc8, /* MSS 65480 */
	0x04, 0x02,		/* SACK permitted */
	0x08, 0x0a, 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0, /* timestamps */
	0x01, 0x03, 0x03, 0x0a, /* NOP, window scale 10 */
};

static const uint8_t linux6[] = {
	0x60, 0x01, 0x23, 0x45, /* version, flow label */
	0x00, 0x28, 0x06, 0x40, /* 40 bytes of TCP, hop limit 64 */
	0xfd, 0x77, 0,	  0,	0,    0,    0,	  0,	0,    0,
	0,    0,    0,	  0,	0,    2,    0x2a, 0x0e, 0xb1, 0x07,
	0,    0,    0,	  0,	0,    0,    0,	  0,	0,    0,
	0,    5,    0x9c, 0x40, 0x01, 0xbb, /* as above from here on */
	0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00, 0xa0, 0x02,
	0xfa, 0xf0, 0xab, 0xcd, 0x00, 0x00, 0x02, 0x04, 0xff, 0xc8,
	0x04, 0x02, 0x08, 0x0a, 0x11, 0x22, 0x33, 0x44, 0,    0,
	0,    0,    0x01, 0x03, 0x03, 0x0a,
};

static const uint8_t src_mac[6] = { 2, 0x65, 0x67, 0x72, 0, 3 };
static const uint8_t dst_mac[6] = { 2, 0x65, 0x67, 0x72, 0, 4 };

static void assert_linux(const struct syn *s)
{
	ck_assert_uint_eq(s->key.src.port, 40000);
	ck_assert_uint_eq(s->key.dst.port, 443);
	ck_assert_uint_eq(s->isn, 0x01020304);
	ck_assert_uint_eq(s->window, 64240);
	ck_assert_uint_eq(s->options, SYN_OPT_MSS | SYN_OPT_SACK |
					      SYN_OPT_STAMP | SYN_OPT_WSCALE);
	ck_assert_uint_eq(s->mss, 65480);
	ck_assert_uint_eq(s->tsval, 0x11223344);
	ck_assert_uint_eq(s->wscale, 10);
}

START_TEST(reads_both_families)
{
	char text[ENDPOINT_STR_LEN];
	struct syn s;

	ck_assert_int_eq(syn_parse(linux4, sizeof(linux4), &s), 0);
	assert_linux(&s);
	ck_assert_str_eq(endpoint_format(&s.key.src, text), "198.18.0.2:40000");
	ck_assert_str_eq(endpoint_format(&s.key.dst, text), "11.0.0.5:443");
	ck_assert_int_eq(syn_parse(linux6, sizeof(linux6), &s), 0);
	assert_linux(&s);
	ck_assert_str_eq(endpoint_format(&s.key.src, text), "[fd77::2]:40000");
	ck_assert_str_eq(endpoint_format(&s.key.dst, text),
			 "[2a0e:b107::5]:443");
}
END_TEST

/* One change to linux4 or linux6 and what becomes of it. */
static const struct {
	const char *name;
	bool is_ip6;
	size_t at;
	uint8_t byte;
	int result;
} changes[] = {
	{ "unchanged", false, 0, 0x45, 0 },
	{ "version 5", false, 0, 0x55, -EBADMSG },
	{ "version 0", false, 0, 0x05, -EBADMSG },
	{ "IP options", false, 0, 0x46, -EBADMSG },
	{ "IP header too short", false, 0, 0x44, -EBADMSG },
	{ "total beyond the data", false, 3, 0x3d, -EBADMSG },
	{ "total within the options", false, 3, 0x3b, -EBADMSG },
	{ "total within the TCP header", false, 3, 39, -EBADMSG },
	{ "total within the IP header", false, 3, 19, -EBADMSG },
	{ "more fragments", false, 6, 0x20, -EBADMSG },
	{ "fragment offset", false, 7, 0x01, -EBADMSG },
	{ "fragments allowed", false, 6, 0x00, 0 },
	{ "UDP", false, 9, 17, -EBADMSG },
	{ "source port 64", false, 20, 0x00, 0 },
	{ "no SYN", false, 33, 0x00, -EBADMSG },
	{ "SYN ACK", false, 33, 0x12, -EBADMSG },
	{ "SYN FIN", false, 33, 0x03, -EBADMSG },
	{ "SYN RST", false, 33, 0x06, -EBADMSG },
	{ "SYN PSH", false, 33, 0x0a, -EBADMSG },
	{ "SYN URG", false, 33, 0x22, -EBADMSG },
	{ "SYN offering ECN", false, 33, 0xc2, 0 },
	{ "data offset 4", false, 32, 0x40, -EBADMSG },
	{ "data offset 15", false, 32, 0xf0, -EBADMSG },
	{ "no options, the rest is data", false, 32, 0x50, 0 },
	{ "MSS of length 3", false, 41, 3, -EBADMSG },
	{ "MSS of length 0", false, 41, 0, -EBADMSG },
	{ "MSS of length 1", false, 41, 1, -EBADMSG },
	{ "MSS longer than the header", false, 41, 21, -EBADMSG },
	{ "SACK of length 3", false, 45, 3, -EBADMSG },
	{ "unknown option 5 of length 2", false, 44, 5, 0 },
	{ "unknown option 254 of length 2", false, 44, 254, 0 },
	{ "unknown option over the next", false, 40, 99, 0 },
	{ "end of options, rubbish behind", false, 40, 0, 0 },
	{ "window scale twice", false, 44, 3, -EBADMSG },
	{ "IPv6 in an IPv4 version", true, 0, 0x40, -EBADMSG },
	{ "payload beyond the data", true, 5, 0x29, -EBADMSG },
	{ "payload within the options", true, 5, 0x27, -EBADMSG },
	{ "payload within the TCP header", true, 5, 19, -EBADMSG },
	{ "payload empty", true, 5, 0, -EBADMSG },
	{ "hop-by-hop header", true, 6, 0, -EBADMSG },
	{ "fragment header", true, 6, 44, -EBADMSG },
	{ "UDP over IPv6", true, 6, 17, -EBADMSG },
	{ "IPv6 unchanged", true, 0, 0x60, 0 },
};

START_TEST(one_byte_changed)
{
	uint8_t packet[sizeof(linux6)];
	size_t len = changes[_i].is_ip6 ? sizeof(linux6) : sizeof(linux4);
	struct syn s = { .isn = 7 };
	int r;

	memcpy(packet, changes[_i].is_ip6 ? linux6 : linux4, len);
	packet[changes[_i].at] = changes[_i].byte;
	r = syn_parse(packet, len, &s);
	ck_assert_msg(r == changes[_i].result, "%s: %d", changes[_i].name, r);
	if (r < 0)
		ck_assert_uint_eq(s.isn, 7);
}
END_TEST

START_TEST(port_zero_is_refused)
{
	uint8_t packet[sizeof(linux4)];
	struct syn s;

	memcpy(packet, linux4, sizeof(packet));
	packet[20] = packet[21] = 0;
	ck_assert_int_eq(syn_parse(packet, sizeof(packet), &s), -EBADMSG);
	memcpy(packet, linux4, sizeof(packet));
	packet[22] = packet[23] = 0;
	ck_assert_int_eq(syn_parse(packet, sizeof(packet), &s), -EBADMSG);
}
END_TEST

/* Every length, each in a block of its own so that a reader beyond is seen. */
START_TEST(cut_anywhere_is_refused)
{
	const uint8_t *whole = _i ? linux6 : linux4;
	size_t len = _i ? sizeof(linux6) : sizeof(linux4);
	struct syn s;

	for (size_t cut = 0; cut < len; cut++) {
		_cleanup_(freep) uint8_t *packet = malloc(cut ? cut : 1);

		ck_assert_ptr_nonnull(packet);
		memcpy(packet, whole, cut);
		ck_assert_int_eq(syn_parse(packet, cut, &s), -EBADMSG);
	}
}
END_TEST

START_TEST(data_in_a_syn_is_left_out)
{
	uint8_t packet[sizeof(linux4) + 100] = { 0 };
	uint8_t frame[SYN_FRAME_MAX];
	struct syn s;

	memcpy(packet, linux4, sizeof(linux4));
	packet[3] = sizeof(packet);
	ck_assert_int_eq(syn_parse(packet, sizeof(packet), &s), 0);
	assert_linux(&s);
	ck_assert_uint_eq(syn_build(&s, src_mac, dst_mac, frame),
			  ETH_LEN + sizeof(linux4));
	/* Trailing bytes that aren't of the packet don't count either. */
	packet[3] = sizeof(linux4);
	ck_assert_int_eq(syn_parse(packet, sizeof(packet), &s), 0);
}
END_TEST

START_TEST(scale_is_cut)
{
	uint8_t packet[sizeof(linux4)];
	struct syn s;

	memcpy(packet, linux4, sizeof(packet));
	packet[59] = 255;
	ck_assert_int_eq(syn_parse(packet, sizeof(packet), &s), 0);
	ck_assert_uint_eq(s.wscale, 14);
}
END_TEST

/* Straight from RFC 1071, and not the code's own. */
static uint16_t checksum(const uint8_t *a, size_t a_len, const uint8_t *b,
			 size_t b_len, uint32_t sum)
{
	for (size_t i = 0; i < a_len; i += 2)
		sum += (uint32_t)a[i] * 256 + a[i + 1];
	for (size_t i = 0; i < b_len; i += 2)
		sum += (uint32_t)b[i] * 256 + b[i + 1];
	sum = sum % 65535;
	return (uint16_t)(sum == 0 ? 65535 : sum);
}

START_TEST(frame_is_right)
{
	const uint8_t *whole = _i ? linux6 : linux4;
	size_t len = _i ? sizeof(linux6) : sizeof(linux4);
	uint8_t frame[SYN_FRAME_MAX];
	const uint8_t *ip = frame + ETH_LEN;
	const uint8_t *tcp = ip + (_i ? 40 : 20);
	struct syn s;

	ck_assert_int_eq(syn_parse(whole, len, &s), 0);
	ck_assert_uint_eq(syn_build(&s, src_mac, dst_mac, frame),
			  ETH_LEN + len);
	ck_assert_mem_eq(frame, dst_mac, 6);
	ck_assert_mem_eq(frame + 6, src_mac, 6);
	ck_assert_uint_eq(frame[12] * 256U + frame[13], _i ? 0x86dd : 0x0800);
	if (!_i)
		ck_assert_uint_eq(checksum(ip, 20, NULL, 0, 0), 65535);
	ck_assert_uint_eq(
		checksum(_i ? ip + 8 : ip + 12, _i ? 32 : 8, tcp, 40, 6 + 40),
		65535);
	/* But for the checksums it is the packet of the same kernel. */
	ck_assert_mem_eq(tcp, whole + len - 40, 16);
	ck_assert_mem_eq(tcp + 18, whole + len - 22, 22);
}
END_TEST

/* All sixteen sets of options come back, with right checksums. */
START_TEST(options_survive)
{
	uint8_t frame[SYN_FRAME_MAX];
	struct syn s, back;
	size_t len;

	ck_assert_int_eq(syn_parse(linux4, sizeof(linux4), &s), 0);
	s.options = (uint8_t)_i;
	len = syn_build(&s, src_mac, dst_mac, frame);
	ck_assert_uint_le(len, SYN_FRAME_MAX);
	ck_assert_uint_eq(checksum(frame + 26, 8, frame + 34, len - 34,
				   6 + (uint32_t)len - 34),
			  65535);
	ck_assert_int_eq(syn_parse(frame + ETH_LEN, len - ETH_LEN, &back), 0);
	ck_assert_uint_eq(back.options, s.options);
	ck_assert_uint_eq(back.mss, _i & SYN_OPT_MSS ? s.mss : 0);
	ck_assert_uint_eq(back.tsval, _i & SYN_OPT_STAMP ? s.tsval : 0);
	ck_assert_uint_eq(back.wscale, _i & SYN_OPT_WSCALE ? s.wscale : 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relay_syn");
	TCase *tc = tcase_create("syn");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, reads_both_families);
	tcase_add_loop_test(tc, one_byte_changed, 0, ARRAY_SIZE(changes));
	tcase_add_test(tc, port_zero_is_refused);
	tcase_add_loop_test(tc, cut_anywhere_is_refused, 0, 2);
	tcase_add_test(tc, data_in_a_syn_is_left_out);
	tcase_add_test(tc, scale_is_cut);
	tcase_add_loop_test(tc, frame_is_right, 0, 2);
	tcase_add_loop_test(tc, options_survive, 0, 16);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
