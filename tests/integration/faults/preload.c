/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preload.c - a kernel that lacks something, for egret's own set-up
 *
 * Loaded by LD_PRELOAD. EGRET_FAULT names what is missing:
 *
 *   veth     a link of any kind can't be made (as without CONFIG_VETH)
 *   nfnl     there is no NETLINK_NETFILTER (CONFIG_NETFILTER_NETLINK)
 *   nftables its subsystem answers no batch (CONFIG_NF_TABLES)
 *   elements new set elements are refused while the file EGRET_FAULT_FILE is
 *            there
 *
 * The sandboxed command loads it too, where it changes nothing that the tests
 * use.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* libnl's own number for EOPNOTSUPP */
#define NLE_OPNOTSUPP_VALUE 10

static bool is_fault(const char *name)
{
	const char *fault = getenv("EGRET_FAULT");

	return fault && strcmp(fault, name) == 0;
}

static void *next(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (!fn)
		abort();
	return fn;
}

__attribute__((visibility("default"))) int rtnl_link_add(void *sk, void *link,
							 int flags)
{
	int (*real)(void *, void *, int);

	if (is_fault("veth"))
		return -NLE_OPNOTSUPP_VALUE;
	*(void **)&real = next("rtnl_link_add");
	return real(sk, link, flags);
}

__attribute__((visibility("default"))) int socket(int domain, int type,
						  int protocol)
{
	int (*real)(int, int, int);

	if (domain == AF_NETLINK && protocol == NETLINK_NETFILTER &&
	    is_fault("nfnl")) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	*(void **)&real = next("socket");
	return real(domain, type, protocol);
}

/* Has the batch a message of this type of the nf_tables subsystem? */
static bool has_message(const void *data, size_t len, uint16_t type)
{
	const struct nlmsghdr *nlh = data;

	while (len >= sizeof(*nlh) && nlh->nlmsg_len >= sizeof(*nlh) &&
	       nlh->nlmsg_len <= len) {
		size_t step = NLMSG_ALIGN(nlh->nlmsg_len);

		if (nlh->nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | type))
			return true;
		if (step >= len)
			return false;
		len -= step;
		nlh = (const void *)((const char *)nlh + step);
	}
	return false;
}

__attribute__((visibility("default"))) ssize_t
sendto(int fd, const void *data, size_t len, int flags,
       const struct sockaddr *addr, socklen_t addr_len)
{
	ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *,
			socklen_t);
	const char *file = getenv("EGRET_FAULT_FILE");

	if (is_fault("nftables") && has_message(data, len, NFT_MSG_NEWTABLE)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (is_fault("elements") && file && access(file, F_OK) == 0 &&
	    has_message(data, len, NFT_MSG_NEWSETELEM)) {
		errno = EPERM;
		return -1;
	}
	*(void **)&real = next("sendto");
	return real(fd, data, len, flags, addr, addr_len);
}
