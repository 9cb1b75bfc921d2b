/* SPDX-License-Identifier: MIT */
/*
 * worker_opencl: builds OpenCL's programs, compiled objects, libraries and links as applications did; asks
 * the loader that programs get for itself, its drivers and their devices, and whether the layer is
 * between. This command is not linked with the loader; once loaded it stays.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/memory.h"
#include "tools/replay/replay.h"
#include "tools/tool.h"
#include "tools/worker/worker_process.h"

/* What this command calls; the optional ones came after OpenCL 1.1. */
#define LOADER_FUNCTIONS(NEEDED, OPTIONAL)                                          \
	NEEDED(get_platforms, clGetPlatformIDs)                                     \
	NEEDED(get_platform_info, clGetPlatformInfo)                                \
	NEEDED(get_devices, clGetDeviceIDs)                                         \
	NEEDED(get_device_info, clGetDeviceInfo)                                    \
	NEEDED(get_function, clGetExtensionFunctionAddress)                         \
	NEEDED(create_context, clCreateContext)                                     \
	NEEDED(release_context, clReleaseContext)                                   \
	NEEDED(create_with_source, clCreateProgramWithSource)                       \
	NEEDED(build, clBuildProgram)                                               \
	NEEDED(get_program_info, clGetProgramInfo)                                  \
	NEEDED(release_program, clReleaseProgram)                                   \
	NEEDED(create_kernel, clCreateKernel)                                       \
	OPTIONAL(get_platform_function, clGetExtensionFunctionAddressForPlatform)   \
	OPTIONAL(create_with_il, clCreateProgramWithIL)                             \
	OPTIONAL(set_constant, clSetProgramSpecializationConstant)                  \
	OPTIONAL(compile, clCompileProgram)                                         \
	OPTIONAL(link, clLinkProgram)

#define MEMBER(member, function) __typeof__(&(function))(member);
struct loader {
	LOADER_FUNCTIONS(MEMBER, MEMBER)
};

enum {
	MAX_PLATFORMS = 64,
	MAX_DEVICES = 64,
	MAX_DEPTH = 16,	/* of libraries in libraries: more than anybody makes */
};

#define NEEDED(member, function) { #function, offsetof(struct loader, member), true },
#define OPTIONAL(member, function) { #function, offsetof(struct loader, member), false },

/* NULL, or why not. *ret is zeroed by the caller. */
static const char *load(struct loader *ret)
{
	static const struct worker_function functions[] = { LOADER_FUNCTIONS(NEEDED, OPTIONAL) };

	return worker_load("libOpenCL.so.1", functions, sizeof(functions) / sizeof(functions[0]), ret,
			   "it lacks functions of OpenCL 1.1");
}

/* How many there are; 0 also where the loader does not say. */
static cl_uint list_platforms(const struct loader *loader, cl_platform_id ret[MAX_PLATFORMS])
{
	cl_uint count = 0;

	if (loader->get_platforms(MAX_PLATFORMS, ret, &count) != CL_SUCCESS)
		return 0;
	return count < MAX_PLATFORMS ? count : MAX_PLATFORMS;
}

static cl_uint list_devices(const struct loader *loader, cl_platform_id platform,
			    cl_device_id ret[MAX_DEVICES])
{
	cl_uint count = 0;

	if (loader->get_devices(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ret, &count) !=
	    CL_SUCCESS)
		return 0;
	return count < MAX_DEVICES ? count : MAX_DEVICES;
}

/* Whether a device says so of itself. */
static bool device_says(const struct loader *loader, cl_device_id device, cl_device_info what,
			struct cmn_view text)
{
	char said[1024] = "";	/* as the key has it */

	return loader->get_device_info(device, what, sizeof(said), said, NULL) == CL_SUCCESS &&
	       cmn_view_equal(cmn_view_of(said), text);
}

static bool platform_is(const struct loader *loader, cl_platform_id platform,
			struct cmn_view name)
{
	char text[1024] = "";

	return loader->get_platform_info(platform, CL_PLATFORM_NAME, sizeof(text), text, NULL) ==
		       CL_SUCCESS && cmn_view_equal(cmn_view_of(text), name);
}

