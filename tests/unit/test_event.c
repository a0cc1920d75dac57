/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_event.c - events as JSON and as sentences; remedies that parse */
#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gateway/event.h"
#include "policy/policy.h"

/* ---- JSON ---- */

static json_t *json_of(const struct event *e)
{
	char *text = NULL;
	json_t *o;

	ck_assert_int_eq(event_json(e, "study42", &text), 0);
	ck_assert_ptr_null(strchr(text, '\n'));
	o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_ptr_nonnull(o);
	free(text);
	return o;
}

static const char *str_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static json_int_t num_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

START_TEST(unknown_is_absent)
{
	struct event e;
	json_t *o;

	event_init(&e, EVENT_POLICY, EVENT_KIND_NONE);
	o = json_of(&e);
	ck_assert_uint_eq(json_object_size(o), 3);
	ck_assert_uint_eq(strlen(str_of(o, "time")), 24);
	ck_assert_str_eq(str_of(o, "sandbox"), "study42");
	ck_assert_str_eq(str_of(o, "event"), "policy");
	json_decref(o);
}
END_TEST

START_TEST(known_is_present)
{
	struct event e;
	json_t *o;

	event_init(&e, EVENT_REFUSED, EVENT_KIND_DNS);
	strcpy(e.time, "2026-01-31T12:00:00.123Z");
	strcpy(e.name, "evil.example");
	strcpy(e.qtype, "AAAA");
	ck_assert_int_eq(addr_parse("2a0e:b107::9", &e.addr), 0);
	e.port = 65535;
	e.reason = EVENT_REASON_PRIVATE;
	strcpy(e.entry, "!evil.example");
	strcpy(e.text, "unique local");
	e.pid = 4711;
	strcpy(e.comm, "curl");
	e.bytes_out = 1;
	e.bytes_in = 1ULL << 40;
	e.count = 7;
	o = json_of(&e);
	ck_assert_uint_eq(json_object_size(o), 16);
	ck_assert_str_eq(str_of(o, "time"), "2026-01-31T12:00:00.123Z");
	ck_assert_str_eq(str_of(o, "kind"), "dns");
	ck_assert_str_eq(str_of(o, "name"), "evil.example");
	ck_assert_str_eq(str_of(o, "qtype"), "AAAA");
	ck_assert_str_eq(str_of(o, "addr"), "2a0e:b107::9");
	ck_assert_int_eq(num_of(o, "port"), 65535);
	ck_assert_str_eq(str_of(o, "reason"), "private");
	ck_assert_str_eq(str_of(o, "entry"), "!evil.example");
	ck_assert_str_eq(str_of(o, "text"), "unique local");
	ck_assert_int_eq(num_of(o, "pid"), 4711);
	ck_assert_str_eq(str_of(o, "comm"), "curl");
	ck_assert_int_eq(num_of(o, "bytes_out"), 1);
	ck_assert_int_eq(num_of(o, "bytes_in"), 1LL << 40);
	ck_assert_int_eq(num_of(o, "count"), 7);
	json_decref(o);
}
END_TEST

/* A process names itself as it likes. */
START_TEST(hostile_bytes_in_json)
{
	static const struct {
		const char *comm, *want;
	} tests[] = {
		{ "\xff\xfe", "\\xFF\\xFE" },
		{ "a\"b\\\n\x1b[2J", "a\"b\\\n\x1b[2J" }, /* as \u001b */
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "\xc3", "\\xC3" },
		{ "\xed\xa0\x80", "\\xED\\xA0\\x80" }, /* a surrogate */
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		struct event e;
		char *text = NULL;
		json_t *o;

		event_init(&e, EVENT_REFUSED, EVENT_KIND_TCP);
		strcpy(e.comm, tests[i].comm);
		o = json_of(&e);
		ck_assert_str_eq(str_of(o, "comm"), tests[i].want);
		json_decref(o);
		ck_assert_int_eq(event_json(&e, "x", &text), 0);
		ck_assert_ptr_null(strpbrk(text, "\x1b\n"));
		free(text);
	}
}
END_TEST

START_TEST(words)
{
	static const char *const types[] = { "refused", "allowed", "learned",
					     "closed",	"policy",  "error" };
	static const char *const kinds[] = { "",     "dns", "tcp",  "udp",
					     "icmp", "tls", "http", "packet" };
	static const char *const reasons[] = {
		"",	   "not_listed",    "port",    "denied",
		"private", "name_mismatch", "no_name", "protocol",
		"limit",   "upstream",
	};

	for (unsigned int i = 0; i < EVENT_TYPE_MAX; i++)
		ck_assert_str_eq(event_type_str(i), types[i]);
	for (unsigned int i = 0; i < EVENT_KIND_MAX; i++)
		ck_assert_str_eq(event_kind_str(i), kinds[i]);
	for (unsigned int i = 0; i < EVENT_REASON_MAX; i++)
		ck_assert_str_eq(event_reason_str(i), reasons[i]);
}
END_TEST

