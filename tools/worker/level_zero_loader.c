/* SPDX-License-Identifier: MIT */
/* level_zero_loader: its functions by their names. */
#include "tools/worker/level_zero_loader.h"

#include <dlfcn.h>
#include <string.h>

/*
 * A kernel that stores 7. Assembled (spirv-as --target-env opencl1.2) from:
 *
 *               OpCapability Addresses
 *               OpCapability Kernel
 *               OpMemoryModel Physical64 OpenCL
 *               OpEntryPoint Kernel %doctor "doctor"
 *       %uint = OpTypeInt 32 0
 *       %void = OpTypeVoid
 *    %pointer = OpTypePointer CrossWorkgroup %uint
 *       %kind = OpTypeFunction %void %pointer
 *      %seven = OpConstant %uint 7
 *     %doctor = OpFunction %void None %kind
 *        %out = OpFunctionParameter %pointer
 *      %entry = OpLabel
 *               OpStore %out %seven Aligned 4
 *               OpReturn
 *               OpFunctionEnd
 */
static const uint32_t module_il[] = {
	0x07230203, 0x00010000, 0x00070000, 0x00000009, 0x00000000, 0x00020011,
	0x00000004, 0x00020011, 0x00000006, 0x0003000e, 0x00000002, 0x00000002,
	0x0005000f, 0x00000006, 0x00000001, 0x74636f64, 0x0000726f, 0x00040015,
	0x00000002, 0x00000020, 0x00000000, 0x00020013, 0x00000003, 0x00040020,
	0x00000004, 0x00000005, 0x00000002, 0x00040021, 0x00000005, 0x00000003,
	0x00000004, 0x0004002b, 0x00000002, 0x00000006, 0x00000007, 0x00050036,
	0x00000003, 0x00000001, 0x00000000, 0x00000005, 0x00030037, 0x00000004,
	0x00000007, 0x000200f8, 0x00000008, 0x0005003e, 0x00000007, 0x00000006,
	0x00000002, 0x00000004, 0x000100fd, 0x00010038,
};

#define NEEDED(member, function) { #function, offsetof(struct level_zero_loader, member), true },
#define OPTIONAL(member, function) { #function, offsetof(struct level_zero_loader, member), false },

const char *level_zero_loader_load(struct level_zero_loader *ret)
{
	static const struct {
		const char *name;
		size_t offset;
		bool needed;
	} functions[] = { LEVEL_ZERO_LOADER_FUNCTIONS(NEEDED, OPTIONAL) };
	void *library = dlopen("libze_loader.so.1", RTLD_NOW);

	if (!library)
		return dlerror();
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlsym(library, functions[i].name);

		if (!found && functions[i].needed)
			return "it lacks functions of Level Zero 1.0";
		/* ISO C knows no cast from it to a function. */
		memcpy((char *)ret + functions[i].offset, &found, sizeof(found));
	}
	return NULL;
}

ze_result_t level_zero_loader_drivers(const struct level_zero_loader *loader,
				      ze_driver_handle_t ret[MAX_LZ_DRIVERS], uint32_t *ret_count)
{
	ze_result_t result = loader->init(0);

	*ret_count = 0;
	if (result == ZE_RESULT_SUCCESS)
		result = loader->get_drivers(ret_count, NULL);
	if (result == ZE_RESULT_SUCCESS && *ret_count > MAX_LZ_DRIVERS)
		result = ZE_RESULT_ERROR_INVALID_SIZE;
	if (result == ZE_RESULT_SUCCESS)
		result = loader->get_drivers(ret_count, ret);
	return result;
}

uint32_t level_zero_loader_devices(const struct level_zero_loader *loader,
				   ze_driver_handle_t driver,
				   ze_device_handle_t ret[MAX_LZ_DEVICES])
{
	uint32_t count = 0;

	/* As many as there are: Intel's driver 22.43 fills a longer list with what is no device. */
	if (loader->get_devices(driver, &count, NULL) != ZE_RESULT_SUCCESS ||
	    count > MAX_LZ_DEVICES ||
	    loader->get_devices(driver, &count, ret) != ZE_RESULT_SUCCESS)
		return 0;
	return count;
}

uint32_t level_zero_loader_sub_devices(const struct level_zero_loader *loader,
				       ze_device_handle_t device,
				       ze_device_handle_t ret[MAX_LZ_DEVICES])
{
	uint32_t count = 0;

	if (loader->get_sub_devices(device, &count, NULL) != ZE_RESULT_SUCCESS || !count ||
	    count > MAX_LZ_DEVICES ||
	    loader->get_sub_devices(device, &count, ret) != ZE_RESULT_SUCCESS)
		return 0;
	return count;
}

ze_module_desc_t level_zero_loader_small_module(void)
{
	return (ze_module_desc_t){
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = sizeof(module_il),
		.pInputModule = (const uint8_t *)module_il,
	};
}
