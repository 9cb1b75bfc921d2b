/* SPDX-License-Identifier: MIT */
/*
 * child: this command run again in a process of its own, for what may crash,
 * hang or leave threads behind: drivers. What it finds it writes as records to
 * a pipe; what it and the drivers say besides is kept apart. It is in a session
 * of its own, ends with this process, and is ended when its time is up.
 */
#ifndef TOOLS_CHILD_H
#define TOOLS_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"

/* The descriptor that a child writes its records to. */
#define CHILD_RECORDS_FD 3

struct child_variable {
	const char *name;
	const char *value;	/* NULL: unset */
};

struct child {
	char *const *arguments;			/* argv, NULL-terminated */
	const struct child_variable *variables;	/* ended by one without a name; NULL: none */
	const char *directory;			/* where it works; NULL: here */
	bool layers;				/* both layers on, as ckcache run has them */
	uint64_t timeout_ns;
};

enum child_end {
	CHILD_EXITED,		/* code: its exit code */
	CHILD_LEFT,		/* the same, in the middle of its work: for who knows that */
	CHILD_SIGNALLED,	/* code: the signal */
	CHILD_TIMED_OUT,	/* it was killed */
	CHILD_STUCK,		/* it was killed and does not end */
	CHILD_INTERRUPTED,	/* a signal asked this process to end: code; the child was killed */
	CHILD_FAILED,		/* it could not be started; code: errno */
};

struct child_result {
	enum child_end end;
	int code;
	struct cmn_buffer records;	/* lines; at most 256 KiB */
	struct cmn_buffer said;		/* the first 16 KiB of its stdout and stderr */
};

/*
 * Blocks the signals that child_run waits for, once, before the first one; and
 * SIGPIPE, so that a reader who leaves does not keep the caller from clearing
 * up. child_over lets that one come.
 */
void child_begin(void);
void child_over(void);
/* Runs it to its end. *ret_result is the caller's to release. */
void child_run(const struct child *child, struct child_result *ret_result);
void child_result_release(struct child_result *result);
/* Ends this process by a signal that it waited for, or that its child ended by. Returns if that does not end it. */
void child_end_by(int number);

#endif
