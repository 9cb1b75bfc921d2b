/* SPDX-License-Identifier: MIT */
/* test_index: a list comes back only whole, and as its owner has signed it. Signatures are OpenSSL's. */
#include "cachecore/remote/index.h"

#include <openssl/evp.h>

#include "cachecore/remote/trust.h"
#include "cachecore/remote/value.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"

#define COUNT 3
#define COUNT_AT 16
#define SIGNATURE_AT 64

struct owner {
	uint8_t seed[32], public[CC_SODIUM_KEY_SIZE], id[CC_SODIUM_HASH_SIZE];
};

static void make_owner(uint8_t number, struct owner *ret)
{
	size_t len = sizeof(ret->public);
	EVP_PKEY *key;

	memset(ret->seed, number, sizeof(ret->seed));
	key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, ret->seed, sizeof(ret->seed));
	CU_ASSERT_EQUAL_FATAL(EVP_PKEY_get_raw_public_key(key, ret->public, &len), 1);
	EVP_PKEY_free(key);
	CU_ASSERT_EQUAL_FATAL(cc_trust_key_id(ret->public, ret->id), CMN_OK);
}

static void sign(const struct owner *owner, const void *message, size_t message_len, uint8_t *ret)
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, owner->seed,
						     sizeof(owner->seed));
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t len = CC_SODIUM_SIGNATURE_SIZE;

	CU_ASSERT_EQUAL_FATAL(EVP_DigestSignInit(ctx, NULL, NULL, NULL, key), 1);
	CU_ASSERT_EQUAL_FATAL(EVP_DigestSign(ctx, ret, &len, message, message_len), 1);
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
}

static void make_hashes(size_t count, struct cmn_buffer *ret)
{
	*ret = (struct cmn_buffer){ 0 };
	for (uint64_t i = 0; i < count; i++) {
		struct cmn_hash hash = cmn_hash_of(&i, sizeof(i));

		cmn_buffer_append(ret, hash.bytes, sizeof(hash.bytes));
	}
	CU_ASSERT_FALSE_FATAL(ret->failed);
}

/* owner NULL: unsigned. */
static void make_index(const struct owner *owner, size_t count, struct cmn_buffer *ret)
{
	uint8_t header[CC_INDEX_HEADER_SIZE], message[CC_INDEX_MESSAGE_SIZE];
	uint8_t signature[CC_SODIUM_SIGNATURE_SIZE];
	OWNED(cmn_buffer_release) struct cmn_buffer hashes;

	make_hashes(count, &hashes);
	CU_ASSERT_EQUAL_FATAL(cc_index_header(cmn_buffer_view(&hashes), owner ? owner->id : NULL,
					      header), CMN_OK);
	if (owner) {
		CU_ASSERT_EQUAL_FATAL(cc_index_message(header, cmn_buffer_view(&hashes), message),
				      CMN_OK);
		sign(owner, message, sizeof(message), signature);
		cc_index_set_signature(header, signature);
	}
	*ret = (struct cmn_buffer){ 0 };
	cmn_buffer_append(ret, header, sizeof(header));
	cmn_buffer_append(ret, hashes.data, hashes.len);
}

static enum cmn_status check(const struct cmn_buffer *index, const struct owner *owner)
{
	struct cmn_view hashes;

	return cc_index_check(cmn_buffer_view(index), owner ? owner->public : NULL, &hashes);
}

TEST(a_list_comes_back)
{
	OWNED(cmn_buffer_release) struct cmn_buffer index, hashes;
	struct cmn_view found;
	struct owner one;

	make_owner(1, &one);
	make_hashes(COUNT, &hashes);
	for (int is_signed = 0; is_signed < 2; is_signed++) {
		make_index(is_signed ? &one : NULL, COUNT, &index);
		CU_ASSERT_EQUAL_FATAL(cc_index_check(cmn_buffer_view(&index),
						     is_signed ? one.public : NULL, &found), CMN_OK);
		CU_ASSERT_TRUE(cmn_view_equal(found, cmn_buffer_view(&hashes)));
		cmn_buffer_release(&index);
	}
	make_index(&one, 0, &index);
	CU_ASSERT_EQUAL(check(&index, &one), CMN_OK);
}

TEST(another_key_s_list_is_refused)
{
	OWNED(cmn_buffer_release) struct cmn_buffer index;
	struct owner one, two;

	make_owner(1, &one);
	make_owner(2, &two);
	make_index(&one, COUNT, &index);
	CU_ASSERT_EQUAL(check(&index, &two), CMN_ERR_ACCESS);
	/* Also where it says that it is this key's. */
	memcpy(index.data + SIGNATURE_AT - CC_SODIUM_HASH_SIZE, two.id, sizeof(two.id));
	CU_ASSERT_EQUAL(check(&index, &two), CMN_ERR_ACCESS);
	cmn_buffer_release(&index);
	make_index(NULL, COUNT, &index);
	CU_ASSERT_EQUAL(check(&index, &one), CMN_ERR_ACCESS);
}

