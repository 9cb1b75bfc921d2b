/* SPDX-License-Identifier: MIT */
/* test_stub: what the stub Level Zero driver makes of modules, through the real loader. */
#include "tests/level_zero/stub/stub_child.h"
#include "tests/opencl/value_il.h"
#include "tests/support/unit.h"

/* The least that a module with one decoration needs: magic, version, generator, bound, schema. */
#define SPIRV_HEADER 0x07230203, 0x00010000, 0, 8, 0

/* Exports the function %1 as "helper"; "counter" is the variable %2. */
static const uint32_t exporting_il[] = {
	SPIRV_HEADER,
	0x00060047, 1, 41, 0x706c6568, 0x00007265, 0,		/* OpDecorate %1 LinkageAttributes */
	0x00060047, 2, 41, 0x6e756f63, 0x00726574, 0,		/* OpDecorate %2 LinkageAttributes */
	0x0004003b, 3, 2, 5,					/* %2 = OpVariable %3 CrossWorkgroup */
};

/* Imports "helper"; its kernel %4 is "k". */
static const uint32_t importing_il[] = {
	SPIRV_HEADER,
	0x0004000f, 6, 4, 0x0000006b,				/* OpEntryPoint Kernel %4 "k" */
	0x00060047, 1, 41, 0x706c6568, 0x00007265, 1,		/* OpDecorate %1 LinkageAttributes */
	0x00050036, 3, 4, 0, 5,					/* %4 = OpFunction */
	0x00010038,						/* OpFunctionEnd */
};

/* Constant 3 has 16 bits. */
static const uint32_t narrow_il[] = {
	SPIRV_HEADER,
	0x00040047, 1, 1, 3,					/* OpDecorate %1 SpecId 3 */
	0x00040015, 2, 16, 0,					/* %2 = OpTypeInt 16 0 */
	0x00040032, 2, 1, 0,					/* %1 = OpSpecConstant %2 0 */
};

static void scenario_reload(void)
{
	ze_module_desc_t desc = CHILD_SPIRV(value_il);
	ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "value" };
	ze_kernel_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES };
	uint8_t first[CHILD_NATIVE_MAX], second[CHILD_NATIVE_MAX];
	struct child_driver driver;
	ze_kernel_handle_t made_kernel;
	struct child_made made;
	const char *name;
	uint32_t count = 1;
	size_t len;

	child_open(0, &driver);
	desc.pBuildFlags = "-Wstub";
	child_make(&driver, &desc, &made);
	CHECK(made.status == ZE_RESULT_SUCCESS && !strcmp(made.log, "warning: stub\n"));
	len = child_native(&made, first, sizeof(first));
	CHECK(zeModuleDestroy(made.module) == ZE_RESULT_SUCCESS);
	desc = child_desc(ZE_MODULE_FORMAT_NATIVE, first, len);
	desc.pBuildFlags = "-Wstub";
	child_make(&driver, &desc, &made);
	CHECK(made.status == ZE_RESULT_SUCCESS && !made.log[0]);
	CHECK(child_native(&made, second, sizeof(second)) == len && !memcmp(first, second, len));
	CHECK(zeModuleGetKernelNames(made.module, &count, &name) == ZE_RESULT_SUCCESS);
	CHECK(count == 1 && !strcmp(name, "value"));
	CHECK(zeKernelCreate(made.module, &kernel, &made_kernel) == ZE_RESULT_SUCCESS);
	CHECK(zeKernelGetProperties(made_kernel, &properties) == ZE_RESULT_SUCCESS);
	CHECK(properties.numKernelArgs == 1);
	CHECK(zeKernelDestroy(made_kernel) == ZE_RESULT_SUCCESS);
	CHECK(zeModuleDestroy(made.module) == ZE_RESULT_SUCCESS);
	CHECK(zeContextDestroy(driver.context) == ZE_RESULT_SUCCESS);
}

