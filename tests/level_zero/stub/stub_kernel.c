/* SPDX-License-Identifier: MIT */
/* stub_kernel: the stub driver's kernels. They run nowhere. */
#include "tests/level_zero/stub/stub.h"

struct kernel {
	char *name;
	uint32_t arguments;
};

static struct kernel *kernel_of(ze_kernel_handle_t handle, const char *call)
{
	return stub_object_check(handle, STUB_KERNEL, call) ? (struct kernel *)handle : NULL;
}

ze_result_t ZE_APICALL stub_zeKernelCreate(ze_module_handle_t handle, const ze_kernel_desc_t *desc,
					   ze_kernel_handle_t *ret)
{
	struct stub_module *module = (struct stub_module *)handle;
	const struct stub_symbol *entry;
	struct kernel *kernel;

	if (!stub_object_check(handle, STUB_MODULE, "zeKernelCreate"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!desc || !desc->pKernelName || !ret)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if (!atomic_load(&module->linked))
		return ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED;
	entry = stub_image_find(&module->image, STUB_ENTRY, desc->pKernelName);
	if (!entry)
		return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
	kernel = stub_object_new(STUB_KERNEL, sizeof(*kernel));
	kernel->arguments = entry->arguments;
	kernel->name = strdup(entry->name);
	if (!kernel->name)
		abort();	/* a test driver has nothing better to do */
	stub_event("kernel-create");
	*ret = (ze_kernel_handle_t)kernel;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeKernelDestroy(ze_kernel_handle_t handle)
{
	struct kernel *kernel = (struct kernel *)handle;

	if (!stub_object_end(handle, STUB_KERNEL, "zeKernelDestroy"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	stub_event("kernel-destroy");
	free(kernel->name);
	kernel->name = NULL;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeKernelSetGroupSize(ze_kernel_handle_t handle, uint32_t x, uint32_t y,
						 uint32_t z)
{
	if (!kernel_of(handle, "zeKernelSetGroupSize"))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	return x && y && z ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
}

ze_result_t ZE_APICALL stub_zeKernelSetArgumentValue(ze_kernel_handle_t handle, uint32_t index,
						     size_t size, const void *value)
{
	const struct kernel *kernel = kernel_of(handle, "zeKernelSetArgumentValue");

	(void)value;	/* NULL is one */
	if (!kernel)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (index >= kernel->arguments)
		return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
	return size ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
}

ze_result_t ZE_APICALL stub_zeKernelGetProperties(ze_kernel_handle_t handle,
						  ze_kernel_properties_t *ret)
{
	const struct kernel *kernel = kernel_of(handle, "zeKernelGetProperties");
	uint64_t hash;

	if (!kernel)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!ret)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	hash = stub_hash(kernel->name, strlen(kernel->name));
	*ret = (ze_kernel_properties_t){
		.stype = ret->stype,
		.pNext = ret->pNext,
		.numKernelArgs = kernel->arguments,
		.maxSubgroupSize = 16,
		.maxNumSubgroups = 16,
	};
	memcpy(ret->uuid.kid, &hash, sizeof(hash));
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL stub_zeKernelGetName(ze_kernel_handle_t handle, size_t *size, char *ret)
{
	const struct kernel *kernel = kernel_of(handle, "zeKernelGetName");
	size_t needed;

	if (!kernel)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!size)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	needed = strlen(kernel->name) + 1;
	if (ret && *size < needed)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	if (ret)
		memcpy(ret, kernel->name, needed);
	*size = needed;
	return ZE_RESULT_SUCCESS;
}
