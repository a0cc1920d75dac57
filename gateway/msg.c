/* SPDX-License-Identifier: GPL-2.0-or-later */
/* msg.c - messages between the front and the gateway */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "gateway/msg.h"

size_t gw_msg_len(enum gw_msg_type type)
{
	switch (type) {
	case GW_MSG_FAILED:
	case GW_MSG_LOG:
		return offsetof(struct gw_msg, text) +
		       sizeof(((struct gw_msg *)0)->text);
	case GW_MSG_EVENT:
		return offsetof(struct gw_msg, event) + sizeof(struct event);
	case GW_MSG_UNSHARED:
	case GW_MSG_MAPPED:
	case GW_MSG_INIT:
	case GW_MSG_STARTED:
	case GW_MSG_SEEN:
	case GW_MSG_JOINED:
	case GW_MSG_EXIT:
	case GW_MSG_MAX:
		break;
	}
	return offsetof(struct gw_msg, text);
}

int gw_msg_send(int sock, const struct gw_msg *m, int fd)
{
	return io_send_fds(sock, m, gw_msg_len(m->type), &fd, fd >= 0 ? 1 : 0);
}

int gw_msg_send_text(int sock, enum gw_msg_type type, int value,
		     const char *text)
{
	struct gw_msg m = { .type = type, .value = value };

	(void)snprintf(m.text, sizeof(m.text), "%s", text);
	return gw_msg_send(sock, &m, -1);
}

static int check(struct gw_msg *m, size_t len, size_t n_fds)
{
	if (len < offsetof(struct gw_msg, text) ||
	    (unsigned int)m->type >= GW_MSG_MAX || len != gw_msg_len(m->type))
		return -EPROTO;
	if (n_fds != (m->type == GW_MSG_INIT ? 1 : 0))
		return -EPROTO;
	if (m->type == GW_MSG_EVENT)
		return event_check(&m->event);
	if (m->type == GW_MSG_FAILED || m->type == GW_MSG_LOG)
		m->text[sizeof(m->text) - 1] = '\0';
	return 0;
}

int gw_msg_recv(int sock, struct gw_msg *ret, int *ret_fd)
{
	int fds[IO_FDS_MAX];
	size_t i, n_fds = 0;
	ssize_t n;
	int r;

	n = io_recv_fds(sock, ret, sizeof(*ret), fds, &n_fds);
	/* Only without descriptors is nothing the end. */
	if (n < 0 || (n == 0 && n_fds == 0))
		return (int)n;
	r = check(ret, (size_t)n, n_fds);
	if (r < 0) {
		for (i = 0; i < n_fds; i++)
			(void)close(fds[i]);
		return r;
	}
	*ret_fd = n_fds ? fds[0] : -1;
	return 1;
}
