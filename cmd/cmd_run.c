/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_run.c - egret run: from the command line to a front
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/parse.h"
#include "cmd/advice.h"
#include "cmd/cmd.h"
#include "cmd/environment.h"
#include "cmd/front.h"
#include "cmd/options.h"
#include "cmd/rundir.h"
#include "gateway/presetdir.h"
#include "netns/idmap.h"
#include "netns/layout.h"
#include "netns/stdio.h"
#include "policy/policy.h"
#include "policy/preset.h"

#define KEEP_FDS_MAX	 60
#define HIDDEN_MAX	 8
#define COMMAND_TEXT_MAX 256 /* of the command line, for `egret ps` */

struct run_options {
	const char *project, *allowlist, *events;
	struct option_list allow, deny, keep_fd, socket, env;
	bool root, quiet, fail_on_refused, clear_env;
};

#define OPT(m) offsetof(struct run_options, m)

static const struct option_spec specs[] = {
	{ "project", 'p', OPTION_STRING, "NAME",
	  "use the project's allowlist, made at its first use", OPT(project) },
	{ "allow", 'a', OPTION_LIST, "ENTRY", "allow this too (repeatable)",
	  OPT(allow) },
	{ "deny", 'd', OPTION_LIST, "ENTRY",
	  "deny this, whatever allows it (repeatable)", OPT(deny) },
	{ "allowlist", 0, OPTION_STRING, "FILE", "use this file as allowlist",
	  OPT(allowlist) },
	{ "root", 0, OPTION_FLAG, NULL, "be root inside", OPT(root) },
	{ "events", 0, OPTION_STRING, "FILE",
	  "append what happens to FILE, a JSON object a line", OPT(events) },
	{ "fail-on-refused", 0, OPTION_FLAG, NULL,
	  "exit with 123 when something was refused", OPT(fail_on_refused) },
	{ "quiet", 'q', OPTION_FLAG, NULL, "print no refusals", OPT(quiet) },
	{ "keep-fd", 0, OPTION_LIST, "N",
	  "let the command inherit descriptor N (repeatable)", OPT(keep_fd) },
	{ "socket", 0, OPTION_LIST, "PATH",
	  "leave this Unix socket reachable (repeatable)", OPT(socket) },
	{ "env", 0, OPTION_LIST, "NAME[=VALUE]",
	  "set a variable, or keep it with --clear-env", OPT(env) },
	{ "clear-env", 0, OPTION_FLAG, NULL,
	  "start with an almost empty environment", OPT(clear_env) },
};

/* What lives as long as the run; everything is released by run_done(). */
struct run {
	struct run_options opt;
	struct front_config front;
	struct policyfile_sources sources;
	struct preset_set *presets;
	struct rundir rundir;
	struct environment env;
	char resolv_conf[128];
	char hosts[256 + HOST_NAME_MAX];
	int keep_fds[KEEP_FDS_MAX];
	char *sockets[OPTION_VALUES_MAX];
	size_t n_sockets;
	char config_dir[PATH_MAX];
	const char *hidden[HIDDEN_MAX];
	char **host_sockets;
	size_t n_host_sockets;
	char control_path[PATH_MAX];
	char command[COMMAND_TEXT_MAX];
};

static void run_done(struct run *run)
{
	size_t i;

	options_done(specs, ARRAY_SIZE(specs), &run->opt);
	for (i = 0; i < run->sources.n_files; i++)
		free(run->sources.files[i].path);
	preset_set_freep(&run->presets);
	for (i = 0; i < run->n_sockets; i++)
		free(run->sockets[i]);
	mounts_free_paths(run->host_sockets, run->n_host_sockets);
	environment_done(&run->env);
	rundir_remove(&run->rundir);
	fd_closep(&run->front.events_fd);
}

