/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_lease.c - the lease table alone: caps, eviction, elements, random runs
 */
#include <check.h>
#include <sys/random.h>

#include "base/clock.h"
#include "resolver/lease.h"
#include "tests/unit/resolver_lab.h"

/* A lab whose resolver isn't used: the table stands on the same model. */
struct bench {
	struct lab *l;
	struct lease_table *t;
	struct policy *p;
	struct lease_wait w;
	unsigned int n_done;
};

static void on_done(struct lease_wait *w)
{
	container_of(w, struct bench, w)->n_done++;
}

static struct bench *bench_new(const char *policy)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->l = lab_new(policy);
	b->p = lab_build(policy);
	b->w.done = on_done;
	ck_assert_ptr_nonnull(b->p);
	ck_assert_int_eq(lease_new(&b->t, &lab_ops, b->l), 0);
	return b;
}

static void bench_free(struct bench *b)
{
	ck_assert_msg(!b->l->broken, "%s", b->l->trouble);
	lease_free(b->t);
	policy_free(b->p);
	lab_free(b->l);
	free(b);
}

static struct addr addr_no(unsigned int i)
{
	struct addr a = { .family = AF_INET };

	a.bytes[0] = 11;
	a.bytes[1] = (uint8_t)(i >> 16);
	a.bytes[2] = (uint8_t)(i >> 8);
	a.bytes[3] = (uint8_t)i;
	return a;
}

static int ensure(struct bench *b, const char *name, unsigned int first,
		  unsigned int n, uint32_t ttl_s)
{
	static struct lease_item items[LEASE_PER_ANSWER_MAX + 1];
	struct dnsname dn = lab_name(name);
	const struct lease_request q = { .policy = b->p,
					 .name = &dn,
					 .items = items,
					 .n = n,
					 .now_ms = clock_now_ms() };

	for (unsigned int i = 0; i < n; i++)
		items[i] = (struct lease_item){ addr_no(first + i), ttl_s };
	return lease_ensure(b->t, &q, &b->w);
}

static struct lease_stats stats_of(const struct bench *b)
{
	struct lease_stats s;

	lease_get_stats(b->t, &s);
	return s;
}

static bool is_open(const struct bench *b, unsigned int i, uint16_t port)
{
	struct addr a = addr_no(i);

	return lab_is_open(b->l, &a, POLICY_TCP, port);
}

START_TEST(test_life)
{
	struct bench *b = bench_new("a.test:443");

	ck_assert_int_eq(ensure(b, "a.test", 1, 1, 100), LEASE_READY);
	ck_assert_uint_eq(lease_next_ms(b->t), LAB_START_MS + 130000);
	lease_expire(b->t, LAB_START_MS + 129999);
	ck_assert(is_open(b, 1, 443));
	lease_expire(b->t, LAB_START_MS + 130000);
	ck_assert(!is_open(b, 1, 443));
	ck_assert_uint_eq(stats_of(b).leases, 0);
	ck_assert_uint_eq(stats_of(b).addrs, 0);
	ck_assert_uint_eq(stats_of(b).names, 0);
	ck_assert_uint_eq(lease_next_ms(b->t), 0);
	bench_free(b);
}
END_TEST

START_TEST(test_renewal_never_shortens)
{
	struct bench *b = bench_new("a.test:443");

	ck_assert_int_eq(ensure(b, "a.test", 1, 1, 100), LEASE_READY);
	ck_assert_int_eq(ensure(b, "a.test", 1, 1, 1), LEASE_READY);
	lease_expire(b->t, LAB_START_MS + 129999);
	ck_assert(is_open(b, 1, 443));
	bench_free(b);
}
END_TEST

/* Nothing in use, and nobody waits: the oldest of the name goes. */
START_TEST(test_cap_per_name)
{
	struct bench *b = bench_new("a.test:443");

	ck_assert_int_eq(ensure(b, "a.test", 0, 1024, 100), LEASE_READY);
	ck_assert_int_eq(ensure(b, "a.test", 0, 1, 100), LEASE_READY);
	ck_assert_int_eq(ensure(b, "a.test", 2000, 1, 100), LEASE_READY);
	ck_assert_uint_eq(stats_of(b).leases, 1024);
	ck_assert_uint_eq(stats_of(b).evicted, 1);
	ck_assert(is_open(b, 0, 443)); /* used again */
	ck_assert(!is_open(b, 1, 443));
	ck_assert(is_open(b, 2000, 443));
	ck_assert_int_eq(ensure(b, "a.test", 0, 1025, 100), -E2BIG);
	bench_free(b);
}
END_TEST

