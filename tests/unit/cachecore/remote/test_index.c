/* SPDX-License-Identifier: MIT */
/* test_index: a list comes back only whole, and as its owner has signed it. */
#include "cachecore/remote/index.h"

#include "cachecore/remote/trust.h"
#include "cachecore/remote/value.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/unit/cachecore/remote/values.h"

#define COUNT 3
#define COUNT_AT 16
#define SIGNATURE_AT 64

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
static void make_index(const struct cc_signer *owner, size_t count, struct cmn_buffer *ret)
{
	OWNED(cmn_buffer_release) struct cmn_buffer hashes;
	uint8_t header[CC_SEAL_HEADER_SIZE];

	make_hashes(count, &hashes);
	CU_ASSERT_EQUAL_FATAL(cc_index_make(cmn_buffer_view(&hashes), owner, header), CMN_OK);
	*ret = (struct cmn_buffer){ 0 };
	cmn_buffer_append(ret, header, sizeof(header));
	cmn_buffer_append(ret, hashes.data, hashes.len);
}

static enum cmn_status check(const struct cmn_buffer *index, const struct cc_signer *owner)
{
	struct cmn_view hashes;

	return cc_index_check(cmn_buffer_view(index), owner ? cc_signer_public(owner) : NULL, &hashes);
}

TEST(a_list_comes_back)
{
	OWNED(cmn_buffer_release) struct cmn_buffer index, hashes;
	struct cmn_view found;
	const struct cc_signer one = values_signer(ONE);

	make_hashes(COUNT, &hashes);
	for (int is_signed = 0; is_signed < 2; is_signed++) {
		make_index(is_signed ? &one : NULL, COUNT, &index);
		CU_ASSERT_EQUAL_FATAL(cc_index_check(cmn_buffer_view(&index),
						     is_signed ? cc_signer_public(&one) : NULL, &found), CMN_OK);
		CU_ASSERT_TRUE(cmn_view_equal(found, cmn_buffer_view(&hashes)));
		cmn_buffer_release(&index);
	}
	make_index(&one, 0, &index);
	CU_ASSERT_EQUAL(check(&index, &one), CMN_OK);
}

TEST(another_key_s_list_is_refused)
{
	OWNED(cmn_buffer_release) struct cmn_buffer index;
	const struct cc_signer one = values_signer(ONE), two = values_signer(TWO);

	make_index(&one, COUNT, &index);
	CU_ASSERT_EQUAL(check(&index, &two), CMN_ERR_ACCESS);
	/* Also where it says that it is this key's. */
	memcpy(index.data + SIGNATURE_AT - CC_SODIUM_HASH_SIZE, two.key_id, sizeof(two.key_id));
	CU_ASSERT_EQUAL(check(&index, &two), CMN_ERR_ACCESS);
	cmn_buffer_release(&index);
	make_index(NULL, COUNT, &index);
	CU_ASSERT_EQUAL(check(&index, &one), CMN_ERR_ACCESS);
}

TEST(no_byte_can_be_changed)
{
	OWNED(cmn_buffer_release) struct cmn_buffer index;
	const struct cc_signer one = values_signer(ONE);

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
	uint8_t header[CC_SEAL_HEADER_SIZE];
	struct cmn_buffer index, hashes;

	make_index(NULL, CC_INDEX_MAX_COUNT, &index);
	CU_ASSERT_EQUAL(index.len, CC_INDEX_MAX_SIZE);
	CU_ASSERT_EQUAL(check(&index, NULL), CMN_OK);
	cmn_buffer_release(&index);
	make_hashes(CC_INDEX_MAX_COUNT + 1, &hashes);
	CU_ASSERT_EQUAL(cc_index_make(cmn_buffer_view(&hashes), NULL, header), CMN_ERR_INVALID);
	hashes.len = CMN_HASH_SIZE + 1;
	CU_ASSERT_EQUAL(cc_index_make(cmn_buffer_view(&hashes), NULL, header), CMN_ERR_INVALID);
	cmn_buffer_release(&hashes);
}

TEST(names_differ_by_key_and_program)
{
	char all[CC_INDEX_NAME_SIZE], own[CC_INDEX_NAME_SIZE], program[CC_INDEX_NAME_SIZE];
	const struct cc_signer one = values_signer(ONE);

	cc_index_name(NULL, NULL, all);
	CU_ASSERT_STRING_EQUAL(all, "ckcache-1-index");
	cc_index_name(one.key_id, NULL, own);
	CU_ASSERT_EQUAL(strlen(own), strlen("ckcache-1-index-") + 32);
	cc_index_name(one.key_id, "a program", program);
	CU_ASSERT_EQUAL(strlen(program), strlen(own) + 17);
	CU_ASSERT_EQUAL(strncmp(own, program, strlen(own)), 0);
	cc_index_name(one.key_id, "b program", own);
	CU_ASSERT_NOT_EQUAL(strcmp(own, program), 0);
}
