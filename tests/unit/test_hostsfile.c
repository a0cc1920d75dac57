/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_hostsfile.c - names of /etc/hosts, and a file that was replaced */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dnsname.h"
#include "resolver/hostsfile.h"

static char dir[] = "/tmp/egret-hostsfile-XXXXXX";
static char path[64], other[64];

static void put(const char *file, const char *text)
{
	FILE *f = fopen(file, "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/hosts", dir);
	(void)snprintf(other, sizeof(other), "%s/other", dir);
}

static void tear_down(void)
{
	(void)unlink(path); /* a test may have removed it */
	(void)unlink(other);
	ck_assert_int_eq(rmdir(dir), 0);
}

/* How many answers, and the last octet of the last one. */
static unsigned int ask(struct hostsfile *h, const char *text, uint16_t qtype,
			uint8_t *ret_last)
{
	uint8_t answer[HOSTSFILE_ANSWER_MAX];
	struct dnsname name;
	size_t len;

	ck_assert_int_eq(dnsname_from_text(text, strlen(text), &name), 0);
	len = hostsfile_answer(h, &name, qtype, answer);
	if (len == 0)
		return 0;
	ck_assert_uint_ge(len, 12);
	*ret_last = answer[len - 1];
	return (unsigned int)answer[6] << 8 | answer[7];
}

static const struct {
	const char *text, *name;
	uint16_t qtype;
	unsigned int n;
	uint8_t last;
} cases[] = {
	{ "11.0.0.1 a.test\n", "a.test", 1, 1, 1 },
	{ "11.0.0.1 a.test", "a.test", 1, 1, 1 },
	{ "11.0.0.1\tb.test \v a.test\r\n", "a.test", 1, 1, 1 },
	{ "  11.0.0.1 A.TEST. # b.test\n", "a.test", 1, 1, 1 },
	{ "11.0.0.1 a.test # b.test\n", "b.test", 1, 0, 0 },
	{ "#11.0.0.1 a.test\n", "a.test", 1, 0, 0 },
	{ "11.0.0.1 a.test\n11.0.0.2 a.test\n", "a.test", 1, 2, 2 },
	{ "11.0.0.1 a.test\n2a00::5 a.test\n", "a.test", 28, 1, 5 },
	{ "2a00::5 a.test\n", "a.test", 1, 0, 0 },
	{ "11.0.0.1 a.test\n", "a.test", 16, 0, 0 },
	{ "11.0.0.1 xa.test a.test.x\n", "a.test", 1, 0, 0 },
	{ "11.0.0.1 a..test a.test\n", "a.test", 1, 1, 1 },
	{ "11.0.0.1\na.test\n", "a.test", 1, 0, 0 },
	{ "fe80::1%eth0 a.test\n", "a.test", 28, 0, 0 },
	{ "1111111111111111111111111111111111111111111111111111111 a.test\n",
	  "a.test", 1, 0, 0 },
	{ "", "a.test", 1, 0, 0 },
	{ "\n\n", "a.test", 1, 0, 0 },
};

START_TEST(lines)
{
	struct hostsfile h;
	uint8_t last = 0;

	put(path, cases[_i].text);
	hostsfile_init(&h, path);
	ck_assert_uint_eq(ask(&h, cases[_i].name, cases[_i].qtype, &last),
			  cases[_i].n);
	if (cases[_i].n)
		ck_assert_uint_eq(last, cases[_i].last);
	hostsfile_done(&h);
}
END_TEST

START_TEST(many_addresses_are_cut)
{
	struct hostsfile h;
	uint8_t last = 0;
	char text[4096] = "";

	for (unsigned int i = 0; i < 100; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
			       "2a00::%x a.test\n", i + 1);
	put(path, text);
	hostsfile_init(&h, path);
	ck_assert_uint_eq(ask(&h, "a.test", 28, &last), 32);
	hostsfile_done(&h);
}
END_TEST

START_TEST(written_in_place)
{
	struct hostsfile h;
	uint8_t last = 0;

	put(path, "11.0.0.1 a.test\n");
	hostsfile_init(&h, path);
	put(path, "11.0.0.2 a.test # longer\n");
	ck_assert_uint_eq(ask(&h, "a.test", 1, &last), 1);
	ck_assert_uint_eq(last, 2);
	hostsfile_done(&h);
}
END_TEST

/* What the command may write it may also replace. */
START_TEST(replaced_where_anybody_could)
{
	struct hostsfile h;
	uint8_t last = 0;

	put(path, "11.0.0.1 a.test\n");
	put(other, "11.0.0.22 a.test\n");
	hostsfile_init(&h, path);
	ck_assert_int_eq(rename(other, path), 0);
	ck_assert_uint_eq(ask(&h, "a.test", 1, &last), 1);
	ck_assert_uint_eq(last, 1);
	hostsfile_done(&h);
}
END_TEST

/* As in an /etc that is only root's; by hand, since root can write any. */
START_TEST(replaced_where_only_root_can)
{
	struct hostsfile h;
	uint8_t last = 0;

	put(path, "11.0.0.1 a.test\n");
	put(other, "11.0.0.22 a.test\n");
	hostsfile_init(&h, path);
	h.is_pinned = false;
	ck_assert_int_eq(rename(other, path), 0);
	ck_assert_uint_eq(ask(&h, "a.test", 1, &last), 1);
	ck_assert_uint_eq(last, 22);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(ask(&h, "a.test", 1, &last), 0);
	put(path, "11.0.0.3 a.test\n");
	ck_assert_uint_eq(ask(&h, "a.test", 1, &last), 1);
	hostsfile_done(&h);
}
END_TEST

START_TEST(made_later_where_anybody_could)
{
	struct hostsfile h;
	uint8_t last = 0;

	hostsfile_init(&h, path);
	put(path, "11.0.0.1 a.test\n");
	ck_assert_uint_eq(ask(&h, "a.test", 1, &last), 0);
	hostsfile_done(&h);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hostsfile");
	TCase *t = tcase_create("hostsfile");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, lines, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(t, many_addresses_are_cut);
	tcase_add_test(t, written_in_place);
	tcase_add_test(t, replaced_where_anybody_could);
	tcase_add_test(t, replaced_where_only_root_can);
	tcase_add_test(t, made_later_where_anybody_could);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
