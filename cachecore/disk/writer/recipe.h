/* SPDX-License-Identifier: MIT */
/*
 * recipe: how to repeat a build in another process so that its result gets the
 * same key. Written if reading the result from the driver would delay the
 * application; read by `ckcache replay`.
 *
 *   file    = magic[8] version:u32 zero:u32 payload_len:u64 identity[16]
 *             hash[16] payload
 *   payload = five texts, each len:u64 bytes[len]: key, manifest (may be empty),
 *             directory, places, environment
 *   identity = hash(hash(key) hash(manifest))
 *   hash    = hash(hash(all before it) hash(payload))
 *
 * The same key, manifest and surroundings always give the same bytes. Pure
 * functions, thread-safe.
 */
#ifndef CACHECORE_DISK_WRITER_RECIPE_H
#define CACHECORE_DISK_WRITER_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_RECIPE_VERSION 1
#define CC_RECIPE_HEADER_SIZE 56
/* Sources of this size are rare, and too long to be kept twice. */
#define CC_RECIPE_MAX_FILE (UINT64_C(64) << 20)
#define CC_RECIPE_NAME_SIZE (CMN_HASH_HEX_SIZE + 16)

/* All borrowed: from the caller, or from the file that was decoded. */
struct cc_recipe {
	struct cmn_view key;		/* its encoding; not empty */
	struct cmn_view manifest;	/* its encoding; empty: no dependencies */
	struct cmn_view directory;	/* in which it was built; empty: not known */
	struct cmn_view places;		/* u32s: of each device of the key among its platform's; or empty */
	struct cmn_view environment;	/* NAME=value, each with its NUL; beside what the key has */
};

/* CMN_ERR_NOMEM; CMN_ERR_TOO_LARGE: over CC_RECIPE_MAX_FILE; CMN_ERR_INVALID: no key. */
CMN_CHECKED enum cmn_status cc_recipe_encode(const struct cc_recipe *recipe,
					     struct cmn_buffer *ret);
/* CMN_ERR_CORRUPT, CMN_ERR_VERSION. */
CMN_CHECKED enum cmn_status cc_recipe_decode(struct cmn_view file, struct cc_recipe *ret);
/* What the header says of key and manifest; nothing else is verified. false: no header of this version. */
bool cc_recipe_identity(struct cmn_view file, struct cmn_hash *ret);
/* The file's name, one for each key: "<hash>.recipe". */
void cc_recipe_name(struct cmn_view key, char ret[CC_RECIPE_NAME_SIZE]);

/*
 * Whether a recipe contains this NAME=value: variables by which loaders find
 * drivers, and drivers find their libraries, devices and caches (a driver's own
 * cache has what it compiled for the application's launches). Variables that
 * change code are in the key. Others are left out, because they may be secrets.
 */
bool cc_recipe_carries(const char *variable);

/*
 * The environment of a recipe also names the program that left it, in
 * CC_CONFIG_BUILT_FOR, by which its build is counted (totals.h).
 */
void cc_recipe_add_program(struct cmn_buffer *environment, const char *program);
struct cmn_view cc_recipe_program(const struct cc_recipe *recipe);	/* empty: not known */

/*
 * It also says whether the build is one that a stranger asked for (a pack, docs/RECIPES.md): then
 * only a confined worker may have it.
 */
void cc_recipe_add_stranger(struct cmn_buffer *environment);
bool cc_recipe_is_strangers(const struct cc_recipe *recipe);

/*
 * And what the driver's own cache calls the program (drivers.h), by which its worker is to know it, too: CC_CONFIG_CACHED_AS.
 */
void cc_recipe_add_cached_as(struct cmn_buffer *environment, const char *name);
const char *cc_recipe_cached_as(const struct cc_recipe *recipe);	/* NULL: not known */

/* The place of the key's i-th device; false: not known. */
bool cc_recipe_place(const struct cc_recipe *recipe, size_t i, uint32_t *ret);
/* The next NAME=value at or after *at that a recipe may carry; *at moves on; NULL: no more. */
const char *cc_recipe_variable(const struct cc_recipe *recipe, size_t *at);

#endif
