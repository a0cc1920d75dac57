/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * question.c - "may this be connected to": host, port and protocol from text
 *
 * The host goes through the parser of entries, so that both mean the same one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/parse.h"
#include "policy/policy_internal.h"
#include "policy/question.h"

#define QUESTION_TEXT_MAX 2048

static const struct {
	const char *scheme;
	uint16_t port;
} schemes[] = {
	{ "https", 443 }, { "http", 80 }, { "wss", 443 },
	{ "ws", 80 },	  { "ssh", 22 },  { "ftp", 21 },
};

static size_t span_size(struct span s)
{
	return (size_t)(s.end - s.at);
}

int policy_proto_parse(const char *text, size_t len, enum policy_proto *ret)
{
	unsigned int i;

	for (i = 0; i < POLICY_PROTO_MAX; i++) {
		const char *word = policy_proto_str((enum policy_proto)i);

		if (strlen(word) == len && !strncasecmp(word, text, len)) {
			*ret = (enum policy_proto)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Is @s an address rather than a name? */
static bool looks_like_addr(struct span s)
{
	char copy[ADDR_STR_LEN];
	struct addr a;

	if (memchr(s.at, ':', span_size(s)))
		return true;
	if (span_size(s) >= sizeof(copy))
		return false;
	memcpy(copy, s.at, span_size(s));
	copy[span_size(s)] = '\0';
	return addr_parse(copy, &a) == 0;
}

static int set_host(struct policy_question *q, struct span s, struct err *err)
{
	static const struct span none;
	struct complaint c = { 0 };
	struct host host = { 0 };
	bool is_addr = false;
	int r;

	if (s.at < s.end && *s.at == '[' && s.end[-1] == ']') {
		s.at++;
		s.end--;
		is_addr = true;
	}
	if (s.at >= s.end)
		return err_set(err, -EINVAL, "a host is missing");
	is_addr = is_addr || looks_like_addr(s);
	r = is_addr ? host_parse_net(s, none, &host, &c)
		    : host_parse_name(s, &host, &c);
	if (r < 0)
		return err_set(err, r, "%s",
			       c.msg[0] ? c.msg : "out of memory");
	if (host.kind != HOST_NAME && host.kind != HOST_NET)
		return err_set(err, -EINVAL,
			       "one host can be checked, not a wildcard");
	memset(&q->addr, 0, sizeof(q->addr));
	memset(&q->name, 0, sizeof(q->name));
	if (host.kind == HOST_NET)
		q->addr = host.net.addr;
	else
		q->name = host.name;
	return 0;
}

int policy_question_set_host(struct policy_question *q, const char *host,
			     struct err *err)
{
	return set_host(q, (struct span){ host, host + strlen(host) }, err);
}

/* Cuts "scheme://" and what follows the authority off. */
static int cut_url(struct span *s, struct policy_question *q, struct err *err)
{
	const char *sep = strstr(s->at, "://"), *at;
	size_t i, len;

	if (!sep)
		return 0;
	len = (size_t)(sep - s->at);
	for (i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strlen(schemes[i].scheme) == len &&
		    !strncasecmp(schemes[i].scheme, s->at, len))
			break;
	if (i == ARRAY_SIZE(schemes))
		return err_set(err, -EINVAL,
			       "the URL's scheme isn't known; write HOST:PORT");
	q->port = schemes[i].port;
	s->at = sep + 3;
	s->end = s->at + strcspn(s->at, "/?#\\");
	at = memrchr(s->at, '@', span_size(*s));
	if (at)
		s->at = at + 1;
	return 0;
}

static int cut_proto(struct span *s, struct policy_question *q, struct err *err)
{
	const char *slash = memrchr(s->at, '/', span_size(*s));

	if (!slash)
		return 0;
	if (policy_proto_parse(slash + 1, (size_t)(s->end - slash - 1),
			       &q->proto) < 0)
		return err_set(err, -EINVAL,
			       "a protocol follows the '/': tcp, udp or icmp");
	s->end = slash;
	return 0;
}

/* A colon is the port's, unless it is one of several of a bare address. */
static const char *find_port(struct span s)
{
	const char *colon = memrchr(s.at, ':', span_size(s));

	if (!colon)
		return NULL;
	if (*s.at == '[')
		return colon > s.at && colon[-1] == ']' ? colon : NULL;
	return memchr(s.at, ':', span_size(s)) == colon ? colon : NULL;
}

static int cut_port(struct span *s, struct policy_question *q, struct err *err)
{
	const char *colon = find_port(*s);

	if (!colon)
		return 0;
	if (parse_u16(colon + 1, (size_t)(s->end - colon - 1), &q->port) < 0 ||
	    q->port == 0)
		return err_set(err, -EINVAL,
			       "a port is a number from 1 to 65535");
	if (q->proto == POLICY_ICMP)
		return err_set(err, -EINVAL, "ICMP has no ports");
	s->end = colon;
	return 0;
}

int policy_question_parse(const char *text, struct policy_question *ret,
			  struct err *err)
{
	struct policy_question q = { .port = POLICY_QUESTION_PORT };
	struct span s = { text, text + strlen(text) };
	bool is_url = strstr(text, "://");
	int r;

	if (span_size(s) > QUESTION_TEXT_MAX)
		return err_set(err, -EINVAL, "the host is too long");
	r = cut_url(&s, &q, err);
	if (r == 0 && !is_url)
		r = cut_proto(&s, &q, err);
	if (r == 0)
		r = cut_port(&s, &q, err);
	if (r == 0)
		r = set_host(&q, s, err);
	if (r < 0)
		return r;
	if (q.proto == POLICY_ICMP)
		q.port = 0;
	*ret = q;
	return 0;
}

char *policy_question_host(const struct policy_question *q,
			   char dst[static DNSNAME_STR_LEN])
{
	return q->addr.family ? addr_format(&q->addr, dst)
			      : dnsname_format(&q->name, dst);
}

char *policy_question_format(const struct policy_question *q,
			     char dst[static POLICY_QUESTION_STR_LEN])
{
	bool brackets = q->addr.family == AF_INET6;
	char host[DNSNAME_STR_LEN], port[8] = "";

	if (q->proto != POLICY_ICMP)
		(void)snprintf(port, sizeof(port), ":%u", q->port);
	(void)snprintf(dst, POLICY_QUESTION_STR_LEN, "%s%s%s%s/%s",
		       brackets ? "[" : "", policy_question_host(q, host),
		       brackets ? "]" : "", port, policy_proto_str(q->proto));
	return dst;
}

struct policy_verdict policy_judge_question(const struct policy *p,
					    const struct policy_question *q)
{
	if (q->addr.family)
		return policy_judge_addr(p, &q->addr, q->proto, q->port);
	return policy_judge_name_port(p, &q->name, q->proto, q->port);
}
