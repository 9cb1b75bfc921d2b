/* SPDX-License-Identifier: MIT */
/*
 * The slot and the preload shim, on the real loader and driver: a plugin is
 * proven to be in by the calls that it notes, and the slot to be transparent by
 * the loader's tables, entry by entry.
 *   test_slot PRODUCT
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>

#include "tests/level_zero/slot_run.h"
#include "tests/support/unit.h"

#define SHIM "LD_PRELOAD='" SLOT_DIRECTORY "/libckcache_preload.so'"
/* The way without the shim: the loader is sent to the slot, and told to load it. */
#define SENT "LD_LIBRARY_PATH='" SLOT_DIRECTORY "' ZE_ENABLE_VALIDATION_LAYER=1"
#define VALIDATION "ZE_ENABLE_VALIDATION_LAYER=1"
#define CHECKS "ZE_ENABLE_PARAMETER_VALIDATION=1"
#define PLUGIN(name) PLUGIN_DIRECTORY "/lib" name "_level_zero.so"
#define LAYERS(list) " ZE_ENABLE_LAYERS='" list "'"

#define MODULE "driver=0 il=one quiet"

#define SKIPPED 77
#define BOTH_CALLED                                                    \
	"outer zeDeviceGet\ninner zeDeviceGet\nouter zeContextCreate\n" \
	"inner zeContextCreate\nouter zeModuleCreate\ninner zeModuleCreate\n"
#define OUTER_CALLED "outer zeDeviceGet\nouter zeContextCreate\nouter zeModuleCreate\n"
#define INNER_CALLED "inner zeDeviceGet\ninner zeContextCreate\ninner zeModuleCreate\n"
/* ZE_RESULT_ERROR_INVALID_NULL_POINTER and …_NULL_HANDLE, from the genuine layer alone. */
#define REFUSED "zeModuleCreate 0x78000007\nzeContextCreate 0x78000005\n"

static const char *const clients[] = { CLIENT_LINKED, CLIENT_DLOPEN };

/* Big: not on the stack. `plain` is the same client on the same loader without the slot. */
static struct slot_run run, plain;

static void expect_equal_runs(void)
{
	CU_ASSERT_EQUAL(run.status, 0);
	CU_ASSERT_EQUAL(plain.status, 0);
	CU_ASSERT(strlen(plain.output) > 0);
	CU_ASSERT_STRING_EQUAL(run.output, plain.output);
	CU_ASSERT_STRING_EQUAL(run.errors, plain.errors);
}

static void expect_calls(const char *client, const char *variables, const char *calls)
{
	slot_run(&run, client, MODULE, variables);
	expect_equal_runs();
	CU_ASSERT_STRING_EQUAL(run.calls, calls);
}

TEST(plugins_see_calls_in_the_order_of_the_list)
{
	for (size_t i = 0; i < 2; i++) {
		slot_run(&plain, clients[i], MODULE, "");
		expect_calls(clients[i], SENT LAYERS(PLUGIN("outer") ":" PLUGIN("inner")), BOTH_CALLED);
		expect_calls(clients[i], SHIM LAYERS(PLUGIN("outer") "," PLUGIN("inner")), BOTH_CALLED);
		expect_calls(clients[i], SHIM LAYERS(PLUGIN("inner")), INNER_CALLED);
	}
}

TEST(every_table_is_the_loaders_without_plugins)
{
	for (size_t i = 0; i < 2; i++) {
		slot_run(&plain, clients[i], "tables", "");
		CU_ASSERT_PTR_NULL(strstr(plain.output, "libze_validation_layer"));
		slot_run(&run, clients[i], "tables", SHIM);
		expect_equal_runs();
		/* In the process, with nothing to chain. */
		slot_run(&run, clients[i], "tables", SHIM LAYERS(":"));
		expect_equal_runs();
		/* A plugin that replaces nothing, and validation that nobody asked for. */
		slot_run(&run, clients[i], "tables", SHIM LAYERS(PLUGIN("failing")));
		expect_equal_runs();
		slot_run(&run, clients[i], "tables", SHIM " ZE_ENABLE_VALIDATION_LAYER=0" LAYERS(PLUGIN("failing")));
		expect_equal_runs();
	}
}

