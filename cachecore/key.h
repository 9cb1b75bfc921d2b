/* SPDX-License-Identifier: MIT */
/*
 * key: what identifies a build, as named fields in four parts, which are the
 * four directory levels of the store (the SYCL KernelProgramCache document,
 * "Persistent cache storage structure"). Callers choose the fields; this file
 * alone chooses how they are encoded:
 *
 *   key   = version:u32 field*
 *   field = part:u8 name_len:u8 name[name_len] value_len:u64 value[value_len]
 *
 * Fields of one part are ordered by insertion; two keys are equal when their
 * encodings are. A key belongs to one thread at a time.
 */
#ifndef CACHECORE_KEY_H
#define CACHECORE_KEY_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cachecore/include_paths.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_KEY_VERSION 1

enum cc_part {
	CC_PART_DEVICE,		/* device, driver, compiler */
	CC_PART_IMAGE,		/* source or intermediate language */
	CC_PART_CONSTANTS,	/* specialization constants */
	CC_PART_OPTIONS,	/* build options, environment */
	CC_PART_COUNT,
};

struct cc_key {
	struct cmn_buffer encoded;
	struct cmn_hash folded[CC_PART_COUNT];	/* of the fields in its first folded_len bytes */
	size_t folded_len;			/* 0: not known */
	bool bad_name;
	struct cc_include_paths include_paths;	/* that its options name, for which it has numbers */
	size_t local_len;	/* so many bytes after the encoding: these paths */
};

/* An empty key. Failures show in cc_key_status. */
static inline void cc_key_init(struct cc_key *key)
{
	*key = (struct cc_key){ 0 };
	cmn_buffer_append_u32(&key->encoded, CC_KEY_VERSION);
}

/* Of such a size malloc may give the pages back each time. */
#define CC_KEY_LARGE ((size_t)64 << 10)

/* Room for so many more bytes at once; a large key moves into a block of slabs. Else it grows in steps. */
static inline void cc_key_reserve(struct cc_key *key, struct cmn_slabs *slabs, size_t len)
{
	if (len < CC_KEY_LARGE || !cmn_buffer_reserve_in(&key->encoded, slabs, key->encoded.len + len))
		(void)cmn_buffer_reserve(&key->encoded, len);
}

/* Begins with a copy of another key's fields. */
void cc_key_init_copy(struct cc_key *key, const struct cc_key *from);
static inline void cc_key_release(struct cc_key *key)
{
	cmn_buffer_release(&key->encoded);
}

struct cc_key_field {
	enum cc_part part;
	struct cmn_view name;	/* not terminated */
	struct cmn_view value;
};
/* Adds a field that was read, of any name that a field can have. */
void cc_key_add_field(struct cc_key *key, const struct cc_key_field *field);

/* name: 1 to 255 bytes, from the caller's fixed vocabulary or a library's or variable's name. */
static inline void cc_key_add(struct cc_key *key, enum cc_part part, const char *name, const void *data, size_t len)
{
	cc_key_add_field(key, &(struct cc_key_field){ part, cmn_view_of(name), { data, len } });
}

static inline void cc_key_add_text(struct cc_key *key, enum cc_part part, const char *name,
				   const char *text)
{
	cc_key_add(key, part, name, text, text ? strlen(text) : 0);
}

/* Eight bytes, little-endian. */
static inline void cc_key_add_u64(struct cc_key *key, enum cc_part part, const char *name,
				  uint64_t value)
{
	const uint64_t bytes = htole64(value);

	cc_key_add(key, part, name, &bytes, sizeof(bytes));
}

/* Appends all fields of another key, in their order. */
void cc_key_add_fields(struct cc_key *key, const struct cc_key *from);
/* For a key with which many others begin: hashes its fields now, so that those need not. */
void cc_key_fold(struct cc_key *key);
/* Whether a value is a number below 2^56 as cc_key_add_u64 writes it: no text ends with a zero byte. */
bool cc_key_is_number(struct cmn_view value, uint64_t *ret);
/* CMN_OK, or what went wrong since init (memory, a bad name). */
CMN_CHECKED static inline enum cmn_status cc_key_status(const struct cc_key *key)
{
	if (key->encoded.failed)
		return CMN_ERR_NOMEM;
	return key->bad_name ? CMN_ERR_INVALID : CMN_OK;
}

/* The encoding, borrowed. */
static inline struct cmn_view cc_key_view(const struct cc_key *key)
{
	return cmn_buffer_view(&key->encoded);
}

/*
 * The encoding and the include paths, borrowed: who builds with others meanwhile, perhaps from other files, is
 * not to be waited for.
 */
static inline struct cmn_view cc_key_local_view(const struct cc_key *key)
{
	return (struct cmn_view){ key->encoded.data, key->encoded.len + key->local_len };
}

/*
 * The hash of each part's fields, wherever they are in the encoding. A pure
 * function of the encoding; if that is damaged, of the fields that can be read.
 */
void cc_key_part_hashes(struct cmn_view encoded, struct cmn_hash ret[CC_PART_COUNT]);
/* The same of a key. */
void cc_key_hashes(const struct cc_key *key, struct cmn_hash ret[CC_PART_COUNT]);

/*
 * These walk an encoding, also one from disk: bounds are checked. CMN_OK and the first field's reader;
 * CMN_ERR_VERSION, CMN_ERR_CORRUPT.
 */
CMN_CHECKED enum cmn_status cc_key_read(struct cmn_view encoded, struct cmn_reader *ret_reader);
/* CMN_OK: *ret is the next field. CMN_MISS: there are no more. CMN_ERR_CORRUPT. */
CMN_CHECKED enum cmn_status cc_key_next(struct cmn_reader *reader, struct cc_key_field *ret);
/* Walks an encoded key to its end: whether every field can be read. CMN_OK, else as the two above. */
CMN_CHECKED enum cmn_status cc_key_check(struct cmn_view encoded);
/* The value of the i-th field of that name; its data is NULL if there is none. */
struct cmn_view cc_key_find(struct cmn_view encoded, const char *name, unsigned int i);

#endif
