/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_fw_sets.c - elements as they go over netlink */
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include "base/cleanup.h"
#include "nft/batch_internal.h"
#include "nft/sets_internal.h"

#define V4(a, b, c, d)                                            \
	{                                                         \
		.family = AF_INET, .bytes = {(a), (b), (c), (d) } \
	}
#define V6(a, b)                                                   \
	{                                                          \
		.family = AF_INET6, .bytes = {(a), (b), [15] = 1 } \
	}
#define V6NET(a, b)                                      \
	{                                                \
		.family = AF_INET6, .bytes = {(a), (b) } \
	}

static const struct {
	const char *name;
	struct fw_elem elem;
	uint32_t len; /* 0: can't be encoded */
	uint8_t key[SETS_KEY_MAX];
	bool has_end;
	uint8_t end[SETS_KEY_MAX];
} encodings[] = {
	{ "open4",
	  { FW_SET_OPEN, { V4(11, 0, 0, 1), 32 }, IPPROTO_TCP, 443, 443 },
	  12,
	  { 11, 0, 0, 1, /* addr */
	    6, 0, 0, 0,	 /* proto, padded */
	    1, 0xbb },	 /* port, padded */
	  false,
	  { 0 } },
	{ "open6, ICMP becomes ICMPv6",
	  { FW_SET_OPEN, { V6(0x2a, 0x0e), 128 }, IPPROTO_ICMP, 0, 0 },
	  24,
	  { 0x2a, 0x0e, [15] = 1, [16] = 58 },
	  false,
	  { 0 } },
	{ "anyport4, ports don't count",
	  { FW_SET_ANYPORT, { V4(11, 0, 0, 1), 32 }, IPPROTO_UDP, 0, 65535 },
	  8,
	  { 11, 0, 0, 1, 17 },
	  false,
	  { 0 } },
	{ "range4",
	  { FW_SET_RANGE, { V4(11, 0, 0, 1), 32 }, IPPROTO_TCP, 256, 511 },
	  12,
	  { 11, 0, 0, 1, 6, 0, 0, 0, 1, 0 },
	  true,
	  { 11, 0, 0, 1, 6, 0, 0, 0, 1, 255 } },
	{ "deny4, a network and any protocol",
	  { FW_SET_DENY, { V4(10, 0, 0, 0), 8 }, 0, 0, 65535 },
	  12,
	  { 10 },
	  true,
	  { 10, 255, 255, 255, 255, 0, 0, 0, 255, 255 } },
	{ "public4, everything",
	  { FW_SET_PUBLIC, { V4(0, 0, 0, 0), 0 }, IPPROTO_TCP, 1, 2 },
	  12,
	  { 0, 0, 0, 0, 6, 0, 0, 0, 0, 1 },
	  true,
	  { 255, 255, 255, 255, 6, 0, 0, 0, 0, 2 } },
	{ "closed4, end is the address after",
	  { FW_SET_CLOSED, { V4(10, 0, 0, 0), 8 }, 0, 0, 0 },
	  4,
	  { 10 },
	  true,
	  { 11 } },
	{ "closed4, a carry over all octets",
	  { FW_SET_CLOSED, { V4(127, 255, 255, 255), 32 }, 0, 0, 0 },
	  4,
	  { 127, 255, 255, 255 },
	  true,
	  { 128 } },
	{ "closed4, up to the last address",
	  { FW_SET_CLOSED, { V4(240, 0, 0, 0), 4 }, 0, 0, 0 },
	  4,
	  { 240 },
	  false,
	  { 0 } },
	{ "closed6",
	  { FW_SET_CLOSED, { V6NET(0xfc, 0), 7 }, 0, 0, 0 },
	  16,
	  { 0xfc },
	  true,
	  { 0xfe } },
	{ "closed6, up to the last address",
	  { FW_SET_CLOSED, { V6NET(0xff, 0), 8 }, 0, 0, 0 },
	  16,
	  { 0xff },
	  false,
	  { 0 } },
	{ .name = "a network in a hash",
	  .elem = { FW_SET_OPEN, { V4(11, 0, 0, 0), 8 }, 6, 1, 1 } },
	{ .name = "any protocol in a hash",
	  .elem = { FW_SET_OPEN, { V4(11, 0, 0, 1), 32 }, 0, 1, 1 } },
	{ .name = "a range in a hash",
	  .elem = { FW_SET_OPEN, { V4(11, 0, 0, 1), 32 }, 6, 1, 2 } },
	{ .name = "ports the wrong way round",
	  .elem = { FW_SET_RANGE, { V4(11, 0, 0, 1), 32 }, 6, 2, 1 } },
	{ .name = "prefix too long",
	  .elem = { FW_SET_DENY, { V4(11, 0, 0, 1), 33 }, 6, 1, 1 } },
	{ .name = "no address",
	  .elem = { FW_SET_DENY, { { 0 }, 0 }, 6, 1, 1 } },
	{ .name = "no set",
	  .elem = { FW_SET_MAX, { V4(11, 0, 0, 1), 32 }, 6, 1, 1 } },
};

START_TEST(encode)
{
	struct sets_key k;
	int r;

	memset(&k, 0, sizeof(k));
	r = sets_encode(&encodings[_i].elem, &k);
	if (encodings[_i].len == 0) {
		ck_assert_msg(r == -EINVAL, "%s", encodings[_i].name);
		return;
	}
	ck_assert_msg(r == 0, "%s", encodings[_i].name);
	ck_assert_uint_eq(k.len, encodings[_i].len);
	ck_assert_mem_eq(k.key, encodings[_i].key, k.len);
	ck_assert_int_eq(k.has_end, encodings[_i].has_end);
	if (k.has_end)
		ck_assert_mem_eq(k.end, encodings[_i].end, k.len);
}
END_TEST

