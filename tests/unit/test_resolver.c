/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_resolver.c - scenarios: what is asked, answered, opened and refused
 */
#include <check.h>

#include "tests/unit/resolver_lab.h"

#define SOA(owner) "--\n" owner " 5 SOA egret.internal\n"

#define assert_text(rep, want) ck_assert_str_eq(lab_text(rep), want)

/* Every scenario ends here: nothing was told that wasn't open. */
static void end(struct lab *l)
{
	ck_assert_msg(!l->broken, "%u: %s", l->broken, l->trouble);
	lab_free(l);
}

START_TEST(test_allowed_is_opened_before_the_answer)
{
	struct lab *l = lab_new("good.test");
	struct lab_reply *rep;

	l->grant_mode = LAB_GRANT_LATER;
	rep = lab_query(l, "good.test", "A");
	assert_text(rep, "none");
	ck_assert(lab_upstream(l, 0, "good.test 60 A 11.0.0.1"));
	assert_text(rep, "none");
	ck_assert(!lab_open(l, "11.0.0.1", 443));
	ck_assert(lab_ack(l, 0));
	assert_text(rep, "NOERROR\ngood.test 60 A 11.0.0.1\n");
	ck_assert(lab_open(l, "11.0.0.1", 443));
	ck_assert(lab_open(l, "11.0.0.1", 80));
	ck_assert(!lab_open(l, "11.0.0.1", 22));
	ck_assert_str_eq(l->log, "learned good.test 11.0.0.1 60\n");
	end(l);
}
END_TEST

START_TEST(test_kernel_refuses)
{
	struct lab *l = lab_new("good.test");
	struct lab_reply *rep;

	l->grant_mode = LAB_GRANT_FAIL;
	rep = lab_query(l, "good.test", "A");
	ck_assert(lab_upstream(l, 0, "good.test 60 A 11.0.0.1"));
	assert_text(rep, "SERVFAIL\n");
	ck_assert_uint_eq(l->n_failed, 1);
	ck_assert_uint_eq(l->n_learned, 0);
	l->grant_mode = LAB_GRANT_NOW; /* the answer was kept, not the lease */
	rep = lab_query(l, "good.test", "A");
	ck_assert_uint_eq(lab_n_open_asks(l), 0);
	assert_text(rep, "NOERROR\ngood.test 60 A 11.0.0.1\n");
	end(l);
}
END_TEST

static const char *const denied_names[] = {
	"evil.test",	 "a.good.test",	      "good.test.evil.test",
	"evilgood.test", "aGVsbG8.evil.test", "xn--e1afmkfd.test",
};

static const char *const all_types[] = {
	"A",   "AAAA", "CNAME", "TXT",	"NULL", "MX",  "SRV",	"NS",
	"SOA", "PTR",  "HTTPS", "SVCB", "ANY",	"CAA", "HINFO",
};

/* P4: in no type, over no transport. */
START_TEST(test_denied_never_leaves)
{
	const char *name = denied_names[_i];
	struct lab *l = lab_new("good.test\n!x.test");

	for (size_t t = 0; t < ARRAY_SIZE(all_types); t++) {
		for (int tcp = 0; tcp < 2; tcp++) {
			const struct lab_question q = { .name = name,
							.type = all_types[t],
							.edns = 1232,
							.tcp = tcp };
			struct lab_reply *rep = lab_ask(l, &q);

			ck_assert_msg(
				!strncmp(lab_text(rep), "NXDOMAIN\n--\n", 12),
				"%s %s: %s", name, all_types[t], lab_text(rep));
			ck_assert(strstr(lab_text(rep), "ede 15 not on the"));
		}
	}
	ck_assert_uint_eq(l->n_asks, 0);
	ck_assert_uint_eq(l->n_refused, 2 * ARRAY_SIZE(all_types));
	end(l);
}
END_TEST

START_TEST(test_refusal_explains_itself)
{
	struct lab *l = lab_new("*.good.test\n!bad.good.test");

	assert_text(
		lab_query_edns(l, "eViL.Test", "A"),
		"NXDOMAIN\n" SOA(
			"test") "ede 15 not on the allowlist; "
				"to allow: egret allow study42 evil.test\n");
	assert_text(lab_query_edns(l, "bad.good.test", "A"),
		    "NXDOMAIN\n" SOA("good.test") "ede 15 denied by the entry "
						  "!bad.good.test\n");
	assert_text(lab_query(l, "evil.test", "A"), "NXDOMAIN\n" SOA("test"));
	ck_assert_str_eq(l->log, "refused evil.test 1 not_listed -\n"
				 "refused bad.good.test 1 denied -\n"
				 "refused evil.test 1 not_listed -\n");
	assert_text(lab_query(l, ".", "NS"), "REFUSED\n");
	end(l);
}
END_TEST

struct local_row {
	const char *name, *type, *want;
};

static const struct local_row local_rows[] = {
	{ "localhost", "A", "NOERROR\nlocalhost 3600 A 127.0.0.1\n" },
	{ "x.LOCALHOST", "AAAA", "NOERROR\nx.localhost 3600 AAAA ::1\n" },
	{ "localhost", "MX", "NOERROR\n" SOA(".") },
	{ "printer", "A", "NXDOMAIN\n" SOA(".") },
	{ "printer.local", "A", "NXDOMAIN\n" SOA("local") },
	{ "nas.home.arpa", "A", "NXDOMAIN\n" SOA("home.arpa") },
	{ "x.onion", "A", "NXDOMAIN\n" SOA("onion") },
	{ "use-application-dns.net", "A", "NXDOMAIN\n" SOA("net") },
	{ "1.0.0.10.in-addr.arpa", "PTR",
	  "NXDOMAIN\n" SOA("0.0.10.in-addr.arpa") },
	{ "secret.in-addr.arpa", "TXT", "NXDOMAIN\n" SOA("in-addr.arpa") },
	{ "8.b.d.0.1.0.0.2.ip6.arpa", "PTR",
	  "NXDOMAIN\n" SOA("b.d.0.1.0.0.2.ip6.arpa") },
	{ "foo.egret.internal", "A", "NXDOMAIN\n" SOA("egret.internal") },
	{ "egret.internal", "A", "NOERROR\n" SOA("internal") },
};