TEST(a_native_is_the_module_again_without_its_log)
{
	static const char *const drivers[] = { STUB_DRIVER, BOTH };

	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(child_run(drivers[i], scenario_reload, NULL), CHILD_GOOD);
		CU_ASSERT_EQUAL(child_events("compile"), 1);
		CU_ASSERT_EQUAL(child_events("load-native"), 1);
		CU_ASSERT_EQUAL(child_events("get-native"), 2);
		CU_ASSERT_EQUAL(child_events("module-create"), 2);
		CU_ASSERT_EQUAL(child_events("module-destroy"), 2);
		CU_ASSERT_EQUAL(child_events("log-create"), 2);
		CU_ASSERT_EQUAL(child_events("log-destroy"), 2);
		CU_ASSERT_EQUAL(child_events_like("bad-handle"), 0);
	}
}

static void scenario_inputs(void)
{
	const uint64_t nine = 9, ten = 10, beyond = 9 | 0xabcd0000;
	uint8_t plain[CHILD_NATIVE_MAX], other[CHILD_NATIVE_MAX];
	struct child_driver driver;
	size_t len;

	child_open(0, &driver);
	len = child_compile(&driver, CHILD_SPIRV(narrow_il), 3, &nine, "", plain);
	CHECK(child_compile(&driver, CHILD_SPIRV(narrow_il), 3, &beyond, NULL, other) == len);
	CHECK(!memcmp(plain, other, len));	/* only the constant's two bytes count */
	CHECK(child_compile(&driver, CHILD_SPIRV(narrow_il), 3, &ten, "", other) != len ||
	      memcmp(plain, other, len) != 0);
	CHECK(child_compile(&driver, CHILD_SPIRV(narrow_il), 3, NULL, "", other) != len);
	CHECK(child_compile(&driver, CHILD_SPIRV(narrow_il), 3, &nine, "-g", other) != len);
	len = child_compile(&driver, CHILD_SPIRV(value_il), 7, &nine, "", plain);
	CHECK(child_compile(&driver, CHILD_SPIRV(value_il), 7, &beyond, "", other) != len ||
	      memcmp(plain, other, len) != 0);	/* four bytes count here */
}

TEST(natives_tell_what_went_in)
{
	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_inputs, NULL), CHILD_GOOD);
}

static void scenario_bad_input(void)
{
	const uint32_t unknown = 99;
	const void *values[] = { &unknown };
	const ze_module_constants_t constants = { 1, &unknown, values };
	ze_module_desc_t desc = CHILD_SPIRV(value_il);
	struct child_driver driver;
	struct child_made made;

	child_open(0, &driver);
	desc.pConstants = &constants;
	child_make(&driver, &desc, &made);
	CHECK(made.status == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE && !made.log[0]);
	desc = child_desc(ZE_MODULE_FORMAT_IL_SPIRV, "no SPIR-V at all, at any rate", 28);
	child_make(&driver, &desc, &made);
	CHECK(made.status == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE && made.log[0]);
	/* The last word ends the function; cut before and within it. */
	for (size_t cut = 1; cut <= 12; cut++) {
		desc = child_desc(ZE_MODULE_FORMAT_IL_SPIRV, value_il, sizeof(value_il) - cut);
		child_make(&driver, &desc, &made);
		CHECK(made.status == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE && !made.module);
	}
}

TEST(bad_input_fails_to_build)
{
	static const char *const exits[] = { "STUB_GARBAGE_EXITS=1", NULL };

	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_bad_input, NULL), CHILD_GOOD);
	CU_ASSERT_EQUAL(child_events("compile-failed"), 14);
	CU_ASSERT_EQUAL(child_events("garbage"), 13);
	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_bad_input, exits), 3);
}

