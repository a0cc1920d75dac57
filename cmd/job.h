/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job.h - a process of ours in the terminal, in front of a sandboxed command
 */
#ifndef EGRET_CMD_JOB_H
#define EGRET_CMD_JOB_H

#include <sys/types.h>

struct command_config;
struct err;

struct job {
	int signal_fd;	/* signals that the process has, all blocked */
	int tty_fd;	/* terminal, or -1 */
	pid_t tty_pgrp; /* its foreground group at the start */
};

#define JOB_INIT          \
	{                 \
		-1, -1, 0 \
	}

/**
 * job_start() - block signals and note how things were
 * @ret: mask, SIGPIPE and limit of descriptors as the command shall have them
 */
int job_start(struct job *j, struct command_config *ret, struct err *err);

/**
 * job_read_signal() - the next of @signal_fd
 *
 * Return: SIGCHLD or a signal that the command must get; 0 for none.
 */
int job_read_signal(const struct job *j);

/** job_stop() - the command stopped, and so does this process */
void job_stop(void);

/** job_close() - in a child: let go of the descriptors, put nothing back */
void job_close(struct job *j);

/** job_end() - put the terminal's foreground group back */
void job_end(struct job *j);

#endif /* EGRET_CMD_JOB_H */
