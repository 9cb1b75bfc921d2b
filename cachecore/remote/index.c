/* SPDX-License-Identifier: MIT */
/* index: one encoding of each list; bounds first, then the signature. */
#include "cachecore/remote/index.h"

#include <stdio.h>
#include <string.h>

#include "cachecore/remote/trust.h"

/* Of a key's id and of a program's hash, in a name: enough to tell them apart. */
#define NAME_BYTES 16

static const struct cc_seal_kind kind = {
	{ 'c', 'k', 'c', 'i', 'd', 'x', '\r', '\n' }, "ckcache remote index, 1",
};

void cc_index_name(const uint8_t *key_id, const char *program, char ret[CC_INDEX_NAME_SIZE])
{
	size_t len = (size_t)snprintf(ret, CC_INDEX_NAME_SIZE, "ckcache-1-index");	/* it fits */
	struct cmn_hash hash;

	if (key_id) {
		ret[len++] = '-';
		cmn_hex(key_id, NAME_BYTES, ret + len);
		len += 2 * (size_t)NAME_BYTES;
	}
	if (!program)
		return;
	hash = cmn_hash_of(program, strlen(program));
	(void)snprintf(ret + len, CC_INDEX_NAME_SIZE - len, ".%016llx",
		       (unsigned long long)cmn_hash_u64(&hash));	/* it fits */
}

enum cmn_status cc_index_make(struct cmn_view hashes, const struct cc_signer *signer,
			      uint8_t ret[CC_SEAL_HEADER_SIZE])
{
	if (hashes.len % CMN_HASH_SIZE || hashes.len / CMN_HASH_SIZE > CC_INDEX_MAX_COUNT)
		return CMN_ERR_INVALID;
	return cc_seal_make(&kind, hashes.len / CMN_HASH_SIZE, 0, &hashes, 1, signer, ret);
}

static enum cmn_status check_signature(const uint8_t *header, struct cmn_view hashes,
				       const uint8_t *key_id, const uint8_t *public_key)
{
	uint8_t id[CC_SODIUM_HASH_SIZE];
	enum cmn_status status = cc_trust_key_id(public_key, id);

	if (status != CMN_OK)
		return status;
	if (!key_id || memcmp(key_id, id, sizeof(id)) != 0)
		return CMN_ERR_ACCESS;
	return cc_seal_verify(&kind, header, &hashes, 1, public_key);
}

enum cmn_status cc_index_check(struct cmn_view index, const uint8_t public_key[CC_SODIUM_KEY_SIZE],
			       struct cmn_view *ret_hashes)
{
	struct cmn_reader reader = cmn_reader_of(index);
	struct cmn_view header = cmn_reader_bytes(&reader, CC_SEAL_HEADER_SIZE), hashes;
	struct cc_seal seal;
	enum cmn_status status;

	if (reader.failed)
		return CMN_ERR_CORRUPT;
	status = cc_seal_read(&kind, header.data, &seal);
	if (status != CMN_OK)
		return status;
	/* Bounded first, so that the product cannot overflow. */
	if (seal.b || seal.a > CC_INDEX_MAX_COUNT || seal.a * CMN_HASH_SIZE != reader.left)
		return CMN_ERR_CORRUPT;
	hashes = cmn_reader_bytes(&reader, reader.left);
	if (public_key)
		status = check_signature(header.data, hashes, seal.key_id, public_key);
	if (status == CMN_OK)
		*ret_hashes = hashes;
	return status;
}