/* Also when everything public is allowed. */
START_TEST(test_local_names)
{
	const struct local_row *row = &local_rows[_i];
	const struct lab_question q = { .name = row->name,
					.type = row->type,
					.is_local = true };
	struct lab *l = lab_new("*");

	assert_text(lab_ask(l, &q), row->want);
	ck_assert_uint_eq(l->n_asks, 0);
	end(l);
}
END_TEST

START_TEST(test_listed_special_name_is_asked)
{
	struct lab *l =
		lab_new("nas.local:445 private\nuse-application-dns.net");
	struct lab_reply *rep = lab_query(l, "nas.local", "A");

	ck_assert(lab_upstream(l, 0, "nas.local 10 A 192.168.77.5"));
	assert_text(rep, "NOERROR\nnas.local 10 A 192.168.77.5\n");
	ck_assert(lab_open(l, "192.168.77.5", 445));
	ck_assert(l->elems[0].is_special);
	(void)lab_query(l, "use-application-dns.net", "A");
	ck_assert_uint_eq(lab_n_open_asks(l), 1);
	end(l);
}
END_TEST

START_TEST(test_reverse_of_learned)
{
	struct lab *l = lab_new("good.test");

	(void)lab_query(l, "good.test", "A");
	(void)lab_upstream(l, 0, "good.test 60 A 11.0.0.1");
	(void)lab_query(l, "good.test", "AAAA");
	(void)lab_upstream(l, 0, "good.test 60 AAAA 2a0e:b107::1");
	assert_text(lab_query(l, "1.0.0.11.in-addr.arpa", "PTR"),
		    "NOERROR\n1.0.0.11.in-addr.arpa 5 PTR good.test\n");
	assert_text(lab_query(l,
			      "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
			      "0.7.0.1.b.e.0.a.2.ip6.arpa",
			      "PTR"),
		    "NOERROR\n1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
		    "0.7.0.1.b.e.0.a.2.ip6.arpa 5 PTR good.test\n");
	assert_text(lab_query(l, "2.0.0.11.in-addr.arpa", "PTR"),
		    "NXDOMAIN\n" SOA("0.0.11.in-addr.arpa"));
	ck_assert_uint_eq(l->n_asks, 2);
	end(l);
}
END_TEST

struct answer_row {
	const char *label, *name, *type;
	unsigned int rcode;
	const char *records, *want;
};

static const struct answer_row answer_rows[] = {
	{ "chain, other records and a foreign address ignored", "www.test", "A",
	  0,
	  "evil.test 60 A 11.0.0.66\nwww.test 60 CNAME x.cdn.test\n"
	  "y.cdn.test 30 A 11.0.0.2\nx.cdn.test 50 CNAME y.cdn.test\n"
	  "--\ncdn.test 9 NS evil.test",
	  "NOERROR\nwww.test 60 CNAME x.cdn.test\n"
	  "x.cdn.test 50 CNAME y.cdn.test\ny.cdn.test 30 A 11.0.0.2\n" },
	{ "address of the first name beside its CNAME is not used", "www.test",
	  "A", 0,
	  "www.test 60 CNAME x.test\nwww.test 60 A 11.0.0.3\n"
	  "x.test 60 A 11.0.0.4",
	  "NOERROR\nwww.test 60 CNAME x.test\nx.test 60 A 11.0.0.4\n" },
	{ "loop", "www.test", "A", 0,
	  "www.test 60 CNAME b.test\nb.test 60 CNAME www.test", "SERVFAIL\n" },
	{ "loop of one", "www.test", "A", 0, "www.test 60 CNAME www.test",
	  "SERVFAIL\n" },
	{ "only foreign records", "www.test", "A", 0,
	  "evil.test 60 A 11.0.0.66", "NOERROR\n" },
	{ "no such name", "www.test", "A", 3, "--\ntest 100 SOA ns.test 60",
	  "NXDOMAIN\n--\ntest 60 SOA ns.test\n" },
	{ "no such name, SOA of another tree", "www.test", "A", 3,
	  "--\nevil 100 SOA ns.test 60", "NXDOMAIN\n" },
	{ "no such name at the end of a chain", "www.test", "A", 3,
	  "www.test 9 CNAME a.other\n--\nother 100 SOA ns.other 60",
	  "NXDOMAIN\nwww.test 9 CNAME a.other\n--\nother 60 SOA ns.other\n" },
	{ "no data", "www.test", "AAAA", 0, "--\nwww.test 7 SOA ns.test 60",
	  "NOERROR\n--\nwww.test 7 SOA ns.test\n" },
	{ "upstream failed", "www.test", "A", 2, "", "SERVFAIL\n" },
	{ "upstream refused", "www.test", "A", 5, "", "SERVFAIL\n" },
	{ "TTL with the top bit is 0", "www.test", "A", 0,
	  "www.test 2147483648 A 11.0.0.5",
	  "NOERROR\nwww.test 0 A 11.0.0.5\n" },
	{ "TTL has a ceiling", "www.test", "A", 0,
	  "www.test 2147483647 A 11.0.0.5",
	  "NOERROR\nwww.test 86400 A 11.0.0.5\n" },
	{ "the same address twice", "www.test", "A", 0,
	  "www.test 60 A 11.0.0.5\nwww.test 60 A 11.0.0.5",
	  "NOERROR\nwww.test 60 A 11.0.0.5\n" },
	{ "address of a wrong length", "www.test", "A", 0,
	  "www.test 60 A 2a0e:b107::1", "SERVFAIL\n" },
	{ "MX", "www.test", "MX", 0, "www.test 60 MX 10 mail.test",
	  "NOERROR\nwww.test 60 MX 10 mail.test\n" },
	{ "SRV", "_x._tcp.www.test", "SRV", 0,
	  "_x._tcp.www.test 60 SRV 1 2 443 n1.www.test",
	  "NOERROR\n_x._tcp.www.test 60 SRV 1 2 443 n1.www.test\n" },
	{ "TXT", "www.test", "TXT", 0, "www.test 60 TXT hello",
	  "NOERROR\nwww.test 60 TXT hello\n" },
	{ "CNAME asked for", "www.test", "CNAME", 0,
	  "www.test 60 CNAME x.cdn.test\nx.cdn.test 60 CNAME y.test",
	  "NOERROR\nwww.test 60 CNAME x.cdn.test\n" },
	{ "target with a star is a name like others", "www.test", "CNAME", 0,
	  "www.test 60 CNAME star.test",
	  "NOERROR\nwww.test 60 CNAME star.test\n" },
};

