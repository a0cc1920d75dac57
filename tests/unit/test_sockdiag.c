/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sockdiag.c - sockets found by their packets' addresses, on the kernel */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "netns/sockdiag.h"

#include "base/addr.h"
#include "base/cleanup.h"

#include "tests/unit/userns.h"

#define SB4 "198.18.0.2"
#define GW4 "198.18.0.1"
#define SB6 "fd77::2"
#define GW6 "fd77::1"

/* A netns with one interface whose packets vanish. */
static bool enter(struct sockdiag *d)
{
	struct err err = { .code = 0 };

	sockdiag_init(d);
	if (!userns_enter(CLONE_NEWNET, true))
		return false;
	/* Both ends here: what arrives from an own address is dropped. */
	if (userns_sh(
		    "ip link add eth0 type veth peer name far && "
		    "ip addr add " SB4 "/30 dev eth0 && "
		    "ip addr add " SB6 "/64 dev eth0 nodad && "
		    "ip link set lo up && ip link set far up && "
		    "ip link set eth0 up && "
		    "ip neigh add " GW4 " lladdr 02:00:00:00:00:09 dev eth0 && "
		    "ip neigh add " GW6 " lladdr 02:00:00:00:00:09 dev eth0 && "
		    "ip route add default via " GW4 " && "
		    "ip -6 route add default via " GW6) != 0)
		return userns_skip("no pair of links");
	ck_assert_msg(sockdiag_open(d, "eth0", &err) == 0, "%s", err.msg);
	ck_assert(d->has_tcp);
	ck_assert(d->has_udp);
	return true;
}

static struct endpoint ep(const char *addr, uint16_t port)
{
	struct endpoint e = { .port = port };

	ck_assert_int_eq(addr_parse(addr, &e.addr), 0);
	return e;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_ino;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	struct endpoint e;

	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
	ck_assert_int_eq(endpoint_from_sockaddr(&ss, &e), 0);
	return e.port;
}

/* As the application names it: a mapped address stays IPv6. */
static void aim(int fd, int family, const char *addr, uint16_t port,
		bool is_bind)
{
	struct sockaddr_in sa4 = { .sin_family = AF_INET,
				   .sin_port = htons(port) };
	struct sockaddr_in6 sa6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };
	struct sockaddr *sa = family == AF_INET ? (struct sockaddr *)&sa4
						: (struct sockaddr *)&sa6;
	socklen_t len = family == AF_INET ? sizeof(sa4) : sizeof(sa6);
	int r;

	ck_assert_int_eq(inet_pton(family, addr,
				   family == AF_INET ? (void *)&sa4.sin_addr
						     : (void *)&sa6.sin6_addr),
			 1);
	r = is_bind ? bind(fd, sa, len) : connect(fd, sa, len);
	ck_assert_msg(r == 0 || errno == EINPROGRESS, "%s", strerror(errno));
}

