/* SPDX-License-Identifier: MIT */
/*
 * report_groups: sums of entries by a name, in bounded memory. Up to 32768 different names, each sum
 * is exact. Beyond that, names with the smallest sums are added to the others from time to time; what
 * is among the largest by far stays there.
 */
#ifndef TOOLS_REPORT_REPORT_GROUPS_H
#define TOOLS_REPORT_REPORT_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

struct report_group {
	char *name;		/* NULL: not known */
	uint64_t entries, bytes, build_ns;
};

/* {0} is an empty one. */
struct report_groups {
	struct report_groups_node *nodes;
	size_t count;
	struct report_group others;
};

/* Adds the numbers of more, whose name may be empty: not known. */
void report_groups_add(struct report_groups *groups, struct cmn_view name,
		       const struct report_group *more);
/*
 * Moves the sums of all but the largest ones to the others, and those to ret, the largest first, with
 * names that are the caller's to free. Returns how many there are, at most so many. What is left of
 * groups is to be released.
 */
size_t report_groups_take(struct report_groups *groups, size_t most, struct report_group *ret);
void report_groups_release(struct report_groups *groups);
void report_group_add(struct report_group *group, const struct report_group *more);

#endif
