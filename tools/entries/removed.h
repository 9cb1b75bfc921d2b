/* SPDX-License-Identifier: MIT */
/* removed: what prune and clear say at their end. */
#ifndef TOOLS_ENTRIES_REMOVED_H
#define TOOLS_ENTRIES_REMOVED_H

#include <stdbool.h>
#include <stdint.h>

/* Of entries: how many, and their bytes on disk. */
struct amount {
	uint64_t entries, bytes;
};

struct removed {
	struct amount gone;
	const struct amount *left;	/* NULL: it is of no interest */
	bool dry_run;			/* they would be */
};

/* The exit code. */
int removed_print(const struct removed *removed, bool json);

#endif
