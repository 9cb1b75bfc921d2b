/* SPDX-License-Identifier: MIT */
/*
 * children: what a process that a driver forks during a build tells the build's thread: the program that
 * it runs. A child has no part in its parent's memory, so it writes that into a pipe, just before; this is
 * open until the build's thread has waited for the child, and in the child until it does anything else.
 */
#ifndef SHARED_OBSERVER_CHILDREN_H
#define SHARED_OBSERVER_CHILDREN_H

#include <stdbool.h>

#include "layers/shared/driver/drivers.h"

enum {
	DRV_RUN_TEXT = 16384,	/* bytes of all arguments: llvm-spirv has 2 kB */
	DRV_RUN_ARGUMENTS = 256,
};

/* How a program is run. */
struct drv_run {
	const char *path;
	char *const *arguments;
};

/* The same as it was told; path and arguments are in it. */
struct drv_told_run {
	struct drv_run run;
	char *arguments[DRV_RUN_ARGUMENTS + 1];
	char text[DRV_RUN_TEXT];
};

/* In the child, after the fork. Takes the pipe; what the driver's environment says is compared. */
void drv_child_enter(const int ends[2], const struct drv_driver *driver);
/* Before it runs a program. false: this thread is in no such child. */
bool drv_child_runs(const struct drv_run *run, char *const environment[]);
/*
 * It does something that nobody follows: it has told nothing, and has a life of its own. Whether this thread
 * was in one. Leaves errno alone.
 */
bool drv_child_leave(void);

/* In the parent, once the child has ended: what it ran, if it did only that. Allocates *ret. NULL: unknown. */
struct drv_told_run *drv_child_told(int told);

#endif