START_TEST(test_in_use_is_not_evicted)
{
	struct bench *b = bench_new("a.test:443");

	ck_assert_int_eq(ensure(b, "a.test", 0, 1024, 100), LEASE_READY);
	for (unsigned int i = 0; i < 1024; i++)
		b->l->in_use[b->l->n_in_use++] = addr_no(i);
	ck_assert_int_eq(ensure(b, "a.test", 2000, 1, 100), -ENOSPC);
	ck_assert(!is_open(b, 2000, 443));
	ck_assert_uint_eq(stats_of(b).refused, 1);
	b->l->in_use[500] = addr_no(3000);
	ck_assert_int_eq(ensure(b, "a.test", 2000, 1, 100), LEASE_READY);
	ck_assert(!is_open(b, 500, 443));
	bench_free(b);
}
END_TEST

/* The whole table full: the oldest of all goes, elements with it. */
START_TEST(test_cap_in_all)
{
	struct bench *b = bench_new("*.test:443");
	unsigned int n = LEASE_MAX / 1024;
	char name[32];

	b->l->grant_mode = LAB_GRANT_LATER; /* the model is slow: one ack */
	for (unsigned int i = 0; i <= n; i++) {
		(void)snprintf(name, sizeof(name), "n%u.test", i);
		(void)ensure(b, name, i * 1024, i < n ? 1024 : 0, 100);
		lease_wait_cancel(&b->w);
		while (b->l->n_grants) {
			struct resolver_grant *g =
				b->l->grants[--b->l->n_grants];

			g->done(g, 0, NULL);
		}
	}
	ck_assert_uint_eq(stats_of(b).leases, LEASE_MAX);
	ck_assert_int_eq(ensure(b, "last.test", LEASE_MAX, 1, 100),
			 LEASE_PENDING);
	lease_wait_cancel(&b->w);
	ck_assert_uint_eq(stats_of(b).leases, LEASE_MAX);
	ck_assert_uint_eq(stats_of(b).evicted, 1);
	ck_assert_uint_eq(b->l->n_grants, 2);
	ck_assert(b->l->grants[0]->del); /* deletions first */
	ck_assert(!b->l->grants[1]->del);
	bench_free(b);
}
END_TEST

static uint64_t cost_of(const char *policy, const char *name, const char *addr)
{
	struct bench *b = bench_new(policy);
	struct dnsname dn = lab_name(name);
	struct lease_item item = { .ttl_s = 100 };
	const struct lease_request q = { .policy = b->p,
					 .name = &dn,
					 .items = &item,
					 .n = 1,
					 .now_ms = clock_now_ms() };
	uint64_t cost;

	ck_assert_int_eq(addr_parse(addr, &item.addr), 0);
	ck_assert_int_eq(lease_ensure(b->t, &q, &b->w), LEASE_READY);
	cost = stats_of(b).cost;
	bench_free(b);
	return cost;
}

struct cost_row {
	const char *policy, *addr;
	uint64_t want;
};

static const struct cost_row cost_rows[] = {
	{ "a.test", "11.0.0.1", 2 },
	{ "a.test:443", "11.0.0.1", 1 },
	{ "a.test:*", "11.0.0.1", 1 },
	{ "a.test/icmp", "11.0.0.1", 1 },
	{ "a.test:7900-7963", "11.0.0.1", 64 },
	{ "a.test:7900-7964", "11.0.0.1", 512 },
	{ "a.test:8000-9000,80", "11.0.0.1", 513 },
	{ "a.test:443 private", "10.0.0.1", 512 },
	{ "a.test:443 private", "11.0.0.1", 1 },
	/* Beside a range that may be opened only at public addresses. */
	{ "a.test:443 private\na.test:444-499", "10.0.0.1", 512 },
	{ "a.test:443 private\na.test:444-499", "11.0.0.1", 57 },
	{ "a.test:443 private\na.test:444-600", "11.0.0.1", 512 },
};

START_TEST(test_cost)
{
	const struct cost_row *row = &cost_rows[_i];
	uint64_t cost = cost_of(row->policy, "a.test", row->addr);

	ck_assert_msg(cost == row->want, "%s at %s: %lu", row->policy,
		      row->addr, (unsigned long)cost);
}
END_TEST

