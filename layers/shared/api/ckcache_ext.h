/* SPDX-License-Identifier: MIT */
/**
 * @file ckcache_ext.h
 * The functions of ckcache.h for programs that do not link the library: their
 * types, each under its function's name with _fn, and a table of them. Where the
 * OpenCL layer is active,
 *
 *     clGetExtensionFunctionAddressForPlatform(platform, "ckcache_opencl_build")
 *
 * gives a ckcache_opencl_build_fn *, and "ckcache_functions" a
 * ckcache_functions_fn *; without the layer both give NULL. The platform may be
 * any. The functions of Level Zero are not there; these, and those that are no
 * API's own, zeDriverGetExtensionFunctionAddress gives in the same way where the
 * Level Zero plugin is active.
 */
#ifndef CKCACHE_EXT_H
#define CKCACHE_EXT_H

#include "ckcache.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @cond what is said in ckcache.h */
typedef const char *ckcache_status_string_fn(enum ckcache_status status);
typedef int ckcache_version_fn(void);
typedef enum ckcache_status ckcache_set_persistent_fn(enum ckcache_api api, int enable);
typedef enum ckcache_status ckcache_get_persistent_fn(enum ckcache_api api, int *ret_enabled);
typedef enum ckcache_status ckcache_set_capacity_fn(uint64_t bytes);
typedef enum ckcache_status ckcache_get_capacity_fn(uint64_t *ret_bytes);
typedef enum ckcache_status ckcache_set_dir_fn(const char *dir);
typedef enum ckcache_status ckcache_get_dir_fn(size_t *size, char *dir);
typedef enum ckcache_status ckcache_flush_fn(void);
typedef void ckcache_desc_free_fn(struct ckcache_desc *desc);
typedef enum ckcache_status ckcache_desc_get_id_fn(const struct ckcache_desc *desc,
	size_t *size, uint8_t *id);
typedef enum ckcache_status ckcache_desc_evict_fn(struct ckcache_desc *desc,
	const struct ckcache_storage *storage);
typedef enum ckcache_status ckcache_opencl_desc_new_fn(struct _cl_context *context,
	struct _cl_device_id *device, size_t count, const struct ckcache_program *programs,
	struct ckcache_desc **ret_desc);
typedef enum ckcache_status ckcache_opencl_get_blob_fn(struct ckcache_desc *desc,
	struct _cl_program *const *programs, size_t *size, uint8_t *blob);
typedef enum ckcache_status ckcache_opencl_create_from_blob_fn(struct ckcache_desc *desc,
	size_t size, const uint8_t *blob, struct _cl_program **ret_programs);
typedef enum ckcache_status ckcache_opencl_build_fn(struct ckcache_desc *desc,
	const struct ckcache_storage *storage, struct _cl_program **ret_programs,
	enum ckcache_origin *ret_origin);
typedef enum ckcache_status ckcache_level_zero_desc_new_fn(struct _ze_driver_handle_t *driver,
	struct _ze_context_handle_t *context, struct _ze_device_handle_t *device, size_t count,
	const struct ckcache_program *programs, struct ckcache_desc **ret_desc);
typedef enum ckcache_status ckcache_level_zero_get_blob_fn(struct ckcache_desc *desc,
	struct _ze_module_handle_t *const *modules, size_t *size, uint8_t *blob);
typedef enum ckcache_status ckcache_level_zero_create_from_blob_fn(struct ckcache_desc *desc,
	size_t size, const uint8_t *blob, struct _ze_module_handle_t **ret_modules);
typedef enum ckcache_status ckcache_level_zero_build_fn(struct ckcache_desc *desc,
	const struct ckcache_storage *storage, struct _ze_module_handle_t **ret_modules,
	enum ckcache_origin *ret_origin);
typedef enum ckcache_status ckcache_opencl_device_desc_new_fn(struct _cl_device_id *device,
	const struct ckcache_library *library, struct ckcache_desc **ret_desc);
typedef enum ckcache_status ckcache_level_zero_device_desc_new_fn(
	struct _ze_driver_handle_t *driver, struct _ze_device_handle_t *device,
	const struct ckcache_library *library, struct ckcache_desc **ret_desc);
typedef enum ckcache_status ckcache_device_get_blob_fn(struct ckcache_desc *desc,
	size_t data_size, const void *data, size_t *size, uint8_t *blob);
typedef enum ckcache_status ckcache_device_get_data_fn(struct ckcache_desc *desc,
	size_t blob_size, const uint8_t *blob, size_t *size, void *data);
typedef enum ckcache_status ckcache_device_store_fn(struct ckcache_desc *desc,
	const struct ckcache_storage *storage, size_t size, const void *data);
typedef enum ckcache_status ckcache_device_load_fn(struct ckcache_desc *desc,
	const struct ckcache_storage *storage, size_t *size, void *data);
typedef enum ckcache_status ckcache_blob_get_kind_fn(size_t size, const uint8_t *blob,
	enum ckcache_kind *ret_kind);
typedef enum ckcache_status ckcache_desc_load_batch_fn(const struct ckcache_storage *storage,
	size_t count, struct ckcache_desc *const *descs);

/** @endcond */

/** Those that are there; what is not is NULL. */
struct ckcache_functions {
	size_t struct_size;	/**< bytes that are there; a later version's are more */
	/** @cond what is said in ckcache.h */
	ckcache_status_string_fn *status_string;
	ckcache_version_fn *version;
	ckcache_set_persistent_fn *set_persistent;
	ckcache_get_persistent_fn *get_persistent;
	ckcache_set_capacity_fn *set_capacity;
	ckcache_get_capacity_fn *get_capacity;
	ckcache_set_dir_fn *set_dir;
	ckcache_get_dir_fn *get_dir;
	ckcache_flush_fn *flush;
	ckcache_desc_free_fn *desc_free;
	ckcache_desc_get_id_fn *desc_get_id;
	ckcache_desc_evict_fn *desc_evict;
	ckcache_opencl_desc_new_fn *opencl_desc_new;
	ckcache_opencl_get_blob_fn *opencl_get_blob;
	ckcache_opencl_create_from_blob_fn *opencl_create_from_blob;
	ckcache_opencl_build_fn *opencl_build;
	ckcache_level_zero_desc_new_fn *level_zero_desc_new;
	ckcache_level_zero_get_blob_fn *level_zero_get_blob;
	ckcache_level_zero_create_from_blob_fn *level_zero_create_from_blob;
	ckcache_level_zero_build_fn *level_zero_build;
	ckcache_opencl_device_desc_new_fn *opencl_device_desc_new;
	ckcache_level_zero_device_desc_new_fn *level_zero_device_desc_new;
	ckcache_device_get_blob_fn *device_get_blob;
	ckcache_device_get_data_fn *device_get_data;
	ckcache_device_store_fn *device_store;
	ckcache_device_load_fn *device_load;
	ckcache_blob_get_kind_fn *blob_get_kind;
	ckcache_desc_load_batch_fn *desc_load_batch;
	/** @endcond */
};

/** The table, in static storage. */
typedef const struct ckcache_functions *ckcache_functions_fn(void);

#ifdef __cplusplus
}
#endif

#endif
