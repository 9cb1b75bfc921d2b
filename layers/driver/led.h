/* SPDX-License-Identifier: MIT */
/*
 * led: which loaded objects' calls of libc are led to the stand-ins (watched.c): the drivers whose
 * builds were observed, their compilers, what these are linked with, and what
 * was loaded since the first such build. Thread-safe.
 */
#ifndef DRIVER_LED_H
#define DRIVER_LED_H

#include <stdbool.h>

#include "layers/driver/libraries.h"

/*
 * Leads what is not led yet. query: the driver's libraries; NULL: what was just loaded. false: not all of it could be. Some 5 ms the first time, nothing to
 * speak of while no object comes or goes.
 */
bool drv_led_update(const struct drv_libraries_query *query);
/* Whether the code at that address is of a library that the program itself is linked with. */
bool drv_led_is_of_program(const void *caller);
/* In the child. */
void drv_led_after_fork(void);

#endif