/* Names with one set of ports share elements, sets of several may join. */
START_TEST(test_cost_of_shared_addresses)
{
	struct bench *b = bench_new("*.a.test:443\nb.test:500-509");

	ck_assert_int_eq(ensure(b, "x.a.test", 1, 1, 10), LEASE_READY);
	ck_assert_int_eq(ensure(b, "y.a.test", 1, 1, 10), LEASE_READY);
	ck_assert_uint_eq(stats_of(b).cost, 1);
	ck_assert_int_eq(ensure(b, "b.test", 1, 1, 1000), LEASE_READY);
	ck_assert_uint_eq(stats_of(b).cost, 88);
	lease_expire(b->t, LAB_START_MS + 70000);
	ck_assert_uint_eq(stats_of(b).cost, 10);
	lease_expire(b->t, LAB_START_MS + 2000000);
	ck_assert_uint_eq(stats_of(b).cost, 0);
	bench_free(b);
}
END_TEST

#define N_WIDE (LEASE_COST_MAX / 512U)

static void fill_wide(struct bench *b)
{
	for (unsigned int i = 0; i < N_WIDE; i += 128) {
		char name[32];

		(void)snprintf(name, sizeof(name), "n%u.w.test", i);
		ck_assert_int_eq(ensure(b, name, i, 128, 100), LEASE_READY);
	}
}

START_TEST(test_cap_of_cost)
{
	struct bench *b = bench_new("*.w.test:8000-9000\nx.test:443");

	fill_wide(b);
	ck_assert_uint_eq(stats_of(b).cost, LEASE_COST_MAX);
	ck_assert_uint_eq(stats_of(b).evicted, 0);
	ck_assert_int_eq(ensure(b, "n0.w.test", 0, 1, 100), LEASE_READY);
	ck_assert_int_eq(ensure(b, "l.w.test", 9000, 3, 100), LEASE_READY);
	ck_assert_uint_eq(stats_of(b).cost, LEASE_COST_MAX);
	ck_assert_uint_eq(stats_of(b).evicted, 3);
	ck_assert(is_open(b, 0, 8000)); /* used again */
	ck_assert(!is_open(b, 1, 8000));
	ck_assert(is_open(b, 9000, 9000));
	/* One of 512 makes room for many cheap ones. */
	ck_assert_int_eq(ensure(b, "x.test", 20000, 500, 100), LEASE_READY);
	ck_assert_uint_eq(stats_of(b).evicted, 4);
	ck_assert_uint_eq(stats_of(b).leases, N_WIDE - 1 + 500);
	bench_free(b);
}
END_TEST

START_TEST(test_cap_of_cost_all_in_use)
{
	struct bench *b = bench_new("*.w.test:8000-9000\nx.test:443");
	unsigned int i;

	fill_wide(b);
	for (i = 0; i < N_WIDE; i++)
		b->l->in_use[b->l->n_in_use++] = addr_no(i);
	ck_assert_int_eq(ensure(b, "x.test", 20000, 1, 100), -ENOSPC);
	ck_assert_uint_eq(stats_of(b).refused, 1);
	ck_assert(!is_open(b, 20000, 443));
	ck_assert_uint_eq(stats_of(b).cost, LEASE_COST_MAX);
	/* What costs nothing more is no matter of room. */
	ck_assert_int_eq(ensure(b, "l.w.test", 0, 1, 100), LEASE_READY);
	b->l->in_use[77] = addr_no(30000);
	ck_assert_int_eq(ensure(b, "x.test", 20000, 1, 100), LEASE_READY);
	ck_assert(!is_open(b, 77, 8000));
	bench_free(b);
}
END_TEST

static int set_policy(struct bench *b, const char *text)
{
	struct policy *p = lab_build(text);
	int e = lease_set_policy(b->t, p, lab_op_change, b->l, NULL);

	if (e) {
		policy_free(p);
	} else {
		policy_free(b->p);
		b->p = p;
	}
	return e;
}

