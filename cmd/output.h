/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.h - what commands print for programs */
#ifndef EGRET_CMD_OUTPUT_H
#define EGRET_CMD_OUTPUT_H

#include <jansson.h>

/**
 * output_json() - one indented value and a newline to stdout
 *
 * Return: exit status: CMD_OK, or CMD_NO after a sentence.
 */
int output_json(const json_t *value);

#endif /* EGRET_CMD_OUTPUT_H */