static void scenario_linkage(void)
{
	ze_module_desc_t exporting = CHILD_SPIRV(exporting_il), importing = CHILD_SPIRV(importing_il);
	ze_kernel_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "k" };
	ze_linkage_inspection_ext_desc_t inspection = { .flags = ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS };
	ze_module_build_log_handle_t log;
	struct child_made from, to, again;
	struct child_driver driver;
	ze_module_handle_t both[2];
	ze_kernel_handle_t kernel;
	char text[128];
	size_t size = sizeof(text);
	void *one, *other;

	child_open(0, &driver);
	child_make(&driver, &exporting, &from);
	child_make(&driver, &exporting, &again);
	child_make(&driver, &importing, &to);
	CHECK(zeModuleGetGlobalPointer(from.module, "counter", NULL, &one) == ZE_RESULT_SUCCESS);
	CHECK(zeModuleGetGlobalPointer(again.module, "counter", NULL, &other) == ZE_RESULT_SUCCESS);
	CHECK(one != other);
	CHECK(zeModuleGetFunctionPointer(from.module, "helper", &one) == ZE_RESULT_SUCCESS);
	CHECK(zeKernelCreate(to.module, &desc, &kernel) == ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED);
	CHECK(zeModuleDynamicLink(1, &to.module, NULL) == ZE_RESULT_ERROR_MODULE_LINK_FAILURE);
	both[0] = to.module;
	both[1] = from.module;
	CHECK(zeModuleInspectLinkageExt(&inspection, 2, both, &log) == ZE_RESULT_SUCCESS);
	CHECK(zeModuleBuildLogGetString(log, &size, text) == ZE_RESULT_SUCCESS);
	CHECK(!strcmp(text, "imports: helper\n"));
	CHECK(zeModuleDynamicLink(2, both, NULL) == ZE_RESULT_SUCCESS);
	CHECK(zeKernelCreate(to.module, &desc, &kernel) == ZE_RESULT_SUCCESS);
}

TEST(links_imports_to_exports)
{
	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_linkage, NULL), CHILD_GOOD);
}

static void scenario_program(void)
{
	const uint8_t *inputs[] = { (const void *)exporting_il, (const void *)importing_il };
	size_t sizes[] = { sizeof(exporting_il), sizeof(importing_il) };
	ze_module_program_exp_desc_t program = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC,
		.count = 2,
		.inputSizes = sizes,
		.pInputModules = inputs,
	};
	ze_module_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES };
	ze_module_desc_t desc = CHILD_SPIRV(value_il);
	struct child_driver driver;
	struct child_made made;

	child_open(0, &driver);
	desc.pNext = &program;
	child_make(&driver, &desc, &made);
	CHECK(made.status == ZE_RESULT_SUCCESS);
	CHECK(zeModuleGetProperties(made.module, &properties) == ZE_RESULT_SUCCESS);
	CHECK(properties.flags == 0);	/* one input's import is another's export */
	inputs[1] = inputs[0];
	sizes[1] = sizes[0];
	child_make(&driver, &desc, &made);
	CHECK(made.status == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
}

TEST(takes_several_inputs)
{
	CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_program, NULL), CHILD_GOOD);
}

/* Which byte of the native changes: from its end, as the child's setting. */
static void scenario_corrupt(void)
{
	uint8_t native[CHILD_NATIVE_MAX];
	struct child_driver driver;
	ze_module_desc_t desc;
	const char *changed = getenv("CHANGED");
	struct child_made made;
	size_t len;

	CHECK(changed);
	child_open(0, &driver);
	len = child_compile(&driver, CHILD_SPIRV(value_il), 0, NULL, "", native);
	native[len - strtoul(changed, NULL, 10)] ^= 1;
	desc = child_desc(ZE_MODULE_FORMAT_NATIVE, native, len);
	child_make(&driver, &desc, &made);
}

TEST(a_changed_native_ends_the_process)
{
	static const char *const changed[][2] = {
		{ "CHANGED=1", NULL }, { "CHANGED=2", NULL }, { "CHANGED=30", NULL },
		{ "CHANGED=60", NULL }, { "CHANGED=90", NULL },
	};

	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		CU_ASSERT_EQUAL(child_run(STUB_DRIVER, scenario_corrupt, changed[i]),
				CHILD_SIGNAL + SIGABRT);
		CU_ASSERT_EQUAL(child_events("corrupt-native"), 1);
	}
}
