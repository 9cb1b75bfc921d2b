/* SPDX-License-Identifier: MIT */
/*
 * losses: what programs lose that are made from their own binaries: two runs of a differential program
 * (diff_subjects.h) without any layer, of which one asks programs as they were built, and the other such
 * ones. Counts the questions whose answers differ.
 */
#ifndef TESTS_SUPPORT_LOSSES_H
#define TESTS_SUPPORT_LOSSES_H

#include <stdbool.h>

/* Two shell commands. Prints a table below the title; each: every difference before it. */
void losses_print(const char *title, const char *built, const char *loaded, bool each);

/* Prints it and ends the process. */
void losses_give_up(const char *what) __attribute__((noreturn));

#endif
