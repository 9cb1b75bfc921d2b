/* SPDX-License-Identifier: MIT */
/*
 * bundle: entries of a store as one stream of bytes, to be carried to another
 * (format version 1, little-endian; docs/FORMAT.md has the reasons):
 *
 *   bundle    = header record* end [signature]
 *   header    = magic[8] version:u32 seal:u32
 *   record    = 1:u32 zero:u32 src_len:u64 bin_len:u64 hash[16] src[src_len] bin[bin_len]
 *   end       = 2:u32 zero:u32 count:u64 before:u64 hash[16]
 *   signature = 3:u32 zero:u32 key_hash[32] signature[64] hash[16]
 *
 * src and bin are the files <n>.src and <n>.bin. This file knows how a bundle
 * is made and what accidents it may have had. It knows no cryptography: who
 * gives the bytes hashes them, makes the signature and says what it is worth.
 * A writer or a reader belongs to one thread.
 */
#ifndef CACHECORE_DISK_BUNDLE_H
#define CACHECORE_DISK_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_BUNDLE_VERSION 1

enum cc_bundle_seal {
	CC_BUNDLE_UNSIGNED = 0,
	CC_BUNDLE_ED25519 = 1,	/* a signature follows the end: RFC 8032, of the bytes before it */
};

struct cc_bundle_signature {
	uint8_t key_hash[32];	/* SHA-256 of the public key's 32 bytes: which key to try, no proof */
	uint8_t bytes[64];
};

/* Writes all bytes, or says why not. */
typedef enum cmn_status (*cc_bundle_write_fn)(void *ctx, const void *data, size_t len);

struct cc_bundle_writer {
	cc_bundle_write_fn write;
	void *ctx;
	struct cmn_hash chain;	/* of all before */
	uint64_t count, bytes;
};

/* In this order: begin, add for each entry, end; then sign, where begin said so. They fail as write does, or: */
CMN_CHECKED enum cmn_status cc_bundle_writer_begin(struct cc_bundle_writer *writer,
						   enum cc_bundle_seal seal,
						   cc_bundle_write_fn write, void *ctx);
/* An entry's two files, which the caller has verified. CMN_ERR_INVALID: of no possible length; nothing was written. */
CMN_CHECKED enum cmn_status cc_bundle_writer_add(struct cc_bundle_writer *writer,
						 struct cmn_view src, struct cmn_view bin);
CMN_CHECKED enum cmn_status cc_bundle_writer_end(struct cc_bundle_writer *writer);
CMN_CHECKED enum cmn_status cc_bundle_writer_sign(struct cc_bundle_writer *writer,
						  const struct cc_bundle_signature *signature);

/* Reads exactly len bytes, or says why not; CMN_ERR_CORRUPT: there are fewer. */
typedef enum cmn_status (*cc_bundle_read_fn)(void *ctx, void *data, size_t len);

struct cc_bundle_reader {
	cc_bundle_read_fn read;
	void *ctx;
	enum cc_bundle_seal seal;
	struct cmn_hash chain;
	uint64_t count, bytes;	/* read so far */
	uint64_t left;		/* of the whole bundle */
};

/*
 * size: of the whole bundle, which bounds every length in it before anything
 * is allocated. All three: CMN_ERR_CORRUPT, CMN_ERR_VERSION (made by another
 * version), CMN_ERR_NOMEM, or what read said; reading ends there.
 */
CMN_CHECKED enum cmn_status cc_bundle_reader_begin(struct cc_bundle_reader *reader, uint64_t size,
						   cc_bundle_read_fn read, void *ctx);
/*
 * The next entry's files, whole as they were when the bundle was written, into
 * buffers whose content is dropped and which the caller releases in any case.
 * CMN_MISS: there are no more, and none is missing; what read gave up to here
 * is what a signature is of.
 */
CMN_CHECKED enum cmn_status cc_bundle_reader_next(struct cc_bundle_reader *reader,
						  struct cmn_buffer *src, struct cmn_buffer *bin);
/* After that CMN_MISS. CMN_OK: *ret is the signature, not yet checked; CMN_MISS: none. Also sees that nothing follows. */
CMN_CHECKED enum cmn_status cc_bundle_reader_finish(struct cc_bundle_reader *reader,
						    struct cc_bundle_signature *ret);

/* Whether files of these lengths could be an entry's. If so, their sum does not overflow. */
bool cc_bundle_lengths_possible(uint64_t src_len, uint64_t bin_len);
/*
 * An entry from its two files, verified as a look-up does it, and its key,
 * walked to its end. Takes bin in any case. On success the caller owns both.
 * CMN_ERR_CORRUPT, CMN_ERR_VERSION, CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_bundle_decode(struct cmn_view src, struct cmn_buffer *bin,
					     struct cc_key *ret_key, struct cc_entry **ret);
/* Whether they are an entry, by a copy of bin. ret_key: the hash of its key; may be NULL. Statuses as above. */
CMN_CHECKED enum cmn_status cc_bundle_check(struct cmn_view src, struct cmn_view bin,
					    struct cmn_hash *ret_key);

#endif
