/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_policy_random.c - the matcher against a plain one
 *
 * Random entries are kept as structs and written as text. The plain matcher
 * walks the structs, one after the other, as the grammar's meaning says, and
 * compares labels as strings; the real one gets the text. Few labels, ports and
 * networks, so that entries meet.
 */
#include <stdlib.h>

#include "policy/special.h"
#include "tests/unit/policy_tools.h"

/* Check notes each of its own asserts in a file; there are millions here. */
#define must(cond, ...)                            \
	do {                                       \
		if (!(cond))                       \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

#define N_POLICIES    3000
#define N_ENTRIES_MAX 12
#define N_ASKED	      24

enum form {
	EXACT,
	BELOW,
	ALL,
	NET,
};

/* One entry as its writer means it. */
struct ref {
	enum form form;
	bool deny;
	char name[32];
	struct prefix net;
	enum policy_proto proto;
	bool every;	       /* a `!` entry without port and protocol */
	bool star;	       /* `:*` */
	bool defaults;	       /* no port given */
	uint16_t lo, hi, also; /* `:lo-hi,also` otherwise */
	uint32_t flags;
};

static unsigned int seed = 1;

static unsigned int pick(unsigned int n)
{
	return (unsigned int)rand_r(&seed) / 7 % n;
}

static const char *const labels[] = { "a", "b", "ab" };

static const uint16_t ports[] = { 0,  1,   2,	3,   4,	    22,	  25,
				  80, 443, 465, 587, 65534, 65535 };

static void random_name(char *dst, size_t size)
{
	unsigned int n = 1 + pick(4);

	dst[0] = '\0';
	for (unsigned int i = 0; i < n; i++)
		(void)snprintf(dst + strlen(dst), size - strlen(dst), "%s%s",
			       i ? "." : "", labels[pick(ARRAY_SIZE(labels))]);
}

/* In 10/8, 11/8 or 2a0e::/16, or what embeds such an IPv4 address. */
static struct addr random_addr(void)
{
	uint8_t v4[4] = { (uint8_t)(10 + pick(2)), (uint8_t)pick(3), 0,
			  (uint8_t)pick(3) };
	uint8_t v6[16] = {
		0x2a, 0x0e, [7] = (uint8_t)pick(3), [15] = (uint8_t)pick(3)
	};

	switch (pick(6)) {
	case 0:
		return addr_from_bytes(v6, 16);
	case 1:
		memcpy(v6, (uint8_t[12]){ 0, 0x64, 0xff, 0x9b }, 12);
		memcpy(v6 + 12, v4, 4);
		return addr_from_bytes(v6, 16);
	case 2:
		memcpy(v6, (uint8_t[12]){ [10] = 0xff, 0xff }, 12);
		memcpy(v6 + 12, v4, 4);
		return addr_from_bytes(v6, 16);
	default:
		return addr_from_bytes(v4, 4);
	}
}

static bool is_mapped(const struct addr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	return a->family == AF_INET6 && memcmp(a->bytes, mapped, 12) == 0;
}

static struct prefix random_net(void)
{
	static const uint8_t lens[] = { 0, 7, 8, 9, 14, 16, 31, 32 };
	struct prefix p = { .addr = random_addr() };
	unsigned int bits;

	p.len = lens[pick(ARRAY_SIZE(lens))];
	if (p.addr.family == AF_INET6)
		p.len += 96;
	bits = 8U * (unsigned int)addr_len(&p.addr);
	for (unsigned int i = p.len; i < bits; i++)
		p.addr.bytes[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	return p;
}

static void random_ref(struct ref *r)
{
	*r = (struct ref){
		.form = (enum form)pick(4),
		.deny = pick(3) == 0,
		.proto = (enum policy_proto)pick(3),
		.lo = (uint16_t)(1 + pick(4)),
		.also = ports[1 + pick(ARRAY_SIZE(ports) - 1)],
		.star = pick(6) == 0,
		.defaults = pick(2) == 0,
	};
	r->hi = (uint16_t)(r->lo + pick(3));
	if (pick(2))
		r->proto = POLICY_TCP;
	random_name(r->name, sizeof(r->name));
	r->net = random_net();
	if (r->deny && r->defaults && pick(2))
		r->every = true;
	/* An entry that allows UDP names its ports; ICMP has none. */
	if (!r->deny && r->proto == POLICY_UDP)
		r->defaults = false;
	if (r->proto == POLICY_ICMP)
		r->defaults = true;
	if (!r->deny && pick(4) == 0)
		r->flags |= POLICY_F_UNCHECKED;
	if (!r->deny && r->form != ALL && pick(4) == 0)
		r->flags |= POLICY_F_PRIVATE;
}

static void write_ref(const struct ref *r, char *dst, size_t size)
{
	char host[ADDR_STR_LEN + 8], addr[ADDR_STR_LEN], end[64] = "";

	switch (r->form) {
	case EXACT:
		(void)snprintf(host, sizeof(host), "%s", r->name);
		break;
	case BELOW:
		(void)snprintf(host, sizeof(host), "*.%s", r->name);
		break;
	case ALL:
		(void)snprintf(host, sizeof(host), "*");
		break;
	case NET:
		(void)snprintf(host, sizeof(host),
			       r->net.addr.family == AF_INET6 ? "[%s/%u]"
							      : "%s/%u",
			       addr_format(&r->net.addr, addr), r->net.len);
		break;
	}
	if (!r->defaults && r->star)
		(void)snprintf(end, sizeof(end), ":*");
	else if (!r->defaults)
		(void)snprintf(end, sizeof(end), ":%u-%u,%u", r->lo, r->hi,
			       r->also);
	(void)snprintf(dst, size, "%s%s%s%s%s%s%s\n", r->deny ? "!" : "", host,
		       end, r->every ? "" : "/",
		       r->every ? "" : policy_proto_str(r->proto),
		       r->flags & POLICY_F_PRIVATE ? " private" : "",
		       r->flags & POLICY_F_UNCHECKED ? " unchecked" : "");
}

/* ---- the plain matcher ---- */

static bool ref_has_name(const struct ref *r, const char *name)
{
	size_t len = strlen(name), end = strlen(r->name);

	switch (r->form) {
	case EXACT:
		return strcmp(r->name, name) == 0;
	case BELOW:
		return len > end + 1 && name[len - end - 1] == '.' &&
		       strcmp(name + len - end, r->name) == 0;
	case ALL:
		return true;
	case NET:
		return false;
	}
	return false;
}

static struct addr plain(const struct addr *a)
{
	return is_mapped(a) ? addr_from_bytes(a->bytes + 12, 4) : *a;
}

static bool ref_has_addr(const struct ref *r, const struct addr *a)
{
	static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b };
	struct prefix net = r->net;

	if (r->form == ALL)
		return true;
	if (r->form != NET)
		return false;
	if (is_mapped(&net.addr)) {
		net.addr = plain(&net.addr);
		net.len -= 96;
	}
	if (prefix_contains(&net, a))
		return true;
	if (r->deny && a->family == AF_INET6 &&
	    memcmp(a->bytes, nat64, 12) == 0) {
		struct addr v4 = addr_from_bytes(a->bytes + 12, 4);

		return prefix_contains(&net, &v4);
	}
	return false;
}

static bool ref_has_port(const struct ref *r, enum policy_proto proto,
			 uint16_t port)
{
	if (r->every)
		return true;
	if (proto != r->proto)
		return false;
	if (proto == POLICY_ICMP)
		return true;
	if (r->defaults)
		return r->deny || port == 80 || port == 443;
	if (r->star)
		return r->deny || (port != 25 && port != 465 && port != 587);
	return (port >= r->lo && port <= r->hi) || port == r->also;
}

/* Leave for special addresses: said, or all of the network is private. */
static bool ref_is_leave(const struct ref *r)
{
	struct addr first = plain(&r->net.addr);
	unsigned int len = r->net.len;

	if (r->flags & POLICY_F_PRIVATE)
		return true;
	if (r->form != NET)
		return false;
	if (is_mapped(&r->net.addr))
		len -= 96;
	if (first.family == AF_INET)
		return len >= 8 && first.bytes[0] == 10;
	/* 64:ff9b::10.x; the rest of ours is public. */
	return len >= 104 && first.bytes[0] == 0 && first.bytes[12] == 10;
}

static bool ref_is_special(const struct addr *a)
{
	return a->family == AF_INET ? a->bytes[0] == 10
				    : a->bytes[0] == 0 && a->bytes[12] == 10;
}

struct ask {
	const char *name; /* or */
	const struct addr *addr;
	enum policy_proto proto;
	uint16_t port;
	bool need_leave;
};

static struct policy_verdict ref_judge(const struct ref *r, size_t n,
				       const struct ask *a)
{
	struct policy_verdict v = { .reason = POLICY_NOT_LISTED };

	for (size_t i = 0; i < n; i++) {
		bool host = a->name ? ref_has_name(&r[i], a->name)
				    : ref_has_addr(&r[i], a->addr);
		bool port = ref_has_port(&r[i], a->proto, a->port);

		if (!host)
			continue;
		if (r[i].deny && port) {
			v.reason = POLICY_DENIED;
			v.flags = 0;
			return v;
		}
		if (r[i].deny || (a->need_leave && !ref_is_leave(&r[i])))
			continue;
		if (port) {
			v.reason = POLICY_ALLOWED;
			v.flags |= r[i].flags;
			if (r[i].form == NET && ref_is_leave(&r[i]))
				v.flags |= POLICY_F_PRIVATE;
		} else if (v.reason == POLICY_NOT_LISTED) {
			v.reason = POLICY_PORT;
		}
	}
	return v;
}

/* ---- the comparison ---- */

struct world {
	struct ref refs[N_ENTRIES_MAX];
	size_t n;
	char text[N_ENTRIES_MAX * 96];
	struct policy *p;
};

static void new_world(struct world *w)
{
	w->n = 1 + pick(N_ENTRIES_MAX);
	w->text[0] = '\0';
	for (size_t i = 0; i < w->n; i++) {
		char line[96];

		random_ref(&w->refs[i]);
		write_ref(&w->refs[i], line, sizeof(line));
		strcat(w->text, line);
	}
	w->p = policy_of(w->text);
}

/* The deciding entry must be one that speaks of what was asked. */
static void check_entry(const struct world *w, const struct ask *a,
			struct policy_verdict v)
{
	const struct ref *r;

	if (v.entry == POLICY_NO_ENTRY) {
		must(v.reason != POLICY_ALLOWED, "%s", w->text);
		must(v.reason != POLICY_DENIED, "%s", w->text);
		must(v.reason != POLICY_PORT, "%s", w->text);
		return;
	}
	must(v.entry < w->n, "%s", w->text);
	r = &w->refs[v.entry];
	must(a->name ? ref_has_name(r, a->name) : ref_has_addr(r, a->addr),
	     "%s", w->text);
	must(r->deny == (v.reason == POLICY_DENIED), "%s", w->text);
	if (v.reason != POLICY_PORT)
		must(ref_has_port(r, a->proto, a->port), "%s", w->text);
}

static bool in_ports(const struct policy_port *list, size_t n,
		     const struct ask *a, uint32_t *ret_flags)
{
	for (size_t i = 0; i < n; i++) {
		const struct policy_port *p = &list[i];
		bool mail = a->port == 25 || a->port == 465 || a->port == 587;

		if (p->proto != a->proto || a->port < p->lo || a->port > p->hi)
			continue;
		if (p->flags & POLICY_F_NOMAIL && mail)
			return false;
		*ret_flags = p->flags & ~POLICY_F_NOMAIL;
		return true;
	}
	return false;
}

static void check_sorted(const struct world *w, const struct policy_port *list,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		must(list[i].lo <= list[i].hi, "%s", w->text);
		if (list[i].flags & POLICY_F_NOMAIL)
			must(list[i].lo == 0 && list[i].hi == 65535, "%s",
			     w->text);
		if (i > 0 && list[i].proto == list[i - 1].proto)
			must(list[i].lo > list[i - 1].hi, "%s", w->text);
		else if (i > 0)
			must((int)list[i].proto > (int)list[i - 1].proto, "%s",
			     w->text);
	}
}

