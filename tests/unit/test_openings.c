/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_openings.c - grants and entries as disjoint set elements
 *
 * A model of the kernel's sets is kept beside: elements are added and deleted
 * as openings_change() says, overlaps are refused as the kernel does, and what
 * is open at the end must equal the union of the grants, port by port.
 */
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gateway/openings.h"
#include "policy/policy.h"

#define MODEL_MAX 8192

struct model {
	struct fw_elem v[MODEL_MAX];
	size_t n;
};

static bool is_interval(enum fw_set set)
{
	return set == FW_SET_RANGE || set == FW_SET_PRIVATE ||
	       set == FW_SET_LISTED || set == FW_SET_PUBLIC ||
	       set == FW_SET_DENY;
}

static bool overlaps(const struct fw_elem *a, const struct fw_elem *b)
{
	return a->set == b->set && a->proto == b->proto &&
	       (prefix_contains(&a->prefix, &b->prefix.addr) ||
		prefix_contains(&b->prefix, &a->prefix.addr)) &&
	       a->port_lo <= b->port_hi && b->port_lo <= a->port_hi;
}

static void model_del(struct model *m, const struct fw_elem *e)
{
	size_t i;

	for (i = 0; i < m->n; i++) {
		if (!memcmp(&m->v[i], e, sizeof(*e))) {
			m->v[i] = m->v[--m->n];
			return;
		}
	}
	ck_abort_msg("deletes an element that isn't there");
}

static void model_add(struct model *m, const struct fw_elem *e)
{
	size_t i;

	for (i = 0; i < m->n; i++) {
		if (!memcmp(&m->v[i], e, sizeof(*e)))
			return; /* again, not yet confirmed: fine */
		if (is_interval(e->set))
			ck_assert_msg(!overlaps(&m->v[i], e),
				      "elements overlap");
	}
	ck_assert_uint_lt(m->n, MODEL_MAX);
	m->v[m->n++] = *e;
}

static bool is_mail(uint16_t port)
{
	return port == 25 || port == 465 || port == 587;
}

static bool model_open(const struct model *m, const struct addr *a,
		       uint8_t proto, uint16_t port)
{
	size_t i;

	for (i = 0; i < m->n; i++) {
		const struct fw_elem *e = &m->v[i];

		if (e->proto != proto || !prefix_contains(&e->prefix, a))
			continue;
		if (e->set == FW_SET_ANYPORT && !is_mail(port))
			return true;
		if (e->set != FW_SET_ANYPORT && port >= e->port_lo &&
		    port <= e->port_hi)
			return true;
	}
	return false;
}

static struct resolver_grant_elem grant(unsigned int host, uint16_t lo,
					uint16_t hi, uint32_t flags)
{
	const uint8_t bytes[4] = { 11, 0, 0, (uint8_t)host };
	struct resolver_grant_elem g;

	memset(&g, 0, sizeof(g));
	g.addr = addr_from_bytes(bytes, 4);
	g.port.proto = POLICY_TCP;
	g.port.lo = lo;
	g.port.hi = hi;
	g.port.flags = flags;
	return g;
}

static void change(struct openings *o, struct model *m,
		   const struct resolver_grant_elem *g, bool del)
{
	struct elem_diff d = { 0 };
	size_t i;

	ck_assert_int_eq(openings_change(o, g, del ? 1 : 0, g, del ? 0 : 1, &d),
			 0);
	for (i = 0; i < d.del.n; i++)
		model_del(m, &d.del.v[i]);
	for (i = 0; i < d.add.n; i++)
		model_add(m, &d.add.v[i]);
	openings_confirm(o, d.add.v, d.add.n);
	elem_diff_done(&d);
}

START_TEST(test_two_names_share_a_port)
{
	_cleanup_(openings_freep) struct openings *o = NULL;
	struct resolver_grant_elem a = grant(1, 443, 443, 0);
	struct model *m = calloc(1, sizeof(*m));

	ck_assert_ptr_nonnull(m);
	ck_assert_int_eq(openings_new(&o), 0);
	change(o, m, &a, false);
	ck_assert_uint_eq(m->n, 1);
	ck_assert_int_eq(m->v[0].set, FW_SET_OPEN);
	change(o, m, &a, false);
	change(o, m, &a, true);
	ck_assert_uint_eq(m->n, 1); /* the other name still holds it */
	change(o, m, &a, true);
	ck_assert_uint_eq(m->n, 0);
	free(m);
}
END_TEST

