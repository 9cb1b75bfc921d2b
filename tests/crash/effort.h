/* SPDX-License-Identifier: MIT */
/*
 * effort: what the programs' arguments say, PROGRAM [SAMPLES [SEED]]. With
 * none it is the short version; any makes it thorough.
 */
#ifndef TESTS_CRASH_EFFORT_H
#define TESTS_CRASH_EFFORT_H

#include "tests/crash/explore.h"

/* Also chooses where the states are made: in memory, where there is such a place. */
struct effort effort_of(int argc, char **argv);

#endif
