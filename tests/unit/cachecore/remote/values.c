/* SPDX-License-Identifier: MIT */
/* values: entries as push and export make them, and as a liar would. */
#include "tests/unit/cachecore/remote/values.h"

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

struct cc_signer values_signer(enum who who)
{
	uint8_t seed[CC_SODIUM_SEED_SIZE];
	struct cc_signer signer;

	values_from_hex(seeds[who], seed, sizeof(seed));
	CU_ASSERT_EQUAL_FATAL(cc_signer_of(seed, &signer), CMN_OK);
	return signer;
}

struct cc_signer values_liar(enum who who, enum who named)
{
	struct cc_signer signer = values_signer(who), other = values_signer(named);

	memcpy(signer.key_id, other.key_id, sizeof(signer.key_id));
	return signer;
}

void values_make_key(struct cc_key *key, const char *options)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_OPTIONS, "options", options);
}

uint64_t values_build_ns = 1000;

struct files values_make_files_of(struct cmn_view key, const char *image, const struct cc_manifest *manifest)
{
	struct cc_entry *entry = cc_entry_new(values_build_ns);
	struct cmn_buffer stored = { 0 };
	struct files files = { 0 };
	struct cmn_view payload;
	struct cmn_hash hash;

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, strlen(image));
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_src_file_encode(key, manifest, &files.src, &hash), CMN_OK);
	CU_ASSERT_FATAL(cmn_buffer_reserve(&files.bin, CC_ENTRY_HEADER_SIZE));
	CU_ASSERT_EQUAL_FATAL(cc_entry_encode(entry, 0, &hash, NULL, files.bin.data, &stored), CMN_OK);
	files.bin.len = CC_ENTRY_HEADER_SIZE;
	payload = cc_entry_payload(entry);
	cmn_buffer_append(&files.bin, payload.data, payload.len);
	cmn_buffer_release(&stored);
	cc_entry_unref(entry);
	return files;
}

struct files values_make_files(const char *options, const char *image, const struct cc_manifest *manifest)
{
	struct files files;
	struct cc_key key;

	values_make_key(&key, options);
	files = values_make_files_of(cc_key_view(&key), image, manifest);
	cc_key_release(&key);
	return files;
}

struct cmn_buffer values_make(struct files files, bool is_signed, enum who signer, enum who named)
{
	const struct cmn_view src = cmn_buffer_view(&files.src), bin = cmn_buffer_view(&files.bin);
	uint8_t header[CC_SEAL_HEADER_SIZE];
	struct cmn_buffer value = { 0 };
	struct cc_signer key;

	if (is_signed)
		key = values_liar(signer, named);
	CU_ASSERT_EQUAL_FATAL(cc_remote_value_make(src, bin, is_signed ? &key : NULL, header), CMN_OK);
	cmn_buffer_append(&value, header, sizeof(header));
	cmn_buffer_append(&value, src.data, src.len);
	cmn_buffer_append(&value, bin.data, bin.len);
	cmn_buffer_release(&files.src);
	cmn_buffer_release(&files.bin);
	CU_ASSERT_FALSE_FATAL(value.failed);
	return value;
}
