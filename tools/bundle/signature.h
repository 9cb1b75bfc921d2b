/* SPDX-License-Identifier: MIT */
/*
 * signature: SHA-256 of a stream, and Ed25519 signatures (RFC 8032) of such
 * digests, with keys from PEM files as openssl makes them. The only file that
 * knows OpenSSL. It signs 32 bytes that name the purpose, "ckcache bundle
 * signature, 1" padded with zeros, and the digest, so that a key's signature of
 * something else is never valid for a bundle. Prints messages about failures.
 */
#ifndef TOOLS_BUNDLE_SIGNATURE_H
#define TOOLS_BUNDLE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/disk/bundle.h"

enum { SIGNATURE_DIGEST_SIZE = 32 };

/* A running SHA-256. NULL: out of memory, complained about. */
struct signature_digest;
struct signature_digest *signature_digest_new(void);
void signature_digest_free(struct signature_digest *digest);	/* NULL is fine */
CMN_CHECKED enum cmn_status signature_digest_update(struct signature_digest *digest,
						    const void *data, size_t len);
/* Of all bytes so far; more may follow. */
CMN_CHECKED enum cmn_status signature_digest_get(const struct signature_digest *digest,
						 uint8_t ret[SIGNATURE_DIGEST_SIZE]);

/*
 * NULL: no such file, no such key in it, or another kind of key. A private key
 * that others can read is refused, and so is one with a passphrase where there is
 * no terminal to ask on.
 */
struct signature_key;
struct signature_key *signature_key_read_private(const char *path);
struct signature_key *signature_key_read_public(const char *path);
void signature_key_free(struct signature_key *key);	/* NULL is fine */
/* SHA-256 of the public key's 32 bytes; borrowed. */
const uint8_t *signature_key_hash(const struct signature_key *key);

/* With a private key. false: complained about. */
bool signature_make(const struct signature_key *key, const uint8_t digest[SIGNATURE_DIGEST_SIZE],
		    struct cc_bundle_signature *ret);
/* Whether this key has signed that digest; says nothing. */
bool signature_holds(const struct signature_key *key, const uint8_t digest[SIGNATURE_DIGEST_SIZE],
		     const struct cc_bundle_signature *signature);

#endif
