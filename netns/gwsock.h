/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gwsock.h - the sockets that the loop uses in the gateway netns
 *
 * Made once, by the helper thread, while it has its capabilities. All
 * non-blocking and close-on-exec.
 */
#ifndef EGRET_NETNS_GWSOCK_H
#define EGRET_NETNS_GWSOCK_H

struct err;

struct gwsock {
	int dns_udp4, dns_udp6; /* any address, port 53, with PKTINFO */
	int dns_tcp4, dns_tcp6; /* listening on port 53 */
	int relay4, relay6;	/* IP_TRANSPARENT listeners, LAYOUT_RELAY_PORT,
				   SO_LINGER(1,0) inherited by what they accept */
	int inject;    /* AF_PACKET on inj0; each message carries its SO_MARK */
	int nfnl;      /* NETLINK_NETFILTER for set changes, bound, extended
			  acknowledgements on, biggest buffers allowed */
	int nflog_syn; /* NETLINK_NETFILTER, biggest receive buffer, to be
			  bound to its group by nft/ */
	int nflog_drop; /* likewise */
	int link_watch; /* see link_open_watch() */
};

/** gwsock_init() - all members -1 */
void gwsock_init(struct gwsock *s);

/** gwsock_open() - in the gateway netns, links are set up */
int gwsock_open(struct gwsock *s, struct err *err);

/** gwsock_close() - close what is still owned (members >= 0) */
void gwsock_close(struct gwsock *s);

#endif /* EGRET_NETNS_GWSOCK_H */