START_TEST(test_unconfirmed_is_given_again)
{
	_cleanup_(openings_freep) struct openings *o = NULL;
	struct resolver_grant_elem a = grant(1, 443, 443, 0);
	struct elem_diff first = { 0 }, second = { 0 };

	ck_assert_int_eq(openings_new(&o), 0);
	ck_assert_int_eq(openings_change(o, NULL, 0, &a, 1, &first), 0);
	ck_assert_int_eq(openings_change(o, NULL, 0, &a, 1, &second), 0);
	ck_assert_uint_eq(first.del.n + second.del.n, 0);
	ck_assert_uint_eq(first.add.n, 1);
	/* P3: the second answer must not rely on the first one's element. */
	ck_assert_uint_eq(second.add.n, 1);
	openings_fail(o, &a, 1, first.add.v, first.add.n);
	openings_confirm(o, second.add.v, second.add.n);
	elem_diff_done(&first);
	elem_diff_done(&second);
}
END_TEST

/* An edit of an entry's ports: the kernel takes each addition once only. */
START_TEST(test_ports_exchanged_at_once)
{
	_cleanup_(openings_freep) struct openings *o = NULL;
	struct resolver_grant_elem https = grant(1, 443, 443, 0);
	struct resolver_grant_elem other = grant(2, 443, 443, 0);
	struct resolver_grant_elem add[] = { grant(1, 22, 22, 0),
					     grant(2, 22, 22, 0),
					     grant(1, 80, 80, 0) };
	struct resolver_grant_elem del[] = { https, other };
	struct elem_diff d = { 0 };
	struct model m = { 0 };

	ck_assert_int_eq(openings_new(&o), 0);
	change(o, &m, &https, false);
	change(o, &m, &other, false);
	ck_assert_int_eq(openings_change(o, del, ARRAY_SIZE(del), add,
					 ARRAY_SIZE(add), &d),
			 0);
	ck_assert_uint_eq(d.del.n, 2);
	ck_assert_uint_eq(d.add.n, 3);
	elem_diff_done(&d);
}
END_TEST

START_TEST(test_failed_addition_is_forgotten)
{
	_cleanup_(openings_freep) struct openings *o = NULL;
	struct resolver_grant_elem a = grant(1, 443, 443, 0);
	struct elem_diff d = { 0 };

	ck_assert_int_eq(openings_new(&o), 0);
	ck_assert_int_eq(openings_change(o, NULL, 0, &a, 1, &d), 0);
	openings_fail(o, &a, 1, d.add.v, d.add.n);
	elem_diff_done(&d);
	/* Nothing to delete for something that never came to be, and the next
	   try gives the element out again. */
	ck_assert_int_eq(openings_change(o, NULL, 0, &a, 1, &d), 0);
	ck_assert_uint_eq(d.del.n, 0);
	ck_assert_uint_eq(d.add.n, 1);
	elem_diff_done(&d);
}
END_TEST

/* Random grants on one address, put and taken; checked port by port. */
START_TEST(test_random_against_model)
{
	static const struct {
		uint16_t lo, hi;
		uint32_t flags;
	} kinds[] = {
		{ 443, 443, 0 },     { 80, 80, 0 },
		{ 8000, 8010, 0 },   { 8005, 8100, 0 },
		{ 8000, 9000, 0 },   { 25, 25, 0 },
		{ 8101, 8200, 0 },   { 0, 65535, POLICY_F_NOMAIL },
		{ 60000, 65535, 0 }, { 1, 1, 0 },
	};
	/* Every port at which what is open may change, and its neighbours. */
	static const uint16_t edges[] = {
		0,    1,    2,	  24,	25,   26,    79,    80,	   81,
		442,  443,  444,  464,	465,  466,   586,   587,   588,
		7999, 8000, 8004, 8005, 8010, 8011,  8099,  8100,  8101,
		8200, 8201, 8999, 9000, 9001, 59999, 60000, 65534, 65535,
	};
	_cleanup_(openings_freep) struct openings *o = NULL;
	struct model *m = calloc(1, sizeof(*m));
	int held[ARRAY_SIZE(kinds)] = { 0 };
	unsigned int step;

	ck_assert_ptr_nonnull(m);
	ck_assert_int_eq(openings_new(&o), 0);
	srand(42);
	for (step = 0; step < 600; step++) {
		size_t k = (size_t)rand() % ARRAY_SIZE(kinds);
		bool del = held[k] > 0 && rand() % 2;
		struct resolver_grant_elem g =
			grant(7, kinds[k].lo, kinds[k].hi, kinds[k].flags);
		size_t e;

		change(o, m, &g, del);
		held[k] += del ? -1 : 1;
		for (e = 0; e < ARRAY_SIZE(edges); e++) {
			unsigned int port = edges[e];
			bool want = false;
			size_t i;

			for (i = 0; i < ARRAY_SIZE(kinds); i++)
				want |= held[i] > 0 && port >= kinds[i].lo &&
					port <= kinds[i].hi &&
					!(kinds[i].flags &&
					  is_mail((uint16_t)port));
			ck_assert_msg(model_open(m, &g.addr, IPPROTO_TCP,
						 (uint16_t)port) == want,
				      "port %u at step %u", port, step);
		}
	}
	free(m);
}
END_TEST

