/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_inside.c - TXT _PORT._PROTO.HOST.check.egret.internal
 *
 * The form of the question is explained in resolver/check.c.
 */
#include <arpa/nameser.h>
#include <errno.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/check_inside.h"
#include "policy/question.h"
#include "resolver/wire.h"

#define ZONE	   "check.egret.internal"
#define ANSWER_MAX 4096

static int name_of(const struct policy_question *q, char *dst, size_t size,
		   struct err *err)
{
	const char *kind = "";
	char host[DNSNAME_STR_LEN], *at;
	struct dnsname n;
	int len;

	(void)policy_question_host(q, host);
	if (q->addr.family) {
		/* "203.0.113.7" is 203-0-113-7.ip4, "2001:db8::1" is
		   2001-db8--1.ip6. */
		kind = q->addr.family == AF_INET6 ? ".ip6" : ".ip4";
		for (at = host; *at; at++)
			if (*at == '.' || *at == ':')
				*at = '-';
	}
	len = snprintf(dst, size, "_%u._%s.%s%s." ZONE, q->port,
		       policy_proto_str(q->proto), host, kind);
	if (len < 0 || (size_t)len >= size ||
	    dnsname_from_text(dst, (size_t)len, &n) < 0)
		return err_set(err, -E2BIG,
			       "the name is too long to be asked for from "
			       "inside");
	return 0;
}

/* The first string of the first TXT record. */
static int take_text(const unsigned char *msg, size_t len,
		     char ret[CHECK_INSIDE_LEN])
{
	struct wire_reader r = { .msg = msg, .len = len };
	struct dnsname name;
	struct wire_header h;
	struct wire_rr rr;
	uint16_t skip, i;

	if (wire_read_header(&r, &h) < 0 || h.n_qd != 1 ||
	    wire_read_name(&r, &name) < 0 || wire_read_u16(&r, &skip) < 0 ||
	    wire_read_u16(&r, &skip) < 0)
		return -EPROTO;
	for (i = 0; i < h.n_an && wire_read_rr(&r, &rr) == 0; i++) {
		const unsigned char *data = msg + rr.rdata;

		if (rr.type != WIRE_TXT || rr.rdlen < 1 || data[0] >= rr.rdlen)
			continue;
		memcpy(ret, data + 1, data[0]);
		ret[data[0]] = '\0';
		return 0;
	}
	return -EPROTO;
}

int check_inside(const struct policy_question *q, char ret[CHECK_INSIDE_LEN],
		 struct err *err)
{
	unsigned char answer[ANSWER_MAX];
	char name[2 * DNSNAME_STR_LEN];
	int n, r;

	r = name_of(q, name, sizeof(name), err);
	if (r < 0)
		return r;
	n = res_query(name, WIRE_CLASS_IN, WIRE_TXT, answer, sizeof(answer));
	if (n < 0)
		return err_set(err, -ENOENT,
			       "this is no sandbox, or its resolver doesn't "
			       "answer");
	r = take_text(answer, n > ANSWER_MAX ? ANSWER_MAX : (size_t)n, ret);
	if (r < 0)
		return err_set(err, r,
			       "the resolver gave an answer that makes no "
			       "sense");
	return 0;
}
