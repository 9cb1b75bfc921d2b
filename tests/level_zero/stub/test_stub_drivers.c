/* SPDX-License-Identifier: MIT */
/*
 * test_stub_drivers: the stub Level Zero drivers as such, through the real
 * loader: what they offer, their handles, settings, compiler, and threads.
 */
#include "tests/level_zero/stub/stub_child.h"
#include "tests/opencl/value_il.h"
#include "tests/support/unit.h"

#define THREADS 4

static void scenario_properties(void)
{
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
	ze_device_handle_t parts[4];
	struct child_driver driver;
	uint32_t count = 4;

	child_open(0, &driver);
	CHECK(zeDeviceGetProperties(driver.device, &properties) == ZE_RESULT_SUCCESS);
	CHECK(!strcmp(properties.name, "Stub GPU 1") && properties.flags == 0);
	CHECK(zeDeviceGetSubDevices(driver.device, &count, parts) == ZE_RESULT_SUCCESS && count == 2);
	CHECK(zeDeviceGetProperties(parts[1], &properties) == ZE_RESULT_SUCCESS);
	CHECK(properties.subdeviceId == 1 && properties.flags == ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE);
}

TEST(offers_a_device_with_two_sub_devices)
{
	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_properties, NULL), CHILD_GOOD);
	CU_ASSERT_EQUAL(child_events("context-create"), 1);
}

