/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse.h - numbers from text, strictly: digits only, no sign, no space, no
 * leading zero (but "0"), in range
 */
#ifndef EGRET_BASE_PARSE_H
#define EGRET_BASE_PARSE_H

#include <stddef.h>
#include <stdint.h>

/** parse_u16() - Return: 0, or -EINVAL or -ERANGE with @ret untouched */
int parse_u16(const char *text, size_t len, uint16_t *ret);

/** parse_u32() - Return: 0, or -EINVAL or -ERANGE with @ret untouched */
int parse_u32(const char *text, size_t len, uint32_t *ret);

#endif /* EGRET_BASE_PARSE_H */