START_TEST(test_answers)
{
	const struct answer_row *row = &answer_rows[_i];
	struct lab *l = lab_new("www.test\n*.www.test");
	struct lab_reply *rep = lab_query(l, row->name, row->type);

	ck_assert_msg(lab_upstream(l, row->rcode, row->records), "%s",
		      row->label);
	ck_assert_msg(!strcmp(lab_text(rep), row->want), "%s: %s", row->label,
		      lab_text(rep));
	ck_assert(!lab_open(l, "11.0.0.66", 443));
	ck_assert(!lab_open(l, "11.0.0.3", 443));
	end(l);
}
END_TEST

static void write_chain(char *dst, size_t size, unsigned int n)
{
	size_t at = (size_t)snprintf(dst, size, "www.test 60 CNAME c1.test\n");

	for (unsigned int i = 1; i < n; i++)
		at += (size_t)snprintf(dst + at, size - at,
				       "c%u.test 60 CNAME c%u.test\n", i,
				       i + 1);
	(void)snprintf(dst + at, size - at, "c%u.test 60 A 11.0.0.9", n);
}

START_TEST(test_chain_lengths)
{
	static const struct {
		unsigned int n;
		bool is_ok;
	} rows[] = { { 1, true }, { 16, true }, { 17, false }, { 40, false } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct lab *l = lab_new("www.test");
		struct lab_reply *rep = lab_query(l, "www.test", "A");
		char text[4096];

		write_chain(text, sizeof(text), rows[i].n);
		ck_assert(lab_upstream(l, 0, text));
		ck_assert_int_eq(!strncmp(lab_text(rep), "NOERROR", 7),
				 rows[i].is_ok);
		ck_assert_int_eq(lab_open(l, "11.0.0.9", 443), rows[i].is_ok);
		/* The ends of the chain are no entries. */
		assert_text(lab_query(l, "c1.test", "A"),
			    "NXDOMAIN\n" SOA("test"));
		end(l);
	}
}
END_TEST

struct strip_row {
	const char *type, *addr;
};

static const struct strip_row strip_rows[] = {
	{ "A", "192.168.77.5" },
	{ "A", "127.0.0.1" },
	{ "A", "169.254.169.254" },
	{ "A", "100.64.0.1" },
	{ "A", "0.0.0.0" },
	{ "A", "10.1.2.3" },
	{ "A", "224.0.0.1" },
	{ "A", "255.255.255.255" },
	{ "AAAA", "::1" },
	{ "AAAA", "::ffff:10.0.0.1" },
	{ "AAAA", "64:ff9b::a9fe:a9fe" },
	{ "AAAA", "2002:a00:1::1" },
	{ "AAAA", "fd00::1" },
	{ "AAAA", "fe80::1" },
	{ "A", "11.0.0.77" }, /* the host's own */
	{ "A", "11.9.0.1" },  /* denied */
};

START_TEST(test_special_addresses_are_taken_out)
{
	const struct strip_row *row = &strip_rows[_i];
	bool is_v4 = row->type[1] == '\0';
	struct lab *l = lab_new("good.test\n!11.9.0.0/16");
	struct lab_reply *rep;
	char text[256];

	(void)addr_parse("11.0.0.77", &l->host[l->n_host++]);
	rep = lab_query_edns(l, "good.test", row->type);
	(void)snprintf(text, sizeof(text), "good.test 60 %s %s", row->type,
		       row->addr);
	ck_assert(lab_upstream(l, 0, text));
	ck_assert_msg(strstr(lab_text(rep), "NOERROR\n" SOA("test")) ==
			      lab_text(rep),
		      "%s: %s", row->addr, lab_text(rep));
	ck_assert_ptr_nonnull(strstr(lab_text(rep), "ede 15 address "));
	ck_assert_uint_eq(l->n_elems, 0);
	ck_assert_uint_eq(l->n_refused, 1);
	/* With a public one beside it, that one stays. */
	lab_advance(l, 61000);
	rep = lab_query(l, "good.test", row->type);
	(void)snprintf(text, sizeof(text),
		       "good.test 60 %s %s\ngood.test 60 %s %s", row->type,
		       row->addr, row->type,
		       is_v4 ? "11.0.0.1" : "2a0e:b107::1");
	ck_assert(lab_upstream(l, 0, text));
	(void)snprintf(text, sizeof(text), "NOERROR\ngood.test 60 %s %s\n",
		       row->type, is_v4 ? "11.0.0.1" : "2a0e:b107::1");
	assert_text(rep, text);
	ck_assert_uint_eq(l->n_refused, 2);
	end(l);
}
END_TEST

