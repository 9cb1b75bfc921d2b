/* SPDX-License-Identifier: MIT */
/* replay: builds recipes that somebody else chose, such as those of packs. */
#ifndef TOOLS_REPLAY_REPLAY_H
#define TOOLS_REPLAY_REPLAY_H

#include "tools/replay/idle.h"
#include "tools/replay/replay_process.h"

/* What became of recipes. */
struct replay_counts {
	unsigned long long built, there, failed, absent, other;
	unsigned long long late;	/* did not begin or, standing still, not end in time */
};
/*
 * Builds the recipes of these names that settings->root has, as the verb does, but begins none
 * after a time of cmn_clock_monotonic. After child_begin. false: complained about, or a signal
 * asked this process to end, *ret_signal says which; *ret is set in any case.
 */
bool replay_build(const struct replay_settings *settings, struct idle *idle, size_t jobs,
		  const struct cc_recipes_names *names, uint64_t until,
		  struct replay_counts *ret, int *ret_signal);
/* How many builds at a time, if nobody says it. */
unsigned long replay_usual_jobs(const struct idle *idle);

#endif
