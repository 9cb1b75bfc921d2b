/* SPDX-License-Identifier: MIT */
/*
 * test_originals: what a driver makes of a binary is less than what it
 * compiled: it may refuse to link it, answer otherwise, or crash on questions
 * that no application asked. The stub driver does each of these on demand, under
 * the file name of the driver that was seen to, since layers/shared/driver/drivers.c
 * goes by that; on real drivers the same scenarios run as they are.
 */
#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

static bool is_stub(void)
{
	return driver_is("stub");
}

/* The stub driver as a library of that name, with a setting and, where it is given, a version. */
static void begin_as(const char *name, const char *setting, const char *version)
{
	char settings[256];

	driver_begin();
	driver_stub_as(name);
	driver_setenv("CKCACHE_CAPTURE", "eager");
	(void)snprintf(settings, sizeof(settings), "%s=1\n%s%s\n%s", setting,
		       version ? "STUB_DRIVER_VERSION=" : "", version ? version : "",
		       version && !strncmp(version, "26.2", 4) ? "STUB_LOADS_BUILT=1\n" : "");
	unit_write("settings", settings);
}

TEST(new_links_of_hits_are_linked)
{
	if (is_stub())
		driver_stub_setting("STUB_REFUSE_LOADED_LINK", "1");
	SAME_AS_BARE("relink", "", "7");
	SAME_AS_BARE("relink", "", "7");
	SAME_AS_BARE("relink", "-cl-denorms-are-zero", "7");	/* objects and library are hits, the link is new */
	SAME_AS_BARE("relink", "-cl-denorms-are-zero", "8");	/* one object is new */
	if (is_stub())
		CU_ASSERT_EQUAL(driver_bypasses("link-refused"), 0);
}

TEST_ON("stub", a_refused_link_is_stored)
{
	unsigned int compiled;

	driver_stub_setting("STUB_REFUSE_LOADED_LINK", "1");
	(void)CLIENT(LAYERED, "relink", "", "7");
	(void)CLIENT(LAYERED, "relink", "-DNEW", "7");
	compiled = driver_counted("compile");
	GOOD_CLIENT(LAYERED, "relink", "-DNEW", "7");
	CU_ASSERT_EQUAL(driver_counted("compile"), compiled);
	/* Every program that the layer made is gone. */
	CU_ASSERT_EQUAL(driver_counted("free-source"), driver_counted("create-source"));
}

/* What the objects were compiled from is as it was: such a link is kept, for as long as that holds. */
TEST_ON("stub", a_refused_link_of_files_depends_on_them)
{
	char function[64];

	driver_stub_setting("STUB_REFUSE_LOADED_LINK", "1");
	unit_write("work/value.h", "int seven;\n");
	(void)snprintf(function, sizeof(function), "7;}\n#include \"value.h\"\nint x() {return 0");
	SAME_AS_BARE("relink", "", function);
	SAME_AS_BARE("relink", "-DNEW", function);
	CU_ASSERT_EQUAL(driver_bypasses("link-refused"), 0);
	SAME_AS_BARE("relink", "-DNEW", function);
	CU_ASSERT_EQUAL(driver_bypasses("link-refused"), 0);
	unit_write("work/value.h", "int eight;\n");
	SAME_AS_BARE("relink", "-DNEW", function);
	GOOD_CLIENT(LAYERED, "relink", "-DNEW", function);
}

/* A file that is another when the objects are compiled again: the link is not what its key says. */
TEST_ON("stub", a_refused_link_of_changed_files_is_not_kept)
{
	static const char *const ways[] = { NULL, "library" };

	for (size_t i = 0; i < 2; i++) {
		driver_begin();
		driver_stub_setting("STUB_REFUSE_LOADED_LINK", "1");
		SAME_AS_BARE("link-changed", "", "", ways[i]);
		GOOD_CLIENT(LAYERED, "link-changed", "-DNEW", "int second", ways[i]);
		CU_ASSERT_EQUAL(driver_bypasses("link-refused"), i + 1);
		SAME_AS_BARE("link-changed", "-DNEW", "", ways[i]);
		SAME_AS_BARE("link-changed", "-DNEW", "", ways[i]);
		CU_ASSERT_EQUAL(driver_bypasses("link-refused"), i + 1);
	}
}

