/* SPDX-License-Identifier: MIT */
/*
 * effort: main of the programs, and what their arguments say, PROGRAM [SAMPLES [SEED]]. With
 * none it is the short version; any makes it thorough.
 */
#ifndef TESTS_CRASH_EFFORT_H
#define TESTS_CRASH_EFFORT_H

#include "tests/crash/explore.h"

extern struct effort effort;

#endif