/* What a program is made for. */
struct target {
	cl_platform_id platform;
	cl_device_id devices[MAX_DEVICES];
	cl_uint count;
};

static bool has_device(const struct target *target, cl_device_id device)
{
	for (cl_uint i = 0; i < target->count; i++) {
		if (target->devices[i] == device)
			return true;
	}
	return false;
}

/* The one at its old place, if it has this name, else the first of the name that is not taken. */
static bool add_device(const struct loader *loader, const struct cc_recipe *recipe,
		       struct cmn_view name, const cl_device_id *devices, cl_uint count,
		       struct target *target)
{
	uint32_t place;

	if (target->count == MAX_DEVICES)
		return false;
	if (cc_recipe_place(recipe, target->count, &place) && place < count &&
	    !has_device(target, devices[place]) && device_says(loader, devices[place], CL_DEVICE_NAME, name)) {
		target->devices[target->count++] = devices[place];
		return true;
	}
	for (cl_uint i = 0; i < count; i++) {
		if (has_device(target, devices[i]) ||
		    !device_says(loader, devices[i], CL_DEVICE_NAME, name))
			continue;
		target->devices[target->count++] = devices[i];
		return true;
	}
	return false;
}

static bool choose_devices(const struct loader *loader, const struct cc_recipe *recipe,
			   cl_platform_id platform, struct target *ret)
{
	cl_device_id devices[MAX_DEVICES];
	cl_uint count = list_devices(loader, platform, devices);
	struct cmn_view name;

	*ret = (struct target){ .platform = platform };
	for (unsigned int i = 0; replay_key_field(recipe->key, "device.name", i, &name); i++) {
		if (!add_device(loader, recipe, name, devices, count, ret))
			return false;
	}
	return ret->count != 0;
}

/* Whether the devices say that they are of the driver's version that the key has. */
static bool has_versions(const struct loader *loader, const struct cc_recipe *recipe,
			 const struct target *target)
{
	struct cmn_view version;

	for (cl_uint i = 0; i < target->count; i++) {
		if (!replay_key_field(recipe->key, "device.driver_version", i, &version) ||
		    !device_says(loader, target->devices[i], CL_DRIVER_VERSION, version))
			return false;
	}
	return true;
}

/*
 * Several drivers may have a platform of that name: those of the version first. The i-th of them.
 * false: this machine has no more such platforms with such devices.
 */
static bool choose_target(const struct loader *loader, const struct cc_recipe *recipe,
			  cl_uint i, struct target *ret)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_uint count = list_platforms(loader, platforms);
	struct cmn_view name, part;

	if (!count || !replay_key_field(recipe->key, "platform.name", 0, &name) ||
	    replay_key_field(recipe->key, "device.partition", 0, &part))
		return false;
	for (cl_uint at = 0; at < 2 * count; at++) {
		cl_platform_id platform = platforms[at % count];

		if (platform_is(loader, platform, name) &&
		    choose_devices(loader, recipe, platform, ret) &&
		    has_versions(loader, recipe, ret) == (at < count) && !i--)
			return true;
	}
	return false;
}

static bool set_constants(const struct loader *loader, cl_program program,
			  struct cmn_view key)
{
	struct cmn_view field;

	for (unsigned int i = 0; replay_key_field(key, "constant", i, &field); i++) {
		struct cmn_reader reader = cmn_reader_of(field);
		uint32_t id = cmn_reader_u32(&reader);
		uint64_t size = cmn_reader_u64(&reader);
		struct cmn_view value = cmn_reader_bytes(&reader, size);

		if (reader.failed || !loader->set_constant ||
		    loader->set_constant(program, id, size, value.data) != CL_SUCCESS)
			return false;
	}
	return true;
}

/* NULL: there is no source, or the driver would not. */
static cl_program create_program(const struct loader *loader, cl_context context,
				 struct cmn_view key)
{
	bool il = replay_key_has(key, "kind", "il") || replay_key_has(key, "kind", "compile-il");
	cl_program program = NULL;
	cl_int error = CL_SUCCESS;
	struct cmn_view source;

