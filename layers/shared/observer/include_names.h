/* SPDX-License-Identifier: MIT */
/*
 * include_names: whether a result may depend on how the options' include paths are called, beside what lies
 * there. Asks the file system. In doubt it does.
 */
#ifndef SHARED_OBSERVER_INCLUDE_NAMES_H
#define SHARED_OBSERVER_INCLUDE_NAMES_H

#include <stdbool.h>

#include "layers/shared/observer/observation.h"
#include "layers/shared/observer/observer_text.h"

/* text: its options have numbers for the include paths already. */
bool drv_include_names_count(const struct drv_observation *observation, const struct drv_observer_text *text);

#endif