START_TEST(message_is_checked)
{
	struct event e;

	memset(&e, 0, sizeof(e));
	memset(e.time, 'x', sizeof(e.time));
	memset(e.name, 'x', sizeof(e.name));
	memset(e.qtype, 'x', sizeof(e.qtype));
	memset(e.entry, 'x', sizeof(e.entry));
	memset(e.text, 'x', sizeof(e.text));
	memset(e.comm, 'x', sizeof(e.comm));
	ck_assert_int_eq(event_check(&e), 0);
	ck_assert_uint_eq(strlen(e.time), sizeof(e.time) - 1);
	ck_assert_uint_eq(strlen(e.name), sizeof(e.name) - 1);
	ck_assert_uint_eq(strlen(e.qtype), sizeof(e.qtype) - 1);
	ck_assert_uint_eq(strlen(e.entry), sizeof(e.entry) - 1);
	ck_assert_uint_eq(strlen(e.text), sizeof(e.text) - 1);
	ck_assert_uint_eq(strlen(e.comm), sizeof(e.comm) - 1);
	e.type = EVENT_TYPE_MAX;
	ck_assert_int_eq(event_check(&e), -EPROTO);
	e.type = EVENT_ERROR;
	e.kind = (enum event_kind) - 1;
	ck_assert_int_eq(event_check(&e), -EPROTO);
	e.kind = EVENT_KIND_PACKET;
	e.reason = EVENT_REASON_MAX;
	ck_assert_int_eq(event_check(&e), -EPROTO);
}
END_TEST

/* ---- sentences ---- */

struct sentence {
	enum event_kind kind;
	enum event_reason reason;
	const char *name, *addr;
	uint16_t port;
	const char *comm;  /* pid 4711 */
	const char *extra; /* qtype, text or entry, by kind and reason */
	const char *want;
};

#define ALLOW "; to allow: egret allow study42 "
#define NOT   "not on the allowlist"

