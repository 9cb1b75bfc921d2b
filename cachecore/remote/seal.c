/* SPDX-License-Identifier: MIT */
/* seal: one encoding of each header; the same bytes are hashed to sign and to verify. */
#include "cachecore/remote/seal.h"

#include <string.h>

#include "cachecore/remote/trust.h"

#define SIGNATURE_AT (CC_SEAL_HEADER_SIZE - CC_SODIUM_SIGNATURE_SIZE)
#define KEY_ID_AT (SIGNATURE_AT - CC_SODIUM_HASH_SIZE)

enum {
	SEAL_NONE = 0,
	SEAL_ED25519 = 1,
};

struct message {
	uint8_t purpose[32];
	uint8_t hash[CC_SODIUM_HASH_SIZE];
};
_Static_assert(sizeof(struct message) == 64, "two arrays without padding");

static const uint8_t zeros[CC_SODIUM_HASH_SIZE + CC_SODIUM_SIGNATURE_SIZE];

enum cmn_status cc_signer_of(const uint8_t seed[CC_SODIUM_SEED_SIZE], struct cc_signer *ret)
{
	enum cmn_status status = cc_sodium_secret(seed, ret->secret);

	if (status == CMN_OK)
		status = cc_trust_key_id(cc_signer_public(ret), ret->key_id);
	return status;
}

enum cmn_status cc_seal_hash(const uint8_t header[CC_SEAL_HEADER_SIZE],
			     const struct cmn_view *views, size_t count,
			     uint8_t ret[CC_SODIUM_HASH_SIZE])
{
	struct cc_sodium_hash hash;
	enum cmn_status status = cc_sodium_hash_begin(&hash);

	if (status != CMN_OK)
		return status;
	cc_sodium_hash_add(&hash, header, SIGNATURE_AT);
	cc_sodium_hash_add(&hash, zeros, CC_SODIUM_SIGNATURE_SIZE);
	for (size_t i = 0; i < count; i++)
		cc_sodium_hash_add(&hash, views[i].data, views[i].len);
	cc_sodium_hash_end(&hash, ret);
	return CMN_OK;
}

static struct message message_of(const struct cc_seal_kind *kind, const uint8_t *hash)
{
	struct message message;

	memcpy(message.purpose, kind->purpose, sizeof(message.purpose));
	memcpy(message.hash, hash, sizeof(message.hash));
	return message;
}

static void put_number(uint8_t *at, uint64_t value, unsigned int width)
{
	for (unsigned int i = 0; i < width; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

enum cmn_status cc_seal_make(const struct cc_seal_kind *kind, uint64_t a, uint64_t b,
			     const struct cmn_view *views, size_t count,
			     const struct cc_signer *signer, uint8_t ret[CC_SEAL_HEADER_SIZE])
{
	uint8_t hash[CC_SODIUM_HASH_SIZE];
	struct message message;
	enum cmn_status status;

	memcpy(ret, kind->magic, sizeof(kind->magic));
	put_number(ret + 8, CC_SEAL_VERSION, 4);
	put_number(ret + 12, signer ? SEAL_ED25519 : SEAL_NONE, 4);
	put_number(ret + 16, a, 8);
	put_number(ret + 24, b, 8);
	memcpy(ret + KEY_ID_AT, zeros, sizeof(zeros));
	if (!signer)
		return CMN_OK;
	memcpy(ret + KEY_ID_AT, signer->key_id, sizeof(signer->key_id));
	status = cc_seal_hash(ret, views, count, hash);
	if (status != CMN_OK)
		return status;
	message = message_of(kind, hash);
	return cc_sodium_sign(signer->secret, (struct cmn_view){ &message, sizeof(message) },
			      ret + SIGNATURE_AT);
}

enum cmn_status cc_seal_read(const struct cc_seal_kind *kind,
			     const uint8_t header[CC_SEAL_HEADER_SIZE], struct cc_seal *ret)
{
	struct cmn_reader reader = cmn_reader_of((struct cmn_view){ header, CC_SEAL_HEADER_SIZE });
	struct cmn_view magic = cmn_reader_bytes(&reader, sizeof(kind->magic));
	uint32_t version = cmn_reader_u32(&reader), seal = cmn_reader_u32(&reader);
	struct cc_seal found = { .a = cmn_reader_u64(&reader), .b = cmn_reader_u64(&reader) };

	if (memcmp(magic.data, kind->magic, sizeof(kind->magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (version != CC_SEAL_VERSION)
		return CMN_ERR_VERSION;
	/* Another kind of signature would be another version. */
	if (seal == SEAL_ED25519)
		found.key_id = header + KEY_ID_AT;
	else if (seal != SEAL_NONE || memcmp(header + KEY_ID_AT, zeros, sizeof(zeros)) != 0)
		return CMN_ERR_CORRUPT;
	*ret = found;
	return CMN_OK;
}

enum cmn_status cc_seal_verify(const struct cc_seal_kind *kind,
			       const uint8_t header[CC_SEAL_HEADER_SIZE],
			       const struct cmn_view *views, size_t count,
			       const uint8_t public_key[CC_SODIUM_KEY_SIZE])
{
	uint8_t hash[CC_SODIUM_HASH_SIZE];
	struct message message;
	enum cmn_status status = cc_seal_hash(header, views, count, hash);

	if (status != CMN_OK)
		return status;
	message = message_of(kind, hash);
	return cc_sodium_verify(header + SIGNATURE_AT,
				(struct cmn_view){ &message, sizeof(message) }, public_key);
}
