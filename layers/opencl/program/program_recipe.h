/* SPDX-License-Identifier: MIT */
/*
 * program_recipe: what `ckcache replay` needs to repeat a build of the application's,
 * where taking the binary from the driver would hold the application up, or where the
 * driver's own cache had it (layers/shared/sequence/build_recipe.h).
 */
#ifndef OPENCL_PROGRAM_PROGRAM_RECIPE_H
#define OPENCL_PROGRAM_PROGRAM_RECIPE_H

#include <stdbool.h>

#include "layers/opencl/key/targets.h"
#include "layers/shared/sequence/sequence.h"

/*
 * Hands the recipe of a sequence's build that went well to the writer. manifest: what it
 * read; may be NULL. false: it could not be had, as for sub-devices.
 */
bool ocl_recipe_record(const struct drv_sequence *sequence, const struct ocl_targets *targets,
		       const struct cc_manifest *manifest);

#endif
