/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log.c - lines on stderr for people; not the record of refusals */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"

#define LOG_LINE_MAX 2048

static enum log_level max_level = LOG_LEVEL_INFO;
static log_sink_fn *sink;
static void *sink_ctx;

void log_set_level(enum log_level level)
{
	max_level = level;
}

void log_set_sink(log_sink_fn *fn, void *ctx)
{
	sink = fn;
	sink_ctx = fn ? ctx : NULL;
}

/*
 * One write(2) a line: several processes share the terminal, and stdio would
 * let them cut into one another's lines.
 */
static void write_stderr(const char *line)
{
	char buf[LOG_LINE_MAX + sizeof("egret: \n")];
	int n = snprintf(buf, sizeof(buf), "egret: %s\n", line);

	/* A lost log line can't be reported anywhere. */
	if (n > 0 && write(STDERR_FILENO, buf, (size_t)n) < 0)
		return;
}

void log_write(enum log_level level, const char *fmt, ...)
{
	int saved = errno;
	char line[LOG_LINE_MAX];
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap); /* cut is fine */
	va_end(ap);
	if (sink)
		sink(sink_ctx, level, line);
	else
		write_stderr(line);
	errno = saved;
}

char *log_escape(char *dst, size_t size, const char *src, size_t len)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t at = 0;

	if (size == 0)
		return dst;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)src[i];

		/* An escape is written whole or not at all. */
		if (c >= 0x20 && c < 0x7f && c != '\\') {
			if (at + 1 >= size)
				break;
			dst[at++] = (char)c;
		} else {
			if (at + 4 >= size)
				break;
			dst[at++] = '\\';
			dst[at++] = 'x';
			dst[at++] = hex[c >> 4];
			dst[at++] = hex[c & 0xf];
		}
	}
	dst[at] = '\0';
	return dst;
}