static const struct sentence sentences[] = {
	{ EVENT_KIND_TCP, EVENT_REASON_NOT_LISTED, "evil.example",
	  "203.0.113.9", 443, "curl", "",
	  "refused evil.example:443/tcp [203.0.113.9] by curl(4711): " NOT ALLOW
	  "evil.example" },
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, "evil.example", NULL, 0,
	  "python3", "A",
	  "refused evil.example (DNS A) by python3(4711): " NOT ALLOW
	  "evil.example" },
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, "evil.example", NULL, 0,
	  NULL, "",
	  "refused evil.example (DNS query): " NOT ALLOW "evil.example" },
	/* ports: 443 and 80 are what an entry means */
	{ EVENT_KIND_TCP, EVENT_REASON_NOT_LISTED, NULL, "11.0.2.40", 22, NULL,
	  "", "refused 11.0.2.40:22/tcp: " NOT ALLOW "11.0.2.40:22" },
	{ EVENT_KIND_TCP, EVENT_REASON_NOT_LISTED, NULL, "11.0.2.40", 80, NULL,
	  "", "refused 11.0.2.40:80/tcp: " NOT ALLOW "11.0.2.40" },
	{ EVENT_KIND_TCP, EVENT_REASON_PORT, "a.example", "11.0.2.40", 8443,
	  NULL, "",
	  "refused a.example:8443/tcp [11.0.2.40]: the allowlist has this "
	  "host, but not this port" ALLOW "a.example:8443" },
	{ EVENT_KIND_UDP, EVENT_REASON_NOT_LISTED, "q.example", "11.0.2.40",
	  443, NULL, "",
	  "refused q.example:443/udp [11.0.2.40]: " NOT ALLOW
	  "q.example:443/udp" },
	{ EVENT_KIND_UDP, EVENT_REASON_NOT_LISTED, NULL, "11.0.2.40", 0, NULL,
	  "", "refused 11.0.2.40/udp: " NOT },
	{ EVENT_KIND_ICMP, EVENT_REASON_NOT_LISTED, NULL, "11.0.2.40", 0,
	  "ping", "",
	  "refused 11.0.2.40/icmp by ping(4711): " NOT ALLOW "11.0.2.40/icmp" },
	/* IPv6 */
	{ EVENT_KIND_TCP, EVENT_REASON_NOT_LISTED, NULL, "2a0e:b107::9", 22,
	  NULL, "",
	  "refused [2a0e:b107::9]:22/tcp: " NOT ALLOW "'[2a0e:b107::9]:22'" },
	{ EVENT_KIND_TCP, EVENT_REASON_NOT_LISTED, NULL, "2a0e:b107::9", 443,
	  NULL, "",
	  "refused [2a0e:b107::9]:443/tcp: " NOT ALLOW "'[2a0e:b107::9]'" },
	{ EVENT_KIND_UDP, EVENT_REASON_NOT_LISTED, NULL, "2a0e:b107::9", 53,
	  NULL, "",
	  "refused [2a0e:b107::9]:53/udp: " NOT ALLOW
	  "'[2a0e:b107::9]:53/udp'" },
	{ EVENT_KIND_ICMP, EVENT_REASON_NOT_LISTED, NULL, "2a0e:b107::9", 0,
	  NULL, "",
	  "refused [2a0e:b107::9]/icmp: " NOT ALLOW "'[2a0e:b107::9]/icmp'" },
	{ EVENT_KIND_TCP, EVENT_REASON_NOT_LISTED, "six.example",
	  "2a0e:b107::9", 443, NULL, "",
	  "refused six.example:443/tcp [2a0e:b107::9]: " NOT ALLOW
	  "six.example" },
	/* private */
	{ EVENT_KIND_DNS, EVENT_REASON_PRIVATE, "db.example", "10.0.0.5", 0,
	  NULL, "A",
	  "refused db.example (DNS A): a private or special-purpose address "
	  "(10.0.0.5)" ALLOW "'db.example private'" },
	{ EVENT_KIND_TCP, EVENT_REASON_PRIVATE, "db.example", "10.0.0.5", 5432,
	  NULL, "",
	  "refused db.example:5432/tcp [10.0.0.5]: a private or "
	  "special-purpose address" ALLOW "'db.example:5432 private'" },
	{ EVENT_KIND_TCP, EVENT_REASON_PRIVATE, NULL, "10.0.0.5", 5432, NULL,
	  "",
	  "refused 10.0.0.5:5432/tcp: a private or special-purpose "
	  "address" ALLOW "10.0.0.5:5432" },
	/* denied: another entry wouldn't help */
	{ EVENT_KIND_DNS, EVENT_REASON_DENIED, "ads.example", NULL, 0, NULL,
	  "!ads.example",
	  "refused ads.example (DNS query): denied by the allowlist (entry "
	  "'!ads.example')" },
	{ EVENT_KIND_TCP, EVENT_REASON_DENIED, NULL, "11.0.2.40", 443, NULL, "",
	  "refused 11.0.2.40:443/tcp: denied by the allowlist" },
	/* no entry would help */
	{ EVENT_KIND_TLS, EVENT_REASON_NAME_MISMATCH, "b.example", "11.0.2.40",
	  443, NULL, "",
	  "refused b.example:443/tcp [11.0.2.40]: the name it asked for isn't "
	  "allowed at this address" },
	{ EVENT_KIND_TLS, EVENT_REASON_NO_NAME, NULL, "11.0.2.40", 443, NULL,
	  "", "refused 11.0.2.40:443/tcp: it sent no server name" },
	{ EVENT_KIND_HTTP, EVENT_REASON_NAME_MISMATCH, NULL, "11.0.2.40", 80,
	  NULL, "",
	  "refused 11.0.2.40:80/tcp: the name it asked for isn't allowed at "
	  "this address" },
	{ EVENT_KIND_PACKET, EVENT_REASON_PROTOCOL, NULL, "11.0.2.40", 0, NULL,
	  "protocol 132",
	  "refused 11.0.2.40 (protocol 132): this protocol isn't let through" },
	{ EVENT_KIND_PACKET, EVENT_REASON_NOT_LISTED, NULL, "11.0.2.40", 0,
	  NULL, "", "refused 11.0.2.40 (packet): " NOT },
	{ EVENT_KIND_TCP, EVENT_REASON_LIMIT, NULL, "11.0.2.40", 443, NULL, "",
	  "refused 11.0.2.40:443/tcp: a limit of the sandbox is reached" },
	{ EVENT_KIND_TCP, EVENT_REASON_UPSTREAM, NULL, "11.0.2.40", 443, NULL,
	  "",
	  "refused 11.0.2.40:443/tcp: the destination or the way to it "
	  "failed" },
	{ EVENT_KIND_NONE, EVENT_REASON_NONE, NULL, NULL, 0, NULL, "",
	  "refused /tcp: refused" },
	{ EVENT_KIND_NONE, EVENT_REASON_NOT_LISTED, NULL, NULL, 0, NULL, "",
	  "refused /tcp: " NOT },
	/* who: a process chooses its name */
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, "e.example", NULL, 0,
	  "\x1b[2J\n\xff\\", "A",
	  "refused e.example (DNS A) by \\x1B[2J\\x0A\\xFF\\x5C(4711): " NOT
		  ALLOW "e.example" },
	/* the command chooses the names: none must do harm in a shell or mean
	   another entry */
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, "$(reboot).example", NULL, 0,
	  NULL, "A", "refused $(reboot).example (DNS A): " NOT },
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, ";id>x;.example", NULL, 0,
	  NULL, "A", "refused ;id>x;.example (DNS A): " NOT },
	{ EVENT_KIND_DNS, EVENT_REASON_PRIVATE, "'`id`'.example", "10.0.0.5", 0,
	  NULL, "A",
	  "refused '`id`'.example (DNS A): a private or special-purpose "
	  "address (10.0.0.5)" },
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, "*.evil.example", NULL, 0,
	  NULL, "A", "refused *.evil.example (DNS A): " NOT },
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, "@pypi", NULL, 0, NULL, "A",
	  "refused @pypi (DNS A): " NOT },
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, "-rf.example", NULL, 0, NULL,
	  "A", "refused -rf.example (DNS A): " NOT },
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, "169.254.169.254", NULL, 0,
	  NULL, "A", "refused 169.254.169.254 (DNS A): " NOT },
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, "a\\032b.example", NULL, 0,
	  NULL, "A", "refused a\\032b.example (DNS A): " NOT },
	{ EVENT_KIND_DNS, EVENT_REASON_NOT_LISTED, ".", NULL, 0, NULL, "NS",
	  "refused . (DNS NS): " NOT },
};

