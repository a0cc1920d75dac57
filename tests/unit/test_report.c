/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report.c - repeats, windows and floods of refusals, on a fake clock */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "gateway/event.h"
#include "gateway/report.h"

#define START_MS  1000000U
#define LINES_MAX 256

static char lines[LINES_MAX][EVENT_LINE_MAX];
static size_t n_lines;
static struct loop *loop;
static struct report *report;

static void take_line(void *ctx, const char *line)
{
	ck_assert_ptr_eq(ctx, &n_lines);
	ck_assert_uint_lt(n_lines, LINES_MAX);
	(void)snprintf(lines[n_lines++], EVENT_LINE_MAX, "%s", line);
}

static void setup(void)
{
	n_lines = 0;
	clock_set_fake(START_MS);
	ck_assert_int_eq(loop_new(&loop, NULL), 0);
	ck_assert_int_eq(
		report_new(&report, loop, "s1", take_line, &n_lines, NULL), 0);
}

static void teardown(void)
{
	report_freep(&report);
	loop_freep(&loop);
	clock_clear_fake();
}

static void pass(uint64_t ms)
{
	clock_set_fake(clock_now_ms() + ms);
	ck_assert_int_ge(loop_run_once(loop, 0), 0);
}

static struct event lookup(const char *name, const char *qtype)
{
	struct event e;

	event_init(&e, EVENT_REFUSED, EVENT_KIND_DNS);
	e.reason = EVENT_REASON_NOT_LISTED;
	strcpy(e.name, name);
	strcpy(e.qtype, qtype);
	return e;
}

static void refuse(const char *name, const char *qtype)
{
	struct event e = lookup(name, qtype);

	report_refused(report, &e);
}

#define A_LINE                                                 \
	"refused a.example (DNS A): not on the allowlist; to " \
	"allow: egret allow s1 a.example"

START_TEST(first_printed_repeats_counted)
{
	refuse("a.example", "A");
	ck_assert_uint_eq(n_lines, 1);
	ck_assert_str_eq(lines[0], A_LINE);
	for (int i = 0; i < 5; i++)
		refuse("a.example", "A");
	pass(REPORT_WINDOW_MS - 1);
	ck_assert_uint_eq(n_lines, 1);
	refuse("a.example", "A");
	pass(1);
	ck_assert_uint_eq(n_lines, 2);
	ck_assert_str_eq(lines[1], A_LINE " (6 times more)");
	ck_assert_uint_eq(report_n_refused(report), 7);
	/* a new window begins with a line */
	refuse("a.example", "A");
	ck_assert_uint_eq(n_lines, 3);
	ck_assert_str_eq(lines[2], A_LINE);
}
END_TEST

START_TEST(single_repeat_is_silent)
{
	refuse("a.example", "A");
	refuse("a.example", "A");
	pass(REPORT_WINDOW_MS);
	ck_assert_uint_eq(n_lines, 1);
	ck_assert_uint_eq(report_n_refused(report), 2);
}
END_TEST

START_TEST(counted_events)
{
	struct event e = lookup("a.example", "A");

	e.count = 40;
	report_refused(report, &e);
	report_refused(report, &e);
	ck_assert_uint_eq(report_n_refused(report), 80);
	pass(REPORT_WINDOW_MS);
	ck_assert_uint_eq(n_lines, 2);
	ck_assert_str_eq(lines[1], A_LINE " (79 times more)");
}
END_TEST

START_TEST(a_and_aaaa_are_one)
{
	refuse("a.example", "A");
	refuse("a.example", "AAAA");
	ck_assert_uint_eq(n_lines, 1);
	refuse("a.example", "HTTPS");
	ck_assert_uint_eq(n_lines, 2);
	ck_assert_ptr_nonnull(strstr(lines[1], "(DNS HTTPS)"));
}
END_TEST

/* What, who and why each make another kind. */
START_TEST(kinds_differ)
{
	struct event e = lookup("a.example", "A");

	report_refused(report, &e);
	e.pid = 4711;
	report_refused(report, &e);
	e.reason = EVENT_REASON_DENIED;
	report_refused(report, &e);
	e.port = 22;
	report_refused(report, &e);
	e.kind = EVENT_KIND_TCP;
	report_refused(report, &e);
	ck_assert_int_eq(addr_parse("11.0.0.1", &e.addr), 0);
	report_refused(report, &e);
	e.kind = EVENT_KIND_PACKET;
	report_refused(report, &e);
	strcpy(e.text, "protocol 132");
	report_refused(report, &e);
	ck_assert_uint_eq(n_lines, 8);
	/* neither when nor how much matters */
	strcpy(e.time, "other");
	e.bytes_in = 7;
	strcpy(e.comm, "other");
	report_refused(report, &e);
	ck_assert_uint_eq(n_lines, 8);
}
END_TEST

/* A program started again and again is one who; so is one that was gone before
   it could be found, but not the other way round. */
