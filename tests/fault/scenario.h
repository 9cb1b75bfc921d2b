/* SPDX-License-Identifier: MIT */
/*
 * scenario: what an application does with the cache, told apart from the tests
 * by standing in a library of its own with cachecore, so that every call from
 * that library is a point. Where the cache fails, a scenario does what a layer
 * does: it builds for itself.
 *
 * All runs in the working directory: cache/, tier/ and x.h lie there.
 */
#ifndef TESTS_FAULT_SCENARIO_H
#define TESTS_FAULT_SCENARIO_H

#include <stdbool.h>

enum { SCENARIO_TEXT = 4096, SCENARIO_SETTINGS = 4 };

/* What an application sees, and what the cache did for it. */
struct scenario_outcome {
	char text[SCENARIO_TEXT];	/* a line for each result */
	unsigned int builds;		/* in all ways */
	unsigned int disk, memory;	/* hits */
	unsigned int good, damaged;	/* entries found by a walk afterwards */
	bool ended;
};

struct scenario {
	const char *name;
	const char *settings[SCENARIO_SETTINGS];	/* NAME=value, for run */
	void (*prepare)(struct scenario_outcome *outcome);	/* before, without faults; NULL: nothing */
	const char *shell;	/* and then this; NULL: nothing */
	const char *header;	/* of x.h while it runs */
	void (*run)(struct scenario_outcome *outcome);
	bool builds_always;	/* nothing is a hit the next time */
};

/* Ends with a NULL name. */
extern const struct scenario scenarios[];
/* The header's content that results depend on: the driver's view of x.h. */
void scenario_set_header(const char *text);
/* Looks at every entry of cache/ in depth. */
void scenario_walk(struct scenario_outcome *outcome);

#endif
