/* SPDX-License-Identifier: MIT */
/*
 * sweep: which calls are to fail, how, and the runs of all that in several
 * processes. CKCACHE_FAULT_FULL=1 tries everything, CKCACHE_FAULT_JOBS says in
 * how many processes (2).
 */
#ifndef TESTS_FAULT_SWEEP_H
#define TESTS_FAULT_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/fault/fault.h"

enum { SWEEP_MAX_JOBS = 64 };

/* How much of what was counted is tried. */
enum sweep_plan {
	SWEEP_ALL,	/* each point in each way */
	SWEEP_SITES,	/* the first and last point of each place in the code, in ways that take turns */
};

/* Runs the program again under the interposer, unless this is that; *ret_control is its block. */
void sweep_begin(char **argv, const char *objects, struct fault_control **ret_control);
/* Which block the interposer looks at, here and in processes that are forked. */
void sweep_use(struct fault_control *control);
/* Memory that is shared with processes that are forked from now on. */
void *sweep_share(size_t size);
bool sweep_is_full(void);
unsigned int sweep_jobs(void);

/* The task of a counted point, but for the way in which it fails. */
struct fault_task sweep_task(const struct fault_control *counted, size_t at);
/* The tasks for what a run without faults has counted, the caller's to free. */
size_t sweep_make_plan(const struct fault_control *counted, enum sweep_plan plan,
		       struct fault_task **ret);

/*
 * Calls try for each task, in worker processes, with the worker's number; it
 * returns NULL or says what was wrong. The count of tasks that were wrong; they
 * are shown.
 */
typedef const char *(*sweep_try_fn)(void *ctx, unsigned int worker, const struct fault_task *task);
unsigned int sweep_run(const char *name, const struct fault_task *tasks, size_t count,
		       sweep_try_fn try, void *ctx);

/* The totals of all sweeps of this process, printed at its end. */
void sweep_count(size_t points, size_t runs);
void sweep_print(const char *name);

/* Copies a tree of files and directories with their modes. */
void sweep_copy(const char *from, const char *to);

#endif
