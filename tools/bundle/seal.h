/* SPDX-License-Identifier: MIT */
/*
 * seal: the signature of a bundle: of 32 bytes that name the purpose, "ckcache
 * bundle signature, 1" padded with zeros, and the SHA-256 of the bundle, so that a
 * key's signature of something else is never valid for a bundle.
 */
#ifndef TOOLS_BUNDLE_SEAL_H
#define TOOLS_BUNDLE_SEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/disk/bundle.h"
#include "tools/key/signature.h"

/* With a private key. false: complained about. */
bool seal_make(const struct signature_key *key, const uint8_t digest[SIGNATURE_DIGEST_SIZE],
	       struct cc_bundle_signature *ret);
/* Whether this key has signed the bundle with that digest; says nothing. */
bool seal_holds(const struct signature_key *key, const uint8_t digest[SIGNATURE_DIGEST_SIZE],
		const struct cc_bundle_signature *signature);

#endif
