/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox.h - the gateway's side of init's set-up, and U1 itself
 *
 * Whatever comes from init is untrusted: lengths, types and descriptors are
 * checked, and init can make nothing happen but its own failure.
 */
#ifndef EGRET_NETNS_SANDBOX_H
#define EGRET_NETNS_SANDBOX_H

#include <sys/types.h>

struct err;
struct nsset;

/**
 * sandbox_enter_u1() - unshare(CLONE_NEWUSER) with a sentence that says what is
 * missing when the kernel refuses; the maps are still to be written
 */
int sandbox_enter_u1(struct err *err);

/**
 * sandbox_recv_inside() - wait for init to be in U2
 * @sock: gateway's end of the set-up socket
 * @ns:   holds U1; the others are filled in, checked
 *
 * Return: 0; init's own code and sentence when it failed; -EPROTO for anything
 * else than namespaces below this U1.
 */
int sandbox_recv_inside(int sock, struct nsset *ns, struct err *err);

/** sandbox_send_mapped(), sandbox_send_go() - the gateway's two words */
int sandbox_send_mapped(int sock, struct err *err);
int sandbox_send_go(int sock, struct err *err);

/**
 * sandbox_recv_error() - after init ended: the sentence it left, if any
 *
 * Return: 0 when @err was filled, -ENOENT otherwise. Never blocks.
 */
int sandbox_recv_error(int sock, struct err *err);

#endif /* EGRET_NETNS_SANDBOX_H */