/* Dearer by an edit: the oldest go in the same batch, but none in use. */
START_TEST(test_policy_makes_dearer)
{
	struct bench *b = bench_new("*.w.test:443");
	char name[32];

	for (unsigned int i = 0; i < 1024; i++) {
		(void)snprintf(name, sizeof(name), "n%u.w.test", i);
		ck_assert_int_eq(ensure(b, name, i, 1, 100), LEASE_READY);
	}
	b->l->in_use[b->l->n_in_use++] = addr_no(3);
	b->l->fail_change = true;
	ck_assert_int_ne(set_policy(b, "*.w.test:8000-9000"), 0);
	ck_assert_uint_eq(stats_of(b).leases, 1024);
	ck_assert_uint_eq(stats_of(b).cost, 1024);
	ck_assert_uint_eq(stats_of(b).evicted, 0);
	b->l->fail_change = false;
	ck_assert_int_eq(set_policy(b, "*.w.test:8000-9000"), 0);
	ck_assert_uint_eq(stats_of(b).leases, N_WIDE);
	ck_assert_uint_eq(stats_of(b).evicted, 1024 - N_WIDE);
	ck_assert_uint_eq(stats_of(b).cost, LEASE_COST_MAX);
	ck_assert_uint_eq(b->l->n_elems, N_WIDE);
	ck_assert(is_open(b, 3, 8000));
	ck_assert(!is_open(b, 512, 8000));
	ck_assert(is_open(b, 513, 8000));
	bench_free(b);
}
END_TEST

START_TEST(test_policy_makes_dearer_all_in_use)
{
	struct bench *b = bench_new("*.w.test:443\nx.test:443");

	for (unsigned int i = 0; i < 1000; i++)
		b->l->in_use[b->l->n_in_use++] = addr_no(i);
	ck_assert_int_eq(ensure(b, "a.w.test", 0, 1000, 100), LEASE_READY);
	ck_assert_int_eq(set_policy(b, "*.w.test:8000-9000\nx.test:443"), 0);
	ck_assert_uint_eq(stats_of(b).leases, 1000);
	ck_assert_uint_eq(stats_of(b).cost, 512000);
	ck_assert_uint_eq(stats_of(b).evicted, 0);
	ck_assert_int_eq(ensure(b, "x.test", 2000, 1, 100), -ENOSPC);
	b->l->n_in_use = 0; /* and then they end */
	ck_assert_int_eq(ensure(b, "x.test", 2000, 1, 100), LEASE_READY);
	ck_assert_uint_le(stats_of(b).cost, LEASE_COST_MAX);
	bench_free(b);
}
END_TEST

/* From within the batch questions are answered as afterwards. */
struct judging {
	struct bench *b;
	const struct policy *p;
	enum policy_reason seen[3];
};

static void judge_three(const struct judging *j, enum policy_reason ret[3])
{
	for (unsigned int i = 0; i < 3; i++) {
		struct addr a = addr_no(i);

		ret[i] = lease_judge(j->b->t, j->p, &a, POLICY_TCP, 443, NULL)
				 .reason;
	}
}

static int judge_within(void *ctx, const struct resolver_grant_elem *del,
			size_t n_del, const struct resolver_grant_elem *add,
			size_t n_add, struct err *err)
{
	struct judging *j = ctx;

	judge_three(j, j->seen);
	return lab_op_change(j->b->l, del, n_del, add, n_add, err);
}

START_TEST(test_judged_by_what_comes)
{
	struct bench *b = bench_new("a.test:443\nb.test:80\nc.test:443");
	struct policy *p = lab_build("b.test:443\nc.test:443\n!11.0.0.2");
	struct judging j = { .b = b, .p = p };
	enum policy_reason after[3];

	ck_assert_int_eq(ensure(b, "a.test", 0, 2, 100), LEASE_READY);
	ck_assert_int_eq(ensure(b, "b.test", 1, 1, 100), LEASE_READY);
	ck_assert_int_eq(ensure(b, "c.test", 2, 1, 100), LEASE_READY);
	ck_assert_int_eq(lease_set_policy(b->t, p, judge_within, &j, NULL), 0);
	policy_free(b->p);
	b->p = p;
	judge_three(&j, after);
	ck_assert_int_eq(j.seen[0], POLICY_NOT_LISTED);
	ck_assert_int_eq(j.seen[1], POLICY_ALLOWED); /* by another name now */
	ck_assert_int_eq(j.seen[2], POLICY_NOT_LISTED);
	ck_assert_mem_eq(j.seen, after, sizeof(after));
	bench_free(b);
}
END_TEST

