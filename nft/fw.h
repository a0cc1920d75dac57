/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fw.h - the kernel's side of the allowlist: one ruleset, its sets, batches
 *
 * Works on an nfnetlink socket that was opened in the gateway's network
 * namespace; the caller may stand in another one. The kernel executes a batch
 * inside sendmsg(2), so its acknowledgements are there when that returns:
 * fw_flush() is synchronous and never waits for anything outside.
 *
 * Changes are collected as transactions during a turn of the loop and go out
 * as one batch (cut to what the socket takes), deletions first, unless a turn
 * adds and deletes the very same element: then in the order of submission. One
 * bad element aborts a whole batch, so after a failure each transaction is
 * tried alone and hears its own result.
 */
#ifndef EGRET_NFT_FW_H
#define EGRET_NFT_FW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/list.h"

struct err;
struct fw;

/* Marks of injected packets (SO_MARK of the packet sockets). */
enum fw_mark {
	FW_MARK_ACCEPT = 1,  /* judge again, then to the relay */
	FW_MARK_RESET = 2,   /* reject with tcp reset */
	FW_MARK_UNREACH = 3, /* reject with host unreachable */
};

/* NFLOG groups in the gateway netns. */
#define FW_GROUP_SYN  1 /* whole SYNs to open addresses, to be held */
#define FW_GROUP_DROP 2 /* refusals */

enum fw_set {
	FW_SET_OPEN,	/* learned public: addr . proto . port (hash) */
	FW_SET_ANYPORT, /* learned public: addr . proto, all but mail (hash) */
	FW_SET_RANGE,	/* learned public: addr . proto . lo-hi (intervals) */
	FW_SET_PRIVATE, /* learned special-purpose (`private`), as intervals of
			   proto and port: addr . proto . lo-hi */
	FW_SET_LISTED,	/* listed networks with leave for special-purpose
			   addresses, judged before CLOSED:
			   prefix . proto . lo-hi (intervals) */
	FW_SET_DENY,	/* `!` networks: prefix . proto . lo-hi */
	FW_SET_CLOSED,	/* special-purpose and the host's own: prefix */
	FW_SET_PUBLIC,	/* other listed networks and `*`, judged after CLOSED:
			   prefix . proto . lo-hi (intervals) */
	FW_SET_MAX,
};

/*
 * An element of a set; each exists once for IPv4 and once for IPv6. Elements of
 * interval sets must be disjoint: an overlap may be refused with -EEXIST, also
 * by fw_submit(), depending on which came first.
 */
struct fw_elem {
	enum fw_set set;
	struct prefix prefix;	   /* whole length for single addresses */
	uint8_t proto;		   /* IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP
				      (ICMPv6 is meant for IPv6), 0: any */
	uint16_t port_lo, port_hi; /* host order; equal for one port;
				      0..65535 for any */
};

/* What the ruleset is made for; addresses are the design's constants. */
struct fw_config {
	const char *gw_ifname;	   /* the gateway's end of the pair, "gw0" */
	const char *inject_ifname; /* receiving end of the inner pair */
	uint8_t gw_mac[6], sb_mac[6];
	struct addr sb_addr4, sb_addr6; /* the sandbox's only addresses */
	uint16_t relay_port;		/* TPROXY target, TCP, v4 and v6 */
	bool relays_udp; /* open UDP is delivered to this netns's sockets;
			    otherwise it's refused like the rest */
};

/*
 * A transaction: elements that take effect together. Caller-owned, stays
 * untouched until @done was called (from fw_flush()) or fw_cancel().
 */
struct fw_txn {
	const struct fw_elem *elems;
	size_t n;
	bool del; /* delete instead of add */
	/**
	 * @result: 0 when the kernel has acknowledged all, or negative errno:
	 * then none of the elements was changed by this transaction. -EMSGSIZE
	 * when it is more than a batch takes. -EIO when acknowledgements were
	 * lost again and again: then what was to be added has been deleted,
	 * whoever had added it, and what was to be deleted may still be there.
	 * @why:    extended error text or NULL
	 */
	void (*done)(struct fw_txn *t, int result, const char *why);
	struct list node; /* private */
};

struct fw_stats {
	uint64_t batches, adds, dels, failures;
};

/**
 * fw_new() - take an nfnetlink socket
 * @nl_fd: NETLINK_NETFILTER socket of the gateway netns, bound; not owned. Its
 *         buffers, as they are now, decide how large a batch may be
 */
int fw_new(struct fw **ret, int nl_fd, struct err *err);
void fw_free(struct fw *fw);
void fw_freep(struct fw **fw);

/** fw_install() - the whole ruleset in one atomic batch, sets empty */
int fw_install(struct fw *fw, const struct fw_config *cfg, struct err *err);

/** fw_install_guard() - for a sandbox netns: drop all but lo and @ifname */
int fw_install_guard(struct fw *fw, const char *ifname, struct err *err);

/**
 * fw_submit() - queue for the next fw_flush(); @t->done always comes (from
 * fw_free() with -ECANCELED)
 *
 * Adding an element that exists is no error, deleting one that doesn't is
 * -ENOENT.
 */
void fw_submit(struct fw *fw, struct fw_txn *t);
void fw_cancel(struct fw_txn *t);
bool fw_has_pending(const struct fw *fw);

/** fw_flush() - commit everything queued, call every done() */
void fw_flush(struct fw *fw);

/**
 * fw_apply() - elements to delete and to add, in one atomic batch, now
 *
 * For policy changes. Adding an element that exists and deleting one that
 * doesn't are errors of the caller, reported as -EEXIST / -ENOENT.
 *
 * What a batch doesn't take (some 2 500 networks with the smallest buffers) is
 * cut: deletions of what opens, then what closes, then additions of what opens.
 * After a failure in the middle the sets are a mixture: close the network.
 */
int fw_apply(struct fw *fw, const struct fw_elem *del, size_t n_del,
	     const struct fw_elem *add, size_t n_add, struct err *err);

void fw_get_stats(const struct fw *fw, struct fw_stats *ret);

#endif /* EGRET_NFT_FW_H */
