/* SPDX-License-Identifier: MIT */
/* environment_copy: a library with a copy of the module of its own, as each layer has one. */
#include "tests/unit/layers/shared/driver/environment_copy.h"

#include "layers/shared/driver/environment.h"

static bool is_cached(const char *driver)
{
	return drv_environment_holds(drv_driver_of(driver));
}

__attribute__((visibility("default"))) const struct environment_copy environment_copy = {
	drv_environment_begin, drv_environment_at_begin, drv_environment_note_build, is_cached,
};
