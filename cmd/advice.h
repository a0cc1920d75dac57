/* SPDX-License-Identifier: GPL-2.0-or-later */
/* advice.h - what `egret run` says once about its allowlist */
#ifndef EGRET_CMD_ADVICE_H
#define EGRET_CMD_ADVICE_H

struct policy;

/**
 * advice_print() - which allowed presets accept uploads, and wildcards for the
 * names of strangers; to standard error
 */
void advice_print(const struct policy *p);

#endif /* EGRET_CMD_ADVICE_H */
