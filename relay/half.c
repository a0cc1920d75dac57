/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * half.c - one direction of a flow: read here, write there, never more than
 * can be put somewhere
 *
 * Copying: recv() into the relay's one buffer, send() at once. What the other
 * socket doesn't take goes to the flow's stash, a heap block of exactly that
 * size. All stashes together are bounded; a read that might not fit is done
 * with MSG_PEEK, and only what was sent is consumed. That costs a third system
 * call but no memory, so a sandbox that never reads can't make the gateway
 * grow, and nothing is ever thrown away.
 *
 * Bulk: a direction that had much to read twice in a row is spliced through a
 * borrowed pipe, which takes half of the processor time, until a run moves
 * little. The pipe is borrowed when there's something to read and returned as
 * soon as it is empty, which costs nothing: the pool keeps a few open. Without
 * a pipe the bytes are copied.
 *
 * A read that came short has emptied the socket, and with edge-triggered
 * events the next byte is reported: that saves the read that says EAGAIN. Two
 * cases are excepted. Behind the last byte may be an end or an error that was
 * reported together with the byte (has_hup). And reads stop at an urgent mark
 * (has_urgent), where splice() even stalls; such a socket is copied, and read
 * until it says EAGAIN.
 *
 * An end is passed on with shutdown() when everything before it is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "relay/flow_internal.h"

/* A direction's share of a turn: whichever comes first. */
#define ROUNDS_MAX 16
#define BYTES_MAX  (1024U * 1024)
/* Reads in a row of at least this size make a direction bulk. */
#define BULK_AFTER 2
#define BULK_READ  (32U * 1024)
/* A run in bulk that moved less than this goes back to copying. */
#define BULK_MIN (32U * 1024)
/* All flows' stashes: 256 at their largest. */
#define STASH_MAX (16U * 1024 * 1024)

static struct side *source(struct flow *f, enum flow_side from)
{
	return &f->side[from];
}

static struct side *sink(struct flow *f, enum flow_side from)
{
	return &f->side[from == FLOW_CLIENT ? FLOW_SERVER : FLOW_CLIENT];
}

/*
 * From the first time on that a socket was full it is watched for room too.
 * Most never are, and aren't woken for it.
 */
static int sink_is_full(struct side *s)
{
	s->is_writable = false;
	return loop_mod_fd(&s->w, s->w.events | EPOLLOUT);
}

/*
 * Return: bytes written, 0 when there's no room now, negative errno. A short
 * one means that the room is used up.
 */
