/* SPDX-License-Identifier: MIT */
/*
 * recipe_key: keys of programs as packs see them: which of them a recipe can
 * be of, for which devices, and the key of a recipe on a device of this
 * machine. Pure functions, thread-safe.
 */
#ifndef TOOLS_RECIPES_RECIPE_KEY_H
#define TOOLS_RECIPES_RECIPE_KEY_H

#include "tools/recipes/pack.h"
#include "tools/replay/present.h"

/*
 * NULL: `ckcache replay` can repeat such a build, its options and the names of its headers are
 * portable (portable.h), and its intermediate language is SPIR-V. Else why not, in static words that follow "because".
 */
const char *recipe_key_refuse(struct cmn_view key);
/* The same of a pack's, whatever the device. */
const char *recipe_key_refuse_recipe(const struct pack *pack, const struct pack_recipe *recipe);
/* How many devices the key is for; 0: for a part of one. */
size_t recipe_key_devices(struct cmn_view key);
/* Of the key's first device. */
void recipe_key_target(struct cmn_view key, struct pack_target *ret);
bool recipe_key_is_for(const struct pack *pack, const struct pack_recipe *recipe,
		       const struct present_device *device);

void recipe_key_add_field(struct cc_key *key, const struct cc_key_field *field);
/* Those of a recipe: a key without a device. */
void recipe_key_add_fields(const struct pack *pack, const struct pack_recipe *recipe, struct cc_key *ret);

/*
 * Appends to *ret, an empty key, what a program here has that asks a device of
 * this machine for the recipe: with the variables of this environment.
 * inputs: of a link, by their contents, else NULL. Failures show in cc_key_status.
 */
void recipe_key_make(const struct pack *pack, const struct pack_recipe *recipe,
		     const struct present_device *device, const struct cmn_hash *inputs,
		     struct cc_key *ret);

#endif
