/* SPDX-License-Identifier: MIT */
/* prune_entries: removes entries by conditions that somebody gave, and not by the settings. */
#ifndef TOOLS_ENTRIES_PRUNE_ENTRIES_H
#define TOOLS_ENTRIES_PRUNE_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/entries/census.h"

/*
 * program and device choose; of what they choose goes what was not used for older_than, then, least
 * recently used first, what is over max_size. Where neither is given, all that is chosen goes.
 */
struct prune_request {
	const char *verb;	/* for messages */
	bool clears;		/* the verb is clear: for the history */
	const char *program;	/* NULL: any; as far as the history knows whose entries are */
	const char *device;	/* a part of its name, in any case; NULL: any */
	const char *older_than;	/* "30d"; NULL: any age */
	const char *max_size;	/* "2G"; NULL: any size */
	bool dry_run, json;
};
/* Whether all of that can be read; false: complained about. */
bool prune_entries_check(const struct prune_request *request);
/* The exit code. An entry that is used meanwhile stays. */
int prune_entries(struct tool_cache *cache, const struct prune_request *request);

struct removed {
	struct amount gone;
	const struct amount *left;	/* NULL: it is of no interest */
	bool dry_run;			/* they would be */
};
/* What prune and clear say at their end. The exit code. */
int removed_print(const struct removed *removed, bool json);

#endif
