/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pipes.c - a bounded number of pipes that flows borrow while bytes are in them
 *
 * An unprivileged user has a budget of pipe pages (fs.pipe-user-pages-soft,
 * 64 MiB as Linux ships it) that all its processes share. Above it the kernel
 * still makes pipes, but of two pages, and refuses to enlarge them. A pipe that
 * small moves bytes slower than copying does, so it's closed again and the flow
 * copies; another attempt is made a second later.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "relay/pipes.h"

/* A larger one saves calls; 32 of these are a quarter of the user's budget. */
#define PIPE_ROOM     (512 * 1024)
#define PIPE_ROOM_MIN (64 * 1024)
#define PIPES_IDLE    4 /* kept for the next borrower */
#define RETRY_MS      CLOCK_MS_PER_S

void pipes_init(struct pipes *p, uint32_t max)
{
	*p = (struct pipes){ .max = max };
	list_init(&p->idle);
}

static void pipe_free(struct pipe *pipe)
{
	fd_closep(&pipe->read_fd);
	fd_closep(&pipe->write_fd);
	free(pipe);
}

static void pipe_freep(struct pipe **pipe)
{
	if (*pipe)
		pipe_free(*pipe);
	*pipe = NULL;
}

void pipes_done(struct pipes *p)
{
	struct list *pos, *tmp;

	list_for_each_safe (pos, tmp, &p->idle) {
		pipe_free(container_of(pos, struct pipe, node));
	}
	list_init(&p->idle);
	p->n_idle = 0;
}

/* The largest that the user's budget allows, of a few sizes. */
static int enlarge(int fd)
{
	int have;

	for (int room = PIPE_ROOM; room > PIPE_ROOM_MIN; room /= 2) {
		have = fcntl(fd, F_SETPIPE_SZ, room);
		if (have >= 0)
			return have;
		if (errno != EPERM)
			return -errno;
	}
	have = fcntl(fd, F_GETPIPE_SZ);
	return have < 0 ? -errno : have;
}

static struct pipe *pipe_new(void)
{
	_cleanup_(pipe_freep) struct pipe *pipe = calloc(1, sizeof(*pipe));
	int fds[2], room;

	if (!pipe)
		return NULL;
	pipe->read_fd = pipe->write_fd = -1;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return NULL;
	pipe->read_fd = fds[0];
	pipe->write_fd = fds[1];
	room = enlarge(pipe->write_fd);
	if (room < PIPE_ROOM_MIN)
		return NULL;
	pipe->room = (uint32_t)room;
	list_init(&pipe->node);
	return ptr_steal(&pipe);
}

struct pipe *pipes_borrow(struct pipes *p)
{
	struct pipe *pipe;

	if (p->n_idle > 0) {
		pipe = container_of(p->idle.next, struct pipe, node);
		list_del(&pipe->node);
		p->n_idle--;
		p->n_in_use++;
		return pipe;
	}
	if (p->n_in_use >= p->max)
		return NULL;
	if (p->retry_ms && clock_now_ms() < p->retry_ms)
		return NULL;
	pipe = pipe_new();
	p->retry_ms = pipe ? 0 : clock_now_ms() + RETRY_MS;
	if (pipe)
		p->n_in_use++;
	return pipe;
}

void pipes_return(struct pipes *p, struct pipe *pipe)
{
	p->n_in_use--;
	if (pipe->len > 0 || p->n_idle >= PIPES_IDLE) {
		pipe_free(pipe);
		return;
	}
	/* The one used last is in the caches, so it goes to the front. */
	list_add_tail(p->idle.next, &pipe->node);
	p->n_idle++;
}
