/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relay_lab.c - a relay between real kernels' sockets, in one thread
 *
 * Sockets belong to the namespace they were made in, so the one thread enters a
 * namespace, makes a socket, and comes back: in a user namespace of its own it
 * may. Everything is gone when the process ends.
 */
#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "tests/unit/relay_lab.h"

#define SYN_GROUP  1
#define RELAY_PORT 1
#define CHUNK_MAX  (96 * 1024)
#define NFLOG_BUF  (64 * 1024)

static const uint8_t inject_src[6] = { 2, 0x65, 0x67, 0x72, 0, 3 };
static const uint8_t inject_dst[6] = { 2, 0x65, 0x67, 0x72, 0, 4 };

static const char *const sandbox_commands =
	"link set lo up\n"
	"link add eth0 address 02:65:67:72:00:02 mtu 65520 type veth "
	"peer name gw0 address 02:65:67:72:00:01 mtu 65520\n";

static const char *const sandbox_commands2 =
	"addr add 198.18.0.2/30 dev eth0\n"
	"addr add fd77::2/126 dev eth0 nodad\n"
	"link set eth0 up\n"
	"neigh add 198.18.0.1 lladdr 02:65:67:72:00:01 dev eth0\n"
	"neigh add fd77::1 lladdr 02:65:67:72:00:01 dev eth0\n"
	"route add default via 198.18.0.1\n"
	"route add ::/0 via fd77::1\n";

static const char *const gateway_commands =
	"link set lo up\n"
	"link add inj0 address 02:65:67:72:00:03 type veth "
	"peer name inj1 address 02:65:67:72:00:04\n"
	"link set inj0 up\n"
	"link set inj1 up\n"
	"addr add 198.18.0.1/30 dev gw0\n"
	"addr add fd77::1/126 dev gw0 nodad\n"
	"link set gw0 up\n"
	"neigh add 198.18.0.2 lladdr 02:65:67:72:00:02 dev gw0\n"
	"neigh add fd77::2 lladdr 02:65:67:72:00:02 dev gw0\n"
	"route add local default dev lo table main\n"
	"route add local ::/0 dev lo table main\n";

static const char *const host_commands =
	"link set lo up\n"
	"addr add 11.0.0.1/16 dev lo\n"
	"addr add 2a0e:b107::1/128 dev lo nodad\n"
	"route add local 2a0e:b107::/64 dev lo\n"
	"link add hole type veth peer name hole1\n"
	"addr add 10.99.0.1/24 dev hole\n"
	"link set hole up\n"
	"link set hole1 up\n"
	"neigh add 10.99.0.2 lladdr 02:00:00:00:00:99 dev hole nud permanent\n"
	"route add 11.9.0.0/16 via 10.99.0.2\n"
	"route add unreachable 11.8.0.0/16\n"
	"route add prohibit 11.7.0.0/16\n";

static const char *const ruleset =
	"table inet egret {\n"
	"chain pre {\n"
	"type filter hook prerouting priority mangle; policy drop;\n"
	"meta l4proto ipv6-icmp accept\n"
	"iifname inj1 meta mark 2 meta l4proto tcp reject with tcp reset\n"
	"iifname inj1 meta mark 3 reject with icmpx type host-unreachable\n"
	"iifname inj1 meta mark 1 meta l4proto tcp jump relay\n"
	"iifname gw0 tcp flags & (fin|syn|rst|ack) == syn"
	" log group 1 queue-threshold 1 drop\n"
	"iifname gw0 tcp flags & (fin|syn|rst|ack) != 0 jump relay\n"
	"}\n"
	"chain relay {\n"
	"meta nfproto ipv4 meta l4proto tcp tproxy ip to :1 accept\n"
	"meta nfproto ipv6 meta l4proto tcp tproxy ip6 to :1 accept\n"
	"}\n"
	"}\n";

static void enter(int ns)
{
	ck_assert_int_eq(setns(ns, CLONE_NEWNET), 0);
}

