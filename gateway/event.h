/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event.h - what happened in a sandbox, as a value, a JSON line, a sentence
 *
 * The gateway makes events, the front prints them and writes --events. A struct
 * event holds no pointer, so it travels between the two as it is.
 */
#ifndef EGRET_GATEWAY_EVENT_H
#define EGRET_GATEWAY_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/dnsname.h"

#define EVENT_ENTRY_MAX 160
#define EVENT_COMM_MAX	16
#define EVENT_TEXT_MAX	512
#define EVENT_LINE_MAX	4096

enum event_type {
	EVENT_REFUSED,
	EVENT_ALLOWED,
	EVENT_LEARNED,
	EVENT_CLOSED,
	EVENT_POLICY,
	EVENT_ERROR,
	EVENT_TYPE_MAX,
};

enum event_kind {
	EVENT_KIND_NONE,
	EVENT_KIND_DNS,
	EVENT_KIND_TCP,
	EVENT_KIND_UDP,
	EVENT_KIND_ICMP,
	EVENT_KIND_TLS,
	EVENT_KIND_HTTP,
	EVENT_KIND_PACKET,
	EVENT_KIND_MAX,
};

enum event_reason {
	EVENT_REASON_NONE,
	EVENT_REASON_NOT_LISTED,
	EVENT_REASON_PORT,
	EVENT_REASON_DENIED,
	EVENT_REASON_PRIVATE,
	EVENT_REASON_NAME_MISMATCH,
	EVENT_REASON_NO_NAME,
	EVENT_REASON_PROTOCOL,
	EVENT_REASON_LIMIT,
	EVENT_REASON_UPSTREAM,
	EVENT_REASON_MAX,
};

struct event {
	enum event_type type;
	enum event_kind kind;
	enum event_reason reason;
	char time[CLOCK_RFC3339_LEN];
	char name[DNSNAME_STR_LEN];  /* presentation form; "" if unknown */
	char qtype[16];		     /* "A", "AAAA", ... for EVENT_KIND_DNS */
	struct addr addr;	     /* family 0 if unknown */
	uint16_t port;		     /* 0 if unknown */
	char entry[EVENT_ENTRY_MAX]; /* the entry that decided */
	char text[EVENT_TEXT_MAX];   /* for policy and error: a sentence */
	pid_t pid;		     /* 0 if unknown; the host's number */
	char comm[EVENT_COMM_MAX];
	uint64_t socket_inode; /* for the front, which finds pid and comm by
				  it; 0 if unknown; never shown */
	uint64_t bytes_out, bytes_in;
	uint32_t count; /* 0 or 1: once */
};

/** event_init() - zeroed but for type, kind and the present time */
void event_init(struct event *e, enum event_type type, enum event_kind kind);

/** event_check() - after a message: strings ended, enums in range; 0 or -EPROTO
 */
int event_check(struct event *e);

/**
 * event_json() - one JSON object, no newline; members that are unknown are
 * absent
 * @ret: malloc'ed; caller frees
 */
int event_json(const struct event *e, const char *sandbox, char **ret);

/**
 * event_sentence() - the line of a refusal without "egret: " and newline:
 * what, who, why, and the command that would allow it
 */
char *event_sentence(const struct event *e, const char *sandbox, char *dst,
		     size_t size);

const char *event_type_str(enum event_type t);
const char *event_kind_str(enum event_kind k);
const char *event_reason_str(enum event_reason r);

/** event_reason_text() - for people, by the word of event_reason_str() */
const char *event_reason_text(const char *word);

#endif /* EGRET_GATEWAY_EVENT_H */