	if (!replay_key_field(key, "source", 0, &source))
		return NULL;
	if (!il) {
		/* A length of 0 would have it read up to a NUL. */
		const char *text = source.len ? source.data : "";

		program = loader->create_with_source(context, 1, &text, &source.len, &error);
	} else if (loader->create_with_il) {
		program = loader->create_with_il(context, source.data, source.len, &error);
	}
	if (program && error == CL_SUCCESS && !set_constants(loader, program, key))
		error = CL_INVALID_VALUE;
	if (program && error != CL_SUCCESS) {
		(void)loader->release_program(program);	/* nothing depends on it */
		program = NULL;
	}
	return program;
}

/* What a call gets, from the key's fields. */
struct arguments_of_key {
	cl_device_id list[MAX_DEVICES];
	cl_uint count;		/* 0: for all devices */
	char *options;
};

static cl_int get_arguments(const struct target *target, struct cmn_view key,
			    struct arguments_of_key *ret)
{
	struct cmn_view options = { 0 }, field;

	*ret = (struct arguments_of_key){ 0 };
	for (; ret->count < MAX_DEVICES && replay_key_field(key, "subset", ret->count, &field);
	     ret->count++) {
		struct cmn_reader reader = cmn_reader_of(field);
		uint64_t place = cmn_reader_u64(&reader);

		if (place >= target->count)
			return CL_INVALID_DEVICE;
		ret->list[ret->count] = target->devices[place];
	}
	(void)replay_key_field(key, "options", 0, &options);
	ret->options = memory_copy_view(options);
	return CL_SUCCESS;
}

static cl_int build(const struct loader *loader, cl_program program,
		    const struct target *target, struct cmn_view key)
{
	struct arguments_of_key given;
	cl_int error = get_arguments(target, key, &given);

	if (error == CL_SUCCESS)
		error = loader->build(program, given.count, given.count ? given.list : NULL,
				      given.options, NULL, NULL);
	free(given.options);
	return error;
}

/* The headers that the application handed over with a compilation. */
struct headers {
	cl_program *programs;
	char **names;
	cl_uint count;
};

static void release_headers(const struct loader *loader, struct headers *headers)
{
	for (cl_uint i = 0; i < headers->count; i++) {
		(void)loader->release_program(headers->programs[i]);	/* ours alone; none is refused */
		free(headers->names[i]);
	}
	free(headers->programs);
	free(headers->names);
}

static bool add_header(const struct loader *loader, cl_context context,
		       struct headers *headers, struct cmn_view name, struct cmn_view text)
{
	const char *data = text.len ? text.data : "";
	cl_int error = CL_SUCCESS;
	cl_uint at = headers->count++;

	memory_grow(headers->programs, at);
	memory_grow(headers->names, at);
	headers->names[at] = memory_copy_view(name);
	headers->programs[at] = loader->create_with_source(context, 1, &data, &text.len, &error);
	return headers->programs[at] && error == CL_SUCCESS;
}

static cl_int compile(const struct loader *loader, cl_context context, cl_program program,
		      const struct target *target, struct cmn_view key)
{
	struct headers headers = { 0 };
	struct arguments_of_key given;
	cl_int error = get_arguments(target, key, &given);
	struct cmn_view name, text;

	for (unsigned int i = 0; error == CL_SUCCESS && replay_key_field(key, "header.name", i, &name) &&
				 replay_key_field(key, "header.text", i, &text); i++) {
		if (!add_header(loader, context, &headers, name, text))
			error = CL_OUT_OF_HOST_MEMORY;
	}
	if (error == CL_SUCCESS)
		error = loader->compile(program, given.count, given.count ? given.list : NULL,
					given.options, headers.count, headers.programs,
					(const char **)headers.names, NULL, NULL);
	release_headers(loader, &headers);
	free(given.options);
	return error;
}

/* Where a link's inputs are looked for, and what they are made in. */
struct workshop {
	const struct loader *loader;
	const struct target *target;
	cl_context context;
	const struct objects *objects;
};

