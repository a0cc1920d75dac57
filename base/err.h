/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err.h - errors: a negative errno plus a sentence for people
 *
 * Every function that can fail for a reason a user may read takes a
 * `struct err *` as its last parameter. The caller owns it, usually on its
 * stack; it may be NULL. The code travels as the return value, the sentence in
 * the struct, and each level may put its context in front with err_wrap().
 */
#ifndef EGRET_BASE_ERR_H
#define EGRET_BASE_ERR_H

#define ERR_MSG_MAX 512

struct err {
	int code;	       /* negative errno, 0 while unset */
	char msg[ERR_MSG_MAX]; /* one sentence, no newline, no period */
};

/**
 * err_set() - fill @err and return @code
 * @err:  may be NULL, then only the code travels
 * @code: negative errno
 * @fmt:  printf format; "%m" is not used, the text of the errno is appended
 *        by err_set_errno() only
 *
 * Return: @code, so that `return err_set(...)` reads well.
 */
int err_set(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * err_set_errno() - as err_set(), with ": <strerror(-code)>" appended
 */
int err_set_errno(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * err_wrap() - put context in front: "<context>: <old message>"
 *
 * Return: @code unchanged.
 */
int err_wrap(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* EGRET_BASE_ERR_H */
