/* SPDX-License-Identifier: MIT */
/* test_seal: what one key signs for one purpose is of no use for another. */
#include "cachecore/remote/seal.h"

#include "tests/support/unit.h"

static const struct cc_seal_kind one = { "a kind\n", "ckcache test, 1" };
static const struct cc_seal_kind same_magic = { "a kind\n", "ckcache test, 2" };

static struct cc_signer make_signer(uint8_t number)
{
	uint8_t seed[CC_SODIUM_SEED_SIZE];
	struct cc_signer signer;

	memset(seed, number, sizeof(seed));
	CU_ASSERT_EQUAL_FATAL(cc_signer_of(seed, &signer), CMN_OK);
	return signer;
}

static enum cmn_status verify(const struct cc_seal_kind *kind, const uint8_t *header,
			      struct cmn_view bytes, const struct cc_signer *signer)
{
	return cc_seal_verify(kind, header, &bytes, 1, cc_signer_public(signer));
}

TEST(a_signature_holds_for_its_key_its_bytes_and_its_purpose)
{
	const struct cc_signer signer = make_signer(1), other = make_signer(2);
	const struct cmn_view bytes = { "bytes", 5 }, longer = { "bytes", 6 };
	uint8_t header[CC_SEAL_HEADER_SIZE];
	struct cc_seal seal;

	CU_ASSERT_EQUAL(cc_seal_make(&one, 7, UINT64_MAX - 1, &bytes, 1, &signer, header), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_seal_read(&one, header, &seal), CMN_OK);
	CU_ASSERT_EQUAL(seal.a, 7);
	CU_ASSERT_EQUAL(seal.b, UINT64_MAX - 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(seal.key_id);
	CU_ASSERT_EQUAL(memcmp(seal.key_id, signer.key_id, sizeof(signer.key_id)), 0);
	CU_ASSERT_EQUAL(verify(&one, header, bytes, &signer), CMN_OK);
	CU_ASSERT_EQUAL(verify(&one, header, longer, &signer), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(verify(&one, header, bytes, &other), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(verify(&same_magic, header, bytes, &signer), CMN_ERR_ACCESS);
}

TEST(bytes_are_signed_as_a_whole)
{
	const struct cmn_view parts[] = { { "by", 2 }, { "tes", 3 } }, bytes = { "bytes", 5 };
	const struct cc_signer signer = make_signer(1);
	uint8_t header[CC_SEAL_HEADER_SIZE], again[CC_SEAL_HEADER_SIZE];

	CU_ASSERT_EQUAL(cc_seal_make(&one, 2, 3, parts, 2, &signer, header), CMN_OK);
	CU_ASSERT_EQUAL(cc_seal_make(&one, 2, 3, &bytes, 1, &signer, again), CMN_OK);
	CU_ASSERT_EQUAL(memcmp(header, again, sizeof(header)), 0);
	/* The header says where they part, and is signed too. */
	header[16]++;
	CU_ASSERT_EQUAL(verify(&one, header, bytes, &signer), CMN_ERR_ACCESS);
}

TEST(an_unsigned_header_is_that_and_nothing_else)
{
	uint8_t header[CC_SEAL_HEADER_SIZE];
	struct cc_seal seal;

	CU_ASSERT_EQUAL(cc_seal_make(&one, 0, 0, NULL, 0, NULL, header), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_seal_read(&one, header, &seal), CMN_OK);
	CU_ASSERT_PTR_NULL(seal.key_id);
	for (size_t i = 32; i < sizeof(header); i++) {
		header[i] = 1;
		CU_ASSERT_EQUAL(cc_seal_read(&one, header, &seal), CMN_ERR_CORRUPT);
		header[i] = 0;
	}
	header[12] = 2;
	CU_ASSERT_EQUAL(cc_seal_read(&one, header, &seal), CMN_ERR_CORRUPT);
	header[8]++;
	CU_ASSERT_EQUAL(cc_seal_read(&one, header, &seal), CMN_ERR_VERSION);
	header[0]++;
	CU_ASSERT_EQUAL(cc_seal_read(&one, header, &seal), CMN_ERR_CORRUPT);
}
