/* SPDX-License-Identifier: MIT */
/*
 * test_blobs: a blob gives back the program that it was taken from, in any
 * process and way, and nothing else is ever handed to the driver.
 */
#include "tests/libckcache/ways.h"
#include "tests/support/unit.h"

/* enum ckcache_status as text, for the client. */
#define OK "0"
#define DAMAGED "-5"
#define STALE "-6"
#define FOREIGN "-7"
#define VERSION "-8"
#define UNAVAILABLE "-12"
#define OUT_OF_MEMORY "-1"

static unsigned int built(void)
{
	return driver_counted("build-source");
}

static unsigned int created(void)
{
	return driver_counted("create-binary");
}

/* Saved in one way, loaded in each. */
TEST(blobs_go_from_each_way_to_each_other)
{
	BEGIN_EACH_WAY(from) {
		GOOD(from, "save", "blob");
		EACH_WAY(to) {
			unsigned int before = built();

			driver_setenv("CKCACHE_DIR", unit_dir());
			GOOD(to, "load", "blob", OK);
			CU_ASSERT_EQUAL(built(), before);
		}
	}
}

TEST(a_program_from_the_layers_cache_gives_its_blob)
{
	static const enum way layered[] = { WAY_LAYERED, WAY_EXTENSION };

	for (size_t i = 0; i < 2; i++) {
		unsigned int before;

		way_begin(layered[i]);
		GOOD(layered[i], "plain");
		before = built();
		GOOD(layered[i], "save", "blob");
		CU_ASSERT_EQUAL(built(), before);
		GOOD(WAY_LINKED, "load", "blob", OK);
		CU_ASSERT_EQUAL(built(), before);
	}
}

TEST(several_programs_share_a_blob_in_order)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "several");
		EXPECT_BUILT(3);
	}
}

TEST(a_blob_can_be_used_often_and_its_description_go)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "again");
		EXPECT_BUILT(1);
	}
}

TEST_ON("stub", damaged_blobs_never_reach_the_driver)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "flips");
		CU_ASSERT_EQUAL(created(), 0);
		CU_ASSERT_EQUAL(driver_counted("build-binary"), 0);
	}
}

TEST(a_foreign_blob_is_refused)
{
	EACH_WAY(way) {
		unsigned int before;

		way_begin(way);
		GOOD(way, "save", "blob", "-DVALUE=8");
		before = created();
		GOOD(way, "load", "blob", FOREIGN);
		GOOD(way, "load", "blob", FOREIGN, "-DVALUE=9");
		CU_ASSERT_EQUAL(created(), before);
	}
}

TEST_ON("stub", a_stale_blob_is_refused)
{
	EACH_WAY(way) {
		unsigned int before;
		char line[4096];

		way_begin(way);
		GOOD(way, "save", "blob");
		before = created();
		driver_setenv("STUB_DRIVER_VERSION", "1.1");
		GOOD(way, "load", "blob", STALE);
		driver_setenv("STUB_DRIVER_VERSION", NULL);
		(void)snprintf(line, sizeof(line), "%s\n", STUB_OTHER_BUILD);
		unit_write("vendors/driver.icd", line);
		GOOD(way, "load", "blob", STALE);
		CU_ASSERT_EQUAL(created(), before);
		way_begin(way);
		GOOD(way, "load", "blob", OK);
	}
}

TEST(a_blob_of_another_environment_is_refused)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "save", "blob");
		driver_setenv(driver_is("nvidia") ? "NVVM_NOTHING" : "CPATH", "/nonexistent");
		GOOD(way, "load", "blob", FOREIGN);
	}
}

TEST_ON("stub", what_the_driver_refuses_is_said)
{
	static const char *const refusals[] = { "STUB_REFUSE_BINARY", "STUB_REFUSE_BINARY_BUILD" };
	static const char *const modes[] = { "error", "status" };

	BEGIN_EACH_WAY(way) {
		GOOD(way, "save", "blob");
		for (size_t i = 0; i < 2; i++) {
			driver_stub_setting(refusals[i], "1");
			GOOD(way, "refused", "blob");
			driver_stub_setting("STUB_STATUS_ONLY", modes[i]);
			GOOD(way, "refused", "blob");
		}
		driver_stub_setting("STUB_NO_MEMORY", "1");
		GOOD(way, "load", "blob", OUT_OF_MEMORY);
		driver_stub_setting(NULL, NULL);
		GOOD(way, "load", "blob", OK);
		/* Two were never made; all others were released again. */
		CU_ASSERT_EQUAL(driver_counted("create-source") + driver_counted("create-binary"),
				driver_counted("free-program") + 2);
	}
}

TEST(programs_that_were_not_described_give_no_blob)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "undescribed", driver_is("stub") ? "stub" : NULL);
		if (!driver_is("stub"))
			continue;
		way_begin(way);
		driver_setenv("STUB_DEVICES", "2");
		GOOD(way, "undescribed", "stub");
	}
}

TEST_ON("stub", loads_of_a_blob_share_no_directory)
{
	BEGIN_EACH_WAY(way) {
		driver_stub_as("libpocl.so.2");
		driver_setenv("POCL_KERNEL_CACHE", "0");
		GOOD(way, "apart");
	}
}

TEST_ON("stub", a_blob_has_the_described_devices_binary)
{
	BEGIN_EACH_WAY(way) {
		driver_setenv("STUB_DEVICES", "2");
		driver_stub_setting("STUB_PER_DEVICE", "1");
		GOOD(way, "second-of-two");
		/* Once for its size and its bytes; once by the program, and by the layer. */
		CU_ASSERT_EQUAL(driver_counted("read-binary"), way == WAY_LINKED ? 2 : 3);
	}
}

TEST(constants_count_as_they_were_at_the_build)
{
	if (!driver_is("neo") && !driver_is("stub"))
		return;		/* of the others none keeps them in binaries */
	BEGIN_EACH_WAY(way) {
		if (driver_is("stub"))
			driver_stub_as("libigdrcl.so");
		GOOD(way, "constants", way == WAY_LINKED ? NULL : "layer");
	}
}

TEST_ON("stub", a_driver_without_binaries_gives_empty_blobs)
{
	BEGIN_EACH_WAY(way) {
		driver_stub_setting("STUB_NO_BINARY", "1");
		GOOD(way, "no-binary");
		driver_stub_setting("STUB_NO_BINARY", "error");
		GOOD(way, "no-binary");
	}
}
