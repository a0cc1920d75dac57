/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy_internal.h - what the files of policy/ share
 *
 * text -> parse.c, host.c, ports.c -> struct parsed -> build.c -> struct policy
 * -> match.c. The tables of the builder are those of the policy: building moves
 * them and compiles the rules of each key into sorted port ranges.
 */
#ifndef EGRET_POLICY_POLICY_INTERNAL_H
#define EGRET_POLICY_POLICY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/dnsname.h"
#include "policy/policy.h"

#define POLICY_MSG_MAX	 512
#define POLICY_QUOTE_LEN 100 /* a quoted piece of an entry in a message */
#define POLICY_PORT_MAX	 65535

/* ---- errors.c: complaints about an entry ---- */

/* A stretch of an entry's text. Not NUL-terminated. */
struct span {
	const char *at, *end;
};

/* What is wrong and where; the first complaint of an entry stands. */
struct complaint {
	const char *at; /* the byte that is wrong, inside the entry's text */
	char msg[POLICY_MSG_MAX];
};

/** complain() - Return: -EINVAL */
int complain(struct complaint *c, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** put_safe() - one octet as a terminal may have it; its length, 0: no room */
size_t put_safe(char *dst, size_t room, unsigned char c);

/** quote() - a piece of the text, printable and cut; returns @dst */
char *quote(char dst[static POLICY_QUOTE_LEN], struct span s);

struct error_list {
	struct policy_error *at;
	size_t n, room;
};

/** errors_add() - @msg is copied, @source borrowed. Return: 0 or -ENOMEM */
int errors_add(struct error_list *l, const char *source, uint32_t line,
	       uint32_t column, const char *msg);
void errors_done(struct error_list *l);

/* ---- ports.c: lists of port ranges ---- */

/* Sorted by protocol and port, disjoint. A borrowed part of an array. */
struct port_list {
	const struct policy_port *at, *end;
};

/* A list that opens or closes; the cursor of ports_join() too. */
struct port_group {
	struct port_list list;
	bool deny;
	uint8_t flags; /* of its ranges, joined; only match.c sets it */
};

struct port_buf {
	struct policy_port at[POLICY_PORTS_MAX];
	size_t n;
};

/* How ports_join() makes ranges. */
struct port_rule {
	uint32_t need;	 /* only ranges that have all these flags open */
	bool keep_entry; /* don't merge neighbours of different entries */
};

/**
 * ports_join() - the ranges that the groups open together, less those that a
 * group with deny closes
 * @g:   used up; where ranges overlap the entry of the first group is named
 * @max: room in @ret; the ranges beyond it are left out
 *
 * Return: number of ranges, sorted and disjoint.
 */
size_t ports_join(struct port_group *g, size_t n, const struct port_rule *rule,
		  struct policy_port *ret, size_t max);

/** ports_find() - the range that holds the port, or NULL */
const struct policy_port *ports_find(const struct port_list *l,
				     enum policy_proto proto, uint16_t port);

/** ports_is_everything() - every port of every protocol */
bool ports_is_everything(const struct port_list *l);

/**
 * ports_fold_mail() - write the four ranges that `:*` stands for as one
 * 0..65535 with POLICY_F_NOMAIL
 *
 * Return: the new number of ranges.
 */
size_t ports_fold_mail(struct policy_port *p, size_t n);

/** ports_parse() - "22,443,8000-8010" or "*"; appends to @ret, unsorted */
int ports_parse(struct span text, enum policy_proto proto, bool deny,
		struct port_buf *ret, struct complaint *c);

/** ports_add() - Return: false when full */
bool ports_add(struct port_buf *b, enum policy_proto proto, uint16_t lo,
	       uint16_t hi);

/** ports_normalise() - sort and merge, flags and entry being all alike */
void ports_normalise(struct port_buf *b);

/* ---- host.c, parse.c: one entry ---- */

enum host_kind {
	HOST_NAME,   /* name */
	HOST_BELOW,  /* name: "*." stood before it */
	HOST_ALL,    /* "*" */
	HOST_NET,    /* net */
	HOST_PRESET, /* preset */
};

struct host {
	enum host_kind kind;
	struct dnsname name;
	struct prefix net;  /* never IPv4-mapped */
	struct span preset; /* without its '@' */
};

/* Of HOST_PRESET, ports is empty: it has those of its entries. */
struct parsed {
	struct host host;
	struct span text; /* the entry without comment and space around it */
	struct port_buf ports;
	uint32_t flags;
	bool deny;
};

/** host_parse_name() - "example.org", "*.example.org", "*" */
int host_parse_name(struct span text, struct host *ret, struct complaint *c);

/** host_parse_net() - an address; @len is the text behind its '/', or empty */
int host_parse_net(struct span text, struct span len, struct host *ret,
		   struct complaint *c);

#define PARSE_DENY   (1U << 0) /* of --deny, or of a denied preset */
#define PARSE_MEMBER (1U << 1) /* of a preset: if denied, words are dropped */

/**
 * parse_entry() - one line
 * @how: PARSE_*
 *
 * Return: 1; 0 for nothing but space and comment; -EINVAL with @c filled in;
 * -ENOMEM.
 */
int parse_entry(struct span line, unsigned int how, struct parsed *ret,
		struct complaint *c);

/**
 * parse_word() - for printing: the word of the i-th flag, "" when it isn't set,
 * NULL at the end
 */
const char *parse_word(size_t i, uint32_t flags);

/* ---- print.c ---- */

/** entry_print() - the canonical form; returns @dst */
char *entry_print(const struct parsed *e, char dst[static POLICY_PRINT_MAX]);

/* ---- match.c ---- */

/**
 * match_denied_whole() - does what is denied leave nothing of an entry
 *
 * Return: an entry that denies, or POLICY_NO_ENTRY.
 */
uint32_t match_denied_whole(const struct policy *p, const struct parsed *e);

/* ---- keys.c: byte strings to small numbers ---- */

/* Keys are numbered from 0 in the order of their first keys_put(). */
struct keys {
	uint8_t *bytes;
	size_t n_bytes, room_bytes;
	uint32_t *offset; /* of each key in bytes; [n] is the end */
	uint32_t n, room;
	struct key_slot *slots; /* open addressing, at most half full */
	uint32_t n_slots;	/* 0 or a power of two */
};

#define KEY_NONE UINT32_MAX

/** keys_put() - find or add. Return: 0, or -ENOMEM. */
int keys_put(struct keys *k, const void *key, size_t len, uint32_t *ret);

/** keys_find() - Return: the key's number or KEY_NONE */
uint32_t keys_find(const struct keys *k, const void *key, size_t len);

/** keys_get() - bytes of key @i; valid until the next keys_put() */
const uint8_t *keys_get(const struct keys *k, uint32_t i, size_t *ret_len);
void keys_done(struct keys *k);

/**
 * grow() - make room for one element more in an array
 * @room: elements now; doubled when @n has reached it
 *
 * Return: the array, perhaps moved, or NULL with the old one still valid.
 */
void *grow(void *array, size_t n, size_t *room, size_t size);

/* ---- the tables ---- */

/* What a key may say; names use all four, networks the first two. */
enum group {
	GROUP_ALLOW,
	GROUP_DENY,
	GROUP_ALLOW_BELOW, /* of every name below */
	GROUP_DENY_BELOW,
	GROUP_MAX,
};

/*
 * Ranges of group g of key k stand at ranges[start[k * GROUP_MAX + g]] up to
 * the next start: sorted and disjoint, overlapping ones of several entries
 * joined. @flags has one octet a group, all flags of its ranges joined.
 */
struct table {
	struct keys keys;
	uint32_t *start;
	struct policy_port *ranges;
	uint8_t *flags;
};

/* What the entries say of one key, before compiling. */
struct rule {
	uint32_t key;
	enum group group;
	size_t first; /* in rules.ports */
	size_t n;
};

struct rules {
	struct rule *at;
	size_t n, room;
	struct policy_port *ports;
	size_t n_ports, room_ports;
};

/**
 * rules_add() - one rule of a key
 * @flags: added to those of the ports
 *
 * Return: 0 or -ENOMEM.
 */
int rules_add(struct rules *r, uint32_t key, enum group group,
	      const struct port_buf *ports, uint32_t flags, uint32_t entry);
void rules_done(struct rules *r);

/** table_compile() - fill in start, ranges and flags. 0 or -ENOMEM */
int table_compile(struct table *t, const struct rules *r);

/** nets_list() - write down every (network, range) pair. 0 or -ENOMEM */
int nets_list(struct policy *p);

/** net_is_leave() - does @p lie inside one special-purpose range */
bool net_is_leave(const struct prefix *p);

struct entry {
	size_t text;	 /* offset into texts */
	uint32_t source; /* index into sources */
	uint32_t line, column;
	uint32_t preset; /* the entry `@name` it comes from, or none */
	uint32_t used;	 /* of an entry `@name`: index into used; else none */
	bool deny;
};

/* A preset that some entry names. */
struct preset_use {
	char *name;
	char *uploads; /* why it accepts uploads; NULL when it doesn't */
};

/* A network as a key: family (4 or 6), length, address bytes. */
#define NET_KEY_MAX 18

/** net_key() - Return: its length */
size_t net_key(const struct prefix *p, uint8_t key[static NET_KEY_MAX]);

/** addr_mask() - the first address of the network that @a lies in */
struct addr addr_mask(const struct addr *a, unsigned int len);

/** addr_unmap() - an IPv4-mapped address or network becomes IPv4 */
struct prefix addr_unmap(struct prefix p);

struct policy {
	struct table names; /* keys: wire form of the name, root included */
	struct table nets;
	uint64_t depths[2]; /* label counts that BELOW groups exist for */
	uint64_t lengths4;  /* prefix lengths in use, a bit each */
	uint64_t lengths6[3];
	struct policy_net *net_list;
	size_t n_nets;
	struct entry *entries;
	size_t n_entries;
	char *texts;
	char **sources;
	size_t n_sources;
	struct preset_use *used;
	size_t n_used;
	size_t n_written; /* entries that aren't a preset's */
};

#endif /* EGRET_POLICY_POLICY_INTERNAL_H */
