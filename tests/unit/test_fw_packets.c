/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_fw_packets.c - real packets of a sandbox netns against the ruleset */
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip6.h>
#include <poll.h>

#include "nft/nflog.h"

#include "tests/unit/fwlab.h"

#define WAIT_MS	  3000
#define OPEN4	  "11.0.0.1"
#define OPEN6	  "2a0e:b107::1"
#define SHUT4	  "11.0.0.9"
#define SHUT6	  "2a0e:b107::9"
#define PORT	  443
#define FRAME_MAX 256

static const uint8_t gw_mac[6] = LAYOUT_GW_MAC, sb_mac[6] = LAYOUT_SB_MAC;

struct lab {
	struct fwlab fw;
	int packet; /* AF_PACKET in the sandbox */
	int udp;    /* any address, PORT, in the gateway */
};

/* ---- set-up ---- */

static int open_packet(void *arg, struct err *err)
{
	struct sockaddr_ll sll = { .sll_family = AF_PACKET };

	(void)err;
	sll.sll_ifindex = (int)if_nametoindex(LAYOUT_SB_IFNAME);
	*(int *)arg = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	return bind(*(int *)arg, (struct sockaddr *)&sll, sizeof(sll)) < 0
		       ? -errno
		       : 0;
}

static void bind_log(int fd, uint16_t group, uint32_t qthreshold)
{
	struct err err = { .code = 0 };

	ck_assert_msg(nflog_bind(fd, group, 65535, qthreshold, &err) == 0, "%s",
		      err.msg);
}

/* Both families on one socket. */
static int wildcard_udp(const struct fwlab *fw)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6,
				    .sin6_port = htons(PORT) };
	int fd = gwlab_open(fw->net.gw, AF_INET6, SOCK_DGRAM);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	return fd;
}

static bool start(struct lab *lab)
{
	const struct fw_elem open[] = {
		fwlab_elem(FW_SET_OPEN, OPEN4, 32, IPPROTO_TCP, PORT, PORT),
		fwlab_elem(FW_SET_OPEN, OPEN6, 128, IPPROTO_TCP, PORT, PORT),
		fwlab_elem(FW_SET_OPEN, OPEN4, 32, IPPROTO_UDP, PORT, PORT),
		fwlab_elem(FW_SET_OPEN, OPEN6, 128, IPPROTO_UDP, PORT, PORT),
	};

	if (!fwlab_start(&lab->fw))
		return false;
	bind_log(lab->fw.sock.nflog_syn, FW_GROUP_SYN, 1);
	bind_log(lab->fw.sock.nflog_drop, FW_GROUP_DROP, 4);
	gwlab_call(lab->fw.net.sb, open_packet, &lab->packet);
	lab->udp = wildcard_udp(&lab->fw);
	fwlab_add(&lab->fw, open, ARRAY_SIZE(open));
	return true;
}

static void end(struct lab *lab)
{
	(void)close(lab->packet);
	(void)close(lab->udp);
	fwlab_end(&lab->fw);
}

/* ---- logs ---- */
struct seen {
	int n;
	char prefix[16];
	uint32_t mark;
	uint8_t data[FRAME_MAX];
	size_t len;
};

static void note(void *ctx, const struct nflog_packet *p)
{
	struct seen *s = ctx;

	s->n++;
	memcpy(s->prefix, p->prefix, sizeof(s->prefix));
	s->mark = p->mark;
	s->len = p->len < sizeof(s->data) ? p->len : sizeof(s->data);
	memcpy(s->data, p->data, s->len);
}

static int readable(int fd, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, wait_ms);
}

/* The next line of a group, which must come. */
static struct seen next_log(int fd)
{
	struct seen s = { 0 };
	uint64_t lost = 0;

	while (s.n == 0) {
		ck_assert_int_eq(readable(fd, WAIT_MS), 1);
		ck_assert_int_ge(nflog_read(fd, note, &s, &lost), 0);
	}
	ck_assert_uint_eq(lost, 0);
	return s;
}

static int count_log(int fd)
{
	struct seen s = { 0 };
	uint64_t lost = 0;

	ck_assert_int_ge(nflog_read(fd, note, &s, &lost), 0);
	return s.n;
}

/* ---- sockets of the sandbox ---- */

