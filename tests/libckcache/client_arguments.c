/* SPDX-License-Identifier: MIT */
/* client_arguments: every function with what it must refuse, sizes, and the list of extension functions. */
#include "tests/libckcache/client.h"

static void expect_no_desc(struct client *client, size_t count, const struct ckcache_program *programs)
{
	struct ckcache_desc *none = (struct ckcache_desc *)(void *)client, *desc = none;

	INVALID(api->opencl_desc_new(client->context, client->devices[0], count, programs, &desc));
	CHECK(desc == none);
}

static void expect_bad_il(struct client *client, size_t count, const struct ckcache_constant *constants)
{
	struct ckcache_program program = api_program("0123", NULL);

	program.language = CKCACHE_LANGUAGE_SPIRV;
	program.constant_count = count;
	program.constants = constants;
	expect_no_desc(client, 1, &program);
}

SCENARIO(bad_programs)
{
	const uint64_t value = 1;
	const struct ckcache_constant twice[] = { { 1, 4, &value }, { 2, 4, &value }, { 1, 8, &value } };
	const struct ckcache_constant none = { 1, 4, NULL }, empty = { 1, 0, &value };
	const struct ckcache_constant long_one = { 1, 9, &value };
	const struct ckcache_program good = api_program(api_text, api_options);
	struct ckcache_program bad[2] = { good, good };

	expect_no_desc(client, 0, &good);
	expect_no_desc(client, 1, NULL);
	expect_no_desc(client, SIZE_MAX, &good);
	bad[1].struct_size = 0;
	expect_no_desc(client, 2, bad);
	bad[1].struct_size = sizeof(good) - 1;
	expect_no_desc(client, 2, bad);
	/* Of a later version: what it has more would be missing in the id. */
	bad[1].struct_size = sizeof(good) + 8;
	expect_no_desc(client, 2, bad);
	bad[1] = good;
	bad[1].source = NULL;
	expect_no_desc(client, 2, bad);
	bad[1] = good;
	bad[1].source_size = 0;
	expect_no_desc(client, 2, bad);
	bad[1] = good;
	bad[1].language = (enum ckcache_language)0;
	expect_no_desc(client, 2, bad);
	bad[1].language = (enum ckcache_language)3;
	expect_no_desc(client, 2, bad);
	bad[1] = good;
	bad[1].constant_count = 1;
	bad[1].constants = twice;
	expect_no_desc(client, 2, bad);
	expect_bad_il(client, 3, twice);
	expect_bad_il(client, 1, NULL);
	expect_bad_il(client, 1, &none);
	expect_bad_il(client, 1, &empty);
	expect_bad_il(client, 1, &long_one);
}

SCENARIO(bad_handles)
{
	const struct ckcache_program good = api_program(api_text, api_options);
	struct ckcache_desc *none = (struct ckcache_desc *)(void *)client, *desc = none;
	cl_context narrow;

	INVALID(api->opencl_desc_new(NULL, client->devices[0], 1, &good, &desc));
	INVALID(api->opencl_desc_new(client->context, NULL, 1, &good, &desc));
	INVALID(api->opencl_desc_new(client->context, client->devices[0], 1, &good, NULL));
	if (client->device_count > 1) {
		narrow = clCreateContext(NULL, 1, client->devices, NULL, NULL, NULL);
		INVALID(api->opencl_desc_new(narrow, client->devices[1], 1, &good, &desc));
		CHECK(clReleaseContext(narrow) == CL_SUCCESS);
	}
	CHECK(desc == none);
	api->desc_free(NULL);
}

static void expect_bad_level_zero(void)
{
	cl_uint here = 0;
	struct _ze_device_handle_t *device = (struct _ze_device_handle_t *)(void *)&here;
	struct ckcache_desc *none = NULL;

	/* The layer's table does not have them. */
	if (!api->level_zero_desc_new)
		return;
	INVALID(api->level_zero_desc_new(NULL, NULL, NULL, 1, NULL, &none));
	INVALID(api->level_zero_device_desc_new(NULL, NULL, NULL, &none));
	INVALID(api->level_zero_get_blob(NULL, NULL, NULL, NULL));
	INVALID(api->level_zero_create_from_blob(NULL, 0, NULL, NULL));
	INVALID(api->level_zero_build(NULL, NULL, NULL, NULL));
	(void)device;
	CHECK(!none);
}

