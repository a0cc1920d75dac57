/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relay_lab.h - a relay between real kernels' sockets, in one thread
 *
 * Three network namespaces without uplink, in a user namespace of their own:
 * "sandbox" with the clients, "gateway" with nftables rules as egret's (held
 * SYNs, TPROXY, rejects), "host" with the servers. The test, the relay and its
 * loop run in one thread in the host namespace; lab_wait() turns the loop.
 *
 * Destinations in the host namespace:
 *   11.0.0.0/16, 2a0e:b107::/64  local: what listens is reached, else refused
 *   11.7.0.0/16                  prohibited (EACCES)
 *   11.8.0.0/16                  unreachable
 *   11.9.0.0/16                  a black hole
 */
#ifndef EGRET_TESTS_UNIT_RELAY_LAB_H
#define EGRET_TESTS_UNIT_RELAY_LAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "relay/relay.h"

#define LAB_WAIT_MS 10000

struct lab {
	int host_ns, gw_ns, sb_ns;
	struct loop *loop;
	struct relay *relay;
	int nflog_fd;
	struct loop_fd nflog_w;
	/* What the ops were told. */
	unsigned int n_opened, n_closed, n_refused, n_refused_by[3];
	struct relay_flow_info last_closed, last_refused;
	struct addr denied; /* may_connect() says no to this one */
	bool swallow_syns;  /* read them, tell the relay nothing */
};

/** lab_can_run() - are user namespaces and nft there; else says why not */
bool lab_can_run(void);

void lab_open(struct lab *lab, uint32_t max_fds);
void lab_close(struct lab *lab);

struct endpoint lab_endpoint(const char *addr, uint16_t port);

/** lab_listen() - in the host namespace, port chosen by the kernel */
int lab_listen(const char *addr, struct endpoint *ret);

/** lab_client() - a socket of the sandbox, bound to @port unless it's 0 */
int lab_client(struct lab *lab, int family, uint16_t port);

/** lab_connect() - 0, negative errno, or -EINPROGRESS after @wait_ms */
int lab_connect(struct lab *lab, int fd, const struct endpoint *to,
		int wait_ms);

/** lab_accept() - the next connection, non-blocking */
int lab_accept(struct lab *lab, int listen_fd);

/** lab_pair() - a relayed connection */
void lab_pair(struct lab *lab, const char *addr, int *ret_client,
	      int *ret_server);

/** lab_wait() - turn the loop until @fd has one of @events; 0: it hasn't */
uint32_t lab_wait(struct lab *lab, int fd, uint32_t events, int wait_ms);

/** lab_settle() - turn the loop until a turn has nothing to do */
void lab_settle(struct lab *lab);

/** lab_until() - turn the loop until *@counter is @value; false: too late */
bool lab_until(struct lab *lab, const unsigned int *counter,
	       unsigned int value);

/** lab_read() - read until @len bytes, an end, or an error came */
ssize_t lab_read(struct lab *lab, int fd, void *data, size_t len);

/** lab_write() - write all */
void lab_write(struct lab *lab, int fd, const void *data, size_t len);

/** lab_transfer() - @len pseudo-random bytes in random pieces, compared */
void lab_transfer(struct lab *lab, int from, int to, size_t len,
		  unsigned int seed);

/** lab_reset() - close with a reset */
void lab_reset(int fd);

/** lab_sysctl() - write below /proc/sys in one of the namespaces */
void lab_sysctl(struct lab *lab, int ns, const char *path, const char *text);

unsigned int lab_count_fds(void);
void lab_get_stats(struct lab *lab, struct relay_stats *ret);

#endif /* EGRET_TESTS_UNIT_RELAY_LAB_H */
