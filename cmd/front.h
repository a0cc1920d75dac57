/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * front.h - egret run's own process, in the user's terminal
 */
#ifndef EGRET_CMD_FRONT_H
#define EGRET_CMD_FRONT_H

#include <stdbool.h>

#include "gateway/gateway.h"

struct front_config {
	struct gateway_config gateway; /* but its plumbing, which front fills */
	struct init_config init;       /* command, masks, descriptors to keep */
	int events_fd;		       /* --events, or -1 */
	int lock_fd;	      /* of the runtime directory: the front's alone */
	bool quiet;	      /* no refusal lines */
	bool fail_on_refused; /* 123 instead of 0 when something was refused */
};

/**
 * front_run() - start gateway and command, wait, report
 *
 * Return: the command's exit status as a shell would have it, or 125 after a
 * sentence on stderr.
 */
int front_run(struct front_config *cfg);

#endif /* EGRET_CMD_FRONT_H */
