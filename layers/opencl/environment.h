/* SPDX-License-Identifier: MIT */
/*
 * environment: the variables that change what a driver compiles. Those of
 * known compilers count always; with NEOReadDebugKeys set, Intel's driver
 * reads some 480 more, all in CamelCase, so that every such name counts then.
 * Names that only say where a cache lies or what is logged never count.
 */
#ifndef OPENCL_ENVIRONMENT_H
#define OPENCL_ENVIRONMENT_H

#include <stdbool.h>

#include "cachecore/key.h"

/* Whether the variable belongs to the key. */
bool ocl_environment_counts(const char *name, size_t len, bool debug_keys);

/* Adds an "env.<NAME>" field for each variable that counts, sorted by name. */
void ocl_environment_add(struct cc_key *key);

#endif
