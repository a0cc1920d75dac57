/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostsfile.c - answers from /etc/hosts
 *
 * Theory of operation. The text is kept and read again when the file has
 * changed, which one fstat(2) or stat(2) a question tells.
 *
 * SECURITY. What the file says of an allowed name is opened, so the command
 * must not write it. A mask covers the file, but a command that has root's id
 * can put another in its place: in namespaces of its own it detaches the mask
 * and renames. So where the directory can be written the file of the start is
 * the only one that counts, by its descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/dnsname.h"
#include "base/err.h"
#include "base/io.h"
#include "resolver/hostsfile.h"

#define TYPE_A	   1U
#define TYPE_AAAA  28U
#define CLASS_IN   1U
#define HEADER_LEN 12U
#define ADDRS_MAX  32U
#define TEXT_MAX   (1U << 20)
#define BLANKS	   " \t\r\v\f"
/* A compressed name, type, class, TTL, length. */
#define RR_HEAD_LEN 12U

_Static_assert(HEADER_LEN + DNSNAME_WIRE_MAX + 4 +
			       ADDRS_MAX * (RR_HEAD_LEN + 16) <=
		       HOSTSFILE_ANSWER_MAX,
	       "every answer fits");

/* ---- the message ---- */

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

/* ---- the file ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Without a file, or with one that can't be read, no name is in it. */
static void forget(struct hostsfile *h)
{
	free(h->text);
	h->text = NULL;
	h->len = 0;
	memset(&h->st, 0, sizeof(h->st));
}

static void read_again(struct hostsfile *h)
{
	struct err err = { 0 };

	forget(h);
	if (h->fd < 0 || fstat(h->fd, &h->st) < 0 || !S_ISREG(h->st.st_mode) ||
	    lseek(h->fd, 0, SEEK_SET) < 0)
		return;
	(void)io_read_fd(h->fd, h->path, TEXT_MAX, &h->text, &h->len, &err);
}

static void open_again(struct hostsfile *h)
{
	fd_closep(&h->fd);
	h->fd = open(h->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	read_again(h);
}

static void refresh(struct hostsfile *h)
{
	struct stat st;

	if (h->is_pinned) {
		if (h->fd >= 0 && fstat(h->fd, &st) == 0 &&
		    !is_same(&st, &h->st))
			read_again(h);
	} else if (stat(h->path, &st) < 0) {
		fd_closep(&h->fd);
		forget(h);
	} else if (!is_same(&st, &h->st)) {
		open_again(h);
	}
}

void hostsfile_init(struct hostsfile *h, const char *path)
{
	char dir[PATH_MAX];

	memset(h, 0, sizeof(*h));
	h->path = path;
	h->fd = -1;
	(void)snprintf(dir, sizeof(dir), "%s", path);
	h->is_pinned = access(dirname(dir), W_OK) == 0;
	open_again(h);
}

void hostsfile_done(struct hostsfile *h)
{
	fd_closep(&h->fd);
	forget(h);
}

/* ---- its lines: an address, then names; the rest behind '#' ---- */

/* Takes the next word of the line; false at its end. */
static bool next_word(const char **at, const char *end, const char **ret,
		      size_t *ret_len)
{
	const char *p = *at;

	while (p < end && strchr(BLANKS, *p) && *p)
		p++;
	*ret = p;
	while (p < end && *p && !strchr(BLANKS, *p))
		p++;
	*at = p;
	*ret_len = (size_t)(p - *ret);
	return *ret_len > 0;
}

static bool line_address(const char *word, size_t len, uint8_t family,
			 struct addr *ret)
{
	char text[ADDR_STR_LEN];

	if (len >= sizeof(text))
		return false;
	memcpy(text, word, len);
	text[len] = '\0';
	return addr_parse(text, ret) == 0 && ret->family == family;
}

/* Does the line give @name an address of the family? */
static bool match_line(const char *at, const char *end,
		       const struct dnsname *name, uint8_t family,
		       struct addr *ret)
{
	const char *word;
	size_t len;

	if (!next_word(&at, end, &word, &len) ||
	    !line_address(word, len, family, ret))
		return false;
	while (next_word(&at, end, &word, &len)) {
		struct dnsname n;

		if (dnsname_from_text(word, len, &n) == 0 &&
		    dnsname_equal(&n, name))
			return true;
	}
	return false;
}

static size_t find(const struct hostsfile *h, const struct dnsname *name,
		   uint8_t family, struct addr ret[static ADDRS_MAX])
{
	const char *at = h->text, *end = at + h->len;
	size_t n = 0;

	while (at < end && n < ADDRS_MAX) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		const char *stop;

		if (!eol)
			eol = end;
		stop = memchr(at, '#', (size_t)(eol - at));
		if (match_line(at, stop ? stop : eol, name, family, &ret[n]))
			n++;
		at = eol < end ? eol + 1 : end;
	}
	return n;
}

size_t hostsfile_answer(struct hostsfile *h, const struct dnsname *name,
			uint16_t qtype,
			uint8_t dst[static HOSTSFILE_ANSWER_MAX])
{
	struct addr addrs[ADDRS_MAX];
	uint8_t *p;
	size_t n;

	if (qtype != TYPE_A && qtype != TYPE_AAAA)
		return 0;
	refresh(h);
	if (!h->text)
		return 0;
	n = find(h, name, qtype == TYPE_A ? AF_INET : AF_INET6, addrs);
	if (n == 0)
		return 0;
	p = put_question(dst, name, qtype, (unsigned int)n);
	for (size_t i = 0; i < n; i++)
		p = put_addr(p, qtype, addrs[i].bytes, addr_len(&addrs[i]));
	return (size_t)(p - dst);
}