/* A library of a changed file that cannot be made again is no part of a link. */
TEST_ON("stub", a_library_that_fails_is_not_linked)
{
	unsigned int links;

	driver_stub_setting("STUB_REFUSE_LOADED_LINK", "1");
	SAME_AS_BARE("link-changed", "", "", "library");
	links = driver_counted("link");
	GOOD_CLIENT(LAYERED, "link-changed", "-DNEW", "int unresolved", "library");
	/* What was loaded, and the library's own. */
	CU_ASSERT_EQUAL(driver_counted("link"), links + 2);
	/* Of an object that does not compile again nothing is left (guard.c). */
	GOOD_CLIENT(LAYERED, "link-changed", "-DNEW", "#error gone");
	CU_ASSERT_EQUAL(driver_counted("link"), links + 3);
}

TEST(kernels_of_objects_have_the_drivers_error)
{
	static const char *const settings[] = { "", "STUB_STRICT_OBJECTS", "STUB_OBJECTS_UNBUILT" };

	if (driver_is("nvidia"))
		return (void)printf("nvidia writes a size with the error; ");
	if (driver_is("amd"))
		return (void)printf("asked for the kernels of a compiled object it ends the process; ");
	for (size_t j = 0; j < sizeof(settings) / sizeof(settings[0]); j++) {
		driver_begin();
		if (is_stub())
			driver_stub_setting(settings[j], "1");
		for (int i = 0; i < 3; i++)
			SAME_AS_BARE("object-kernels");
		if (!is_stub())
			break;
		unit_remove("cache");	/* with the others the driver is another one */
	}
}

/* Of such a driver the layer knows the answers, and those for want of a name all the same. */
TEST_ON("stub", kernels_of_objects_have_the_known_drivers_error)
{
	begin_as("libRusticlOpenCL.so.1", "STUB_OBJECTS_UNBUILT", "26.2.6-1");
	for (int i = 0; i < 3; i++)
		SAME_AS_BARE("object-kernels");
}

/* Drivers that end the process where one that was loaded is asked what one that was built answers. */
TEST_ON("stub", what_was_built_is_compiled_by_the_driver)
{
	begin_as("libamdocl64.so", "STUB_COUNT_QUERIES", NULL);
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("compile-built");
	CU_ASSERT_EQUAL(driver_bypasses("compiled-again"), 2);
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("text-or-il", "source", "compile");
	EXPECT_STATS("bypass.compiled-again 2, hits_disk 2");
}

TEST_ON("stub", kernels_that_are_not_there_keep_nothing)
{
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("unknown-kernels", "3");
	CU_ASSERT_EQUAL(driver_stats().hits_disk, 1);
	CU_ASSERT_EQUAL(driver_counted("free-program"),
			driver_counted("create-source") + driver_counted("create-binary"));
}

TEST(what_binaries_lose_is_answered)
{
	if (is_stub())
		begin_as("libpocl.so.2", "STUB_LOSE_ANSWERS", NULL);
	SAME_AS_BARE("queries");
	SAME_AS_BARE("queries");
	CU_ASSERT(driver_stats().hits_disk >= 1);
}

TEST_ON("stub", each_device_has_its_answer)
{
	begin_as("libpocl.so.2", "STUB_LOSE_ANSWERS", "7.1\nSTUB_DEVICES=3");
	SAME_AS_BARE("queries");
	SAME_AS_BARE("queries");
	SAME_AS_BARE("second-device");
	SAME_AS_BARE("second-device");
}

