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
#include "layers/shared/driver/libraries.h"
#include "layers/opencl/hooks/dispatch.h"
#include "layers/opencl/key/identity.h"
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
/* In the loader that has the layer, or NULL; and how many libraries had been unloaded by then. */
static const void *loader;
static unsigned long long unloaded;

/* What is true of no object if the loader was closed, and this is one that was opened since. */
struct other_loader {
	const cl_icd_dispatch *next;
	const void *caller;
	bool is_other;
};

static int look_for_loader(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct other_loader *other = ctx;

	(void)size;
	/* It may lie where the first one lay. */
	if (drv_loaded_holds(info, loader) && !drv_loaded_holds(info, other->caller))
		other->is_other = true;
	/* Listed twice, the layer has its own functions below it. */
	for (size_t at = 0; drv_loaded_holds(info, &ocl_layer) && at < sizeof(*other->next); at += sizeof(void *)) {
		const void *function;

		memcpy(&function, (const char *)other->next + at, sizeof(function));
		other->is_other |= function && drv_loaded_holds(info, function);
	}
	return 0;
}

static bool was_reopened(const cl_icd_dispatch *next, const void *caller)
{
	struct other_loader other = { .next = next, .caller = caller };

	if (!loader || !caller || drv_libraries_epoch().unloaded == unloaded)
		return false;
	(void)drv_loaded_iterate(look_for_loader, &other);	/* goes through all */
	return !other.is_other;
}

bool ocl_layer_begin(const cl_icd_dispatch *next, size_t size, const void *caller)
{
	cl_icd_dispatch functions = { 0 };

	memcpy(&functions, next, size);
	if (atomic_exchange(&taken, true) && !was_reopened(&functions, caller))
		return false;
	drv_environment_begin();	/* the loader has just loaded the drivers */
	ocl_layer.next = functions;
	ocl_identity_forget();
	ocl_objects_forget();
	loader = caller;
	unloaded = drv_libraries_epoch().unloaded;
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