/* Many names on one address share one set of ports; none is slow to end. */
START_TEST(test_many_names_on_one_address)
{
	struct bench *b = bench_new("*.test:443");
	char name[32];

	for (unsigned int i = 0; i < 20000; i++) {
		(void)snprintf(name, sizeof(name), "n%u.test", i);
		ck_assert_int_eq(ensure(b, name, 1, 1, i % 100), LEASE_READY);
	}
	ck_assert_uint_eq(b->l->n_elems, 1);
	for (unsigned int i = 0; i < 10; i++)
		lease_expire(b->t, LAB_START_MS + 1000000);
	ck_assert_uint_eq(stats_of(b).leases, 0);
	ck_assert_uint_eq(b->l->n_elems, 0);
	bench_free(b);
}
END_TEST

/* A shrinking range: the rest comes back in the same turn, deletion first. */
START_TEST(test_replacement_is_one_batch)
{
	struct bench *b = bench_new("a.test:400-500\nb.test:450-460");

	ck_assert_int_eq(ensure(b, "a.test", 1, 1, 10), LEASE_READY);
	ck_assert_int_eq(ensure(b, "b.test", 1, 1, 1000), LEASE_READY);
	ck_assert_uint_eq(b->l->n_elems, 1);
	b->l->grant_mode = LAB_GRANT_LATER;
	lease_expire(b->t, LAB_START_MS + 70000);
	ck_assert_uint_eq(b->l->n_grants, 2);
	ck_assert(b->l->grants[0]->del);
	ck_assert_uint_eq(b->l->grants[1]->elems[0].port.lo, 450);
	ck_assert_uint_eq(b->l->grants[1]->elems[0].port.hi, 460);
	while (lab_ack(b->l, 0))
		;
	ck_assert(is_open(b, 1, 450));
	ck_assert(!is_open(b, 1, 449));
	bench_free(b);
}
END_TEST

static uint32_t draw(uint64_t *seed, uint32_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
	return (uint32_t)(*seed >> 33) % n;
}

/* What the model has must be what the leases say, once all is quiet. */
static void check_quiet(struct bench *b, const struct policy *p)
{
	for (unsigned int i = 0; i < 16; i++) {
		struct addr a = addr_no(i);

		for (uint16_t port = 395; port < 620; port++) {
			bool want =
				lease_judge(b->t, p, &a, POLICY_TCP, port, NULL)
					.reason == POLICY_ALLOWED;

			ck_assert_msg(want == is_open(b, i, port),
				      "address %u port %u: want %d", i, port,
				      want);
		}
	}
}

static void random_step(struct bench *b, uint64_t *seed, uint64_t *now_ms)
{
	static const char *const names[] = { "a.test", "b.test", "c.test",
					     "d.test" };
	static const char *const policies[] = {
		"a.test:400-500\nb.test:450-600\nc.test:443\nd.test:*",
		"a.test:443\nb.test:400-600\nc.test:443,500\n!11.0.0.3",
		"b.test:500-510\nc.test:395-619\nd.test:465,500-600",
	};

	switch (draw(seed, 8)) {
	case 0:
	case 1:
	case 2:
		(void)ensure(b, names[draw(seed, 4)], draw(seed, 12),
			     1 + draw(seed, 4), draw(seed, 40));
		lease_wait_cancel(&b->w);
		break;
	case 3:
	case 4:
		(void)lab_ack(b->l, draw(seed, 8) ? 0 : -ENFILE);
		break;
	case 5:
		*now_ms += draw(seed, 60000);
		clock_set_fake(*now_ms);
		lease_expire(b->t, *now_ms);
		break;
	case 6:
		b->l->grant_mode =
			draw(seed, 2) ? LAB_GRANT_LATER : LAB_GRANT_NOW;
		break;
	default:
		b->l->fail_change = !draw(seed, 4);
		(void)set_policy(b, policies[draw(seed, 3)]);
	}
}

/*
 * Beside the small runs, whose tables never fill: few leases that cost much.
 * The model of the kernel is too slow for many elements.
 */
static void costly_step(struct bench *b, uint64_t *seed, uint64_t *now_ms)
{
	static const char *const policies[] = {
		"*.a.test:8000-9000\nb.test:7900-7960\n*.d.test:443",
		"*.a.test:8000-8010\nb.test:7000-8999\n*.d.test:7950-8999",
		"*.a.test:1000-2000,3000-4000\nb.test:443\n*.d.test:443",
	};
	static const char *const names[] = { "b.test", "x.a.test", "y.a.test",
					     "x.d.test" };
	struct lab *l = b->l;

	switch (draw(seed, 10)) {
	default:
		(void)ensure(b, names[draw(seed, 4)], draw(seed, 1500),
			     1 + draw(seed, 60), draw(seed, 40));
		lease_wait_cancel(&b->w);
		break;
	case 7:
		*now_ms += draw(seed, 20000);
		clock_set_fake(*now_ms);
		lease_expire(b->t, *now_ms);
		break;
	case 8:
		l->n_in_use = draw(seed, LAB_ADDRS_MAX);
		for (size_t i = 0; i < l->n_in_use; i++)
			l->in_use[i] = addr_no(draw(seed, 1500));
		break;
	case 9:
		l->fail_change = !draw(seed, 4);
		(void)set_policy(b, policies[draw(seed, 3)]);
	}
}