/* The same driver's older version creates kernels slowly, and loses nothing. */
TEST_ON("stub", a_version_decides)
{
	unsigned int asked;

	begin_as("libRusticlOpenCL.so.1", "STUB_LOSE_ANSWERS", "26.2.6-1");
	SAME_AS_BARE("queries");
	SAME_AS_BARE("queries");
	begin_as("libRusticlOpenCL.so.1", "STUB_COUNT_QUERIES", "22.3.6");
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("same-kernels");
	SAME_AS_BARE("vector");
	asked = driver_counted("free-kernel");
	begin_as("libRusticlOpenCL.so.1", "STUB_COUNT_QUERIES", "26.2.6-1");
	SAME_AS_BARE("vector");
	CU_ASSERT(driver_counted("free-kernel") > asked);
}

TEST_ON("stub", names_are_not_asked_of_a_driver_that_crashes)
{
	begin_as("libnvidia-opencl.so.1", "STUB_NAMES_ABORT", NULL);
	for (int i = 0; i < 2; i++) {
		SAME_AS_BARE("vector");
		SAME_AS_BARE("link");
		SAME_AS_BARE("object-kernels");
		SAME_AS_BARE("no-kernels");
	}
	CU_ASSERT(driver_stats().hits_disk >= 2);
}

/* That there are none is known without compiling what was compiled. */
TEST_ON("stub", an_object_without_kernels_is_not_compiled_to_tell)
{
	driver_stub_setting("STUB_NO_NAMES", "1");
	for (int i = 0; i < 2; i++)
		SAME_AS_BARE("no-kernels", "compiled");
	CU_ASSERT_EQUAL(driver_counted("compile"), 2 + 1);
}

/* With pocl's own cache off; else all have one. Here it shows in the answers. */
TEST_ON("stub", temporary_names_are_new_in_each_load)
{
	struct outcome outcomes[3];

	for (int kept = 0; kept < 2; kept++) {
		begin_as("libpocl.so.2", "STUB_LOSE_ANSWERS", NULL);
		driver_setenv("POCL_KERNEL_CACHE", kept ? "1" : "0");
		for (int i = 0; i < 3; i++) {
			outcomes[i] = CLIENT(LAYERED, "vector", "-D_UNCACHED_abcdef");
			CU_ASSERT(outcome_good(&outcomes[i]));
			for (int j = 0; j < i; j++)
				CU_ASSERT_EQUAL(!strcmp(outcomes[i].output, outcomes[j].output), kept);
		}
		CU_ASSERT_EQUAL(driver_stats().hits_disk, kept ? 5 : 2);
	}
}

TEST_ON("stub", loads_are_one_at_a_time)
{
	begin_as("libpocl.so.2", "STUB_LOADS_ABORT", NULL);
	for (int i = 0; i < 4; i++)
		GOOD_CLIENT(LAYERED, "threads", "8", "8");
	CU_ASSERT(driver_stats().hits_disk >= 8);
}

/* What is linked is made again with the constants that it was made with; executables as such. */
TEST_ON("stub", a_refused_link_has_its_constants)
{
	static const char *const ways[] = { "compile", "build" };
	static const char *const versions[] = { "26.2.6-1", "26.2.6-1\nSTUB_REFUSE_EXECUTABLES=1" };
	static const char *const constants[] = { "5", "7" };

	for (size_t i = 0; i < 4; i++) {
		begin_as("libRusticlOpenCL.so.1", "STUB_REFUSE_LOADED_LINK", versions[i / 2]);
		SAME_AS_BARE("link-il", ways[i % 2], "", constants[i / 2]);
		SAME_AS_BARE("link-il", ways[i % 2], "-DNEW", constants[i / 2]);
		CU_ASSERT_EQUAL(driver_stats().hits_disk, i + 1);
	}
}

TEST_ON("stub", released_programs_leave_nothing)
{
	SAME_AS_BARE("released", "100");
}

/* Without its cache pocl's temporary files have the binary's name. */
TEST_ON("pocl", threads_load_at_a_time)
{
	driver_setenv("POCL_KERNEL_CACHE", "0");
	SAME_AS_BARE("threads", "1", "2");
	SAME_AS_BARE("threads", "4", "2");
	CU_ASSERT(driver_stats().hits_disk >= 2);
}
