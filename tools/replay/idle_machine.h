/* SPDX-License-Identifier: MIT */
/*
 * idle_machine: what the kernel says about the machine's power, processors and load. Reads /proc
 * and /sys only; decides nothing (idle.h). One thread at a time.
 */
#ifndef TOOLS_REPLAY_IDLE_MACHINE_H
#define TOOLS_REPLAY_IDLE_MACHINE_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/run/child.h"

/* More processors than any kernel is built for. */
#define IDLE_MAX_CPUS 8192

#define IDLE_MAX_JOBS 256	/* as verbs.c has it */

struct idle_machine {
	int proc, sys;		/* directories; a test has its own */
	cpu_set_t cpus[IDLE_MAX_CPUS / CPU_SETSIZE];	/* that this process may use */
};

/* What may slow others down. */
enum idle_resource { IDLE_CPU, IDLE_MEMORY, IDLE_IO, IDLE_RESOURCES };

/* Sums at one time; the difference of two is of interest. */
struct idle_sample {
	uint64_t time_ns;	/* monotonic */
	uint64_t busy_ns;	/* processor time that was used on the machine's processors, by anybody */
	uint64_t own_ns;	/* of that: by this process and its workers */
	/* How long somebody waited for it (pressure stall information); 0: the kernel does not say. */
	uint64_t stalled_ns[IDLE_RESOURCES];
};

/* Opens the machine's own directories. false: there are none, or the processors are not known. */
bool idle_machine_open(struct idle_machine *ret);
void idle_machine_close(struct idle_machine *machine);
/*
 * Cores that this process may use: processors that are threads of one core count once, and the
 * control group's limit counts. At least 1.
 */
unsigned int idle_machine_cores(const struct idle_machine *machine);
/* How many builds at a time leave one of these cores to others: at least 1, at most IDLE_MAX_JOBS. */
unsigned int idle_machine_jobs(const struct idle_machine *machine);
/* Whether a control group limits how much processor time this process may use: what one process takes, others lack. */
bool idle_machine_is_limited(const struct idle_machine *machine);
/* Whether a mains supply is unplugged or a battery is drained, and no supply is plugged in. */
bool idle_machine_on_battery(const struct idle_machine *machine);
/* false: /proc/stat cannot be read. */
bool idle_machine_sample(const struct idle_machine *machine, const struct child *workers,
			 size_t count, struct idle_sample *ret);

#endif
