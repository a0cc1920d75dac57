/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_inside.h - asks the sandbox's own resolver, from inside
 */
#ifndef EGRET_CMD_CHECK_INSIDE_H
#define EGRET_CMD_CHECK_INSIDE_H

struct err;
struct policy_question;

#define CHECK_INSIDE_LEN 256

/**
 * check_inside() - the text of the TXT record, "allowed rule=..." or "refused
 * reason=..."
 *
 * Return: 0; -ENOENT when no resolver of a sandbox answers; -EPROTO; -E2BIG for
 * a name that leaves no room for the question.
 */
int check_inside(const struct policy_question *q, char ret[CHECK_INSIDE_LEN],
		 struct err *err);

#endif /* EGRET_CMD_CHECK_INSIDE_H */
