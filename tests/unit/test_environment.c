/* SPDX-License-Identifier: MIT */
/* environment: which variables make a build another build. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers/driver/environment.h"
#include "tests/support/unit.h"

static bool counts(const char *name, bool debug_keys)
{
	return drv_environment_counts(name, strlen(name), debug_keys);
}

static bool keys_equal(void)
{
	static struct drv_environment memo = DRV_ENVIRONMENT_INIT;
	static struct cc_key last;
	struct cc_key key;
	bool equal;

	cc_key_init(&key);
	drv_environment_add(&memo, &key);
	CU_ASSERT_EQUAL(cc_key_status(&key), CMN_OK);
	equal = cmn_view_equal(cc_key_view(&key), cc_key_view(&last));
	cc_key_release(&last);
	last = key;
	return equal;
}

static void compilers_variables_count(void)
{
	static const char *const names[] = { "IGC_EnableOption", "POCL_AFFINITY", "LP_NATIVE_VECTOR_WIDTH",
					     "CUDA_VISIBLE_DEVICES", "NEO_FP64_EMULATION", "CPATH" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CU_ASSERT(counts(names[i], false));
}

static void places_and_loaders_do_not_count(void)
{
	static const char *const names[] = { "POCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR", "CUDA_CACHE_PATH",
					     "OCL_ICD_VENDORS", "OPENCL_LAYERS", "CKCACHE_DIR", "HOME",
					     "PWD", "TMPDIR", "LANG", "DISPLAY", "LD_LIBRARY_PATH" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CU_ASSERT(!counts(names[i], false));
		CU_ASSERT(!counts(names[i], true));
	}
}

static void debug_keys_count_only_where_the_driver_reads_them(void)
{
	CU_ASSERT(!counts("ProductFamilyOverride", false));
	CU_ASSERT(counts("ProductFamilyOverride", true));
	CU_ASSERT(counts("SetCommandStreamReceiver", true));
}

static void value_and_presence_change_the_key(void)
{
	unsetenv("IGC_TestOption");
	(void)keys_equal();
	CU_ASSERT(keys_equal());
	setenv("IGC_TestOption", "1", 1);
	CU_ASSERT(!keys_equal());
	CU_ASSERT(keys_equal());
	setenv("IGC_TestOption", "2", 1);
	CU_ASSERT(!keys_equal());
	setenv("UNRELATED_TO_COMPILERS", "2", 1);
	CU_ASSERT(keys_equal());
	unsetenv("IGC_TestOption");
	CU_ASSERT(!keys_equal());
}

static void order_of_variables_does_not_matter(void)
{
	setenv("IGC_A", "1", 1);
	setenv("IGC_B", "2", 1);
	(void)keys_equal();
	unsetenv("IGC_A");
	setenv("IGC_A", "1", 1);
	CU_ASSERT(keys_equal());
	unsetenv("IGC_A");
	unsetenv("IGC_B");
}

int main(void)
{
	static const struct unit_test tests[] = {
		UNIT_TEST(compilers_variables_count),
		UNIT_TEST(places_and_loaders_do_not_count),
		UNIT_TEST(debug_keys_count_only_where_the_driver_reads_them),
		UNIT_TEST(value_and_presence_change_the_key),
		UNIT_TEST(order_of_variables_does_not_matter),
	};

	return UNIT_MAIN("environment", tests);
}
