/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - refusals as lines for people: repeats become one line with a count
 *
 * The first refusal of a kind is printed at once. The same (what, who, why)
 * within REPORT_WINDOW_MS is only counted, and the count is printed when the
 * window ends. Who is a process, or several of one name, in whose first one's
 * name they are counted. The table is bounded; when it is full, further kinds
 * are counted together. Runs in the front.
 */
#ifndef EGRET_GATEWAY_REPORT_H
#define EGRET_GATEWAY_REPORT_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct event;
struct loop;
struct report;

#define REPORT_WINDOW_MS 10000U
#define REPORT_KINDS_MAX 512 /* remembered at once */
#define REPORT_LINES_MAX                                    \
	50 /* new kinds printed in one window; then counted \
	    */

typedef void report_line_fn(void *ctx, const char *line);

/**
 * report_new()
 * @sandbox: id for the "to allow" part, copied
 * @print:   gets each line, without "egret: " and newline
 */
int report_new(struct report **ret, struct loop *loop, const char *sandbox,
	       report_line_fn *print, void *ctx, struct err *err);

/** report_free() - prints the counts that are still open */
void report_free(struct report *r);
void report_freep(struct report **r);

/** report_refused() - count one refusal, print it if it's the first */
void report_refused(struct report *r, const struct event *e);

/** report_n_refused() - all so far */
uint64_t report_n_refused(const struct report *r);

#endif /* EGRET_GATEWAY_REPORT_H */
