/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.h - the allowlist: what it says of a name, an address, a port
 *
 * A policy is built from texts, is immutable from then on, and answers
 * questions without allocating. Resolver, relay, nft and `egret check` ask the
 * same functions, so they can't disagree. No I/O, no clock, no logging.
 *
 * Deny wins over allow; among allowing entries ports are joined. An entry
 * without a port allows TCP 443 and 80, for names, addresses and networks
 * alike; a `!` entry without a port denies every port of every protocol. `:*`
 * leaves out the mail ports in an entry that allows, not in one that denies.
 *
 * A `!` network of IPv4 is denied in its NAT64 and 6to4 forms too.
 */
#ifndef EGRET_POLICY_POLICY_H
#define EGRET_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/dnsname.h"

struct err;
struct policy;
struct policy_builder;
struct preset_set;

#define POLICY_NO_ENTRY	   UINT32_MAX
#define POLICY_PORTS_MAX   256 /* port ranges of one entry or one name */
#define POLICY_ENTRIES_MAX 1000000
#define POLICY_TEXT_MAX	   (64U << 20) /* bytes of one file */
#define POLICY_ERRORS_MAX  100	/* reported of one file; then "and more" */
#define POLICY_PRINT_MAX   4608 /* the longest entry in canonical form */

enum policy_proto {
	POLICY_TCP,
	POLICY_UDP,
	POLICY_ICMP,
	POLICY_PROTO_MAX,
};

enum policy_reason {
	POLICY_ALLOWED,
	POLICY_NOT_LISTED, /* no entry speaks of it */
	POLICY_PORT,	   /* the host is listed, the port or protocol isn't */
	POLICY_DENIED,	   /* a `!` entry */
	POLICY_PRIVATE,	   /* special-purpose address without leave */
	POLICY_REASON_MAX,
};

/* Words after an entry. */
#define POLICY_F_PRIVATE   (1U << 0) /* the name may have special addresses */
#define POLICY_F_UNCHECKED (1U << 1) /* no SNI or Host check */
#define POLICY_F_SRV	   (1U << 2) /* SRV targets of the same domain too */
/* Only on a range 0..65535, from `:*`: the mail ports 25, 465, 587 are not in
   it. Where a `!` cuts into it, plain ranges are given instead. */
#define POLICY_F_NOMAIL (1U << 3)

/*
 * One opened range of ports; for POLICY_ICMP both ports are 0. Where several
 * entries open the same range, the flags are joined and one entry is named.
 */
struct policy_port {
	enum policy_proto proto;
	uint16_t lo, hi; /* inclusive, host order */
	uint32_t flags;	 /* POLICY_F_* of the entries it comes from */
	uint32_t entry;	 /* index for policy_entry() */
};

struct policy_verdict {
	enum policy_reason reason;
	uint32_t entry; /* the entry that decided, or POLICY_NO_ENTRY */
	uint32_t flags; /* POLICY_F_* of the entries that allow, joined */
};

/*
 * Where an entry stands, and its text as written. Borrowed from the policy.
 *
 * An entry `@name` is followed by entries of its own, one for each of the
 * preset's, and verdicts name these: source, text, line and column are then
 * those of the `@name`, and the preset's own come beside.
 */
struct policy_entry {
	const char *source; /* file path, "--allow", "--deny" */
	const char *text;   /* the entry without its comment, trimmed */
	uint32_t line;	    /* 1-based; 0 for the command line */
	uint32_t column;    /* 1-based, in characters */
	bool deny;
	/* Of a preset's entry; else POLICY_NO_ENTRY, NULL, 0. */
	uint32_t preset;	   /* the entry `@name` */
	const char *preset_source; /* a path, or "built-in NAME.hosts" */
	const char *preset_text;
	uint32_t preset_line;
};

struct policy_error {
	const char *source;
	uint32_t line, column; /* 1-based; line 0 for the command line */
	const char *msg;       /* what is wrong, and what was meant */
};

/* ---- building ---- */

int policy_builder_new(struct policy_builder **ret);
void policy_builder_free(struct policy_builder *b);
void policy_builder_freep(struct policy_builder **b);

/**
 * policy_builder_set_presets() - what `@name` may stand for
 * @s: must live until policy_build(); NULL: only what is built in
 */
void policy_builder_set_presets(struct policy_builder *b,
				const struct preset_set *s);

/**
 * policy_builder_add_text() - one file's content, a line an entry
 * @source: its name for messages, copied
 * @text:   any bytes; @len at most POLICY_TEXT_MAX
 *
 * Errors in entries are collected, see policy_builder_errors(). A byte order
 * mark at the start and CR before LF are skipped.
 * Return: 0, or -ENOMEM, -EFBIG; -EINVAL after policy_build().
 */
int policy_builder_add_text(struct policy_builder *b, const char *source,
			    const char *text, size_t len);

/**
 * policy_builder_add_entry() - one entry of the command line
 * @deny: it comes from --deny, so a leading '!' isn't needed
 */
int policy_builder_add_entry(struct policy_builder *b, const char *source,
			     const char *entry, bool deny);

/** policy_builder_errors() - all errors so far, borrowed from the builder */
const struct policy_error *policy_builder_errors(const struct policy_builder *b,
						 size_t *ret_n);

