/* SPDX-License-Identifier: MIT */
/* test_slot_libraries: which plugins and which validation layer are loaded, and for whom. */
#include <dlfcn.h>
#include <sys/auxv.h>

#include "layers/level_zero/slot/slot_libraries.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static bool secure;	/* the program's user is another than its caller */
static struct slot_libraries libraries;

char *__wrap_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name)
{
	return secure ? NULL : getenv(name);
}

WRAPPED(unsigned long, getauxval, (unsigned long type))
{
	return type == AT_SECURE ? secure : __real_getauxval(type);
}

static void load(const char *plugins, const char *validation)
{
	CU_ASSERT_EQUAL(setenv("ZE_ENABLE_LAYERS", plugins, 1), 0);
	CU_ASSERT_EQUAL(setenv("ZE_ENABLE_VALIDATION_LAYER", validation, 1), 0);
	free(libraries.plugins);	/* its handles are kept */
	slot_libraries_load(&libraries);
}

static void copy(const char *from, const char *to)
{
	char command[8192];

	(void)snprintf(command, sizeof(command), "mkdir -p link real && cp '%s' '%s'", from, to);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
}

/* A loader by way of a link in another directory. */
static void load_loader(void)
{
	copy(PLUGIN_FIXTURE, "real/libze_loader.so.1.9");
	CU_ASSERT_EQUAL_FATAL(symlink("../real/libze_loader.so.1.9", "link/libze_loader.so.1"), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(dlopen("./link/libze_loader.so.1", RTLD_NOW | RTLD_LOCAL));
}

static bool genuine_is(const char *path)
{
	void *there = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

	if (there)
		CU_ASSERT_EQUAL(dlclose(there), 0);
	return there && there == libraries.genuine;
}

TEST(plugins_are_loaded_whole_and_apart)
{
	load(PLUGIN_FIXTURE ":" LACKING_FIXTURE, "0");
	CU_ASSERT_EQUAL_FATAL(libraries.count, 1);
	CU_ASSERT_PTR_NOT_NULL(slot_libraries_symbol(*libraries.plugins, "fixture_defined"));
	CU_ASSERT_PTR_NULL(dlsym(RTLD_DEFAULT, "fixture_defined"));
	CU_ASSERT_PTR_NULL(libraries.genuine);
}

/* A loader that reads the variable itself has chained it, below the slot. */
TEST(what_is_in_the_process_already_is_not_loaded_again)
{
	copy(PLUGIN_FIXTURE, "link/another.so");
	CU_ASSERT_PTR_NOT_NULL_FATAL(dlopen(PLUGIN_FIXTURE, RTLD_NOW | RTLD_LOCAL));
	load(PLUGIN_FIXTURE ",./link/another.so:./link/another.so", "0");
	CU_ASSERT_EQUAL_FATAL(libraries.count, 1);
	CU_ASSERT_PTR_EQUAL(*libraries.plugins, dlopen("./link/another.so", RTLD_NOW));
}

TEST(privileged_programs_get_the_validation_layer_and_no_plugin)
{
	load_loader();
	copy(PLUGIN_FIXTURE, "link/libze_validation_layer.so.1");
	secure = true;
	load(PLUGIN_FIXTURE, "1");
	CU_ASSERT_EQUAL(libraries.count, 0);
	CU_ASSERT(genuine_is("./link/libze_validation_layer.so.1"));
}

/* Debian's loader is linked to from elsewhere; a slot may be where the genuine layer was. */
TEST(the_genuine_layer_lies_where_the_loader_does_and_is_no_slot)
{
	load_loader();
	copy(SLOT_FIXTURE, "link/libze_validation_layer.so.1");
	copy(SLOT_FIXTURE, "real/libze_validation_layer.so.1");
	load("", "1");
	CU_ASSERT_PTR_NULL(libraries.genuine);
	copy(PLUGIN_FIXTURE, "real/libze_validation_layer.so.1.distrib");
	load("", "1");
	CU_ASSERT(genuine_is("./real/libze_validation_layer.so.1.distrib"));
}

int main(void)
{
	return unit_run_apart();
}