static void scenario_foreign(void)
{
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
	ze_module_desc_t desc = CHILD_SPIRV(value_il);
	struct child_driver one, other;
	ze_module_handle_t module;
	uint8_t native[CHILD_NATIVE_MAX];
	struct child_made made;
	size_t len;

	child_open(0, &one);
	child_open(1, &other);
	CHECK(zeDeviceGetProperties(other.device, &properties) == ZE_RESULT_SUCCESS);
	CHECK(!strcmp(properties.name, "Stub GPU 2"));
	CHECK(zeModuleCreate(one.context, other.device, &desc, &module, NULL) ==
	      ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
	len = child_compile(&one, desc, 0, NULL, "", native);
	desc = child_desc(ZE_MODULE_FORMAT_NATIVE, native, len);
	child_make(&other, &desc, &made);
	CHECK(made.status == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
	(void)child_compile(&other, CHILD_SPIRV(value_il), 0, NULL, "", native);
}

TEST(another_drivers_native_and_handles_are_refused)
{
	CU_ASSERT_EQUAL(child_run(BOTH, scenario_foreign, NULL), CHILD_GOOD);
	CU_ASSERT_EQUAL(child_events("bad-handle device zeModuleCreate"), 1);
	CU_ASSERT_EQUAL(child_events("stub2 foreign-native"), 1);
	CU_ASSERT_EQUAL(child_events("compile"), 1);
	CU_ASSERT_EQUAL(child_events("stub2 compile"), 1);
	CU_ASSERT_EQUAL(child_events_like("compiled"), 2);
}

static void scenario_stale_handles(void)
{
	ze_module_desc_t desc = CHILD_SPIRV(value_il);
	struct child_driver driver;
	struct child_made made;
	size_t size = 0;

	child_open(0, &driver);
	child_make(&driver, &desc, &made);
	CHECK(zeModuleDestroy(made.module) == ZE_RESULT_SUCCESS);
	CHECK(zeModuleDestroy(made.module) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
	CHECK(zeModuleGetNativeBinary((ze_module_handle_t)driver.context, &size, NULL) ==
	      ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
	CHECK(zeModuleDestroy((ze_module_handle_t)&size) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

TEST(stale_and_wrong_handles_are_told)
{
	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_stale_handles, NULL), CHILD_GOOD);
	CU_ASSERT_EQUAL(child_events("bad-handle module zeModuleDestroy"), 2);
	CU_ASSERT_EQUAL(child_events("bad-handle module zeModuleGetNativeBinary"), 1);
}

static void set(const char *name, const char *value)
{
	CHECK(setenv(name, value, 1) == 0);
}

static void scenario_settings(void)
{
	ze_driver_properties_t before = { 0 }, after = { 0 };
	ze_module_desc_t spirv = CHILD_SPIRV(value_il), native;
	uint8_t bytes[CHILD_NATIVE_MAX];
	struct child_driver driver;
	struct child_made made;
	size_t len, none;

	child_open(0, &driver);
	len = child_compile(&driver, spirv, 0, NULL, "", bytes);
	native = child_desc(ZE_MODULE_FORMAT_NATIVE, bytes, len);
	set("STUB_FAIL", "1");
	child_make(&driver, &spirv, &made);
	CHECK(made.status == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE && made.log[0]);
	child_make(&driver, &native, &made);
	CHECK(made.status == ZE_RESULT_SUCCESS);
	set("STUB_FAIL", "0");
	set("STUB_FAIL_OOM", "1");
	child_make(&driver, &spirv, &made);
	CHECK(made.status == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
	set("STUB_FAIL_OOM", "0");
	set("STUB_NO_NATIVE", "1");
	child_make(&driver, &spirv, &made);
	CHECK(made.status == ZE_RESULT_SUCCESS && child_native(&made, NULL, 0) == 0);
	set("STUB_NO_NATIVE", "0");
	set("STUB_NATIVE_FAILS", "1");
	CHECK(zeModuleGetNativeBinary(made.module, &none, NULL) == ZE_RESULT_ERROR_UNKNOWN);
	set("STUB_NATIVE_FAILS", "0");
	set("STUB_REFUSE_NATIVE", "1");
	child_make(&driver, &native, &made);
	CHECK(made.status == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY && !made.module);
	set("STUB_REFUSE_NATIVE", "0");
	CHECK(zeDriverGetProperties(driver.driver, &before) == ZE_RESULT_SUCCESS);
	set("STUB_EPOCH", "next");
	CHECK(zeDriverGetProperties(driver.driver, &after) == ZE_RESULT_SUCCESS);
	CHECK(before.driverVersion != after.driverVersion);
	child_make(&driver, &native, &made);
	CHECK(made.status == ZE_RESULT_SUCCESS);
	set("STUB_RECOMPILES", "1");
	child_make(&driver, &native, &made);
	CHECK(made.status == ZE_RESULT_SUCCESS);
	CHECK(strstr(made.log, "[-Wrecompiled-from-ir]\n") != NULL);
	CHECK(child_native(&made, bytes, sizeof(bytes)) > 0);
	set("STUB_RECOMPILES", "0");
	native.inputSize = child_native(&made, bytes, sizeof(bytes));
	child_make(&driver, &native, &made);	/* of this epoch now: no second stale-native */
	CHECK(made.status == ZE_RESULT_SUCCESS && !made.log[0]);
}

TEST(settings_do_what_they_say)
{
	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_settings, NULL), CHILD_GOOD);
	CU_ASSERT_EQUAL(child_events("compile-failed"), 2);
	CU_ASSERT_EQUAL(child_events("refuse-native"), 1);
	CU_ASSERT_EQUAL(child_events("stale-native"), 1);
	CU_ASSERT_EQUAL(child_events("recompile"), 1);
}

static void scenario_file(void)
{
	ze_module_desc_t desc = CHILD_SPIRV(value_il);
	struct child_driver driver;
	struct child_made made;
	FILE *file;

	child_open(0, &driver);
	child_make(&driver, &desc, &made);
	CHECK(made.status == ZE_RESULT_SUCCESS);
	file = fopen("settings", "w");
	CHECK(file && fputs("STUB_FAIL=1\n", file) >= 0 && fclose(file) == 0);
	child_make(&driver, &desc, &made);
	CHECK(made.status == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
}

TEST(settings_can_change_in_a_file)
{
	static const char *const settings[] = { "STUB_SETTINGS=settings", "STUB_FAIL=0", NULL };

	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_file, settings), CHILD_GOOD);
}

static void scenario_compiler(void)
{
	struct child_driver driver;
	uint8_t native[CHILD_NATIVE_MAX];

	child_open(0, &driver);
	CHECK(child_events("compiler-load") == !getenv("STUB_LAZY_COMPILER"));
	(void)child_compile(&driver, CHILD_SPIRV(value_il), 0, NULL, "", native);
	(void)child_compile(&driver, CHILD_SPIRV(value_il), 0, NULL, "-g", native);
	CHECK(child_events("compiler-load") == 1);
}

TEST(the_compiler_is_loaded_when_it_should_be)
{
	static const char *const lazy[] = { "STUB_LAZY_COMPILER=1", NULL };

	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_compiler, NULL), CHILD_GOOD);
	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_compiler, lazy), CHILD_GOOD);
}

static struct child_driver shared;
static pthread_barrier_t barrier;

static void *compile(void *unused)
{
	uint8_t native[CHILD_NATIVE_MAX];

	(void)unused;
	(void)pthread_barrier_wait(&barrier);	/* one of them gets another status */
	(void)child_compile(&shared, CHILD_SPIRV(value_il), 0, NULL, "", native);
	return NULL;
}

static void scenario_threads(void)
{
	pthread_t threads[THREADS];

	child_open(0, &shared);
	CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, compile, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

TEST(threads_compile_at_once)
{
	static const char *const settings[] = { "STUB_DELAY_MS=500", NULL };

	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_threads, settings), CHILD_GOOD);
	CU_ASSERT_EQUAL(child_events("compile"), THREADS);
	CU_ASSERT_EQUAL(child_events("compiled"), THREADS);
	CU_ASSERT(child_most_compiles_at_once() > 1);
}
