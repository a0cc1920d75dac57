/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel executes an nfnetlink batch within sendmsg(2): acknowledgements
 * and errors are queued when it returns, and one bad message undoes the batch.
 */
#include "tests/integration/kernel/fact.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

struct msg {
	struct nlmsghdr nlh;
	struct nfgenmsg gen;
	struct nlattr attr;
	char name[8];
};

static struct msg message(uint16_t type, uint16_t flags, const char *table)
{
	struct msg m = {
		.nlh = { .nlmsg_type = type,
			 .nlmsg_flags = NLM_F_REQUEST | flags },
		.gen = { .nfgen_family = NFPROTO_INET },
		.attr = { .nla_type = NFTA_TABLE_NAME,
			  .nla_len = sizeof(m.attr) + sizeof(m.name) },
	};

	m.nlh.nlmsg_len = sizeof(m);
	if (!table) {
		m.nlh.nlmsg_len = NLMSG_LENGTH(sizeof(m.gen));
		m.gen.nfgen_family = AF_UNSPEC;
		m.gen.res_id = htons(NFNL_SUBSYS_NFTABLES);
	} else {
		(void)snprintf(m.name, sizeof(m.name), "%s", table);
	}
	return m;
}

/* Sends a batch; errors of its messages by seq 1 and 2; 99: none was queued */
static void batch(int fd, const char *one, const char *two, int result[2])
{
	const uint16_t new = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE;
	const uint16_t flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
	struct msg m[4] = {
		message(NFNL_MSG_BATCH_BEGIN, 0, NULL),
		message(new, flags, one),
		message(new, flags, two),
		message(NFNL_MSG_BATCH_END, 0, NULL),
	};
	char buf[4096], ack[4096];
	const struct nlmsghdr *nlh = (void *)ack;
	size_t len = 0;
	int error;

	for (uint32_t i = 0; i < 4; i++) {
		m[i].nlh.nlmsg_seq = i;
		memcpy(buf + len, &m[i], m[i].nlh.nlmsg_len);
		len += m[i].nlh.nlmsg_len;
	}
	result[0] = result[1] = 99;
	fact_need(send(fd, buf, len, 0) == (ssize_t)len, "send");
	while (recv(fd, ack, sizeof(ack), MSG_DONTWAIT) > 0) {
		if (nlh->nlmsg_type != NLMSG_ERROR)
			continue;
		memcpy(&error, ack + NLMSG_HDRLEN, sizeof(error));
		if (nlh->nlmsg_seq == 1 || nlh->nlmsg_seq == 2)
			result[nlh->nlmsg_seq - 1] = error;
		else if (nlh->nlmsg_seq == 0)
			fact_fail("the batch: %s", strerror(-error));
	}
}

int main(void)
{
	int fd, r[2];

	fact_name = "batch_sync_ack";
	fact_enter(CLONE_NEWNET);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	if (fd < 0)
		fact_skip("no nfnetlink: %s", strerror(errno));
	batch(fd, "a", "b", r);
	if (r[0] != 0 || r[1] != 0)
		fact_fail("acknowledgements %d and %d", r[0], r[1]);
	batch(fd, "c", "a", r);
	if (r[1] != -EEXIST)
		fact_fail("a second table a: %d", r[1]);
	batch(fd, "c", "d", r);
	if (r[0] != 0 || r[1] != 0)
		fact_fail("table c survived a failed batch: %d", r[0]);
	fact_ok();
}
