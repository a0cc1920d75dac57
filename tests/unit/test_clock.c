/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

START_TEST(real_time_goes_forward)
{
	uint64_t a = clock_now_ns();
	uint64_t ms = clock_now_ms();
	uint64_t b = clock_now_ns();

	ck_assert_uint_le(a, b);
	ck_assert_uint_le(a / 1000000, ms);
	ck_assert_uint_le(ms, b / 1000000);
}
END_TEST

START_TEST(fake_time_stands_still)
{
	clock_set_fake(5000);
	ck_assert_uint_eq(clock_now_ms(), 5000);
	ck_assert_uint_eq(clock_now_ns(), 5000000000ULL);
	clock_set_fake(0);
	ck_assert_uint_eq(clock_now_ms(), 0);
	clock_clear_fake();
	ck_assert_uint_gt(clock_now_ns(), 0);
}
END_TEST

START_TEST(rfc3339_is_utc_with_milliseconds)
{
	char text[CLOCK_RFC3339_LEN];
	struct tm tm = { 0 };
	const char *end;
	time_t now = time(NULL);

	ck_assert_int_eq(setenv("TZ", "Asia/Tokyo", 1), 0);
	tzset();
	clock_rfc3339(text, sizeof(text));
	ck_assert_uint_eq(strlen(text), strlen("2026-01-31T12:00:00.123Z"));
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	ck_assert_ptr_nonnull(end);
	ck_assert_int_eq(end[0], '.');
	ck_assert_int_eq(end[4], 'Z');
	ck_assert_int_le(llabs((long long)(timegm(&tm) - now)), 2);
}
END_TEST

START_TEST(rfc3339_respects_the_size)
{
	char text[8];

	memset(text, '#', sizeof(text));
	clock_rfc3339(text, 4);
	ck_assert_int_eq(text[4], '#');
	clock_rfc3339(text, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("clock");
	TCase *tc = tcase_create("clock");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, real_time_goes_forward);
	tcase_add_test(tc, fake_time_stands_still);
	tcase_add_test(tc, rfc3339_is_utc_with_milliseconds);
	tcase_add_test(tc, rfc3339_respects_the_size);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
