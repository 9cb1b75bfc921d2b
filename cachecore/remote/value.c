/* SPDX-License-Identifier: MIT */
/*
 * value: one encoding of each value, checked from its beginning to its end: first
 * the bounds, which cost nothing, then the signature over every byte.
 */
#include "cachecore/remote/value.h"

#include <stdio.h>
#include <string.h>

#include "cachecore/disk/bundle.h"
#include "common/hash.h"

#define SIGNATURE_AT (CC_REMOTE_HEADER_SIZE - CC_SODIUM_SIGNATURE_SIZE)
#define SEAL_AT 12
#define KEY_ID_AT 32
#define NAME_SUFFIX "-ckcache-1"

enum seal {
	SEAL_NONE = 0,
	SEAL_ED25519 = 1,
};

static const uint8_t magic[8] = { 'c', 'k', 'c', 'r', 'e', 'm', '\r', '\n' };
/* Names what is signed, so that a key's signature of anything else is never valid here. */
static const uint8_t purpose[CC_REMOTE_MESSAGE_SIZE - CC_SODIUM_HASH_SIZE] =
	"ckcache remote entry, 1";
static const uint8_t zeros[CC_SODIUM_HASH_SIZE + CC_SODIUM_SIGNATURE_SIZE];

_Static_assert(CC_REMOTE_VERSION == 1, "NAME_SUFFIX has it too");
_Static_assert(CC_REMOTE_NAME_SIZE == sizeof(NAME_SUFFIX) + CMN_HASH_HEX_SIZE - 1, "both texts");

void cc_remote_name(struct cmn_view key, char ret[CC_REMOTE_NAME_SIZE])
{
	const struct cmn_hash hash = cmn_hash_of(key.data, key.len);

	cc_remote_name_of(&hash, ret);
}

void cc_remote_name_of(const struct cmn_hash *hash, char ret[CC_REMOTE_NAME_SIZE])
{
	cmn_hash_hex(hash, ret);
	memcpy(ret + CMN_HASH_HEX_SIZE - 1, NAME_SUFFIX, sizeof(NAME_SUFFIX));
}

