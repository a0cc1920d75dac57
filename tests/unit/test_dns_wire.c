/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_dns_wire.c - names and records from hostile bytes; the writer's pointers
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "resolver/answer.h"
#include "resolver/wire.h"
#include "tests/unit/policy_tools.h"

struct name_row {
	const char *label;
	const char *msg;
	size_t len, at;
	const char *want; /* NULL: refused */
	size_t end;	  /* where the reader stands then */
};

#define BYTES(s) (s), sizeof(s) - 1

static const struct name_row name_rows[] = {
	{ "root", BYTES("\0"), 0, ".", 1 },
	{ "plain, folded", BYTES("\3wWw\4TEST\0"), 0, "www.test", 10 },
	{ "pointer", BYTES("\4test\0\3www\xc0\0"), 6, "www.test", 12 },
	{ "pointer alone", BYTES("\4test\0\xc0\0"), 6, "test", 8 },
	{ "pointer to a pointer", BYTES("\4test\0\1b\xc0\0\1a\xc0\6"), 10,
	  "a.b.test", 14 },
	{ "to itself", BYTES("\xc0\0"), 0, NULL, 0 },
	{ "forward", BYTES("\xc0\2\4test\0"), 0, NULL, 0 },
	{ "to the labels before it", BYTES("\1a\xc0\0"), 0, NULL, 0 },
	{ "to the middle of its own labels", BYTES("\1a\1b\xc0\2"), 0, NULL,
	  0 },
	{ "two that point at each other", BYTES("\1a\xc0\4\1b\xc0\0"), 4, NULL,
	  0 },
	{ "label beyond the end", BYTES("\5test"), 0, NULL, 0 },
	{ "no root", BYTES("\4test"), 0, NULL, 0 },
	{ "pointer cut", BYTES("\4test\xc0"), 0, NULL, 0 },
	{ "type 01",
	  BYTES("\x41"
		"a\0"),
	  0, NULL, 0 },
	{ "type 10",
	  BYTES("\x81"
		"a\0"),
	  0, NULL, 0 },
	{ "empty", BYTES(""), 0, NULL, 0 },
	{ "dot in a label", BYTES("\5a.b\0c\4test\0"), 0, "a\\.b\\000c.test",
	  12 },
};

START_TEST(test_names)
{
	const struct name_row *row = &name_rows[_i];
	_cleanup_(freep) uint8_t *exact = malloc(row->len ? row->len : 1);
	struct wire_reader r = { .msg = exact,
				 .len = row->len,
				 .pos = row->at };
	char text[DNSNAME_STR_LEN];
	struct dnsname n;
	int e;

	memcpy(exact, row->msg, row->len);
	e = wire_read_name(&r, &n);
	ck_assert_msg(!e == !!row->want, "%s", row->label);
	if (!row->want)
		return;
	ck_assert_str_eq(dnsname_format(&n, text), row->want);
	ck_assert_uint_eq(r.pos, row->end);
}
END_TEST

/* 255 octets are a name, 256 aren't; nor by the help of pointers. */
START_TEST(test_longest_name)
{
	uint8_t msg[600];
	struct wire_reader r = { .msg = msg };
	struct dnsname n;
	size_t at = 0;

	for (unsigned int i = 0; i < 127; i++) {
		msg[at++] = 1;
		msg[at++] = 'a';
	}
	msg[at++] = 0;
	r.len = at;
	ck_assert_int_eq(wire_read_name(&r, &n), 0);
	ck_assert_uint_eq(n.len, 255);
	msg[at] = 1;
	msg[at + 1] = 'b';
	msg[at + 2] = 0xc0;
	msg[at + 3] = 0;
	r.pos = at;
	r.len = at + 4;
	ck_assert_int_eq(wire_read_name(&r, &n), -EBADMSG);
}
END_TEST

/* A ladder of pointers, each one strictly backwards, is cut by the cap. */
START_TEST(test_hops)
{
	uint8_t msg[256] = { 0 };
	struct wire_reader r = { .msg = msg, .len = sizeof(msg) };
	struct dnsname n;

	for (size_t i = 1; i < 100; i++) {
		msg[2 * i - 1] = 0xc0;
		msg[2 * i] = (uint8_t)(i == 1 ? 0 : 2 * i - 3);
	}
	r.pos = 2 * WIRE_HOPS_MAX - 1;
	ck_assert_int_eq(wire_read_name(&r, &n), 0);
	r.pos = 2 * WIRE_HOPS_MAX + 1;
	ck_assert_int_eq(wire_read_name(&r, &n), -EBADMSG);
}
END_TEST

struct rr_row {
	const char *label, *msg;
	size_t len;
	int want;
};

static const struct rr_row rr_rows[] = {
	{ "A", BYTES("\0\0\1\0\1\0\0\0\74\0\4\13\0\0\1"), 0 },
	{ "no rdata", BYTES("\0\0\1\0\1\0\0\0\74\0\0"), 0 },
	{ "rdata cut", BYTES("\0\0\1\0\1\0\0\0\74\0\4\13\0\0"), -EBADMSG },
	{ "rdlength of 65535", BYTES("\0\0\1\0\1\0\0\0\74\xff\xff\1"),
	  -EBADMSG },
	{ "fixed part cut", BYTES("\0\0\1\0\1\0\0\0\74\0"), -EBADMSG },
	{ "name cut", BYTES("\3ab"), -EBADMSG },
};

