/* SPDX-License-Identifier: MIT */
/* env: typed values from text. */
#include "common/env.h"

#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static bool privileged;		/* as a program is whose user is another than its caller */

WRAPPED(char *, secure_getenv, (const char *name))
{
	return privileged ? NULL : __real_secure_getenv(name);
}

TEST(reads_a_variable_or_nothing)
{
	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_TEST_VARIABLE", "value", 1), 0);
	CU_ASSERT_STRING_EQUAL(cmn_env_get("CKCACHE_TEST_VARIABLE"), "value");
	CU_ASSERT_EQUAL_FATAL(unsetenv("CKCACHE_TEST_VARIABLE"), 0);
	CU_ASSERT_PTR_NULL(cmn_env_get("CKCACHE_TEST_VARIABLE"));
}

TEST(takes_the_words_for_yes_and_no)
{
	static const char *const yes[] = { "1", "true", "YES", "On" };
	static const char *const no[] = { "0", "False", "no", "off" };

	for (size_t i = 0; i < 4; i++) {
		bool value = false;

		CU_ASSERT_EQUAL(cmn_env_parse_bool(yes[i], &value), CMN_OK);
		CU_ASSERT_TRUE(value);
		CU_ASSERT_EQUAL(cmn_env_parse_bool(no[i], &value), CMN_OK);
		CU_ASSERT_FALSE(value);
	}
}

TEST(refuses_other_words_and_keeps_the_value)
{
	static const char *const bad[] = { "", "2", "yes ", " 1", "maybe", "nothing", "0x0", "only" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool value = true;

		CU_ASSERT_EQUAL(cmn_env_parse_bool(bad[i], &value), CMN_ERR_INVALID);
		CU_ASSERT_TRUE(value);
	}
}

TEST(bounds_a_number)
{
	uint64_t value = 77;

	CU_ASSERT_EQUAL(cmn_env_parse_number("5", 5, 9, &value), CMN_OK);
	CU_ASSERT_EQUAL(value, 5);
	CU_ASSERT_EQUAL(cmn_env_parse_number("18446744073709551615", 0, UINT64_MAX, &value), CMN_OK);
	CU_ASSERT_EQUAL(value, UINT64_MAX);
	value = 77;
	CU_ASSERT_EQUAL(cmn_env_parse_number("4", 5, 9, &value), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cmn_env_parse_number("10", 5, 9, &value), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cmn_env_parse_number("18446744073709551616", 0, UINT64_MAX, &value),
			CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(value, 77);
}

TEST(refuses_what_is_no_number)
{
	static const char *const bad[] = { "", "-1", "+1", " 1", "1 ", "0x10", "1e3", "one" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t value = 77;

		CU_ASSERT_EQUAL(cmn_env_parse_number(bad[i], 0, UINT64_MAX, &value),
				CMN_ERR_INVALID);
		CU_ASSERT_EQUAL(value, 77);
	}
}

TEST(scales_a_size_by_its_suffix)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0 },
		{ "512", 512 },
		{ "512B", 512 },
		{ "1K", 1000 },
		{ "1Ki", 1024 },
		{ "3kib", 3072 },
		{ "2MB", 2000000 },
		{ "256Mi", UINT64_C(256) << 20 },
		{ "8G", UINT64_C(8000000000) },
		{ "8Gi", UINT64_C(8) << 30 },
		{ "1T", UINT64_C(1000000000000) },
		{ "1Ti", UINT64_C(1) << 40 },
		{ "16777215Ti", UINT64_C(16777215) << 40 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t value = 77;

		CU_ASSERT_EQUAL(cmn_env_parse_size(cases[i].text, &value), CMN_OK);
		CU_ASSERT_EQUAL(value, cases[i].bytes);
	}
}

TEST(refuses_what_is_no_size)
{
	static const char *const bad[] = { "",	  "K",	 "1X",	  "1KK",  "1 K",  "1iK",
					   "-1K", "1.5G", "1Gi ", "1i",   "16777216Ti" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t value = 77;

		CU_ASSERT_EQUAL(cmn_env_parse_size(bad[i], &value), CMN_ERR_INVALID);
		CU_ASSERT_EQUAL(value, 77);
	}
}

TEST(a_privileged_program_reads_nothing)
{
	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_TEST_VARIABLE", "value", 1), 0);
	privileged = true;
	CU_ASSERT_PTR_NULL(cmn_env_get("CKCACHE_TEST_VARIABLE"));
	privileged = false;
	CU_ASSERT_STRING_EQUAL(cmn_env_get("CKCACHE_TEST_VARIABLE"), "value");
}