START_TEST(test_private_by_leave)
{
	struct lab *l = lab_new("db.test:5432 private\n*.test:443");
	struct lab_reply *rep = lab_query(l, "db.test", "A");

	(void)addr_parse("11.0.0.77", &l->host[l->n_host++]);
	ck_assert(lab_upstream(l, 0,
			       "db.test 60 A 10.0.0.5\n"
			       "db.test 60 A 11.0.0.77"));
	assert_text(rep, "NOERROR\ndb.test 60 A 10.0.0.5\n"
			 "db.test 60 A 11.0.0.77\n");
	ck_assert(lab_open(l, "10.0.0.5", 5432));
	ck_assert(lab_open(l, "11.0.0.77", 5432));
	/* The entry without `private` opens nothing there. */
	ck_assert(!lab_open(l, "10.0.0.5", 443));
	ck_assert(!lab_open(l, "11.0.0.77", 443));
	end(l);
}
END_TEST

START_TEST(test_types_answered_here)
{
	struct lab *l = lab_new("good.test");

	assert_text(lab_query(l, "good.test", "HTTPS"),
		    "NOERROR\n" SOA("test"));
	assert_text(lab_query(l, "good.test", "SVCB"), "NOERROR\n" SOA("test"));
	assert_text(lab_query(l, "good.test", "NULL"), "NOERROR\n" SOA("test"));
	assert_text(lab_query(l, "good.test", "ANY"),
		    "NOERROR\ngood.test 3600 HINFO 9\n");
	assert_text(lab_query(l, "good.test", "AXFR"), "REFUSED\n");
	l->has_ipv6 = false;
	assert_text(lab_query(l, "good.test", "AAAA"), "NOERROR\n" SOA("test"));
	ck_assert_uint_eq(l->n_asks, 0);
	end(l);
}
END_TEST

START_TEST(test_malformed_and_unsupported)
{
	static const uint8_t cut[] = "\1\2\1\0\0\1\0\0\0\0\0\0\4goo";
	static const uint8_t two[] = "\1\2\1\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1";
	static const uint8_t notify[] =
		"\1\2\x21\0\0\1\0\0\0\0\0\0\1a\0\0\6\0\1";
	static const uint8_t resp[] = "\1\2\x81\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1";
	static const uint8_t loop[] =
		"\1\2\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1";
	static const uint8_t vers[] =
		"\1\2\1\0\0\1\0\0\0\0\0\1\4good\4test\0\0\1\0\1"
		"\0\0\51\4\xd0\0\1\0\0\0\0";
	struct lab_question chaos = { "good.test", "TXT", 3, 0, false, false };
	struct lab *l = lab_new("good.test");
	struct lab_reply *rep;

	assert_text(lab_send(l, cut, 11, false, false), "silence");
	assert_text(lab_send(l, cut, sizeof(cut) - 1, false, false),
		    "FORMERR\n");
	assert_text(lab_send(l, two, sizeof(two) - 1, false, false),
		    "FORMERR\n");
	assert_text(lab_send(l, loop, sizeof(loop) - 1, false, false),
		    "FORMERR\n");
	assert_text(lab_send(l, resp, sizeof(resp) - 1, false, false),
		    "silence");
	assert_text(lab_send(l, notify, sizeof(notify) - 1, false, false),
		    "NOTIMP\n");
	assert_text(lab_ask(l, &chaos), "REFUSED\n");
	rep = lab_send(l, vers, sizeof(vers) - 1, false, false);
	assert_text(rep, "NOERROR\nopt\n"); /* the low bits of BADVERS */
	ck_assert_uint_eq(rep->msg[rep->len - 6], 1); /* the high ones */
	ck_assert_uint_eq(l->n_asks, 0);
	end(l);
}
END_TEST

START_TEST(test_case_and_bits_of_the_question)
{
	struct lab *l = lab_new("good.test");
	struct lab_reply *rep = lab_query(l, "gOOd.TesT", "A");

	ck_assert(lab_upstream(l, 0, "good.test 60 A 11.0.0.1"));
	ck_assert(rep->is_done);
	ck_assert_mem_eq(rep->msg + 12, "\4gOOd\4TesT\0\0\1\0\1", 15);
	ck_assert_uint_eq(wire_get16(rep->msg), 0x1234);
	/* QR, RD, RA; no AA, no AD. */
	ck_assert_uint_eq(wire_get16(rep->msg + 2), 0x8180);
	end(l);
}
END_TEST

static void write_many(char *dst, size_t size, unsigned int n)
{
	size_t at = 0;

	for (unsigned int i = 0; i < n; i++)
		at += (size_t)snprintf(dst + at, size - at,
				       "big.test 60 A 11.1.%u.%u\n", i / 250,
				       i % 250 + 1);
}

