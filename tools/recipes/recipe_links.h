/* SPDX-License-Identifier: MIT */
/*
 * recipe_links: links in packs. A link's key names its inputs by the content of
 * their binaries, which differs from machine to machine. In a pack, a link names
 * each input by the identity of the recipe that makes it (pack_identity). One thread.
 */
#ifndef TOOLS_RECIPES_RECIPE_LINKS_H
#define TOOLS_RECIPES_RECIPE_LINKS_H

#include "tools/recipes/pack.h"
#include "tools/replay/replay_entries.h"
#include "tools/replay/present.h"

/* Links of libraries that are linked of libraries, … so deep. */
#define RECIPE_LINKS_DEPTH 8

/*
 * Appends to *ret, an empty key, the key of a link with the identities of its
 * inputs. CMN_MISS: nobody knows how one of them was made; others as cc_key_status.
 */
CMN_CHECKED enum cmn_status recipe_links_record(const struct objects *objects, struct cmn_view key,
						struct cc_key *ret);

/* The recipes of a pack by their identities. */
struct recipe_index {
	const struct pack *pack;
	struct pack_recipe *recipes;
	struct cmn_hash *identities;
	size_t count, links;
	unsigned int work;	/* how many keys may still be made */
};
/* As cc_key_status; the caller releases *ret in any case. */
CMN_CHECKED enum cmn_status recipe_index_read(const struct pack *pack, struct recipe_index *ret);
void recipe_index_release(struct recipe_index *index);
bool recipe_index_is_link(const struct recipe_index *index, size_t i);

/*
 * Appends to *ret, an empty key, that of the i-th recipe, a link or not, on a
 * device. CMN_MISS: an input is not in the pack, or not among the objects, or the pack takes too
 * much work: links of links of links may be many.
 */
CMN_CHECKED enum cmn_status recipe_links_make(struct recipe_index *index, size_t i,
					      const struct objects *objects,
					      const struct present_device *device,
					      struct cc_key *ret);

#endif
