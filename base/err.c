/* SPDX-License-Identifier: GPL-2.0-or-later */
/* err.c - errors: a negative errno plus a sentence for people */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap); /* cut is fine */
	va_end(ap);
	return code;
}

int err_set_errno(struct err *err, int code, const char *fmt, ...)
{
	char text[128];
	size_t used;
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	used = strlen(err->msg);
	(void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s",
		       strerror_r(-code, text, sizeof(text)));
	return code;
}

int err_wrap(struct err *err, int code, const char *fmt, ...)
{
	char context[ERR_MSG_MAX];
	char old[ERR_MSG_MAX];
	size_t used;
	va_list ap;

	if (!err)
		return code;
	/* Not in place: the arguments may point into the old message. */
	va_start(ap, fmt);
	(void)vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	memcpy(old, err->msg, sizeof(old));
	memcpy(err->msg, context, sizeof(context));
	err->code = code;
	used = strlen(err->msg);
	(void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", old);
	return code;
}
