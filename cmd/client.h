/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.h - talks to running sandboxes over their control sockets
 *
 * One JSON request a line, one JSON reply a line; see docs/control.md. A call
 * blocks at most CLIENT_TIMEOUT_MS.
 */
#ifndef EGRET_CMD_CLIENT_H
#define EGRET_CMD_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/io.h"
#include "cmd/rundir.h"

struct err;

#define CLIENT_TIMEOUT_MS    5000
#define CLIENT_SANDBOXES_MAX 256

struct client_sandbox {
	char id[RUNDIR_ID_MAX];
	char list[PATH_MAX]; /* real path of its allowlist file */
};

/**
 * client_sandboxes() - those that run now, sorted by id
 * @ret: room for CLIENT_SANDBOXES_MAX
 *
 * Return: their number, or negative errno.
 */
int client_sandboxes(struct client_sandbox *ret, struct err *err);

/**
 * client_call() - one request to one sandbox
 * @request: borrowed
 * @ret:     the reply, an object; caller json_decref()s
 *
 * Return: 0 when the reply says "ok": true; -EREMOTEIO with the reply's "error"
 * sentence when it says false (@ret is set then too); -ENOENT when no such
 * sandbox runs; -ETIMEDOUT; -EPROTO.
 */
int client_call(const char *id, json_t *request, json_t **ret, struct err *err);

/**
 * client_call_fds() - the same, and takes descriptors that come with the reply
 * @ret_n_fds: their number; the caller closes them
 */
int client_call_fds(const char *id, json_t *request, json_t **ret,
		    int fds[static IO_FDS_MAX], size_t *ret_n_fds,
		    struct err *err);

/**
 * client_show() - the reply to "show", with all entries, however many requests
 * that takes
 * @ret: as by client_call(), without "ok"; set only on success
 */
int client_show(const char *id, json_t **ret, struct err *err);

#endif /* EGRET_CMD_CLIENT_H */
