/* SPDX-License-Identifier: MIT */
/*
 * seal: who vouches for bytes. What carries a signature (value.h, index.h) begins
 * with a header of this form, little-endian:
 *
 *   header = magic[8] version:u32 seal:u32 a:u64 b:u64 key_id[32] signature[64]
 *
 * a and b are the kind's own. seal 0: unsigned, with zeros for key_id and signature.
 * 1: key_id is BLAKE2b-256 of the public key's 32 bytes, and the signature is Ed25519
 * (RFC 8032, without a context) of 64 bytes: the kind's purpose padded with zeros to 32,
 * and the BLAKE2b-256 of everything with zeros for the signature. Pure; thread-safe.
 */
#ifndef CACHECORE_REMOTE_SEAL_H
#define CACHECORE_REMOTE_SEAL_H

#include <stdint.h>

#include "cachecore/remote/sodium.h"
#include "common/bytes.h"
#include "common/status.h"

#define CC_SEAL_VERSION 1	/* of each kind */
#define CC_SEAL_HEADER_SIZE 128

struct cc_seal_kind {
	uint8_t magic[8];
	/* Of this kind alone, so that a signature of another kind is never valid for it. */
	uint8_t purpose[32];
};

/* A private key, to sign with. */
struct cc_signer {
	uint8_t secret[CC_SODIUM_SECRET_SIZE];	/* ends with the public key */
	uint8_t key_id[CC_SODIUM_HASH_SIZE];
};

/* From what a key's file has. CMN_MISS: no libsodium. */
CMN_CHECKED enum cmn_status cc_signer_of(const uint8_t seed[CC_SODIUM_SEED_SIZE],
					 struct cc_signer *ret);
static inline const uint8_t *cc_signer_public(const struct cc_signer *signer)
{
	return signer->secret + CC_SODIUM_SECRET_SIZE - CC_SODIUM_KEY_SIZE;
}

/* The header of these views' bytes. signer NULL: unsigned. CMN_MISS: it takes libsodium to sign. */
CMN_CHECKED enum cmn_status cc_seal_make(const struct cc_seal_kind *kind, uint64_t a, uint64_t b,
					 const struct cmn_view *views, size_t count,
					 const struct cc_signer *signer,
					 uint8_t ret[CC_SEAL_HEADER_SIZE]);

struct cc_seal {
	uint64_t a, b;
	const uint8_t *key_id;	/* in the header; NULL: unsigned */
};
/* Whether it is such a header; no signature is looked at. CMN_ERR_CORRUPT, CMN_ERR_VERSION. */
CMN_CHECKED enum cmn_status cc_seal_read(const struct cc_seal_kind *kind,
					 const uint8_t header[CC_SEAL_HEADER_SIZE],
					 struct cc_seal *ret);
/* The hash that is signed. CMN_MISS: no libsodium. */
CMN_CHECKED enum cmn_status cc_seal_hash(const uint8_t header[CC_SEAL_HEADER_SIZE],
					 const struct cmn_view *views, size_t count,
					 uint8_t ret[CC_SODIUM_HASH_SIZE]);
/* CMN_OK: the owner of this public key has signed these bytes for this purpose. CMN_ERR_ACCESS, CMN_MISS. */
CMN_CHECKED enum cmn_status cc_seal_verify(const struct cc_seal_kind *kind,
					   const uint8_t header[CC_SEAL_HEADER_SIZE],
					   const struct cmn_view *views, size_t count,
					   const uint8_t public_key[CC_SODIUM_KEY_SIZE]);

#endif
