/* SPDX-License-Identifier: MIT */
/* values: signed by OpenSSL, as ckcache-remote is another program than the one that checks. */
#include "tests/unit/cachecore/remote/values.h"

#include <openssl/evp.h>

#include "cachecore/entry.h"
#include "tests/support/unit.h"

static const char *const seeds[] = {
	"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
	"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
	"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
};

void values_from_hex(const char *text, uint8_t *ret, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char digits[3] = { text[2 * i], text[2 * i + 1], '\0' };

		ret[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

static EVP_PKEY *private_key(enum who who)
{
	uint8_t seed[32];
	EVP_PKEY *key;

	values_from_hex(seeds[who], seed, sizeof(seed));
	key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof(seed));
	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	return key;
}

void values_find_id(enum who who, uint8_t ret[CC_SODIUM_HASH_SIZE])
{
	EVP_PKEY *key = private_key(who);
	uint8_t public[32];
	size_t len = sizeof(public);

	CU_ASSERT_EQUAL_FATAL(EVP_PKEY_get_raw_public_key(key, public, &len), 1);
	CU_ASSERT_EQUAL_FATAL(cc_trust_key_id(public, ret), CMN_OK);
	EVP_PKEY_free(key);
}

void values_sign(enum who who, const void *message, size_t message_len,
		 uint8_t ret[CC_SODIUM_SIGNATURE_SIZE])
{
	EVP_PKEY *key = private_key(who);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t len = CC_SODIUM_SIGNATURE_SIZE;

	CU_ASSERT_EQUAL_FATAL(EVP_DigestSignInit(ctx, NULL, NULL, NULL, key), 1);
	CU_ASSERT_EQUAL_FATAL(EVP_DigestSign(ctx, ret, &len, message, message_len), 1);
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
}

void values_make_key(struct cc_key *key, const char *options)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_OPTIONS, "options", options);
}

uint64_t values_build_ns = 1000;

struct files values_make_files(const char *options, const char *image, const struct cc_manifest *manifest)
{
	struct cc_entry *entry = cc_entry_new(values_build_ns);
	struct cmn_buffer stored = { 0 };
	struct files files = { 0 };
	struct cmn_view payload;
	struct cmn_hash hash;
	struct cc_key key;

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	values_make_key(&key, options);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, strlen(image));
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_src_file_encode(cc_key_view(&key), manifest, &files.src, &hash), CMN_OK);
	CU_ASSERT_FATAL(cmn_buffer_reserve(&files.bin, CC_ENTRY_HEADER_SIZE));
	CU_ASSERT_EQUAL_FATAL(cc_entry_encode(entry, 0, &hash, files.bin.data, &stored), CMN_OK);
	files.bin.len = CC_ENTRY_HEADER_SIZE;
	payload = cc_entry_payload(entry);
	cmn_buffer_append(&files.bin, payload.data, payload.len);
	cmn_buffer_release(&stored);
	cc_entry_unref(entry);
	cc_key_release(&key);
	return files;
}

struct cmn_buffer values_make(struct files files, bool is_signed, enum who signer,
				       enum who named)
{
	uint8_t header[CC_REMOTE_HEADER_SIZE], message[CC_REMOTE_MESSAGE_SIZE];
	uint8_t id[CC_SODIUM_HASH_SIZE], signature[CC_SODIUM_SIGNATURE_SIZE];
	struct cmn_view src = cmn_buffer_view(&files.src), bin = cmn_buffer_view(&files.bin);
	struct cmn_buffer value = { 0 };

	if (is_signed)
		values_find_id(named, id);
	CU_ASSERT_EQUAL_FATAL(cc_remote_value_header(src, bin, is_signed ? id : NULL, header),
			      CMN_OK);
	if (is_signed) {
		CU_ASSERT_EQUAL_FATAL(cc_remote_value_message(header, src, bin, message), CMN_OK);
		values_sign(signer, message, sizeof(message), signature);
		cc_remote_value_set_signature(header, signature);
	}
	cmn_buffer_append(&value, header, sizeof(header));
	cmn_buffer_append(&value, src.data, src.len);
	cmn_buffer_append(&value, bin.data, bin.len);
	cmn_buffer_release(&files.src);
	cmn_buffer_release(&files.bin);
	CU_ASSERT_FALSE_FATAL(value.failed);
	return value;
}
