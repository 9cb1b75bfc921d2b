/* SPDX-License-Identifier: MIT */
/*
 * key_summary: a short form of a key's fields, to compare keys whose full text is
 * not available. A short value is kept as it is; of a long one the summary has the
 * size, the hash, and hashes of its lines (or blocks), to tell where two texts
 * differ.
 *
 *   outline = field*
 *   field   = part:u8 form:u8 name_len:u8 name[name_len] value
 *   value   = len:u64 bytes[len]                                   (form 0)
 *           | len:u64 hash[16] unit:u32 per:u32 count:u32 u32*     (form 1)
 *
 * unit: 1 lines, 0 bytes; each of the count hashes is of `per` units, the last
 * one of what is left. Pure functions.
 */
#ifndef CACHECORE_RECORD_KEY_SUMMARY_H
#define CACHECORE_RECORD_KEY_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/key.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

/* More of a text than this is told by larger blocks: 1 kB for each long field. */
#define CC_KEY_SUMMARY_MAX_HASHES 256

struct cc_key_summary_field {
	enum cc_part part;
	struct cmn_view name;	/* not terminated; this and the next two are borrowed */
	bool whole;		/* value is it all; else hash and the rest speak for it */
	struct cmn_view value;
	uint64_t len;
	struct cmn_hash hash;	/* of the value, in both forms */
	bool lines;
	uint32_t per, count;
	const uint8_t *hashes;	/* count of them */
};

/* Appends the fields of one part of an encoded key; of a damaged one, as far as it can be read. */
void cc_key_summary_append_part(struct cmn_buffer *buf, struct cmn_view key, enum cc_part part);
/* Appends all fields. */
void cc_key_summary_append(struct cmn_buffer *buf, struct cmn_view key);
/* One field whose value is known by its size and hash alone. */
void cc_key_summary_append_hashed(struct cmn_buffer *buf, enum cc_part part, struct cmn_view name,
			      uint64_t len, const struct cmn_hash *hash);
/* One field of that value. */
void cc_key_summary_append_value(struct cmn_buffer *buf, enum cc_part part, struct cmn_view name,
			     struct cmn_view value);

/* Bounds are checked. CMN_OK: *ret is the next field. CMN_MISS: there are no more. CMN_ERR_CORRUPT. */
CMN_CHECKED enum cmn_status cc_key_summary_next(struct cmn_reader *reader,
					    struct cc_key_summary_field *ret);

bool cc_key_summary_equal(const struct cc_key_summary_field *a, const struct cc_key_summary_field *b);
/*
 * Where two different values differ first: the line, from 1, of b. *ret_more:
 * as many lines more may be meant (a block of them is known to differ); 0: exactly
 * that one. false: it cannot be told.
 */
bool cc_key_summary_first_line(const struct cc_key_summary_field *a, const struct cc_key_summary_field *b,
			   uint64_t *ret_line, uint64_t *ret_more);
/* What share of b's lines or blocks a has too, from 0 to 1; 0 where it cannot be told. */
double cc_key_summary_alike(const struct cc_key_summary_field *a, const struct cc_key_summary_field *b);

#endif