static int dial(const struct lab *lab, const char *dst, uint16_t port, int type)
{
	struct sockaddr_storage to;
	socklen_t len = gwlab_addr(&to, dst, port);
	int fd = gwlab_open(lab->fw.net.sb, to.ss_family, type | SOCK_NONBLOCK);
	int r;

	ck_assert_int_ge(fd, 0);
	r = connect(fd, (struct sockaddr *)&to, len);
	ck_assert(r == 0 || errno == EINPROGRESS);
	return fd;
}

/* The error a socket gets, waited for. */
static int error_of(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int value = 0;

	ck_assert_int_eq(poll(&p, 1, WAIT_MS), 1);
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &len), 0);
	return value;
}

static void expect_udp(const struct lab *lab, const char *text)
{
	char buf[256] = { 0 };

	ck_assert_int_eq(readable(lab->udp, WAIT_MS), 1);
	ck_assert_int_gt(recv(lab->udp, buf, sizeof(buf) - 1, 0), 0);
	ck_assert_str_eq(buf, text);
}

static void say(const struct lab *lab, const char *dst, const char *text)
{
	int fd = dial(lab, dst, PORT, SOCK_DGRAM);

	ck_assert_int_eq(send(fd, text, strlen(text), 0), (int)strlen(text));
	(void)close(fd);
}

