/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_control_json.c - requests that are none, replies that are always JSON */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gateway/control_json.h"
#include "gateway/loaderrors.h"

static const struct {
	const char *line;
	int op; /* -1: refused */
	const char *part;
} requests[] = {
	{ "{\"op\":\"status\"}", CONTROL_STATUS, NULL },
	{ " { \"op\" : \"reload\", \"other\": [1] } ", CONTROL_RELOAD, NULL },
	{ "{\"op\":\"show\"}", CONTROL_SHOW, NULL },
	{ "{\"op\":\"show\",\"entries_from\":7}", CONTROL_SHOW, NULL },
	{ "{\"op\":\"exec\"}\r", CONTROL_EXEC, NULL },
	{ "{\"op\":\"check\",\"host\":\"example.org\"}", CONTROL_CHECK, NULL },
	{ "{\"op\":\"check\",\"host\":\"::1\",\"port\":1,\"proto\":\"udp\"}",
	  CONTROL_CHECK, NULL },
	{ "{\"op\":\"check\",\"host\":\"a\",\"port\":9,\"proto\":\"icmp\"}",
	  CONTROL_CHECK, NULL },
	{ "", -1, "one JSON object" },
	{ "[]", -1, "one JSON object" },
	{ "{\"op\":\"status\"", -1, "one JSON object" },
	{ "{\"op\":\"status\"}{}", -1, "one JSON object" },
	{ "{\"op\":\"status\",\"op\":\"exec\"}", -1, "one JSON object" },
	{ "{}", -1, "\"op\" must be" },
	{ "{\"op\":1}", -1, "\"op\" must be" },
	{ "{\"op\":\"Status\"}", -1, "\"op\" must be" },
	{ "{\"op\":\"show\",\"entries_from\":-1}", -1, "\"entries_from\"" },
	{ "{\"op\":\"show\",\"entries_from\":4294967296}", -1,
	  "\"entries_from\"" },
	{ "{\"op\":\"show\",\"entries_from\":1.5}", -1, "\"entries_from\"" },
	{ "{\"op\":\"check\"}", -1, "\"host\" must be" },
	{ "{\"op\":\"check\",\"host\":7}", -1, "\"host\" must be" },
	{ "{\"op\":\"check\",\"host\":\"\"}", -1, "a host is missing" },
	{ "{\"op\":\"check\",\"host\":\"*\"}", -1, "not a wildcard" },
	{ "{\"op\":\"check\",\"host\":\"a\",\"port\":0}", -1, "\"port\"" },
	{ "{\"op\":\"check\",\"host\":\"a\",\"port\":65536}", -1, "\"port\"" },
	{ "{\"op\":\"check\",\"host\":\"a\",\"port\":\"1\"}", -1, "\"port\"" },
	{ "{\"op\":\"check\",\"host\":\"a\",\"proto\":\"sctp\"}", -1,
	  "\"proto\"" },
	{ "{\"op\":\"check\",\"host\":\"a\",\"proto\":6}", -1, "\"proto\"" },
};

START_TEST(decoded)
{
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct control_request rq = { .op = CONTROL_OP_MAX };
		struct err err = { 0 };
		int r = control_decode(requests[i].line,
				       strlen(requests[i].line), &rq, &err);

		if (requests[i].op >= 0) {
			ck_assert_msg(r == 0, "%s: %s", requests[i].line,
				      err.msg);
			ck_assert_int_eq((int)rq.op, requests[i].op);
			continue;
		}
		ck_assert_msg(r < 0, "%s", requests[i].line);
		ck_assert_msg(strstr(err.msg, requests[i].part), "%s: %s",
			      requests[i].line, err.msg);
		ck_assert_int_eq(rq.op, CONTROL_OP_MAX);
	}
}
END_TEST

START_TEST(decoded_values)
{
	struct control_request rq;
	static const char show[] = "{\"op\":\"show\",\"entries_from\":7}";
	static const char check[] = "{\"op\":\"check\",\"host\":\"[::1]\","
				    "\"port\":22,\"proto\":\"udp\"}";
	char text[POLICY_QUESTION_STR_LEN];
	char *longest = malloc(CONTROL_REQUEST_MAX + 1);

	ck_assert_int_eq(control_decode(show, strlen(show), &rq, NULL), 0);
	ck_assert_uint_eq(rq.entries_from, 7);
	ck_assert_int_eq(control_decode(check, strlen(check), &rq, NULL), 0);
	ck_assert_str_eq(policy_question_format(&rq.question, text),
			 "[::1]:22/udp");
	ck_assert_ptr_nonnull(longest);
	memset(longest, ' ', CONTROL_REQUEST_MAX + 1);
	memcpy(longest, show, strlen(show));
	ck_assert_int_eq(
		control_decode(longest, CONTROL_REQUEST_MAX, &rq, NULL), 0);
	ck_assert_int_eq(
		control_decode(longest, CONTROL_REQUEST_MAX + 1, &rq, NULL),
		-EMSGSIZE);
	free(longest);
}
END_TEST