static void put_number(uint8_t *at, uint64_t value, unsigned int width)
{
	for (unsigned int i = 0; i < width; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

enum cmn_status cc_remote_value_header(struct cmn_view src, struct cmn_view bin,
				       const uint8_t *key_id, uint8_t ret[CC_REMOTE_HEADER_SIZE])
{
	if (!cc_bundle_lengths_possible(src.len, bin.len))
		return CMN_ERR_INVALID;
	memcpy(ret, magic, sizeof(magic));
	put_number(ret + 8, CC_REMOTE_VERSION, 4);
	put_number(ret + 12, key_id ? SEAL_ED25519 : SEAL_NONE, 4);
	put_number(ret + 16, src.len, 8);
	put_number(ret + 24, bin.len, 8);
	memcpy(ret + 32, zeros, sizeof(zeros));
	if (key_id)
		memcpy(ret + 32, key_id, CC_SODIUM_HASH_SIZE);
	return CMN_OK;
}

void cc_remote_value_hash_header(struct cc_sodium_hash *hash,
				 const uint8_t header[CC_REMOTE_HEADER_SIZE])
{
	cc_sodium_hash_add(hash, header, SIGNATURE_AT);
	cc_sodium_hash_add(hash, zeros, CC_SODIUM_SIGNATURE_SIZE);
}

static enum cmn_status hash_value(const uint8_t header[CC_REMOTE_HEADER_SIZE], struct cmn_view src,
				  struct cmn_view bin, uint8_t ret[CC_SODIUM_HASH_SIZE])
{
	struct cc_sodium_hash hash;
	enum cmn_status status = cc_sodium_hash_begin(&hash);

	if (status != CMN_OK)
		return status;
	cc_remote_value_hash_header(&hash, header);
	cc_sodium_hash_add(&hash, src.data, src.len);
	cc_sodium_hash_add(&hash, bin.data, bin.len);
	cc_sodium_hash_end(&hash, ret);
	return CMN_OK;
}

enum cmn_status cc_remote_value_message(const uint8_t header[CC_REMOTE_HEADER_SIZE],
					struct cmn_view src, struct cmn_view bin,
					uint8_t ret[CC_REMOTE_MESSAGE_SIZE])
{
	memcpy(ret, purpose, sizeof(purpose));
	return hash_value(header, src, bin, ret + sizeof(purpose));
}

void cc_remote_value_set_signature(uint8_t header[CC_REMOTE_HEADER_SIZE],
				   const uint8_t signature[CC_SODIUM_SIGNATURE_SIZE])
{
	memcpy(header + SIGNATURE_AT, signature, CC_SODIUM_SIGNATURE_SIZE);
}

const char *cc_remote_refusal_string(enum cc_remote_refusal refusal)
{
	switch (refusal) {
	case CC_REMOTE_NOT_REFUSED:
		break;
	case CC_REMOTE_NOT_SIGNED:
		return "it is not signed";
	case CC_REMOTE_UNKNOWN_KEY:
		return "it is signed with a key that is not trusted here";
	case CC_REMOTE_EXPIRED_KEY:
		return "it is signed with a key that has expired";
	case CC_REMOTE_WRONG_SIGNATURE:
		return "its signature is wrong";
	case CC_REMOTE_NO_LIBSODIUM:
		return "libsodium is not installed, so no signature can be checked";
	}
	return "it is not refused";
}

struct fields {
	size_t src_len, bin_len;
	const uint8_t *key_id;	/* NULL: unsigned */
};

/* len: of the whole value. */
static enum cmn_status read_header(struct cmn_view header, uint64_t len, struct fields *ret)
{
	struct cmn_reader reader = cmn_reader_of(header);
	struct cmn_view found, seen_magic = cmn_reader_bytes(&reader, sizeof(magic));
	uint32_t version = cmn_reader_u32(&reader), seal = cmn_reader_u32(&reader);
	uint64_t src_len = cmn_reader_u64(&reader), bin_len = cmn_reader_u64(&reader);

	found = cmn_reader_bytes(&reader, sizeof(zeros));
	if (reader.failed || memcmp(seen_magic.data, magic, sizeof(magic)) != 0)
		return CMN_ERR_CORRUPT;
	if (version != CC_REMOTE_VERSION)
		return CMN_ERR_VERSION;
	/* Bounded first, so that the sum cannot overflow. */
	if (!cc_bundle_lengths_possible(src_len, bin_len) ||
	    src_len + bin_len != len - CC_REMOTE_HEADER_SIZE)
		return CMN_ERR_CORRUPT;
	*ret = (struct fields){ .src_len = (size_t)src_len, .bin_len = (size_t)bin_len };
	if (seal == SEAL_ED25519)
		ret->key_id = found.data;
	else if (seal != SEAL_NONE || memcmp(found.data, zeros, sizeof(zeros)) != 0)
		return CMN_ERR_CORRUPT;
	return CMN_OK;
}

static bool is_signed_by(const uint8_t *header, const uint8_t hash[CC_SODIUM_HASH_SIZE],
			 const struct cc_trust_key *key)
{
	uint8_t message[CC_REMOTE_MESSAGE_SIZE];

	memcpy(message, purpose, sizeof(purpose));
	memcpy(message + sizeof(purpose), hash, CC_SODIUM_HASH_SIZE);
	return cc_sodium_verify(header + SIGNATURE_AT,
				(struct cmn_view){ message, sizeof(message) },
				key->key) == CMN_OK;
}

/* hash: NULL: not computed yet. */
static enum cc_remote_refusal judge(const uint8_t *header, const uint8_t *hash,
				    const struct cc_trust *trust, uint64_t now,
				    struct cc_remote_value *value)
{
	uint8_t own[CC_SODIUM_HASH_SIZE];
	const struct cc_trust_key *key;
	enum cmn_status status;

	if (!value->key_id)
		return CC_REMOTE_NOT_SIGNED;
	if (!cc_sodium_available())
		return CC_REMOTE_NO_LIBSODIUM;
	status = cc_trust_find(trust, value->key_id, now, &key);
	if (status == CMN_MISS)
		return CC_REMOTE_UNKNOWN_KEY;
	value->signer = key->name;
	if (status != CMN_OK)
		return CC_REMOTE_EXPIRED_KEY;
	if (!hash && hash_value(header, value->src, value->bin, own) != CMN_OK)
		return CC_REMOTE_NO_LIBSODIUM;
	return is_signed_by(header, hash ? hash : own, key) ? CC_REMOTE_NOT_REFUSED
							   : CC_REMOTE_WRONG_SIGNATURE;
}

enum cc_remote_refusal cc_remote_value_refusal(const uint8_t header[CC_REMOTE_HEADER_SIZE],
					       const struct cc_trust *trust, uint64_t now)
{
	const struct cc_trust_key *key;
	enum cmn_status status;

	if (!trust)
		return CC_REMOTE_NOT_REFUSED;
	if (header[SEAL_AT] != SEAL_ED25519)
		return CC_REMOTE_NOT_SIGNED;
	if (!cc_sodium_available())
		return CC_REMOTE_NO_LIBSODIUM;
	status = cc_trust_find(trust, header + KEY_ID_AT, now, &key);
	if (status == CMN_OK)
		return CC_REMOTE_NOT_REFUSED;
	return status == CMN_MISS ? CC_REMOTE_UNKNOWN_KEY : CC_REMOTE_EXPIRED_KEY;
}

enum cmn_status cc_remote_value_lengths(const uint8_t header[CC_REMOTE_HEADER_SIZE], uint64_t len,
					size_t *ret_src, size_t *ret_bin)
{
	struct fields fields;
	enum cmn_status status = CMN_ERR_CORRUPT;

	if (len >= CC_REMOTE_HEADER_SIZE)
		status = read_header((struct cmn_view){ header, CC_REMOTE_HEADER_SIZE }, len, &fields);
	if (status != CMN_OK)
		return status;
	*ret_src = fields.src_len;
	*ret_bin = fields.bin_len;
	return CMN_OK;
}

enum cmn_status cc_remote_value_check_parts(const uint8_t header[CC_REMOTE_HEADER_SIZE],
					    struct cmn_view src, struct cmn_view bin,
					    const uint8_t *hash, const struct cc_trust *trust,
					    uint64_t now, struct cc_remote_value *ret)
{
	struct cc_remote_value value = { .src = src, .bin = bin };
	struct fields fields;
	enum cmn_status status;

	status = read_header((struct cmn_view){ header, CC_REMOTE_HEADER_SIZE },
			     CC_REMOTE_HEADER_SIZE + (uint64_t)src.len + bin.len, &fields);
	if (status == CMN_OK && (fields.src_len != src.len || fields.bin_len != bin.len))
		status = CMN_ERR_CORRUPT;
	if (status != CMN_OK)
		return status;
	value.key_id = fields.key_id;
	if (trust)
		value.refusal = judge(header, hash, trust, now, &value);
	if (value.refusal != CC_REMOTE_NOT_REFUSED) {
		value.src = value.bin = (struct cmn_view){ 0 };
		status = CMN_ERR_ACCESS;
	}
	*ret = value;
	return status;
}

enum cmn_status cc_remote_value_check(struct cmn_view bytes, const struct cc_trust *trust,
				      uint64_t now, struct cc_remote_value *ret)
{
	struct cmn_reader reader = cmn_reader_of(bytes);
	struct cmn_view header = cmn_reader_bytes(&reader, CC_REMOTE_HEADER_SIZE), src, bin;
	struct fields fields;
	enum cmn_status status;

	if (reader.failed)
		return CMN_ERR_CORRUPT;
	status = read_header(header, bytes.len, &fields);
	if (status != CMN_OK)
		return status;
	src = cmn_reader_bytes(&reader, fields.src_len);
	bin = cmn_reader_bytes(&reader, fields.bin_len);
	return cc_remote_value_check_parts(header.data, src, bin, NULL, trust, now, ret);
}

enum cmn_status cc_remote_value_take(const struct cc_remote_value *value, struct cmn_buffer *bin,
				     struct cmn_view wanted_key, struct cc_entry **ret)
{
	struct cc_entry *entry;
	struct cc_key key;
	enum cmn_status status = cc_bundle_decode(value->src, bin, &key, &entry);

	if (status != CMN_OK)
		return status;
	if (cmn_view_equal(cc_key_view(&key), wanted_key))
		*ret = entry;
	else
		status = CMN_ERR_CORRUPT;
	if (status != CMN_OK)
		cc_entry_unref(entry);
	cc_key_release(&key);
	return status;
}
