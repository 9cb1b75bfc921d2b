/* SPDX-License-Identifier: MIT */
/*
 * idle: when and how many workers may run, so that nobody who uses the machine notices them
 * (`--idle`), and until when new ones begin (`--budget`). Four times a second it looks at the machine
 * (idle_machine.h); workers that may not run stand still (child_stop).
 */
#ifndef TOOLS_REPLAY_IDLE_H
#define TOOLS_REPLAY_IDLE_H

#include "tools/replay/idle_machine.h"

/* So many looks in a row, three seconds: a compiler between two files is not over. */
#define IDLE_CALM_LOOKS 12

struct idle {
	bool wanted;		/* --idle; without, only the budget counts */
	struct idle_machine machine;
	unsigned int cores, most;	/* the machine's; workers at a time */
	unsigned int allowed;	/* workers now */
	unsigned int calm;	/* looks in a row that found room for a worker */
	unsigned int looks;
	bool on_battery;
	struct idle_sample last;
	uint64_t end;		/* monotonic; UINT64_MAX: no budget */
	bool ended;		/* somebody was told */
	struct child *workers;	/* the caller's */
	size_t count;
};

/*
 * Begins a budget (idle_begin) and, with wanted, opens the machine's directories and lowers the
 * priority of this process. false: the machine cannot be looked at, nothing is to be released.
 */
bool idle_init(struct idle *ret, bool wanted, unsigned long budget_s);
void idle_release(struct idle *idle);
/* From now on nothing begins after so many seconds; 0: at any time. */
void idle_begin(struct idle *idle, unsigned long budget_s);

/* Somebody waits for what is built: the first look that finds room is calm enough. */
void idle_hurry(struct idle *idle);

/* Looks at these workers from now on, while child_wait waits; all of them end before idle_release. */
void idle_watch(struct idle *idle, struct child *workers, size_t count);
/* Looks at none. */
void idle_unwatch(void);
/*
 * Waits for a time in which a worker may run, with no worker. false: the budget is spent, or a
 * signal asked this process to end, which *ret_signal tells.
 */
bool idle_wait(struct idle *idle, int *ret_signal);
/* Whether this one of the workers may begin something now: unless it stands still, or, not started yet, has no room. */
bool idle_lets_begin(const struct idle *idle, const struct child *worker);
/* Whether something may begin later that may not now. */
bool idle_holds_up(const struct idle *idle);
/* Whether the budget is spent. */
bool idle_is_spent(const struct idle *idle);
/* The same, and no worker runs: some may stand still. */
bool idle_is_over(const struct idle *idle);

/*
 * What follows from two samples: how many workers may run next. Leaves idle->allowed as it is; for
 * idle.c, and for its test.
 */
unsigned int idle_room(const struct idle *idle, const struct idle_sample *before,
		       const struct idle_sample *after);
/* Takes one look's result: fewer at once, more only after some calm looks. Whether something changed. */
bool idle_adjust(struct idle *idle, unsigned int room);

#endif