static void print_usage(const struct cmd *self)
{
	(void)printf("usage: egret %s %s\n\n"
		     "Runs COMMAND with a network in which only the allowlist "
		     "exists.\n\n",
		     self->name, self->args);
	options_help(specs, ARRAY_SIZE(specs));
	(void)printf("\nAn entry is a name (example.org), a wildcard "
		     "(*.example.org), an address or a\nnetwork; :PORT "
		     "replaces the default ports 443 and 80; ! in front "
		     "denies.\n\n"
		     "Exit status: the command's (128+N for signal N); 125 "
		     "when egret itself failed;\n126 and 127 when the command "
		     "can't be executed or isn't there.\n");
}

/* ---- allowlist ---- */

static int add_source(struct run *run, const char *path, bool must_exist,
		      bool is_safe, struct err *err)
{
	struct policyfile_sources *s = &run->sources;
	struct policyfile *f = &s->files[s->n_files];

	f->path = strdup(path);
	if (!f->path)
		return err_set(err, -ENOMEM, "out of memory");
	f->must_exist = must_exist;
	f->is_safe = is_safe;
	f->dir_fd = -1;
	s->n_files++;
	return 0;
}

/* Can the command, which has the user's rights, put files into the directory
   of this one? */
static bool is_out_of_reach(const char *path)
{
	char copy[PATH_MAX];
	struct stat st;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	(void)dirname(copy);
	return geteuid() != 0 && stat(copy, &st) == 0 &&
	       st.st_uid != geteuid() && access(copy, W_OK) < 0;
}

/* A project's file is hidden with the directory of all, unless a symbolic link
   leads out of that; also where --allowlist names it. */
static bool is_hidden_with_config(const struct run *run, const char *path)
{
	_cleanup_(freep) char *config = realpath(run->config_dir, NULL);
	_cleanup_(freep) char *dir = NULL;
	char copy[PATH_MAX];
	size_t len;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	dir = realpath(dirname(copy), NULL);
	if (!config || !dir)
		return false;
	len = strlen(config);
	return !strncmp(dir, config, len) && (!dir[len] || dir[len] == '/');
}

/* An absolute path that isn't resolved: a link may be swapped later. */
static int absolute(const char *path, char *dst, size_t size, struct err *err)
{
	char cwd[PATH_MAX];
	int n;

	if (path[0] == '/') {
		n = snprintf(dst, size, "%s", path);
	} else {
		if (!getcwd(cwd, sizeof(cwd)))
			return err_set_errno(err, -errno,
					     "cannot tell the working "
					     "directory");
		n = snprintf(dst, size, "%s/%s", cwd, path);
	}
	if (n < 0 || (size_t)n >= size)
		return err_set(err, -ENAMETOOLONG, "the path '%s' is too long",
			       path);
	return 0;
}

static int choose_list(struct run *run, struct err *err)
{
	const struct run_options *o = &run->opt;
	char path[PATH_MAX];
	bool is_safe = true;
	int r;

	if (o->project && o->allowlist)
		return err_set(err, -EINVAL,
			       "--project and --allowlist exclude each other");
	if (!o->project && !o->allowlist) {
		r = rundir_own_list(&run->rundir, path, sizeof(path), err);
		return r < 0 ? r : add_source(run, path, true, true, err);
	}
	if (o->project) {
		r = rundir_project_list(o->project, path, sizeof(path), err);
		is_safe = r == 0 && is_hidden_with_config(run, path);
	} else {
		r = absolute(o->allowlist, path, sizeof(path), err);
		is_safe = r == 0 && (is_out_of_reach(path) ||
				     is_hidden_with_config(run, path));
	}
	if (r == 0)
		r = add_source(run, path, true, is_safe, err);
	if (r == 0)
		r = rundir_link_list(&run->rundir, path, err);
	return r;
}

