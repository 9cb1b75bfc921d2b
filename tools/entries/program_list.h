/* SPDX-License-Identifier: MIT */
/*
 * program_list: for which program an entry came, as far as the history reaches: who compiled it, or had
 * it from the remote tier, or for whom ckcache replay compiled it.
 */
#ifndef TOOLS_ENTRIES_PROGRAM_LIST_H
#define TOOLS_ENTRIES_PROGRAM_LIST_H

#include <stdbool.h>

#include "tools/explain/run_history.h"

struct programs {
	struct run_history history;
	const struct run_history_event **arrivals;	/* sorted by entry directory, then by time */
	size_t count;
};

/* To be released in any case. CMN_OK also where nothing is known; else as run_history_load. */
CMN_CHECKED enum cmn_status programs_load(const char *root, enum cmn_file_trust trust,
					  struct programs *ret);
void programs_release(struct programs *programs);
/* Whether the entries of that entry directory came for that program, perhaps among others. */
bool programs_have(const struct programs *programs, const char *entry_dir, const char *program);
/* The last program for which they came, borrowed; NULL: not known. */
const char *programs_of(const struct programs *programs, const char *entry_dir);

#endif