static int open_ns(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static void write_file(const char *path, const char *text)
{
	_cleanup_(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	ck_assert_msg(write(fd, text, strlen(text)) == (ssize_t)strlen(text),
		      "%s: %s", path, strerror(errno));
}

static void feed(const char *command, const char *input)
{
	FILE *p = popen(command, "we");

	ck_assert_ptr_nonnull(p);
	ck_assert_int_ge(fputs(input, p), 0);
	ck_assert_msg(pclose(p) == 0, "%s failed", command);
}

static void enter_user_ns(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	ck_assert_int_eq(unshare(CLONE_NEWUSER | CLONE_NEWNET), 0);
	write_file("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
}

bool lab_can_run(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 ||
		      access("/usr/sbin/nft", X_OK) < 0 ||
		      access("/usr/sbin/ip", X_OK) < 0);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
		return true;
	(void)fputs("skipped: no user namespaces, ip or nft here\n", stderr);
	return false;
}

/*
 * A link that was set up drops what it is given until the kernel's link watch
 * has come round to it, and a lost first packet costs a second.
 */
static void await_link(int ns, const char *name)
{
	_cleanup_(fd_closep) int fd = -1;
	struct ifreq req = { 0 };
	int tries = 0;

	enter(ns);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	(void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	do {
		ck_assert_int_eq(ioctl(fd, SIOCGIFFLAGS, &req), 0);
		(void)poll(NULL, 0, 1);
	} while (!(req.ifr_flags & IFF_RUNNING) && ++tries < LAB_WAIT_MS);
	ck_assert_int_lt(tries, LAB_WAIT_MS);
}

static void make_namespaces(struct lab *lab)
{
	char move[64];

	enter_user_ns();
	lab->host_ns = open_ns();
	feed("ip -batch -", host_commands);
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	lab->gw_ns = open_ns();
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	lab->sb_ns = open_ns();
	feed("ip -batch -", sandbox_commands);
	(void)snprintf(move, sizeof(move), "link set gw0 netns /proc/%d/fd/%d",
		       getpid(), lab->gw_ns);
	feed("ip -batch -", move);
	feed("ip -batch -", sandbox_commands2);
	enter(lab->gw_ns);
	write_file("/proc/sys/net/ipv4/conf/all/rp_filter", "0");
	write_file("/proc/sys/net/ipv4/conf/default/rp_filter", "0");
	feed("ip -batch -", gateway_commands);
	feed("nft -f -", ruleset);
	await_link(lab->gw_ns, "inj0");
	await_link(lab->gw_ns, "inj1");
	await_link(lab->gw_ns, "gw0");
	await_link(lab->sb_ns, "eth0");
	enter(lab->host_ns);
}

static void set_option(int fd, int level, int name, int value)
{
	ck_assert_int_eq(setsockopt(fd, level, name, &value, sizeof(value)), 0);
}

static int make_listener(int family)
{
	struct sockaddr_storage ss = { .ss_family = (sa_family_t)family };
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	if (family == AF_INET6) {
		((struct sockaddr_in6 *)&ss)->sin6_port = htons(RELAY_PORT);
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		set_option(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, 1);
	} else {
		((struct sockaddr_in *)&ss)->sin_port = htons(RELAY_PORT);
		set_option(fd, IPPROTO_IP, IP_TRANSPARENT, 1);
	}
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&ss, sizeof(ss)), 0);
	ck_assert_int_eq(listen(fd, 4096), 0);
	return fd;
}

static int make_injector(void)
{
	struct sockaddr_ll ll = {
		.sll_family = AF_PACKET,
		.sll_ifindex = (int)if_nametoindex("inj0"),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&ll, sizeof(ll)), 0);
	return fd;
}

/* One attribute to the log subsystem. */
static void nflog_config(int fd, uint16_t attr, const void *data, uint16_t len)
{
	struct {
		struct nlmsghdr nlh;
		struct nfgenmsg gen;
		struct nlattr attr;
		uint8_t data[8];
	} m = {
		.nlh.nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG,
		.nlh.nlmsg_flags = NLM_F_REQUEST,
		.gen.version = NFNETLINK_V0,
		.gen.res_id = htons(SYN_GROUP),
		.attr.nla_type = attr,
	};

	m.attr.nla_len = (uint16_t)(NLA_HDRLEN + len);
	m.nlh.nlmsg_len = NLMSG_LENGTH(sizeof(m.gen)) +
			  (uint32_t)NLA_ALIGN(m.attr.nla_len);
	memcpy(m.data, data, len);
	ck_assert_int_eq(send(fd, &m, m.nlh.nlmsg_len, 0), m.nlh.nlmsg_len);
}

