/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listener_internal.h - what the UDP and TCP halves of the listener share
 */
#ifndef EGRET_RESOLVER_LISTENER_INTERNAL_H
#define EGRET_RESOLVER_LISTENER_INTERNAL_H

#include <net/if.h>
#include <sys/socket.h>

#include "resolver/resolver_internal.h"

#define LISTENER_QUERY_MAX   4096 /* longer queries aren't queries */
#define LISTENER_CLIENTS_MAX 256
#define LISTENER_FAMILIES    2
/* Every request that waits has a waiter; one more is being answered. */
#define LISTENER_REQUESTS_MAX (RESOLVER_WAITERS_MAX + 8)

struct listener_udp {
	struct loop_fd w;
	struct listener *l;
	int fd;
};

struct listener_tcp {
	struct loop_fd w;
	struct loop_timer pause; /* out of descriptors: accept again then */
	struct listener *l;
	int fd;
};

/* Where a reply goes. */
struct listener_request {
	struct listener *l;
	pool_handle client; /* TCP; 0: UDP */
	/* UDP: from where to where */
	struct listener_udp *sock;
	struct sockaddr_storage peer;
	socklen_t peer_len;
	struct addr local; /* the address that was asked */
	unsigned int ifindex;
};

struct listener {
	struct resolver *r;
	struct pool *requests, *clients;
	struct listener_udp udp[LISTENER_FAMILIES];
	struct listener_tcp tcp[LISTENER_FAMILIES];
	uint8_t buf[LISTENER_QUERY_MAX];
};

/* ---- listener_udp.c ---- */

int listener_udp_start(struct listener *l, struct listener_udp *u);
void listener_udp_reply(struct listener_request *req, const uint8_t *msg,
			size_t len);

/* ---- listener_tcp.c ---- */

size_t listener_client_size(void);
int listener_tcp_start(struct listener *l, struct listener_tcp *t);
void listener_tcp_reply(struct listener_request *req, const uint8_t *msg,
			size_t len);
void listener_tcp_free_all(struct listener *l);

/* ---- listener.c ---- */

/* A resolver_reply_fn; its argument is a listener_request, which it frees. */
void listener_reply(void *arg, const uint8_t *msg, size_t len);

#endif /* EGRET_RESOLVER_LISTENER_INTERNAL_H */