TEST(every_table_is_the_genuine_layers_where_that_is_asked_for)
{
	for (size_t i = 0; i < 2; i++) {
		slot_run(&plain, clients[i], "tables", VALIDATION);
		CU_ASSERT_PTR_NOT_NULL(strstr(plain.output, "libze_validation_layer"));
		slot_run(&run, clients[i], "tables", SENT);
		expect_equal_runs();
		slot_run(&run, clients[i], "tables", SHIM " " VALIDATION);
		expect_equal_runs();
		slot_run(&run, clients[i], "tables", SHIM " " VALIDATION LAYERS(":"));
		expect_equal_runs();
		slot_run(&run, clients[i], "tables", SHIM " " VALIDATION LAYERS(PLUGIN("failing")));
		expect_equal_runs();
	}
}

TEST(errors_of_the_genuine_layer_come_through)
{
	static const char *const ways[] = { SENT " " CHECKS, SHIM " " VALIDATION " " CHECKS };
	char variables[4096];

	slot_run(&plain, CLIENT_DLOPEN, "driver=0 null", VALIDATION " " CHECKS);
	CU_ASSERT_PTR_NOT_NULL(strstr(plain.output, REFUSED));
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(variables, sizeof(variables), "%s%s", ways[i], LAYERS(PLUGIN("outer")));
		slot_run(&run, CLIENT_DLOPEN, "driver=0 null", variables);
		expect_equal_runs();
		/* It is outermost: what it refuses, no plugin sees. */
		CU_ASSERT_STRING_EQUAL(run.calls, "outer zeDeviceGet\nouter zeContextCreate\n");
	}
}

TEST(versions_name_the_genuine_layer_only_where_it_is_in)
{
	slot_run(&plain, CLIENT_DLOPEN, "versions", "");
	CU_ASSERT_PTR_NULL(strstr(plain.output, "validation"));
	slot_run(&run, CLIENT_DLOPEN, "versions", SHIM LAYERS(PLUGIN("outer")));
	expect_equal_runs();
	slot_run(&plain, CLIENT_DLOPEN, "versions", VALIDATION);
	CU_ASSERT_PTR_NOT_NULL(strstr(plain.output, "validation"));
	slot_run(&run, CLIENT_DLOPEN, "versions", SENT LAYERS(PLUGIN("outer")));
	expect_equal_runs();
}

TEST(a_name_is_looked_for_beside_the_slot_above_it_and_by_the_linker)
{
	char variables[8192];

	slot_run(&plain, CLIENT_DLOPEN, MODULE, "");
	slot_run_shell("mkdir -p lib/ckcache && cp '" SLOT_DIRECTORY "'/* lib/ckcache && "
		       "cp '" PLUGIN("outer") "' lib/ckcache && cp '" PLUGIN("inner") "' lib");
	(void)snprintf(variables, sizeof(variables),
		       "LD_PRELOAD='%s/lib/ckcache/libckcache_preload.so'" LAYERS("outer:inner"), unit_dir());
	expect_calls(CLIENT_DLOPEN, variables, BOTH_CALLED);
	expect_calls(CLIENT_DLOPEN, SHIM " LD_LIBRARY_PATH='" PLUGIN_DIRECTORY "'" LAYERS("inner"), INNER_CALLED);
	/* As loaders with such a variable of their own call it. */
	slot_run_shell("cp '" PLUGIN("outer") "' lib/libze_other_layer.so.1");
	(void)snprintf(variables, sizeof(variables), SHIM " LD_LIBRARY_PATH='%s/lib'" LAYERS("other"), unit_dir());
	expect_calls(CLIENT_DLOPEN, variables, OUTER_CALLED);
}

