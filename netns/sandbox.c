/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandbox.c - the gateway's side of init's set-up, see init.c for the stages */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "netns/init.h"
#include "netns/nsset.h"
#include "netns/sandbox.h"

#define SENTENCE_ESCAPED_MAX 400

int sandbox_enter_u1(struct err *err)
{
	int code;

	if (unshare(CLONE_NEWUSER) == 0)
		return 0;
	code = -errno;
	switch (-code) {
	case EPERM:
	case EACCES:
		return err_set(err, code,
			       "this system doesn't let you make user "
			       "namespaces (%s; see the sysctls "
			       "kernel.unprivileged_userns_clone and "
			       "kernel.apparmor_restrict_unprivileged_userns); "
			       "'egret doctor' tells the remedy",
			       strerror(-code));
	case ENOSPC:
	case EUSERS:
		return err_set(err, code,
			       "no user namespace is left (sysctl "
			       "user.max_user_namespaces, or namespaces nested "
			       "too deeply); 'egret doctor' tells the remedy");
	case EINVAL:
	case ENOSYS:
		return err_set(err, code,
			       "this kernel has no user namespaces "
			       "(CONFIG_USER_NS); 'egret doctor' tells the "
			       "remedy");
	default:
		return err_set_errno(err, code, "cannot make a user namespace");
	}
}

static void close_all(const int *fds, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		(void)close(fds[i]);
}

/* Takes over init's code and sentence, distrusting both. */
static int take_error(struct init_msg *m, struct err *err)
{
	char text[SENTENCE_ESCAPED_MAX];
	int code = m->code < 0 && m->code > -4096 ? m->code : -EIO;

	m->text[sizeof(m->text) - 1] = '\0';
	log_escape(text, sizeof(text), m->text, strlen(m->text));
	return err_set(err, code, "%s", text);
}

int sandbox_recv_inside(int sock, struct nsset *ns, struct err *err)
{
	static const size_t n_wanted = NSSET_MAX - NSSET_INSIDE;
	int fds[IO_FDS_MAX];
	struct init_msg m;
	size_t n_fds = 0;
	ssize_t n;

	_Static_assert(NSSET_MAX - NSSET_INSIDE <= IO_FDS_MAX, "descriptors");
	n = io_recv_fds(sock, &m, sizeof(m), fds, &n_fds);
	if (n < 0)
		return err_set_errno(err, (int)n, "cannot hear the sandbox");
	if (n == 0)
		return err_set(err, -EPIPE,
			       "the sandbox's first process ended during its "
			       "set-up");
	if (n == (ssize_t)sizeof(m) && m.type == INIT_MSG_ERROR && n_fds == 0)
		return take_error(&m, err);
	if (n != (ssize_t)sizeof(m) || m.type != INIT_MSG_INSIDE ||
	    n_fds != n_wanted) {
		close_all(fds, n_fds);
		return err_set(err, -EPROTO,
			       "the sandbox's first process sent something "
			       "else than its namespaces");
	}
	memcpy(&ns->fds[NSSET_INSIDE], fds, n_wanted * sizeof(fds[0]));
	return nsset_check(ns, err);
}

static int send_word(int sock, enum init_msg_type type, struct err *err)
{
	struct init_msg m = { .type = type };
	int r;

	r = io_send_fds(sock, &m, sizeof(m), NULL, 0);
	if (r < 0)
		return err_set_errno(err, r,
				     "cannot reach the sandbox's first "
				     "process");
	return 0;
}

int sandbox_send_mapped(int sock, struct err *err)
{
	return send_word(sock, INIT_MSG_MAPPED, err);
}

int sandbox_send_go(int sock, struct err *err)
{
	return send_word(sock, INIT_MSG_GO, err);
}

int sandbox_recv_error(int sock, struct err *err)
{
	struct init_msg m;
	ssize_t n;

	n = recv(sock, &m, sizeof(m), MSG_DONTWAIT);
	if (n != (ssize_t)sizeof(m) || m.type != INIT_MSG_ERROR)
		return -ENOENT;
	(void)take_error(&m, err);
	return 0;
}
