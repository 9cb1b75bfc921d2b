/* SPDX-License-Identifier: MIT */
/*
 * src_file: the encoding of <n>.src, which says whose result <n>.bin is.
 *
 *   file = magic[8] version:u32 zero:u32 key_len:u64 manifest_len:u64
 *          hash[16] key manifest
 *   hash = hash(hash(all before it) hash(all after it))
 *
 * The same key and manifest always give the same bytes, so that a .bin may be
 * replaced alone. Pure functions.
 */
#ifndef CACHECORE_DISK_SRC_FILE_H
#define CACHECORE_DISK_SRC_FILE_H

#include <stdint.h>

#include "cachecore/manifest.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_SRC_VERSION 1
#define CC_SRC_HEADER_SIZE 48
/* Sources and manifests together; no file is larger, whatever it claims. */
#define CC_SRC_MAX_FILE (UINT64_C(1) << 30)

struct cc_src {
	struct cmn_view key;		/* borrowed from the file's bytes */
	struct cmn_view manifest;	/* empty: no dependencies */
	struct cmn_hash hash;		/* what the .bin carries as key_hash */
};

/* manifest may be NULL. CMN_ERR_NOMEM, CMN_ERR_TOO_LARGE. */
CMN_CHECKED enum cmn_status cc_src_file_encode(struct cmn_view key,
					       const struct cc_manifest *manifest,
					       struct cmn_buffer *ret, struct cmn_hash *ret_hash);
/* CMN_ERR_CORRUPT, CMN_ERR_VERSION. */
CMN_CHECKED enum cmn_status cc_src_file_decode(struct cmn_view file, struct cc_src *ret);

/*
 * The same in pieces, where the file's key is one that the caller has: the
 * header (CC_SRC_HEADER_SIZE bytes) of a file of that size, for the lengths of
 * what follows it; and in the end, with the manifest, whether the hash fits.
 */
struct cc_src_header {
	uint64_t key_len, manifest_len;
	struct cmn_hash hash;
};
CMN_CHECKED enum cmn_status cc_src_file_read_header(struct cmn_view bytes, uint64_t file_size,
						    struct cc_src_header *ret);
/* CMN_ERR_CORRUPT, CMN_ERR_NOMEM. *ret borrows key and manifest. */
CMN_CHECKED enum cmn_status cc_src_file_check(struct cmn_view header, struct cmn_view key,
					      struct cmn_view manifest, struct cc_src *ret);

#endif
