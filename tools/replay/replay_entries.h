/* SPDX-License-Identifier: MIT */
/* replay_entries: what the store has of a recipe's program, and what a key says. One thread. */
#ifndef TOOLS_REPLAY_REPLAY_ENTRIES_H
#define TOOLS_REPLAY_REPLAY_ENTRIES_H

#include <stdbool.h>

#include "cachecore/disk/store.h"
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

/*
 * What links are made of, as the store has it: compiled objects and libraries. A link's key names
 * each input by the hash of its entry's content, so that a link can be repeated while the entries
 * of its inputs are there.
 */
struct object {
	struct cmn_hash content;	/* as links have it */
	struct cmn_hash devices;	/* of the key's device part */
	struct cmn_view key;
	struct cmn_view directory;	/* in which it was compiled; empty: any */
};
struct objects {
	struct object *items;
	size_t count;
};

/* Of the store's root. The caller releases *ret in any case. */
CMN_CHECKED enum cmn_status objects_read(struct cc_store *store, struct objects *ret);
void objects_release(struct objects *objects);
/* The i-th of that content and device part; NULL: there are no more. */
const struct object *objects_find(const struct objects *objects, const struct cmn_hash *content,
				  const struct cmn_hash *devices, size_t i);
/* The same of a key. */
const struct object *objects_find_key(const struct objects *objects, struct cmn_view key, size_t i);

/* Where an entry was built, as far as the result depends on it. manifest may be NULL. */
struct cmn_view objects_directory(const struct cc_manifest *manifest);
/* The hash of a key's device part. */
struct cmn_hash objects_devices(struct cmn_view key);
/* Whether what has that key may be an input of links: a compiled object or a library. */
bool objects_is_object(struct cmn_view key);
/* Whether it is a key of a link, and of one whose result is linked again. */
bool objects_is_link(struct cmn_view key);
bool objects_is_library(struct cmn_view key);

#endif