START_TEST(names)
{
	char name[SETS_NAME_LEN];

	ck_assert_str_eq(sets_name(FW_SET_OPEN, false, name), "open4");
	ck_assert_str_eq(sets_name(FW_SET_ANYPORT, true, name),
			 "open6_anyport");
	ck_assert_uint_eq(sets_mask(FW_SET_OPEN), 3);
	ck_assert_uint_eq(sets_mask(FW_SET_DENY), 3U << (2 * FW_SET_DENY));
}
END_TEST

/* The one element of a batch, attribute by attribute. */
START_TEST(wire)
{
	static const uint8_t expected[] = {
		/* clang-format off */
		8, 0, NFTA_LIST_ELEM, 0x80, /* length is patched below */
		20, 0, NFTA_SET_ELEM_KEY, 0x80,
		16, 0, NFTA_DATA_VALUE, 0,
		11, 0, 0, 3, 6, 0, 0, 0, 0x1f, 0x40, 0, 0,
		20, 0, NFTA_SET_ELEM_KEY_END, 0x80,
		16, 0, NFTA_DATA_VALUE, 0,
		11, 0, 0, 3, 6, 0, 0, 0, 0x1f, 0x4a, 0, 0,
		/* clang-format on */
	};
	const struct fw_elem e = {
		FW_SET_RANGE, { V4(11, 0, 0, 3), 32 }, IPPROTO_TCP, 8000, 8010
	};
	const struct sets_change c = { .elems = &e, .n = 1 };
	struct sets_job job = { .type = NFT_MSG_NEWSETELEM,
				.flags = NLM_F_CREATE,
				.mask = SETS_ALL,
				.changes = &c,
				.n_changes = 1 };
	const struct nlmsghdr *nlh;
	uint8_t elem[sizeof(expected)];
	struct batch b;

	ck_assert_int_eq(batch_alloc(&b, 16384, 16), 0);
	batch_begin(&b, 7);
	nlh = (const void *)b.buf;
	ck_assert_uint_eq(nlh->nlmsg_type, NFNL_MSG_BATCH_BEGIN);
	ck_assert_uint_eq(nlh->nlmsg_seq, 8);
	nlh = (const void *)(b.buf + b.len);
	ck_assert_int_eq(sets_put(&b, &job), 0);
	ck_assert_uint_eq(b.n_msgs, 1);
	ck_assert_uint_eq(nlh->nlmsg_type,
			  NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWSETELEM);
	ck_assert_uint_eq(nlh->nlmsg_flags,
			  NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE);
	ck_assert_uint_eq(nlh->nlmsg_seq, 9);
	memcpy(elem, expected, sizeof(elem));
	elem[0] = sizeof(expected);
	ck_assert_mem_eq(b.buf + b.len - sizeof(elem), elem, sizeof(elem));
	batch_free(&b);
}
END_TEST

/* Lists are cut before their 16-bit length overflows, batches when full. */
START_TEST(many)
{
	static struct fw_elem v[4000];
	const struct sets_change c = { .elems = v, .n = ARRAY_SIZE(v) };
	struct sets_job job = { .type = NFT_MSG_NEWSETELEM,
				.mask = SETS_ALL,
				.changes = &c,
				.n_changes = 1 };
	struct batch b;
	int batches = 0, r;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = (struct fw_elem){ FW_SET_DENY,
					 { V6NET(0x2a, 0x0e), 64 },
					 IPPROTO_TCP,
					 (uint16_t)i,
					 (uint16_t)i };
	ck_assert_int_eq(batch_alloc(&b, 100000, 16), 0);
	do {
		size_t at = 0, n = 0;

		batch_begin(&b, 0);
		r = sets_put(&b, &job);
		ck_assert(r == 0 || r == -ENOSPC);
		ck_assert_uint_le(b.len, 100000);
		while (at < b.len) {
			const struct nlmsghdr *nlh = (const void *)(b.buf + at);

			ck_assert_uint_lt(nlh->nlmsg_len, 65600);
			at += NLMSG_ALIGN(nlh->nlmsg_len);
			n++;
		}
		ck_assert_uint_eq(at, b.len);
		ck_assert_uint_eq(n, b.n_msgs + 1);
		batches++;
	} while (r == -ENOSPC);
	ck_assert_int_eq(batches, 3); /* 4000 times 68 bytes */
	batch_free(&b);
}
END_TEST

START_TEST(nothing)
{
	const struct sets_change c = { .elems = NULL, .n = 0 };
	struct sets_job job = { .changes = &c, .n_changes = 1 };
	struct batch b;

	ck_assert_int_eq(batch_alloc(&b, 16384, 16), 0);
	batch_begin(&b, 0);
	ck_assert_int_eq(sets_put(&b, &job), 0);
	ck_assert_uint_eq(b.n_msgs, 0);
	batch_free(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fw_sets");
	TCase *tc = tcase_create("fw_sets");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, encode, 0, ARRAY_SIZE(encodings));
	tcase_add_test(tc, names);
	tcase_add_test(tc, wire);
	tcase_add_test(tc, many);
	tcase_add_test(tc, nothing);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
