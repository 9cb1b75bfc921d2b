/* SPDX-License-Identifier: MIT */
/*
 * explore: which states of the model are tried. Each different one is made in
 * a directory of its own and shown to a check; the same state is not shown
 * twice. Repeatable from the seed.
 */
#ifndef TESTS_CRASH_EXPLORE_H
#define TESTS_CRASH_EXPLORE_H

#include "tests/crash/model.h"

struct effort {
	uint64_t samples;	/* of each random mode; all states, where there are no more than so many */
	uint64_t seed;
	bool thorough;		/* each file at each cut, in each way */
};

/*
 * What a state in a directory fails in, or NULL. The directory may be changed;
 * it is removed afterwards.
 */
typedef const char *(*explore_check_fn)(void *ctx, const char *directory);

struct explored {
	size_t operations;	/* that were cut and reordered */
	size_t states;
	size_t failures;	/* each printed; after a few it ends */
};

struct explored explore(const struct tape *tape, size_t durable, const struct effort *effort,
			explore_check_fn check, void *ctx);

#endif
