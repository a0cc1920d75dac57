/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * connect.c - sockets to destinations, made in the network namespace of the
 * calling thread
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "relay/relay_internal.h"

/*
 * With the system's interval and count (75 s, 9 times) a peer that vanished is
 * noticed after a quarter of an hour, instead of never.
 */
#define KEEP_IDLE_S 300

/* No header has both the kernel's tcpi_state values and libc's names. */
enum tcp_state {
	TCP_STATE_ESTABLISHED = 1,
	TCP_STATE_SYN_SENT = 2,
	TCP_STATE_CLOSE_WAIT = 8,
};

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno
								      : 0;
}

int connect_options(int fd)
{
	/*
	 * A gateway that is killed resets its connections: a download that was
	 * cut must not look whole.
	 */
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	const struct {
		int level, name, value;
	} options[] = {
		/* Bytes go on as they come; waiting is the sender's choice. */
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		/* RFC 6093: an urgent byte is a byte of the stream. */
		{ SOL_SOCKET, SO_OOBINLINE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
	};

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		int r = set_int(fd, options[i].level, options[i].name,
				options[i].value);

		if (r < 0)
			return r;
	}
	return 0;
}

static int socket_error(int fd)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

int connect_result(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	int r;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return -errno;
	if (info.tcpi_state == TCP_STATE_ESTABLISHED ||
	    info.tcpi_state == TCP_STATE_CLOSE_WAIT)
		return 0;
	if (info.tcpi_state == TCP_STATE_SYN_SENT)
		return -EINPROGRESS;
	r = socket_error(fd);
	return r < 0 ? r : -ECONNREFUSED;
}

int connect_start(const struct endpoint *dst, int *ret_fd)
{
	_cleanup_(fd_closep) int fd = -1;
	struct sockaddr_storage ss;
	socklen_t len = endpoint_to_sockaddr(dst, &ss);
	int r;

	fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    0);
	if (fd < 0)
		return -errno;
	r = connect_options(fd);
	if (r < 0)
		return r;
	/* SECURITY: ::ffff:a.b.c.d must not become IPv4 behind the judge. */
	if (ss.ss_family == AF_INET6) {
		r = set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		if (r < 0)
			return r;
	}
	r = 0;
	if (connect(fd, (const struct sockaddr *)&ss, len) < 0) {
		if (errno != EINPROGRESS)
			return -errno;
		/* A near destination has answered by now all the same. */
		r = connect_result(fd);
	}
	if (r == 0 || r == -EINPROGRESS)
		*ret_fd = fd_steal(&fd);
	return r;
}
