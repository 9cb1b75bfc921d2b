/* SPDX-License-Identifier: MIT */
/*
 * pack: a file of recipes for other machines: what a program asks drivers to
 * compile, and for which devices. It has sources, and no code, no time, no name
 * of a machine or user:
 *
 *   file    = magic[8] version:u32 zero:u32 payload_len:u64 hash[16] payload
 *   payload = origins texts recipes, each count:u32 and so many of them
 *   origin  = name_len:u64 name licence_len:u64 licence
 *   text    = len:u64 bytes
 *   recipe  = vendor_id:u64 device_type:u64 fields headers, each count:u32 and so many
 *   field   = part:u8 name:u32 value:u32
 *   header  = path:u32 size:u64 hash[16]
 *   hash    = hash(hash(all before it) hash(payload))
 *
 * name, value and path are numbers of texts. Fields are those of a key
 * (cachecore/key.h) without the device's and the environment's; a link's inputs
 * are the identities of their recipes (pack_identity). Origins, texts
 * and recipes are sorted by their bytes, and none is there twice: so the same
 * content is always the same bytes, and two packs have one union. Nothing is
 * compressed, because bytes would depend on the compressor's version; packages
 * and file systems compress. What is over a bound is refused as a whole: no
 * writer of packs wrote it. Pure functions; a maker belongs to one thread.
 */
#ifndef TOOLS_RECIPES_PACK_H
#define TOOLS_RECIPES_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/key.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define PACK_VERSION 1
/* Sources of darktable have 650 kB, the largest known one has 3 MB. */
#define PACK_MAX_FILE ((size_t)32 << 20)
#define PACK_MAX_TEXT ((size_t)8 << 20)
#define PACK_MAX_RECIPES 4096
#define PACK_MAX_TEXTS (1U << 18)
#define PACK_MAX_ORIGINS 64
#define PACK_MAX_NAME 255
#define PACK_MAX_LICENCE ((size_t)64 << 10)
/* Of one recipe. */
#define PACK_MAX_FIELDS 1024
#define PACK_MAX_HEADERS 4096
/* What the keys of all recipes together take: many of them may have one text. */
#define PACK_MAX_UNPACKED ((uint64_t)256 << 20)

/* Whose programs they are, as whoever recorded them said it. */
struct pack_origin {
	struct cmn_view name, licence;
};

/* Devices for which the program asks this, as far as is known. Zeros: any. */
struct pack_target {
	uint64_t vendor_id;	/* CL_DEVICE_VENDOR_ID */
	uint64_t device_type;	/* CL_DEVICE_TYPE, without CL_DEVICE_TYPE_DEFAULT */
};

/* A file of the program's package that the compiler read. */
struct pack_header {
	struct cmn_view path;
	uint64_t size;
	struct cmn_hash hash;
};

/* A decoded pack; everything that comes from it points into the file. */
struct pack {
	struct cmn_view *texts;
	size_t text_count;
	struct cmn_view origins, recipes;	/* encoded */
	uint32_t origin_count, recipe_count;
};

struct pack_recipe {
	struct pack_target target;
	struct cmn_view fields, headers;	/* encoded */
	uint32_t field_count, header_count;
};

/*
 * Checks all of the file, also that it is as pack_maker_encode writes it; the
 * file must outlive *ret, which pack_release releases. CMN_ERR_CORRUPT,
 * CMN_ERR_VERSION; CMN_ERR_TOO_LARGE: over a bound.
 */
CMN_CHECKED enum cmn_status pack_decode(struct cmn_view file, struct pack *ret);
void pack_release(struct pack *pack);

/* The readers of a decoded pack's origins and recipes. */
struct cmn_reader pack_origins(const struct pack *pack);
struct cmn_reader pack_recipes(const struct pack *pack);
/* Each moves the reader on; false: there are no more. */
bool pack_next_origin(struct cmn_reader *reader, struct pack_origin *ret);
bool pack_next_recipe(struct cmn_reader *reader, struct pack_recipe *ret);
/* The i-th; i < the recipe's count. */
struct cc_key_field pack_field(const struct pack *pack, const struct pack_recipe *recipe, size_t i);
struct pack_header pack_header(const struct pack *pack, const struct pack_recipe *recipe, size_t i);

/* What a pack is made of. */
struct pack_maker;
struct pack_maker *pack_maker_new(void);
void pack_maker_free(struct pack_maker *maker);	/* NULL is fine */
/*
 * Each copies what it gets. What is there already is no error, and changes
 * nothing. CMN_ERR_TOO_LARGE: over a bound of its own; CMN_ERR_INVALID: no name,
 * or fields that no pack has.
 */
CMN_CHECKED enum cmn_status pack_maker_add_origin(struct pack_maker *maker,
						  const struct pack_origin *origin);
/* key: of its fields those of the device and of the environment are left out. Sorts the headers. */
CMN_CHECKED enum cmn_status pack_maker_add_recipe(struct pack_maker *maker,
						  const struct pack_target *target,
						  struct cmn_view key,
						  struct pack_header *headers, size_t count);
CMN_CHECKED enum cmn_status pack_maker_add_pack(struct pack_maker *maker, const struct pack *pack);
/* The file. CMN_ERR_TOO_LARGE: over a bound of the whole. */
CMN_CHECKED enum cmn_status pack_maker_encode(struct pack_maker *maker, struct cmn_buffer *ret);

/* What reading and making packs share: lengths, order, which fields there are, identities. */
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
