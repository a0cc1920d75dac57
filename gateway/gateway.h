/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway.h - the process between a sandbox and the host's network
 */
#ifndef EGRET_GATEWAY_GATEWAY_H
#define EGRET_GATEWAY_GATEWAY_H

#include <stdbool.h>

#include "gateway/plumbing.h"
#include "gateway/policyfile.h"

struct gateway_config {
	const char *id;		  /* of the sandbox, "study42" or "run-4711" */
	const char *list;	  /* its allowlist file, absolute */
	const char *command;	  /* for people, on one line */
	const char *control_path; /* where the control socket is made */
	struct policyfile_sources *sources; /* pinned by the gateway */
	bool want_events; /* all kinds, not only refusals and errors */
	struct plumbing_config plumbing;
};

/**
 * gateway_run() - the whole life of a gateway, in a child of the front
 *
 * Everything that a person should hear goes to the front as messages.
 * Return: exit status for the process.
 */
int gateway_run(const struct gateway_config *cfg);

#endif /* EGRET_GATEWAY_GATEWAY_H */