struct counted {
	const struct bench *b;
	uint64_t n, n_idle;
};

static bool count_idle(void *ctx, const struct dnsname *name,
		       const struct addr *addr, uint32_t expires_s)
{
	struct counted *c = ctx;

	(void)name;
	(void)expires_s;
	c->n++;
	c->n_idle += !lab_ops.addr_in_use(c->b->l, addr);
	return true;
}

/*
 * The sum is right. It is above the cap only
 * after an edit that found all in use, until something goes: so never when it
 * grows, and after an edit only if nothing is idle.
 */
static void check_cost(const struct bench *b, uint64_t cost_before,
		       bool is_edited)
{
	struct lease_stats s = stats_of(b);
	struct counted c = { .b = b };

	ck_assert_uint_eq(s.cost, lease_count_cost(b->t));
	if (s.cost <= LEASE_COST_MAX)
		return;
	lease_each(b->t, 0, count_idle, &c);
	ck_assert_uint_eq(c.n, s.leases);
	if (is_edited)
		ck_assert_uint_eq(c.n_idle, 0);
	else
		ck_assert_uint_le(s.cost, cost_before);
}

START_TEST(test_random_costs)
{
	uint64_t seed = (uint64_t)_i + 1, now_ms = LAB_START_MS;
	struct bench *b = bench_new("*.a.test:8000-9000\nb.test:443");
	unsigned int n_above = 0;

	for (unsigned int i = 0; i < 300; i++) {
		uint64_t cost = stats_of(b).cost;
		const struct policy *p = b->p;

		costly_step(b, &seed, &now_ms);
		check_cost(b, cost, p != b->p);
		n_above += stats_of(b).evicted > 0;
	}
	ck_assert_uint_gt(n_above, 0);
	bench_free(b);
}
END_TEST

START_TEST(test_random_runs)
{
	uint64_t seed = (uint64_t)_i + 1, now_ms = LAB_START_MS;
	struct bench *b = bench_new("a.test:400-500\nb.test:450-600\n"
				    "c.test:443\nd.test:*");

	for (unsigned int i = 0; i < 400; i++) {
		random_step(b, &seed, &now_ms);
		ck_assert_msg(!b->l->broken, "seed %d step %u: %s", _i + 1, i,
			      b->l->trouble);
		ck_assert_uint_eq(stats_of(b).cost, lease_count_cost(b->t));
	}
	while (lab_ack(b->l, 0))
		;
	b->l->grant_mode = LAB_GRANT_NOW;
	for (unsigned int i = 0; i < 3; i++) { /* what was refused, again */
		now_ms += 1000;
		clock_set_fake(now_ms);
		lease_expire(b->t, now_ms);
	}
	check_quiet(b, b->p);
	bench_free(b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lease");
	TCase *t = tcase_create("all");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_life);
	tcase_add_test(t, test_renewal_never_shortens);
	tcase_add_test(t, test_cap_per_name);
	tcase_add_test(t, test_in_use_is_not_evicted);
	tcase_add_test(t, test_cap_in_all);
	tcase_add_loop_test(t, test_cost, 0, ARRAY_SIZE(cost_rows));
	tcase_add_test(t, test_cost_of_shared_addresses);
	tcase_add_test(t, test_cap_of_cost);
	tcase_add_test(t, test_cap_of_cost_all_in_use);
	tcase_add_test(t, test_policy_makes_dearer);
	tcase_add_test(t, test_policy_makes_dearer_all_in_use);
	tcase_add_test(t, test_judged_by_what_comes);
	tcase_add_test(t, test_many_names_on_one_address);
	tcase_add_test(t, test_replacement_is_one_batch);
	tcase_add_loop_test(t, test_random_runs, 0, 100);
	tcase_add_loop_test(t, test_random_costs, 0, 20);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
