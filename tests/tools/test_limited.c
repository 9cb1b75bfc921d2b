/* SPDX-License-Identifier: MIT */
/* limited: control groups with bounds. */
#include "tools/replay/limited.h"

#include <sys/stat.h>

#include "tests/support/unit.h"

static void put(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT(fputs(text, file) >= 0);
	CU_ASSERT_EQUAL(fclose(file), 0);
}

static bool is_limited(void)
{
	return limited_by_control_group("own", "groups");
}

BEFORE_EACH
{
	CU_ASSERT_EQUAL_FATAL(mkdir("groups", 0700), 0);
	CU_ASSERT_EQUAL_FATAL(mkdir("groups/a", 0700), 0);
	CU_ASSERT_EQUAL_FATAL(mkdir("groups/a/b", 0700), 0);
	put("own", "1:cpu:/c\n0::/a/b\n");
}

TEST(what_is_not_there_or_has_no_bound_limits_nothing)
{
	CU_ASSERT_FALSE(is_limited());
	CU_ASSERT_FALSE(limited_by_control_group("none", "groups"));
	put("groups/a/b/cpu.max", "max 100000\n");
	put("groups/a/b/memory.max", "max\n");
	put("groups/a/b/memory.high", "max\n");
	put("groups/a/b/pids.max", "max\n");
	CU_ASSERT_FALSE(is_limited());
	put("own", "4:memory:/a\n");
	put("groups/a/memory.max", "1000000\n");
	CU_ASSERT_FALSE(is_limited());
}

TEST(a_bound_of_its_group_or_of_one_above_limits_it)
{
	static const char *const places[][2] = {
		{ "groups/a/b/cpu.max", "50000 100000\n" }, { "groups/a/memory.max", "1000000\n" },
		{ "groups/memory.high", "0\n" },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		put(places[i][0], places[i][1]);
		CU_ASSERT_TRUE(is_limited());
		CU_ASSERT_EQUAL(unlink(places[i][0]), 0);
		CU_ASSERT_FALSE(is_limited());
	}
	put("own", "0::/\n");
	CU_ASSERT_FALSE(is_limited());
	put("groups/memory.max", "1000000\n");
	CU_ASSERT_TRUE(is_limited());
}

TEST(processes_are_limited_where_few_more_may_start)
{
	put("groups/a/pids.max", "20000\n");
	put("groups/a/pids.current", "300\n");
	CU_ASSERT_FALSE(is_limited());
	put("groups/a/pids.current", "19500\n");
	CU_ASSERT_TRUE(is_limited());
	put("groups/a/pids.max", "100\n");
	put("groups/a/pids.current", "3\n");
	CU_ASSERT_TRUE(is_limited());
}
