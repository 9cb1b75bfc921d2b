/* SPDX-License-Identifier: MIT */
/*
 * worker: whether a process, or a thread of this one, that is waited for gets on with its work, as
 * /proc shows it (proc(5)). Where /proc shows nothing, it does. Thread-safe.
 */
#ifndef COMMON_WORKER_H
#define COMMON_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CMN_WORKER_LOOK_NS UINT64_C(100000000)	/* after so long it is looked at again */

struct cmn_worker {
	pid_t process;			/* 0: that cannot be told */
	pid_t thread;			/* of this process; 0: another's */
};

/* What it was seen to do; {0}: nothing yet. */
struct cmn_watch {
	struct cmn_worker worker;
	uint64_t ticks;			/* of processor time, its children's too */
	uint64_t changed, next;		/* monotonic: when they last rose, and when to look again */
	bool gone;			/* the thread was not there when it was last looked for */
};

/*
 * Its state (a letter), and the processor time of it and of its children that have ended, in clock
 * ticks. false: it is not to be seen.
 */
bool cmn_worker_stat(const struct cmn_worker *worker, char *ret_state, uint64_t *ret_ticks);
/*
 * To be asked again and again, with the monotonic clock: whether it is gone, or used no processor time for
 * 0.9 s: it is stopped, frozen, or at something that may take for ever; or it may wait for this
 * process. A thread may have ended its work and then itself since the caller learned of it: it is gone
 * if the caller asks for it once more. waits: it said that it waits for another machine.
 */
bool cmn_watch_is_idle(struct cmn_watch *watch, const struct cmn_worker *worker, bool waits, uint64_t now);

#endif