START_TEST(test_records)
{
	const struct rr_row *row = &rr_rows[_i];
	_cleanup_(freep) uint8_t *exact = malloc(row->len);
	struct wire_reader r = { .msg = exact, .len = row->len }, s;
	struct wire_rr rr;

	memcpy(exact, row->msg, row->len);
	s = r;
	ck_assert_msg(wire_read_rr(&r, &rr) == row->want, "%s", row->label);
	ck_assert_msg(wire_skip_rr(&s) == row->want, "%s", row->label);
	if (!row->want)
		ck_assert_uint_eq(r.pos, s.pos);
}
END_TEST

START_TEST(test_writer_compresses)
{
	static const char want[] = "\3www\4test\0" /* 12 */
				   "\1a\xc0\x10"   /* 22: a + test */
				   "\xc0\x16"	   /* a.test */
				   "\xc0\x0c"	   /* www.test */
				   "\3org\0"
				   "\0";
	struct dnsname www = name_of("www.test"), a = name_of("a.test");
	struct dnsname org = name_of("org"), root = { .len = 1 };
	struct wire_writer w;
	uint8_t buf[64];

	wire_writer_init(&w, buf, sizeof(buf), 12);
	wire_write_name(&w, &www);
	wire_write_name(&w, &a);
	wire_write_name(&w, &a);
	wire_write_name(&w, &www);
	wire_write_name(&w, &org);
	wire_write_name(&w, &root);
	ck_assert_uint_eq(w.len, sizeof(want) - 1);
	ck_assert_mem_eq(buf, want, sizeof(want) - 1);
}
END_TEST

START_TEST(test_writer_is_full)
{
	struct dnsname n = name_of("www.test");

	for (size_t size = 0; size < 14; size++) {
		_cleanup_(freep) uint8_t *exact = malloc(size + 1);
		struct wire_writer w;

		wire_writer_init(&w, exact, size, 0);
		wire_write_u32(&w, 1);
		wire_write_name(&w, &n);
		ck_assert(w.full);
		ck_assert_uint_le(w.len, size);
	}
}
END_TEST

struct rdata_row {
	const char *label;
	uint16_t type;
	const char *rdata;
	size_t len;
	const char *want; /* with its length; NULL: refused */
	size_t want_len;
};

#define REFUSED NULL, 0

static const struct rdata_row rdata_rows[] = {
	{ "A", WIRE_A, BYTES("\1\2\3\4"), BYTES("\0\4\1\2\3\4") },
	{ "A, short", WIRE_A, BYTES("\1\2\3"), REFUSED },
	{ "AAAA, short", WIRE_AAAA, BYTES("\1\2\3\4"), REFUSED },
	{ "MX", WIRE_MX, BYTES("\0\12\1m\0"), BYTES("\0\5\0\12\1m\0") },
	{ "MX, more behind", WIRE_MX, BYTES("\0\12\1m\0\0"), REFUSED },
	{ "MX, no name", WIRE_MX, BYTES("\0\12"), REFUSED },
	{ "SRV", WIRE_SRV, BYTES("\0\1\0\2\0\3\1s\0"),
	  BYTES("\0\11\0\1\0\2\0\3\1s\0") },
	{ "TXT of two", WIRE_TXT, BYTES("\1a\2bc"), BYTES("\0\5\1a\2bc") },
	{ "TXT, empty", WIRE_TXT, BYTES(""), REFUSED },
	{ "TXT beyond its end", WIRE_TXT, BYTES("\3ab"), REFUSED },
	{ "CAA", WIRE_CAA, BYTES("\0\5issueca"), BYTES("\0\11\0\5issueca") },
	{ "CAA, tag of none", WIRE_CAA, BYTES("\0\0x"), REFUSED },
	{ "CAA, tag beyond", WIRE_CAA, BYTES("\0\7issue"), REFUSED },
	{ "CAA, odd tag", WIRE_CAA, BYTES("\0\3a\033bx"), REFUSED },
	{ "SOA", WIRE_SOA,
	  BYTES("\1m\0\1r\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5"),
	  BYTES("\0\32\1m\0\1r\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5") },
	{ "SOA, short", WIRE_SOA, BYTES("\1m\0\1r\0\0\0\0\1"), REFUSED },
	{ "unknown type", 99, BYTES("x"), REFUSED },
};

START_TEST(test_rdata)
{
	const struct rdata_row *row = &rdata_rows[_i];
	_cleanup_(freep) uint8_t *exact = malloc(row->len ? row->len : 1);
	const struct wire_rr rr = { .type = row->type,
				    .rdlen = (uint16_t)row->len };
	struct wire_writer w;
	uint8_t buf[128];
	int e;

	memcpy(exact, row->rdata, row->len);
	wire_writer_init(&w, buf, sizeof(buf), 12);
	e = rrset_write_rdata(&w, exact, row->len, &rr);
	ck_assert_msg(!e == !!row->want, "%s", row->label);
	if (!row->want)
		return;
	ck_assert_msg(w.len == row->want_len, "%s: %zu", row->label, w.len);
	ck_assert_mem_eq(buf, row->want, w.len);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dns_wire");
	TCase *t = tcase_create("all");

	tcase_add_loop_test(t, test_names, 0, ARRAY_SIZE(name_rows));
	tcase_add_test(t, test_longest_name);
	tcase_add_test(t, test_hops);
	tcase_add_loop_test(t, test_records, 0, ARRAY_SIZE(rr_rows));
	tcase_add_test(t, test_writer_compresses);
	tcase_add_test(t, test_writer_is_full);
	tcase_add_loop_test(t, test_rdata, 0, ARRAY_SIZE(rdata_rows));
	suite_add_tcase(s, t);
	return run_suite(s);
}
