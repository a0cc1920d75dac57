/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fact.h - what the programs of this folder share
 *
 * Each program shows one behaviour of the kernel that the design relies on, by
 * system calls and by `ip` and `nft`, with nothing of egret in between. It
 * prints "ok FACT", "FAIL FACT: what was seen" or "skip FACT: why" and exits
 * with 0, 1 or 77. All run as root and as an ordinary user, in namespaces that
 * end with them.
 */
#ifndef EGRET_KERNEL_FACT_H
#define EGRET_KERNEL_FACT_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define FACT_SKIP     77
#define FACT_WAIT_MS  3000
#define FACT_PLAIN_ID 1234
#define FACT_UNUSED   __attribute__((unused))

static const char *fact_name;

static void fact_ok(void) __attribute__((noreturn));
static void fact_ok(void)
{
	(void)printf("ok %s\n", fact_name);
	exit(0);
}

static void fact_end(const char *word, int status, const char *fmt, va_list ap)
	__attribute__((noreturn, format(printf, 3, 0)));
static void fact_end(const char *word, int status, const char *fmt, va_list ap)
{
	(void)printf("%s %s: ", word, fact_name);
	(void)vprintf(fmt, ap);
	(void)printf("\n");
	exit(status);
}

FACT_UNUSED static void fact_fail(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
static void fact_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fact_end("FAIL", 1, fmt, ap);
}

FACT_UNUSED static void fact_skip(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
static void fact_skip(const char *fmt, ...)
{
	bool must = getenv("EGRET_MUST_WORK") != NULL;
	va_list ap;

	va_start(ap, fmt);
	fact_end(must ? "FAIL" : "skip", must ? 1 : FACT_SKIP, fmt, ap);
}

/* What the set-up needs and isn't the fact itself. */
FACT_UNUSED static void fact_need(bool ok, const char *what)
{
	if (!ok)
		fact_fail("%s: %s", what, strerror(errno));
}

FACT_UNUSED static void fact_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	fact_need(fd >= 0 && write(fd, text, strlen(text)) > 0, path);
	(void)close(fd);
}

FACT_UNUSED static void fact_read(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

	fact_need(n >= 0, path);
	ret[n] = '\0';
	(void)close(fd);
}

/* A new user namespace, whose root is this user, and what @flags say. */
FACT_UNUSED static void fact_enter(int flags)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER | flags) < 0)
		fact_skip("no user namespaces: %s", strerror(errno));
	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	fact_write("/proc/self/uid_map", map);
	fact_write("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "0 %u 1", gid);
	fact_write("/proc/self/gid_map", map);
}

/* Root becomes an ordinary user first. */
FACT_UNUSED static void fact_be_plain(void)
{
	if (geteuid() != 0)
		return;
	fact_need(setresgid(FACT_PLAIN_ID, FACT_PLAIN_ID, FACT_PLAIN_ID) == 0,
		  "setresgid");
	fact_need(setresuid(FACT_PLAIN_ID, FACT_PLAIN_ID, FACT_PLAIN_ID) == 0,
		  "setresuid");
	fact_need(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0, "PR_SET_DUMPABLE");
}

FACT_UNUSED static int fact_sh(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));
static int fact_sh(const char *fmt, ...)
{
	char cmd[4096];
	va_list ap;
	int r;

	va_start(ap, fmt);
	(void)vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	(void)setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	(void)fflush(stdout);
	r = system(cmd);
	return WIFEXITED(r) ? WEXITSTATUS(r) : 128;
}

#define fact_run(...)                                                 \
	do {                                                          \
		if (fact_sh(__VA_ARGS__) != 0)                        \
			fact_fail("line %d: a command of the set-up " \
				  "failed",                           \
				  __LINE__);                          \
	} while (0)

FACT_UNUSED static void fact_need_commands(void)
{
	if (fact_sh("command -v ip nft >/dev/null") != 0)
		fact_skip("ip and nft aren't installed");
}

FACT_UNUSED static void fact_setns(int fd)
{
	fact_need(setns(fd, CLONE_NEWNET) == 0, "setns");
}

FACT_UNUSED static int fact_netns(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	fact_need(fd >= 0, "/proc/thread-self/ns/net");
	return fd;
}

/* A further netns of the same user namespace; the caller stays in its own. */
FACT_UNUSED static int fact_new_netns(void)
{
	int own = fact_netns(), fd;

	fact_need(unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
	fd = fact_netns();
	fact_setns(own);
	(void)close(own);
	return fd;
}

FACT_UNUSED static int fact_socket_in(int netns, int family, int type)
{
	int own = fact_netns(), fd;

	fact_setns(netns);
	fd = socket(family, type | SOCK_CLOEXEC, 0);
	fact_need(fd >= 0, "socket");
	fact_setns(own);
	(void)close(own);
	return fd;
}

/* Packet socket of this netns, receiving everything or (0) nothing. */
FACT_UNUSED static int fact_packet(const char *ifname, uint16_t proto,
				   uint32_t mark)
{
	struct sockaddr_ll sll = { .sll_family = AF_PACKET,
				   .sll_protocol = htons(proto) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(proto));

	sll.sll_ifindex = (int)if_nametoindex(ifname);
	fact_need(fd >= 0 && sll.sll_ifindex > 0 &&
			  bind(fd, (struct sockaddr *)&sll, sizeof(sll)) == 0,
		  "packet socket");
	fact_need(setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) == 0,
		  "SO_MARK");
	return fd;
}

