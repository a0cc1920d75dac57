/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control_exec.c - the namespaces of a sandbox, for a command to join them
 *
 * They are no secret that opens anything: whoever may ask is the user who made
 * the sandbox and may do with it as he likes; and what joins is inside, from
 * where no way leads back.
 */
#include <string.h>

#include "gateway/control.h"
#include "gateway/gateway_control.h"
#include "gateway/gateway_internal.h"
#include "gateway/msg.h"
#include "netns/nsset.h"

void gateway_control_exec(const struct gateway *gw,
			  const struct control_request *rq,
			  struct control_reply *ret)
{
	struct gw_msg m = { .type = GW_MSG_JOINED, .value = rq->peer };
	const struct nsset *ns = &gw->plumbing.ns;

	_Static_assert(sizeof(ns->fds) <= sizeof(ret->fds), "descriptors");
	control_ok(ret);
	control_put_bool(&ret->text, "root",
			 gw->cfg->plumbing.init->command.as_root);
	memcpy(ret->fds, ns->fds, sizeof(ns->fds));
	ret->n_fds = NSSET_MAX;
	/* What is lost makes refusals that don't name a process. */
	(void)gw_msg_send(gw->cfg->plumbing.front_sock, &m, -1);
}
