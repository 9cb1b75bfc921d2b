/* SPDX-License-Identifier: MIT */
/* replay_entries: what the store has of a recipe's program, and what a key says. One thread. */
#ifndef TOOLS_REPLAY_REPLAY_ENTRIES_H
#define TOOLS_REPLAY_REPLAY_ENTRIES_H

#include <stdbool.h>

#include "cachecore/disk/writer/recipe.h"

/*
 * Whether the root has a whole entry of the recipe's key that is for the files as they are, or as they
 * were for the recipe. Changes into the recipe's directory meanwhile, if it has one.
 */
bool replay_entries_has(const char *root, const struct cc_recipe *recipe);
/*
 * Of the entries of the same program and options for another device or
 * driver, the one last used: the first field in which it differs, as text
 * that the caller frees. NULL: there is none.
 */
char *replay_entries_difference(const char *root, struct cmn_view key);

/* The field of that name, the i-th of them; false: there is none. */
bool replay_key_field(struct cmn_view key, const char *name, unsigned int i, struct cmn_view *ret);
/* Whether a field of that name has this text. */
bool replay_key_has(struct cmn_view key, const char *name, const char *text);
/* Whether it is Level Zero's; else it is OpenCL's. */
bool replay_key_is_level_zero(struct cmn_view key);

#endif