START_TEST(test_sizes)
{
	static const struct {
		unsigned int n;
		uint16_t edns;
		bool tcp, is_cut;
	} rows[] = {
		{ 25, 0, false, false },    { 60, 0, false, true },
		{ 60, 1232, false, false }, { 400, 1232, false, true },
		{ 400, 4096, false, true }, { 250, 65535, false, false },
		{ 400, 0, true, false },    { 1024, 0, true, false },
		{ 60, 100, false, true },
	};
	static char text[1 << 17];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct lab_question q = { .name = "big.test",
						.type = "A",
						.edns = rows[i].edns,
						.tcp = rows[i].tcp };
		struct lab *l = lab_new("big.test");
		struct lab_reply *rep = lab_ask(l, &q);

		write_many(text, sizeof(text), rows[i].n);
		ck_assert(lab_upstream(l, 0, text));
		ck_assert_int_eq(!!strstr(lab_text(rep), " tc"),
				 rows[i].is_cut);
		if (!rows[i].is_cut)
			ck_assert_uint_eq(wire_get16(rep->msg + 6), rows[i].n);
		/* All are open at once, cut or not. */
		ck_assert_uint_eq(l->n_elems, 2 * rows[i].n);
		end(l);
	}
}
END_TEST

START_TEST(test_too_many_addresses)
{
	static char text[1 << 17];
	struct lab *l = lab_new("big.test");
	const struct lab_question q = { .name = "big.test",
					.type = "A",
					.tcp = true };
	struct lab_reply *rep = lab_ask(l, &q);

	write_many(text, sizeof(text), 2000);
	ck_assert(lab_upstream(l, 0, text));
	ck_assert_uint_eq(wire_get16(rep->msg + 6), 1024);
	ck_assert_uint_eq(l->n_elems, 2048);
	end(l);
}
END_TEST

START_TEST(test_cached_answer_counts_down_and_renews)
{
	struct lab *l = lab_new("good.test");
	struct lab_reply *rep;

	(void)lab_query(l, "good.test", "A");
	(void)lab_upstream(l, 0, "good.test 60 A 11.0.0.1");
	lab_advance(l, 50000);
	rep = lab_query(l, "GOOD.test", "A");
	assert_text(rep, "NOERROR\ngood.test 10 A 11.0.0.1\n");
	ck_assert_uint_eq(l->n_asks, 1);
	/* Told 10 s at 50: open at least until 110. */
	lab_advance(l, 59000);
	ck_assert(lab_open(l, "11.0.0.1", 443));
	rep = lab_query(l, "good.test", "A");
	assert_text(rep, "none");
	ck_assert_uint_eq(lab_n_open_asks(l), 1);
	(void)lab_upstream(l, 0, "good.test 60 A 11.0.0.1");
	lab_advance(l, 89000);
	ck_assert(lab_open(l, "11.0.0.1", 443));
	lab_advance(l, 2000);
	ck_assert(!lab_open(l, "11.0.0.1", 443));
	end(l);
}
END_TEST

/* A TTL of 0 is passed on, and the address stays open for the floor. */
START_TEST(test_ttl_zero)
{
	struct lab *l = lab_new("t0.test");
	struct lab_reply *rep = lab_query(l, "t0.test", "A");

	(void)lab_upstream(l, 0, "t0.test 0 A 11.0.0.1");
	assert_text(rep, "NOERROR\nt0.test 0 A 11.0.0.1\n");
	lab_advance(l, 59000);
	ck_assert(lab_open(l, "11.0.0.1", 443));
	lab_advance(l, 2000);
	ck_assert(!lab_open(l, "11.0.0.1", 443));
	(void)lab_query(l, "t0.test", "A");
	ck_assert_uint_eq(lab_n_open_asks(l), 1);
	end(l);
}
END_TEST

START_TEST(test_use_keeps_open)
{
	struct lab *l = lab_new("keep.test");

	(void)lab_query(l, "keep.test", "A");
	(void)lab_upstream(l, 0,
			   "keep.test 1 A 11.0.0.1\nkeep.test 1 A 11.0.0.2");
	lab_use(l, "11.0.0.1");
	lab_advance(l, 1200000);
	ck_assert(lab_open(l, "11.0.0.1", 443));
	ck_assert(lab_open(l, "11.0.0.2", 443)); /* its sibling */
	lab_unuse(l, "11.0.0.1");
	lab_advance(l, 29000);
	ck_assert(lab_open(l, "11.0.0.1", 443));
	lab_advance(l, 62000);
	ck_assert(!lab_open(l, "11.0.0.1", 443));
	ck_assert(!lab_open(l, "11.0.0.2", 443));
	end(l);
}
END_TEST

/* A new address at every answer; the set stays small. */
START_TEST(test_rotating_name)
{
	struct lab *l = lab_new("cdn.test");
	size_t peak = 0;

	for (unsigned int i = 0; i < 120; i++) {
		struct lab_reply *rep = lab_query(l, "cdn.test", "A");
		char text[64];

		(void)snprintf(text, sizeof(text), "cdn.test 5 A 11.0.1.%u",
			       i % 200 + 1);
		ck_assert(lab_upstream(l, 0, text));
		ck_assert(rep->is_done && !l->broken);
		lab_advance(l, 5000);
		peak = l->n_elems > peak ? l->n_elems : peak;
	}
	ck_assert_uint_le(peak, 2 * 13);
	end(l);
}
END_TEST

START_TEST(test_duplicates_are_joined)
{
	struct lab *l = lab_new("good.test");
	struct lab_reply *rep[3];

	l->grant_mode = LAB_GRANT_LATER;
	rep[0] = lab_query(l, "good.test", "A");
	rep[1] = lab_query(l, "Good.test", "A");
	ck_assert_uint_eq(l->n_asks, 1);
	(void)lab_upstream(l, 0, "good.test 60 A 11.0.0.1");
	rep[2] = lab_query(l, "good.test", "A"); /* while it is granted */
	ck_assert_uint_eq(l->n_asks, 1);
	ck_assert_uint_eq(l->n_grants, 1);
	for (size_t i = 0; i < 3; i++)
		assert_text(rep[i], "none");
	(void)lab_ack(l, 0);
	for (size_t i = 0; i < 3; i++)
		assert_text(rep[i], "NOERROR\ngood.test 60 A 11.0.0.1\n");
	end(l);
}
END_TEST

