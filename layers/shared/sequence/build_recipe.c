/* SPDX-License-Identifier: MIT */
/* build_recipe: gathers what repeats a build. */
#include "layers/shared/sequence/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/path.h"
#include "common/env.h"

static void add_environment(struct cmn_buffer *ret)
{
	struct cmn_buffer copy = { 0 };

	ret->failed |= cmn_env_copy(&copy) != CMN_OK;
	for (const char *at = NULL; (at = cmn_env_next(&copy, at));) {
		if (cc_recipe_carries(at))
			cmn_buffer_append(ret, at, strlen(at) + 1);
	}
	cmn_buffer_release(&copy);
}

bool drv_build_recipe_put(const struct drv_sequence *sequence, const struct cc_manifest *manifest,
			  struct cmn_view places)
{
	struct cmn_buffer files = { 0 }, environment = { 0 };
	struct cc_manifest *paths = NULL;
	char *directory = cc_manifest_working_directory();
	bool done = false;

	add_environment(&environment);
	cc_recipe_add_program(&environment, cc_path_program());
	if (sequence->cached_as[0])
		cc_recipe_add_cached_as(&environment, sequence->cached_as);
	/* The worker is to give the driver the options as they were. */
	if (!manifest && sequence->key->include_paths.count) {
		manifest = paths = cc_manifest_new();
		files.failed |= !paths || cc_manifest_add_include_paths(paths, &sequence->key->include_paths, false) != CMN_OK;
	}
	if (cc_manifest_count(manifest))
		cc_manifest_encode(manifest, &files);
	if (!files.failed && !environment.failed) {
		const struct cc_recipe recipe = {
			.key = cc_key_view(sequence->key),
			.manifest = cmn_buffer_view(&files),
			.directory = cmn_view_of(directory),
			.places = places,
			.environment = cmn_buffer_view(&environment),
		};

		done = cc_cache_put_recipe(sequence->cache, &recipe);
	}
	free(directory);
	cc_manifest_free(paths);
	cmn_buffer_release(&files);
	cmn_buffer_release(&environment);
	return done;
}
