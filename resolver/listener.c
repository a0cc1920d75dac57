/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listener.c - the sockets of port 53 in the gateway's network namespace
 *
 * They were made and bound there; here they are only used. Whatever address the
 * sandbox sends to, the packet comes here, and the reply leaves from the
 * address that was asked.
 */
#include <fcntl.h>

#include "base/err.h"
#include "resolver/listener_internal.h"

void listener_reply(void *arg, const uint8_t *msg, size_t len)
{
	struct listener_request *req = arg;

	if (req->client)
		listener_tcp_reply(req, msg, len);
	else if (len)
		listener_udp_reply(req, msg, len);
	pool_put(req->l->requests, req);
}

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static int start(struct listener *l)
{
	for (unsigned int i = 0; i < LISTENER_FAMILIES; i++) {
		int e = 0;

		if (l->udp[i].fd >= 0)
			e = set_nonblocking(l->udp[i].fd)
				    ?: listener_udp_start(l, &l->udp[i]);
		if (!e && l->tcp[i].fd >= 0)
			e = set_nonblocking(l->tcp[i].fd)
				    ?: listener_tcp_start(l, &l->tcp[i]);
		if (e)
			return e;
	}
	return 0;
}

int listener_new(struct listener **ret, struct resolver *r,
		 const struct resolver_config *cfg, struct err *err)
{
	const int fds[] = { cfg->udp4_fd, cfg->udp6_fd, cfg->tcp4_fd,
			    cfg->tcp6_fd };
	struct listener *l = calloc(1, sizeof(*l));
	int e;

	if (!l) {
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
			if (fds[i] >= 0)
				(void)close(fds[i]);
		}
		return err_set_errno(err, -ENOMEM, "cannot listen for DNS");
	}
	l->r = r;
	for (unsigned int i = 0; i < LISTENER_FAMILIES; i++) {
		l->udp[i].fd = fds[i];
		l->tcp[i].fd = fds[i + LISTENER_FAMILIES];
	}
	e = pool_new(&l->requests, sizeof(struct listener_request),
		     LISTENER_REQUESTS_MAX, err);
	if (!e)
		e = pool_new(&l->clients, listener_client_size(),
			     LISTENER_CLIENTS_MAX, err);
	if (!e) {
		e = start(l);
		if (e)
			(void)err_set_errno(err, e, "cannot listen for DNS");
	}
	if (e)
		listener_free(l);
	else
		*ret = l;
	return e;
}

void listener_free(struct listener *l)
{
	if (!l)
		return;
	if (l->clients)
		listener_tcp_free_all(l);
	for (unsigned int i = 0; i < LISTENER_FAMILIES; i++) {
		loop_del_fd(&l->udp[i].w);
		loop_del_fd(&l->tcp[i].w);
		loop_del_timer(&l->tcp[i].pause);
		fd_closep(&l->udp[i].fd);
		fd_closep(&l->tcp[i].fd);
	}
	pool_free(l->clients);
	pool_free(l->requests);
	free(l);
}

uint32_t listener_n_clients(const struct listener *l)
{
	struct pool_stats s = { 0 };

	if (l)
		pool_get_stats(l->clients, &s);
	return s.in_use;
}
