/* SPDX-License-Identifier: MIT */
/* kinds: how each function can fail. */
#ifndef TESTS_FAULT_KINDS_H
#define TESTS_FAULT_KINDS_H

#include <stddef.h>

#include "tests/fault/fault.h"

enum { KINDS_MAX = 12 };

/* The kinds of a call, a 0 behind the last. The first is the one that a full or broken system repeats. */
void kinds_of(struct fault_call call, int ret[KINDS_MAX]);
const char *kind_name(int kind, char *buf, size_t size);
const char *function_name(unsigned int function);

#endif
