/* SPDX-License-Identifier: MIT */
/* test_drivers: which row of the table a library and its version have. */
#include "layers/shared/driver/drivers.h"

#include "tests/support/unit.h"

TEST(a_driver_is_known_by_its_file_name)
{
	CU_ASSERT_STRING_EQUAL(drv_driver_of("libpocl.so.2")->library, "libpocl.so");
	CU_ASSERT_STRING_EQUAL(drv_driver_of("/usr/lib/libpocl.so.2.9.0")->library, "libpocl.so");
	CU_ASSERT_PTR_NULL(drv_driver_of("/opt/libpocl.so/libother.so")->library);
	CU_ASSERT_PTR_NULL(drv_driver_of("libother.so")->library);
	CU_ASSERT_PTR_NULL(drv_driver_of("")->library);
}

/* "" for the first of its rows. */
static const char *since(const char *library, const char *version)
{
	const struct drv_driver *row = drv_driver_at(drv_driver_of(library), version);

	CU_ASSERT(row->library == NULL || strncmp(library, row->library, strlen(row->library)) == 0);
	return row->since ? row->since : "";
}

TEST(a_version_has_the_last_row_before_it)
{
	static const struct {
		const char *version, *since;
	} pocl[] = { { "3.1+debian", "" }, { "5.0", "" }, { "6.0", "6" }, { "7.1", "6" }, { "10.0", "6" } }, rows[] = {
		{ NULL, "" }, { "", "" }, { "9.1", "" }, { "22.3.6", "" }, { "23", "23" }, { "25.0.7", "23" },
		{ "26.1.9", "23" }, { "26.2", "26.2" }, { "26.2.1", "26.2" }, { "26.10.0", "26.2" },
		{ "100.0", "26.2" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_STRING_EQUAL(since("libRusticlOpenCL.so.1", rows[i].version), rows[i].since);
	for (size_t i = 0; i < sizeof(pocl) / sizeof(pocl[0]); i++)
		CU_ASSERT_STRING_EQUAL(since("libpocl.so.2", pocl[i].version), pocl[i].since);
}

TEST(rows_of_other_drivers_are_theirs)
{
	static const char *const libraries[] = { "libigdrcl.so", "libze_intel_gpu.so.1",
						 "libnvidia-opencl.so.1", "libother.so" };

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		CU_ASSERT_STRING_EQUAL(since(libraries[i], "999"), "");
}
