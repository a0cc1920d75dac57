/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostsfile.c - answers from /etc/hosts, read by c-ares */
#include <ares.h>
#include <netdb.h>
#include <string.h>

#include "base/addr.h"
#include "base/dnsname.h"
#include "resolver/hostsfile.h"

#define TYPE_A	   1U
#define TYPE_AAAA  28U
#define CLASS_IN   1U
#define HEADER_LEN 12U
#define ADDRS_MAX  32U
/* A compressed name, type, class, TTL, length. */
#define RR_HEAD_LEN 12U

_Static_assert(HEADER_LEN + DNSNAME_WIRE_MAX + 4 +
			       ADDRS_MAX * (RR_HEAD_LEN + 16) <=
		       HOSTSFILE_ANSWER_MAX,
	       "every answer fits");

static uint8_t *put16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static uint8_t *put_question(uint8_t *p, const struct dnsname *name,
			     uint16_t qtype, unsigned int n_answers)
{
	memset(p, 0, HEADER_LEN);
	put16(p + 2, 0x8180); /* QR, RD, RA, NOERROR */
	put16(p + 4, 1);
	put16(p + 6, n_answers);
	p += HEADER_LEN;
	memcpy(p, name->wire, name->len);
	p = put16(p + name->len, qtype);
	return put16(p, CLASS_IN);
}

static uint8_t *put_addr(uint8_t *p, uint16_t qtype, const void *addr,
			 size_t len)
{
	p = put16(p, 0xc000 | HEADER_LEN); /* the question's name */
	p = put16(p, qtype);
	p = put16(p, CLASS_IN);
	p = put16(p, 0);
	p = put16(p, HOSTSFILE_TTL_S);
	p = put16(p, (unsigned int)len);
	memcpy(p, addr, len);
	return p + len;
}

size_t hostsfile_answer(void *ares, const struct dnsname *name, uint16_t qtype,
			uint8_t dst[static HOSTSFILE_ANSWER_MAX])
{
	int family = qtype == TYPE_A ? AF_INET : AF_INET6;
	size_t addr_size = qtype == TYPE_A ? 4 : 16;
	char text[DNSNAME_STR_LEN];
	struct hostent *host = NULL;
	unsigned int n = 0;
	uint8_t *p;

	if (qtype != TYPE_A && qtype != TYPE_AAAA)
		return 0;
	if (ares_gethostbyname_file(ares, dnsname_format(name, text), family,
				    &host) != ARES_SUCCESS)
		return 0;
	if (host->h_addrtype == family && host->h_length == (int)addr_size)
		while (n < ADDRS_MAX && host->h_addr_list[n])
			n++;
	p = put_question(dst, name, qtype, n);
	for (unsigned int i = 0; i < n; i++)
		p = put_addr(p, qtype, host->h_addr_list[i], addr_size);
	ares_free_hostent(host);
	return n ? (size_t)(p - dst) : 0;
}
