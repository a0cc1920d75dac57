/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway_control.h - the answers to control requests; for gateway/ only
 */
#ifndef EGRET_GATEWAY_GATEWAY_CONTROL_H
#define EGRET_GATEWAY_GATEWAY_CONTROL_H

#include <stdbool.h>

struct control_reply;
struct control_request;
struct control_text;
struct gateway;

/**
 * gateway_put_status() - the members of "status"
 * @numbers: those that are lists in "show" as well
 */
void gateway_put_status(const struct gateway *gw, struct control_text *t,
			bool numbers);

/** gateway_control_show() - "show" */
void gateway_control_show(const struct gateway *gw,
			  const struct control_request *rq,
			  struct control_reply *ret);

/** gateway_control_exec() - "exec": descriptors of the namespaces */
void gateway_control_exec(const struct gateway *gw,
			  const struct control_request *rq,
			  struct control_reply *ret);

#endif /* EGRET_GATEWAY_GATEWAY_CONTROL_H */
