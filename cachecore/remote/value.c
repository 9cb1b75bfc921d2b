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

static enum cmn_status refuse(struct cc_remote_value *value, enum cc_remote_refusal refusal)
{
	value->refusal = refusal;
	return CMN_ERR_ACCESS;
}

/* Whether that key is trusted now; who it is. */
static enum cmn_status judge_key(struct cc_remote_value *value, const struct cc_trust *trust,
				 uint64_t now)
{
	enum cmn_status status;

	if (!value->key_id)
		return refuse(value, CC_REMOTE_NOT_SIGNED);
	if (!cc_sodium_available())
		return refuse(value, CC_REMOTE_NO_LIBSODIUM);
	status = cc_trust_find(trust, value->key_id, now, &value->signer);
	if (status == CMN_MISS)
		return refuse(value, CC_REMOTE_UNKNOWN_KEY);
	return status == CMN_OK ? CMN_OK : refuse(value, CC_REMOTE_EXPIRED_KEY);
}

enum cmn_status cc_remote_value_begin(const uint8_t header[CC_SEAL_HEADER_SIZE], uint64_t max,
				      const struct cc_trust *trust, uint64_t now,
				      struct cc_remote_value *ret)
{
	struct cc_seal seal;
	enum cmn_status status = cc_seal_read(&kind, header, &seal);

	if (status != CMN_OK)
		return status;
	if (!lengths_are_possible(seal.a, seal.b) || seal.a + seal.b + CC_SEAL_HEADER_SIZE > max)
		return CMN_ERR_CORRUPT;
	*ret = (struct cc_remote_value){
		.src_len = (size_t)seal.a, .bin_len = (size_t)seal.b, .key_id = seal.key_id,
	};
	return trust ? judge_key(ret, trust, now) : CMN_OK;
}

enum cmn_status cc_remote_value_finish(struct cc_remote_value *value,
				       const uint8_t header[CC_SEAL_HEADER_SIZE],
				       struct cmn_view src, struct cmn_view bin, uint64_t now)
{
	const struct cmn_view views[] = { src, bin };
	enum cmn_status status;

	if (value->refusal != CC_REMOTE_NOT_REFUSED)
		return CMN_ERR_ACCESS;
	if (src.len != value->src_len || bin.len != value->bin_len)
		return CMN_ERR_CORRUPT;
	/* Without trust there is no signer. */
	if (value->signer) {
		if (now >= value->signer->end)
			return refuse(value, CC_REMOTE_EXPIRED_KEY);
		status = cc_seal_verify(&kind, header, views, 2, value->signer->key);
		if (status != CMN_OK)
			return refuse(value, status == CMN_MISS ? CC_REMOTE_NO_LIBSODIUM
								: CC_REMOTE_WRONG_SIGNATURE);
	}
	value->src = src;
	value->bin = bin;
	return CMN_OK;
}

enum cmn_status cc_remote_value_check(struct cmn_view bytes, const struct cc_trust *trust,
				      uint64_t now, struct cc_remote_value *ret)
{
	struct cmn_reader reader = cmn_reader_of(bytes);
	struct cmn_view header = cmn_reader_bytes(&reader, CC_SEAL_HEADER_SIZE), src;
	enum cmn_status status;

	if (reader.failed)
		return CMN_ERR_CORRUPT;
	status = cc_remote_value_begin(header.data, bytes.len, trust, now, ret);
	if (status != CMN_OK)
		return status;
	src = cmn_reader_bytes(&reader, ret->src_len);
	return cc_remote_value_finish(ret, header.data, src, cmn_reader_bytes(&reader, reader.left),
				      now);
}

enum cmn_status cc_remote_files_decode(struct cmn_view src, struct cmn_buffer *bin,
				 struct cc_key *ret_key, struct cc_entry **ret)
{
	struct cc_manifest *manifest = NULL;
	struct cmn_buffer encoded = { 0 };
	struct cc_entry *entry = NULL;
	struct cc_src parts;
	enum cmn_status status = cc_src_file_decode(src, &parts);

	/* A look-up compares keys as bytes; what becomes a directory's name is read as fields. */
	if (status == CMN_OK)
		status = cc_key_check(parts.key);
	if (status == CMN_OK && parts.manifest.len)
		status = cc_manifest_decode(parts.manifest, &manifest);
	if (status == CMN_OK) {
		cmn_buffer_append(&encoded, parts.key.data, parts.key.len);
		status = encoded.failed ? CMN_ERR_NOMEM : CMN_OK;
	}
	if (status == CMN_OK)
		status = cc_entry_decode(bin, &parts.hash, NULL, manifest, &entry);
	cmn_buffer_release(bin);
	/* What failed on one machine may not fail on another. */
	if (status == CMN_OK && entry->failed) {
		manifest = NULL;	/* the entry's */
		cc_entry_unref(entry);
		status = CMN_MISS;
	}
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