static int make_link(const struct workshop *workshop, struct cmn_view key, unsigned int depth,
		     cl_program *ret);

/* What no link makes; *ret may be a program that the driver did not build. One of WORKER_…. */
static int make_program(const struct workshop *workshop, struct cmn_view key, bool compiled, cl_program *ret)
{
	const struct loader *loader = workshop->loader;
	cl_int error;

	*ret = compiled && !loader->compile ? NULL : create_program(loader, workshop->context, key);
	if (!*ret)
		return WORKER_FAILED;
	error = compiled ? compile(loader, workshop->context, *ret, workshop->target, key) :
			   build(loader, *ret, workshop->target, key);
	return error == CL_SUCCESS ? WORKER_BUILT : WORKER_FAILED;
}

/* A compiled object or a library by its key; WORKER_BUILT, or *ret is of no use. */
static int make_object(const struct workshop *workshop, const struct object *object,
		       unsigned int depth, cl_program *ret)
{
	int code;

	if (objects_is_link(object->key))
		return make_link(workshop, object->key, depth, ret);
	if (!workshop->loader->compile || !worker_enter(object->directory))
		return WORKER_INPUTS;
	code = make_program(workshop, object->key, true, ret);
	if (code != WORKER_BUILT && *ret)
		(void)workshop->loader->release_program(*ret);	/* nothing depends on it */
	return code;
}

/* The i-th input of a link: whatever gives that content. */
static int make_input(const struct workshop *workshop, struct cmn_view key,
		      const struct cmn_hash *content, unsigned int depth, cl_program *ret)
{
	const struct cmn_hash devices = objects_devices(key);
	const struct object *object;
	int code = WORKER_INPUTS;

	for (size_t i = 0; code != WORKER_BUILT &&
			   (object = objects_find(workshop->objects, content, &devices, i)); i++)
		code = make_object(workshop, object, depth, ret);
	return code;
}

static int link_programs(const struct workshop *workshop, struct cmn_view key,
			 const cl_program *inputs, cl_uint count, cl_program *ret)
{
	struct arguments_of_key given;
	cl_int error = get_arguments(workshop->target, key, &given);
	cl_program program = NULL;

	if (error == CL_SUCCESS)
		program = workshop->loader->link(workshop->context, given.count,
						 given.count ? given.list : NULL, given.options,
						 count, inputs, NULL, NULL, &error);
	free(given.options);
	if (program && error == CL_SUCCESS) {
		*ret = program;
		return WORKER_BUILT;
	}
	if (program)
		(void)workshop->loader->release_program(program);	/* nothing depends on it */
	return WORKER_FAILED;
}

static int make_link(const struct workshop *workshop, struct cmn_view key, unsigned int depth,
		     cl_program *ret)
{
	/* The recipe's name is the link's: no input that the layer stores here may get it. */
	const char *cached_as = depth ? NULL : getenv(CC_CONFIG_CACHED_AS);
	char *kept = cached_as ? memory_copy(cached_as) : NULL;
	cl_program *inputs;
	cl_uint count = 0, made = 0;
	struct cmn_view field;
	int code = WORKER_BUILT;

	(void)unsetenv(CC_CONFIG_CACHED_AS);	/* the name is right */
	while (replay_key_field(key, "input", count, &field))
		count++;
	if (!count || depth == MAX_DEPTH || !workshop->loader->link) {
		free(kept);
		return WORKER_INPUTS;
	}
	inputs = memory_new(count, sizeof(*inputs));
	while (code == WORKER_BUILT && made < count) {
		struct cmn_hash content;

		code = WORKER_INPUTS;
		if (!replay_key_field(key, "input", made, &field) || field.len != CMN_HASH_SIZE)
			break;
		memcpy(content.bytes, field.data, CMN_HASH_SIZE);
		code = make_input(workshop, key, &content, depth + 1, &inputs[made]);
		made += code == WORKER_BUILT;
	}
	if (code == WORKER_BUILT && kept && setenv(CC_CONFIG_CACHED_AS, kept, 1) < 0)
		code = WORKER_UNABLE;
	if (code == WORKER_BUILT)
		code = link_programs(workshop, key, inputs, count, ret);
	for (cl_uint i = 0; i < made; i++)
		(void)workshop->loader->release_program(inputs[i]);	/* the link has what it needs */
	free(inputs);
	free(kept);
	return code;
}

