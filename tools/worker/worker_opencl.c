/* SPDX-License-Identifier: MIT */
/* worker_opencl: OpenCL's programs, compiled objects, libraries and links; its loader's functions. */
#include "tools/worker/opencl_loader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"
#include "tools/replay/replay_entries.h"
#include "tools/worker/channel.h"
#include "tools/worker/worker.h"

#define NEEDED(member, function) { #function, offsetof(struct opencl_loader, member), true },
#define OPTIONAL(member, function) { #function, offsetof(struct opencl_loader, member), false },

const char *opencl_loader_load(struct opencl_loader *ret)
{
	static const struct worker_function functions[] = { OPENCL_LOADER_FUNCTIONS(NEEDED, OPTIONAL) };

	return worker_load("libOpenCL.so.1", functions, sizeof(functions) / sizeof(functions[0]), ret,
			   "it lacks functions of OpenCL 1.1");
}

cl_uint opencl_loader_platforms(const struct opencl_loader *loader,
				cl_platform_id ret[MAX_PLATFORMS])
{
	cl_uint count = 0;

	if (loader->get_platforms(MAX_PLATFORMS, ret, &count) != CL_SUCCESS)
		return 0;
	return count < MAX_PLATFORMS ? count : MAX_PLATFORMS;
}

cl_uint opencl_loader_devices(const struct opencl_loader *loader, cl_platform_id platform,
			      cl_device_id ret[MAX_DEVICES])
{
	cl_uint count = 0;

	if (loader->get_devices(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ret, &count) !=
	    CL_SUCCESS)
		return 0;
	return count < MAX_DEVICES ? count : MAX_DEVICES;
}

enum { MAX_DEPTH = 16 };	/* of libraries in libraries: more than anybody makes */

/* Whether a device says so of itself. */
static bool device_says(const struct opencl_loader *loader, cl_device_id device, cl_device_info what,
			struct cmn_view text)
{
	char said[1024] = "";	/* as the key has it */

	return loader->get_device_info(device, what, sizeof(said), said, NULL) == CL_SUCCESS &&
	       cmn_view_equal(cmn_view_of(said), text);
}

static bool platform_is(const struct opencl_loader *loader, cl_platform_id platform,
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
static bool add_device(const struct opencl_loader *loader, const struct cc_recipe *recipe,
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

static bool choose_devices(const struct opencl_loader *loader, const struct cc_recipe *recipe,
			   cl_platform_id platform, struct target *ret)
{
	cl_device_id devices[MAX_DEVICES];
	cl_uint count = opencl_loader_devices(loader, platform, devices);
	struct cmn_view name;

	*ret = (struct target){ .platform = platform };
	for (unsigned int i = 0; replay_key_field(recipe->key, "device.name", i, &name); i++) {
		if (!add_device(loader, recipe, name, devices, count, ret))
			return false;
	}
	return ret->count != 0;
}

/* Whether the devices say that they are of the driver's version that the key has. */
static bool has_versions(const struct opencl_loader *loader, const struct cc_recipe *recipe,
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
static bool choose_target(const struct opencl_loader *loader, const struct cc_recipe *recipe,
			  cl_uint i, struct target *ret)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_uint count = opencl_loader_platforms(loader, platforms);
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

static bool set_constants(const struct opencl_loader *loader, cl_program program,
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
static cl_program create_program(const struct opencl_loader *loader, cl_context context,
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

static cl_int build(const struct opencl_loader *loader, cl_program program,
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

static void release_headers(const struct opencl_loader *loader, struct headers *headers)
{
	for (cl_uint i = 0; i < headers->count; i++) {
		if (headers->programs[i])
			(void)loader->release_program(headers->programs[i]);	/* ours alone */
		free(headers->names[i]);
	}
	free(headers->programs);
	free(headers->names);
}

static bool add_header(const struct opencl_loader *loader, cl_context context,
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

static cl_int compile(const struct opencl_loader *loader, cl_context context, cl_program program,
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
	const struct opencl_loader *loader;
	const struct target *target;
	cl_context context;
	const struct objects *objects;
};

static int make_link(const struct workshop *workshop, struct cmn_view key, unsigned int depth,
		     cl_program *ret);

/* What no link makes; *ret may be a program that the driver did not build. One of WORKER_…. */
static int make_program(const struct workshop *workshop, struct cmn_view key, bool compiled, cl_program *ret)
{
	const struct opencl_loader *loader = workshop->loader;
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

static uint64_t size_of(const struct opencl_loader *loader, cl_program program)
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

/* What the layer has not yet written, it writes now; else when the process ends. */
static void flush(const struct opencl_loader *loader, cl_platform_id platform)
{
	void *function = loader->get_platform_function ?
				 loader->get_platform_function(platform, "ckcache_flush") :
				 loader->get_function("ckcache_flush");
	int (*flush_layer)(void);	/* its result is an enumeration; what is on disk counts */

	memcpy(&flush_layer, &function, sizeof(function));
	if (flush_layer)
		(void)flush_layer();
}

/*
 * A context for the target, which stays for the worker's next recipe: a driver may start its device
 * with the first context and stop it with the last (NVIDIA's, 1.3 s on an H200). NULL: none can be made.
 */
static cl_context keep_context(const struct opencl_loader *loader, const struct target *target)
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

static int build_for(const struct opencl_loader *loader, const struct target *target,
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
	flush(loader, target->platform);
	return code;
}

int worker_opencl_build(const struct cc_recipe *recipe, const char *root, struct cc_store *store)
{
	static struct opencl_loader loader;	/* found once */
	int code = WORKER_ABSENT;
	struct target target;

	if (!loader.build && opencl_loader_load(&loader))
		return WORKER_UNABLE;
	for (cl_uint i = 0; choose_target(&loader, recipe, i, &target); i++) {
		code = build_for(&loader, &target, recipe->key, store);
		if (code != WORKER_BUILT || replay_entries_has(root, recipe))
			break;
	}
	return code;
}
