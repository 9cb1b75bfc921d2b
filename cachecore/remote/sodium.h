/* SPDX-License-Identifier: MIT */
/*
 * sodium: BLAKE2b-256 and Ed25519 (RFC 8032), by libsodium. The only file that
 * knows it. The first call loads the library, so that a process that needs no
 * signature gains none; where it is missing, every later call says so at once.
 * Thread-safe.
 */
#ifndef CACHECORE_REMOTE_SODIUM_H
#define CACHECORE_REMOTE_SODIUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/status.h"

#define CC_SODIUM_HASH_SIZE 32
#define CC_SODIUM_KEY_SIZE 32		/* a public key */
#define CC_SODIUM_SEED_SIZE 32		/* a private key, as files have it */
#define CC_SODIUM_SECRET_SIZE 64	/* the same as it signs: the seed, then the public key */
#define CC_SODIUM_SIGNATURE_SIZE 64

/* Whether libsodium is on this machine. */
bool cc_sodium_available(void);
/* BLAKE2b-256 of bytes that come one after another. The state is libsodium's. */
struct cc_sodium_hash {
	_Alignas(64) uint8_t state[384];
};
/* CMN_MISS: libsodium is missing; then the hash is not to be used. */
CMN_CHECKED enum cmn_status cc_sodium_hash_begin(struct cc_sodium_hash *hash);
void cc_sodium_hash_add(struct cc_sodium_hash *hash, const void *data, size_t len);
void cc_sodium_hash_end(struct cc_sodium_hash *hash, uint8_t ret[CC_SODIUM_HASH_SIZE]);
/* CMN_OK: the key's owner signed this message. CMN_ERR_ACCESS: no. CMN_MISS: no libsodium. */
CMN_CHECKED enum cmn_status cc_sodium_verify(const uint8_t signature[CC_SODIUM_SIGNATURE_SIZE],
					     struct cmn_view message,
					     const uint8_t key[CC_SODIUM_KEY_SIZE]);
/* Both: CMN_MISS: no libsodium. */
CMN_CHECKED enum cmn_status cc_sodium_secret(const uint8_t seed[CC_SODIUM_SEED_SIZE],
					     uint8_t ret[CC_SODIUM_SECRET_SIZE]);
CMN_CHECKED enum cmn_status cc_sodium_sign(const uint8_t secret[CC_SODIUM_SECRET_SIZE],
					   struct cmn_view message,
					   uint8_t ret[CC_SODIUM_SIGNATURE_SIZE]);

#endif
