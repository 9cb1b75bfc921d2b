/* SPDX-License-Identifier: MIT */
/* interposer: what the wrappers share; see fault.h. */
#ifndef TESTS_FAULT_INTERPOSER_H
#define TESTS_FAULT_INTERPOSER_H

#include <stdbool.h>

#include "tests/fault/fault.h"

/* The next definition of the function, libc's as a rule. */
void *interposer_real(enum fault_function function);
#define REAL(name) ((__typeof__(&name))interposer_real(FAULT_##name))

/* Counts the call if it is the product's; how it is to fail, or 0. Leaves errno alone. */
int interposer_next(enum fault_function function, unsigned int flags, const void *caller);
#define NEXT(name, flags) interposer_next(FAULT_##name, flags, __builtin_return_address(0))

/* Notes what a call of the product's took and gave back; returns the argument. */
int interposer_note_file(int fd, const void *caller);
void interposer_drop_file(const void *caller);
void *interposer_note_block(void *block, const void *caller);
void interposer_drop_block(const void *caller);
#define CALLER __builtin_return_address(0)

/* Whether the real time is moved, and by how many seconds. */
long interposer_clock_shift(void);

#endif