static void compare_name(const struct world *w, const char *name)
{
	struct policy_port list[POLICY_PORTS_MAX];
	struct dnsname n = name_of(name);
	size_t n_list = policy_name_ports(w->p, &n, list);
	struct policy_verdict whole = policy_judge_name(w->p, &n);
	bool any = false;

	check_sorted(w, list, n_list);
	for (size_t i = 0; i < 3 * ARRAY_SIZE(ports); i++) {
		struct ask a = {
			.name = name,
			.proto = (enum policy_proto)(i % 3),
			.port = i % 3 == POLICY_ICMP ? 0 : ports[i / 3],
		};
		struct policy_verdict want = ref_judge(w->refs, w->n, &a);
		struct policy_verdict v =
			policy_judge_name_port(w->p, &n, a.proto, a.port);
		uint32_t flags = 0;

		must(v.reason == want.reason && v.flags == want.flags,
		     "%s %s:%u/%s: %s, not %s", w->text, name, a.port,
		     policy_proto_str(a.proto), policy_reason_str(v.reason),
		     policy_reason_str(want.reason));
		check_entry(w, &a, v);
		must(in_ports(list, n_list, &a, &flags) ==
			     (want.reason == POLICY_ALLOWED),
		     "%s %s:%u", w->text, name, a.port);
		must(flags == want.flags, "%s", w->text);
		if (want.reason == POLICY_ALLOWED)
			any = true;
	}
	/* Every range that a policy here can have holds an asked port. */
	must((whole.reason == POLICY_ALLOWED) == (n_list > 0), "%s %s", w->text,
	     name);
	must(!any || n_list > 0, "%s", w->text);
}