static int choose_sources(struct run *run, struct err *err)
{
	char path[PATH_MAX + 16];
	int r;

	run->sources.allow = run->opt.allow.v;
	run->sources.n_allow = run->opt.allow.n;
	run->sources.deny = run->opt.deny.v;
	run->sources.n_deny = run->opt.deny.n;
	/* Real root inside could make it; where egret can't, neither can that.
	 */
	if (geteuid() == 0)
		(void)mkdir("/etc/egret", 0755);
	r = add_source(run, "/etc/egret/always.hosts", false, true, err);
	if (r < 0)
		return r;
	/* Made if need be: a hidden directory is one that the command can't
	   make for the next run to read. */
	if (rundir_make_config(run->config_dir, sizeof(run->config_dir),
			       NULL) == 0) {
		(void)snprintf(path, sizeof(path), "%s/always.hosts",
			       run->config_dir);
		r = add_source(run, path, false, true, err);
		if (r < 0)
			return r;
	} else {
		run->config_dir[0] = '\0';
	}
	r = presetdir_load(run->config_dir, &run->presets, err);
	run->sources.presets = run->presets;
	return r < 0 ? r : choose_list(run, err);
}

static void on_policy_error(void *ctx, const char *line)
{
	(void)ctx;
	log_err("%s", line);
}

static int check_policy(const struct run *run, struct err *err)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	int r;

	r = policyfile_load(&run->sources, &p, on_policy_error, NULL);
	if (r < 0)
		return err_set(err, r,
			       "nothing was started; mend the "
			       "allowlist and try again");
	if (!run->opt.quiet)
		advice_print(p);
	return 0;
}

/* ---- descriptors, sockets, masks ---- */

static int choose_keep_fds(struct run *run, struct err *err)
{
	const struct option_list *l = &run->opt.keep_fd;
	uint32_t fd = 0;
	size_t i;
	int r;

	if (l->n > KEEP_FDS_MAX)
		return err_set(err, -E2BIG, "at most %d --keep-fd can be given",
			       KEEP_FDS_MAX);
	for (i = 0; i < l->n; i++) {
		r = parse_u32(l->v[i], strlen(l->v[i]), &fd);
		if (r < 0 || fd > INT_MAX)
			return err_set(err, -EINVAL,
				       "--keep-fd wants the number of an open "
				       "descriptor, not '%s'",
				       l->v[i]);
		r = fd <= 2 ? 0 : stdio_check_keep_fd((int)fd, err);
		if (r < 0)
			return r;
		if (fd > 2)
			run->keep_fds[run->front.init.command.n_keep_fds++] =
				(int)fd;
	}
	run->front.init.command.keep_fds = run->keep_fds;
	return 0;
}

/* Whatever else was inherited ends here: neither gateway nor command may have
   it. */
static int close_inherited(const struct run *run, struct err *err)
{
	return stdio_close_others(run->keep_fds,
				  run->front.init.command.n_keep_fds, err);
}

static int choose_sockets(struct run *run, struct err *err)
{
	const struct option_list *l = &run->opt.socket;
	size_t i;

	for (i = 0; i < l->n; i++) {
		run->sockets[i] = realpath(l->v[i], NULL);
		if (!run->sockets[i])
			return err_set_errno(err, -errno,
					     "--socket %s can't be used",
					     l->v[i]);
		run->n_sockets++;
	}
	run->front.init.mounts.sockets = (const char *const *)run->sockets;
	run->front.init.mounts.n_sockets = run->n_sockets;
	return 0;
}

static void hide(struct run *run, const char *path)
{
	struct mounts_config *m = &run->front.init.mounts;

	if (path[0])
		run->hidden[m->n_hidden++] = path;
}

/* Names of the host's own file are answered by the resolver, if allowed. */
static void write_hosts(struct run *run)
{
	char name[HOST_NAME_MAX + 1] = "localhost";

	(void)gethostname(name, sizeof(name) - 1);
	(void)snprintf(run->hosts, sizeof(run->hosts),
		       "# written by egret: names of the host's file are "
		       "answered by its resolver\n"
		       "127.0.0.1 localhost\n"
		       "::1 localhost ip6-localhost ip6-loopback\n"
		       "127.0.1.1 %s\n",
		       name);
}

