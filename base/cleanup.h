/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cleanup.h - owners that let go by themselves at the end of their scope
 *
 * Descriptors start at -1 and pointers at NULL; ownership is passed on with
 * fd_steal() or ptr_steal(). All destructors preserve errno.
 */
#ifndef EGRET_BASE_CLEANUP_H
#define EGRET_BASE_CLEANUP_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Hands a pointer over: gives its value and leaves NULL behind. */
#define ptr_steal(pp)                              \
	({                                         \
		__typeof__(*(pp)) stolen_ = *(pp); \
		*(pp) = NULL;                      \
		stolen_;                           \
	})

static inline int fd_steal(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

/* Closes and resets a descriptor; -1 is fine, errno is kept. */
static inline void fd_closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

static inline void freep(void *p)
{
	int saved = errno;

	free(*(void **)p);
	*(void **)p = NULL;
	errno = saved;
}

static inline void fclosep(FILE **f)
{
	int saved = errno;

	if (*f)
		(void)fclose(*f);
	*f = NULL;
	errno = saved;
}

#endif /* EGRET_BASE_CLEANUP_H */
