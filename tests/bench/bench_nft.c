/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_nft.c - what a change of the kernel's sets costs, with 50 000 elements
 * present; medians, in microseconds
 *
 * Makes a user and network namespace of its own and touches nothing else.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <linux/netlink.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "nft/fw.h"

#define PRESENT	  50000
#define ROUNDS	  200
#define BATCH_MAX 2000

static struct fw_elem elem_at(uint32_t i)
{
	struct fw_elem e = { .set = FW_SET_OPEN,
			     .prefix = { .addr = { .family = AF_INET },
					 .len = 32 },
			     .proto = IPPROTO_TCP,
			     .port_lo = 443,
			     .port_hi = 443 };

	e.prefix.addr.bytes[0] = 11;
	e.prefix.addr.bytes[1] = (uint8_t)(i >> 16);
	e.prefix.addr.bytes[2] = (uint8_t)(i >> 8);
	e.prefix.addr.bytes[3] = (uint8_t)i;
	return e;
}

static double now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* can't fail */
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int cmp_double(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), cmp_double);
	return v[n / 2];
}

static int failures;

static void done(struct fw_txn *t, int result, const char *why)
{
	(void)t;
	(void)why;
	failures += result < 0;
}

/* One flush of @n transactions of an element each; microseconds. */
static double flush(struct fw *fw, bool del, uint32_t n)
{
	static struct fw_elem elems[BATCH_MAX];
	static struct fw_txn txns[BATCH_MAX];
	double start;

	for (uint32_t i = 0; i < n; i++) {
		elems[i] = elem_at(PRESENT + i);
		txns[i] = (struct fw_txn){
			.elems = &elems[i], .n = 1, .del = del, .done = done
		};
	}
	start = now_us();
	for (uint32_t i = 0; i < n; i++)
		fw_submit(fw, &txns[i]);
	fw_flush(fw);
	return now_us() - start;
}

static void measure(struct fw *fw, uint32_t n)
{
	double add[ROUNDS], del[ROUNDS];
	size_t rounds = n > 100 ? ROUNDS / 10 : ROUNDS;

	for (size_t i = 0; i < rounds; i++) {
		add[i] = flush(fw, false, n);
		del[i] = flush(fw, true, n);
	}
	(void)printf("%6u elements: add %8.1f us, delete %8.1f us\n", n,
		     median(add, rounds), median(del, rounds));
}

static int fill(struct fw *fw, struct err *err)
{
	_cleanup_(freep) struct fw_elem *v = calloc(PRESENT, sizeof(*v));
	double start = now_us();
	int r;

	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < PRESENT; i++)
		v[i] = elem_at(i);
	r = fw_apply(fw, NULL, 0, v, PRESENT, err);
	(void)printf("%6d elements at first: %.1f us\n", PRESENT,
		     now_us() - start);
	return r;
}

static int open_socket(void)
{
	const struct sockaddr_nl sa = { .nl_family = AF_NETLINK };
	const int size = 4 << 20;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_NETFILTER);

	if (fd < 0)
		return -errno;
	/* As much as is granted. */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	return fd;
}

static int run(struct err *err)
{
	static const uint32_t sizes[] = { 1, 10, 100, BATCH_MAX };
	const struct fw_config cfg = {
		/* The ingress chain needs a device that exists. */
		.gw_ifname = "lo",
		.inject_ifname = "inj1",
		.sb_addr4 = { .family = AF_INET },
		.sb_addr6 = { .family = AF_INET6 },
		.relay_port = 1,
	};
	_cleanup_(fw_freep) struct fw *fw = NULL;
	_cleanup_(fd_closep) int fd = open_socket();
	int r;

	if (fd < 0)
		return err_set_errno(err, fd, "cannot open a netlink socket");
	r = fw_new(&fw, fd, err);
	if (r == 0)
		r = fw_install(fw, &cfg, err);
	if (r == 0)
		r = fill(fw, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(sizes); i++)
		measure(fw, sizes[i]);
	if (r == 0 && failures > 0)
		r = err_set(err, -EIO, "%d transactions failed", failures);
	return r;
}

int main(void)
{
	struct err err = { .code = 0 };

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
		(void)fprintf(stderr, "bench_nft: no namespaces: %s\n",
			      strerror(errno));
		return EXIT_FAILURE;
	}
	if (run(&err) < 0) {
		(void)fprintf(stderr, "bench_nft: %s\n", err.msg);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
