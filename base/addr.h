/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * addr.h - IP addresses, endpoints and prefixes as plain values
 *
 * An IPv4 address stands in the first four bytes and the other twelve are
 * zero, so that two addresses are equal exactly when their bytes and families
 * are. No host order anywhere except for ports.
 */
#ifndef EGRET_BASE_ADDR_H
#define EGRET_BASE_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDR_STR_LEN	 46 /* INET6_ADDRSTRLEN */
#define ENDPOINT_STR_LEN 56 /* "[v6]:65535" */

struct addr {
	uint8_t family; /* AF_INET or AF_INET6; 0 is no address */
	uint8_t bytes[16];
};

struct endpoint {
	struct addr addr;
	uint16_t port; /* host order */
};

struct prefix {
	struct addr addr; /* bits after len are zero */
	uint8_t len;	  /* 0..32 or 0..128 */
};

/** addr_len() - bytes of the address: 4, 16, or 0 for no address */
size_t addr_len(const struct addr *a);

/** addr_from_bytes() - @len is 4 or 16 */
struct addr addr_from_bytes(const uint8_t *bytes, size_t len);

bool addr_equal(const struct addr *a, const struct addr *b);
bool endpoint_equal(const struct endpoint *a, const struct endpoint *b);

/**
 * addr_parse() - strict numeric form, inet_pton(3); no zone, no brackets, no
 * octal or short IPv4 forms
 *
 * Return: 0, or -EINVAL (@ret untouched).
 */
int addr_parse(const char *text, struct addr *ret);

/** addr_format() - canonical text (RFC 5952 for IPv6); returns @dst */
char *addr_format(const struct addr *a, char dst[static ADDR_STR_LEN]);

/** endpoint_format() - "1.2.3.4:80" or "[2001:db8::1]:80"; returns @dst */
char *endpoint_format(const struct endpoint *e,
		      char dst[static ENDPOINT_STR_LEN]);

/**
 * endpoint_from_sockaddr() - AF_INET and AF_INET6 only; an IPv4-mapped IPv6
 * address becomes IPv4
 *
 * Return: 0, or -EAFNOSUPPORT.
 */
int endpoint_from_sockaddr(const struct sockaddr_storage *ss,
			   struct endpoint *ret);

/** endpoint_to_sockaddr() - fills @ret and returns its length */
socklen_t endpoint_to_sockaddr(const struct endpoint *e,
			       struct sockaddr_storage *ret);

/** prefix_contains() - false when the families differ */
bool prefix_contains(const struct prefix *p, const struct addr *a);

/** prefix_last() - the highest address of the prefix */
struct addr prefix_last(const struct prefix *p);

#endif /* EGRET_BASE_ADDR_H */
