/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - lines on stderr for people; not the record of refusals
 *
 * One call, one line "egret: <text>", no trailing newline or period in the
 * text. Only gateway/ and cmd/ log above debug. The sink can be replaced (the
 * gateway sends its lines to the front). errno is preserved.
 */
#ifndef EGRET_BASE_LOG_H
#define EGRET_BASE_LOG_H

#include <stddef.h>

enum log_level {
	LOG_LEVEL_ERR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

typedef void log_sink_fn(void *ctx, enum log_level level, const char *line);

/** log_set_level() - print lines up to @level; LOG_LEVEL_INFO at the start */
void log_set_level(enum log_level level);

/** log_set_sink() - send lines to @fn instead of stderr; NULL restores it */
void log_set_sink(log_sink_fn *fn, void *ctx);

void log_write(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define log_err(...)   log_write(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/**
 * log_escape() - make untrusted bytes printable on one line
 * @dst, @size: result, always NUL-terminated, cut at @size
 * @src, @len:  bytes; control characters, backslash, non-ASCII and DEL become
 *              \xHH, so a terminal sees no escape sequence
 *
 * Return: @dst.
 */
char *log_escape(char *dst, size_t size, const char *src, size_t len);

#endif /* EGRET_BASE_LOG_H */