/* An answer waits for elements that another one is having made. */
START_TEST(test_waits_for_anothers_elements)
{
	struct lab *l = lab_new("a.test\nb.test");
	struct lab_reply *a, *b;

	l->grant_mode = LAB_GRANT_LATER;
	a = lab_query(l, "a.test", "A");
	b = lab_query(l, "b.test", "A");
	(void)lab_upstream(l, 0, "a.test 60 A 11.0.0.1");
	(void)lab_upstream(l, 0, "b.test 60 A 11.0.0.1");
	ck_assert_uint_eq(l->n_grants, 1);
	assert_text(b, "none");
	(void)lab_ack(l, 0);
	assert_text(a, "NOERROR\na.test 60 A 11.0.0.1\n");
	assert_text(b, "NOERROR\nb.test 60 A 11.0.0.1\n");
	ck_assert_uint_eq(l->n_grants, 0);
	end(l);
}
END_TEST

START_TEST(test_ports_of_several_names_are_joined)
{
	struct lab *l = lab_new("a.test:443\nb.test:400-500\nc.test:450-600");

	(void)lab_query(l, "a.test", "A");
	(void)lab_upstream(l, 0, "a.test 10 A 11.0.0.1");
	(void)lab_query(l, "b.test", "A");
	(void)lab_upstream(l, 0, "b.test 100 A 11.0.0.1");
	(void)lab_query(l, "c.test", "A");
	(void)lab_upstream(l, 0, "c.test 1000 A 11.0.0.1");
	ck_assert(lab_open(l, "11.0.0.1", 443));
	ck_assert(lab_open(l, "11.0.0.1", 400));
	ck_assert(lab_open(l, "11.0.0.1", 600));
	lab_advance(l, 70000); /* a.test ends: nothing is lost */
	ck_assert(lab_open(l, "11.0.0.1", 443));
	ck_assert(lab_open(l, "11.0.0.1", 401));
	lab_advance(l, 70000); /* b.test ends */
	ck_assert(!lab_open(l, "11.0.0.1", 443));
	ck_assert(!lab_open(l, "11.0.0.1", 449));
	ck_assert(lab_open(l, "11.0.0.1", 450));
	ck_assert(lab_open(l, "11.0.0.1", 600));
	lab_advance(l, 1000000);
	ck_assert_uint_eq(l->n_elems, 0);
	end(l);
}
END_TEST

START_TEST(test_deletion_and_need_cross)
{
	struct lab *l = lab_new("a.test:443\nb.test:443");
	struct lab_reply *b;

	(void)lab_query(l, "a.test", "A");
	(void)lab_upstream(l, 0, "a.test 10 A 11.0.0.1");
	l->grant_mode = LAB_GRANT_LATER;
	lab_advance(l, 70000);
	ck_assert_uint_eq(l->n_grants, 1); /* the deletion, on its way */
	b = lab_query(l, "b.test", "A");
	(void)lab_upstream(l, 0, "b.test 60 A 11.0.0.1");
	assert_text(b, "none");
	ck_assert_uint_eq(l->n_grants, 1);
	(void)lab_ack(l, 0);
	assert_text(b, "none");
	ck_assert_uint_eq(l->n_grants, 1); /* now the addition */
	(void)lab_ack(l, 0);
	assert_text(b, "NOERROR\nb.test 60 A 11.0.0.1\n");
	ck_assert(lab_open(l, "11.0.0.1", 443));
	end(l);
}
END_TEST

START_TEST(test_refused_deletion_is_tried_again)
{
	struct lab *l = lab_new("a.test:443");

	(void)lab_query(l, "a.test", "A");
	(void)lab_upstream(l, 0, "a.test 10 A 11.0.0.1");
	l->grant_mode = LAB_GRANT_FAIL;
	lab_advance(l, 70000);
	ck_assert_uint_ge(l->n_failed, 1);
	ck_assert_uint_le(l->n_failed, 12); /* once a second, no storm */
	ck_assert(lab_open(l, "11.0.0.1", 443));
	l->grant_mode = LAB_GRANT_NOW;
	lab_advance(l, 3000);
	ck_assert(!lab_open(l, "11.0.0.1", 443));
	end(l);
}
END_TEST

START_TEST(test_policy_edit)
{
	struct lab *l = lab_new("a.test\nb.test:22");

	(void)lab_query(l, "a.test", "A");
	(void)lab_upstream(l, 0,
			   "a.test 600 A 11.0.0.1\na.test 600 A 11.0.0.2");
	(void)lab_query(l, "b.test", "A");
	(void)lab_upstream(l, 0, "b.test 600 A 11.0.0.1");
	ck_assert_uint_eq(l->n_elems, 5);
	l->fail_change = true;
	ck_assert_int_eq(lab_set_policy(l, "b.test:22"), -ENFILE);
	ck_assert(lab_open(l, "11.0.0.2", 443)); /* no trace */
	assert_text(lab_query(l, "a.test", "A"),
		    "NOERROR\na.test 600 A 11.0.0.1\na.test 600 A 11.0.0.2\n");
	l->fail_change = false;
	ck_assert_int_eq(lab_set_policy(l, "b.test:22,443"), 0);
	ck_assert(!lab_open(l, "11.0.0.2", 443));
	ck_assert(!lab_open(l, "11.0.0.1", 80));
	ck_assert(lab_open(l, "11.0.0.1", 443)); /* b's now; never closed */
	ck_assert(lab_open(l, "11.0.0.1", 22));
	ck_assert_uint_eq(l->n_change_del, 3);
	ck_assert_uint_eq(l->n_change_add, 0);
	assert_text(lab_query(l, "a.test", "A"), "NXDOMAIN\n" SOA("test"));
	ck_assert_int_eq(lab_set_policy(l, "a.test\nb.test\n!11.0.0.0/8"), 0);
	ck_assert_uint_eq(l->n_elems, 0);
	end(l);
}
END_TEST

