/* SPDX-License-Identifier: MIT */
/*
 * build_recipe: leaves what `ckcache replay` needs to repeat a build of the application's: key,
 * manifest, working directory, the program's name, and the variables beside the key's that choose
 * the driver.
 */
#ifndef SHARED_SEQUENCE_BUILD_RECIPE_H
#define SHARED_SEQUENCE_BUILD_RECIPE_H

#include <stdbool.h>

#include "cachecore/cache.h"

/*
 * Hands the recipe of a build that went well to the writer. manifest: what it read; may be NULL.
 * places: of the devices among their platform's (recipe.h), or empty; cached_as: in the driver's own cache
 * (drv_observer_cached_as). Borrows all. false: impossible.
 */
bool drv_build_recipe_put(struct cc_cache *cache, const struct cc_key *key,
			  const struct cc_manifest *manifest, struct cmn_view places,
			  const char *cached_as);

#endif