static void fill(struct event *e, const struct sentence *s)
{
	event_init(e, EVENT_REFUSED, s->kind);
	e->reason = s->reason;
	if (s->name)
		strcpy(e->name, s->name);
	if (s->addr)
		ck_assert_int_eq(addr_parse(s->addr, &e->addr), 0);
	e->port = s->port;
	if (s->comm) {
		e->pid = 4711;
		strcpy(e->comm, s->comm);
	}
	if (s->reason == EVENT_REASON_DENIED)
		strcpy(e->entry, s->extra);
	else if (s->kind == EVENT_KIND_DNS)
		strcpy(e->qtype, s->extra);
	else
		strcpy(e->text, s->extra);
}

/* What is suggested must be an entry, and one of the lists' own language. */
static void check_remedy(const char *line)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	char entry[256];
	const char *at = strstr(line, ALLOW);
	size_t n = 0;

	if (!at)
		return;
	at += strlen(ALLOW);
	if (*at == '\'')
		at++;
	strcpy(entry, at);
	entry[strcspn(entry, "'")] = '\0';
	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(policy_builder_add_text(b, "x", entry, strlen(entry)),
			 0);
	(void)policy_builder_errors(b, &n);
	ck_assert_msg(n == 0, "no entry: %s", entry);
}

START_TEST(refusals)
{
	char line[EVENT_LINE_MAX];
	struct event e;

	fill(&e, &sentences[_i]);
	ck_assert_str_eq(event_sentence(&e, "study42", line, sizeof(line)),
			 sentences[_i].want);
	check_remedy(line);
}
END_TEST

START_TEST(others_say_their_text)
{
	char line[EVENT_LINE_MAX];
	struct event e;

	for (unsigned int t = EVENT_ALLOWED; t < EVENT_TYPE_MAX; t++) {
		event_init(&e, t, EVENT_KIND_NONE);
		strcpy(e.text, "the allowlist changed");
		ck_assert_str_eq(event_sentence(&e, "x", line, sizeof(line)),
				 "the allowlist changed");
	}
}
END_TEST

/* Cut at every length, never written beyond. */
START_TEST(bounded)
{
	char whole[EVENT_LINE_MAX], line[EVENT_LINE_MAX];
	struct event e;

	fill(&e, &sentences[0]);
	event_sentence(&e, "study42", whole, sizeof(whole));
	for (size_t size = 1; size <= strlen(whole) + 1; size++) {
		memset(line, 'x', sizeof(line));
		event_sentence(&e, "study42", line, size);
		ck_assert_uint_eq(strlen(line), size - 1);
		ck_assert_mem_eq(line, whole, size - 1);
		ck_assert_int_eq(line[size], 'x');
	}
	memset(e.name, 'n', sizeof(e.name) - 1);
	memset(e.comm, '\x01', sizeof(e.comm) - 1);
	event_sentence(&e, "study42", line, sizeof(line));
	ck_assert_uint_lt(strlen(line), sizeof(line) - 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("event");
	TCase *tc = tcase_create("event");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, unknown_is_absent);
	tcase_add_test(tc, known_is_present);
	tcase_add_test(tc, hostile_bytes_in_json);
	tcase_add_test(tc, words);
	tcase_add_test(tc, message_is_checked);
	tcase_add_loop_test(tc, refusals, 0, ARRAY_SIZE(sentences));
	tcase_add_test(tc, others_say_their_text);
	tcase_add_test(tc, bounded);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
