/* SPDX-License-Identifier: MIT */
/*
 * child: starts child processes and waits for them. While it waits, it takes signals one after
 * another, so that no handler runs. A worker is a child for things that may crash, hang or leave
 * threads behind, such as drivers. A command behaves as if it had replaced this process (run.h).
 */
#ifndef TOOLS_RUN_CHILD_H
#define TOOLS_RUN_CHILD_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

struct child {
	char *name;		/* the caller's */
	pid_t pid;		/* 0: none, or it ended */
	uint64_t deadline;	/* monotonic: it is killed then; UINT64_MAX: never */
	uint64_t starved;	/* how long it had waited for a processor when that was set, in ns */
	uint64_t put_off;	/* how much later than at first that is, in ns, ... */
	uint64_t put_off_most;	/* ... and may become */
	bool timed_out;		/* that was done */
	int state;		/* of one that ended or stopped, as from waitpid */
};

enum child_kind {
	CHILD_WORKERS,		/* the signals that ask this process to end are waited for */
	CHILD_COMMAND,		/* all signals are; what stops it is told as its end is */
};
/*
 * Blocks the signals that child_wait waits for, once, before the first child; and SIGPIPE, so that
 * a reader who leaves does not keep the caller from clearing up. child_over lets that one come; after a
 * command, all.
 */
void child_begin(enum child_kind kind);
void child_over(void);
/*
 * As fork, with child->pid; in the child signals are as they were, and it ends with this process.
 * A worker has a session of its own, the signals that end this process, and leaves no core file.
 */
pid_t child_fork(struct child *child);
/*
 * It has so much time from now on. What it waits for a processor does not count, where the kernel
 * tells that, up to twenty times the limit: a worker of low priority on a busy machine is not one that hangs.
 */
void child_limit(struct child *child, uint64_t limit_ns);
/* Kills it, and at its end all of a worker's session; child_wait then waits some seconds for that. */
void child_give_up(struct child *child);
/*
 * The child that ended, stopped, or was given up and is still there (its pid is not 0 then), which
 * is told once. NULL: a signal came, which *ret_signal tells, or, with ssi_signo 0, something is to
 * be read from one of the pipes, at most CHILD_PIPES (an fd below 0 is passed over), as poll says it.
 */
#define CHILD_PIPES 256
struct child *child_wait(struct child *children, size_t count, struct pollfd *pipes, size_t pipe_count,
			 struct signalfd_siginfo *ret_signal);
/* Ends this process by a signal that it waited for, or that its child ended by. Returns if that does not end it. */
void child_end_by(int number);

#endif
