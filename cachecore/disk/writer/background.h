/* SPDX-License-Identifier: MIT */
/*
 * background: starts the process that builds recipes while nobody waits (`ckcache replay --background`),
 * by ckcache-remote, as uploads are started: it is no child of the application, and nothing of it is
 * open here when the call returns.
 *
 * One runs for each root: it holds background.lock in the recipes' directory, which is taken
 * here and handed over, so that of many processes that leave recipes at once one starts it.
 */
#ifndef CACHECORE_DISK_WRITER_BACKGROUND_H
#define CACHECORE_DISK_WRITER_BACKGROUND_H

#include <stdatomic.h>
#include <stdint.h>

#include "cachecore/config.h"

/*
 * So long the process waits for more after all is built, and so often a program tries at most to start one:
 * what is left after that finds none and is due, what is left before is seen.
 */
#define CC_BACKGROUND_LINGER_S 10

/* Of a process; {0}: none was started yet. Thread-safe. */
struct cc_background {
	atomic_uint_least64_t started;	/* monotonic */
};

/*
 * After a recipe was left in the root; best effort, within milliseconds. Does nothing in a privileged
 * program, where system calls are forbidden (seccomp) that process 1 may make, or that is process 1's
 * program, in a worker, where the user may have few processes (RLIMIT_NPROC), where the setting `replay` is
 * off, and shortly after another try.
 */
void cc_background_start(struct cc_background *background, const struct cc_config *config, const char *root);

#endif
