/* SPDX-License-Identifier: MIT */
/* test_ids: ids are equal where the result would be, and different wherever it could be another. */
#include "tests/libckcache/ways.h"
#include "tests/support/unit.h"

/* The id of one program in a process of its own. */
static const char *id_in(enum way way)
{
	return OUTPUT(way, "id-of");
}

static void expect_same(const char *a, const char *b)
{
	CU_ASSERT(strlen(a) == 2 * 88 + 1);
	CU_ASSERT_STRING_EQUAL(a, b);
}

static void expect_other(const char *a, const char *b)
{
	CU_ASSERT(strlen(a) == 2 * 88 + 1 && strlen(b) == strlen(a));
	CU_ASSERT_STRING_NOT_EQUAL(a, b);
}

TEST(ids_are_equal_in_each_process_and_way)
{
	way_begin(WAY_LINKED);
	EACH_WAY(way)
		expect_same(id_in(WAY_LINKED), id_in(way));
	/* Also where the cache is another one, or none. */
	driver_setenv("CKCACHE_DIR", unit_dir());
	expect_same(id_in(WAY_LAYERED), id_in(WAY_LINKED));
	driver_setenv("CKCACHE_DISABLE", "1");
	expect_same(id_in(WAY_LAYERED), id_in(WAY_LINKED));
	way_begin(WAY_LINKED);
	expect_same(id_in(WAY_LINKED), id_in(WAY_LAYERED));
}

TEST(ids_differ_wherever_the_program_does)
{
	BEGIN_EACH_WAY(way) {
		if (driver_is("stub")) {
			driver_stub_as("libigdrcl.so");	/* one whose binaries keep constants */
			GOOD(way, "ids", "constants");
			driver_setenv("STUB_DEVICES", "4");
		}
		if (driver_is("stub") || driver_is("neo"))
			GOOD(way, "ids", "constants");
		else
			GOOD(way, "ids");
	}
}

TEST_ON("stub", ids_differ_by_the_number_of_devices_in_the_context)
{
	way_begin(WAY_LINKED);
	const char *one = id_in(WAY_LINKED);
	driver_setenv("STUB_DEVICES", "2");
	expect_other(one, id_in(WAY_LINKED));
}

TEST_ON("stub", ids_differ_by_the_driver_version)
{
	const char *before;

	way_begin(WAY_LINKED);
	before = id_in(WAY_LINKED);
	driver_setenv("STUB_DRIVER_VERSION", "1.1");
	expect_other(before, id_in(WAY_LINKED));
	before = id_in(WAY_LINKED);
	expect_same(before, id_in(WAY_EXTENSION));
}

/* Another build of the driver's library, with the same version. */
TEST_ON("stub", ids_differ_by_the_build_of_the_driver)
{
	const char *before;
	char path[4096];

	way_begin(WAY_LINKED);
	before = id_in(WAY_LINKED);
	(void)snprintf(path, sizeof(path), "%s\n", STUB_OTHER_BUILD);
	unit_write("vendors/driver.icd", path);
	expect_other(before, id_in(WAY_LINKED));
}

/* Each layer of the process is below the library. */
TEST_ON("stub", ids_know_other_layers)
{
	const char *none;

	way_begin(WAY_LINKED);
	none = id_in(WAY_LINKED);
	driver_setenv("OPENCL_LAYERS", OTHER_LAYER_THAT_LOOKS_ON);
	expect_other(none, id_in(WAY_LINKED));
	driver_setenv("OPENCL_LAYERS", OTHER_LAYER_THAT_CHANGES);
	none = id_in(WAY_LINKED);
	CU_ASSERT_STRING_EQUAL(none, "\n");
}

TEST(ids_differ_by_variables_that_compilers_read)
{
	static const struct {
		/* Besides the stub, of which all count; one of pocl's devices is Intel's driver. */
		const char *readers[4];
		const char *name, *value;
	} variables[] = {
		{ { "neo", "pocl" }, "IGC_ForceOCLSIMDWidth", "8" },
		{ { "neo", "pocl" }, "IGC_ForceOCLSIMDWidth", "16" },
		{ { "pocl" }, "POCL_MAX_PTHREAD_COUNT", "1" },
		{ { "rusticl" }, "LP_NATIVE_VECTOR_WIDTH", "128" },
		{ { "neo", "rusticl", "pocl", "oclgrind" }, "CPATH", "/nonexistent" },
		{ { "nvidia" }, "NVVM_NOTHING", "/nonexistent" },
	};

	way_begin(WAY_LINKED);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *before = id_in(WAY_LINKED);
		bool counts = driver_is("stub");

		for (size_t j = 0; j < 4 && variables[i].readers[j]; j++)
			counts |= driver_is(variables[i].readers[j]);
		driver_setenv(variables[i].name, variables[i].value);
		if (counts)
			expect_other(before, id_in(WAY_LINKED));
		else
			expect_same(before, id_in(WAY_LINKED));
		expect_same(id_in(WAY_LINKED), id_in(WAY_EXTENSION));
	}
	expect_same(id_in(WAY_LINKED), id_in(WAY_LINKED));
	for (int i = 0; i < 2; i++) {
		const char *before = id_in(WAY_LINKED);

		driver_setenv("SOMETHING_ELSE", i ? "1" : "2");
		expect_same(before, id_in(WAY_LINKED));
	}
}

TEST(ids_are_empty_where_the_result_cannot_be_told)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "empty");
	}
}

TEST_ON("stub", descriptions_give_their_context_back)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "context");
	}
}

TEST(what_has_the_date_is_never_cached)
{
	BEGIN_EACH_WAY(way) {
		/* From Mesa's own cache it comes without being compiled. */
		driver_setenv("MESA_SHADER_CACHE_DISABLE", "1");
		driver_setenv("MESA_GLSL_CACHE_DISABLE", "1");
		GOOD(way, "dated");
		EXPECT_BUILT(2);
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).entries, 0);
		CU_ASSERT_EQUAL(driver_stats_in(way_cache(way)).bypasses, 2);
	}
}

TEST(programs_without_an_id_are_cached_by_what_they_read)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "changed");
		EXPECT_BUILT(3);
	}
}

TEST(a_changed_environment_is_noticed)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "environment");
		GOOD(way, "environment-early");
	}
}
