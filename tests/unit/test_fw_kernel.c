/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_fw_kernel.c - ruleset, sets and batches in the kernel that runs here */
#include <netinet/in.h>
#include <time.h>

#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include "nft/fw_internal.h"
#include "policy/special.h"

#include "tests/unit/fwlab.h"

#define TCP IPPROTO_TCP
#define UDP IPPROTO_UDP

START_TEST(install)
{
	struct fw_config cfg = fwlab_config();
	struct err err = { .code = 0 };
	struct fwlab lab;

	if (!fwlab_start(&lab))
		return;
	if (getenv("EGRET_SHOW_RULESET"))
		fwlab_sh(&lab, "nft list ruleset >&2");
	fwlab_sh(&lab, "nft -j list ruleset >/dev/null");
	fwlab_sh(&lab, "nft list chain netdev egret ingress | "
		       "grep -q 'policy drop'");
	fwlab_sh(&lab,
		 "nft list chain inet egret prerouting | "
		 "grep -q 'hook prerouting priority mangle; policy drop'");
	fwlab_sh(&lab, "! nft list ruleset | grep -qw ct");
	fwlab_sh(&lab, "c=/proc/sys/net/netfilter/nf_conntrack_count; "
		       "[ ! -e $c ] || [ $(cat $c) = 0 ]");
	/* Never a second time over the first. */
	ck_assert_int_eq(fw_install(lab.fw, &cfg, &err), -EEXIST);
	ck_assert_int_eq(err.code, -EEXIST);
	fwlab_end(&lab);
}
END_TEST

START_TEST(guard)
{
	struct err err = { .code = 0 };
	struct fwlab lab;

	if (!fwlab_start(&lab))
		return;
	ck_assert_msg(fw_install_guard(lab.fw, "eth0", &err) == 0, "%s",
		      err.msg);
	fwlab_sh(&lab, "nft list chain inet egret_guard output | "
		       "grep -q 'oifname \"eth0\" accept'");
	fwlab_sh(&lab, "nft list chain inet egret_guard input | "
		       "grep -q 'iifname \"lo\" accept'");
	fwlab_sh(&lab, "[ $(nft list table inet egret_guard | "
		       "grep -c 'policy drop') = 3 ]");
	ck_assert_int_eq(fw_install_guard(lab.fw, "", NULL), -EINVAL);
	ck_assert_int_eq(fw_install_guard(lab.fw, "longer-than-15-x", NULL),
			 -EINVAL);
	fwlab_end(&lab);
}
END_TEST

static const struct {
	const char *addr;
	const char *set, *shown; /* as nft(8) prints it */
	enum fw_set in;
	unsigned int len;
	uint16_t lo, hi;
	uint8_t proto;
} elems[] = {
	{ "11.0.0.1", "open4", "11.0.0.1 . 6 . 443", FW_SET_OPEN, 32, 443, 443,
	  TCP },
	{ "2a0e:b107::1", "open6", "2a0e:b107::1 . 17 . 53", FW_SET_OPEN, 128,
	  53, 53, UDP },
	{ "2a0e:b107::1", "open6", "2a0e:b107::1 . 58 . 0", FW_SET_OPEN, 128, 0,
	  0, IPPROTO_ICMP },
	{ "11.0.0.2", "open4_anyport", "11.0.0.2 . 6", FW_SET_ANYPORT, 32, 0,
	  65535, TCP },
	{ "2a0e:b107::2", "open6_anyport", "2a0e:b107::2 . 6", FW_SET_ANYPORT,
	  128, 0, 65535, TCP },
	{ "11.0.0.3", "open4_range", "11.0.0.3 . 6 . 8000-8010", FW_SET_RANGE,
	  32, 8000, 8010, TCP },
	{ "fd00::3", "private6", "fd00::3 . 6 . 0-65535", FW_SET_PRIVATE, 128,
	  0, 65535, TCP },
	{ "10.1.0.0", "listed4", "10.1.0.0/16 . 6 . 443", FW_SET_LISTED, 16,
	  443, 443, TCP },
	{ "2a0e:b107:1::", "public6", "2a0e:b107:1::/48 . 0-255 . 0-65535",
	  FW_SET_PUBLIC, 48, 0, 65535, 0 },
	{ "0.0.0.0", "public4", "0.0.0.0/0 . 6 . 0-24", FW_SET_PUBLIC, 0, 0, 24,
	  TCP },
	{ "11.9.0.0", "deny4", "11.9.0.0/16 . 0-255 . 0-65535", FW_SET_DENY, 16,
	  0, 65535, 0 },
	{ "2a0e:b107:9::", "deny6", "2a0e:b107:9::/48 . 6 . 25", FW_SET_DENY,
	  48, 25, 25, TCP },
	{ "10.0.0.0", "closed4", "10.0.0.0/8", FW_SET_CLOSED, 8, 0, 65535, 0 },
	{ "255.255.255.255", "closed4", "255.255.255.255", FW_SET_CLOSED, 32, 0,
	  65535, 0 },
	{ "fc00::", "closed6", "fc00::/7", FW_SET_CLOSED, 7, 0, 65535, 0 },
	{ "ff00::", "closed6", "ff00::/8", FW_SET_CLOSED, 8, 0, 65535, 0 },
};

