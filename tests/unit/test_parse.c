/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"

static const struct {
	const char *text;
	int r16, r32;
	uint32_t want;
} cases[] = {
	{ "0", 0, 0, 0 },
	{ "1", 0, 0, 1 },
	{ "443", 0, 0, 443 },
	{ "65535", 0, 0, 65535 },
	{ "65536", -ERANGE, 0, 65536 },
	{ "4294967295", -ERANGE, 0, 4294967295U },
	{ "4294967296", -ERANGE, -ERANGE, 0 },
	{ "18446744073709551616", -ERANGE, -ERANGE, 0 },
	{ "99999999999999999999999999999999", -ERANGE, -ERANGE, 0 },
	{ "", -EINVAL, -EINVAL, 0 },
	{ "00", -EINVAL, -EINVAL, 0 },
	{ "01", -EINVAL, -EINVAL, 0 },
	{ "+1", -EINVAL, -EINVAL, 0 },
	{ "-1", -EINVAL, -EINVAL, 0 },
	{ " 1", -EINVAL, -EINVAL, 0 },
	{ "1 ", -EINVAL, -EINVAL, 0 },
	{ "0x10", -EINVAL, -EINVAL, 0 },
	{ "1e3", -EINVAL, -EINVAL, 0 },
	{ "1\xb2", -EINVAL, -EINVAL, 0 },
	{ "99999999999999999999x", -EINVAL, -EINVAL, 0 },
};

START_TEST(numbers)
{
	const char *text = cases[_i].text;
	uint16_t v16 = 4711;
	uint32_t v32 = 4711;

	ck_assert_msg(parse_u16(text, strlen(text), &v16) == cases[_i].r16,
		      "u16 '%s'", text);
	ck_assert_uint_eq(v16, cases[_i].r16 ? 4711 : cases[_i].want);
	ck_assert_msg(parse_u32(text, strlen(text), &v32) == cases[_i].r32,
		      "u32 '%s'", text);
	ck_assert_uint_eq(v32, cases[_i].r32 ? 4711 : cases[_i].want);
}
END_TEST

START_TEST(only_len_bytes_are_read)
{
	uint16_t v = 0;

	ck_assert_int_eq(parse_u16("8080x", 4, &v), 0);
	ck_assert_uint_eq(v, 8080);
	ck_assert_int_eq(parse_u16("1\0002", 3, &v), -EINVAL);
	ck_assert_uint_eq(v, 8080);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("parse");
	TCase *tc = tcase_create("parse");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, numbers, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, only_len_bytes_are_read);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