/*
 * For a special address only entries that give leave count; but those of one
 * key are joined, and the flags of the others come along.
 */
static bool has_flags(uint32_t flags, uint32_t want, bool special)
{
	return special ? (flags & want) == want : flags == want;
}

static void compare_addr(const struct world *w, const struct addr *asked)
{
	struct addr a = plain(asked);
	bool special = ref_is_special(&a);

	must(special == !!special_classify(asked), "%s", w->text);
	for (size_t i = 0; i < 3 * ARRAY_SIZE(ports); i++) {
		struct ask ask = {
			.addr = &a,
			.proto = (enum policy_proto)(i % 3),
			.port = ports[i / 3],
			.need_leave = special,
		};
		struct policy_verdict want = ref_judge(w->refs, w->n, &ask);
		struct policy_verdict v =
			policy_judge_addr(w->p, asked, ask.proto, ask.port);

		if (special && want.reason == POLICY_NOT_LISTED)
			want.reason = POLICY_PRIVATE;
		must(v.reason == want.reason &&
			     has_flags(v.flags, want.flags, special),
		     "%s :%u/%s: %s, not %s", w->text, ask.port,
		     policy_proto_str(ask.proto), policy_reason_str(v.reason),
		     policy_reason_str(want.reason));
		check_entry(w, &ask, v);
	}
}

