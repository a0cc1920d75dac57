/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.h - DNS messages: a reader that trusts nothing, a writer that can't
 * overrun (RFC 1035 4, RFC 6891, RFC 9267 for the ways readers fail)
 */
#ifndef EGRET_RESOLVER_WIRE_H
#define EGRET_RESOLVER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dnsname.h"

#define WIRE_HEADER_LEN	 12
#define WIRE_MSG_MAX	 65535
#define WIRE_RR_FIXED	 10 /* type, class, ttl, rdlength */
#define WIRE_OPT_LEN	 11 /* an OPT record without options */
#define WIRE_POINTER_MAX 0x3fff
/* A name has at most 127 labels; real ones are reached in one or two hops. */
#define WIRE_HOPS_MAX 32
/* Suffixes the writer remembers; more are written in full. */
#define WIRE_SUFFIXES_MAX 64

enum wire_type {
	WIRE_A = 1,
	WIRE_NS = 2,
	WIRE_CNAME = 5,
	WIRE_SOA = 6,
	WIRE_PTR = 12,
	WIRE_HINFO = 13,
	WIRE_MX = 15,
	WIRE_TXT = 16,
	WIRE_AAAA = 28,
	WIRE_SRV = 33,
	WIRE_OPT = 41,
	WIRE_SVCB = 64,
	WIRE_HTTPS = 65,
	WIRE_IXFR = 251,
	WIRE_AXFR = 252,
	WIRE_ANY = 255,
	WIRE_CAA = 257,
};

enum wire_rcode {
	WIRE_NOERROR = 0,
	WIRE_FORMERR = 1,
	WIRE_SERVFAIL = 2,
	WIRE_NXDOMAIN = 3,
	WIRE_NOTIMP = 4,
	WIRE_REFUSED = 5,
	WIRE_BADVERS = 16, /* needs OPT for its upper bits */
};

/* Extended DNS Errors, RFC 8914. */
enum wire_ede {
	WIRE_EDE_NONE = -1,
	WIRE_EDE_OTHER = 0,
	WIRE_EDE_BLOCKED = 15,
	WIRE_EDE_NO_AUTHORITY = 22,
	WIRE_EDE_NETWORK = 23,
};

#define WIRE_CLASS_IN	   1
#define WIRE_FLAG_QR	   0x8000U
#define WIRE_FLAG_TC	   0x0200U
#define WIRE_FLAG_RD	   0x0100U
#define WIRE_FLAG_RA	   0x0080U
#define WIRE_FLAG_CD	   0x0010U
#define WIRE_OPCODE(flags) (((flags) >> 11) & 15U)
#define WIRE_RCODE(flags)  ((flags)&15U)
#define WIRE_OPTION_EDE	   15

struct wire_header {
	uint16_t id, flags;
	uint16_t n_qd, n_an, n_ns, n_ar;
};

struct wire_reader {
	const uint8_t *msg; /* the whole message, for pointers */
	size_t len, pos;
};

struct wire_rr {
	struct dnsname owner; /* folded */
	uint16_t type, rclass, rdlen;
	uint32_t ttl; /* as it came */
	size_t rdata; /* offset in the message */
};

/* ---- reading: 0, or -EBADMSG and then the reader's place means nothing ----
 */

int wire_read_header(struct wire_reader *r, struct wire_header *ret);
int wire_read_u16(struct wire_reader *r, uint16_t *ret);
int wire_read_u32(struct wire_reader *r, uint32_t *ret);

/**
 * wire_read_name() - a name, compressed or not
 *
 * Every pointer must lead before the part of the name it continues, so a
 * message can't lead in circles.
 */
int wire_read_name(struct wire_reader *r, struct dnsname *ret);

/** wire_read_rr() - a record; the reader then stands behind its rdata */
int wire_read_rr(struct wire_reader *r, struct wire_rr *ret);

/** wire_skip_rr() - as wire_read_rr(), nothing kept */
int wire_skip_rr(struct wire_reader *r);

/* ---- writing ---- */

/*
 * Appends to a buffer that stands for the message from offset @base on, so that
 * a body can be made before its header. After an overflow nothing more is
 * written and ->full stays set.
 */
struct wire_writer {
	uint8_t *buf;
	size_t size, len;
	size_t base;
	bool full;
	uint8_t n_suffixes;
	struct {
		uint16_t offset; /* in the message */
		uint8_t len;	 /* wire length of the suffix */
		uint64_t hash;
	} suffixes[WIRE_SUFFIXES_MAX];
};

void wire_writer_init(struct wire_writer *w, uint8_t *buf, size_t size,
		      size_t base);
void wire_write_u8(struct wire_writer *w, uint8_t v);
void wire_write_u16(struct wire_writer *w, uint16_t v);
void wire_write_u32(struct wire_writer *w, uint32_t v);
void wire_write_bytes(struct wire_writer *w, const void *data, size_t len);

/** wire_write_name() - by a pointer to a suffix written earlier, if any */
void wire_write_name(struct wire_writer *w, const struct dnsname *n);

/** wire_write_name_plain() - in full, as RFC 2782 and 3597 want it in rdata */
void wire_write_name_plain(struct wire_writer *w, const struct dnsname *n);

/**
 * wire_note_name() - @n stands at @offset of the message already (the question)
 */
void wire_note_name(struct wire_writer *w, const struct dnsname *n,
		    size_t offset);

/** wire_set_u16() - overwrite at @at of the buffer, what was written before */
void wire_set_u16(struct wire_writer *w, size_t at, uint16_t v);

static inline uint16_t wire_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t wire_get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static inline void wire_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void wire_put32(uint8_t *p, uint32_t v)
{
	wire_put16(p, (uint16_t)(v >> 16));
	wire_put16(p + 2, (uint16_t)v);
}

#endif /* EGRET_RESOLVER_WIRE_H */
