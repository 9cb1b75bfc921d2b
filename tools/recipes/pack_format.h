/* SPDX-License-Identifier: MIT */
/* pack_format: what reading and making packs share: lengths, order, which fields there are, identities. */
#ifndef TOOLS_RECIPES_PACK_FORMAT_H
#define TOOLS_RECIPES_PACK_FORMAT_H

#include <stdbool.h>

#include "cachecore/key.h"
#include "common/hash.h"

#define PACK_MAGIC "ckcpack\n"
#define PACK_HEADER_SIZE 40
#define PACK_LEN_AT 16
#define PACK_HASH_AT (PACK_HEADER_SIZE - CMN_HASH_SIZE)
#define PACK_FIELD_SIZE 9	/* part, name, value */
#define PACK_LINE_SIZE 28	/* of a header: path, size, hash */

/* Of a file with its header. */
struct cmn_hash pack_hash(struct cmn_view file);
/* The order of origins, texts and recipes: by their bytes, a beginning first. */
int pack_compare(struct cmn_view a, struct cmn_view b);
/* Whether recipes have such a field. */
bool pack_has_field(enum cc_part part, struct cmn_view name);
/* A variable's: each machine has its own. */
bool pack_is_environment(struct cmn_view name);

/*
 * What a key asks for, whatever the device and the environment: a hash of the
 * fields that a pack has. CMN_ERR_INVALID: it is no key.
 */
CMN_CHECKED enum cmn_status pack_identity(struct cmn_view key, struct cmn_hash *ret);

#endif
