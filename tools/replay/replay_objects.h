/* SPDX-License-Identifier: MIT */
/*
 * replay_objects: what links are made of, as the store has it: compiled objects and
 * libraries. A link's key names each input by the hash of its entry's content,
 * so that a link can be repeated while the entries of its inputs are there. One thread.
 */
#ifndef TOOLS_REPLAY_REPLAY_OBJECTS_H
#define TOOLS_REPLAY_REPLAY_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/disk/store.h"
#include "common/bytes.h"
#include "common/hash.h"

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
