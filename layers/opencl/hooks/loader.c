/* SPDX-License-Identifier: MIT */
/*
 * loader: the entry points that loaders call (cl_loader_layers 1.0, and the
 * later clInitLayerWithProperties and clDeinitLayer).
 */
#include "layers/opencl/layer.h"

#include <CL/cl_layer.h>
#include <stdatomic.h>
#include <string.h>

#include "layers/shared/api/desc.h"
#include "layers/shared/driver/environment.h"
#include "layers/opencl/hooks/dispatch.h"
#include "layers/opencl/key/layers_below.h"

/* The version script decides what is exported; these must not be hidden before it. */
#define EXPORT __attribute__((visibility("default")))

#define LAYER_NAME "ckcache"

struct ocl_layer ocl_layer;

/* Newer than the headers of Debian 12: cl_layer.h of the Khronos headers. */
EXPORT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries,
						    const cl_icd_dispatch *target_dispatch,
						    cl_uint *num_entries_ret,
						    const cl_icd_dispatch **layer_dispatch_ret,
						    const cl_properties *properties);
EXPORT cl_int CL_API_CALL clDeinitLayer(void);

static atomic_bool taken, begun;

bool ocl_layer_begin(const cl_icd_dispatch *next, size_t size, const void *caller)
{
	if (atomic_exchange(&taken, true))
		return false;
	drv_environment_begin();	/* the loader has just loaded the drivers */
	memcpy(&ocl_layer.next, next, size);
	ocl_layer.cache = api_cache(CKCACHE_API_OPENCL);
	if (ocl_layer.cache)
		ocl_layers_below_find(caller ? &ocl_layer.next : NULL, caller);
	if (ocl_layer.cache && caller)
		ocl_dispatch_fill(&ocl_layer.next, &ocl_layer.table);
	atomic_store(&begun, true);
	return true;
}

bool ocl_layer_has_begun(void)
{
	return atomic_load(&begun);
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param_name, size_t param_value_size,
					 void *param_value, size_t *param_value_size_ret)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	struct cmn_view value;

	switch (param_name) {
	case CL_LAYER_API_VERSION:
		value = (struct cmn_view){ &version, sizeof(version) };
		break;
	case CL_LAYER_NAME:
		value = (struct cmn_view){ LAYER_NAME, sizeof(LAYER_NAME) };
		break;
	default:
		return CL_INVALID_VALUE;
	}
	return ocl_give(value, param_value_size, param_value, param_value_size_ret);
}

/* caller: an address in the loader's code. */
static cl_int initialise(cl_uint num_entries, const cl_icd_dispatch *target_dispatch,
			 cl_uint *num_entries_ret, const cl_icd_dispatch **layer_dispatch_ret,
			 const void *caller)
{
	static const cl_icd_dispatch inert;
	const cl_uint own_entries = sizeof(cl_icd_dispatch) / sizeof(void *);

	if (!target_dispatch || !num_entries_ret || !layer_dispatch_ret)
		return CL_INVALID_VALUE;
	*num_entries_ret = own_entries;
	/* Listed twice, the second one would call itself. */
	*layer_dispatch_ret = ocl_layer_begin(target_dispatch,
					      (num_entries < own_entries ? num_entries : own_entries) *
						      sizeof(void *),
					      caller) ?
				      &ocl_layer.table : &inert;
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
