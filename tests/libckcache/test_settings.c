/* SPDX-License-Identifier: MIT */
/* test_settings: what a program sets while it runs holds for its whole process, and the user's word goes before it. */
#include "tests/libckcache/ways.h"
#include "tests/support/unit.h"

#define OK "0"
#define DENIED "-4"

static const char *below(const char *name)
{
	static char paths[2][8192];
	static unsigned int which;
	char *room = paths[which++ % 2];

	(void)snprintf(room, sizeof(paths[0]), "%s/%s", unit_dir(), name);
	return room;
}

TEST(each_setting_is_what_was_set)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "settings", way_cache(way));
	}
}

TEST(new_entries_go_to_the_new_directory)
{
	EACH_WAY(way) {
		char other[64];

		way_begin(way);
		(void)snprintf(other, sizeof(other), "work-%d", (int)way);
		driver_setenv("CKCACHE_DIR", way_cache(way));
		GOOD(way, "moved", way_cache(way));
		/* Two by the library; with a layer, the application's own build too. */
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).entries, 2);
		CU_ASSERT_EQUAL(driver_stats_in(below("work/other")).entries,
				way == WAY_LINKED ? 1 : 2);
		CU_ASSERT_EQUAL(rename(below("work/other"), below(other)), 0);
	}
}

/* Also in the layer, which starts when OpenCL does. */
TEST(settings_before_the_first_call_hold)
{
	for (enum way way = WAY_LINKED; way <= WAY_LAYERED; way++) {
		char dir[4096];

		way_begin(way);
		(void)snprintf(dir, sizeof(dir), "%s/early-%d", unit_dir(), (int)way);
		GOOD(way, "early", dir);
		CU_ASSERT_EQUAL(driver_stats_in(dir).entries, way == WAY_LINKED ? 1 : 2);
		CU_ASSERT(access(way_cache(way), F_OK) != 0);
	}
}

TEST(settings_need_no_opencl)
{
	struct outcome outcome;

	way_begin(WAY_LINKED);
	driver_program(API_ALONE);
	outcome = driver_client(BARE, (const char *const[]){ NULL });
	CU_ASSERT(outcome_good(&outcome));
}

/* ld.so goes no further than to a file of that name that is no library. */
TEST(without_opencl_and_level_zero_nothing_is_described)
{
	struct outcome outcome;

	way_begin(WAY_LINKED);
	unit_write("none/libOpenCL.so.1", "no library, though as long as the header of one would have to be");
	unit_write("none/libze_loader.so.1", "no library, though as long as the header of one would have to be");
	driver_setenv("LD_LIBRARY_PATH", below("none"));
	driver_program(API_ALONE);
	outcome = driver_client(BARE, (const char *const[]){ "describe", NULL });
	CU_ASSERT(outcome_good(&outcome));
}

/* Under another name, and without what came with later versions; but not without what is called. */
TEST(any_library_with_the_functions_of_opencl_is_used)
{
	struct outcome outcome;
	char command[8192];

	way_begin(WAY_LINKED);
	unit_write("none/libOpenCL.so.1", "no library, though as long as the header of one would have to be");
	driver_setenv("LD_LIBRARY_PATH", below("none"));
	driver_program(API_ALONE);
	outcome = driver_client(BARE, (const char *const[]){ "usable", OTHER_OPENCL, NULL });
	CU_ASSERT(outcome_good(&outcome));
	(void)snprintf(command, sizeof(command), "cp '%s' none/libOpenCL.so.1", LACKING_OPENCL);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	outcome = driver_client(BARE, (const char *const[]){ "unusable", "libOpenCL.so.1", NULL });
	CU_ASSERT(outcome_good(&outcome));
}

TEST(nothing_is_written_while_it_is_off)
{
	EACH_WAY(way) {
		char other[64];

		way_begin(way);
		GOOD(way, "persistent", way_cache(way));
		CU_ASSERT(access(way_cache(way), F_OK) != 0);
		(void)snprintf(other, sizeof(other), "off-%d", (int)way);
		CU_ASSERT_EQUAL(rename(below("work/other"), below(other)), 0);
	}
}

TEST(what_the_user_forbids_stays_forbidden)
{
	static const char *const variables[] = {
		"CKCACHE_DISABLE", "CKCACHE_PERSISTENT", "CKCACHE_READ_ONLY",
	};
	static const char *const words[] = { "disable", "persistent", "read-only" };

	EACH_WAY(way) {
		for (size_t i = 0; i < 3; i++) {
			/* Switched off, the layer gives no functions. */
			if (way == WAY_EXTENSION && i == 0)
				continue;
			way_begin(way);
			driver_setenv(variables[i], i == 1 ? "0" : "1");
			GOOD(way, "denied", words[i]);
			CU_ASSERT(access(way_cache(way), F_OK) != 0);
		}
	}
}

/* Found, and neither evicted nor replaced. */
TEST(a_read_only_cache_is_only_read)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "build", "0");
		driver_setenv("CKCACHE_READ_ONLY", "1");
		GOOD(way, "build", "2");
		GOOD(way, "evict-denied");
		GOOD(way, "build", "2");
	}
}

TEST(a_directory_that_others_can_write_to_is_refused)
{
	BEGIN_EACH_WAY(way) {
		(void)mkdir(below("open"), 0700);	/* there it is from the first way on */
		(void)mkdir(below("mine"), 0700);
		unit_write("work/file", "no directory");
		CU_ASSERT_EQUAL(chmod(below("open"), 0777), 0);
		GOOD(way, "set-dir", below("open"), DENIED, way_cache(way));
		CU_ASSERT_EQUAL(chmod(below("open"), 01777), 0);
		GOOD(way, "set-dir", below("open"), DENIED, way_cache(way));
		GOOD(way, "set-dir", below("mine"), OK, below("mine"));
		CU_ASSERT_EQUAL(driver_stats_in(below("mine")).entries, 1);
		CU_ASSERT_EQUAL(rmdir(below("open")), 0);
	}
}

TEST(a_directory_of_another_user_is_refused)
{
	if (!unit_is_root())
		return;
	BEGIN_EACH_WAY(way) {
		(void)mkdir(below("theirs"), 0755);	/* there it is from the first way on */
		CU_ASSERT_EQUAL(chown(below("theirs"), 12345, 12345), 0);
		GOOD(way, "set-dir", below("theirs"), DENIED, way_cache(way));
		CU_ASSERT_EQUAL(rmdir(below("theirs")), 0);
	}
}

/* What is over the bound goes when the next ones are stored, each of which has little time for it. */
TEST(capacity_bounds_what_is_stored)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "capacity", "0", "1", "40");
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).entries, 40);
		GOOD(way, "capacity", "200000", "41", "120");
		CU_ASSERT(driver_stats_in(way_cache(way)).entries > 0);
		CU_ASSERT(driver_stats_in(way_cache(way)).entries < 30);	/* of 8 kB where directories take nothing */
	}
}
