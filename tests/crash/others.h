/* SPDX-License-Identifier: MIT */
/* others: what scenarios and checks do to the files beside the entries. */
#ifndef TESTS_CRASH_OTHERS_H
#define TESTS_CRASH_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

/* Adds so many misses to stats.txt; false: it could not be written. */
bool others_count(const char *root, uint64_t misses);
/* Whether a build with a word of chance in it, of a process of its own, is to be stored. */
bool others_admit(const char *root, unsigned int run);

#endif
