/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offline.h - the policy that a project's run would have, without running it
 */
#ifndef EGRET_CMD_OFFLINE_H
#define EGRET_CMD_OFFLINE_H

#include <stddef.h>

struct err;
struct policy;

/**
 * offline_policy() - the lists for every run and the project's, joined
 * @ret_list: its list
 *
 * Errors in the lists are printed.
 * Return: 0, or -ENOENT when there is no such project, or another errno, with a
 * sentence.
 */
int offline_policy(const char *project, struct policy **ret, char *ret_list,
		   size_t size, struct err *err);

#endif /* EGRET_CMD_OFFLINE_H */