static void expect(struct control_text *t, const char *text)
{
	ck_assert(!t->is_bad);
	ck_assert_uint_eq(t->len, strlen(text));
	ck_assert_int_eq(memcmp(t->v, text, t->len), 0);
	control_text_done(t);
}

START_TEST(written)
{
	struct control_text t = { .v = NULL };

	control_open_object(&t, NULL);
	control_close(&t);
	expect(&t, "{}");
	control_open_object(&t, NULL);
	control_put_bool(&t, "ok", true);
	control_open_array(&t, "v");
	control_open_object(&t, NULL);
	control_put_num(&t, "n", UINT64_MAX);
	control_close(&t);
	control_put_str(&t, NULL, "s");
	control_put_bool(&t, NULL, false);
	control_close(&t);
	control_open_array(&t, "w");
	control_close(&t);
	control_close(&t);
	expect(&t, "{\"ok\":true,\"v\":[{\"n\":18446744073709551615},\"s\","
		   "false],\"w\":[]}");
}
END_TEST

START_TEST(written_strings)
{
	static const struct {
		const char *in, *out;
	} v[] = {
		{ "", "[\"\"]" },
		{ "a\"b\\c", "[\"a\\\"b\\\\c\"]" },
		{ "\n\x1b\x7f", "[\"\\u000a\\u001b\\u007f\"]" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		  "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]" },
		/* Overlong, surrogate, beyond Unicode, cut, stray. */
		{ "\xc0\xaf", "[\"\\ufffd\\ufffd\"]" },
		{ "\xe0\x80\x80", "[\"\\ufffd\\ufffd\\ufffd\"]" },
		{ "\xed\xa0\x80", "[\"\\ufffd\\ufffd\\ufffd\"]" },
		{ "\xf4\x90\x80\x80", "[\"\\ufffd\\ufffd\\ufffd\\ufffd\"]" },
		{ "a\xe2\x82", "[\"a\\ufffd\\ufffd\"]" },
		{ "\x80z\xff", "[\"\\ufffdz\\ufffd\"]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct control_text t = { .v = NULL };

		control_open_array(&t, NULL);
		control_put_str(&t, NULL, v[i].in);
		control_close(&t);
		expect(&t, v[i].out);
	}
}
END_TEST

START_TEST(bounded)
{
	struct control_text t = { .v = NULL };
	char text[1025];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	control_open_array(&t, NULL);
	while (!control_is_long(&t))
		control_put_str(&t, NULL, text);
	ck_assert(!t.is_bad);
	control_close(&t);
	ck_assert(!t.is_bad);
	ck_assert_uint_le(t.room, CONTROL_REPLY_MAX);
	for (int i = 0; i < 100; i++)
		control_put_str(&t, NULL, text);
	ck_assert(t.is_bad);
	ck_assert_uint_le(t.len, CONTROL_REPLY_MAX);
	control_text_done(&t);
	for (int i = 0; i <= CONTROL_DEPTH_MAX; i++)
		control_open_array(&t, NULL);
	ck_assert(t.is_bad);
	control_text_done(&t);
	control_close(&t);
	ck_assert(t.is_bad);
	control_text_done(&t);
}
END_TEST

START_TEST(load_errors)
{
	struct loaderrors a = { .n = 0 }, b = { .n = 0 };

	ck_assert(loaderrors_equal(&a, &b));
	loaderrors_add(&a, "one");
	ck_assert(!loaderrors_equal(&a, &b));
	loaderrors_add(&b, "two");
	ck_assert(!loaderrors_equal(&a, &b));
	loaderrors_done(&b);
	loaderrors_add(&b, "one");
	ck_assert(loaderrors_equal(&a, &b));
	for (int i = 0; i < LOADERRORS_MAX; i++)
		loaderrors_add(&a, "more");
	ck_assert_uint_eq(a.n, LOADERRORS_MAX);
	ck_assert_uint_eq(a.n_more, 1);
	loaderrors_done(&a);
	loaderrors_done(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control_json");
	TCase *tc = tcase_create("lines");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, decoded);
	tcase_add_test(tc, decoded_values);
	tcase_add_test(tc, written);
	tcase_add_test(tc, written_strings);
	tcase_add_test(tc, bounded);
	tcase_add_test(tc, load_errors);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
