/* SPDX-License-Identifier: MIT */
/*
 * holder: which process holds a lock, written in the file that the lock is on.
 * Waiters need to know whether that process still works: a lock can outlive its
 * process, in a child that was made without fork's handlers, and a process can
 * be stopped. Within one PID and one time namespace, number and start time
 * identify a process. Elsewhere only its beat can tell, a number that changes
 * while it works. The beat also reveals a frozen process (cgroups(7)), which
 * otherwise looks as if it slept. Thread-safe.
 */
#ifndef CACHECORE_DISK_FLIGHTS_HOLDER_H
#define CACHECORE_DISK_FLIGHTS_HOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum cc_holder_state {
	CC_HOLDER_UNKNOWN,	/* it works, or is frozen, or nobody can tell */
	CC_HOLDER_UNSEEN,	/* in another namespace, or there is no /proc */
	CC_HOLDER_STOPPED,	/* by a signal or a debugger */
	CC_HOLDER_GONE,
	CC_HOLDER_UNSIGNED,	/* the file is empty: stopped before it signed, or the disk is full */
};

/* All zero: not known. beat 0: it has none. */
struct cc_holder {
	uint64_t pid, start, space, beat;
	uint64_t ticks;		/* of processor time, where it can be seen */
};

/* Of this process. */
struct cc_holder cc_holder_self(void);
/* Writes it to the file, best effort: without, nothing is known. */
void cc_holder_note(int fd, const struct cc_holder *self);
/* Of whom the file names now, as self sees it. */
enum cc_holder_state cc_holder_look(int fd, const struct cc_holder *self, struct cc_holder *ret);
/* Whether a thread of this process runs, or would if it got a processor; false also where nobody can tell. */
bool cc_holder_thread_runs(pid_t thread);

#endif
