/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nets.c - networks: as keys, in their other forms, as a list for the kernel */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "policy/policy_internal.h"
#include "policy/special.h"

struct addr addr_mask(const struct addr *a, unsigned int len)
{
	struct addr net = *a;

	for (unsigned int i = 0; i < addr_len(a); i++) {
		if (len <= 8 * i)
			net.bytes[i] = 0;
		else if (len < 8 * (i + 1))
			net.bytes[i] &= (uint8_t)(0xff << (8 * (i + 1) - len));
	}
	return net;
}

struct prefix addr_unmap(struct prefix p)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	if (p.addr.family != AF_INET6 || p.len < 96 ||
	    memcmp(p.addr.bytes, mapped, sizeof(mapped)) != 0)
		return p;
	p.addr = addr_from_bytes(p.addr.bytes + 12, 4);
	p.len -= 96;
	return p;
}

size_t net_key(const struct prefix *p, uint8_t key[static NET_KEY_MAX])
{
	size_t len = addr_len(&p->addr);

	key[0] = len == 4 ? 4 : 6;
	key[1] = p->len;
	memcpy(key + 2, p->addr.bytes, len);
	return 2 + len;
}

bool net_is_leave(const struct prefix *p)
{
	const struct prefix *special;
	size_t n;

	/* Says more than the ranges of one address: ISATAP. */
	if (p->len == 8 * addr_len(&p->addr))
		return special_classify(&p->addr);
	special = special_prefixes(p->addr.family, &n);
	for (size_t i = 0; i < n; i++)
		if (special[i].len <= p->len &&
		    prefix_contains(&special[i], &p->addr))
			return true;
	return false;
}

static struct prefix key_net(const struct keys *k, uint32_t key)
{
	size_t len;
	const uint8_t *bytes = keys_get(k, key, &len);

	return (struct prefix){ addr_from_bytes(bytes + 2, len - 2), bytes[1] };
}

/* @ports is ours to change; the table's own ranges stay unfolded. */
static int list_group(struct policy *p, size_t *room, struct policy_net net,
		      struct policy_port *ports, size_t n)
{
	if (!net.deny)
		n = ports_fold_mail(ports, n);
	for (size_t i = 0; i < n; i++) {
		struct policy_net *list =
			grow(p->net_list, p->n_nets, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		net.port = ports[i];
		p->net_list = list;
		list[p->n_nets++] = net;
	}
	return 0;
}

int nets_list(struct policy *p)
{
	const struct table *t = &p->nets;
	size_t room = 0;

	for (uint32_t i = 0; i < t->keys.n * GROUP_MAX; i++) {
		_cleanup_(freep) struct policy_port *ports = NULL;
		struct policy_net net = {
			.prefix = key_net(&t->keys, i / GROUP_MAX),
			.deny = i % GROUP_MAX == GROUP_DENY,
		};
		size_t n = t->start[i + 1] - t->start[i];

		if (n == 0)
			continue;
		ports = malloc(n * sizeof(*ports));
		if (!ports)
			return -ENOMEM;
		memcpy(ports, t->ranges + t->start[i], n * sizeof(*ports));
		if (list_group(p, &room, net, ports, n) < 0)
			return -ENOMEM;
	}
	return 0;
}
