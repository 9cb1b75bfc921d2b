/* SPDX-License-Identifier: MIT */
/* test_devices: what a library stored of a device is found again as long as nothing that it depends on is another. */
#include "tests/libckcache/ways.h"
#include "tests/support/unit.h"

TEST(data_is_stored_found_replaced_and_evicted)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "device");
		CU_ASSERT_EQUAL(driver_counted("create-source"), 0);
	}
}

TEST(each_part_of_the_librarys_identity_counts)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "device-identity");
	}
}

static void expect_data(enum way way, const char *wanted)
{
	const char *output = OUTPUT(way, "device-load");
	const char *line = strchr(output, '\n');

	CU_ASSERT(line != NULL && !strcmp(line + 1, wanted));
}

TEST(data_is_found_by_other_processes_and_ways)
{
	BEGIN_EACH_WAY(way) {
		expect_data(way, "");
		GOOD(way, "device-load", "told");
		EACH_WAY(other)
			expect_data(other, "told\n");
		GOOD(way, "device-load", "told anew");
		EACH_WAY(other)
			expect_data(other, "told anew\n");
	}
}

TEST_ON("stub", data_of_another_driver_is_not_found)
{
	EACH_WAY(way) {
		char line[4096];

		way_begin(way);
		GOOD(way, "device-load", "told");
		driver_setenv("STUB_DRIVER_VERSION", "1.1");
		expect_data(way, "");
		driver_setenv("STUB_DRIVER_VERSION", NULL);
		expect_data(way, "told\n");
		(void)snprintf(line, sizeof(line), "%s\n", STUB_OTHER_BUILD);
		unit_write("vendors/driver.icd", line);
		expect_data(way, "");
	}
}

/* Also where it takes the code of the whole. */
TEST_ON("stub", data_of_a_part_is_not_the_wholes)
{
	EACH_WAY(way) {
		way_begin(way);
		driver_stub_as("libpocl.so.2");
		driver_setenv("STUB_PROCESSOR", "1");
		GOOD(way, "device-load", "told");
		driver_setenv("STUB_CHANGED", "units");
		expect_data(way, "");
		driver_setenv("STUB_PARENT", "1");
		driver_setenv("STUB_CHANGED", "part_units");
		expect_data(way, "");
		driver_setenv("STUB_PARENT", NULL);
		driver_setenv("STUB_CHANGED", NULL);
		expect_data(way, "told\n");
	}
}

TEST_ON("stub", a_device_that_cannot_be_told_is_unavailable)
{
	BEGIN_EACH_WAY(way) {
		driver_stub_setting("STUB_NO_PLATFORM", "1");
		GOOD(way, "device-unknown");
	}
}

TEST_ON("stub", a_description_keeps_its_sub_device)
{
	BEGIN_EACH_WAY(way) {
		driver_stub_setting("STUB_PARENT", "1");
		GOOD(way, "build", "0");
		CU_ASSERT(driver_counted("retain-device") > 0);
		CU_ASSERT_EQUAL(driver_counted("release-device"), driver_counted("retain-device"));
	}
}