TEST(a_missing_plugin_is_named_in_one_line_and_left_out)
{
	const char *line = "ckcache: ZE_ENABLE_LAYERS: continuing without nowhere: ";
	const char *end;

	slot_run(&plain, CLIENT_LINKED, MODULE, "");
	slot_run(&run, CLIENT_LINKED, MODULE, SHIM LAYERS("nowhere:" PLUGIN("outer")));
	CU_ASSERT_EQUAL(run.status, 0);
	CU_ASSERT_STRING_EQUAL(run.output, plain.output);
	CU_ASSERT_STRING_EQUAL(run.calls, OUTER_CALLED);
	CU_ASSERT_EQUAL(strncmp(run.errors, line, strlen(line)), 0);
	end = strchr(run.errors, '\n');
	CU_ASSERT_PTR_NOT_NULL_FATAL(end);
	CU_ASSERT_STRING_EQUAL(end, "\n");
}

TEST(what_is_no_plugin_is_left_out)
{
	slot_run(&plain, CLIENT_LINKED, MODULE, "");
	slot_run(&run, CLIENT_LINKED, MODULE,
		 SHIM LAYERS(SLOT_DIRECTORY "/libze_validation_layer.so.1:/dev/null:/tmp:::" PLUGIN("outer")));
	CU_ASSERT_EQUAL(run.status, 0);
	CU_ASSERT_STRING_EQUAL(run.output, plain.output);
	CU_ASSERT_STRING_EQUAL(run.calls, OUTER_CALLED);
	/* A library whose getters are those of the loader it depends on. */
	expect_calls(CLIENT_LINKED, SHIM LAYERS(PLUGIN("linked")), "");
}

TEST(a_plugin_that_fails_changes_nothing_for_the_others)
{
	slot_run(&plain, CLIENT_LINKED, MODULE, "");
	expect_calls(CLIENT_LINKED, SHIM LAYERS(PLUGIN("outer") ":" PLUGIN("failing") ":" PLUGIN("inner")),
		     BOTH_CALLED);
}

TEST(a_plugin_listed_twice_is_chained_once)
{
	slot_run(&plain, CLIENT_LINKED, MODULE, "");
	expect_calls(CLIENT_LINKED, SHIM LAYERS(PLUGIN("outer") ":" PLUGIN("inner") ":" PLUGIN("outer")), BOTH_CALLED);
}

TEST(threads_get_equal_tables_at_once)
{
	slot_run(&plain, CLIENT_DLOPEN, "tables_at_once " MODULE, "");
	CU_ASSERT_PTR_NOT_NULL(strstr(plain.output, "equal\n"));
	slot_run(&run, CLIENT_DLOPEN, "tables_at_once " MODULE, SHIM LAYERS(PLUGIN("outer") ":" PLUGIN("inner")));
	expect_equal_runs();
	CU_ASSERT_STRING_EQUAL(run.calls, BOTH_CALLED);
}

TEST(children_get_the_environment_that_the_user_set)
{
	slot_run(&run, CLIENT_LINKED, "environment", SHIM LAYERS(PLUGIN("outer")));
	CU_ASSERT_EQUAL(run.status, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(run.output, "ZE_ENABLE_LAYERS="));
	CU_ASSERT_PTR_NULL(strstr(run.output, "VALIDATION"));
	CU_ASSERT_PTR_NULL(strstr(run.output, "CKCACHE"));
	slot_run(&run, CLIENT_LINKED, "environment", SHIM " ZE_ENABLE_VALIDATION_LAYER=0" LAYERS(PLUGIN("outer")));
	CU_ASSERT_PTR_NOT_NULL(strstr(run.output, "ZE_ENABLE_VALIDATION_LAYER=0\n"));
}

