/* SPDX-License-Identifier: MIT */
/* test_sodium: known answers, and a machine without the library. */
#include "cachecore/remote/sodium.h"

#include <dlfcn.h>

#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static bool missing;
static unsigned int opened;

WRAPPED(void *, dlopen, (const char *name, int flags))
{
	opened++;
	return missing ? NULL : __real_dlopen(name, flags);
}

static void from_hex(const char *text, uint8_t *ret, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char digits[3] = { text[2 * i], text[2 * i + 1], '\0' };

		ret[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

/* In a child: the answer is remembered by the process. The first test, before anything has loaded it. */
TEST(without_the_library_everything_says_so_and_it_is_looked_for_once)
{
	const uint8_t zeros[CC_SODIUM_SIGNATURE_SIZE] = { 0 };
	const struct cmn_view view = { "x", 1 };
	struct cc_sodium_hash hash;
	uint8_t secret[CC_SODIUM_SECRET_SIZE] = { 0 };
	uint8_t signature[CC_SODIUM_SIGNATURE_SIZE];
	int good;
	pid_t child;

	CU_ASSERT_EQUAL(opened, 0);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (!child) {
		missing = true;
		good = !cc_sodium_available() && opened == 2;	/* its two names */
		good = good && cc_sodium_hash_begin(&hash) == CMN_MISS;
		good = good && cc_sodium_verify(zeros, view, zeros) == CMN_MISS;
		good = good && cc_sodium_secret(zeros, secret) == CMN_MISS;
		good = good && cc_sodium_sign(secret, view, signature) == CMN_MISS && opened == 2;
		_exit(good ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
}

TEST(it_is_loaded_once)
{
	opened = 0;
	CU_ASSERT_TRUE_FATAL(cc_sodium_available());
	CU_ASSERT_TRUE(cc_sodium_available());
	CU_ASSERT(opened == 1 || opened == 2);
}

/* By Python's hashlib.blake2b(b"abc", digest_size=32). */
TEST(a_hash_is_blake2b_of_all_pieces_together)
{
	struct cc_sodium_hash hash;
	uint8_t found[CC_SODIUM_HASH_SIZE], expected[CC_SODIUM_HASH_SIZE];

	from_hex("bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319", expected, sizeof(expected));
	CU_ASSERT_EQUAL_FATAL(cc_sodium_hash_begin(&hash), CMN_OK);
	cc_sodium_hash_add(&hash, "a", 1);
	cc_sodium_hash_add(&hash, NULL, 0);
	cc_sodium_hash_add(&hash, "bc", 2);
	cc_sodium_hash_end(&hash, found);
	CU_ASSERT_EQUAL(memcmp(found, expected, sizeof(found)), 0);
	from_hex("0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8", expected, sizeof(expected));
	CU_ASSERT_EQUAL_FATAL(cc_sodium_hash_begin(&hash), CMN_OK);
	cc_sodium_hash_end(&hash, found);
	CU_ASSERT_EQUAL(memcmp(found, expected, sizeof(found)), 0);
}

/* RFC 8032, 7.1: TEST 1 and TEST 3. */
TEST(signatures_of_rfc_8032_hold)
{
	static const struct {
		const char *seed, *key, *signature, *message;
		size_t len;
	} rows[] = {
		{ "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
		  "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
		  "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
		  "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b", "", 0 },
		{ "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
		  "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
		  "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
		  "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a", "af82", 2 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t key[CC_SODIUM_KEY_SIZE], signature[CC_SODIUM_SIGNATURE_SIZE], message[2];
		uint8_t seed[CC_SODIUM_SEED_SIZE], secret[CC_SODIUM_SECRET_SIZE];
		uint8_t made[CC_SODIUM_SIGNATURE_SIZE];
		const struct cmn_view view = { message, rows[i].len };

		from_hex(rows[i].key, key, sizeof(key));
		from_hex(rows[i].signature, signature, sizeof(signature));
		from_hex(rows[i].message, message, rows[i].len);
		from_hex(rows[i].seed, seed, sizeof(seed));
		CU_ASSERT_EQUAL(cc_sodium_secret(seed, secret), CMN_OK);
		CU_ASSERT_EQUAL(memcmp(secret, seed, sizeof(seed)), 0);
		CU_ASSERT_EQUAL(memcmp(secret + sizeof(seed), key, sizeof(key)), 0);
		CU_ASSERT_EQUAL(cc_sodium_sign(secret, view, made), CMN_OK);
		CU_ASSERT_EQUAL(memcmp(made, signature, sizeof(made)), 0);
		CU_ASSERT_EQUAL(cc_sodium_verify(signature, view, key), CMN_OK);
		for (size_t bit = 0; bit < 8 * sizeof(signature); bit++) {
			signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
			CU_ASSERT_EQUAL(cc_sodium_verify(signature, view, key), CMN_ERR_ACCESS);
			signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}