static int choose_masks(struct run *run, struct err *err)
{
	struct mounts_config *m = &run->front.init.mounts;
	size_t i;

	(void)snprintf(run->resolv_conf, sizeof(run->resolv_conf),
		       "# written by egret: the sandbox's only resolver\n"
		       "nameserver %s\noptions edns0\n",
		       LAYOUT_GW_ADDR4);
	m->resolv_conf = run->resolv_conf;
	write_hosts(run);
	m->hosts = run->hosts;
	m->kuid_is_root = geteuid() == 0;
	m->hidden = run->hidden;
	m->runtime_dir = run->rundir.base;
	hide(run, run->config_dir);
	hide(run, "/etc/egret");
	for (i = 0; i < run->sources.n_files; i++)
		hide(run, run->sources.files[i].path);
	return mounts_collect_sockets(&run->host_sockets, &run->n_host_sockets,
				      err);
}

static int open_events(struct run *run, struct err *err)
{
	const char *path = run->opt.events;

	if (!path)
		return 0;
	run->front.events_fd =
		open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY,
		     0600);
	if (run->front.events_fd < 0)
		return err_set_errno(err, -errno, "cannot open %s for events",
				     path);
	run->front.gateway.want_events = true;
	return 0;
}

/* What others are told of this run, and where they ask. */
static int choose_control(struct run *run, char **command, struct err *err)
{
	struct gateway_config *g = &run->front.gateway;
	size_t len = 0;

	for (; *command && len < sizeof(run->command); command++)
		len += (size_t)snprintf(run->command + len,
					sizeof(run->command) - len, "%s%s",
					len ? " " : "", *command);
	g->id = run->rundir.id;
	g->command = run->command;
	g->control_path = run->control_path;
	g->list = run->sources.files[run->sources.n_files - 1].path;
	return rundir_socket(run->rundir.id, run->control_path,
			     sizeof(run->control_path), err);
}

static int prepare(struct run *run, char **command, struct err *err)
{
	struct front_config *f = &run->front;
	int r;

	r = choose_keep_fds(run, err);
	if (r == 0)
		r = close_inherited(run, err);
	if (r == 0)
		r = rundir_create(&run->rundir, run->opt.project, err);
	if (r == 0)
		r = choose_sources(run, err);
	if (r == 0)
		r = check_policy(run, err);
	if (r == 0)
		r = choose_sockets(run, err);
	if (r == 0)
		r = choose_masks(run, err);
	if (r == 0)
		r = open_events(run, err);
	if (r == 0)
		r = environment_build(&run->env, run->rundir.id,
				      run->opt.clear_env, run->opt.env.v,
				      run->opt.env.n, err);
	if (r == 0)
		r = choose_control(run, command, err);
	if (r < 0)
		return r;
	f->lock_fd = run->rundir.lock_fd;
	f->gateway.sources = &run->sources;
	f->gateway.plumbing.map_whole = idmap_may_write_whole();
	f->init.host_sockets = run->host_sockets;
	f->init.n_host_sockets = run->n_host_sockets;
	f->init.command.argv = command;
	f->init.command.envp = run->env.v;
	f->init.command.as_root = run->opt.root || geteuid() == 0;
	f->quiet = run->opt.quiet;
	f->fail_on_refused = run->opt.fail_on_refused;
	return 0;
}

int cmd_run(const struct cmd *self, int argc, char **argv)
{
	static struct run
		run; /* holds large tables; there is one per process */
	struct err err = { 0 };
	int at, status = CMD_FAILED;

	run.rundir.lock_fd = run.front.events_fd = -1;
	at = options_parse(specs, ARRAY_SIZE(specs), &run.opt, argc, argv,
			   &err);
	if (at == -ECANCELED) {
		print_usage(self);
		options_done(specs, ARRAY_SIZE(specs), &run.opt);
		return CMD_OK;
	}
	if (at < 0 || at >= argc) {
		log_err("%s; try 'egret run --help'",
			at < 0 ? err.msg : "a command to run is missing");
		status = CMD_FAILED;
	} else if (prepare(&run, argv + at, &err) < 0) {
		log_err("%s", err.msg);
	} else {
		status = front_run(&run.front);
	}
	run_done(&run);
	return status;
}