static int new_socket(int family, int type)
{
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static const struct {
	const char *name;
	int family, type;
	const char *bind, *connect; /* NULL: not */
	const char *local, *remote; /* of the packet */
	uint16_t port;		    /* of the remote */
} cases[] = {
	{ "tcp4", AF_INET, SOCK_STREAM, NULL, "11.0.0.1", SB4, "11.0.0.1",
	  443 },
	{ "tcp6", AF_INET6, SOCK_STREAM, NULL, "2a0e::1", SB6, "2a0e::1", 443 },
	{ "tcp mapped", AF_INET6, SOCK_STREAM, NULL, "::ffff:11.0.0.1", SB4,
	  "11.0.0.1", 443 },
	{ "udp4 connected", AF_INET, SOCK_DGRAM, NULL, "11.0.0.1", SB4,
	  "11.0.0.1", 53 },
	{ "udp6 connected", AF_INET6, SOCK_DGRAM, NULL, "2a0e::1", SB6,
	  "2a0e::1", 53 },
	{ "udp mapped connected", AF_INET6, SOCK_DGRAM, NULL, "::ffff:11.0.0.1",
	  SB4, "11.0.0.1", 53 },
	{ "udp4", AF_INET, SOCK_DGRAM, "0.0.0.0", NULL, SB4, "11.0.0.1", 53 },
	{ "udp4 bound", AF_INET, SOCK_DGRAM, SB4, NULL, SB4, "11.0.0.1", 53 },
	{ "udp6", AF_INET6, SOCK_DGRAM, "::", NULL, SB6, "2a0e::1", 53 },
	{ "udp6 bound", AF_INET6, SOCK_DGRAM, SB6, NULL, SB6, "2a0e::1", 53 },
	{ "udp dual stack", AF_INET6, SOCK_DGRAM, "::", NULL, SB4, "11.0.0.1",
	  53 },
	{ "udp mapped bound", AF_INET6, SOCK_DGRAM, "::ffff:" SB4, NULL, SB4,
	  "11.0.0.1", 53 },
	/* What isn't known of a DNS question is the address it went to. */
	{ "udp4 elsewhere", AF_INET, SOCK_DGRAM, NULL, "11.0.0.1", SB4, GW4,
	  53 },
	{ "udp6 elsewhere", AF_INET6, SOCK_DGRAM, NULL, "2a0e::1", SB6, GW6,
	  53 },
	{ "udp mapped elsewhere", AF_INET6, SOCK_DGRAM, NULL, "::ffff:11.0.0.1",
	  SB4, GW4, 53 },
};

START_TEST(finds)
{
	int proto = cases[_i].type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	int families[] = { AF_INET, AF_INET6 };
	struct endpoint local, remote;
	struct sockdiag d;
	uint32_t inode = 0;
	int fd;

	if (!enter(&d))
		return;
	/* Others of the same kind, which must not be taken for it. */
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		aim(new_socket(families[i], cases[_i].type), families[i],
		    families[i] == AF_INET ? "11.0.0.1" : "2a0e::1", 443,
		    false);
	fd = new_socket(cases[_i].family, cases[_i].type);
	if (cases[_i].bind)
		aim(fd, cases[_i].family, cases[_i].bind, 0, true);
	if (cases[_i].connect)
		aim(fd, cases[_i].family, cases[_i].connect, cases[_i].port,
		    false);
	local = ep(cases[_i].local, port_of(fd));
	remote = ep(cases[_i].remote, cases[_i].port);
	ck_assert_msg(sockdiag_find(&d, proto, &local, &remote, &inode) == 0,
		      "%s", cases[_i].name);
	ck_assert_uint_eq(inode, inode_of(fd));

	/* Closed, it isn't found any more; nor is another port's. */
	(void)close(fd);
	inode = 7;
	ck_assert_int_eq(sockdiag_find(&d, proto, &local, &remote, &inode),
			 -ENOENT);
	ck_assert_uint_eq(inode, 7);
	sockdiag_close(&d);
}
END_TEST

START_TEST(finds_no_listener)
{
	struct endpoint local = ep(SB4, 0), remote = ep("11.0.0.1", 443);
	struct sockdiag d;
	uint32_t inode;
	int fd;

	if (!enter(&d))
		return;
	ck_assert_int_eq(
		sockdiag_find(&d, IPPROTO_TCP, &local, &remote, &inode),
		-EINVAL);
	fd = new_socket(AF_INET, SOCK_DGRAM);
	aim(fd, AF_INET, "0.0.0.0", 0, true);
	local.port = port_of(fd);
	ck_assert_int_eq(
		sockdiag_find(&d, IPPROTO_TCP, &local, &remote, &inode),
		-ENOENT);
	remote = ep("2a0e::1", 443);
	ck_assert_int_eq(
		sockdiag_find(&d, IPPROTO_UDP, &local, &remote, &inode),
		-EINVAL);
	sockdiag_close(&d);
}
END_TEST

START_TEST(bound_to_the_interface)
{
	struct endpoint local, remote = ep("11.0.0.1", 443);
	struct sockdiag d;
	uint32_t inode = 0;
	int fd;

	if (!enter(&d))
		return;
	fd = new_socket(AF_INET, SOCK_STREAM);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "eth0", 5),
			 0);
	aim(fd, AF_INET, "11.0.0.1", 443, false);
	local = ep(SB4, port_of(fd));
	ck_assert_int_eq(
		sockdiag_find(&d, IPPROTO_TCP, &local, &remote, &inode), 0);
	ck_assert_uint_eq(inode, inode_of(fd));
	sockdiag_close(&d);
}
END_TEST

/* Used from another netns, it goes on to see the one it was made in. */
START_TEST(stays_in_its_netns)
{
	struct endpoint local, remote = ep("11.0.0.1", 443);
	struct sockdiag d;
	uint32_t inode = 0;
	int fd;

	if (!enter(&d))
		return;
	fd = new_socket(AF_INET, SOCK_STREAM);
	aim(fd, AF_INET, "11.0.0.1", 443, false);
	local = ep(SB4, port_of(fd));
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	ck_assert_int_eq(
		sockdiag_find(&d, IPPROTO_TCP, &local, &remote, &inode), 0);
	ck_assert_uint_eq(inode, inode_of(fd));
	ck_assert_int_eq(fcntl(d.fd, F_GETFD), FD_CLOEXEC);
	sockdiag_close(&d);
	ck_assert_int_eq(
		sockdiag_find(&d, IPPROTO_TCP, &local, &remote, &inode),
		-EOPNOTSUPP);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sockdiag");
	TCase *tc = tcase_create("kernel");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, finds, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(tc, finds_no_listener);
	tcase_add_test(tc, bound_to_the_interface);
	tcase_add_test(tc, stays_in_its_netns);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
