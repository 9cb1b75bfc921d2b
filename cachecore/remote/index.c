/* SPDX-License-Identifier: MIT */
/* index: one encoding of each list; bounds first, then the signature. */
#include "cachecore/remote/index.h"

#include <stdio.h>
#include <string.h>

#include "cachecore/remote/trust.h"

#define SIGNATURE_AT (CC_INDEX_HEADER_SIZE - CC_SODIUM_SIGNATURE_SIZE)
#define ID_AT (SIGNATURE_AT - CC_SODIUM_HASH_SIZE)
/* Of a key's id and of a program's hash, in a name: enough to tell them apart. */
#define NAME_BYTES 16

enum seal {
	SEAL_NONE = 0,
	SEAL_ED25519 = 1,
};

static const uint8_t magic[8] = { 'c', 'k', 'c', 'i', 'd', 'x', '\r', '\n' };
/* Names what is signed: a signature of an entry is never valid here, nor the other way round. */
static const uint8_t purpose[CC_INDEX_MESSAGE_SIZE - CC_SODIUM_HASH_SIZE] =
	"ckcache remote index, 1";
static const uint8_t zeros[CC_SODIUM_HASH_SIZE + CC_SODIUM_SIGNATURE_SIZE];

void cc_index_name(const uint8_t *key_id, const char *program, char ret[CC_INDEX_NAME_SIZE])
{
	size_t len = (size_t)snprintf(ret, CC_INDEX_NAME_SIZE, "ckcache-1-index");	/* it fits */
	struct cmn_hash hash;

	if (key_id)
		ret[len++] = '-';
	for (size_t i = 0; key_id && i < NAME_BYTES; i++)
		len += (size_t)snprintf(ret + len, CC_INDEX_NAME_SIZE - len, "%02x", key_id[i]);
	ret[len] = '\0';
	if (!program)
		return;
	hash = cmn_hash_of(program, strlen(program));
	(void)snprintf(ret + len, CC_INDEX_NAME_SIZE - len, ".%016llx",
		       (unsigned long long)cmn_hash_u64(&hash));	/* it fits */
}

static void put_number(uint8_t *at, uint64_t value, unsigned int width)
{
	for (unsigned int i = 0; i < width; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

enum cmn_status cc_index_header(struct cmn_view hashes, const uint8_t *key_id,
				uint8_t ret[CC_INDEX_HEADER_SIZE])
{
	if (hashes.len % CMN_HASH_SIZE || hashes.len / CMN_HASH_SIZE > CC_INDEX_MAX_COUNT)
		return CMN_ERR_INVALID;
	memcpy(ret, magic, sizeof(magic));
	put_number(ret + 8, CC_INDEX_VERSION, 4);
	put_number(ret + 12, key_id ? SEAL_ED25519 : SEAL_NONE, 4);
	put_number(ret + 16, hashes.len / CMN_HASH_SIZE, 8);
	put_number(ret + 24, 0, 8);
	memcpy(ret + ID_AT, zeros, sizeof(zeros));
	if (key_id)
		memcpy(ret + ID_AT, key_id, CC_SODIUM_HASH_SIZE);
	return CMN_OK;
}

enum cmn_status cc_index_message(const uint8_t header[CC_INDEX_HEADER_SIZE], struct cmn_view hashes,
				 uint8_t ret[CC_INDEX_MESSAGE_SIZE])
{
	const struct cmn_view parts[] = {
		{ header, SIGNATURE_AT }, { zeros, CC_SODIUM_SIGNATURE_SIZE }, hashes,
	};
	uint8_t hash[CC_SODIUM_HASH_SIZE];
	enum cmn_status status = cc_sodium_hash(parts, sizeof(parts) / sizeof(parts[0]), hash);

	if (status != CMN_OK)
		return status;
	memcpy(ret, purpose, sizeof(purpose));
	memcpy(ret + sizeof(purpose), hash, sizeof(hash));
	return CMN_OK;
}

void cc_index_set_signature(uint8_t header[CC_INDEX_HEADER_SIZE],
			    const uint8_t signature[CC_SODIUM_SIGNATURE_SIZE])
{
	memcpy(header + SIGNATURE_AT, signature, CC_SODIUM_SIGNATURE_SIZE);
}

static enum cmn_status check_signature(const uint8_t *header, struct cmn_view hashes,
				       const uint8_t *public_key)
{
	uint8_t id[CC_SODIUM_HASH_SIZE], message[CC_INDEX_MESSAGE_SIZE];
	enum cmn_status status = cc_trust_key_id(public_key, id);

	if (status != CMN_OK)
		return status;
	if (memcmp(header + ID_AT, id, sizeof(id)) != 0)
		return CMN_ERR_ACCESS;
	status = cc_index_message(header, hashes, message);
	if (status != CMN_OK)
		return status;
	return cc_sodium_verify(header + SIGNATURE_AT,
				(struct cmn_view){ message, sizeof(message) }, public_key);
}

enum cmn_status cc_index_check(struct cmn_view index, const uint8_t public_key[CC_SODIUM_KEY_SIZE],
			       struct cmn_view *ret_hashes)
{
	struct cmn_reader reader = cmn_reader_of(index);
	struct cmn_view seen_magic = cmn_reader_bytes(&reader, sizeof(magic)), found, hashes;
	uint32_t version = cmn_reader_u32(&reader), seal = cmn_reader_u32(&reader);
	uint64_t count = cmn_reader_u64(&reader), zero = cmn_reader_u64(&reader);
	enum cmn_status status = CMN_OK;

	found = cmn_reader_bytes(&reader, sizeof(zeros));
	if (reader.failed || memcmp(seen_magic.data, magic, sizeof(magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (version != CC_INDEX_VERSION)
		return CMN_ERR_VERSION;
	if (zero || count > CC_INDEX_MAX_COUNT || count * CMN_HASH_SIZE != reader.left)
		return CMN_ERR_CORRUPT;
	hashes = cmn_reader_bytes(&reader, count * CMN_HASH_SIZE);
	if (seal == SEAL_NONE && memcmp(found.data, zeros, sizeof(zeros)) != 0)
		return CMN_ERR_CORRUPT;
	if (seal != SEAL_NONE && seal != SEAL_ED25519)
		return CMN_ERR_CORRUPT;
	if (public_key && seal != SEAL_ED25519)
		status = CMN_ERR_ACCESS;
	else if (public_key)
		status = check_signature(index.data, hashes, public_key);
	if (status == CMN_OK)
		*ret_hashes = hashes;
	return status;
}
