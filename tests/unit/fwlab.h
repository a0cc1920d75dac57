/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fwlab.h - gwlab.h with the ruleset in force
 */
#ifndef EGRET_TESTS_FWLAB_H
#define EGRET_TESTS_FWLAB_H

#include "base/addr.h"
#include "netns/gwsock.h"
#include "netns/sysctl.h"
#include "nft/fw.h"

#include "tests/unit/gwlab.h"

struct fwlab {
	struct gwlab net;
	struct gwsock sock;
	struct fw *fw;
};

static inline struct addr fwlab_addr(const char *text)
{
	struct addr a;

	ck_assert_msg(addr_parse(text, &a) == 0, "%s", text);
	return a;
}

static inline struct fw_config fwlab_config(void)
{
	return (struct fw_config){
		.gw_ifname = LAYOUT_GW_IFNAME,
		.inject_ifname = LAYOUT_INJ_RX_IFNAME,
		.gw_mac = LAYOUT_GW_MAC,
		.sb_mac = LAYOUT_SB_MAC,
		.sb_addr4 = fwlab_addr(LAYOUT_SB_ADDR4),
		.sb_addr6 = fwlab_addr(LAYOUT_SB_ADDR6),
		.relay_port = LAYOUT_RELAY_PORT,
		.relays_udp = true,
	};
}

static inline int fwlab_open(void *arg, struct err *err)
{
	int r = sysctl_setup_gateway(err);

	return r < 0 ? r : gwsock_open(arg, err);
}

/*
 * The kernel adds the local route of an IPv6 address by a work item; what comes
 * for the sandbox before that is lost.
 */
#define FWLAB_WAIT_ADDR6                                      \
	"i=0; until ip -6 route show table local dev eth0 | " \
	"grep -q '^local " LAYOUT_SB_ADDR6 " '; do "          \
	"i=$((i + 1)); [ $i -lt 500 ] || exit 1; done"

/* false: skip */
static inline bool fwlab_start(struct fwlab *lab)
{
	struct fw_config cfg = fwlab_config();
	struct err err = { .code = 0 };

	gwsock_init(&lab->sock);
	lab->fw = NULL;
	if (!gwlab_start(&lab->net))
		return false;
	gwlab_call(lab->net.sb, gwlab_sh, (char[]){ FWLAB_WAIT_ADDR6 });
	gwlab_call(lab->net.gw, fwlab_open, &lab->sock);
	ck_assert_msg(fw_new(&lab->fw, lab->sock.nfnl, &err) == 0, "%s",
		      err.msg);
	ck_assert_msg(fw_install(lab->fw, &cfg, &err) == 0, "%s", err.msg);
	return true;
}

static inline void fwlab_end(struct fwlab *lab)
{
	fw_freep(&lab->fw);
	gwsock_close(&lab->sock);
	gwlab_end(&lab->net);
}

/* A shell command in the gateway netns; its exit status is 0. */
static inline void fwlab_sh(const struct fwlab *lab, const char *cmd)
{
	char copy[1024];

	(void)snprintf(copy, sizeof(copy), "%s", cmd);
	gwlab_call(lab->net.gw, gwlab_sh, copy);
}

static inline struct fw_elem fwlab_elem(enum fw_set set, const char *addr,
					unsigned int len, uint8_t proto,
					uint16_t lo, uint16_t hi)
{
	return (struct fw_elem){
		.set = set,
		.prefix = { .addr = fwlab_addr(addr), .len = (uint8_t)len },
		.proto = proto,
		.port_lo = lo,
		.port_hi = hi,
	};
}

static inline void fwlab_add(const struct fwlab *lab, const struct fw_elem *e,
			     size_t n)
{
	struct err err = { .code = 0 };

	ck_assert_msg(fw_apply(lab->fw, NULL, 0, e, n, &err) == 0, "%s",
		      err.msg);
}

static inline void fwlab_del(const struct fwlab *lab, const struct fw_elem *e,
			     size_t n)
{
	struct err err = { .code = 0 };

	ck_assert_msg(fw_apply(lab->fw, e, n, NULL, 0, &err) == 0, "%s",
		      err.msg);
}

#endif /* EGRET_TESTS_FWLAB_H */
