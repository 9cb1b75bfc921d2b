/* SPDX-License-Identifier: MIT */
/*
 * tools: the programs that a driver runs while it builds, by its row (drivers.h): each with its libraries
 * is in the key. What a tool reads besides, its arguments name (observer/children.h). Thread-safe.
 */
#ifndef SHARED_DRIVER_TOOLS_H
#define SHARED_DRIVER_TOOLS_H

#include "cachecore/disk/contents.h"
#include "cachecore/key.h"
#include "layers/shared/driver/drivers.h"

/*
 * Adds a "driver.tool" field for each tool that is there, and of which it is certain which libraries the
 * dynamic linker takes. false: no memory. About 0.3 ms for a tool with 20 libraries, and next to nothing where none is installed.
 */
CMN_CHECKED bool drv_tools_add(const struct drv_driver *driver, struct cc_contents *contents,
			       struct cc_key *key);
/* The row's tool with that path, if _add has added it; or NULL. */
const struct drv_tool *drv_tools_find(const struct drv_driver *driver, const char *path);
/* Whether that program is what it was when _add first added it, and each of its libraries. */
bool drv_tools_hold(const char *path);

#endif