static int make_link_of_store(const struct workshop *given, struct cmn_view key,
			      struct cc_store *store, cl_program *ret)
{
	struct workshop workshop = *given;
	struct objects objects;
	int code = WORKER_UNABLE;

	if (store && objects_read(store, &objects) == CMN_OK) {
		workshop.objects = &objects;
		code = make_link(&workshop, key, 0, ret);
	}
	if (store)
		objects_release(&objects);
	return code;
}

static uint64_t size_of(const struct loader *loader, cl_program program)
{
	size_t sizes[MAX_DEVICES] = { 0 }, size = 0;
	uint64_t all = 0;

	if (loader->get_program_info(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes,
				     &size) != CL_SUCCESS)
		return 0;
	for (size_t i = 0; i < size / sizeof(sizes[0]); i++)
		all += sizes[i];
	return all;
}

/*
 * A context for the target, which stays for the worker's next recipe: a driver may start its device
 * with the first context and stop it with the last (NVIDIA's, 1.3 s on an H200). NULL: none can be made.
 */
static cl_context keep_context(const struct loader *loader, const struct target *target)
{
	static struct target kept;
	static cl_context context;
	const cl_context_properties properties[] = {
		CL_CONTEXT_PLATFORM, (cl_context_properties)target->platform, 0,
	};
	cl_context before = context;
	cl_int error = CL_SUCCESS;

	if (context && kept.platform == target->platform && kept.count == target->count &&
	    memcmp(kept.devices, target->devices, target->count * sizeof(kept.devices[0])) == 0)
		return context;
	context = loader->create_context(properties, target->count, target->devices, NULL, NULL, &error);
	if (error != CL_SUCCESS)
		context = NULL;
	kept = *target;
	if (before)
		(void)loader->release_context(before);	/* nothing depends on it */
	return context;
}

static int build_for(const struct loader *loader, const struct target *target,
		     struct cmn_view key, struct cc_store *store)
{
	struct workshop workshop = { .loader = loader, .target = target };
	cl_program program = NULL;
	int code;

	workshop.context = keep_context(loader, target);
	if (!workshop.context)
		return WORKER_ABSENT;
	code = objects_is_link(key) ? make_link_of_store(&workshop, key, store, &program) :
		make_program(&workshop, key, replay_key_has(key, "kind", "compile") ||
			     replay_key_has(key, "kind", "compile-il"), &program);
	if (code == WORKER_BUILT && worker_is_unwanted(size_of(loader, program)))
		code = WORKER_UNWANTED;
	if (program)
		(void)loader->release_program(program);	/* the entry is made: nothing depends on it */
	return code;
}

int worker_opencl_build(const struct cc_recipe *recipe, const char *root, struct cc_store *store)
{
	static struct loader loader;	/* found once */
	int code = WORKER_ABSENT;
	struct given_key given;
	struct target target;

	if (!loader.build && load(&loader))
		return WORKER_UNABLE;
	given_key_read(recipe, &given);
	for (cl_uint i = 0; choose_target(&loader, recipe, i, &target); i++) {
		code = build_for(&loader, &target, cc_key_view(&given.key), store);
		if (code != WORKER_BUILT || replay_entries_has(root, recipe))
			break;
	}
	given_key_release(&given);
	return code;
}

/* Questions. */

#define MAX_TEXT 1024

/* Of ckcache.h, by the name under which the layer hands it out. */
#define LAYER_FUNCTION "ckcache_version"
/* Likewise: whether no other layer may change what is built (layers/opencl/key/layers_below.h). */
#define BELOW_FUNCTION "ckcache_layers_below_are_known"
/* What both loaders tell of themselves (cl_loader_info of the headers after Debian 12's). */
enum { LOADER_VERSION = 2, LOADER_NAME = 3, LOADER_VENDOR = 4 };

typedef cl_int(CL_API_CALL *loader_info_fn)(cl_uint name, size_t size, void *value,
					    size_t *ret_size);

