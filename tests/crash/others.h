/* SPDX-License-Identifier: MIT */
/* others: what scenarios and checks do to the files beside the entries. */
#ifndef TESTS_CRASH_OTHERS_H
#define TESTS_CRASH_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

/* Totals of misses that took so long, as earlier processes leave them. */
bool others_begin(const char *root, uint64_t spent_ns);
/* Counts a miss that took so long, and with folds adds the log up. false: it could not. */
bool others_count(const char *root, uint64_t spent_ns, bool folds);
/* Whether a build with a word of chance in it, of a process of its own, is to be stored. */
bool others_admit(const char *root, unsigned int run);

/* Notes a compile of that number in the log. */
void others_note(const char *root, unsigned int number);
/* How many of them it has; -1: it has one that was never noted, of count. */
int others_noted(const char *root, unsigned int count);

#endif
