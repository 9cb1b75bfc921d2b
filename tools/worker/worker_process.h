/* SPDX-License-Identifier: MIT */
/*
 * worker_process: starts workers, which are this command in processes of their own (worker_main.c), and
 * waits for those that do all they do at once. Whatever a driver does in one, it ends in its time
 * (tools/run/child.h). After child_begin; one thread.
 */
#ifndef TOOLS_WORKER_WORKER_PROCESS_H
#define TOOLS_WORKER_WORKER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "tools/run/child.h"
#include "tools/worker/confine.h"

#define WORKER_VERB "worker"

struct worker_variable {
	const char *name;
	const char *value;	/* NULL: unset */
};
/* With these the layers store whatever is built, at once, whatever else is set for applications. */
#define WORKER_STORES                                                             \
	{ "CKCACHE_CAPTURE", "eager" }, { "CKCACHE_DISABLE", "0" },               \
	{ "CKCACHE_PERSISTENT", "1" }, { "CKCACHE_READ_ONLY", "0" },              \
	{ "CKCACHE_READ_ONLY_DIRS", "" }
/* The same, whatever its size. */
#define WORKER_STORES_ALL                                                         \
	WORKER_STORES, { "CKCACHE_MIN_DEVICE_IMAGE_SIZE", "0" },                  \
	{ "CKCACHE_MAX_DEVICE_IMAGE_SIZE", "" }, { "CKCACHE_MAX_SIZE", "0" }
/* false: out of memory. */
bool worker_set_variables(const struct worker_variable *variables);

struct worker_start {
	const char *const *arguments;	/* what it is to do, NULL-terminated */
	char **environment;		/* NULL: this process's */
	const struct worker_variable *variables;	/* over that; ended by one without a name; NULL: none */
	const char *directory;		/* where it works; NULL: here */
	bool layers;			/* both layers on, as ckcache run has them */
	bool level_zero;		/* that one on */
	bool idle;			/* its session has the lowest priority, as this process has (idle.h) */
	const struct confine *confine;	/* NULL: it may do what the user may */
	uint64_t timeout_ns;
};

/*
 * Starts it; *ret_channel is the caller's to close: each message is a record (channel.h). What it prints
 * goes to said, below 0: nowhere. false: errno.
 */
bool worker_start(const struct worker_start *start, int said, struct child *child, int *ret_channel);

enum worker_end {
	WORKER_EXITED,		/* code: its exit code */
	WORKER_LEFT,		/* the same, in the middle of its work: for who knows that */
	WORKER_SIGNALLED,	/* code: the signal */
	WORKER_TIMED_OUT,	/* it was killed */
	WORKER_STUCK,		/* it was killed and does not end */
	WORKER_INTERRUPTED,	/* a signal asked this process to end: code; the worker was killed */
	WORKER_UNSTARTED,	/* code: errno */
};

struct worker_result {
	enum worker_end end;
	int code;
	struct cmn_buffer records;	/* lines; at most 256 KiB */
	struct cmn_buffer said;		/* the first 16 KiB of its stdout and stderr */
};

/* Runs one that gets nothing to its end. *ret_result is the caller's to release. */
void worker_run(const struct worker_start *start, struct worker_result *ret_result);
void worker_result_release(struct worker_result *result);

#endif
