/* SPDX-License-Identifier: MIT */
/*
 * hooked_objects: which loaded objects' calls of libc are led to the stand-ins (libc_hooks.c): the drivers whose
 * builds were observed, their compilers, what these are linked with, and what
 * was loaded since the first such build. Thread-safe.
 */
#ifndef SHARED_OBSERVER_HOOKED_OBJECTS_H
#define SHARED_OBSERVER_HOOKED_OBJECTS_H

#include <stdbool.h>

#include "layers/shared/driver/libraries.h"

/*
 * Leads what is not led yet. query: the driver's libraries; NULL: what was just loaded. false: not all of it could be. Some 5 ms the first time, nothing to
 * speak of while no object comes or goes.
 */
bool drv_hooked_objects_update(const struct drv_libraries_query *query);
/* Whether the code at that address is of a library that the program itself is linked with. */
bool drv_hooked_objects_is_of_program(const void *caller);
/* In the child. */
void drv_hooked_objects_after_fork(void);

#endif
