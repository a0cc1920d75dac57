/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gwlab.h - a gateway netns and a sandbox netns, joined as egret joins them
 *
 * Two helper threads, one in each; the test itself stays outside.
 */
#ifndef EGRET_TESTS_GWLAB_H
#define EGRET_TESTS_GWLAB_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "netns/layout.h"
#include "netns/link.h"
#include "netns/nsthread.h"

#include "tests/unit/userns.h"

struct gwlab {
	struct nsthread *gw, *sb;
};

static inline int gwlab_pair(void *arg, struct err *err)
{
	struct gwlab *lab = arg;

	return link_create_pair(nsthread_netns_fd(lab->sb), err);
}

static inline int gwlab_inject_pair(void *arg, struct err *err)
{
	(void)arg;
	return link_create_inject_pair(err);
}

static inline int gwlab_setup_gw(void *arg, struct err *err)
{
	(void)arg;
	return link_setup_gateway(err);
}

static inline int gwlab_setup_sb(void *arg, struct err *err)
{
	(void)arg;
	return link_setup_sandbox(err);
}

static inline int gwlab_wait(void *arg, struct err *err)
{
	return link_wait_running(arg, err);
}

static inline void gwlab_call(struct nsthread *t, nsthread_fn *fn, void *arg)
{
	struct err err = { .code = 0 };
	int r = nsthread_call(t, fn, arg, &err);

	ck_assert_msg(r >= 0, "%s", err.msg);
}

/* false: skip */
static inline bool gwlab_start(struct gwlab *lab)
{
	struct err err = { .code = 0 };

	*lab = (struct gwlab){ .gw = NULL };
	if (!userns_enter(0, false))
		return false;
	ck_assert_msg(nsthread_new(&lab->gw, -1, &err) == 0, "%s", err.msg);
	ck_assert_msg(nsthread_new(&lab->sb, -1, &err) == 0, "%s", err.msg);
	if (nsthread_call(lab->gw, gwlab_pair, lab, &err) == -EOPNOTSUPP)
		return userns_skip(err.msg);
	gwlab_call(lab->gw, gwlab_inject_pair, lab);
	gwlab_call(lab->gw, gwlab_setup_gw, NULL);
	gwlab_call(lab->sb, gwlab_setup_sb, NULL);
	gwlab_call(lab->gw, gwlab_wait, (char[]){ LAYOUT_GW_IFNAME });
	return true;
}

static inline void gwlab_end(struct gwlab *lab)
{
	nsthread_freep(&lab->gw);
	nsthread_freep(&lab->sb);
}

/* A shell command in a thread's netns; @arg is the text. */
static inline int gwlab_sh(void *arg, struct err *err)
{
	int r = userns_sh("%s", (const char *)arg);

	return r ? err_set(err, -EIO, "exit status %d: %s", r,
			   (const char *)arg)
		 : 0;
}

struct gwlab_socket {
	int family, type, fd;
};

static inline int gwlab_socket(void *arg, struct err *err)
{
	struct gwlab_socket *s = arg;

	(void)err;
	s->fd = socket(s->family, s->type | SOCK_CLOEXEC, 0);
	return s->fd < 0 ? -errno : 0;
}

/* A socket of that thread's netns. */
static inline int gwlab_open(struct nsthread *t, int family, int type)
{
	struct gwlab_socket s = { family, type, -1 };

	gwlab_call(t, gwlab_socket, &s);
	return s.fd;
}

/* Returns the length. */
static inline socklen_t gwlab_addr(struct sockaddr_storage *ret,
				   const char *text, uint16_t port)
{
	struct sockaddr_in *in = (void *)ret;
	struct sockaddr_in6 *in6 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		return sizeof(*in);
	}
	ck_assert_int_eq(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	return sizeof(*in6);
}

static inline void gwlab_text(const struct sockaddr_storage *ss,
			      char ret[static INET6_ADDRSTRLEN])
{
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;
	const void *a = &in6->sin6_addr;

	if (ss->ss_family == AF_INET)
		a = &in->sin_addr;
	ck_assert_ptr_nonnull(
		inet_ntop(ss->ss_family, a, ret, INET6_ADDRSTRLEN));
}

#endif /* EGRET_TESTS_GWLAB_H */
