/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_exec.c - egret exec: a further command in a sandbox that runs
 *
 * The sandbox's gateway gives descriptors of all its namespaces; netns/join.c
 * starts the command in them. What is left here is a front: signals, stops, the
 * terminal, standard streams that are network sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/loop.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/environment.h"
#include "cmd/job.h"
#include "cmd/options.h"
#include "netns/join.h"
#include "netns/nsset.h"
#include "netns/stdio.h"

struct exec_options {
	struct option_list env;
	bool clear_env;
};

static const struct option_spec specs[] = {
	{ "env", 0, OPTION_LIST, "NAME[=VALUE]",
	  "set a variable, or keep it with --clear-env",
	  offsetof(struct exec_options, env) },
	{ "clear-env", 0, OPTION_FLAG, NULL,
	  "start with an almost empty environment",
	  offsetof(struct exec_options, clear_env) },
};

struct exec {
	struct exec_options opt;
	struct join_config join;
	struct nsset ns;
	struct environment env;
	char cwd[PATH_MAX];
	struct job job;
	struct loop *loop;
	struct stdio_copy *copy;
	pid_t pid;
	int pidfd, alive_fd, status_fd;
	int exit_status;
	struct loop_fd end_watch, status_watch, signal_watch;
};

static void exec_done(struct exec *x)
{
	options_done(specs, ARRAY_SIZE(specs), &x->opt);
	loop_del_fd(&x->end_watch);
	loop_del_fd(&x->status_watch);
	loop_del_fd(&x->signal_watch);
	stdio_copy_free(x->copy);
	loop_free(x->loop);
	environment_done(&x->env);
	nsset_close(&x->ns);
	fd_closep(&x->pidfd);
	fd_closep(&x->alive_fd);
	fd_closep(&x->status_fd);
}

static void print_usage(const struct cmd *self)
{
	(void)printf("usage: egret %s %s\n\n"
		     "Runs COMMAND inside the running sandbox TARGET, confined "
		     "as its own command is.\nWhat COMMAND started ends with "
		     "it, and all of it with the sandbox.\n\n",
		     self->name, self->args);
	options_help(specs, ARRAY_SIZE(specs));
	(void)printf("\nExit status: the command's (128+N for signal N); 125 "
		     "when egret itself failed;\n126 and 127 when the command "
		     "can't be executed or isn't there.\n");
}

/* ---- the sandbox ---- */

static int ask_gateway(struct exec *x, const char *id, struct err *err)
{
	_cleanup_(json_decrefp) json_t *reply = NULL;
	_cleanup_(json_decrefp) json_t *request = NULL;
	int fds[IO_FDS_MAX], r;
	size_t n_fds = 0, i;

	request = json_pack("{s:s}", "op", "exec");
	if (!request)
		return err_set(err, -ENOMEM, "out of memory");
	r = client_call_fds(id, request, &reply, fds, &n_fds, err);
	if (r < 0)
		return r;
	if (n_fds != NSSET_MAX) {
		for (i = 0; i < n_fds; i++)
			(void)close(fds[i]);
		return err_set(err, -EPROTO,
			       "the gateway of %s gave no namespaces", id);
	}
	memcpy(x->ns.fds, fds, sizeof(x->ns.fds));
	x->join.command.as_root = json_is_true(json_object_get(reply, "root"));
	return nsset_check(&x->ns, err);
}

/* ---- watchers ---- */

static void on_end(struct loop_fd *w, uint32_t events)
{
	struct exec *x = container_of(w, struct exec, end_watch);
	int status = 0;

	(void)events;
	if (waitpid(x->pid, &status, WNOHANG) <= 0)
		return;
	loop_stop(x->loop, 0);
	if (WIFEXITED(status)) {
		x->exit_status = WEXITSTATUS(status);
		return;
	}
	/* The watcher catches everything else, so it was the end of its pid
	   namespace. */
	log_err("the sandbox has ended, and this command with it");
	x->exit_status = 128 + WTERMSIG(status);
}

static void on_status(struct loop_fd *w, uint32_t events)
{
	struct init_report rep;

	(void)events;
	if (read(w->fd, &rep, sizeof(rep)) == (ssize_t)sizeof(rep))
		job_stop();
	else
		loop_del_fd(w); /* the watcher is gone */
}

static void on_signal(struct loop_fd *w, uint32_t events)
{
	struct exec *x = container_of(w, struct exec, signal_watch);
	int signo = job_read_signal(&x->job);

	(void)events;
	/* The watcher's end is seen by its descriptor. */
	if (signo > 0 && signo != SIGCHLD)
		(void)kill(x->pid, signo);
}

/* ---- life ---- */

struct ends {
	int alive[2];  /* the watcher reads the end of file */
	int status[2]; /* the watcher writes reports */
};

