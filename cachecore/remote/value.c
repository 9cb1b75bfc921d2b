/* SPDX-License-Identifier: MIT */
/*
 * value: one encoding of each value, checked from its beginning to its end: first
 * the bounds, which cost nothing, then the signature over every byte.
 */
#include "cachecore/remote/value.h"

#include <stdio.h>
#include <string.h>

#include "common/hash.h"

#define NAME_SUFFIX "-ckcache-1"

static const struct cc_seal_kind kind = {
	{ 'c', 'k', 'c', 'r', 'e', 'm', '\r', '\n' }, "ckcache remote entry, 1",
};

_Static_assert(CC_SEAL_VERSION == 1, "NAME_SUFFIX has it too");
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

/* If so, their sum does not overflow. */
static bool lengths_are_possible(uint64_t src_len, uint64_t bin_len)
{
	return src_len >= CC_SRC_HEADER_SIZE && src_len <= CC_SRC_MAX_FILE &&
	       bin_len >= CC_ENTRY_HEADER_SIZE &&
	       bin_len <= CC_ENTRY_MAX_PAYLOAD + CC_ENTRY_HEADER_SIZE;
}

enum cmn_status cc_remote_value_make(struct cmn_view src, struct cmn_view bin,
				     const struct cc_signer *signer,
				     uint8_t ret[CC_SEAL_HEADER_SIZE])
{
	const struct cmn_view views[] = { src, bin };

	if (!lengths_are_possible(src.len, bin.len))
		return CMN_ERR_INVALID;
	return cc_seal_make(&kind, src.len, bin.len, views, 2, signer, ret);
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

/* max: bytes of the whole value, at most. */
static enum cmn_status read_header(const uint8_t *header, uint64_t max, struct cc_seal *ret)
{
	enum cmn_status status = cc_seal_read(&kind, header, ret);

	if (status == CMN_OK && (!lengths_are_possible(ret->a, ret->b) ||
				 ret->a + ret->b + CC_SEAL_HEADER_SIZE > max))
		status = CMN_ERR_CORRUPT;
	return status;
}

/* Whether that key is trusted now; who it is. */
static enum cc_remote_refusal judge_key(const uint8_t *key_id, const struct cc_trust *trust,
					uint64_t now, const struct cc_trust_key **ret)
{
	enum cmn_status status;

	*ret = NULL;
	if (!key_id)
		return CC_REMOTE_NOT_SIGNED;
	if (!cc_sodium_available())
		return CC_REMOTE_NO_LIBSODIUM;
	status = cc_trust_find(trust, key_id, now, ret);
	if (status == CMN_MISS)
		return CC_REMOTE_UNKNOWN_KEY;
	return status == CMN_OK ? CC_REMOTE_NOT_REFUSED : CC_REMOTE_EXPIRED_KEY;
}

enum cc_remote_refusal cc_remote_value_refusal(const uint8_t header[CC_SEAL_HEADER_SIZE],
					       const struct cc_trust *trust, uint64_t now)
{
	const struct cc_trust_key *key;
	struct cc_seal seal;

	/* What is no header has no signature. */
	if (!trust)
		return CC_REMOTE_NOT_REFUSED;
	if (cc_seal_read(&kind, header, &seal) != CMN_OK)
		return CC_REMOTE_NOT_SIGNED;
	return judge_key(seal.key_id, trust, now, &key);
}

enum cmn_status cc_remote_value_lengths(const uint8_t header[CC_SEAL_HEADER_SIZE], uint64_t max,
					size_t *ret_src, size_t *ret_bin)
{
	struct cc_seal seal;
	enum cmn_status status = read_header(header, max, &seal);

	if (status != CMN_OK)
		return status;
	*ret_src = (size_t)seal.a;
	*ret_bin = (size_t)seal.b;
	return CMN_OK;
}

/* hash: NULL: not computed yet. */
static enum cc_remote_refusal judge(const uint8_t *header, const uint8_t *hash,
				    const struct cc_trust *trust, uint64_t now,
				    struct cc_remote_value *value)
{
	const struct cmn_view views[] = { value->src, value->bin };
	const struct cc_trust_key *key;
	enum cc_remote_refusal refusal = judge_key(value->key_id, trust, now, &key);
	uint8_t own[CC_SODIUM_HASH_SIZE];

	value->signer = key ? key->name : NULL;
	if (refusal != CC_REMOTE_NOT_REFUSED)
		return refusal;
	if (!hash && cc_seal_hash(header, views, 2, own) != CMN_OK)
		return CC_REMOTE_NO_LIBSODIUM;
	return cc_seal_verify(&kind, header, hash ? hash : own, key->key) == CMN_OK
		? CC_REMOTE_NOT_REFUSED : CC_REMOTE_WRONG_SIGNATURE;
}

enum cmn_status cc_remote_value_check_parts(const uint8_t header[CC_SEAL_HEADER_SIZE],
					    struct cmn_view src, struct cmn_view bin,
					    const uint8_t *hash, const struct cc_trust *trust,
					    uint64_t now, struct cc_remote_value *ret)
{
	struct cc_remote_value value = { .src = src, .bin = bin };
	struct cc_seal seal;
	enum cmn_status status = read_header(header, UINT64_MAX, &seal);

	if (status == CMN_OK && (seal.a != src.len || seal.b != bin.len))
		status = CMN_ERR_CORRUPT;
	if (status != CMN_OK)
		return status;
	value.key_id = seal.key_id;
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
	struct cmn_view header = cmn_reader_bytes(&reader, CC_SEAL_HEADER_SIZE), src, bin;
	struct cc_seal seal;
	enum cmn_status status;

	if (reader.failed)
		return CMN_ERR_CORRUPT;
	status = read_header(header.data, bytes.len, &seal);
	if (status != CMN_OK)
		return status;
	src = cmn_reader_bytes(&reader, seal.a);
	bin = cmn_reader_bytes(&reader, reader.left);
	return cc_remote_value_check_parts(header.data, src, bin, NULL, trust, now, ret);
}

enum cmn_status cc_remote_value_take(const struct cc_remote_value *value, struct cmn_buffer *bin,
				     struct cmn_view wanted_key, struct cc_entry **ret)
{
	struct cc_entry *entry;
	struct cc_key key;
	enum cmn_status status = cc_remote_files_decode(value->src, bin, &key, &entry);

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

/* A look-up compares keys as bytes; what becomes a directory's name is read as fields. */
static enum cmn_status walk_key(struct cmn_view key)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	enum cmn_status status = cc_key_read(key, &reader);

	while (status == CMN_OK)
		status = cc_key_next(&reader, &field);
	return status == CMN_MISS ? CMN_OK : status;
}

enum cmn_status cc_remote_files_decode(struct cmn_view src, struct cmn_buffer *bin,
				 struct cc_key *ret_key, struct cc_entry **ret)
{
	struct cc_manifest *manifest = NULL;
	struct cmn_buffer encoded = { 0 };
	struct cc_entry *entry = NULL;
	struct cc_src parts;
	enum cmn_status status = cc_src_file_decode(src, &parts);

	if (status == CMN_OK)
		status = walk_key(parts.key);
	if (status == CMN_OK && parts.manifest.len)
		status = cc_manifest_decode(parts.manifest, &manifest);
	if (status == CMN_OK) {
		cmn_buffer_append(&encoded, parts.key.data, parts.key.len);
		status = encoded.failed ? CMN_ERR_NOMEM : CMN_OK;
	}
	if (status == CMN_OK)
		status = cc_entry_decode(bin, &parts.hash, NULL, manifest, &entry);
	cmn_buffer_release(bin);
	if (status != CMN_OK) {
		cc_manifest_free(manifest);
		cmn_buffer_release(&encoded);
		/* A .bin of another .src is no pair. */
		return status == CMN_STALE ? CMN_ERR_CORRUPT : status;
	}
	*ret_key = (struct cc_key){ .encoded = encoded };
	*ret = entry;
	return CMN_OK;
}

enum cmn_status cc_remote_files_check(struct cmn_view src, struct cmn_view bin, struct cmn_hash *ret_key)
{
	struct cmn_buffer copy = { 0 };
	struct cc_entry *entry;
	struct cc_key key;
	enum cmn_status status = CMN_ERR_NOMEM;

	cmn_buffer_append(&copy, bin.data, bin.len);
	if (!copy.failed)
		status = cc_remote_files_decode(src, &copy, &key, &entry);
	cmn_buffer_release(&copy);
	if (status != CMN_OK)
		return status;
	if (ret_key)
		*ret_key = cmn_hash_of(cc_key_view(&key).data, cc_key_view(&key).len);
	cc_entry_unref(entry);
	cc_key_release(&key);
	return CMN_OK;
}
