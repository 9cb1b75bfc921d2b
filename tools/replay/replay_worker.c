/* SPDX-License-Identifier: MIT */
/*
 * replay_worker: builds one recipe's program as the application did, through
 * the loader and with the layer, which stores the result under the key that it
 * finds itself. Also the probe: a small program for each device, whose keys say
 * what devices and drivers there are. Runs in a process of its own, with the
 * environment that is due, and may be killed at any time.
 */
#include "common/descriptor.h"
#include "tools/doctor/opencl_loader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/manifest.h"
#include "tools/replay/replay.h"

static bool platform_is(const struct opencl_loader *loader, cl_platform_id platform,
			struct cmn_view name)
{
	char text[1024] = "";	/* as the key has it */

	return loader->get_platform_info(platform, CL_PLATFORM_NAME, sizeof(text), text, NULL) ==
		       CL_SUCCESS && cmn_view_equal(cmn_view_of(text), name);
}

static bool device_is(const struct opencl_loader *loader, cl_device_id device, struct cmn_view name)
{
	char text[1024] = "";

	return loader->get_device_info(device, CL_DEVICE_NAME, sizeof(text), text, NULL) ==
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
	    !has_device(target, devices[place]) && device_is(loader, devices[place], name)) {
		target->devices[target->count++] = devices[place];
		return true;
	}
	for (cl_uint i = 0; i < count; i++) {
		if (has_device(target, devices[i]) || !device_is(loader, devices[i], name))
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

/* false: this machine has no such platform with such devices. */
static bool choose_target(const struct opencl_loader *loader, const struct cc_recipe *recipe,
			  struct target *ret)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_uint count = opencl_loader_platforms(loader, platforms);
	struct cmn_view name, part;

	if (!replay_key_field(recipe->key, "platform.name", 0, &name) ||
	    replay_key_field(recipe->key, "device.partition", 0, &part))
		return false;
	for (cl_uint i = 0; i < count; i++) {
		if (platform_is(loader, platforms[i], name) &&
		    choose_devices(loader, recipe, platforms[i], ret))
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

/* NULL: a kind that cannot be made from its key, or the driver would not. */
static cl_program create_program(const struct opencl_loader *loader, cl_context context,
				 struct cmn_view key)
{
	struct cmn_view kind, source;
	cl_program program = NULL;
	cl_int error = CL_SUCCESS;

	if (!replay_key_field(key, "kind", 0, &kind) ||
	    !replay_key_field(key, "source", 0, &source))
		return NULL;
	if (cmn_view_equal(kind, cmn_view_of("source"))) {
		/* A length of 0 would have it read up to a NUL. */
		const char *text = source.len ? source.data : "";

		program = loader->create_with_source(context, 1, &text, &source.len, &error);
	} else if (cmn_view_equal(kind, cmn_view_of("il")) && loader->create_with_il) {
		program = loader->create_with_il(context, source.data, source.len, &error);
	}
	if (program && error == CL_SUCCESS && !set_constants(loader, program, key))
		error = CL_INVALID_VALUE;
	if (program && error != CL_SUCCESS) {
		(void)loader->release_program(program);	/* this process ends soon */
		program = NULL;
	}
	return program;
}

/* For all devices, or for those of the key. */
static cl_int build(const struct opencl_loader *loader, cl_program program,
		    const struct target *target, struct cmn_view key)
{
	cl_device_id list[MAX_DEVICES];
	struct cmn_view options = { 0 }, field;
	cl_uint count = 0;
	cl_int error;
	char *text;

	for (; count < MAX_DEVICES && replay_key_field(key, "subset", count, &field); count++) {
		struct cmn_reader reader = cmn_reader_of(field);
		uint64_t place = cmn_reader_u64(&reader);

		if (place >= target->count)
			return CL_INVALID_DEVICE;
		list[count] = target->devices[place];
	}
	(void)replay_key_field(key, "options", 0, &options);
	text = strndup(options.len ? options.data : "", options.len);
	if (!text)
		return CL_OUT_OF_HOST_MEMORY;
	error = loader->build(program, count, count ? list : NULL, text, NULL, NULL);
	free(text);
	return error;
}

/* Whether the settings have the layer not store images of this program's size. */
static bool is_unwanted(const struct opencl_loader *loader, cl_program program)
{
	const struct cmn_log log = { .level = CMN_LOG_NONE };
	size_t sizes[MAX_DEVICES] = { 0 }, size = 0;
	struct cc_config config;
	uint64_t all = 0;
	bool unwanted;

	if (loader->get_program_info(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes,
				     &size) != CL_SUCCESS ||
	    cc_config_load(&log, &config) != CMN_OK)
		return false;
	for (size_t i = 0; i < size / sizeof(sizes[0]); i++)
		all += sizes[i];
	unwanted = all && (all < config.min_device_image_size ||
			   all > config.max_device_image_size ||
			   (config.max_size && all > config.max_size / 2));
	cc_config_release(&config);
	return unwanted;
}

static int build_recipe(const struct opencl_loader *loader, const struct cc_recipe *recipe)
{
	cl_context_properties properties[] = { CL_CONTEXT_PLATFORM, 0, 0 };
	cl_int error = CL_SUCCESS;
	struct target target;
	cl_context context;
	cl_program program;
	int code;

	if (!choose_target(loader, recipe, &target))
		return WORKER_ABSENT;
	properties[1] = (cl_context_properties)target.platform;
	context = loader->create_context(properties, target.count, target.devices, NULL, NULL,
					 &error);
	if (!context || error != CL_SUCCESS)
		return WORKER_ABSENT;
	program = create_program(loader, context, recipe->key);
	error = program ? build(loader, program, &target, recipe->key) : CL_INVALID_VALUE;
	code = error == CL_SUCCESS ? WORKER_BUILT : WORKER_FAILED;
	if (code == WORKER_BUILT && is_unwanted(loader, program))
		code = WORKER_UNWANTED;
	if (program)
		(void)loader->release_program(program);	/* the entry is made: nothing depends on it */
	(void)loader->release_context(context);	/* likewise */
	return code;
}

/* Whether the files that the application's build read are what they were. */
static bool is_current(const struct cc_recipe *recipe)
{
	struct cc_manifest *manifest;
	bool current;

	if (recipe->manifest.len == 0)
		return true;
	if (cc_manifest_decode(recipe->manifest, &manifest) != CMN_OK)
		return false;
	current = cc_manifest_verify(manifest, NULL) == CMN_OK;
	cc_manifest_free(manifest);
	return current;
}

static bool enter(struct cmn_view directory)
{
	char *path = strndup(directory.len ? directory.data : "/", directory.len ? directory.len : 1);
	bool done = path && chdir(path) == 0;

	free(path);
	return done;
}

static int work(const char *root, const char *name)
{
	struct cmn_buffer file = { 0 };
	struct opencl_loader loader = { 0 };
	struct cc_recipe recipe;
	int code = WORKER_UNABLE;
	int fd = -1;

	if (cc_recipes_open(root, &fd) != CMN_OK)
		return code;
	if (cc_recipes_read(fd, name, &file, &recipe) == CMN_OK) {
		if (!enter(recipe.directory) || !is_current(&recipe))
			code = WORKER_STALE;
		else if (!opencl_loader_load(&loader))
			code = build_recipe(&loader, &recipe);
	}
	cmn_buffer_release(&file);
	(void)cmn_descriptor_close(fd);	/* read only */
	return code;
}

/* A program of its own for one device; what cannot be built says nothing. */
static void probe_device(const struct opencl_loader *loader, cl_platform_id platform,
			 cl_device_id device)
{
	const cl_context_properties properties[] = {
		CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0,
	};
	const char *source = "kernel void ckcache_probe(void) {}\n";
	cl_int error = CL_SUCCESS;
	cl_context context = loader->create_context(properties, 1, &device, NULL, NULL, &error);
	cl_program program;

	if (!context || error != CL_SUCCESS)
		return;
	program = loader->create_with_source(context, 1, &source, NULL, &error);
	if (program && error == CL_SUCCESS)
		(void)loader->build(program, 0, NULL, "", NULL, NULL);	/* see above */
	if (program)
		(void)loader->release_program(program);	/* nothing depends on it */
	(void)loader->release_context(context);	/* likewise */
}

static int probe(void)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	struct opencl_loader loader = { 0 };
	cl_uint count;

	if (opencl_loader_load(&loader))
		return WORKER_UNABLE;
	count = opencl_loader_platforms(&loader, platforms);
	for (cl_uint i = 0; i < count; i++) {
		cl_device_id devices[MAX_DEVICES];
		cl_uint device_count = opencl_loader_devices(&loader, platforms[i], devices);

		for (cl_uint j = 0; j < device_count; j++)
			probe_device(&loader, platforms[i], devices[j]);
	}
	return WORKER_BUILT;
}

int replay_worker(int argc, char **argv)
{
	const char *root = getenv("CKCACHE_DIR");

	if (argc != 2 || !root)
		return WORKER_UNABLE;
	return strcmp(argv[1], REPLAY_PROBE) == 0 ? probe() : work(root, argv[1]);
}
