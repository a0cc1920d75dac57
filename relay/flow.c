/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow.c - the life of a relayed connection
 *
 *   pending_take() -> FRESH -- flow_pass() --> PUMPING -> flow_close()
 *
 * Both sockets reset when they are closed (connect_options()); only an orderly
 * end switches that off first. Then the kernel delivers what is left, and the
 * side that ended first is the one that waits in TIME_WAIT, as in a direct
 * connection: in the gateway netns when the server ended first. A sandbox that
 * uses the port again isn't hindered by it, because tproxy gives a new SYN to
 * the listener.
 */
#include <errno.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "relay/flow_internal.h"

struct flow *flow_find(struct relay *r, const struct relay_key *key)
{
	struct key_node *n = keytab_find(&r->flows, key);

	return n ? container_of(n, struct flow, node) : NULL;
}

static void close_side(struct side *s, bool in_order)
{
	const struct linger off = { 0 };
	int fd = s->w.fd;

	loop_del_fd(&s->w);
	/* If it failed the end would be a reset, which is no worse. */
	if (in_order)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
	fd_closep(&fd);
}

static void flow_forget(struct flow *f)
{
	struct relay *r = f->relay;

	list_del(&f->ready);
	half_drop(f, FLOW_CLIENT);
	half_drop(f, FLOW_SERVER);
	keytab_del(&r->flows, &f->node);
	dests_put(&r->dests, f->dest);
	pool_put(r->flow_pool, f);
}

static uint32_t now_s(void)
{
	return (uint32_t)(clock_now_ms() / CLOCK_MS_PER_S);
}

void flow_info(const struct flow *f, struct relay_flow_info *ret)
{
	*ret = (struct relay_flow_info){
		.key = f->node.key,
		.bytes_out = f->half[FLOW_CLIENT].bytes,
		.bytes_in = f->half[FLOW_SERVER].bytes,
		.age_s = now_s() - f->opened_s,
	};
}

void flow_close(struct flow *f, enum relay_close why)
{
	struct relay *r = f->relay;
	struct relay_flow_info info;

	flow_info(f, &info);
	info.reason = why;
	close_side(&f->side[FLOW_CLIENT], why == RELAY_CLOSE_END);
	close_side(&f->side[FLOW_SERVER], why == RELAY_CLOSE_END);
	flow_forget(f);
	if (r->ops->closed)
		r->ops->closed(r->ctx, &info);
}

void flow_pass(struct flow *f)
{
	f->stage = FLOW_STAGE_PUMPING;
	pump_run(f, FLOW_CLIENT);
}

/* A flow without sockets; the places were counted by pending.c. */
static struct flow *flow_new(struct relay *r, const struct relay_key *key,
			     uint32_t isn)
{
	struct flow *f = pool_get(r->flow_pool, NULL);

	if (!f)
		return NULL;
	f->dest = dests_get(&r->dests, &key->dst.addr);
	if (!f->dest) {
		pool_put(r->flow_pool, f);
		return NULL;
	}
	f->relay = r;
	f->isn = isn;
	f->opened_s = now_s();
	f->node.key = *key;
	list_init(&f->ready);
	keytab_add(&r->flows, &f->node);
	return f;
}

int flow_open(struct relay *r, const struct relay_key *key, uint32_t isn,
	      int client_fd, int server_fd)
{
	_cleanup_(fd_closep) int client = client_fd;
	_cleanup_(fd_closep) int server = server_fd;
	struct flow *old = flow_find(r, key);
	struct relay_flow_info info;
	struct flow *f;
	int res;

	/* Its socket inside is gone, or there couldn't be another. */
	if (old)
		flow_close(old, RELAY_CLOSE_RESET);
	f = flow_new(r, key, isn);
	if (!f)
		return -ENOSPC;
	res = pump_watch(f, client, server);
	if (res < 0) {
		loop_del_fd(&f->side[FLOW_CLIENT].w);
		flow_forget(f);
		return res;
	}
	(void)fd_steal(&client); /* both are the flow's now */
	(void)fd_steal(&server);
	flow_info(f, &info);
	if (r->ops->opened)
		r->ops->opened(r->ctx, &info);
	flow_pass(f);
	return 0;
}