static void ends_close(struct ends *e)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		fd_closep(&e->alive[i]);
		fd_closep(&e->status[i]);
	}
}

static int spawn(struct exec *x, struct err *err)
{
	_cleanup_(ends_close) struct ends e = { { -1, -1 }, { -1, -1 } };
	int own[4], i;

	if (pipe2(e.alive, O_CLOEXEC) < 0 ||
	    pipe2(e.status, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set_errno(err, -errno, "cannot make a pipe");
	own[0] = e.alive[1];
	own[1] = e.status[0];
	own[2] = x->job.signal_fd;
	own[3] = x->job.tty_fd;
	x->join.ns = &x->ns;
	x->join.cwd = x->cwd;
	x->join.alive_fd = e.alive[0];
	x->join.status_fd = e.status[1];
	x->join.close_fds = own;
	x->join.n_close_fds = ARRAY_SIZE(own);
	x->pid = join_spawn(&x->join, err);
	x->join.close_fds = NULL;
	for (i = 0; i < 3; i++)
		if (x->join.command.stdio[i] > 2)
			fd_closep(&x->join.command.stdio[i]);
	if (x->pid < 0)
		return (int)x->pid;
	nsset_close(&x->ns); /* it may end without us */
	x->alive_fd = fd_steal(&e.alive[1]);
	x->status_fd = fd_steal(&e.status[0]);
	x->pidfd = loop_pidfd(x->pid);
	if (x->pidfd < 0)
		return err_set_errno(err, x->pidfd, "cannot watch a process");
	return 0;
}

static int start(struct exec *x, struct err *err)
{
	int r;

	r = job_start(&x->job, &x->join.command, err);
	if (r == 0)
		r = loop_new(&x->loop, err);
	if (r == 0)
		r = stdio_copy_new(&x->copy, x->loop, x->join.command.stdio,
				   err);
	if (r == 0)
		r = spawn(x, err);
	if (r < 0)
		return r;
	r = loop_add_fd(x->loop, &x->end_watch, x->pidfd, EPOLLIN, on_end);
	if (r == 0)
		r = loop_add_fd(x->loop, &x->status_watch, x->status_fd,
				EPOLLIN, on_status);
	if (r == 0)
		r = loop_add_fd(x->loop, &x->signal_watch, x->job.signal_fd,
				EPOLLIN, on_signal);
	if (r < 0)
		return err_set_errno(err, r, "cannot watch the command");
	return 0;
}

static int prepare(struct exec *x, const char *id, struct err *err)
{
	int r;

	if (!rundir_is_name(id))
		return err_set(err, -EINVAL,
			       "'%s' can't be the id of a sandbox", id);
	r = stdio_close_others(NULL, 0, err);
	if (r == 0)
		r = ask_gateway(x, id, err);
	if (r == 0)
		r = environment_build(&x->env, id, x->opt.clear_env,
				      x->opt.env.v, x->opt.env.n, err);
	if (r < 0)
		return r;
	if (!getcwd(x->cwd, sizeof(x->cwd)))
		(void)snprintf(x->cwd, sizeof(x->cwd), "/");
	x->join.command.envp = x->env.v;
	return 0;
}

static int run(struct exec *x)
{
	struct err err = { 0 };
	int r;

	r = start(x, &err);
	if (r < 0)
		log_err("%s", err.msg);
	else if (loop_run(x->loop) < 0)
		log_err("the event loop failed");
	fd_closep(&x->alive_fd); /* the watcher ends by this */
	if (x->copy)
		stdio_copy_drain(x->copy);
	job_end(&x->job);
	return x->exit_status;
}

int cmd_exec(const struct cmd *self, int argc, char **argv)
{
	_cleanup_(exec_done) struct exec x = { .job = JOB_INIT,
					       .pidfd = -1,
					       .alive_fd = -1,
					       .status_fd = -1,
					       .exit_status = CMD_FAILED };
	struct err err = { 0 };
	int at, command;

	nsset_init(&x.ns);
	at = options_parse(specs, ARRAY_SIZE(specs), &x.opt, argc, argv, &err);
	if (at == -ECANCELED) {
		print_usage(self);
		return CMD_OK;
	}
	if (at < 0 || at >= argc) {
		log_err("%s; try 'egret exec --help'",
			at < 0 ? err.msg : "a running sandbox is missing");
		return CMD_FAILED;
	}
	command = at + 1;
	if (command < argc && !strcmp(argv[command], "--"))
		command++;
	if (command >= argc) {
		log_err("a command to run is missing; try 'egret exec --help'");
		return CMD_FAILED;
	}
	x.join.command.argv = argv + command;
	if (prepare(&x, argv[at], &err) < 0) {
		log_err("%s", err.msg);
		return CMD_FAILED;
	}
	return run(&x);
}
