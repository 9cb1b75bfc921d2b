/* SPDX-License-Identifier: MIT */
/*
 * library: the functions of ckcache.h. Where a layer of the API is active, they call what is below it;
 * elsewhere the API's loader. Knows no API's types.
 */
#ifndef LIBCKCACHE_LIBRARY_H
#define LIBCKCACHE_LIBRARY_H

#include <stdbool.h>

/* Whether Level Zero is built in; the lock of its maps, for a fork. */
extern const bool library_has_level_zero;
void library_level_zero_lock(void);
void library_level_zero_unlock(void);

#endif