FACT_UNUSED static bool fact_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, FACT_WAIT_MS) == 1;
}

/* "name" of `nft list counters`: its packets. */
FACT_UNUSED static unsigned long fact_counter(const char *name)
{
	char cmd[256], text[64];
	FILE *f;

	(void)snprintf(cmd, sizeof(cmd),
		       "nft list counters | grep -A1 'counter %s ' | "
		       "sed -n 's/.*packets \\([0-9]*\\).*/\\1/p'",
		       name);
	f = popen(cmd, "re");
	fact_need(f != NULL && fgets(text, sizeof(text), f) != NULL, name);
	(void)pclose(f);
	return strtoul(text, NULL, 10);
}

FACT_UNUSED static uint16_t fact_sum(const void *data, size_t len, uint32_t sum)
{
	const uint8_t *p = data;

	for (; len > 1; p += 2, len -= 2)
		sum += (uint32_t)(p[0] << 8 | p[1]);
	if (len)
		sum += (uint32_t)(p[0] << 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* The sums of an IPv4 packet without options, of @proto with its at @at. */
FACT_UNUSED static void fact_fix_sums(uint8_t *ip, size_t len, size_t at)
{
	uint16_t sum;

	ip[10] = ip[11] = 0;
	sum = fact_sum(ip, 20, 0);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
	ip[at] = ip[at + 1] = 0;
	sum = (uint16_t)~fact_sum(ip + 12, 8, 0);
	sum = fact_sum(ip + 20, len - 20,
		       (uint32_t)sum + ip[9] + (uint32_t)(len - 20));
	ip[at] = (uint8_t)(sum >> 8);
	ip[at + 1] = (uint8_t)sum;
}

/*
 * The gateway's netns is the caller's: gw0 to eth0 in @sb, inj0 and inj1, all
 * addresses local, no reverse path filter.
 */
FACT_UNUSED static int fact_lab(void)
{
	int own = fact_netns(), sb = fact_new_netns();

	fact_run("ip link add gw0 address 02:00:00:00:00:01 type veth peer "
		 "name eth0 address 02:00:00:00:00:02 netns /proc/%d/fd/%d",
		 (int)getpid(), sb);
	fact_run("ip link add inj0 type veth peer name inj1");
	fact_setns(sb);
	fact_run("ip link set lo up; ip link set eth0 up;"
		 "ip addr add 198.18.0.2/30 dev eth0;"
		 "ip route add default via 198.18.0.1;"
		 "ip neigh replace 198.18.0.1 lladdr 02:00:00:00:00:01 "
		 "nud permanent dev eth0");
	fact_setns(own);
	fact_run("for i in lo gw0 inj0 inj1; do ip link set $i up; done;"
		 "ip addr add 198.18.0.1/30 dev gw0;"
		 "ip route add local default dev lo table main;"
		 "ip neigh replace 198.18.0.2 lladdr 02:00:00:00:00:02 "
		 "nud permanent dev gw0");
	fact_run("for i in all default gw0 inj0 inj1; do "
		 "echo 0 > /proc/sys/net/ipv4/conf/$i/rp_filter; done");
	/* The end that came up first sends nothing before it runs. */
	fact_setns(sb);
	fact_run("for i in $(seq 100); do ip link show eth0 | "
		 "grep -q LOWER_UP && exit 0; sleep 0.02; done; exit 1");
	fact_setns(own);
	(void)close(own);
	return sb;
}

/* A TCP listener of this netns for any address, transparent. */
FACT_UNUSED static int fact_listen(uint16_t port)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	fact_need(setsockopt(fd, SOL_IP, IP_TRANSPARENT, &on, sizeof(on)) == 0,
		  "IP_TRANSPARENT");
	fact_need(bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0 &&
			  listen(fd, 16) == 0,
		  "listen");
	return fd;
}

/* A connection over lo of this netns (up): client and accepted end. */
FACT_UNUSED static void fact_tcp_pair(int *client, int *server)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fact_need(bind(fd, (struct sockaddr *)&sin, len) == 0 &&
			  listen(fd, 1) == 0 &&
			  getsockname(fd, (struct sockaddr *)&sin, &len) == 0,
		  "listen");
	*client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fact_need(connect(*client, (struct sockaddr *)&sin, len) == 0,
		  "connect");
	*server = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	fact_need(*server >= 0, "accept");
	(void)close(fd);
}

#endif /* EGRET_KERNEL_FACT_H */