/* ---- injection ---- */
/* A logged SYN as a frame for inj1; its checksum may be unfinished. */
static void inject(const struct lab *lab, int mark, const struct seen *syn)
{
	static const uint8_t rx[6] = LAYOUT_INJ_RX_MAC;
	uint8_t frame[FRAME_MAX + ETH_HLEN] = { 0 };
	bool v6 = syn->data[0] >> 4 == 6;
	size_t ihl = v6 ? 40 : 20, tlen = syn->len - ihl, at = v6 ? 8 : 12;
	uint8_t *ip = frame + ETH_HLEN, *tcp = ip + ihl;
	uint32_t sum = IPPROTO_TCP + (uint32_t)tlen;

	memcpy(frame, rx, 6);
	frame[12] = v6 ? 0x86 : 0x08;
	frame[13] = v6 ? 0xdd : 0x00;
	memcpy(ip, syn->data, syn->len);
	tcp[16] = tcp[17] = 0;
	/* Pseudo-header addresses and the segment; its length is even. */
	for (size_t i = at; i < ihl; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	for (size_t i = 0; i < tlen; i += 2)
		sum += (uint32_t)(tcp[i] << 8 | tcp[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	tcp[16] = (uint8_t)(~sum >> 8);
	tcp[17] = (uint8_t)~sum;
	ck_assert_int_eq(setsockopt(lab->fw.sock.inject, SOL_SOCKET, SO_MARK,
				    &mark, sizeof(mark)),
			 0);
	ck_assert_int_gt(
		send(lab->fw.sock.inject, frame, syn->len + ETH_HLEN, 0), 0);
}

static int relay_of(const struct lab *lab, const char *dst)
{
	return strchr(dst, ':') ? lab->fw.sock.relay6 : lab->fw.sock.relay4;
}

/* ---- TCP ---- */

static const char *const open_addrs[] = { OPEN4, OPEN6 };
static const char *const shut_addrs[] = { SHUT4, SHUT6 };

START_TEST(open_syn_is_held)
{
	const char *dst = open_addrs[_i];
	struct seen syn;
	struct lab lab;
	int fd;

	if (!start(&lab))
		return;
	fd = dial(&lab, dst, PORT, SOCK_STREAM);
	syn = next_log(lab.fw.sock.nflog_syn);
	ck_assert_int_eq(syn.n, 1);
	ck_assert_str_eq(syn.prefix, "");
	ck_assert_uint_eq(syn.mark, 0);
	ck_assert_uint_eq(syn.data[0] >> 4, strchr(dst, ':') ? 6 : 4);
	ck_assert_uint_gt(syn.len, 40);
	ck_assert_int_eq(accept(relay_of(&lab, dst), NULL, NULL), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(count_log(lab.fw.sock.nflog_drop), 0);
	(void)close(fd);
	end(&lab);
}
END_TEST

/* Held, injected, accepted; deleting the element ends the open connection. */
START_TEST(accepted_after_injection)
{
	const char *dst = open_addrs[_i];
	const bool v6 = strchr(dst, ':') != NULL;
	const struct fw_elem e = fwlab_elem(FW_SET_OPEN, dst, v6 ? 128 : 32,
					    IPPROTO_TCP, PORT, PORT);
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);
	char text[INET6_ADDRSTRLEN], buf[8];
	struct seen s;
	struct lab lab;
	int fd, conn;

	if (!start(&lab))
		return;
	fd = dial(&lab, dst, PORT, SOCK_STREAM);
	s = next_log(lab.fw.sock.nflog_syn);
	inject(&lab, FW_MARK_ACCEPT, &s);
	ck_assert_int_eq(error_of(fd), 0);
	ck_assert_int_eq(readable(relay_of(&lab, dst), WAIT_MS), 1);
	conn = accept4(relay_of(&lab, dst), NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(conn, 0);
	ck_assert_int_eq(getsockname(conn, (struct sockaddr *)&local, &len), 0);
	gwlab_text(&local, text);
	ck_assert_str_eq(text, dst);

	ck_assert_int_eq(send(fd, "in", 2, 0), 2);
	ck_assert_int_eq(readable(conn, WAIT_MS), 1);
	ck_assert_int_eq(recv(conn, buf, sizeof(buf), 0), 2);
	ck_assert_int_eq(send(conn, "out", 3, 0), 3);
	ck_assert_int_eq(readable(fd, WAIT_MS), 1);
	ck_assert_int_eq(recv(fd, buf, sizeof(buf), 0), 3);

	(void)count_log(lab.fw.sock.nflog_drop);
	fwlab_del(&lab.fw, &e, 1);
	ck_assert_int_eq(send(fd, "more", 4, 0), 4);
	ck_assert_int_eq(readable(fd, WAIT_MS), 1);
	ck_assert_int_eq(recv(fd, buf, sizeof(buf), 0), -1);
	ck_assert_int_eq(errno, ECONNRESET);
	s = next_log(lab.fw.sock.nflog_drop);
	ck_assert_str_eq(s.prefix, "tcp");
	(void)close(fd);
	(void)close(conn);
	end(&lab);
}
END_TEST

START_TEST(injected_refusals)
{
	const char *dst = open_addrs[_i];
	struct lab lab;
	struct seen s;
	int fd;

	if (!start(&lab))
		return;
	fd = dial(&lab, dst, PORT, SOCK_STREAM);
	s = next_log(lab.fw.sock.nflog_syn);
	inject(&lab, FW_MARK_RESET, &s);
	ck_assert_int_eq(error_of(fd), ECONNREFUSED);
	(void)close(fd);

	fd = dial(&lab, dst, PORT, SOCK_STREAM);
	/* Otherwise it is a soft error, told when connect() gives up. */
	ck_assert_int_eq(strchr(dst, ':')
				 ? setsockopt(fd, SOL_IPV6, IPV6_RECVERR,
					      &(int){ 1 }, sizeof(int))
				 : setsockopt(fd, SOL_IP, IP_RECVERR,
					      &(int){ 1 }, sizeof(int)),
			 0);
	s = next_log(lab.fw.sock.nflog_syn);
	inject(&lab, FW_MARK_UNREACH, &s);
	ck_assert_int_eq(error_of(fd), EHOSTUNREACH);
	(void)close(fd);
	end(&lab);
}
END_TEST

/* Injected although the address isn't open (any more): not accepted. */
START_TEST(injection_is_judged)
{
	const char *dst = shut_addrs[_i];
	struct lab lab;
	struct seen s;
	int fd;

	if (!start(&lab))
		return;
	fd = dial(&lab, dst, PORT, SOCK_STREAM);
	s = next_log(lab.fw.sock.nflog_drop);
	ck_assert_str_eq(s.prefix, "syn");
	ck_assert_uint_eq(s.mark, 0);
	inject(&lab, FW_MARK_ACCEPT, &s);
	s = next_log(lab.fw.sock.nflog_drop);
	ck_assert_str_eq(s.prefix, "syn");
	ck_assert_uint_eq(s.mark, FW_MARK_ACCEPT);
	ck_assert_int_eq(accept(relay_of(&lab, dst), NULL, NULL), -1);
	inject(&lab, FW_MARK_RESET, &s);
	ck_assert_int_eq(error_of(fd), ECONNREFUSED);
	ck_assert_int_eq(count_log(lab.fw.sock.nflog_syn), 0);
	(void)close(fd);
	end(&lab);
}
END_TEST

/* The first fifty are held for the look-up, the rest is reset at once. */
START_TEST(many_refused_syns)
{
	int fds[80], refused = 0, logged = 0;
	struct lab lab;

	if (!start(&lab))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dial(&lab, SHUT4, PORT, SOCK_STREAM);
	while (readable(lab.fw.sock.nflog_drop, 100) == 1)
		logged += count_log(lab.fw.sock.nflog_drop);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		struct pollfd p = { .fd = fds[i], .events = POLLOUT };

		if (poll(&p, 1, 0) == 1) {
			ck_assert_int_eq(error_of(fds[i]), ECONNREFUSED);
			refused++;
		}
		(void)close(fds[i]);
	}
	ck_assert_int_ge(logged, 50);
	ck_assert_int_ge(refused, 10);
	end(&lab);
}
END_TEST

/* ---- UDP, DNS, ICMP ---- */

START_TEST(udp)
{
	struct lab lab;
	struct seen s;
	int fd;

	if (!start(&lab))
		return;
	say(&lab, open_addrs[_i], "open");
	expect_udp(&lab, "open");
	fd = dial(&lab, shut_addrs[_i], PORT, SOCK_DGRAM);
	ck_assert_int_eq(send(fd, "x", 1, 0), 1);
	s = next_log(lab.fw.sock.nflog_drop);
	ck_assert_str_eq(s.prefix, "udp");
	ck_assert_int_eq(readable(fd, WAIT_MS), 1);
	ck_assert_int_eq(error_of(fd), ECONNREFUSED);
	(void)close(fd);
	end(&lab);
}
END_TEST

/* Open, but nothing listens: the kernel says so, and nothing is logged. */
START_TEST(udp_without_a_socket)
{
	const struct fw_elem e =
		fwlab_elem(FW_SET_OPEN, open_addrs[_i], _i ? 128 : 32,
			   IPPROTO_UDP, 999, 999);
	struct lab lab;
	int fd;

	if (!start(&lab))
		return;
	fwlab_add(&lab.fw, &e, 1);
	fd = dial(&lab, open_addrs[_i], 999, SOCK_DGRAM);
	ck_assert_int_eq(send(fd, "x", 1, 0), 1);
	ck_assert_int_eq(readable(fd, WAIT_MS), 1);
	ck_assert_int_eq(error_of(fd), ECONNREFUSED);
	ck_assert_int_eq(count_log(lab.fw.sock.nflog_drop), 0);
	(void)close(fd);
	end(&lab);
}
END_TEST

START_TEST(dns_is_delivered)
{
	static const char *const dst[] = { "8.8.8.8", "2a0e:b107::53" };
	struct lab lab;
	int query, tcp, server;

	if (!start(&lab))
		return;
	server = _i ? lab.fw.sock.dns_udp6 : lab.fw.sock.dns_udp4;
	query = dial(&lab, dst[_i], 53, SOCK_DGRAM);
	ck_assert_int_eq(send(query, "q", 1, 0), 1);
	ck_assert_int_eq(readable(server, WAIT_MS), 1);
	tcp = dial(&lab, dst[_i], 53, SOCK_STREAM);
	ck_assert_int_eq(error_of(tcp), 0);
	(void)close(query);
	(void)close(tcp);
	end(&lab);
}
END_TEST

struct raw {
	int family, proto, fd;
};

static int open_raw(void *arg, struct err *err)
{
	struct raw *r = arg;

	(void)err;
	r->fd = socket(r->family, SOCK_RAW | SOCK_CLOEXEC, r->proto);
	return r->fd < 0 ? -errno : 0;
}

/* What the kernel says to a packet of type @type; IPv4 only reads answers. */
static void ping(const struct lab *lab, int fd, const char *dst, uint8_t type,
		 const char *prefix)
{
	uint8_t echo[8] = { type, 0, (uint8_t)~type, 0xff };
	struct sockaddr_storage to;
	socklen_t len = gwlab_addr(&to, dst, 0);

	ck_assert_int_eq(
		sendto(fd, echo, sizeof(echo), 0, (struct sockaddr *)&to, len),
		sizeof(echo));
	ck_assert_str_eq(next_log(lab->fw.sock.nflog_drop).prefix, prefix);
}

START_TEST(ping_is_refused)
{
	struct raw r4 = { AF_INET, IPPROTO_ICMP, -1 };
	struct raw r6 = { AF_INET6, IPPROTO_ICMPV6, -1 };
	uint8_t answer[128];
	struct lab lab;

	if (!start(&lab))
		return;
	gwlab_call(lab.fw.net.sb, open_raw, &r4);
	gwlab_call(lab.fw.net.sb, open_raw, &r6);
	ping(&lab, r4.fd, SHUT4, 8, "icmp");
	ck_assert_int_eq(readable(r4.fd, WAIT_MS), 1);
	ck_assert_int_gt(recv(r4.fd, answer, sizeof(answer), 0), 28);
	ck_assert_uint_eq(answer[20], 3);  /* destination unreachable */
	ck_assert_uint_eq(answer[21], 13); /* administratively prohibited */
	ping(&lab, r6.fd, SHUT6, 128, "icmp");
	ck_assert_int_eq(readable(r6.fd, WAIT_MS), 1);
	ck_assert_int_gt(recv(r6.fd, answer, sizeof(answer), 0), 8);
	ck_assert_uint_eq(answer[0], 1);
	ck_assert_uint_eq(answer[1], 1);
	/* A timestamp request is nothing that is known here. */
	ping(&lab, r4.fd, SHUT4, 13, "other");
	(void)close(r4.fd);
	(void)close(r6.fd);
	end(&lab);
}
END_TEST

/* ---- frames that must not pass ---- */

struct frame {
	uint8_t bytes[FRAME_MAX];
	size_t len;
};

static void put(struct frame *f, const void *data, size_t len)
{
	ck_assert_uint_le(f->len + len, sizeof(f->bytes));
	memcpy(f->bytes + f->len, data, len);
	f->len += len;
}

static uint16_t ip_sum(const uint8_t *ip, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void put_ether(struct frame *f, uint16_t type)
{
	uint16_t type_be = htons(type);

	put(f, gw_mac, 6);
	put(f, sb_mac, 6);
	put(f, &type_be, 2);
}

/* A whole IPv4 packet: header, @opt_len octets of options, @data. */
static void put_ip4(struct frame *f, uint8_t proto, size_t opt_len,
		    const void *data, size_t len)
{
	size_t total = 20 + opt_len + len, at = f->len;
	uint8_t h[60] = { (uint8_t)(0x45 + opt_len / 4), 0,
			  (uint8_t)(total >> 8), (uint8_t)total };
	struct addr src = fwlab_addr(LAYOUT_SB_ADDR4), dst = fwlab_addr(OPEN4);
	uint16_t sum;

	h[8] = 64;
	h[9] = proto;
	memcpy(h + 12, src.bytes, 4);
	memcpy(h + 16, dst.bytes, 4);
	memset(h + 20, 1, opt_len); /* no-operation */
	sum = ip_sum(h, 20 + opt_len);
	h[10] = (uint8_t)(sum >> 8);
	h[11] = (uint8_t)sum;
	put(f, h, 20 + opt_len);
	put(f, data, len);
	ck_assert_uint_eq(f->len - at, total);
}

/* A UDP datagram to PORT without checksum (IPv4 only). */
static size_t udp4(uint8_t dst[static 64], const char *text)
{
	size_t len = 8 + strlen(text);

	memcpy(dst,
	       (uint8_t[]){ 0x30, 0x39, PORT >> 8, PORT & 0xff, 0, (uint8_t)len,
			    0, 0 },
	       8);
	memcpy(dst + 8, text, strlen(text));
	return len;
}

static void good_frame(struct frame *f, const char *text)
{
	uint8_t data[64];
	size_t len = udp4(data, text);

	*f = (struct frame){ 0 };
	put_ether(f, ETH_P_IP);
	put_ip4(f, IPPROTO_UDP, 0, data, len);
}

static void wrong_source_mac(struct frame *f)
{
	f->bytes[11] ^= 0x40;
}

static void wrong_destination_mac(struct frame *f)
{
	f->bytes[5] ^= 0x40;
}

static void broadcast_mac(struct frame *f)
{
	memset(f->bytes, 0xff, 6);
}

static void insert_tag(struct frame *f, uint16_t type, uint16_t vid)
{
	uint8_t tag[4] = { (uint8_t)(type >> 8), (uint8_t)type,
			   (uint8_t)(vid >> 8), (uint8_t)vid };

	memmove(f->bytes + 16, f->bytes + 12, f->len - 12);
	memcpy(f->bytes + 12, tag, 4);
	f->len += 4;
}

static void vlan(struct frame *f)
{
	insert_tag(f, ETH_P_8021Q, 5);
}

static void priority_tag(struct frame *f)
{
	insert_tag(f, ETH_P_8021Q, 0);
}

static void service_tag(struct frame *f)
{
	insert_tag(f, ETH_P_8021AD, 5);
}

static void double_tag(struct frame *f)
{
	insert_tag(f, ETH_P_8021Q, 5);
	insert_tag(f, ETH_P_8021AD, 0);
}

static void wrong_type(struct frame *f)
{
	f->bytes[12] = 0x88;
	f->bytes[13] = 0xb5;
}

static void set_ip(struct frame *f, size_t at, uint8_t value)
{
	uint8_t *ip = f->bytes + ETH_HLEN;
	uint16_t sum;

	ip[at] = value;
	ip[10] = ip[11] = 0;
	sum = ip_sum(ip, 20);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

static void wrong_source(struct frame *f)
{
	set_ip(f, 15, 3);
}

static void multicast(struct frame *f)
{
	set_ip(f, 16, 224);
}

static void options(struct frame *f)
{
	uint8_t data[64];
	size_t len = udp4(data, "bad");

	f->len = ETH_HLEN;
	put_ip4(f, IPPROTO_UDP, 8, data, len);
}

static void other_protocol(struct frame *f)
{
	set_ip(f, 9, 136); /* UDP-Lite */
}

static void nothing(struct frame *f)
{
	(void)f;
}

static const struct {
	const char *name;
	void (*spoil)(struct frame *f);
	bool passes;
} frames[] = {
	{ "as it should be", nothing, true },
	{ "wrong source MAC", wrong_source_mac, false },
	{ "wrong destination MAC", wrong_destination_mac, false },
	{ "broadcast MAC", broadcast_mac, false },
	{ "VLAN tag", vlan, false },
	{ "priority tag", priority_tag, false },
	{ "802.1ad tag", service_tag, false },
	{ "two tags", double_tag, false },
	{ "other ethertype", wrong_type, false },
	{ "wrong source address", wrong_source, false },
	{ "multicast destination", multicast, false },
	{ "IP options", options, false },
	{ "UDP-Lite", other_protocol, false },
};

static void send_frame(const struct lab *lab, const struct frame *f)
{
	ck_assert_int_eq(send(lab->packet, f->bytes, f->len, 0), (int)f->len);
}

/* The kernel drops most wrong sources later; the ruleset must before it logs.
 */
START_TEST(wrong_source_comes_no_further)
{
	struct frame f;
	struct lab lab;

	if (!start(&lab))
		return;
	for (int i = 0; i < 2; i++) {
		good_frame(&f, "x");
		set_ip(&f, 19, 222); /* not open */
		(i == 0 ? wrong_source : nothing)(&f);
		send_frame(&lab, &f);
	}
	ck_assert_int_eq(next_log(lab.fw.sock.nflog_drop).n, 1);
	end(&lab);
}
END_TEST

/* Frames of one link keep their order, so the good one closes the case. */
START_TEST(frame_by_frame)
{
	struct frame f;
	struct lab lab;

	if (!start(&lab))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		char buf[64] = { 0 };

		good_frame(&f, "bad");
		frames[i].spoil(&f);
		send_frame(&lab, &f);
		good_frame(&f, "good");
		send_frame(&lab, &f);
		ck_assert_int_eq(readable(lab.udp, WAIT_MS), 1);
		ck_assert_int_gt(recv(lab.udp, buf, sizeof(buf) - 1, 0), 0);
		ck_assert_msg((strcmp(buf, "bad") == 0) == frames[i].passes,
			      "%s", frames[i].name);
		if (frames[i].passes)
			expect_udp(&lab, "good");
	}
	end(&lab);
}
END_TEST

/* Ports match but there are no flags: neither held nor delivered. */
START_TEST(cut_tcp_header)
{
	static const uint8_t tcp[20] = { 0x30,	      0x39,	   PORT >> 8,
					 PORT & 0xff, [12] = 0x50, 0x02 };
	struct lab lab;
	struct frame f = { 0 };

	if (!start(&lab))
		return;
	put_ether(&f, ETH_P_IP);
	put_ip4(&f, IPPROTO_TCP, 0, tcp, 8);
	send_frame(&lab, &f);
	f.len = ETH_HLEN;
	put_ip4(&f, IPPROTO_TCP, 0, tcp, 20);
	send_frame(&lab, &f);
	/* Only the whole one is seen. */
	ck_assert_uint_eq(next_log(lab.fw.sock.nflog_syn).len, 40);
	ck_assert_int_eq(count_log(lab.fw.sock.nflog_syn), 0);
	end(&lab);
}
END_TEST

/* Fragments are put together before they are judged. */
START_TEST(fragments)
{
	uint8_t data[64];
	char big[1400];
	struct lab lab;
	struct frame f;
	size_t len;

	if (!start(&lab))
		return;
	for (int part = 0; part < 2; part++) {
		len = udp4(data, "fragmented datagram!");
		f = (struct frame){ 0 };
		put_ether(&f, ETH_P_IP);
		put_ip4(&f, IPPROTO_UDP, 0, data + 16 * part,
			part ? len - 16 : 16);
		set_ip(&f, 6, part ? 0 : 0x20); /* more fragments */
		set_ip(&f, 7, part ? 2 : 0);	/* offset 16 */
		send_frame(&lab, &f);
	}
	expect_udp(&lab, "fragmented datagram!");

	memset(big, 'x', sizeof(big));
	gwlab_call(lab.fw.net.sb, gwlab_sh,
		   (char[]){ "ip link set eth0 mtu 1280" });
	len = (size_t)dial(&lab, OPEN6, PORT, SOCK_DGRAM);
	ck_assert_int_eq(send((int)len, big, sizeof(big), 0), sizeof(big));
	ck_assert_int_eq(readable(lab.udp, WAIT_MS), 1);
	ck_assert_int_eq(recv(lab.udp, NULL, 0, MSG_TRUNC), sizeof(big));
	(void)close((int)len);
	len = (size_t)dial(&lab, SHUT6, PORT, SOCK_DGRAM);
	ck_assert_int_eq(send((int)len, big, sizeof(big), 0), sizeof(big));
	ck_assert_str_eq(next_log(lab.fw.sock.nflog_drop).prefix, "udp");
	(void)close((int)len);
	end(&lab);
}
END_TEST

/* A destination-options header in front of UDP. */
START_TEST(extension_header)
{
	static const uint8_t pad[8] = { 0, 0, 1, 4 };
	struct lab lab;
	int fd;

	if (!start(&lab))
		return;
	fd = dial(&lab, OPEN6, PORT, SOCK_DGRAM);
	ck_assert_int_eq(
		setsockopt(fd, SOL_IPV6, IPV6_DSTOPTS, pad, sizeof(pad)), 0);
	ck_assert_int_eq(send(fd, "bad", 3, 0), 3);
	ck_assert_int_eq(setsockopt(fd, SOL_IPV6, IPV6_DSTOPTS, NULL, 0), 0);
	ck_assert_int_eq(send(fd, "good", 4, 0), 4);
	expect_udp(&lab, "good");
	(void)close(fd);
	end(&lab);
}
END_TEST

/* ---- order of the sets ---- */

struct judged {
	const char *name;
	enum fw_set set[2];
	const char *addr[2];
	unsigned int len[2];
	uint16_t lo, hi;
	bool open;
};

static const struct judged judged[] = {
	{ "deny over open",
	  { FW_SET_OPEN, FW_SET_DENY },
	  { "11.1.0.1", "11.1.0.0" },
	  { 32, 16 },
	  PORT,
	  PORT,
	  false },
	{ "deny over listed",
	  { FW_SET_LISTED, FW_SET_DENY },
	  { "11.0.0.0", "11.1.0.0" },
	  { 8, 16 },
	  0,
	  65535,
	  false },
	{ "closed over open",
	  { FW_SET_OPEN, FW_SET_CLOSED },
	  { "11.1.0.1", "11.1.0.0" },
	  { 32, 16 },
	  PORT,
	  PORT,
	  false },
	{ "closed over public",
	  { FW_SET_PUBLIC, FW_SET_CLOSED },
	  { "0.0.0.0", "11.1.0.0" },
	  { 0, 16 },
	  0,
	  65535,
	  false },
	{ "listed over closed",
	  { FW_SET_LISTED, FW_SET_CLOSED },
	  { "11.1.0.0", "11.0.0.0" },
	  { 24, 8 },
	  400,
	  500,
	  true },
	{ "private over closed",
	  { FW_SET_PRIVATE, FW_SET_CLOSED },
	  { "11.1.0.1", "11.0.0.0" },
	  { 32, 8 },
	  PORT,
	  PORT,
	  true },
	{ "range",
	  { FW_SET_RANGE, FW_SET_CLOSED },
	  { "11.1.0.1", "10.0.0.0" },
	  { 32, 8 },
	  PORT,
	  8443,
	  true },
	{ "other range",
	  { FW_SET_RANGE, FW_SET_CLOSED },
	  { "11.1.0.1", "10.0.0.0" },
	  { 32, 8 },
	  PORT + 1,
	  8443,
	  false },
	{ "any port",
	  { FW_SET_ANYPORT, FW_SET_CLOSED },
	  { "11.1.0.1", "10.0.0.0" },
	  { 32, 8 },
	  0,
	  65535,
	  true },
	{ "public",
	  { FW_SET_PUBLIC, FW_SET_CLOSED },
	  { "0.0.0.0", "10.0.0.0" },
	  { 0, 8 },
	  0,
	  65535,
	  true },
};

START_TEST(order_of_sets)
{
	const struct judged *j = &judged[_i];
	struct fw_elem e[2];
	struct lab lab;
	int fd;

	if (!start(&lab))
		return;
	for (int i = 0; i < 2; i++)
		e[i] = fwlab_elem(j->set[i], j->addr[i], j->len[i], IPPROTO_UDP,
				  j->lo, j->hi);
	fwlab_add(&lab.fw, e, 2);
	fd = dial(&lab, "11.1.0.1", PORT, SOCK_DGRAM);
	ck_assert_int_eq(send(fd, "x", 1, 0), 1);
	if (j->open)
		ck_assert_msg(readable(lab.udp, WAIT_MS) == 1, "%s", j->name);
	else
		ck_assert_msg(error_of(fd) == ECONNREFUSED, "%s", j->name);
	(void)close(fd);
	end(&lab);
}
END_TEST

START_TEST(mail_is_not_any_port)
{
	static const struct {
		uint16_t port;
		bool open;
	} ports[] = { { 25, false }, { 465, false }, { 587, false },
		      { 443, true }, { 26, true },   { 65535, true } };
	const struct fw_elem e =
		fwlab_elem(FW_SET_ANYPORT, SHUT4, 32, IPPROTO_TCP, 0, 65535);
	struct lab lab;

	if (!start(&lab))
		return;
	fwlab_add(&lab.fw, &e, 1);
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		int fd = dial(&lab, SHUT4, ports[i].port, SOCK_STREAM);
		int log = ports[i].open ? lab.fw.sock.nflog_syn
					: lab.fw.sock.nflog_drop;

		ck_assert_int_eq(next_log(log).n, 1);
		(void)close(fd);
	}
	end(&lab);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fw_packets");
	TCase *tc = tcase_create("fw_packets");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, open_syn_is_held, 0, 2);
	tcase_add_loop_test(tc, accepted_after_injection, 0, 2);
	tcase_add_loop_test(tc, injected_refusals, 0, 2);
	tcase_add_loop_test(tc, injection_is_judged, 0, 2);
	tcase_add_test(tc, many_refused_syns);
	tcase_add_loop_test(tc, udp, 0, 2);
	tcase_add_loop_test(tc, udp_without_a_socket, 0, 2);
	tcase_add_loop_test(tc, dns_is_delivered, 0, 2);
	tcase_add_test(tc, ping_is_refused);
	tcase_add_test(tc, wrong_source_comes_no_further);
	tcase_add_test(tc, frame_by_frame);
	tcase_add_test(tc, cut_tcp_header);
	tcase_add_test(tc, fragments);
	tcase_add_test(tc, extension_header);
	tcase_add_loop_test(tc, order_of_sets, 0, ARRAY_SIZE(judged));
	tcase_add_test(tc, mail_is_not_any_port);
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