/* A package may put the slot in the genuine layer's place, beside the loader. */
TEST(a_diverted_genuine_layer_is_found)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
	char path[PATH_MAX], variables[8192];
	struct link_map *map;

	CU_ASSERT_PTR_NOT_NULL_FATAL(loader);
	CU_ASSERT_EQUAL_FATAL(dlinfo(loader, RTLD_DI_LINKMAP, &map), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(realpath(map->l_name, path));
	slot_run_shell("mkdir lib && cp '%s' lib/libze_loader.so.1 && "
		       "cp \"$(dirname '%s')\"/libze_validation_layer.so.1 "
		       "lib/libze_validation_layer.so.1.distrib && "
		       "cp '" SLOT_DIRECTORY "/libze_validation_layer.so.1' lib", path, path);
	(void)dlclose(loader);
	slot_run(&plain, CLIENT_DLOPEN, "driver=0 null", VALIDATION " " CHECKS);
	CU_ASSERT_PTR_NOT_NULL(strstr(plain.output, REFUSED));
	(void)snprintf(variables, sizeof(variables),
		       "LD_LIBRARY_PATH='%s/lib' " VALIDATION " " CHECKS LAYERS(PLUGIN("outer")), unit_dir());
	slot_run(&run, CLIENT_DLOPEN, "driver=0 null", variables);
	expect_equal_runs();
	CU_ASSERT_STRING_EQUAL(run.calls, "outer zeDeviceGet\nouter zeContextCreate\n");
	/* And the shim beside it: two slots, and the plugin called once all the same. */
	(void)strcat(variables, " " SHIM);
	slot_run(&run, CLIENT_DLOPEN, "driver=0 null", variables);
	expect_equal_runs();
	CU_ASSERT_STRING_EQUAL(run.calls, "outer zeDeviceGet\nouter zeContextCreate\n");
}

TEST(the_shim_stands_aside_for_a_loader_that_looks_elsewhere)
{
	slot_run(&plain, CLIENT_DLOPEN, MODULE, "");
	expect_calls(CLIENT_DLOPEN, SHIM " ZEL_LIBRARY_PATH=/nonexistent" LAYERS(PLUGIN("outer")), "");
}

TEST(the_shims_getenv_is_libcs)
{
	static const char *const names[] = { "PATH", "TMPDIR", "SLOT_TEST", "SLOT", "SLOT_TEST=",
					     "", "ZE_ENABLE_VALIDATION_LAYER", "ZE_ENABLE_LAYERS" };
	void *shim = dlopen(SLOT_DIRECTORY "/libckcache_preload.so", RTLD_NOW | RTLD_LOCAL);
	char *(*shim_getenv)(const char *);

	CU_ASSERT_PTR_NOT_NULL_FATAL(shim);
	shim_getenv = (char *(*)(const char *))dlsym(shim, "getenv");
	CU_ASSERT_PTR_NOT_NULL_FATAL(shim_getenv);
	CU_ASSERT(shim_getenv != getenv);
	CU_ASSERT_EQUAL_FATAL(setenv("SLOT_TEST", "value", 1), 0);
	CU_ASSERT_EQUAL_FATAL(unsetenv("ZE_ENABLE_LAYERS"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CU_ASSERT_PTR_EQUAL(shim_getenv(names[i]), getenv(names[i]));
	CU_ASSERT_EQUAL_FATAL(setenv("ZE_ENABLE_LAYERS", "x", 1), 0);
	CU_ASSERT_PTR_NOT_NULL(shim_getenv("ZE_ENABLE_VALIDATION_LAYER"));
	CU_ASSERT_PTR_NULL(getenv("ZE_ENABLE_VALIDATION_LAYER"));
	CU_ASSERT_EQUAL_FATAL(unsetenv("ZE_ENABLE_LAYERS"), 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		slot_run_product(argv[1]);
	if (!slot_run_has_driver("'" CLIENT_LINKED "' versions")) {
		puts("SKIPPED: no Level Zero driver");
		return SKIPPED;
	}
	return unit_run(NULL);
}
