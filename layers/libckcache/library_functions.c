/* SPDX-License-Identifier: MIT */
/*
 * library_functions: the rest of ckcache.h: what is done with a description is done by
 * the API that made it.
 */
#include "layers/shared/api/desc.h"
#include "layers/libckcache/library.h"

/* Done by who made the description, if that is of this kind. */
#define BY_MAKER(desc, function, ...)                                      \
	((desc) && (desc)->functions->function ?                           \
		 (desc)->functions->function(desc, __VA_ARGS__) :          \
		 CKCACHE_ERROR_INVALID_ARGUMENT)

CKCACHE_EXPORT void ckcache_desc_free(struct ckcache_desc *desc)
{
	if (desc)
		desc->functions->desc_free(desc);
}

CKCACHE_EXPORT enum ckcache_status ckcache_desc_get_id(const struct ckcache_desc *desc,
						       size_t *size, uint8_t *id)
{
	return BY_MAKER(desc, desc_get_id, size, id);
}

CKCACHE_EXPORT enum ckcache_status ckcache_desc_evict(struct ckcache_desc *desc,
						      const struct ckcache_storage *storage)
{
	return BY_MAKER(desc, desc_evict, storage);
}

CKCACHE_EXPORT enum ckcache_status ckcache_opencl_desc_new(struct _cl_context *context,
							   struct _cl_device_id *device,
							   size_t count,
							   const struct ckcache_program *programs,
							   struct ckcache_desc **ret_desc)
{
	const struct ckcache_functions *functions;

	if (!device)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	functions = library_opencl(device);
	return functions ? functions->opencl_desc_new(context, device, count, programs, ret_desc) :
			   CKCACHE_ERROR_UNAVAILABLE;
}

CKCACHE_EXPORT enum ckcache_status ckcache_opencl_get_blob(struct ckcache_desc *desc,
							   struct _cl_program *const *programs,
							   size_t *size, uint8_t *blob)
{
	return BY_MAKER(desc, opencl_get_blob, programs, size, blob);
}

CKCACHE_EXPORT enum ckcache_status
ckcache_opencl_create_from_blob(struct ckcache_desc *desc, size_t size, const uint8_t *blob,
				struct _cl_program **ret_programs)
{
	return BY_MAKER(desc, opencl_create_from_blob, size, blob, ret_programs);
}

CKCACHE_EXPORT enum ckcache_status ckcache_opencl_build(struct ckcache_desc *desc,
							const struct ckcache_storage *storage,
							struct _cl_program **ret_programs,
							enum ckcache_origin *ret_origin)
{
	return BY_MAKER(desc, opencl_build, storage, ret_programs, ret_origin);
}

CKCACHE_EXPORT enum ckcache_status
ckcache_level_zero_desc_new(struct _ze_driver_handle_t *driver, struct _ze_context_handle_t *context,
			    struct _ze_device_handle_t *device, size_t count,
			    const struct ckcache_program *programs, struct ckcache_desc **ret_desc)
{
	const struct ckcache_functions *functions;

	if (!driver)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	functions = library_level_zero(driver);
	return functions ? functions->level_zero_desc_new(driver, context, device, count, programs,
							  ret_desc) :
			   CKCACHE_ERROR_UNAVAILABLE;
}

CKCACHE_EXPORT enum ckcache_status
ckcache_level_zero_get_blob(struct ckcache_desc *desc, struct _ze_module_handle_t *const *modules,
			    size_t *size, uint8_t *blob)
{
	return BY_MAKER(desc, level_zero_get_blob, modules, size, blob);
}

CKCACHE_EXPORT enum ckcache_status
ckcache_level_zero_create_from_blob(struct ckcache_desc *desc, size_t size, const uint8_t *blob,
				    struct _ze_module_handle_t **ret_modules)
{
	return BY_MAKER(desc, level_zero_create_from_blob, size, blob, ret_modules);
}

CKCACHE_EXPORT enum ckcache_status ckcache_level_zero_build(struct ckcache_desc *desc,
							    const struct ckcache_storage *storage,
							    struct _ze_module_handle_t **ret_modules,
							    enum ckcache_origin *ret_origin)
{
	return BY_MAKER(desc, level_zero_build, storage, ret_modules, ret_origin);
}

CKCACHE_EXPORT enum ckcache_status
ckcache_opencl_device_desc_new(struct _cl_device_id *device, const struct ckcache_library *library,
			       struct ckcache_desc **ret_desc)
{
	const struct ckcache_functions *functions;

	if (!device)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	functions = library_opencl(device);
	return functions ? functions->opencl_device_desc_new(device, library, ret_desc) :
			   CKCACHE_ERROR_UNAVAILABLE;
}

CKCACHE_EXPORT enum ckcache_status
ckcache_level_zero_device_desc_new(struct _ze_driver_handle_t *driver,
				   struct _ze_device_handle_t *device,
				   const struct ckcache_library *library,
				   struct ckcache_desc **ret_desc)
{
	const struct ckcache_functions *functions;

	if (!driver)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	functions = library_level_zero(driver);
	return functions ? functions->level_zero_device_desc_new(driver, device, library,
								 ret_desc) :
			   CKCACHE_ERROR_UNAVAILABLE;
}

CKCACHE_EXPORT enum ckcache_status ckcache_device_get_blob(struct ckcache_desc *desc,
							   size_t data_size, const void *data,
							   size_t *size, uint8_t *blob)
{
	return BY_MAKER(desc, device_get_blob, data_size, data, size, blob);
}

CKCACHE_EXPORT enum ckcache_status ckcache_device_get_data(struct ckcache_desc *desc,
							   size_t blob_size, const uint8_t *blob,
							   size_t *size, void *data)
{
	return BY_MAKER(desc, device_get_data, blob_size, blob, size, data);
}

CKCACHE_EXPORT enum ckcache_status ckcache_device_store(struct ckcache_desc *desc,
							const struct ckcache_storage *storage,
							size_t size, const void *data)
{
	return BY_MAKER(desc, device_store, storage, size, data);
}

CKCACHE_EXPORT enum ckcache_status ckcache_device_load(struct ckcache_desc *desc,
						       const struct ckcache_storage *storage,
						       size_t *size, void *data)
{
	return BY_MAKER(desc, device_load, storage, size, data);
}

/* Descriptions of several makers in one call: each maker's in turn, so a batch for each. */
CKCACHE_EXPORT enum ckcache_status ckcache_desc_load_batch(const struct ckcache_storage *storage,
							   size_t count,
							   struct ckcache_desc *const *descs)
{
	enum ckcache_status status = CKCACHE_OK;
	size_t begin = 0, end;

	if (!storage || (count && !descs))
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < count; i++) {
		if (!descs[i])
			return CKCACHE_ERROR_INVALID_ARGUMENT;
	}
	for (; begin < count && status == CKCACHE_OK; begin = end) {
		const struct ckcache_functions *functions = descs[begin]->functions;

		for (end = begin + 1; end < count && descs[end]->functions == functions;)
			end++;
		status = functions->desc_load_batch(storage, end - begin, descs + begin);
	}
	return status;
}
