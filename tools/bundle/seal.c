/* SPDX-License-Identifier: MIT */
/* seal: what a bundle's key signs. */
#include "tools/bundle/seal.h"

#include <string.h>

struct message {
	uint8_t purpose[32];
	uint8_t digest[SIGNATURE_DIGEST_SIZE];
};

static struct message make_message(const uint8_t digest[SIGNATURE_DIGEST_SIZE])
{
	struct message message = { .purpose = "ckcache bundle signature, 1" };

	memcpy(message.digest, digest, sizeof(message.digest));
	return message;
}

bool seal_make(const struct signature_key *key, const uint8_t digest[SIGNATURE_DIGEST_SIZE],
	       struct cc_bundle_signature *ret)
{
	const struct message message = make_message(digest);

	if (!signature_make(key, (struct cmn_view){ &message, sizeof(message) }, ret->bytes))
		return false;
	memcpy(ret->key_hash, signature_key_hash(key), sizeof(ret->key_hash));
	return true;
}

bool seal_holds(const struct signature_key *key, const uint8_t digest[SIGNATURE_DIGEST_SIZE],
		const struct cc_bundle_signature *signature)
{
	const struct message message = make_message(digest);

	return signature_holds(key, (struct cmn_view){ &message, sizeof(message) },
			       signature->bytes);
}