/* Programs' functions with a device's description, and the other way round. */
static void expect_kinds_apart(struct client *client)
{
	const struct ckcache_library library = {
		.struct_size = sizeof(library), .name = "library", .hash = "0", .hash_size = 1,
	};
	struct ckcache_desc *program = api_desc(client, api_text, api_options), *device = NULL;
	cl_program built = api_built(client, api_text, api_options), none = NULL;
	uint8_t room[1024] = { 0 };
	size_t size = sizeof(room);

	WANT(CKCACHE_OK, api->opencl_device_desc_new(client->devices[0], &library, &device));
	INVALID(api->opencl_get_blob(device, &built, &size, room));
	INVALID(api->opencl_create_from_blob(device, size, room, &none));
	INVALID(api->opencl_build(device, NULL, &none, NULL));
	INVALID(api->device_get_blob(program, 1, "x", &size, room));
	INVALID(api->device_get_data(program, size, room, &size, room));
	INVALID(api->device_store(program, NULL, 1, "x"));
	INVALID(api->device_load(program, NULL, &size, room));
	if (api->level_zero_build) {
		INVALID(api->level_zero_build(program, NULL, (struct _ze_module_handle_t **)room, NULL));
		INVALID(api->level_zero_get_blob(device, (struct _ze_module_handle_t *const *)room, &size, NULL));
	}
	CHECK(!none && size == sizeof(room) && !room[0]);
	CHECK(clReleaseProgram(built) == CL_SUCCESS);
	api->desc_free(device);
	api->desc_free(program);
}

SCENARIO(bad_calls)
{
	struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	cl_program built = api_built(client, api_text, api_options), program = built;
	uint8_t room[64] = "unchanged";
	size_t size = sizeof(room);
	int on = 7;

	INVALID(api->desc_get_id(NULL, &size, room));
	INVALID(api->desc_get_id(desc, NULL, room));
	INVALID(api->desc_evict(NULL, NULL));
	INVALID(api->opencl_get_blob(NULL, &program, &size, room));
	INVALID(api->opencl_get_blob(desc, NULL, &size, room));
	INVALID(api->opencl_get_blob(desc, &program, NULL, room));
	INVALID(api->opencl_create_from_blob(NULL, size, room, &program));
	INVALID(api->opencl_create_from_blob(desc, size, NULL, &program));
	INVALID(api->opencl_create_from_blob(desc, 0, room, &program));
	INVALID(api->opencl_create_from_blob(desc, size, room, NULL));
	INVALID(api->opencl_build(NULL, NULL, &program, NULL));
	INVALID(api->opencl_build(desc, NULL, NULL, NULL));
	INVALID(api->device_get_blob(NULL, 1, room, &size, room));
	INVALID(api->device_get_data(NULL, 1, room, &size, room));
	INVALID(api->device_store(NULL, NULL, 1, room));
	INVALID(api->device_load(NULL, NULL, &size, room));
	INVALID(api->get_dir(NULL, (char *)room));
	INVALID(api->get_capacity(NULL));
	INVALID(api->get_persistent(CKCACHE_API_OPENCL, NULL));
	CHECK(api->get_persistent((enum ckcache_api)0, &on) < CKCACHE_OK);
	CHECK(api->get_persistent((enum ckcache_api)3, &on) < CKCACHE_OK);
	CHECK(api->set_persistent((enum ckcache_api)0, 1) < CKCACHE_OK);
	CHECK(api->set_persistent((enum ckcache_api)3, 1) < CKCACHE_OK);
	CHECK(on == 7 && size == sizeof(room) && program == built && !strcmp((char *)room, "unchanged"));
	CHECK(clReleaseProgram(built) == CL_SUCCESS);
	api->desc_free(desc);
	expect_bad_level_zero();
	expect_kinds_apart(client);
}

