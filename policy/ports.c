/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ports.c - lists of port ranges
 *
 * A list is sorted by protocol and port and its ranges don't overlap. `:*` of
 * an entry that allows is kept as the four ranges around the mail ports, so
 * that joining and taking away need no special case; ports_fold_mail() gives
 * the one range back at the end.
 *
 * ports_join() is the only arithmetic there is: it moves through all lists at
 * once, from boundary to boundary, and asks at each who covers it. Building
 * joins the entries of one key with it, asking joins the keys of one name.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "policy/policy_internal.h"

/* SMTP, SMTP over TLS, submission: what spam needs. */
static const struct {
	uint16_t lo, hi;
} no_mail[] = { { 0, 24 }, { 26, 464 }, { 466, 586 }, { 588, 65535 } };

#define N_NO_MAIL ARRAY_SIZE(no_mail)

/* Protocol and port as one number, so that order is a plain comparison. */
static uint32_t place(enum policy_proto proto, uint16_t port)
{
	return (uint32_t)proto << 16 | port;
}

static uint32_t place_lo(const struct policy_port *p)
{
	return place(p->proto, p->lo);
}

static uint32_t place_hi(const struct policy_port *p)
{
	return place(p->proto, p->hi);
}

/* What holds from one boundary up to the next. */
struct stretch {
	const struct policy_port *open; /* the first range that opens it */
	uint32_t flags;
	uint32_t next; /* where it ends; UINT32_MAX: nothing comes any more */
	bool closed;
};

static struct stretch look(struct port_group *g, size_t n, uint32_t need,
			   uint32_t x)
{
	struct stretch s = { .next = UINT32_MAX };

	for (size_t i = 0; i < n; i++) {
		struct port_list *l = &g[i].list;
		uint32_t change;

		while (l->at < l->end && place_hi(l->at) < x)
			l->at++;
		if (l->at == l->end)
			continue;
		change = place_lo(l->at);
		if (change <= x) {
			change = place_hi(l->at) + 1;
			if (g[i].deny) {
				s.closed = true;
			} else if ((l->at->flags & need) == need) {
				s.flags |= l->at->flags;
				if (!s.open)
					s.open = l->at;
			}
		}
		if (change < s.next)
			s.next = change;
	}
	return s;
}

static bool may_merge(const struct policy_port *last,
		      const struct policy_port *p, bool keep_entry)
{
	return last->proto == p->proto && last->hi + 1 == p->lo &&
	       last->flags == p->flags &&
	       (!keep_entry || last->entry == p->entry);
}

size_t ports_join(struct port_group *g, size_t n, const struct port_rule *rule,
		  struct policy_port *ret, size_t max)
{
	size_t n_ret = 0;
	struct stretch s;

	for (uint32_t x = 0;; x = s.next) {
		struct policy_port p;

		s = look(g, n, rule->need, x);
		if (s.next == UINT32_MAX)
			return n_ret;
		if (!s.open || s.closed)
			continue;
		p = (struct policy_port){
			.proto = s.open->proto,
			.lo = (uint16_t)x,
			.hi = (uint16_t)(s.next - 1),
			.flags = s.flags,
			.entry = s.open->entry,
		};
		if (n_ret > 0 &&
		    may_merge(&ret[n_ret - 1], &p, rule->keep_entry))
			ret[n_ret - 1].hi = p.hi;
		else if (n_ret < max)
			ret[n_ret++] = p;
		else
			return n_ret;
	}
}

const struct policy_port *ports_find(const struct port_list *l,
				     enum policy_proto proto, uint16_t port)
{
	const struct policy_port *at = l->at;
	size_t n = (size_t)(l->end - l->at);
	uint32_t x = place(proto, port);