static struct policy *policy_of(const char *text)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	const struct policy_error *errors;
	struct policy *p = NULL;
	size_t n = 0;

	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(policy_builder_add_text(b, "test", text, strlen(text)),
			 0);
	errors = policy_builder_errors(b, &n);
	ck_assert_msg(n == 0, "line %u: %s", n ? errors[0].line : 0,
		      n ? errors[0].msg : "");
	ck_assert_int_eq(policy_build(b, &p), 0);
	return p;
}

START_TEST(test_policy_nets_are_disjoint)
{
	static const char text[] = "11.0.0.0/8:400-500\n11.1.0.0/16:443-600\n"
				   "11.1.2.0/24:443\n11.1.2.3:22,600-700\n"
				   "11.1.2.3:443\n10.0.0.0/8:443\n"
				   "10.1.0.0/16:80,443\n!11.1.2.0/24:443\n"
				   "!11.1.2.4\n[2a0e:b107::/32]:443\n*\n";
	_cleanup_(policy_freep) struct policy *p = policy_of(text);
	_cleanup_(elem_vec_done) struct elem_vec vec = { 0 };
	struct model *m = calloc(1, sizeof(*m));
	struct addr a;
	size_t i;

	ck_assert_ptr_nonnull(m);
	ck_assert_int_eq(openings_of_policy(p, &vec), 0);
	ck_assert_uint_gt(vec.n, 8);
	for (i = 0; i < vec.n; i++)
		model_add(m, &vec.v[i]); /* checks for overlaps */
	ck_assert_int_eq(addr_parse("11.1.2.3", &a), 0);
	ck_assert(model_open(m, &a, IPPROTO_TCP, 650));
	ck_assert_int_eq(addr_parse("10.200.0.1", &a), 0);
	ck_assert(model_open(m, &a, IPPROTO_TCP, 443));
	ck_assert(!model_open(m, &a, IPPROTO_TCP, 22));
	free(m);
}
END_TEST

START_TEST(test_diff)
{
	_cleanup_(policy_freep) struct policy *p = policy_of("11.0.0.1:22\n"
							     "11.0.0.2:22\n");
	_cleanup_(policy_freep) struct policy *q = policy_of("11.0.0.2:22\n"
							     "11.0.0.3:22\n");
	struct elem_vec from = { 0 }, to = { 0 };
	struct elem_diff d = { 0 };

	ck_assert_int_eq(openings_of_policy(p, &from), 0);
	ck_assert_int_eq(openings_of_policy(q, &to), 0);
	ck_assert_int_eq(openings_diff(&from, &to, &d), 0);
	ck_assert_uint_eq(d.del.n, 1);
	ck_assert_uint_eq(d.add.n, 1);
	ck_assert_uint_eq(d.del.v[0].prefix.addr.bytes[3], 1);
	ck_assert_uint_eq(d.add.v[0].prefix.addr.bytes[3], 3);
	elem_vec_done(&from);
	elem_vec_done(&to);
	elem_diff_done(&d);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("openings");
	TCase *tc = tcase_create("openings");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_two_names_share_a_port);
	tcase_add_test(tc, test_unconfirmed_is_given_again);
	tcase_add_test(tc, test_ports_exchanged_at_once);
	tcase_add_test(tc, test_failed_addition_is_forgotten);
	tcase_add_test(tc, test_random_against_model);
	tcase_add_test(tc, test_policy_nets_are_disjoint);
	tcase_add_test(tc, test_diff);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