START_TEST(test_policy_edit_while_under_way)
{
	struct lab *l = lab_new("a.test\nb.test");
	struct lab_reply *a = lab_query(l, "a.test", "A"), *b;

	ck_assert_int_eq(lab_set_policy(l, "b.test"), 0);
	(void)lab_upstream(l, 0, "a.test 60 A 11.0.0.1"); /* comes too late */
	assert_text(a, "NXDOMAIN\n" SOA("test"));
	ck_assert_uint_eq(l->n_elems, 0);
	l->grant_mode = LAB_GRANT_LATER;
	b = lab_query(l, "b.test", "A");
	(void)lab_upstream(l, 0, "b.test 60 A 11.0.0.2");
	ck_assert_int_eq(lab_set_policy(l, "a.test"), 0); /* while granted */
	(void)lab_ack(l, 0);
	assert_text(b, "NXDOMAIN\n" SOA("test"));
	while (lab_ack(l, 0))
		;
	ck_assert_uint_eq(l->n_elems, 0);
	end(l);
}
END_TEST

/* Ports changed while granted: judged, and asked, anew. */
START_TEST(test_policy_edit_changes_ports_under_way)
{
	struct lab *l = lab_new("a.test:443");
	struct lab_reply *a;

	l->grant_mode = LAB_GRANT_LATER;
	a = lab_query(l, "a.test", "A");
	(void)lab_upstream(l, 0, "a.test 60 A 11.0.0.1");
	ck_assert_int_eq(lab_set_policy(l, "a.test:22"), 0);
	while (lab_ack(l, 0))
		;
	assert_text(a, "none");
	ck_assert(lab_upstream(l, 0, "a.test 60 A 11.0.0.1"));
	while (lab_ack(l, 0))
		;
	assert_text(a, "NOERROR\na.test 60 A 11.0.0.1\n");
	ck_assert(lab_open(l, "11.0.0.1", 22));
	ck_assert(!lab_open(l, "11.0.0.1", 443));
	end(l);
}
END_TEST

START_TEST(test_silence_of_upstream)
{
	struct lab *l = lab_new("slow.test");
	struct lab_reply *rep = lab_query_edns(l, "slow.test", "A"), *late;

	lab_advance(l, 9000);
	assert_text(rep, "SERVFAIL\nede 22 no answer from upstream in time\n");
	late = lab_query_edns(l, "slow.test", "A");
	ck_assert_uint_eq(l->n_asks, 1); /* joined */
	(void)lab_upstream_bytes(l, -ETIMEDOUT, NULL, 0);
	assert_text(late, "SERVFAIL\nede 22 no answer from upstream in time\n");
	late = lab_query_edns(l, "slow.test", "A");
	(void)lab_upstream_bytes(l, -ECONNREFUSED, NULL, 0);
	assert_text(late, "SERVFAIL\nede 23 upstream can't be reached\n");
	late = lab_query_edns(l, "slow.test", "A");
	(void)lab_upstream(l, 2, "");
	assert_text(late, "SERVFAIL\nede 23 upstream failed\n");
	end(l);
}
END_TEST

START_TEST(test_too_many_under_way)
{
	struct lab *l = lab_new("*.test");
	struct lab_reply *rep = NULL;
	struct resolver_stats stats;

	for (unsigned int i = 0; i < 1025; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "n%u.test", i);
		rep = lab_query(l, name, "A");
	}
	assert_text(rep, "SERVFAIL\n");
	ck_assert_uint_eq(l->n_asks, 1024);
	resolver_get_stats(l->r, &stats);
	ck_assert_uint_eq(stats.in_flight, 1024);
	ck_assert_uint_eq(stats.servfail, 1);
	while (lab_upstream(l, 3, ""))
		;
	end(l);
}
END_TEST

struct check_row {
	const char *name, *want;
};

static const struct check_row check_rows[] = {
	{ "_443._tcp.good.test", "allowed rule=good.test" },
	{ "_22._tcp.good.test", "refused reason=port" },
	{ "_443._udp.good.test", "refused reason=port" },
	{ "_443._tcp.evil.test", "refused reason=not_listed" },
	{ "_443._tcp.bad.test", "refused reason=denied" },
	{ "_443._tcp.203-0-113-7.ip4", "refused reason=private" },
	{ "_5432._tcp.11-7-0-1.ip4", "allowed rule=11.7.0.0/16:5432" },
	{ "_443._tcp.11-0-0-1.ip4", "allowed rule=good.test" },
	{ "_22._tcp.11-0-0-1.ip4", "refused reason=port" },
	{ "_443._tcp.2a0e-b107--7.ip6", "refused reason=not_listed" },
};

START_TEST(test_check)
{
	const struct check_row *row = &check_rows[_i];
	struct lab *l = lab_new("good.test\n!bad.test\n11.7.0.0/16:5432");
	char name[128], want[256];

	(void)lab_query(l, "good.test", "A");
	(void)lab_upstream(l, 0, "good.test 60 A 11.0.0.1");
	(void)snprintf(name, sizeof(name), "%s.check.egret.internal",
		       row->name);
	(void)snprintf(want, sizeof(want), "NOERROR\n%s 0 TXT %s\n", name,
		       row->want);
	assert_text(lab_query(l, name, "TXT"), want);
	ck_assert_uint_eq(l->n_asks, 1);
	ck_assert_uint_eq(l->n_refused, 0);
	end(l);
}
END_TEST