static ssize_t write_some(struct flow *f, enum flow_side from,
			  const uint8_t *data, size_t len)
{
	struct side *to = sink(f, from);
	ssize_t n = send(to->w.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	int r;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	if (n < 0)
		n = 0;
	f->half[from].bytes += (uint64_t)n;
	if ((size_t)n < len) {
		r = sink_is_full(to);
		if (r < 0)
			return r;
	}
	return n;
}

static void stash_free(struct flow *f, struct half *h)
{
	f->relay->stash_bytes -= h->stash_len;
	freep(&h->stash);
	h->stash_at = h->stash_len = 0;
}

static int stash_put(struct flow *f, struct half *h, const uint8_t *data,
		     size_t len)
{
	h->stash = malloc(len);
	if (!h->stash)
		return -ENOMEM;
	memcpy(h->stash, data, len);
	h->stash_at = 0;
	h->stash_len = (uint32_t)len;
	f->relay->stash_bytes += len;
	return 0;
}

static int flush_stash(struct flow *f, enum flow_side from)
{
	struct half *h = &f->half[from];
	ssize_t n = write_some(f, from, h->stash + h->stash_at,
			       h->stash_len - h->stash_at);

	if (n < 0)
		return (int)n;
	h->stash_at += (uint32_t)n;
	if (h->stash_at == h->stash_len)
		stash_free(f, h);
	return 0;
}

static int flush_pipe(struct flow *f, enum flow_side from)
{
	struct half *h = &f->half[from];
	struct side *to = sink(f, from);

	while (h->pipe->len > 0) {
		ssize_t n =
			splice(h->pipe->read_fd, NULL, to->w.fd, NULL,
			       h->pipe->len, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0 && errno == EAGAIN)
			return sink_is_full(to);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		h->pipe->len -= (uint32_t)n;
		h->bytes += (uint64_t)n;
	}
	return 0;
}

static bool half_holds(const struct half *h)
{
	return h->stash || (h->pipe && h->pipe->len > 0);
}

static int flush(struct flow *f, enum flow_side from)
{
	struct half *h = &f->half[from];

	if (!half_holds(h) || !sink(f, from)->is_writable)
		return 0;
	return h->stash ? flush_stash(f, from) : flush_pipe(f, from);
}

static void saw_end(struct flow *f, enum flow_side from)
{
	f->half[from].is_eof = true;
	source(f, from)->is_readable = false;
}

/* A read gave @n of @len bytes: is there more behind them? */
static void note_read(struct flow *f, enum flow_side from, size_t n, size_t len)
{
	struct side *s = source(f, from);
	struct half *h = &f->half[from];

	h->n_full = n >= BULK_READ ? h->n_full + 1 : 0;
	if (h->n_full >= BULK_AFTER) {
		h->is_bulk = !s->has_urgent;
		h->n_full = 0;
	}
	if (n < len && !s->has_hup && !s->has_urgent)
		s->is_readable = false;
}

/* No stash is to be had: look, send, and take only what was sent. */
static ssize_t copy_peeked(struct flow *f, enum flow_side from, size_t n)
{
	ssize_t sent = write_some(f, from, f->relay->scratch, n);

	if (sent <= 0)
		return sent;
	/* With MSG_TRUNC TCP discards them; they are there, we saw them. */
	if (recv(source(f, from)->w.fd, f->relay->scratch, (size_t)sent,
		 MSG_DONTWAIT | MSG_TRUNC) != sent)
		return -EIO;
	return sent;
}

static ssize_t copy_stashing(struct flow *f, enum flow_side from, size_t n)
{
	ssize_t sent = write_some(f, from, f->relay->scratch, n);
	int r;

	if (sent < 0 || (size_t)sent == n)
		return sent;
	r = stash_put(f, &f->half[from], f->relay->scratch + sent,
		      n - (size_t)sent);
	return r < 0 ? r : (ssize_t)n;
}

/* Return: bytes read, 0 when there are none or the end came, or an error. */
static ssize_t copy(struct flow *f, enum flow_side from)
{
	struct side *s = source(f, from);
	bool peek = f->relay->stash_bytes + RELAY_SCRATCH > STASH_MAX;
	ssize_t n = recv(s->w.fd, f->relay->scratch, RELAY_SCRATCH,
			 MSG_DONTWAIT | (peek ? MSG_PEEK : 0));

	if (n < 0) {
		if (errno != EAGAIN)
			return errno == EINTR ? 0 : -errno;
		s->is_readable = false;
		return 0;
	}
	if (n == 0) {
		saw_end(f, from);
		return 0;
	}
	/* A peeked read says nothing of what is behind what it takes. */
	if (peek)
		return copy_peeked(f, from, (size_t)n);
	note_read(f, from, (size_t)n, RELAY_SCRATCH);
	return copy_stashing(f, from, (size_t)n);
}

/* As copy(); flushes too. */
static ssize_t move(struct flow *f, enum flow_side from)
{
	struct side *s = source(f, from);
	struct half *h = &f->half[from];
	ssize_t n = splice(s->w.fd, NULL, h->pipe->write_fd, NULL,
			   h->pipe->room, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	int r;

	if (n < 0 && errno != EAGAIN)
		return -errno;
	if (n < 0) {
		/* The pipe was empty, so it's the socket that would block. */
		s->is_readable = s->has_hup || s->has_urgent;
		h->is_bulk = !s->is_readable;
		return 0;
	}
	if (n == 0) {
		/* An end, or a stall at an urgent mark: recv() tells. */
		h->is_bulk = false;
		return 0;
	}
	h->pipe->len = (uint32_t)n;
	r = flush_pipe(f, from);
	return r < 0 ? r : n;
}

static ssize_t move_or_copy(struct flow *f, enum flow_side from)
{
	struct half *h = &f->half[from];

	if (h->is_bulk && !source(f, from)->has_urgent && !h->pipe)
		h->pipe = pipes_borrow(&f->relay->pipes);
	return h->is_bulk && h->pipe ? move(f, from) : copy(f, from);
}

/* Reads and writes until something would block. */
static int run(struct flow *f, enum flow_side from, size_t *ret_bytes)
{
	struct half *h = &f->half[from];
	size_t bytes = 0;
	int rounds = 0;
	int r = flush(f, from);

	while (r == 0 && !half_holds(h) && source(f, from)->is_readable &&
	       sink(f, from)->is_writable && rounds++ < ROUNDS_MAX &&
	       bytes < BYTES_MAX) {
		ssize_t n = move_or_copy(f, from);

		if (n < 0)
			r = (int)n;
		else
			bytes += (size_t)n;
	}
	*ret_bytes = bytes;
	return r;
}

/* The second end is passed on by closing both sockets, see pump_run(). */
static int pass_end(struct flow *f, enum flow_side from)
{
	enum flow_side to = from == FLOW_CLIENT ? FLOW_SERVER : FLOW_CLIENT;

	if (!f->half[to].is_done && shutdown(f->side[to].w.fd, SHUT_WR) < 0)
		return -errno;
	f->half[from].is_done = true;
	return HALF_DONE;
}

int half_run(struct flow *f, enum flow_side from)
{
	struct half *h = &f->half[from];
	struct side *s = source(f, from);
	size_t bytes;
	int r;

	if (h->is_done)
		return HALF_DONE;
	if (from == FLOW_CLIENT && f->stage == FLOW_STAGE_FRESH)
		return HALF_WAIT;
	r = run(f, from, &bytes);
	if (r < 0)
		return r;
	if (half_holds(h))
		return HALF_WAIT;
	if (h->pipe) {
		pipes_return(&f->relay->pipes, h->pipe);
		h->pipe = NULL;
	}
	if (h->is_eof)
		return pass_end(f, from);
	if (s->is_readable && sink(f, from)->is_writable)
		return HALF_MORE;
	if (bytes < BULK_MIN)
		h->is_bulk = false;
	return HALF_WAIT;
}

void half_drop(struct flow *f, enum flow_side from)
{
	struct half *h = &f->half[from];

	if (h->stash)
		stash_free(f, h);
	if (h->pipe)
		pipes_return(&f->relay->pipes, h->pipe);
	h->pipe = NULL;
}