/* nft(8) on one line without superfluous spaces; protocols as numbers. */
static void is_listed(const struct fwlab *lab, const char *set,
		      const char *elem)
{
	char cmd[512];

	(void)snprintf(cmd, sizeof(cmd),
		       "nft -n list set inet egret %s | tr -d '\\n\\t' | "
		       "sed 's/ *, */,/g; s/ *} */,/g; s/{ */,/g' | "
		       "grep -qF ',%s,'",
		       set, elem);
	fwlab_sh(lab, cmd);
}

START_TEST(every_kind_of_element)
{
	struct fw_elem v[ARRAY_SIZE(elems)];
	struct fw_stats stats;
	struct fwlab lab;

	if (!fwlab_start(&lab))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(elems); i++)
		v[i] = fwlab_elem(elems[i].in, elems[i].addr, elems[i].len,
				  elems[i].proto, elems[i].lo, elems[i].hi);
	fwlab_add(&lab, v, ARRAY_SIZE(v));
	for (size_t i = 0; i < ARRAY_SIZE(elems); i++)
		is_listed(&lab, elems[i].set, elems[i].shown);
	ck_assert_int_eq(fw_apply(lab.fw, NULL, 0, v, 1, NULL), -EEXIST);
	fwlab_del(&lab, v, ARRAY_SIZE(v));
	fwlab_sh(&lab, "! nft list ruleset | grep -q elements");
	ck_assert_int_eq(fw_apply(lab.fw, v, 1, NULL, 0, NULL), -ENOENT);
	fw_get_stats(lab.fw, &stats);
	ck_assert_uint_eq(stats.adds, ARRAY_SIZE(v));
	ck_assert_uint_eq(stats.dels, ARRAY_SIZE(v));
	ck_assert_uint_eq(stats.failures, 2);
	fwlab_end(&lab);
}
END_TEST

/* Adjacent ranges and those up to the last address, put in and taken out. */
START_TEST(special_ranges)
{
	struct fw_elem v[512];
	struct fwlab lab;
	size_t n = 0;

	if (!fwlab_start(&lab))
		return;
	for (int i = 0; i < 2; i++) {
		size_t n_prefixes;
		const struct prefix *p =
			special_prefixes(i ? AF_INET6 : AF_INET, &n_prefixes);

		ck_assert_uint_gt(n_prefixes, 0);
		for (size_t k = 0; k < n_prefixes; k++) {
			ck_assert_uint_lt(n, ARRAY_SIZE(v));
			v[n++] = (struct fw_elem){ .set = FW_SET_CLOSED,
						   .prefix = p[k] };
		}
	}
	fwlab_add(&lab, v, n);
	for (size_t i = 0; i < n; i++) {
		fwlab_del(&lab, &v[i], 1);
		fwlab_add(&lab, &v[i], 1);
	}
	fwlab_del(&lab, v, n);
	fwlab_sh(&lab, "! nft list ruleset | grep -q elements");
	fwlab_end(&lab);
}
END_TEST

/* One batch exchanges an interval for one that overlaps it. */
START_TEST(exchange)
{
	static const enum fw_set sets[] = { FW_SET_CLOSED, FW_SET_DENY };
	struct fwlab lab;

	if (!fwlab_start(&lab))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const struct fw_elem wide =
			fwlab_elem(sets[i], "10.0.0.0", 8, 0, 0, 65535);
		const struct fw_elem narrow =
			fwlab_elem(sets[i], "10.1.0.0", 16, 0, 0, 65535);

		fwlab_add(&lab, &wide, 1);
		ck_assert_int_eq(fw_apply(lab.fw, &wide, 1, &narrow, 1, NULL),
				 0);
		ck_assert_int_eq(fw_apply(lab.fw, &narrow, 1, &wide, 1, NULL),
				 0);
		/* Overlaps are refused, and the batch with them. */
		ck_assert_int_eq(fw_apply(lab.fw, NULL, 0, &narrow, 1, NULL),
				 -EEXIST);
	}
	fwlab_end(&lab);
}
END_TEST

/* ---- transactions ---- */

struct told {
	struct fw_txn txn;
	struct fw_elem elem;
	int result, n;
};

static void tell(struct fw_txn *t, int result, const char *why)
{
	struct told *told = container_of(t, struct told, txn);

	(void)why;
	told->result = result;
	told->n++;
}