START_TEST(test_check_malformed)
{
	static const char *const names[] = {
		"x.check.egret.internal",
		"_443.good.test.check.egret.internal",
		"_65536._tcp.good.test.check.egret.internal",
		"_443._xyz.good.test.check.egret.internal",
		"_443._tcp.check.egret.internal",
		"_._tcp.a.check.egret.internal",
	};
	struct lab *l = lab_new("good.test");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_msg(!strncmp(lab_text(lab_query(l, names[i], "TXT")),
				       "NXDOMAIN", 8),
			      "%s", names[i]);
	end(l);
}
END_TEST

START_TEST(test_judge_addr)
{
	struct lab *l = lab_new("a.test\nmail.test:*");
	struct policy_verdict v;
	struct dnsname name;
	struct addr a;

	(void)lab_query(l, "a.test", "A");
	(void)lab_upstream(l, 0, "a.test 60 A 11.0.0.1");
	(void)lab_query(l, "mail.test", "A");
	(void)lab_upstream(l, 0, "mail.test 60 A 11.0.0.2");
	(void)addr_parse("11.0.0.1", &a);
	v = resolver_judge_addr(l->r, &a, POLICY_TCP, 443, &name);
	ck_assert_int_eq(v.reason, POLICY_ALLOWED);
	ck_assert_uint_eq(v.entry, 0);
	v = resolver_judge_addr(l->r, &a, POLICY_TCP, 22, NULL);
	ck_assert_int_eq(v.reason, POLICY_PORT);
	(void)addr_parse("11.0.0.2", &a);
	v = resolver_judge_addr(l->r, &a, POLICY_TCP, 9999, NULL);
	ck_assert_int_eq(v.reason, POLICY_ALLOWED);
	v = resolver_judge_addr(l->r, &a, POLICY_TCP, 25, NULL);
	ck_assert_int_eq(v.reason, POLICY_PORT);
	(void)addr_parse("11.0.0.3", &a);
	v = resolver_judge_addr(l->r, &a, POLICY_TCP, 443, NULL);
	ck_assert_int_eq(v.reason, POLICY_NOT_LISTED);
	end(l);
}
END_TEST

START_TEST(test_malformed_upstream)
{
	static const char *const texts[] = { "", "x", "\1\2\x81\x80\0\1" };
	struct lab *l = lab_new("good.test");
	struct lab_reply *rep;
	uint8_t msg[512];
	struct dnsname other = lab_name("evil.test");

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		rep = lab_query(l, "good.test", "A");
		(void)lab_upstream_bytes(l, 0, (const uint8_t *)texts[i],
					 strlen(texts[i]));
		assert_text(rep, "SERVFAIL\n");
	}
	rep = lab_query(l, "good.test", "A"); /* of another question */
	(void)lab_upstream_bytes(l, 0, msg,
				 lab_message(msg, sizeof(msg), &other, WIRE_A,
					     0, "good.test 60 A 11.0.0.1"));
	assert_text(rep, "SERVFAIL\n");
	ck_assert_uint_eq(l->n_elems, 0);
	end(l);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("resolver");
	TCase *t = tcase_create("scenarios");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_allowed_is_opened_before_the_answer);
	tcase_add_test(t, test_kernel_refuses);
	tcase_add_loop_test(t, test_denied_never_leaves, 0,
			    ARRAY_SIZE(denied_names));
	tcase_add_test(t, test_refusal_explains_itself);
	tcase_add_loop_test(t, test_local_names, 0, ARRAY_SIZE(local_rows));
	tcase_add_test(t, test_listed_special_name_is_asked);
	tcase_add_test(t, test_reverse_of_learned);
	tcase_add_loop_test(t, test_answers, 0, ARRAY_SIZE(answer_rows));
	tcase_add_test(t, test_chain_lengths);
	tcase_add_loop_test(t, test_special_addresses_are_taken_out, 0,
			    ARRAY_SIZE(strip_rows));
	tcase_add_test(t, test_private_by_leave);
	tcase_add_test(t, test_types_answered_here);
	tcase_add_test(t, test_malformed_and_unsupported);
	tcase_add_test(t, test_case_and_bits_of_the_question);
	tcase_add_test(t, test_sizes);
	tcase_add_test(t, test_too_many_addresses);
	tcase_add_test(t, test_cached_answer_counts_down_and_renews);
	tcase_add_test(t, test_ttl_zero);
	tcase_add_test(t, test_use_keeps_open);
	tcase_add_test(t, test_rotating_name);
	tcase_add_test(t, test_duplicates_are_joined);
	tcase_add_test(t, test_waits_for_anothers_elements);
	tcase_add_test(t, test_ports_of_several_names_are_joined);
	tcase_add_test(t, test_deletion_and_need_cross);
	tcase_add_test(t, test_refused_deletion_is_tried_again);
	tcase_add_test(t, test_policy_edit);
	tcase_add_test(t, test_policy_edit_while_under_way);
	tcase_add_test(t, test_policy_edit_changes_ports_under_way);
	tcase_add_test(t, test_silence_of_upstream);
	tcase_add_test(t, test_too_many_under_way);
	tcase_add_loop_test(t, test_check, 0, ARRAY_SIZE(check_rows));
	tcase_add_test(t, test_check_malformed);
	tcase_add_test(t, test_judge_addr);
	tcase_add_test(t, test_malformed_upstream);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
