/* SPDX-License-Identifier: MIT */
/* functions: what the tables of ckcache_ext.h, one for each API, have in common. */
#ifndef SHARED_API_FUNCTIONS_H
#define SHARED_API_FUNCTIONS_H

#include "layers/shared/api/desc.h"
#include "layers/shared/api/device.h"

/* One of the table's functions by the name that ckcache.h gives it; NULL: it has none. */
void *api_function_named(const struct ckcache_functions *functions, const char *name);

#endif