/* false: said why. */
static bool load_and_say(struct loader *ret)
{
	const char *problem;

	channel_asking("the OpenCL loader");
	problem = load(ret);
	return worker_say_loader(problem, (const void *)ret->get_platforms);
}

static void say_loader_name(const struct loader *loader)
{
	loader_info_fn info =
		(loader_info_fn)loader->get_function("clGetICDLoaderInfoOCLICD");
	char name[MAX_TEXT] = "", version[MAX_TEXT] = "", vendor[MAX_TEXT] = "";

	if (!info || info(LOADER_NAME, sizeof(name), name, NULL) != CL_SUCCESS ||
	    info(LOADER_VERSION, sizeof(version), version, NULL) != CL_SUCCESS)
		return;
	/* ocl-icd's name is everybody's; its vendor is not. */
	(void)info(LOADER_VENDOR, sizeof(vendor), vendor, NULL);	/* it stays empty */
	(void)channel_say("named", strstr(vendor, "OCL Icd") ? "ocl-icd" : name, version);
}

static cl_uint get_platforms(const struct loader *loader, cl_platform_id ret[MAX_PLATFORMS])
{
	channel_asking("all OpenCL drivers for their platforms");
	return list_platforms(loader, ret);
}

/*
 * Word 0 of a handle is the driver's dispatch table (cl_khr_icd), whose first
 * entry is a number since cl_khr_icd 2.0. "": not to be told.
 */
static const char *library_of(cl_platform_id platform)
{
	const cl_icd_dispatch *dispatch = *(const cl_icd_dispatch *const *)platform;
	Dl_info info;

	if (!dispatch || !dispatch->clGetPlatformInfo ||
	    !dladdr((void *)dispatch->clGetPlatformInfo, &info) || !info.dli_fname ||
	    strstr(info.dli_fname, "/libOpenCL.so"))
		return "";
	return info.dli_fname;
}

