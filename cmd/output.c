/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.c - JSON on stdout */
#include <stdio.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/output.h"

int output_json(const json_t *value)
{
	if (json_dumpf(value, stdout, JSON_INDENT(2)) == 0 &&
	    putchar('\n') != EOF && fflush(stdout) == 0)
		return CMD_OK;
	log_err("cannot write the output");
	return CMD_NO;
}