/* What a name opens at an address, from the verdicts on both. */
static void compare_learned(const struct world *w, const char *name,
			    const struct addr *asked)
{
	struct policy_port list[POLICY_PORTS_MAX];
	struct addr a = plain(asked);
	struct dnsname n = name_of(name);
	size_t n_list = policy_learned_ports(w->p, &n, asked, list);
	struct policy_verdict v = policy_learned_addr(w->p, &n, asked);

	check_sorted(w, list, n_list);
	for (size_t i = 0; i < 3 * ARRAY_SIZE(ports); i++) {
		struct ask by_name = {
			.name = name,
			.proto = (enum policy_proto)(i % 3),
			.port = i % 3 == POLICY_ICMP ? 0 : ports[i / 3],
		};
		struct ask by_addr = by_name;
		struct policy_verdict want;
		uint32_t flags;

		by_name.need_leave = ref_is_special(&a);
		by_addr.name = NULL;
		by_addr.addr = &a;
		want = ref_judge(w->refs, w->n, &by_addr);
		if (want.reason != POLICY_DENIED)
			want = ref_judge(w->refs, w->n, &by_name);
		must(in_ports(list, n_list, &by_name, &flags) ==
			     (want.reason == POLICY_ALLOWED),
		     "%s %s:%u", w->text, name, by_name.port);
	}
	if (n_list > 0)
		must(v.reason == POLICY_ALLOWED, "%s", w->text);
}

START_TEST(both_matchers_agree)
{
	struct world w;

	seed = 1000U + (unsigned int)_i;
	for (int i = 0; i < N_POLICIES / 4; i++) {
		new_world(&w);
		for (int j = 0; j < N_ASKED; j++) {
			struct addr a = random_addr();
			char name[32];

			random_name(name, sizeof(name));
			compare_name(&w, name);
			compare_addr(&w, &a);
			compare_learned(&w, name, &a);
		}
		policy_freep(&w.p);
	}
}
END_TEST

/* The kernel's list says the same as the verdicts on addresses. */
START_TEST(the_list_of_nets_agrees)
{
	struct world w;

	seed = 77;
	for (int i = 0; i < N_POLICIES / 4; i++) {
		struct addr asked = random_addr(), a = plain(&asked);
		bool special = special_classify(&a);

		new_world(&w);
		for (size_t j = 0; j < ARRAY_SIZE(ports); j++) {
			struct ask ask = { .port = ports[j] };
			bool open = false, closed = false;
			uint32_t flags;

			for (size_t k = 0; k < policy_n_nets(w.p); k++) {
				struct policy_net net = policy_net_at(w.p, k);
				bool in = prefix_contains(&net.prefix, &a) &&
					  in_ports(&net.port, 1, &ask, &flags);

				if (in && net.deny)
					closed = true;
				else if (in &&
					 (!special || flags & POLICY_F_PRIVATE))
					open = true;
			}
			must((open && !closed) ==
				     (policy_judge_addr(w.p, &a, POLICY_TCP,
							ports[j])
					      .reason == POLICY_ALLOWED),
			     "%s :%u", w.text, ports[j]);
		}
		policy_freep(&w.p);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("policy_random");
	TCase *t = tcase_create("policy_random");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, both_matchers_agree, 0, 4);
	tcase_add_test(t, the_list_of_nets_agrees);
	suite_add_tcase(s, t);
	return run_suite(s);
}
