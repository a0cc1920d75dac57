/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostaddr.h - the host's own addresses, and whether it has an IPv6 route;
 * kept current by rtnetlink notifications
 *
 * Its socket is made in the calling thread's netns (the host's).
 */
#ifndef EGRET_NETNS_HOSTADDR_H
#define EGRET_NETNS_HOSTADDR_H

#include <stdbool.h>
#include <stddef.h>

struct addr;
struct err;
struct hostaddr;
struct loop;

/** Called after the table changed (addresses or routes). */
typedef void hostaddr_fn(void *ctx);

int hostaddr_new(struct hostaddr **ret, struct loop *loop, hostaddr_fn *changed,
		 void *ctx, struct err *err);
void hostaddr_free(struct hostaddr *h);
void hostaddr_freep(struct hostaddr **h);

bool hostaddr_is_own(const struct hostaddr *h, const struct addr *a);

/** hostaddr_list() - all of them, borrowed until the next change */
const struct addr *hostaddr_list(const struct hostaddr *h, size_t *ret_n);

/** hostaddr_has_ipv6() - is there an IPv6 route that isn't link-local, local
 * or unreachable */
bool hostaddr_has_ipv6(const struct hostaddr *h);

#endif /* EGRET_NETNS_HOSTADDR_H */
