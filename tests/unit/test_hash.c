/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_internal.h"

/*
 * Key 00..0f, message 00, 01, .. of the given length. The value of length 15
 * is the worked example of the SipHash paper (appendix A); the others are of
 * the authors' reference vectors.
 */
static const struct {
	size_t len;
	uint64_t want;
} known[] = {
	{ 0, 0x726fdb47dd0e0e31ULL },  { 1, 0x74f839c593dc67fdULL },
	{ 2, 0x0d6c8009d9a94f5aULL },  { 3, 0x85676696d7fb7e2dULL },
	{ 7, 0xab0200f58b01d137ULL },  { 8, 0x93f5f5799a932462ULL },
	{ 15, 0xa129ca6149be45e5ULL }, { 16, 0x3f2acc7f57c29bdbULL },
	{ 63, 0x958a324ceb064572ULL },
};

START_TEST(known_answers)
{
	uint8_t key[HASH_KEY_LEN], msg[64];

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(msg); i++)
		msg[i] = (uint8_t)i;
	ck_assert_uint_eq(hash_siphash(key, msg, known[_i].len),
			  known[_i].want);
}
END_TEST

START_TEST(same_bytes_same_hash_within_a_process)
{
	ck_assert_uint_eq(hash_bytes("abc", 3), hash_bytes("abcd", 3));
	ck_assert_uint_ne(hash_bytes("abc", 3), hash_bytes("abd", 3));
	ck_assert_uint_ne(hash_bytes("abc", 3), hash_bytes("abc", 2));
	ck_assert_uint_eq(hash_bytes("", 0), hash_bytes("x", 0));
}
END_TEST

START_TEST(the_key_is_not_constant)
{
	static const uint8_t zero[HASH_KEY_LEN];

	ck_assert_uint_ne(hash_bytes("abc", 3), hash_siphash(zero, "abc", 3));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hash");
	TCase *tc = tcase_create("hash");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, known_answers, 0, ARRAY_SIZE(known));
	tcase_add_test(tc, same_bytes_same_hash_within_a_process);
	tcase_add_test(tc, the_key_is_not_constant);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