static void say_device(const struct loader *loader, const char *platform, cl_uint place,
		       cl_device_id device)
{
	char number[16], name[MAX_TEXT] = "", version[MAX_TEXT] = "";
	cl_device_type type = 0;

	(void)snprintf(number, sizeof(number), "%u", place);	/* it fits */
	/* What fails leaves its text empty. */
	(void)loader->get_device_info(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
	(void)loader->get_device_info(device, CL_DRIVER_VERSION, sizeof(version), version, NULL);
	(void)loader->get_device_info(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	(void)channel_say("device", platform, number, name, version,
		  type & CL_DEVICE_TYPE_GPU ? "gpu" : "other");
}

static void say_platform(const struct loader *loader, cl_uint place, cl_platform_id platform)
{
	char number[16], name[MAX_TEXT] = "", version[MAX_TEXT] = "", what[MAX_TEXT + 64];
	cl_device_id devices[MAX_DEVICES];
	cl_uint count;

	(void)snprintf(number, sizeof(number), "%u", place);	/* it fits */
	(void)loader->get_platform_info(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
	(void)loader->get_platform_info(platform, CL_PLATFORM_VERSION, sizeof(version), version,
					NULL);
	(void)channel_say("platform", number, name, version, library_of(platform));
	(void)snprintf(what, sizeof(what), "\"%s\" for its devices", name);
	channel_asking(what);
	count = list_devices(loader, platform, devices);
	for (cl_uint i = 0; i < count; i++)
		say_device(loader, number, i, devices[i]);
}

static void *layer_function(const struct loader *loader, const cl_platform_id *platforms,
			    cl_uint count, const char *name)
{
	void *function = NULL;

	if (count && loader->get_platform_function)
		function = loader->get_platform_function(platforms[0], name);
	return function ? function : loader->get_function(name);
}

/* Whether the layer answers through the loader, and what it says of others. */
static void say_active(const struct loader *loader, const cl_platform_id *platforms,
		       cl_uint count)
{
	bool (*below_are_known)(void);

	channel_asking("for the layer");
	worker_say_layers();
	if (!layer_function(loader, platforms, count, LAYER_FUNCTION))
		return;
	(void)channel_say("active");
	below_are_known = (bool (*)(void))layer_function(loader, platforms, count, BELOW_FUNCTION);
	if (below_are_known && !below_are_known())
		(void)channel_say("below");
}

int probe_opencl(int argc, char **argv)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	struct loader loader = { 0 };
	cl_uint count;

	if (!load_and_say(&loader))
		return TOOL_FAILED;
	count = get_platforms(&loader, platforms);
	say_loader_name(&loader);
	say_active(&loader, platforms, count);
	for (cl_uint i = 0; i < count; i++)
		say_platform(&loader, i, platforms[i]);
	for (int i = 1; i < argc; i++) {
		char what[MAX_TEXT];

		(void)snprintf(what, sizeof(what), "the driver %s to load", argv[i]);
		channel_asking(what);
		if (dlopen(argv[i], RTLD_LAZY | RTLD_LOCAL))
			(void)channel_say("icd", argv[i]);
		else
			(void)channel_say("icd", argv[i], dlerror());
	}
	channel_asking("the drivers to end");
	return TOOL_OK;
}

static int fail(const char *what, cl_int error)
{
	char number[32];

	(void)snprintf(number, sizeof(number), "OpenCL error %d", error);	/* it fits */
	(void)channel_say("failed", what, number);
	return TOOL_FAILED;
}

/* Long enough to be compiled, short enough not to wait for. */
static const char source[] =
	"kernel void ckcache_doctor(global float *out, int n)\n"
	"{\n"
	"\tfloat sum = 0;\n"
	"\n"
	"\tfor (int i = 0; i < n; i++)\n"
	"\t\tsum += out[i] * sum + i;\n"
	"\tout[get_global_id(0)] = sum;\n"
	"}\n";

static int build_small(const struct loader *loader, cl_platform_id platform, cl_device_id device)
{
	const cl_context_properties properties[] = {
		CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0,
	};
	const char *text = source;
	cl_int error = CL_SUCCESS;
	cl_context context;
	cl_program program;
	char number[32];
	uint64_t start;

	context = loader->create_context(properties, 1, &device, NULL, NULL, &error);
	if (!context)
		return fail("clCreateContext", error);
	program = loader->create_with_source(context, 1, &text, NULL, &error);
	if (!program)
		return fail("clCreateProgramWithSource", error);
	start = cmn_clock_monotonic();
	error = loader->build(program, 0, NULL, "", NULL, NULL);
	if (error != CL_SUCCESS)
		return fail("clBuildProgram", error);
	(void)snprintf(number, sizeof(number), "%" PRIu64, cmn_clock_monotonic() - start);
	if (!loader->create_kernel(program, "ckcache_doctor", &error))
		return fail("clCreateKernel", error);
	(void)channel_say("built", number);
	channel_asking("the driver to end");
	return TOOL_OK;
}

/* What cannot be built says why, and is no failure. */
static int build_small_for_all(const struct loader *loader)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_uint count = get_platforms(loader, platforms);

	for (cl_uint i = 0; i < count; i++) {
		cl_device_id devices[MAX_DEVICES];
		cl_uint device_count = list_devices(loader, platforms[i], devices);

		for (cl_uint j = 0; j < device_count; j++)
			(void)build_small(loader, platforms[i], devices[j]);
	}
	worker_say_mapped();
	return TOOL_OK;
}

int probe_opencl_build(int argc, char **argv)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_device_id devices[MAX_DEVICES];
	struct loader loader = { 0 };
	unsigned long at, place;

	if (!load_and_say(&loader))
		return TOOL_FAILED;
	if (argc < 3)
		return build_small_for_all(&loader);
	at = strtoul(argv[1], NULL, 10);
	place = strtoul(argv[2], NULL, 10);
	if (at >= get_platforms(&loader, platforms) ||
	    place >= list_devices(&loader, platforms[at], devices)) {
		(void)channel_say("failed", "device", "it is no longer there");
		return TOOL_FAILED;
	}
	channel_asking("the driver to build a small program");
	return build_small(&loader, platforms[at], devices[place]);
}
