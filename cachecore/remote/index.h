/* SPDX-License-Identifier: MIT */
/*
 * index: a list of remote names, since storage helpers cannot list what a server
 * has (format version 1, little-endian). `ckcache push` stores one for each key
 * that signs, `ckcache pull` reads those of the keys that it trusts:
 *
 *   index = magic[8] version:u32 seal:u32 count:u64 zero:u64
 *           key_id[32] signature[64] hash[16]*count
 *
 * hash: of an entry's key, as its remote name has it (value.h), newest first. An
 * unsigned index has zeros for key_id and signature. The signature is Ed25519 of
 * 64 bytes: "ckcache remote index, 1" padded with zeros to 32, and the
 * BLAKE2b-256 of the whole index with zeros for the signature. What is listed is
 * only where to look: each entry is verified by itself. Pure; thread-safe.
 */
#ifndef CACHECORE_REMOTE_INDEX_H
#define CACHECORE_REMOTE_INDEX_H

#include <stdint.h>

#include "cachecore/remote/sodium.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_INDEX_VERSION 1
#define CC_INDEX_HEADER_SIZE 128
#define CC_INDEX_MESSAGE_SIZE 64
#define CC_INDEX_NAME_SIZE 80		/* with the terminator */
#define CC_INDEX_MAX_COUNT 65536
#define CC_INDEX_MAX_SIZE (CC_INDEX_HEADER_SIZE + (size_t)CC_INDEX_MAX_COUNT * CMN_HASH_SIZE)

/*
 * The name under which it is stored. key_id: as of a remote value; NULL: unsigned.
 * program: of those entries that this program used; NULL: of all.
 */
void cc_index_name(const uint8_t *key_id, const char *program, char ret[CC_INDEX_NAME_SIZE]);

/*
 * To store one, send the header and the hashes. The header of a signed one is complete
 * after _set_signature, with the signature of _message's bytes.
 * CMN_ERR_INVALID: not so many hashes, or part of one.
 */
CMN_CHECKED enum cmn_status cc_index_header(struct cmn_view hashes, const uint8_t *key_id,
					    uint8_t ret[CC_INDEX_HEADER_SIZE]);
/* What is to be signed. CMN_MISS: libsodium is missing. */
CMN_CHECKED enum cmn_status cc_index_message(const uint8_t header[CC_INDEX_HEADER_SIZE],
					     struct cmn_view hashes,
					     uint8_t ret[CC_INDEX_MESSAGE_SIZE]);
void cc_index_set_signature(uint8_t header[CC_INDEX_HEADER_SIZE],
			    const uint8_t signature[CC_SODIUM_SIGNATURE_SIZE]);

/*
 * The hashes of an index (borrowed, CMN_HASH_SIZE bytes each) that the owner of this public key
 * has signed. public_key NULL: of an unsigned one. CMN_ERR_CORRUPT: it is none; CMN_ERR_VERSION:
 * of another version; CMN_ERR_ACCESS: not signed with that key; CMN_MISS: no libsodium.
 */
CMN_CHECKED enum cmn_status cc_index_check(struct cmn_view index,
					   const uint8_t public_key[CC_SODIUM_KEY_SIZE],
					   struct cmn_view *ret_hashes);

#endif