static int make_nflog(void)
{
	const struct nfulnl_msg_config_cmd bind_cmd = { NFULNL_CFG_CMD_BIND };
	const struct nfulnl_msg_config_mode mode = {
		.copy_range = htonl(2048),
		.copy_mode = NFULNL_COPY_PACKET,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC,
			NETLINK_NETFILTER);

	ck_assert_int_ge(fd, 0);
	set_option(fd, SOL_SOCKET, SO_RCVBUF, 1 << 20);
	nflog_config(fd, NFULA_CFG_CMD, &bind_cmd, sizeof(bind_cmd));
	nflog_config(fd, NFULA_CFG_MODE, &mode, sizeof(mode));
	return fd;
}

static void pass_syn(struct lab *lab, const struct nlmsghdr *nlh)
{
	const uint8_t *at = (const uint8_t *)nlh + NLMSG_HDRLEN;
	const uint8_t *end = (const uint8_t *)nlh + nlh->nlmsg_len;

	at += NLMSG_ALIGN(sizeof(struct nfgenmsg));
	while (end - at >= NLA_HDRLEN) {
		struct nlattr a;

		memcpy(&a, at, sizeof(a));
		if (a.nla_type == NFULA_PAYLOAD && !lab->swallow_syns)
			relay_syn(lab->relay, at + NLA_HDRLEN,
				  a.nla_len - (size_t)NLA_HDRLEN);
		at += NLA_ALIGN(a.nla_len);
	}
}

static void on_nflog(struct loop_fd *w, uint32_t events)
{
	struct lab *lab = container_of(w, struct lab, nflog_w);
	static uint8_t buf[NFLOG_BUF] __attribute__((aligned(8)));
	ssize_t n = recv(w->fd, buf, sizeof(buf), MSG_DONTWAIT);
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

	(void)events;
	if (n < 0)
		return;
	for (size_t left = (size_t)n; NLMSG_OK(nlh, left);
	     nlh = NLMSG_NEXT(nlh, left))
		if (nlh->nlmsg_type ==
		    (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET))
			pass_syn(lab, nlh);
}

static bool may_connect(void *ctx, const struct relay_key *key)
{
	const struct lab *lab = ctx;

	return !addr_equal(&key->dst.addr, &lab->denied);
}

static void on_opened(void *ctx, const struct relay_flow_info *f)
{
	struct lab *lab = ctx;

	(void)f;
	lab->n_opened++;
}

static void on_closed(void *ctx, const struct relay_flow_info *f)
{
	struct lab *lab = ctx;

	lab->n_closed++;
	lab->last_closed = *f;
}

static void on_refused(void *ctx, const struct relay_flow_info *f,
		       enum relay_refusal why)
{
	struct lab *lab = ctx;

	lab->n_refused++;
	lab->n_refused_by[why]++;
	lab->last_refused = *f;
}

static void raise_fd_limit(void)
{
	struct rlimit l;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &l), 0);
	l.rlim_cur = l.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
}

void lab_open(struct lab *lab, uint32_t max_fds)
{
	static const struct relay_ops ops = {
		.may_connect = may_connect,
		.opened = on_opened,
		.closed = on_closed,
		.refused = on_refused,
	};
	struct relay_config cfg = { .max_fds = max_fds };

	memset(lab, 0, sizeof(*lab));
	raise_fd_limit();
	make_namespaces(lab);
	memcpy(cfg.inject_src_mac, inject_src, 6);
	memcpy(cfg.inject_dst_mac, inject_dst, 6);
	enter(lab->gw_ns);
	cfg.listen4_fd = make_listener(AF_INET);
	cfg.listen6_fd = make_listener(AF_INET6);
	cfg.inject_fd = make_injector();
	lab->nflog_fd = make_nflog();
	enter(lab->host_ns);
	ck_assert_int_eq(loop_new(&lab->loop, NULL), 0);
	ck_assert_int_eq(
		relay_new(&lab->relay, lab->loop, &cfg, &ops, lab, NULL), 0);
	ck_assert_int_eq(loop_add_fd(lab->loop, &lab->nflog_w, lab->nflog_fd,
				     EPOLLIN, on_nflog),
			 0);
}