/* One function that gives bytes, asked in all ways. */
static void expect_sizes(enum ckcache_status (*get)(void *ctx, size_t *size, uint8_t *place),
			 void *ctx, const char *what)
{
	uint8_t *room;
	size_t size = 77, needed;

	WANT(CKCACHE_OK, get(ctx, &size, NULL));
	needed = size;
	if (!CHECK(needed > 1))
		(void)fprintf(stderr, "%s\n", what);
	room = malloc(needed + 100);
	if (!room)
		client_fail("malloc", CL_OUT_OF_HOST_MEMORY);
	for (size_t i = 0; i < 3; i++) {
		const size_t sizes[] = { 0, 1, needed - 1 };

		memset(room, 0x77, needed + 100);
		size = sizes[i];
		WANT(CKCACHE_ERROR_BUFFER_TOO_SMALL, get(ctx, &size, room));
		CHECK(size == needed && room[0] == 0x77 && room[needed - 2] == 0x77);
	}
	for (size_t extra = 0; extra <= 100; extra += 50) {
		memset(room, 0x77, needed + 100);
		size = needed + extra;
		WANT(CKCACHE_OK, get(ctx, &size, room));
		CHECK(size == needed && room[needed] == 0x77 && room[needed + 99] == 0x77);
	}
	free(room);
}

struct sized {
	struct ckcache_desc *desc;
	cl_program program;
	struct bytes blob;
};

static enum ckcache_status sized_id(void *ctx, size_t *size, uint8_t *place)
{
	return api->desc_get_id(((struct sized *)ctx)->desc, size, place);
}

static enum ckcache_status sized_blob(void *ctx, size_t *size, uint8_t *place)
{
	struct sized *sized = ctx;

	return api->opencl_get_blob(sized->desc, &sized->program, size, place);
}

static enum ckcache_status sized_dir(void *ctx, size_t *size, uint8_t *place)
{
	(void)ctx;
	return api->get_dir(size, (char *)place);
}

static enum ckcache_status sized_wrap(void *ctx, size_t *size, uint8_t *place)
{
	return api->device_get_blob(((struct sized *)ctx)->desc, 9, "some data", size, place);
}

static enum ckcache_status sized_data(void *ctx, size_t *size, uint8_t *place)
{
	struct sized *sized = ctx;

	return api->device_get_data(sized->desc, sized->blob.size, sized->blob.data, size, place);
}

static enum ckcache_status sized_load(void *ctx, size_t *size, uint8_t *place)
{
	return api->device_load(((struct sized *)ctx)->desc, NULL, size, place);
}

SCENARIO(sizes)
{
	const struct ckcache_library library = {
		.struct_size = sizeof(library), .name = "library", .hash = "0", .hash_size = 1,
	};
	struct sized sized = { .desc = api_desc(client, api_text, api_options) };

	sized.program = api_built(client, api_text, api_options);
	expect_sizes(sized_id, &sized, "id");
	expect_sizes(sized_blob, &sized, "blob");
	expect_sizes(sized_dir, NULL, "dir");
	CHECK(clReleaseProgram(sized.program) == CL_SUCCESS);
	api->desc_free(sized.desc);
	WANT(CKCACHE_OK, api->opencl_device_desc_new(client->devices[0], &library, &sized.desc));
	expect_sizes(sized_id, &sized, "device id");
	expect_sizes(sized_wrap, &sized, "device blob");
	sized.blob.data = malloc(1024);
	sized.blob.size = 1024;
	if (!sized.blob.data)
		client_fail("malloc", CL_OUT_OF_HOST_MEMORY);
	WANT(CKCACHE_OK, sized_wrap(&sized, &sized.blob.size, sized.blob.data));
	expect_sizes(sized_data, &sized, "device data");
	WANT(CKCACHE_OK, api->device_store(sized.desc, NULL, 9, "some data"));
	expect_sizes(sized_load, &sized, "stored device data");
	bytes_release(&sized.blob);
	api->desc_free(sized.desc);
}

/*
 * Names in a file, one a line: which of them clGetExtensionFunctionAddressForPlatform
 * gives. Argument: the file. Prints each with yes or no.
 */
SCENARIO_WITHOUT_SESSION(names)
{
	FILE *file = fopen(client->arguments[0], "r");
	char name[128];

	if (clGetPlatformIDs(1, &client->platform, NULL) || !file)
		client_fail("clGetPlatformIDs", CL_INVALID_VALUE);
	while (fgets(name, sizeof(name), file)) {
		void *function;

		name[strcspn(name, "\n")] = '\0';
		function = clGetExtensionFunctionAddressForPlatform(client->platform, name);
		printf("%s %s\n", name, function ? "yes" : "no");
	}
	(void)fclose(file);	/* only read */
}