static void submit(const struct fwlab *lab, struct told *t, bool del,
		   struct fw_elem e)
{
	*t = (struct told){ .txn = { .n = 1, .del = del, .done = tell },
			    .elem = e };
	t->txn.elems = &t->elem;
	fw_submit(lab->fw, &t->txn);
}

static struct fw_elem numbered(uint32_t i)
{
	struct fw_elem e =
		fwlab_elem(FW_SET_OPEN, "11.0.0.0", 32, TCP, 443, 443);

	e.prefix.addr.bytes[1] = (uint8_t)(i >> 16);
	e.prefix.addr.bytes[2] = (uint8_t)(i >> 8);
	e.prefix.addr.bytes[3] = (uint8_t)i;
	return e;
}

static void count(const struct fwlab *lab, const char *set, size_t n)
{
	char cmd[256];

	(void)snprintf(cmd, sizeof(cmd),
		       "[ $(nft list set inet egret %s | grep -o 'tcp . "
		       "443\\|6 . 443' | "
		       "wc -l) = %zu ]",
		       set, n);
	fwlab_sh(lab, cmd);
}

START_TEST(bad_ones_fail_alone)
{
	struct told t[6];
	struct fwlab lab;

	if (!fwlab_start(&lab))
		return;
	submit(&lab, &t[0], false, numbered(0));
	submit(&lab, &t[1], true, numbered(9)); /* isn't there */
	submit(&lab, &t[2], false,
	       fwlab_elem(FW_SET_RANGE, "11.0.0.1", 32, TCP, 1, 9));
	submit(&lab, &t[3], false, /* overlaps the one before */
	       fwlab_elem(FW_SET_RANGE, "11.0.0.1", 32, TCP, 5, 20));
	submit(&lab, &t[4], false, /* no such element */
	       fwlab_elem(FW_SET_OPEN, "11.0.0.0", 8, TCP, 1, 1));
	submit(&lab, &t[5], false, numbered(5));
	ck_assert(fw_has_pending(lab.fw));
	fw_flush(lab.fw);
	ck_assert(!fw_has_pending(lab.fw));
	ck_assert_int_eq(t[0].result, 0);
	ck_assert_int_eq(t[1].result, -ENOENT);
	ck_assert_int_eq(t[2].result, 0);
	ck_assert_int_eq(t[3].result, -EEXIST);
	ck_assert_int_eq(t[4].result, -EINVAL);
	ck_assert_int_eq(t[5].result, 0);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		ck_assert_int_eq(t[i].n, 1);
	count(&lab, "open4", 2);
	fwlab_end(&lab);
}
END_TEST

START_TEST(again_is_no_error)
{
	struct told t[3];
	struct fwlab lab;

	if (!fwlab_start(&lab))
		return;
	submit(&lab, &t[0], false, numbered(1));
	submit(&lab, &t[1], false, numbered(1));
	fw_flush(lab.fw);
	submit(&lab, &t[2], false, numbered(1));
	fw_flush(lab.fw);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		ck_assert_int_eq(t[i].result, 0);
	count(&lab, "open4", 1);
	fwlab_end(&lab);
}
END_TEST

/* The last word counts, whether the element was there or not. */
START_TEST(same_element_in_one_turn)
{
	struct told t[4];
	struct fwlab lab;

	if (!fwlab_start(&lab))
		return;
	submit(&lab, &t[0], false, numbered(1));
	submit(&lab, &t[1], true, numbered(1));
	fw_flush(lab.fw);
	ck_assert_int_eq(t[0].result, 0);
	ck_assert_int_eq(t[1].result, 0);
	count(&lab, "open4", 0);
	submit(&lab, &t[0], false, numbered(1));
	fw_flush(lab.fw);
	submit(&lab, &t[0], true, numbered(1));
	submit(&lab, &t[1], false, numbered(1));
	fw_flush(lab.fw);
	ck_assert_int_eq(t[0].result, 0);
	ck_assert_int_eq(t[1].result, 0);
	count(&lab, "open4", 1);
	fwlab_end(&lab);
}
END_TEST

/* ---- many ---- */

