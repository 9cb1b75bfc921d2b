/* SPDX-License-Identifier: MIT */
/*
 * test_unobserved: where nobody sees what compilers read, each build says so, answers as without
 * the layer, and leaves nothing. So it is with CKCACHE_OBSERVE=0, and always on architectures whose
 * relocations got_slots.c does not know.
 */
#include "layers/shared/observer/got_slots.h"
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

BEFORE_EACH
{
	if (drv_slots_known())
		driver_setenv("CKCACHE_OBSERVE", "0");
}

static unsigned int made(void)
{
	return driver_counted("build-source") + driver_counted("compile") + driver_counted("link");
}

static void expect_nothing_kept(const char *scenario)
{
	const char *const arguments[] = { scenario, NULL };
	struct outcome reference = driver_client(BARE, arguments);
	unsigned int bare = made();
	char paths[1][4096];
	uint64_t said = 0;

	CU_ASSERT(bare > 0);
	for (unsigned int i = 1; i <= 3; i++) {
		SAME_ANSWERS(&reference, arguments);
		CU_ASSERT_EQUAL(made(), bare * (i + 1));
		CU_ASSERT(driver_bypasses("observer-off") > said);
		said = driver_bypasses("observer-off");
	}
	EXPECT_STATS("stores 0, entries 0, recipes 0");
	CU_ASSERT_EQUAL(driver_cache_files(".bin", paths, 1), 0);
}

TEST(a_program_is_built_each_time)
{
	expect_nothing_kept("vector");
}

TEST(a_link_is_made_each_time)
{
	expect_nothing_kept("link");
}

TEST(a_failure_is_never_remembered)
{
	expect_nothing_kept("failed-binaries");
}

TEST(explain_says_why)
{
	GOOD_CLIENT(LAYERED, "vector");
	TOOL_SAYS(0, "not possible here", "explain");
}
