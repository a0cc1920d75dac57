/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * question.h - "may this be connected to": host, port and protocol from text
 *
 * Pure. The policy answers; `egret check` and the control socket ask.
 */
#ifndef EGRET_POLICY_QUESTION_H
#define EGRET_POLICY_QUESTION_H

#include "policy/policy.h"

struct err;

#define POLICY_QUESTION_PORT	443
#define POLICY_QUESTION_STR_LEN (DNSNAME_STR_LEN + 16)

struct policy_question {
	struct dnsname name; /* len 0 when it is an address */
	struct addr addr;    /* family 0 when it is a name */
	enum policy_proto proto;
	uint16_t port; /* 0 for POLICY_ICMP */
};

/**
 * policy_question_parse() - "HOST", "HOST:PORT", "HOST/PROTO",
 * "HOST:PORT/PROTO", "[2001:db8::1]:443", or a URL
 *
 * Without a port it is 443 (or what the URL's scheme has), without a protocol
 * TCP. International names may be in UTF-8.
 * Return: 0, or -EINVAL with a sentence, or -ENOMEM.
 */
int policy_question_parse(const char *text, struct policy_question *ret,
			  struct err *err);

/**
 * policy_question_set_host() - only the host of @q: a name, or an address with
 * or without brackets
 */
int policy_question_set_host(struct policy_question *q, const char *host,
			     struct err *err);

/** policy_question_format() - "example.org:443/tcp"; returns @dst */
char *policy_question_format(const struct policy_question *q,
			     char dst[static POLICY_QUESTION_STR_LEN]);

/** policy_question_host() - the host alone, without brackets; returns @dst */
char *policy_question_host(const struct policy_question *q,
			   char dst[static DNSNAME_STR_LEN]);

/** policy_judge_question() - by name or by address; learned names don't count
 */
struct policy_verdict policy_judge_question(const struct policy *p,
					    const struct policy_question *q);

/** policy_proto_parse() - "tcp", "udp", "icmp"; 0 or -EINVAL */
int policy_proto_parse(const char *text, size_t len, enum policy_proto *ret);

#endif /* EGRET_POLICY_QUESTION_H */
