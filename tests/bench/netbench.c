/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netbench.c - both ends of the network benchmarks
 *
 *   netbench server ADDR PORT
 *   netbench out|in ADDR PORT SECONDS FLOWS     bulk; prints Gbit/s
 *   netbench crr ADDR PORT SECONDS              connect + request + close;
 *                                               prints connections/s
 *   netbench rr ADDR PORT SECONDS               round trips in one connection;
 *                                               prints p50 and p99 in us
 *   netbench idle ADDR PORT N                   N idle connections, held until
 *                                               standard input ends
 *   netbench cut ADDR PORT N                    N idle connections, held until
 *                                               all have ended; prints when the
 *                                               first and the last one did
 *                                               (CLOCK_MONOTONIC, ns)
 *
 * The first byte of a connection says what it is: 'o' the server reads, 'i' it
 * writes, 'r' it echoes one byte for one byte, 'h' it holds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK	    (256 * 1024)
#define FLOWS_MAX   64
#define SAMPLES_MAX 4000000

static struct sockaddr_in server_addr;
static uint64_t deadline_ns;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int dial(char mode)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		die("socket");
	if (connect(fd, (const struct sockaddr *)&server_addr,
		    sizeof(server_addr)) < 0)
		die("connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (write(fd, &mode, 1) != 1)
		die("write");
	return fd;
}

static void *serve_one(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char *buf = calloc(1, CHUNK);
	char mode = 0;
	ssize_t n;

	if (!buf || read(fd, &mode, 1) != 1)
		mode = 0;
	if (mode == 'o')
		while (read(fd, buf, CHUNK) > 0)
			;
	if (mode == 'i')
		while (send(fd, buf, CHUNK, MSG_NOSIGNAL) > 0)
			;
	if (mode == 'r')
		while ((n = read(fd, buf, CHUNK)) > 0)
			if (send(fd, buf, (size_t)n, MSG_NOSIGNAL) != n)
				break;
	if (mode == 'h')
		(void)!read(fd, buf, 1);
	free(buf);
	close(fd);
	return NULL;
}

static void serve(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	pthread_attr_t attr;
	pthread_t t;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 ||
	    bind(fd, (const struct sockaddr *)&server_addr,
		 sizeof(server_addr)) < 0 ||
	    listen(fd, 4096) < 0)
		die("listen");
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 65536);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (c < 0)
			continue;
		(void)setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one,
				 sizeof(one));
		if (pthread_create(&t, &attr, serve_one, (void *)(intptr_t)c))
			close(c);
	}
}

struct flow {
	pthread_t thread;
	char mode;
	uint64_t bytes;
};

static void *bulk_flow(void *arg)
{
	struct flow *f = arg;
	char *buf = calloc(1, CHUNK);
	int fd = dial(f->mode);
	ssize_t n;

	if (!buf)
		die("calloc");
	while (now_ns() < deadline_ns) {
		n = f->mode == 'o' ? write(fd, buf, CHUNK)
				   : read(fd, buf, CHUNK);
		if (n <= 0)
			break;
		f->bytes += (uint64_t)n;
	}
	close(fd);
	free(buf);
	return NULL;
}

static void bulk(char mode, double seconds, int flows)
{
	struct flow f[FLOWS_MAX] = { 0 };
	uint64_t start = now_ns(), bytes = 0;
	int i;

	deadline_ns = start + (uint64_t)(seconds * 1e9);
	for (i = 0; i < flows; i++) {
		f[i].mode = mode;
		if (pthread_create(&f[i].thread, NULL, bulk_flow, &f[i]))
			die("pthread_create");
	}
	for (i = 0; i < flows; i++) {
		pthread_join(f[i].thread, NULL);
		bytes += f[i].bytes;
	}
	printf("%.3f\n", 8.0 * (double)bytes / (double)(now_ns() - start));
}

static void crr(double seconds)
{
	uint64_t start = now_ns(), n = 0;
	char c;

	deadline_ns = start + (uint64_t)(seconds * 1e9);
	while (now_ns() < deadline_ns) {
		int fd = dial('r');

		if (write(fd, "x", 1) != 1 || read(fd, &c, 1) != 1)
			die("request");
		close(fd);
		n++;
	}
	printf("%.0f\n", (double)n * 1e9 / (double)(now_ns() - start));
}

static int cmp_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void rr(double seconds)
{
	uint32_t *v = calloc(SAMPLES_MAX, sizeof(*v));
	int fd = dial('r');
	uint32_t p50, p99;
	size_t n = 0;
	char c;

	if (!v)
		die("calloc");
	deadline_ns = now_ns() + (uint64_t)(seconds * 1e9);
	while (n < SAMPLES_MAX) {
		uint64_t t = now_ns();

		if (t >= deadline_ns)
			break;
		if (write(fd, "x", 1) != 1 || read(fd, &c, 1) != 1)
			die("round trip");
		v[n++] = (uint32_t)(now_ns() - t);
	}
	qsort(v, n, sizeof(*v), cmp_u32);
	p50 = v[n / 2];
	p99 = v[n * 99 / 100];
	printf("%.1f %.1f\n", p50 / 1e3, p99 / 1e3);
	free(v);
}

static void raise_fd_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
}

static void idle(int n)
{
	char c;
	int i;

	raise_fd_limit();
	for (i = 0; i < n; i++)
		(void)dial('h');
	puts("ready");
	fflush(stdout);
	(void)!read(0, &c, 1);
}

static void cut(int n)
{
	struct epoll_event ev = { .events = EPOLLIN }, got[64];
	int ep = epoll_create1(EPOLL_CLOEXEC), i, k, left = n;
	uint64_t first = 0, last = 0;
	char c;

	raise_fd_limit();
	for (i = 0; i < n; i++) {
		ev.data.fd = dial('h');
		if (epoll_ctl(ep, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0)
			die("epoll_ctl");
	}
	puts("ready");
	fflush(stdout);
	while (left > 0) {
		k = epoll_wait(ep, got, 64, 10000);
		if (k <= 0)
			die("epoll_wait");
		last = now_ns();
		if (!first)
			first = last;
		for (i = 0; i < k; i++) {
			if (read(got[i].data.fd, &c, 1) > 0)
				die("read");
			(void)close(got[i].data.fd);
			left--;
		}
	}
	printf("%llu %llu\n", (unsigned long long)first,
	       (unsigned long long)last);
}

int main(int argc, char **argv)
{
	double seconds = argc > 4 ? atof(argv[4]) : 2;

	signal(SIGPIPE, SIG_IGN);
	if (argc < 4)
		return 2;
	server_addr.sin_family = AF_INET;
	server_addr.sin_port = htons((uint16_t)atoi(argv[3]));
	if (inet_pton(AF_INET, argv[2], &server_addr.sin_addr) != 1)
		return 2;
	if (!strcmp(argv[1], "server"))
		serve();
	else if (!strcmp(argv[1], "out") || !strcmp(argv[1], "in"))
		bulk(argv[1][0], seconds, argc > 5 ? atoi(argv[5]) : 1);
	else if (!strcmp(argv[1], "crr"))
		crr(seconds);
	else if (!strcmp(argv[1], "rr"))
		rr(seconds);
	else if (!strcmp(argv[1], "idle"))
		idle(argc > 4 ? atoi(argv[4]) : 1);
	else if (!strcmp(argv[1], "cut"))
		cut(argc > 4 ? atoi(argv[4]) : 1);
	else
		return 2;
	return 0;
}