TEST(no_byte_can_be_changed)
{
	OWNED(cmn_buffer_release) struct cmn_buffer index;
	struct owner one;

	make_owner(1, &one);
	make_index(&one, COUNT, &index);
	for (size_t i = 0; i < index.len; i++) {
		index.data[i] ^= 1;
		CU_ASSERT_TRUE(check(&index, &one) < 0);
		index.data[i] ^= 1;
	}
	CU_ASSERT_EQUAL(check(&index, &one), CMN_OK);
}

TEST(every_other_length_is_refused)
{
	OWNED(cmn_buffer_release) struct cmn_buffer index;
	size_t len;

	make_index(NULL, COUNT, &index);
	len = index.len;
	for (index.len = 0; index.len < len; index.len++)
		CU_ASSERT_EQUAL(check(&index, NULL), CMN_ERR_CORRUPT);
	cmn_buffer_append_u8(&index, 0);
	CU_ASSERT_EQUAL(check(&index, NULL), CMN_ERR_CORRUPT);
}

/* A product that overflows would fit. */
TEST(counts_are_bounded)
{
	static const uint64_t counts[] = { CC_INDEX_MAX_COUNT + 1, UINT64_C(1) << 60,
					   (UINT64_C(1) << 60) + COUNT, UINT64_MAX };
	OWNED(cmn_buffer_release) struct cmn_buffer index;

	make_index(NULL, COUNT, &index);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (unsigned int byte = 0; byte < 8; byte++)
			index.data[COUNT_AT + byte] = (uint8_t)(counts[i] >> (8 * byte));
		CU_ASSERT_EQUAL(check(&index, NULL), CMN_ERR_CORRUPT);
	}
}

TEST(no_list_is_made_that_would_be_refused)
{
	uint8_t header[CC_INDEX_HEADER_SIZE];
	struct cmn_buffer index, hashes;

	make_index(NULL, CC_INDEX_MAX_COUNT, &index);
	CU_ASSERT_EQUAL(index.len, CC_INDEX_MAX_SIZE);
	CU_ASSERT_EQUAL(check(&index, NULL), CMN_OK);
	cmn_buffer_release(&index);
	make_hashes(CC_INDEX_MAX_COUNT + 1, &hashes);
	CU_ASSERT_EQUAL(cc_index_header(cmn_buffer_view(&hashes), NULL, header), CMN_ERR_INVALID);
	hashes.len = CMN_HASH_SIZE + 1;
	CU_ASSERT_EQUAL(cc_index_header(cmn_buffer_view(&hashes), NULL, header), CMN_ERR_INVALID);
	cmn_buffer_release(&hashes);
}

/* Else who can store an entry could say what is listed, or the other way round. */
TEST(the_signature_of_an_entry_is_none_of_a_list)
{
	uint8_t header[CC_INDEX_HEADER_SIZE], index_message[CC_INDEX_MESSAGE_SIZE];
	uint8_t entry_message[CC_REMOTE_MESSAGE_SIZE];
	OWNED(cmn_buffer_release) struct cmn_buffer hashes;
	struct owner one;

	make_owner(1, &one);
	make_hashes(COUNT, &hashes);
	CU_ASSERT_EQUAL_FATAL(cc_index_header(cmn_buffer_view(&hashes), one.id, header), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_index_message(header, cmn_buffer_view(&hashes), index_message),
			      CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_remote_value_message(header, cmn_buffer_view(&hashes),
						      (struct cmn_view){ 0 }, entry_message), CMN_OK);
	CU_ASSERT_NOT_EQUAL(memcmp(index_message, entry_message, 32), 0);
	CU_ASSERT_EQUAL(memcmp(index_message + 32, entry_message + 32, 32), 0);
}

TEST(names_differ_by_key_and_program)
{
	char all[CC_INDEX_NAME_SIZE], own[CC_INDEX_NAME_SIZE], program[CC_INDEX_NAME_SIZE];
	struct owner one;

	make_owner(1, &one);
	cc_index_name(NULL, NULL, all);
	CU_ASSERT_STRING_EQUAL(all, "ckcache-1-index");
	cc_index_name(one.id, NULL, own);
	CU_ASSERT_EQUAL(strlen(own), strlen("ckcache-1-index-") + 32);
	cc_index_name(one.id, "a program", program);
	CU_ASSERT_EQUAL(strlen(program), strlen(own) + 17);
	CU_ASSERT_EQUAL(strncmp(own, program, strlen(own)), 0);
	cc_index_name(one.id, "b program", own);
	CU_ASSERT_NOT_EQUAL(strcmp(own, program), 0);
}
