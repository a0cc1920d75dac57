/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stdio.h - which descriptors the command inherits
 *
 * An inherited network socket would be a way out of the sandbox: it belongs to
 * the host's netns for ever. So 0, 1 and 2 are replaced by socketpairs or pipes
 * that the front copies when they are sockets other than connected AF_UNIX
 * stream ones, and everything above is closed but the checked --keep-fd.
 */
#ifndef EGRET_NETNS_STDIO_H
#define EGRET_NETNS_STDIO_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct loop;
struct stdio_copy;

/**
 * stdio_check_keep_fd() - may the command inherit @fd
 *
 * Allowed is what is known to be harmless: files (but the kernel's own, as in
 * /proc), pipes, terminals, null and its like, eventfds, connected AF_UNIX
 * stream sockets. Refused: all else, such as network sockets, O_PATH,
 * directories, namespaces, pidfds, tun.
 */
int stdio_check_keep_fd(int fd, struct err *err);

/**
 * stdio_check_inherited() - may descriptor 0, 1 or 2 be given to the command
 *
 * A directory is a way beneath the masks, and so is what O_PATH opened; other
 * refused ones are namespaces and pidfds. Closed is fine.
 */
int stdio_check_inherited(int fd, struct err *err);

/**
 * stdio_needs_copy() - is descriptor 0, 1 or 2 one that must not be inherited
 */
bool stdio_needs_copy(int fd);

/**
 * stdio_copy_new() - replace the unsafe ones among 0..2
 * @ret_fds: what the command shall have as 0..2; equal to 0..2 where nothing
 *           was replaced, otherwise new descriptors (owned by the caller, who
 *           closes them after the fork)
 *
 * The copying goes on in @loop until both ends are finished. Listening, netlink
 * and raw sockets can't be copied: -EOPNOTSUPP.
 */
int stdio_copy_new(struct stdio_copy **ret, struct loop *loop, int ret_fds[3],
		   struct err *err);
/**
 * stdio_copy_drain() - pass on what the command wrote before it ended; blocks
 * while a reader takes it, and gives up on one that takes nothing for 2 s
 */
void stdio_copy_drain(struct stdio_copy *c);
void stdio_copy_free(struct stdio_copy *c);
void stdio_copy_freep(struct stdio_copy **c);

/**
 * stdio_close_others() - in the child before exec: close every descriptor but
 * 0..2 and @keep (made inheritable)
 */
int stdio_close_others(const int *keep, size_t n_keep, struct err *err);

#endif /* EGRET_NETNS_STDIO_H */
