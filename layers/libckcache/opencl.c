/* SPDX-License-Identifier: MIT */
/*
 * opencl: OpenCL's functions as the process has them, from its ICD loader; and
 * the layer, if the loader put it there.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "common/mutex.h"
#include "layers/libckcache/library.h"
#include "layers/opencl/api/program_desc.h"
#include "layers/opencl/key/layers_below.h"

#define LOADER "libOpenCL.so.1"

struct ocl_layer ocl_layer;	/* what the layer's own has, with the loader's functions */

static struct {
	pthread_once_t once, looked;
	pthread_mutex_t lock;	/* for writing ocl_layer.next; nothing else is called with it */
	/* Each is set once, and for good: ocl_layer.next has what there is; the layer. */
	atomic_bool loaded;
	_Atomic(const struct ckcache_functions *) layer;
} opencl = { .once = PTHREAD_ONCE_INIT, .looked = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void lock(void)
{
	cmn_mutex_lock(&opencl.lock);
}

static void unlock(void)
{
	cmn_mutex_unlock(&opencl.lock);
}

/*
 * fork: in the order of locks (docs/ARCHITECTURE.md): these handlers are
 * registered after those of the caches, so that before a fork they run first.
 */
static void before_fork(void)
{
	lock();
	ocl_objects_fork_prepare();
}

static void after_fork_parent(void)
{
	ocl_objects_fork_parent();
	unlock();
}

static void after_fork_child(void)
{
	ocl_objects_fork_child();
	ocl_objects_unlock();
	unlock();
}

/* A handle for dlsym: the loader's, or of whatever else gave the process these functions. NULL: not there. */
static void *find_loader(bool bring)
{
	void *loader = dlopen(LOADER, RTLD_LAZY | RTLD_NOLOAD);

	if (!loader && dlsym(RTLD_DEFAULT, "clGetPlatformIDs"))
		loader = dlopen(NULL, RTLD_LAZY);
	if (!loader && bring)
		loader = dlopen(LOADER, RTLD_LAZY | RTLD_LOCAL);
	return loader;	/* kept for the process's life, as the loader is */
}

#define FUNCTION(call) { #call, offsetof(cl_icd_dispatch, call), true }
#define OPTIONAL(call) { #call, offsetof(cl_icd_dispatch, call), false }

/* What the layer's parts call (OpenCL 1.2, and later versions' where they are there). */
static const struct {
	const char *name;
	size_t offset;
	bool needed;
} calls[] = {
	FUNCTION(clGetPlatformIDs), FUNCTION(clGetPlatformInfo), FUNCTION(clGetDeviceInfo),
	FUNCTION(clRetainContext), FUNCTION(clReleaseContext), FUNCTION(clGetContextInfo),
	FUNCTION(clRetainDevice), FUNCTION(clReleaseDevice),
	FUNCTION(clCreateProgramWithSource), FUNCTION(clCreateProgramWithBinary),
	OPTIONAL(clCreateProgramWithIL), OPTIONAL(clSetProgramSpecializationConstant),
	FUNCTION(clRetainProgram), FUNCTION(clReleaseProgram), FUNCTION(clBuildProgram),
	FUNCTION(clGetProgramInfo), FUNCTION(clGetProgramBuildInfo), FUNCTION(clCreateKernel),
	FUNCTION(clCreateKernelsInProgram), FUNCTION(clReleaseKernel), FUNCTION(clGetKernelInfo),
	FUNCTION(clGetKernelWorkGroupInfo),
	FUNCTION(clGetExtensionFunctionAddressForPlatform),
};

/* What the process has of them. false: not all that are needed. Without a lock: the dynamic linker has its own. */
static bool find_functions(bool bring, cl_icd_dispatch *ret)
{
	void *loader = find_loader(bring);

	for (size_t i = 0; loader && i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *function = dlsym(loader, calls[i].name);

		if (!function && calls[i].needed)
			return false;
		memcpy((char *)ret + calls[i].offset, &function, sizeof(function));
	}
	return loader != NULL;
}

static void open_cache(void)
{
	ocl_layer.cache = library_cache(CKCACHE_API_OPENCL);
	/* Without memory for them a child must not use the library. */
	(void)!pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* Whether the functions are there. */
static bool load(bool bring)
{
	cl_icd_dispatch functions = { 0 };

	/* Settings want the cache, whether there is OpenCL or not. */
	(void)pthread_once(&opencl.once, open_cache);
	if (atomic_load(&opencl.loaded))
		return true;
	if (!find_functions(bring, &functions))
		return false;
	lock();
	if (!atomic_load(&opencl.loaded))
		ocl_layer.next = functions;
	atomic_store(&opencl.loaded, true);
	unlock();
	return true;
}

/* The device's platform, or any. */
static cl_platform_id platform_of(cl_device_id device)
{
	cl_platform_id platform = NULL;

	if (device) {
		if (OCL_NEXT.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform),
					     &platform, NULL) != CL_SUCCESS)
			platform = NULL;
	} else if (OCL_NEXT.clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS) {
		platform = NULL;
	}
	return platform;
}

/* The active layer's functions, or NULL. */
static const struct ckcache_functions *find_layer(cl_device_id device)
{
	cl_platform_id platform = platform_of(device);
	ckcache_functions_fn *get = NULL;

	if (platform)
		get = (ckcache_functions_fn *)OCL_NEXT.clGetExtensionFunctionAddressForPlatform(
			platform, "ckcache_functions");
	/* An older one has all that are called here: they came with the first version. */
	return get ? get() : NULL;
}

/* By the time that there are devices the loader has its layers, and all are below. */
static void look_for_layers(void)
{
	ocl_layers_below_find(NULL, NULL);
}

const struct ckcache_functions *library_opencl(struct _cl_device_id *device)
{
	bool loaded = load(device != NULL);
	const struct ckcache_functions *layer = opencl.layer;

	if (loaded && !layer) {
		layer = find_layer(device);
		if (layer) {
			library_found(CKCACHE_API_OPENCL, layer);
			opencl.layer = layer;
		}
	}
	if (layer)
		return layer;
	/* Settings are the cache's, whether there is OpenCL or not. */
	if (!loaded && device)
		return NULL;
	if (device)
		(void)pthread_once(&opencl.looked, look_for_layers);
	return ocl_ckcache_functions();
}