/**
 * policy_error_format() - "FILE:LINE:COLUMN: message", control bytes escaped;
 * "--allow: message" for the command line. Returns @dst
 */
char *policy_error_format(const struct policy_error *e, char *dst, size_t size);

/**
 * policy_build() - make the policy; the builder is used up (still to be freed)
 *
 * Return: 0; -EINVAL when there were errors; -ENOMEM.
 */
int policy_build(struct policy_builder *b, struct policy **ret);
void policy_free(struct policy *p);
void policy_freep(struct policy **p);

/* ---- asking ---- */

/**
 * policy_judge_name() - may this name be looked up at all
 *
 * POLICY_ALLOWED when some entry allows it on some port and none denies it
 * whole.
 */
struct policy_verdict policy_judge_name(const struct policy *p,
					const struct dnsname *n);

/** policy_judge_name_port() - may a connection be made to @n at this port */
struct policy_verdict policy_judge_name_port(const struct policy *p,
					     const struct dnsname *n,
					     enum policy_proto proto,
					     uint16_t port);

/**
 * policy_judge_addr() - what address and network entries say of it
 *
 * Learned names are not considered: POLICY_NOT_LISTED and POLICY_PORT mean that
 * only a lease may open it. POLICY_DENIED and POLICY_PRIVATE are final (PRIVATE
 * only unless the lease's entry carries POLICY_F_PRIVATE).
 */
struct policy_verdict policy_judge_addr(const struct policy *p,
					const struct addr *a,
					enum policy_proto proto, uint16_t port);

/**
 * policy_name_ports() - every range that is open for @n, joined over its
 * entries, less what a `!` entry takes away; `:*` has the mail ports left out
 * @ret: room for POLICY_PORTS_MAX; sorted, ranges of one protocol don't
 * overlap; what is beyond POLICY_PORTS_MAX stays closed
 *
 * Return: number of ranges (0 when the name isn't allowed).
 */
size_t policy_name_ports(const struct policy *p, const struct dnsname *n,
			 struct policy_port ret[static POLICY_PORTS_MAX]);

/**
 * policy_learned_addr() - may @a, learned as an address of @n, be opened
 *
 * Considers `!` networks, special-purpose ranges, and `private`. A special
 * address is allowed with POLICY_F_PRIVATE in the flags when an entry of the
 * name gives leave, and without it when only an address entry covers it: the
 * answer may carry it then, but the name opens no port of it.
 *
 * Return: POLICY_ALLOWED, POLICY_DENIED or POLICY_PRIVATE; POLICY_NOT_LISTED
 * for a name that isn't allowed at all.
 */
struct policy_verdict policy_learned_addr(const struct policy *p,
					  const struct dnsname *n,
					  const struct addr *a);

/**
 * policy_learned_ports() - the ranges that @n opens at its address @a
 *
 * As policy_name_ports(), less what `!` networks take away; of a special
 * address only the ranges whose entry says `private`.
 */
size_t policy_learned_ports(const struct policy *p, const struct dnsname *n,
			    const struct addr *a,
			    struct policy_port ret[static POLICY_PORTS_MAX]);

/*
 * One address or network entry, for the kernel's interval sets. It opens the
 * special-purpose addresses inside it only if port.flags has POLICY_F_PRIVATE:
 * the entry says so, or lies inside one special-purpose range (10.1.0.0/16 is
 * leave for its addresses, 0.0.0.0/0 and `*` are not). A `!` entry without a
 * port gives three: all of TCP, all of UDP, ICMP.
 */
struct policy_net {
	struct prefix prefix;
	struct policy_port port;
	bool deny;
};

/** policy_n_nets(), policy_net() - all of them, one (net, range) pair each */
size_t policy_n_nets(const struct policy *p);
struct policy_net policy_net_at(const struct policy *p, size_t i);

/** policy_n_entries() - those of presets included */
size_t policy_n_entries(const struct policy *p);
struct policy_entry policy_entry(const struct policy *p, uint32_t entry);

/** policy_n_written() - the entries that stand in the lists themselves */
size_t policy_n_written(const struct policy *p);

/**
 * policy_entry_print() - an entry in canonical form, on which reading and
 * printing again has no effect: "!" for a denied one, small letters, ASCII,
 * ports sorted and joined, no port where it is the default
 *
 * Of a preset's entry its own text, with the "!" of a denied preset.
 * Return: @dst.
 */
char *policy_entry_print(const struct policy *p, uint32_t entry,
			 char dst[static POLICY_PRINT_MAX]);

/**
 * policy_line_print() - the same of a line that stands in no policy
 * @deny: it comes from --deny
 * @ret_msg: what is wrong, if anything; room for POLICY_PRINT_MAX; or NULL
 *
 * Two lines say the same exactly when they print the same. Presets are not
 * looked up. Return: 1; 0 for nothing but space and comment; -EINVAL; -ENOMEM.
 */
int policy_line_print(const char *line, size_t len, bool deny,
		      char dst[static POLICY_PRINT_MAX], char *ret_msg);

/** policy_reason_str() - "not_listed", "port", ...: the words of events */
const char *policy_reason_str(enum policy_reason r);
const char *policy_proto_str(enum policy_proto p);

#endif /* EGRET_POLICY_POLICY_H */
