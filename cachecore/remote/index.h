/* SPDX-License-Identifier: MIT */
/*
 * index: a list of remote names, since storage helpers cannot list what a server
 * has (format version 1, little-endian). `ckcache push` stores one for each key
 * that signs, `ckcache pull` reads those of the keys that it trusts:
 *
 *   index = header hash[16]*count
 *
 * header: seal.h's, with a = count and b = 0. hash: of an entry's key, as its remote name
 * has it (value.h), newest first. What is listed is only where to look: each entry is
 * verified by itself. Pure; thread-safe.
 */
#ifndef CACHECORE_REMOTE_INDEX_H
#define CACHECORE_REMOTE_INDEX_H

#include <stdint.h>

#include "cachecore/remote/seal.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_INDEX_NAME_SIZE 80		/* with the terminator */
#define CC_INDEX_MAX_COUNT 65536
#define CC_INDEX_MAX_SIZE (CC_SEAL_HEADER_SIZE + (size_t)CC_INDEX_MAX_COUNT * CMN_HASH_SIZE)

/*
 * The name under which it is stored. key_id: as of a remote value; NULL: unsigned.
 * program: of those entries that this program used; NULL: of all.
 */
void cc_index_name(const uint8_t *key_id, const char *program, char ret[CC_INDEX_NAME_SIZE]);

/*
 * To store one, send the header and the hashes. signer NULL: unsigned. CMN_ERR_INVALID: not so
 * many hashes, or part of one. CMN_MISS: no libsodium to sign.
 */
CMN_CHECKED enum cmn_status cc_index_make(struct cmn_view hashes, const struct cc_signer *signer,
					  uint8_t ret[CC_SEAL_HEADER_SIZE]);

/*
 * The hashes of an index (borrowed, CMN_HASH_SIZE bytes each) that the owner of this public key
 * has signed. public_key NULL: of an unsigned one. CMN_ERR_CORRUPT: it is none; CMN_ERR_VERSION:
 * of another version; CMN_ERR_ACCESS: not signed with that key; CMN_MISS: no libsodium.
 */
CMN_CHECKED enum cmn_status cc_index_check(struct cmn_view index,
					   const uint8_t public_key[CC_SODIUM_KEY_SIZE],
					   struct cmn_view *ret_hashes);

#endif
