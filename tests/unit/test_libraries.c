/* SPDX-License-Identifier: MIT */
/*
 * test_libraries: what comes while a driver builds, and whose compiler it is
 * taken for. Drivers and compilers are copies of a small library that the
 * process has, told apart by their file names.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "layers/driver/libraries.h"
#include "tests/support/unit.h"

static char driver_path[PATH_MAX];

static bool is_driver(const char *path)
{
	return strcmp(path, driver_path) == 0;
}

static void load(const char *name, char path[PATH_MAX])
{
	char command[2 * PATH_MAX + 16];
	Dl_info info;

	CU_ASSERT_FATAL(dladdr((void *)(uintptr_t)CU_get_error, &info) != 0);
	(void)snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX / 2, unit_dir(), name);
	(void)snprintf(command, sizeof(command), "cp '%s' '%s'", info.dli_fname, path);
	CU_ASSERT_FATAL(system(command) == 0);
	CU_ASSERT_FATAL(dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL);	/* for good, as drivers are */
}

static bool names(const char *driver, const char *field)
{
	const struct drv_libraries_query query = { .is_driver = is_driver };
	const struct drv_driver *row;
	struct cc_key key;
	bool found;

	(void)snprintf(driver_path, sizeof(driver_path), "%s", driver);
	cc_key_init(&key);
	CU_ASSERT_EQUAL(drv_libraries_identify(&query, &key, &row), CMN_OK);
	found = memmem(cc_key_view(&key).data, cc_key_view(&key).len, field, strlen(field)) != NULL;
	cc_key_release(&key);
	return found;
}

static void nothing_came_where_nothing_was_loaded(void)
{
	struct drv_library_epoch before = drv_libraries_epoch();

	CU_ASSERT(!drv_libraries_came(&before));
}

/* A known driver's build may load what an unknown one's next build then finds there. */
static void what_came_in_any_build_counts_for_unknown_drivers(void)
{
	static char unknown[PATH_MAX], known[PATH_MAX], other[PATH_MAX];
	struct drv_library_epoch before;

	load("libunknown_driver.so", unknown);
	load("libpocl.so.9", known);
	load("libnot_of_a_build.so", other);
	before = drv_libraries_epoch();
	load("libsome_compiler.so", other);
	CU_ASSERT(drv_libraries_came(&before));
	CU_ASSERT(names(unknown, "library.libunknown_driver.so"));
	CU_ASSERT(names(unknown, "library.libsome_compiler.so"));
	CU_ASSERT(!names(unknown, "library.libnot_of_a_build.so"));
	CU_ASSERT(names(known, "library.libpocl.so.9"));
	CU_ASSERT(!names(known, "library.libsome_compiler.so"));
}

int main(void)
{
	static const struct unit_test tests[] = {
		UNIT_TEST(nothing_came_where_nothing_was_loaded),
		UNIT_TEST(what_came_in_any_build_counts_for_unknown_drivers),
	};

	return UNIT_MAIN("libraries", tests);
}