START_TEST(who_is_a_name)
{
	struct event e = lookup("a.example", "A");

	report_refused(report, &e);
	e.pid = 4711;
	strcpy(e.comm, "curl");
	report_refused(report, &e);
	ck_assert_uint_eq(n_lines, 2);
	ck_assert_ptr_nonnull(strstr(lines[1], " by curl(4711): "));
	e.pid = 4712;
	report_refused(report, &e);
	e.pid = 0;
	e.comm[0] = '\0';
	report_refused(report, &e);
	ck_assert_uint_eq(n_lines, 2);
	e.pid = 4713;
	strcpy(e.comm, "wget");
	report_refused(report, &e);
	ck_assert_uint_eq(n_lines, 3);
}
END_TEST

/* Whoever couldn't be found is taken for one that was. */
START_TEST(unknown_process)
{
	struct event e = lookup("a.example", "A");

	e.pid = 1;
	report_refused(report, &e);
	e.pid = 2;
	report_refused(report, &e);
	ck_assert_uint_eq(n_lines, 2);
	e.pid = 0;
	report_refused(report, &e);
	report_refused(report, &e);
	ck_assert_uint_eq(n_lines, 2);
	pass(REPORT_WINDOW_MS);
	ck_assert_uint_eq(n_lines, 3);
	ck_assert_ptr_nonnull(strstr(lines[2], "(2 times more)"));
}
END_TEST

/* Windows of kinds end one by one, in a loop that turns rarely. */
START_TEST(windows_end_one_by_one)
{
	for (int i = 0; i < 3; i++)
		refuse("a.example", "A");
	pass(REPORT_WINDOW_MS / 2);
	for (int i = 0; i < 4; i++)
		refuse("b.example", "A");
	pass(REPORT_WINDOW_MS / 2);
	ck_assert_uint_eq(n_lines, 3);
	ck_assert_str_eq(lines[2], A_LINE " (2 times more)");
	pass(REPORT_WINDOW_MS / 2);
	ck_assert_uint_eq(n_lines, 4);
	ck_assert_ptr_nonnull(strstr(lines[3], "b.example (3 times more)"));
	pass(10 * REPORT_WINDOW_MS);
	ck_assert_uint_eq(n_lines, 4);
}
END_TEST

static void flood(int from, int to)
{
	char name[64];

	for (int i = from; i < to; i++) {
		(void)snprintf(name, sizeof(name), "n%d.example", i);
		refuse(name, "A");
	}
}

START_TEST(floods_are_one_line)
{
	flood(0, 2000);
	ck_assert_uint_eq(n_lines, REPORT_LINES_MAX);
	refuse("n0.example", "A"); /* known ones are still told apart */
	refuse("n0.example", "A");
	pass(REPORT_WINDOW_MS);
	ck_assert_uint_eq(n_lines, REPORT_LINES_MAX + 2);
	ck_assert_ptr_nonnull(
		strstr(lines[REPORT_LINES_MAX], "n0.example (2 times more)"));
	ck_assert_str_eq(lines[REPORT_LINES_MAX + 1],
			 "refused 1950 other things that aren't shown one by "
			 "one; --events FILE has them all");
	ck_assert_uint_eq(report_n_refused(report), 2002);
	/* and the next window prints again */
	flood(2000, 2001);
	ck_assert_uint_eq(n_lines, REPORT_LINES_MAX + 3);
}
END_TEST

/* The lines of all windows that can be open at once fit into the table. */
START_TEST(table_is_large_enough)
{
	flood(0, 1);
	pass(REPORT_WINDOW_MS - 1);
	flood(1, 100);
	pass(1);
	n_lines = 0;
	flood(100, 200);
	ck_assert_uint_eq(n_lines, REPORT_LINES_MAX);
	ck_assert_uint_gt(REPORT_KINDS_MAX, 2 * REPORT_LINES_MAX);
}
END_TEST

START_TEST(end_prints_what_is_open)
{
	for (int i = 0; i < 3; i++)
		refuse("a.example", "A");
	flood(0, 60);
	n_lines = 0;
	report_freep(&report);
	ck_assert_ptr_null(report);
	ck_assert_uint_eq(n_lines, 2);
	ck_assert_str_eq(lines[0], A_LINE " (2 times more)");
	ck_assert_str_eq(lines[1],
			 "refused 11 other things that aren't shown one by "
			 "one; --events FILE has them all");
	pass(10 * REPORT_WINDOW_MS); /* no timer is left */
	ck_assert_uint_eq(n_lines, 2);
	report_free(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("report");
	TCase *tc = tcase_create("report");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, first_printed_repeats_counted);
	tcase_add_test(tc, single_repeat_is_silent);
	tcase_add_test(tc, counted_events);
	tcase_add_test(tc, a_and_aaaa_are_one);
	tcase_add_test(tc, kinds_differ);
	tcase_add_test(tc, who_is_a_name);
	tcase_add_test(tc, unknown_process);
	tcase_add_test(tc, windows_end_one_by_one);
	tcase_add_test(tc, floods_are_one_line);
	tcase_add_test(tc, table_is_large_enough);
	tcase_add_test(tc, end_prints_what_is_open);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