void lab_close(struct lab *lab)
{
	loop_del_fd(&lab->nflog_w);
	fd_closep(&lab->nflog_fd);
	relay_freep(&lab->relay);
	loop_freep(&lab->loop);
	fd_closep(&lab->host_ns);
	fd_closep(&lab->gw_ns);
	fd_closep(&lab->sb_ns);
}

struct endpoint lab_endpoint(const char *addr, uint16_t port)
{
	struct endpoint e = { .port = port };

	ck_assert_int_eq(addr_parse(addr, &e.addr), 0);
	return e;
}

int lab_listen(const char *addr, struct endpoint *ret)
{
	struct endpoint e = lab_endpoint(addr, 0);
	struct sockaddr_storage ss;
	socklen_t len = endpoint_to_sockaddr(&e, &ss);
	int fd = socket(ss.ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	/* A local route makes addresses reachable, but not for bind(). */
	set_option(fd, IPPROTO_IP, IP_FREEBIND, 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&ss, len), 0);
	ck_assert_int_eq(listen(fd, 4096), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
	ck_assert_int_eq(endpoint_from_sockaddr(&ss, ret), 0);
	return fd;
}

int lab_client(struct lab *lab, int family, uint16_t port)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd;

	enter(lab->sb_ns);
	fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	enter(lab->host_ns);
	ck_assert_int_ge(fd, 0);
	if (port != 0) {
		any.sin_port = htons(port);
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
		ck_assert_int_eq(bind(fd, (struct sockaddr *)&any, sizeof(any)),
				 0);
	}
	return fd;
}

struct waiter {
	struct loop_fd w;
	uint32_t events;
};

static void on_wait(struct loop_fd *w, uint32_t events)
{
	container_of(w, struct waiter, w)->events = events;
}

uint32_t lab_wait(struct lab *lab, int fd, uint32_t events, int wait_ms)
{
	uint64_t end = clock_now_ms() + (uint64_t)wait_ms;
	struct waiter waiter = { 0 };

	ck_assert_int_eq(loop_add_fd(lab->loop, &waiter.w, fd, events, on_wait),
			 0);
	while (!waiter.events && clock_now_ms() < end)
		ck_assert_int_eq(
			loop_run_once(lab->loop, (int)(end - clock_now_ms())),
			0);
	loop_del_fd(&waiter.w);
	return waiter.events;
}

void lab_settle(struct lab *lab)
{
	uint64_t n;
	struct relay_stats before, after;

	/* Quiet is when 20 ms pass without any of the counters moving. */
	do {
		lab_get_stats(lab, &before);
		n = clock_now_ms() + 20;
		while (clock_now_ms() < n)
			ck_assert_int_eq(loop_run_once(lab->loop, 5), 0);
		lab_get_stats(lab, &after);
	} while (memcmp(&before, &after, sizeof(before)) != 0);
}

bool lab_until(struct lab *lab, const unsigned int *counter, unsigned int value)
{
	uint64_t end = clock_now_ms() + LAB_WAIT_MS;

	while (*counter != value && clock_now_ms() < end)
		ck_assert_int_eq(loop_run_once(lab->loop, 100), 0);
	return *counter == value;
}

