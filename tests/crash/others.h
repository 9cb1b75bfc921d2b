/* SPDX-License-Identifier: MIT */
/* others: what scenarios and checks do to the files beside the entries. */
#ifndef TESTS_CRASH_OTHERS_H
#define TESTS_CRASH_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

struct cc_stats_place;

/*
 * Counts so many misses: in stats.log, at the place (NULL: in a record of their own), or with merges
 * in stats.txt, to which the log is added. false: it could not be written.
 */
bool others_count(const char *root, uint64_t misses, bool merges, struct cc_stats_place *place);
/* Whether a build with a word of chance in it, of a process of its own, is to be stored. */
bool others_admit(const char *root, unsigned int run);

/* Notes a compile of that number in the history. */
void others_note(const char *root, unsigned int number);
/* How many of them it has; -1: it has one that was never noted, of count. */
int others_noted(const char *root, unsigned int count);

#endif
