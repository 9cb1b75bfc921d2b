/* SPDX-License-Identifier: MIT */
/* layers_below: whose code the next functions are, and which other layers are loaded. */
#include "layers/opencl/key/layers_below.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "layers/shared/driver/libraries.h"

/* Layers of KhronosGroup/OpenCL-Layers that check arguments and handles, and change nothing. */
static const char *const passive[] = {
	"libCLObjectLifetimeLayer.so",
	"libCLParamVerificationLayer.so",
};

/* What a binary, its key, or an answer about it is made by. */
static const size_t watched[] = {
#define WATCH(call) offsetof(cl_icd_dispatch, call)
	WATCH(clGetPlatformInfo),
	WATCH(clGetDeviceInfo),
	WATCH(clCreateSubDevices),
	WATCH(clCreateContext),
	WATCH(clCreateContextFromType),
	WATCH(clGetContextInfo),
	WATCH(clCreateProgramWithSource),
	WATCH(clCreateProgramWithBinary),
	WATCH(clCreateProgramWithIL),
	WATCH(clSetProgramSpecializationConstant),
	WATCH(clRetainProgram),
	WATCH(clReleaseProgram),
	WATCH(clBuildProgram),
	WATCH(clCompileProgram),
	WATCH(clLinkProgram),
	WATCH(clGetProgramInfo),
	WATCH(clGetProgramBuildInfo),
	WATCH(clCreateKernel),
	WATCH(clCreateKernelsInProgram),
	WATCH(clCloneKernel),
	WATCH(clRetainKernel),
	WATCH(clReleaseKernel),
	WATCH(clGetKernelInfo),
	WATCH(clGetKernelArgInfo),
	WATCH(clGetKernelWorkGroupInfo),
	WATCH(clGetKernelSubGroupInfo),
	WATCH(clGetExtensionFunctionAddress),
	WATCH(clGetExtensionFunctionAddressForPlatform),
#undef WATCH
};

#define WATCHED (sizeof(watched) / sizeof(watched[0]))

/* Immutable once they were looked for, as long as the loader is there. */
static struct {
	struct cc_key fields;	/* of the layers that change nothing */
	bool unknown;		/* there is another one, or memory was short */
} below;

/* While they are looked for. */
struct search {
	const void *caller;
	const void *functions[WATCHED];	/* those that are not the loader's; NULL: its own, or whose is known */
	char *paths[DRV_LOADED_MAX];	/* of objects that may be layers */
	size_t path_count;
};

static const void *function_at(const cl_icd_dispatch *table, size_t offset)
{
	const void *function;

	memcpy(&function, (const char *)table + offset, sizeof(function));
	return function;
}

/* dl_iterate_phdr: of the object that the caller is in, functions are the loader's. */
static int drop_loader(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;

	(void)size;
	if (!drv_loaded_holds(info, search->caller))
		return 0;
	for (size_t i = 0; i < WATCHED; i++) {
		if (search->functions[i] && drv_loaded_holds(info, search->functions[i]))
			search->functions[i] = NULL;
	}
	return 1;
}

static bool has_functions(const struct search *search)
{
	for (size_t i = 0; i < WATCHED; i++) {
		if (search->functions[i])
			return true;
	}
	return false;
}

static bool is_passive(const char *name)
{
	for (size_t i = 0; i < sizeof(passive) / sizeof(passive[0]); i++) {
		size_t len = strlen(passive[i]);

		if (strncmp(name, passive[i], len) == 0 && (name[len] == '\0' || name[len] == '.'))
			return true;
	}
	return false;
}

/* Functions that nobody else has stay, those of no object (made at run time) among them. */
static void look_at(void *ctx, struct drv_loaded_list *objects)
{
	struct search *search = ctx;

	below.unknown |= objects->count == DRV_LOADED_MAX;
	for (size_t i = 0; i < objects->count; i++) {
		const struct drv_loaded *object = &objects->items[i];

		if (drv_loaded_contains(object, &below))
			continue;
		if (!is_passive(object->name)) {
			search->paths[search->path_count] = strdup(object->path);
			below.unknown |= !search->paths[search->path_count++];
			continue;
		}
		drv_libraries_add(&below.fields, &(struct cc_contents){ 0 }, object);
		for (size_t j = 0; j < WATCHED; j++) {
			if (search->functions[j] && drv_loaded_contains(object, search->functions[j]))
				search->functions[j] = NULL;
		}
	}
}

/* A layer that hides behind one that only looks on is seen by what each layer has to export. */
static bool is_layer(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *function = library ? dlsym(library, "clInitLayer") : NULL;
	Dl_info info;

	if (library)
		(void)dlclose(library);		/* it was loaded before */
	/* Not that of a library that it is linked with. */
	return function && (!dladdr(function, &info) || strcmp(info.dli_fname, path) == 0);
}

void ocl_layers_below_find(const cl_icd_dispatch *next, const void *caller)
{
	struct search *search = calloc(1, sizeof(*search));

	cc_key_release(&below.fields);	/* of a loader that was closed */
	cc_key_init(&below.fields);
	below.unknown = !search;
	if (!search)
		return;
	search->caller = caller;
	for (size_t i = 0; next && i < WATCHED; i++)
		search->functions[i] = function_at(next, watched[i]);
	(void)drv_loaded_iterate(drop_loader, search);	/* its result says nothing that is not in search */
	if (!next || has_functions(search)) {
		below.unknown = !drv_loaded_visit(look_at, search) || below.unknown;
		below.unknown |= has_functions(search) || cc_key_status(&below.fields) != CMN_OK;
		for (size_t i = 0; i < search->path_count; i++)
			below.unknown = below.unknown || is_layer(search->paths[i]);
	}
	for (size_t i = 0; i < search->path_count; i++)
		free(search->paths[i]);
	free(search);
}

bool ocl_layers_below_are_known(void)
{
	return !below.unknown;
}

void ocl_layers_below_add(struct cc_key *key)
{
	if (below.fields.encoded.len)
		cc_key_add_fields(key, &below.fields);
}
