/* SPDX-License-Identifier: MIT */
/*
 * loader: the entry points that loaders call (cl_loader_layers 1.0, and the
 * later clInitLayerWithProperties and clDeinitLayer), and what happens at
 * fork and at exit.
 */
#include "layers/opencl/layer.h"

#include <CL/cl_layer.h>
#include <pthread.h>
#include <string.h>

#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/loaded.h"
#include "layers/opencl/hooks/dispatch.h"
#include "layers/opencl/key/layers_below.h"
#include "layers/opencl/program/program.h"

/* The version script decides what is exported; these must not be hidden before it. */
#define EXPORT __attribute__((visibility("default")))

#define LAYER_NAME "ckcache"
#define LAYER_LIBRARY "/libckcache_opencl.so"

struct ocl_layer ocl_layer;

/* Newer than the headers of Debian 12: cl_layer.h of the Khronos headers. */
EXPORT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries,
						    const cl_icd_dispatch *target_dispatch,
						    cl_uint *num_entries_ret,
						    const cl_icd_dispatch **layer_dispatch_ret,
						    const cl_properties *properties);
EXPORT cl_int CL_API_CALL clDeinitLayer(void);

/* fork: the child gets both locks free, and no half-changed map. */
static void before_fork(void)
{
	ocl_objects_fork_prepare();
	cc_cache_fork_prepare(ocl_layer.cache);
}

static void after_fork_parent(void)
{
	cc_cache_fork_parent(ocl_layer.cache);
	ocl_objects_fork_parent();
}

static void after_fork_child(void)
{
	cc_cache_fork_child(ocl_layer.cache);
	ocl_objects_fork_child();
	ocl_programs_forked_locked();
	ocl_loaded_program_fork_child();
	ocl_objects_unlock();
}

static void open_cache(void)
{
	struct cc_cache *cache;

	/* Switched off, or without memory for a cache, the layer stays inert. */
	if (cc_cache_open(&cache) != CMN_OK)
		return;
	ocl_layer.cache = cache;
	cc_cache_announce(cache, "OpenCL");
	if (pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0)
		cmn_log_write(cc_cache_log(cache), CMN_LOG_WARNING,
			      "no memory for fork handlers: do not fork while kernels are built");
}

/* After the application's exit handlers, on loaders that never call clDeinitLayer too: the log's last line. */
__attribute__((destructor)) static void conclude_at_exit(void)
{
	cc_cache_conclude(ocl_layer.cache);
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param_name, size_t param_value_size,
					 void *param_value, size_t *param_value_size_ret)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *value;
	size_t size;

	switch (param_name) {
	case CL_LAYER_API_VERSION:
		value = &version;
		size = sizeof(version);
		break;
	case CL_LAYER_NAME:
		value = LAYER_NAME;
		size = sizeof(LAYER_NAME);
		break;
	default:
		return CL_INVALID_VALUE;
	}
	if (param_value) {
		if (param_value_size < size)
			return CL_INVALID_VALUE;
		memcpy(param_value, value, size);
	}
	if (param_value_size_ret)
		*param_value_size_ret = size;
	return CL_SUCCESS;
}

/* dl_iterate_phdr, in the order of loading: stops at the first copy; *data: it is another file's. */
static int note_first_copy(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *name = strrchr(info->dlpi_name, '/');
	bool own = drv_loaded_holds(info, &ocl_layer);

	(void)size;
	if (!own && (!name || strcmp(name, LAYER_LIBRARY) != 0))
		return 0;
	*(bool *)data = !own;
	return 1;
}

/*
 * Whether the process had another file's copy of this layer before: an
 * installation lists one, and the user another. Of two active ones the
 * inner would look up and store once more what the outer does.
 */
static bool is_second_copy(void)
{
	bool second = false;

	(void)drv_loaded_iterate(note_first_copy, &second);	/* 0: not found, so not before */
	return second;
}

/* caller: an address in the loader's code. */
static cl_int initialise(cl_uint num_entries, const cl_icd_dispatch *target_dispatch,
			 cl_uint *num_entries_ret, const cl_icd_dispatch **layer_dispatch_ret,
			 const void *caller)
{
	static const cl_icd_dispatch inert;
	static bool initialised;	/* loaders initialise layers one after another */
	const cl_uint own_entries = sizeof(cl_icd_dispatch) / sizeof(void *);

	if (!target_dispatch || !num_entries_ret || !layer_dispatch_ret)
		return CL_INVALID_VALUE;
	*num_entries_ret = own_entries;
	*layer_dispatch_ret = &inert;
	/* Listed twice: the second one would call itself. */
	if (initialised || is_second_copy())
		return CL_SUCCESS;
	initialised = true;
	drv_environment_begin();	/* the loader has just loaded the drivers */
	memcpy(&ocl_layer.next, target_dispatch,
	       (num_entries < own_entries ? num_entries : own_entries) * sizeof(void *));
	open_cache();
	if (ocl_layer.cache) {
		ocl_layers_below_find(&ocl_layer.next, caller);
		ocl_dispatch_fill(&ocl_layer.next, &ocl_layer.table);
	}
	*layer_dispatch_ret = &ocl_layer.table;
	return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch *target_dispatch,
				      cl_uint *num_entries_ret,
				      const cl_icd_dispatch **layer_dispatch_ret)
{
	return initialise(num_entries, target_dispatch, num_entries_ret, layer_dispatch_ret,
			  __builtin_return_address(0));
}

cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries,
					     const cl_icd_dispatch *target_dispatch,
					     cl_uint *num_entries_ret,
					     const cl_icd_dispatch **layer_dispatch_ret,
					     const cl_properties *properties)
{
	/* None is defined that changes what this layer does. */
	(void)properties;
	return initialise(num_entries, target_dispatch, num_entries_ret, layer_dispatch_ret,
			  __builtin_return_address(0));
}

cl_int CL_API_CALL clDeinitLayer(void)
{
	return CL_SUCCESS;
}
