/* SPDX-License-Identifier: MIT */
/* doctor_history: what the cache did so far, by its counts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/totals.h"
#include "tools/doctor/doctor.h"
#include "tools/text.h"

#define SECTION DOCTOR_HISTORY

static void look_at_counts(struct doctor *doctor, const struct cc_totals *stats)
{
	uint64_t hits = stats->counters[CC_HITS_MEMORY] + stats->counters[CC_HITS_DISK] +
			stats->counters[CC_HITS_REMOTE];
	uint64_t misses = stats->counters[CC_MISSES], bypasses = cc_totals_all_bypasses(stats);
	uint64_t errors = stats->counters[CC_ERRORS];
	char saved[TEXT_SIZE];

	doctor_say(doctor, SECTION, DOCTOR_OK, NULL,
		   "%" PRIu64 " hits, %" PRIu64 " misses, %" PRIu64 " not cached; %s of compilation saved",
		   hits, misses, bypasses,
		   text_time(stats->counters[CC_COMPILE_NS_SAVED], saved));
	if (errors)
		doctor_say(doctor, SECTION, DOCTOR_NOTE, "ckcache verify looks for damage",
			   "%" PRIu64 " errors: damaged entries, refused binaries, failed writes",
			   errors);
}

void doctor_look_at_history(struct doctor *doctor)
{
	const char *dir = doctor->config.dir;
	struct cc_totals *stats = NULL;
	struct cc_recipes_count recipes;
	enum cmn_status status;

	status = dir ? cc_totals_load(dir, &stats) : CMN_MISS;
	if (status == CMN_OK)
		look_at_counts(doctor, stats);
	else if (status == CMN_MISS)
		doctor_say(doctor, SECTION, DOCTOR_OK, NULL, "nothing has been counted yet");
	else
		doctor_say(doctor, SECTION, DOCTOR_NOTE, NULL, "its counts cannot be read: %s",
			   cmn_status_string(status));
	if (status == CMN_OK && cc_recipes_count(dir, &recipes) == CMN_OK && recipes.recipes)
		doctor_say(doctor, SECTION, DOCTOR_NOTE, "ckcache replay builds them",
			   "%llu programs were left for later", recipes.recipes);
	free(stats);
}
