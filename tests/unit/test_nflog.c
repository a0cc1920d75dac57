/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_nflog.c - messages of nfnetlink_log, whole, cut and malformed */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "nft/nflog_internal.h"

/* A refused SYN as the kernel logs it (little-endian lengths). */
static const uint8_t message[] = {
	/* clang-format off */
	96, 0, 0, 0,			/* nlmsg_len */
	NFULNL_MSG_PACKET, NFNL_SUBSYS_ULOG, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0,		/* sequence, port */
	AF_INET, 0, 0, 2,		/* group 2 */
	8, 0, NFULA_PACKET_HDR, 0, 0x08, 0x00, 0, 0,
	8, 0, NFULA_PREFIX, 0, 's', 'y', 'n', 0,
	8, 0, NFULA_MARK, 0, 0, 0, 0, 2,
	8, 0, NFULA_IFINDEX_INDEV, 0, 0, 0, 0, 2,
	44, 0, NFULA_PAYLOAD, 0,	/* IPv4 and TCP header */
	0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0,
	198, 18, 0, 2, 11, 0, 0, 9,
	0x30, 0x39, 0x01, 0xbb, 0, 0, 0, 1, 0, 0, 0, 0,
	0x50, 0x02, 0xff, 0xff, 0, 0, 0, 0,
	/* clang-format on */
};

#define PAYLOAD_AT (20 + 4 * 8)

struct seen {
	int n;
	struct nflog_packet last;
};

static void note(void *ctx, const struct nflog_packet *p)
{
	struct seen *s = ctx;

	s->n++;
	s->last = *p;
	/* Every octet may be read. */
	for (size_t i = 0; i < p->len; i++)
		ck_assert_int_le(p->data[i], 255);
	ck_assert_ptr_nonnull(memchr(p->prefix, 0, sizeof(p->prefix)));
}

/* Exactly as large as the message, so that reading beyond is noticed. */
static struct seen parse(const uint8_t *msg, size_t len)
{
	struct seen s = { .n = 0 };
	uint8_t *copy = malloc(len ? len : 1);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, msg, len);
	ck_assert_int_eq(nflog_parse(copy, len, note, &s), s.n);
	free(copy);
	return s;
}

START_TEST(whole)
{
	uint8_t copy[sizeof(message)];
	struct seen s = { .n = 0 };

	_Static_assert(sizeof(message) == 96, "as its first octet says");
	memcpy(copy, message, sizeof(copy));
	ck_assert_int_eq(nflog_parse(copy, sizeof(copy), note, &s), 1);
	ck_assert_str_eq(s.last.prefix, "syn");
	ck_assert_uint_eq(s.last.mark, 2);
	ck_assert_uint_eq(s.last.len, 40);
	ck_assert_mem_eq(s.last.data, message + PAYLOAD_AT + 4, 40);
}
END_TEST

START_TEST(several)
{
	uint8_t three[3 * sizeof(message)];

	for (int i = 0; i < 3; i++)
		memcpy(three + i * sizeof(message), message, sizeof(message));
	ck_assert_int_eq(parse(three, sizeof(three)).n, 3);
	/* Another kind in between is passed over. */
	three[sizeof(message) + 4] = NFULNL_MSG_CONFIG;
	ck_assert_int_eq(parse(three, sizeof(three)).n, 2);
	three[2 * sizeof(message) + 5] = NFNL_SUBSYS_QUEUE;
	ck_assert_int_eq(parse(three, sizeof(three)).n, 1);
}
END_TEST

/* A datagram that ends anywhere, its header saying more or the truth. */
START_TEST(cut)
{
	uint8_t copy[sizeof(message)];

	for (size_t len = 0; len < sizeof(message); len++) {
		memcpy(copy, message, sizeof(copy));
		ck_assert_int_eq(parse(copy, len).n, 0);
		copy[0] = (uint8_t)len;
		ck_assert_int_eq(parse(copy, len).n, 0);
	}
}
END_TEST

static const struct {
	const char *name;
	size_t at;
	uint8_t value;
	int n;
	const char *prefix;
} spoiled[] = {
	{ "length below a header", 0, 15, 0, "" },
	{ "length zero", 0, 0, 0, "" },
	{ "length beyond 2 GiB", 3, 0xe1, 0, "" },
	{ "mark too short", 36, 7, 0, "" },
	{ "prefix without its end", 35, 'x', 1, "synx" },
	{ "empty prefix", 32, 0, 1, "" },
	{ "attribute longer than the message", PAYLOAD_AT, 45, 0, "" },
	{ "attribute shorter than its header", PAYLOAD_AT, 3, 0, "" },
	{ "no payload", PAYLOAD_AT + 2, NFULA_HWADDR, 0, "" },
};

START_TEST(malformed)
{
	uint8_t copy[sizeof(message)];
	struct seen s;

	memcpy(copy, message, sizeof(copy));
	copy[spoiled[_i].at] = spoiled[_i].value;
	s = parse(copy, sizeof(copy));
	ck_assert_msg(s.n == spoiled[_i].n, "%s", spoiled[_i].name);
	if (s.n)
		ck_assert_str_eq(s.last.prefix, spoiled[_i].prefix);
}
END_TEST

START_TEST(long_prefix)
{
	uint8_t msg[20 + 68 + 8] = {
		sizeof(msg), 0, 0, 0, NFULNL_MSG_PACKET, NFNL_SUBSYS_ULOG
	};
	struct seen s;

	msg[20] = 68;
	msg[22] = NFULA_PREFIX;
	memset(msg + 24, 'p', 64);
	msg[88] = 8;
	msg[90] = NFULA_PAYLOAD;
	s = parse(msg, sizeof(msg));
	ck_assert_int_eq(s.n, 1);
	ck_assert_uint_eq(strlen(s.last.prefix), sizeof(s.last.prefix) - 1);
}
END_TEST

START_TEST(bind_fails_with_a_sentence)
{
	struct err err = { .code = 0 };

	ck_assert_int_eq(nflog_bind(-1, 1, 64, 1, &err), -EBADF);
	ck_assert_ptr_nonnull(strstr(err.msg, "log group 1"));
}
END_TEST

START_TEST(read_fails)
{
	struct seen s = { .n = 0 };
	uint64_t lost = 0;

	ck_assert_int_eq(nflog_read(-1, note, &s, &lost), -EBADF);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nflog");
	TCase *tc = tcase_create("nflog");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, whole);
	tcase_add_test(tc, several);
	tcase_add_test(tc, cut);
	tcase_add_loop_test(tc, malformed, 0, ARRAY_SIZE(spoiled));
	tcase_add_test(tc, long_prefix);
	tcase_add_test(tc, bind_fails_with_a_sentence);
	tcase_add_test(tc, read_fails);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