int lab_connect(struct lab *lab, int fd, const struct endpoint *to, int wait_ms)
{
	struct sockaddr_storage ss;
	socklen_t len = endpoint_to_sockaddr(to, &ss);
	int error = 0;

	if (connect(fd, (struct sockaddr *)&ss, len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	if (!lab_wait(lab, fd, EPOLLOUT, wait_ms))
		return -EINPROGRESS;
	len = sizeof(error);
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	return -error;
}

int lab_accept(struct lab *lab, int listen_fd)
{
	ck_assert(lab_wait(lab, listen_fd, EPOLLIN, LAB_WAIT_MS));
	return accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void lab_pair(struct lab *lab, const char *addr, int *ret_client,
	      int *ret_server)
{
	struct endpoint to;
	_cleanup_(fd_closep) int listener = lab_listen(addr, &to);
	unsigned int n_opened = lab->n_opened;

	*ret_client = lab_client(lab, to.addr.family, 0);
	ck_assert_int_eq(lab_connect(lab, *ret_client, &to, LAB_WAIT_MS), 0);
	*ret_server = lab_accept(lab, listener);
	ck_assert_int_ge(*ret_server, 0);
	ck_assert(lab_until(lab, &lab->n_opened, n_opened + 1));
}

ssize_t lab_read(struct lab *lab, int fd, void *data, size_t len)
{
	uint8_t *at = data;
	size_t n = 0;

	while (n < len) {
		ssize_t r = recv(fd, at + n, len - n, MSG_DONTWAIT);

		if (r == 0)
			break;
		if (r < 0 && errno != EAGAIN)
			return -errno;
		if (r > 0)
			n += (size_t)r;
		else if (!lab_wait(lab, fd, EPOLLIN | EPOLLRDHUP, LAB_WAIT_MS))
			return -ETIME;
	}
	return (ssize_t)n;
}

void lab_write(struct lab *lab, int fd, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len > 0) {
		ssize_t r = send(fd, at, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (r < 0) {
			ck_assert_int_eq(errno, EAGAIN);
			ck_assert(lab_wait(lab, fd, EPOLLOUT, LAB_WAIT_MS));
			continue;
		}
		at += r;
		len -= (size_t)r;
	}
}

/* The stream: byte @at of it depends on @at and the seed alone. */
static void fill(uint8_t *data, size_t len, size_t at, unsigned int seed)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t x = (at + i) / 8 * 0x9e3779b97f4a7c15ULL + seed;

		x ^= x >> 29;
		data[i] = (uint8_t)(x >> (at + i) % 8 * 8);
	}
}

static size_t send_piece(int fd, size_t at, size_t end, unsigned int *seed,
			 unsigned int stream)
{
	static uint8_t buf[CHUNK_MAX];
	size_t len = 1 + (size_t)rand_r(seed) % CHUNK_MAX;
	ssize_t n;

	if (len > end - at)
		len = end - at;
	if (len == 0)
		return 0;
	fill(buf, len, at, stream);
	n = send(fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	ck_assert(n > 0 || errno == EAGAIN);
	return n > 0 ? (size_t)n : 0;
}

static size_t check_piece(int fd, size_t at, unsigned int *seed,
			  unsigned int stream)
{
	static uint8_t buf[CHUNK_MAX], want[CHUNK_MAX];
	size_t len = 1 + (size_t)rand_r(seed) % CHUNK_MAX;
	ssize_t n = recv(fd, buf, len, MSG_DONTWAIT);

	ck_assert(n > 0 || (n < 0 && errno == EAGAIN));
	if (n < 0)
		return 0;
	fill(want, (size_t)n, at, stream);
	ck_assert_msg(memcmp(buf, want, (size_t)n) == 0, "bytes differ");
	return (size_t)n;
}

void lab_transfer(struct lab *lab, int from, int to, size_t len,
		  unsigned int seed)
{
	uint64_t end = clock_now_ms() + 6 * (uint64_t)LAB_WAIT_MS;
	unsigned int rnd = seed;
	size_t sent = 0, got = 0;

	while (got < len) {
		size_t n_sent = send_piece(from, sent, len, &rnd, seed);
		size_t n_got = check_piece(to, got, &rnd, seed);

		sent += n_sent;
		got += n_got;
		ck_assert_msg(clock_now_ms() < end, "%zu of %zu", got, len);
		if (n_sent + n_got == 0)
			(void)lab_wait(lab, to, EPOLLIN, 50);
		ck_assert_int_eq(loop_run_once(lab->loop, 0), 0);
	}
}

void lab_reset(int fd)
{
	const struct linger reset = { 1, 0 };

	ck_assert_int_eq(
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)),
		0);
	ck_assert_int_eq(close(fd), 0);
}

void lab_sysctl(struct lab *lab, int ns, const char *path, const char *text)
{
	char full[128];

	(void)snprintf(full, sizeof(full), "/proc/sys/%s", path);
	enter(ns);
	write_file(full, text);
	enter(lab->host_ns);
}

unsigned int lab_count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	ck_assert_int_eq(closedir(d), 0);
	return n - 3; /* ".", ".." and the directory itself */
}

void lab_get_stats(struct lab *lab, struct relay_stats *ret)
{
	memset(ret, 0, sizeof(*ret));
	relay_get_stats(lab->relay, ret);
}
