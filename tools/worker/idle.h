/* SPDX-License-Identifier: MIT */
/*
 * idle: work that nobody waits for (`--idle`): at the kernel's lowest priorities, and on mains power
 * alone; and until when something new begins (`--budget`). One thread.
 */
#ifndef TOOLS_WORKER_IDLE_H
#define TOOLS_WORKER_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct idle {
	bool wanted;		/* --idle; without, only the budget counts */
	bool on_battery;	/* when it was looked at last */
	uint64_t next_look;	/* monotonic */
	uint64_t end;		/* monotonic; UINT64_MAX: no budget */
};

/*
 * Begins a budget (idle_begin). With wanted, lowers the priority of this process, and so of those that it
 * starts, for processors and disks, and looks at the power; whoever runs out of memory, they end first.
 */
void idle_init(struct idle *ret, bool wanted, unsigned long budget_s);
/* From now on nothing begins after so many seconds; 0: at any time. */
void idle_begin(struct idle *idle, unsigned long budget_s);
/* Whether the budget is spent. */
bool idle_is_spent(const struct idle *idle);
/* Whether something may begin now: the budget is not spent, and with wanted there is mains power. */
bool idle_lets_begin(struct idle *idle);
/*
 * Lowers the priority of all of this process's session, for processors; it may take some tenths of a
 * second. The kernel shares them among sessions first: sched(7), "The autogroup feature".
 */
void idle_lower_session(void);
/* Whether a mains supply is unplugged or a battery is drained, and no supply is plugged in; supplies: a directory as /sys/class/power_supply. */
bool idle_on_battery(const char *supplies);
/*
 * Whether the control group, or one above it, has a bound of memory or processor time, or room for only few
 * more processes (version 2), which the background would use up. What cannot be read has none. own: as
 * /proc/self/cgroup; root: as /sys/fs/cgroup.
 */
bool idle_is_limited(const char *own, const char *root);

#endif