static double now_ms(void)
{
	struct timespec ts;

	ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

#define PRESENT 50000
#define MORE	2000

/* Also more than one batch holds, so fw_apply() works in parts. */
START_TEST(many_elements)
{
	struct fw_elem *v = calloc(PRESENT, sizeof(*v));
	struct told *t = calloc(MORE + 1, sizeof(*t));
	struct fwlab lab;
	double start;

	ck_assert(v && t);
	if (!fwlab_start(&lab))
		return;
	for (uint32_t i = 0; i < PRESENT; i++)
		v[i] = numbered(i);
	start = now_ms();
	fwlab_add(&lab, v, PRESENT);
	(void)printf("%d added at once: %.1f ms\n", PRESENT, now_ms() - start);

	start = now_ms();
	for (uint32_t i = 0; i < MORE; i++)
		submit(&lab, &t[i], false, numbered(PRESENT + i));
	fw_flush(lab.fw);
	(void)printf("%d added one by one in a turn: %.1f ms\n", MORE,
		     now_ms() - start);
	for (uint32_t i = 0; i < MORE; i++)
		ck_assert_int_eq(t[i].result, 0);

	start = now_ms();
	for (uint32_t i = 0; i < MORE; i++)
		submit(&lab, &t[i], true, numbered(i));
	submit(&lab, &t[MORE], true, numbered(1U << 20)); /* bad: each alone */
	fw_flush(lab.fw);
	(void)printf("%d deleted, each alone: %.1f ms\n", MORE,
		     now_ms() - start);
	ck_assert_int_eq(t[MORE].result, -ENOENT);
	for (uint32_t i = 0; i < MORE; i++)
		ck_assert_int_eq(t[i].result, 0);
	/* Each is there: deleting one that isn't would be an error. */
	for (uint32_t i = 0; i < MORE; i++)
		v[i] = numbered(PRESENT + i);
	fwlab_del(&lab, v, PRESENT);
	count(&lab, "open4", 0);
	free(v);
	free(t);
	fwlab_end(&lab);
}
END_TEST

/* The smallest buffers a host may grant: everything works in more parts. */
static int open_small(void *arg, struct err *err)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_NETFILTER);

	(void)err;
	*(int *)arg = fd;
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF,
				    &(int){ 1 << 15 }, sizeof(int)),
			 0);
	return bind(fd, (struct sockaddr *)&sa, sizeof(sa));
}

START_TEST(small_buffers)
{
	struct fw_elem v[3000];
	struct err err = { .code = 0 };
	struct fw *fw = NULL;
	struct fwlab lab;
	struct told big;
	int fd = -1;

	if (!fwlab_start(&lab))
		return;
	gwlab_call(lab.net.gw, open_small, &fd);
	ck_assert_int_eq(fw_new(&fw, fd, &err), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = numbered(i);
	ck_assert_msg(fw_apply(fw, NULL, 0, v, ARRAY_SIZE(v), &err) == 0, "%s",
		      err.msg);
	count(&lab, "open4", ARRAY_SIZE(v));
	ck_assert_int_eq(fw_apply(fw, v, ARRAY_SIZE(v), NULL, 0, &err), 0);
	count(&lab, "open4", 0);
	/* But a transaction is one batch or nothing. */
	big = (struct told){
		.txn = { .elems = v, .n = ARRAY_SIZE(v), .done = tell }
	};
	fw_submit(fw, &big.txn);
	fw_flush(fw);
	ck_assert_int_eq(big.result, -EMSGSIZE);
	count(&lab, "open4", 0);
	fw_freep(&fw);
	(void)close(fd);
	fwlab_end(&lab);
}
END_TEST

/* As many answers as a batch may have messages fit into the default buffer. */
START_TEST(receive_buffer_suffices)
{
	struct batch_result res;
	struct fw *fw = NULL;
	struct fwlab lab;
	uint32_t n = 0;
	int fd = -1, r = 0;

	if (!fwlab_start(&lab))
		return;
	gwlab_call(lab.net.gw, open_small, &fd);
	ck_assert_int_eq(fw_new(&fw, fd, NULL), 0);
	batch_begin(&fw->batch, fw->seq);
	while (r == 0) {
		const struct fw_elem e = numbered(n);
		const struct sets_change c = { .elems = &e, .n = 1 };
		struct sets_job job = { .type = NFT_MSG_DELSETELEM,
					.mask = SETS_ALL,
					.changes = &c,
					.n_changes = 1 };

		r = sets_put(&fw->batch, &job);
		n += r == 0;
	}
	ck_assert_uint_eq(n, fw->batch.n_msgs);
	fw_send(fw, &res);
	ck_assert_int_eq(res.error, -ENOENT);
	ck_assert_uint_eq(res.msg, 1);
	(void)printf("%u messages in a batch\n", n);
	fw_freep(&fw);
	(void)close(fd);
	fwlab_end(&lab);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fw_kernel");
	TCase *tc = tcase_create("fw_kernel");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, install);
	tcase_add_test(tc, guard);
	tcase_add_test(tc, every_kind_of_element);
	tcase_add_test(tc, special_ranges);
	tcase_add_test(tc, exchange);
	tcase_add_test(tc, bad_ones_fail_alone);
	tcase_add_test(tc, again_is_no_error);
	tcase_add_test(tc, same_element_in_one_turn);
	tcase_add_test(tc, many_elements);
	tcase_add_test(tc, small_buffers);
	tcase_add_test(tc, receive_buffer_suffices);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
