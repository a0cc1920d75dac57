/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parse.c - numbers from text, strictly */
#include <errno.h>

#include "base/parse.h"

static int parse_max(const char *text, size_t len, uint32_t max, uint32_t *ret)
{
	uint64_t value = 0;

	if (len == 0 || (len > 1 && text[0] == '0'))
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		value = value * 10 + (uint64_t)(text[i] - '0');
		if (value > max)
			return -ERANGE;
	}
	*ret = (uint32_t)value;
	return 0;
}

int parse_u16(const char *text, size_t len, uint16_t *ret)
{
	uint32_t value;
	int r = parse_max(text, len, UINT16_MAX, &value);

	if (r == 0)
		*ret = (uint16_t)value;
	return r;
}

int parse_u32(const char *text, size_t len, uint32_t *ret)
{
	return parse_max(text, len, UINT32_MAX, ret);
}