	/* The first range that doesn't end before x. */
	while (n > 0) {
		size_t half = n / 2;

		if (place_hi(&at[half]) < x) {
			at += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return at < l->end && place_lo(at) <= x ? at : NULL;
}

bool ports_is_everything(const struct port_list *l)
{
	uint32_t n = 0;

	for (const struct policy_port *p = l->at; p < l->end; p++)
		n += p->hi - p->lo + 1U;
	return n == 2 * (POLICY_PORT_MAX + 1) + 1;
}

static bool is_no_mail(const struct policy_port *p, size_t n)
{
	if (n < N_NO_MAIL)
		return false;
	for (size_t i = 0; i < N_NO_MAIL; i++)
		if (p[i].lo != no_mail[i].lo || p[i].hi != no_mail[i].hi ||
		    p[i].proto != p[0].proto || p[i].flags != p[0].flags)
			return false;
	return true;
}

size_t ports_fold_mail(struct policy_port *p, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; to++) {
		p[to] = p[i];
		if (is_no_mail(&p[i], n - i)) {
			p[to].hi = POLICY_PORT_MAX;
			p[to].flags |= POLICY_F_NOMAIL;
			i += N_NO_MAIL;
		} else {
			i++;
		}
	}
	return to;
}

bool ports_add(struct port_buf *b, enum policy_proto proto, uint16_t lo,
	       uint16_t hi)
{
	if (b->n == POLICY_PORTS_MAX)
		return false;
	b->at[b->n++] = (struct policy_port){
		.proto = proto,
		.lo = lo,
		.hi = hi,
	};
	return true;
}

void ports_normalise(struct port_buf *b)
{
	size_t to = 0;

	/* Insertion sort: nearly always one to three, mostly in order. */
	for (size_t i = 1; i < b->n; i++) {
		struct policy_port p = b->at[i];
		size_t j = i;

		for (; j > 0 && place_lo(&b->at[j - 1]) > place_lo(&p); j--)
			b->at[j] = b->at[j - 1];
		b->at[j] = p;
	}
	for (size_t i = 1; i < b->n; i++) {
		struct policy_port *last = &b->at[to];

		if (b->at[i].proto == last->proto &&
		    b->at[i].lo <= last->hi + 1) {
			if (b->at[i].hi > last->hi)
				last->hi = b->at[i].hi;
		} else {
			b->at[++to] = b->at[i];
		}
	}
	if (b->n > 0)
		b->n = to + 1;
}

static int parse_port(struct span s, uint16_t *ret, struct complaint *c)
{
	size_t len = (size_t)(s.end - s.at);
	char q[POLICY_QUOTE_LEN];
	uint16_t port = 0;

	if (len == 0)
		return complain(c, s.at,
				"a port is missing; ports are 1-65535, as in "
				"example.org:22,443,8000-8010");
	if (parse_u16(s.at, len, &port) == -EINVAL)
		return complain(c, s.at,
				"'%s' is not a port; ports are decimal numbers "
				"1-65535 without leading zeros, or '*'",
				quote(q, s));
	if (port == 0)
		return complain(c, s.at,
				"port %s is not a port; ports are 1-65535",
				quote(q, s));
	*ret = port;
	return 0;
}

static int parse_range(struct span s, enum policy_proto proto,
		       struct port_buf *ret, struct complaint *c)
{
	const char *dash = memchr(s.at, '-', (size_t)(s.end - s.at));
	struct span first = { s.at, dash ? dash : s.end };
	uint16_t lo = 0, hi;
	int r = parse_port(first, &lo, c);

	if (r < 0)
		return r;
	hi = lo;
	if (dash) {
		r = parse_port((struct span){ dash + 1, s.end }, &hi, c);
		if (r < 0)
			return r;
	}
	if (hi < lo)
		return complain(c, s.at,
				"the port range %u-%u is backwards; %u-%u was "
				"meant",
				lo, hi, hi, lo);
	if (!ports_add(ret, proto, lo, hi))
		return complain(c, s.at,
				"more than %d ports and ranges in one entry; "
				"ranges are written as in 8000-8010",
				POLICY_PORTS_MAX);
	return 0;
}

static int add_all(enum policy_proto proto, bool deny, const char *at,
		   struct port_buf *ret, struct complaint *c)
{
	bool ok = true;

	if (deny)
		ok = ports_add(ret, proto, 0, POLICY_PORT_MAX);
	for (size_t i = 0; !deny && i < N_NO_MAIL; i++)
		ok = ports_add(ret, proto, no_mail[i].lo, no_mail[i].hi) && ok;
	if (!ok)
		return complain(c, at,
				"more than %d ports and ranges in one entry; "
				"'*' alone stands for all of them",
				POLICY_PORTS_MAX);
	return 0;
}

int ports_parse(struct span text, enum policy_proto proto, bool deny,
		struct port_buf *ret, struct complaint *c)
{
	struct span item = { text.at, text.at };

	for (;; item.at = item.end + 1) {
		int r;

		item.end = memchr(item.at, ',', (size_t)(text.end - item.at));
		if (!item.end)
			item.end = text.end;
		if (item.end - item.at == 1 && *item.at == '*')
			r = add_all(proto, deny, item.at, ret, c);
		else
			r = parse_range(item, proto, ret, c);
		if (r < 0)
			return r;
		if (item.end == text.end)
			return 0;
	}
}
