/* SPDX-License-Identifier: MIT */
/* client_blobs: from programs to blobs and back, and blobs that are not what they should be. */
#include <semaphore.h>

#include "tests/libckcache/client.h"
#include "tests/opencl/value_il.h"

/* The blob's grammar (layers/shared/api/blob.h). */
#define VERSION_AT 8
#define ID_AT 16
#define HEADER_SIZE 128

static void release(cl_program program)
{
	CHECK(clReleaseProgram(program) == CL_SUCCESS);
}

/* Prints nothing: the blob of a program goes to a file. Arguments: file, options. */
SCENARIO(save)
{
	const char *options = client->arguments[1] ? client->arguments[1] : api_options;
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, options);
	cl_program program = api_built(client, api_text, options);
	OWNED(bytes_release) struct bytes blob = api_blob(desc, &program);

	CHECK(blob.size > HEADER_SIZE);
	api_write(client->arguments[0], &blob);
	release(program);
}

/* The program from a file's blob. Arguments: file, the status that is due, options. */
SCENARIO(load)
{
	const char *options = client->arguments[2] ? client->arguments[2] : api_options;
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, options);
	OWNED(bytes_release) struct bytes blob = api_read(client->arguments[0]);
	cl_program none = (cl_program)(void *)&blob, program = none;
	enum ckcache_status status = api->opencl_create_from_blob(desc, blob.size, blob.data, &program);

	WANT((enum ckcache_status)atoi(client->arguments[1]), status);
	if (status == CKCACHE_OK) {
		CHECK(api_is(client, program, api_text, options, API_VALUE));
		release(program);
	} else {
		CHECK(program == none);
	}
}

static void expect_refusal(struct ckcache_desc *desc, size_t size, const uint8_t *blob, enum ckcache_status wanted)
{
	cl_program program = NULL;

	WANT(wanted, api->opencl_create_from_blob(desc, size, blob, &program));
	CHECK(!program);
}

/* A small blob with each bit turned, each length shorter, some longer; and bytes that never were one. */
SCENARIO(flips)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	cl_program program = api_built(client, api_text, api_options);
	OWNED(bytes_release) struct bytes blob = api_blob(desc, &program);
	uint8_t *copy = malloc(2 * blob.size);
	uint32_t seed = 1;

	if (!copy)
		client_fail("malloc", CL_OUT_OF_HOST_MEMORY);
	memcpy(copy, blob.data, blob.size);
	memcpy(copy + blob.size, blob.data, blob.size);
	for (size_t bit = 0; bit < 8 * blob.size; bit++) {
		size_t at = bit / 8;
		bool version = at >= VERSION_AT && at < VERSION_AT + 4;

		copy[at] ^= (uint8_t)(1u << (bit % 8));
		expect_refusal(desc, blob.size, copy, version ? CKCACHE_ERROR_VERSION : CKCACHE_ERROR_DAMAGED);
		copy[at] = blob.data[at];
	}
	for (size_t size = 1; size < blob.size; size++)
		expect_refusal(desc, size, copy, CKCACHE_ERROR_DAMAGED);
	for (size_t size = blob.size + 1; size <= 2 * blob.size; size++)
		expect_refusal(desc, size, copy, CKCACHE_ERROR_DAMAGED);
	expect_refusal(desc, 0, copy, CKCACHE_ERROR_INVALID_ARGUMENT);
	for (size_t size = 1; size <= 2 * blob.size; size += 1 + size / 7) {
		for (size_t i = 0; i < size; i++)
			copy[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
		expect_refusal(desc, size, copy, CKCACHE_ERROR_DAMAGED);
	}
	free(copy);
	release(program);
}

/* The right bytes, and the driver would not have them. Argument: the status that is due. */
SCENARIO(refused)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	OWNED(bytes_release) struct bytes blob = api_read(client->arguments[0]);

	expect_refusal(desc, blob.size, blob.data, CKCACHE_ERROR_REFUSED);
}

/* Three programs in one description, in its order. */
SCENARIO(several)
{
	static const char *const options[] = { "-DVALUE=1", "-DVALUE=2", "-DVALUE=3" };
	struct ckcache_program parts[3];
	cl_program programs[3], back[3] = { NULL }, swapped[3];
	struct ckcache_desc *desc;
	OWNED(bytes_release) struct bytes blob, again;

	for (size_t i = 0; i < 3; i++) {
		parts[i] = api_program(api_text, options[i]);
		programs[i] = api_built(client, api_text, options[i]);
	}
	desc = api_desc_of(client, 3, parts);
	blob = api_blob(desc, programs);
	WANT(CKCACHE_OK, api->opencl_create_from_blob(desc, blob.size, blob.data, back));
	for (size_t i = 0; i < 3; i++)
		CHECK(api_is(client, back[i], api_text, options[i], (int)i + 1));
	/* Of programs that came from a blob there is the same blob. */
	again = api_blob(desc, back);
	CHECK(again.size > 0);
	for (size_t i = 0; i < 3; i++) {
		release(back[i]);
		back[i] = NULL;
	}
	WANT(CKCACHE_OK, api->opencl_create_from_blob(desc, again.size, again.data, back));
	for (size_t i = 0; i < 3; i++) {
		CHECK(api_is(client, back[i], api_text, options[i], (int)i + 1));
		release(back[i]);
	}
	/* Part of it is another description's. */
	api->desc_free(desc);
	desc = api_desc_of(client, 2, parts);
	expect_refusal(desc, blob.size, blob.data, CKCACHE_ERROR_FOREIGN);
	api->desc_free(desc);
	desc = api_desc_of(client, 3, parts);
	swapped[0] = programs[1];
	swapped[1] = programs[0];
	swapped[2] = NULL;
	INVALID(api->opencl_get_blob(desc, swapped, &blob.size, NULL));
	api->desc_free(desc);
	for (size_t i = 0; i < 3; i++)
		release(programs[i]);
}

/* A blob is as good the tenth time; the description may go before the program, and the context's owner too. */
SCENARIO(again)
{
	struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	cl_program program = api_built(client, api_text, api_options), programs[10];
	struct bytes blob = api_blob(desc, &program);

	release(program);
	for (size_t i = 0; i < 10; i++)
		WANT(CKCACHE_OK, api->opencl_create_from_blob(desc, blob.size, blob.data, &programs[i]));
	api->desc_free(desc);
	memset(blob.data, 0, blob.size);
	bytes_release(&blob);
	for (size_t i = 0; i < 10; i++) {
		CHECK(api_is(client, programs[i], api_text, api_options, API_VALUE));
		release(programs[i]);
	}
}

/* A program's binary for its one device. */
static struct bytes image_of(cl_program program)
{
	struct bytes image = { 0 };

	CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(image.size), &image.size, NULL) == CL_SUCCESS);
	image.data = calloc(1, image.size + 1);
	CHECK(image.data && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(image.data),
					     &image.data, NULL) == CL_SUCCESS);
	return image;
}

/* pocl unpacks a binary where a name in it says: two loads of a blob have two. */
SCENARIO(apart)
{
	static const char text[] = "/* _UNCACHED_abcdef */ kernel void value(global int *out) { }\n";
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, text, "");
	cl_program program = api_built(client, text, ""), loaded[2] = { NULL };
	struct bytes blob = api_blob(desc, &program), images[2];

	for (size_t i = 0; i < 2; i++) {
		WANT(CKCACHE_OK, api->opencl_create_from_blob(desc, blob.size, blob.data, &loaded[i]));
		images[i] = image_of(loaded[i]);
		CHECK(strstr((char *)images[i].data, "_UNCACHED_") != NULL);
	}
	CHECK(!bytes_equal(&images[0], &images[1]));
	for (size_t i = 0; i < 2; i++) {
		bytes_release(&images[i]);
		release(loaded[i]);
	}
	bytes_release(&blob);
	release(program);
}

/* Of a program for two devices, of which the description has the second one. */
SCENARIO(second_of_two)
{
	cl_device_id second = client->devices[1], first = client->devices[0];
	OWNED(api_free) struct ckcache_desc *desc;
	OWNED(bytes_release) struct bytes blob, image;
	cl_program program = client_program(client, api_text), loaded = NULL;

	CHECK(clBuildProgram(program, 2, client->devices, api_options, NULL, NULL) == CL_SUCCESS);
	client->devices[0] = second;
	desc = api_desc(client, api_text, api_options);
	client->devices[0] = first;
	blob = api_blob(desc, &program);
	WANT(CKCACHE_OK, api->opencl_create_from_blob(desc, blob.size, blob.data, &loaded));
	image = image_of(loaded);
	CHECK(strstr((char *)image.data, "for device 1") != NULL);
	release(loaded);
	release(program);
}

static void expect_no_blob(struct ckcache_desc *desc, cl_program program)
{
	uint8_t room[4] = "abc";
	size_t size = 4;

	INVALID(api->opencl_get_blob(desc, &program, &size, NULL));
	INVALID(api->opencl_get_blob(desc, &program, &size, room));
	CHECK(size == 4 && !memcmp(room, "abc", 4));
	if (program)
		release(program);
}

/* A program that took another way than clBuildProgram: compiled, linked, and one from its binary. */
static void expect_no_blob_of_others(struct client *client, struct ckcache_desc *desc)
{
	cl_int error = CL_SUCCESS;
	cl_program other, program = client_program(client, api_text);
	unsigned char *image;
	size_t size = 0;

	CHECK(clCompileProgram(program, 1, client->devices, api_options, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
	other = clLinkProgram(client->context, 1, client->devices, "", 1, &program, NULL, NULL, &error);
	if (CHECK(other && error == CL_SUCCESS))
		expect_no_blob(desc, other);
	expect_no_blob(desc, program);
	if (client->device_count != 1)
		return;
	program = api_built(client, api_text, "-DVALUE=8");
	CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) == CL_SUCCESS);
	image = malloc(size + 1);
	CHECK(image && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(image), &image, NULL) == CL_SUCCESS);
	other = clCreateProgramWithBinary(client->context, 1, client->devices, &size,
					  (const unsigned char **)&image, NULL, &error);
	CHECK(error == CL_SUCCESS && clBuildProgram(other, 1, client->devices, api_options, NULL, NULL) == CL_SUCCESS);
	expect_no_blob(desc, other);
	release(program);
	free(image);
}

static void expect_blob(struct ckcache_desc *desc, cl_program program)
{
	OWNED(bytes_release) struct bytes blob = api_blob(desc, &program);

	CHECK(blob.size > 0);
}

/* What the last build that the driver took says, also where it called back or refused another one. */
static void expect_the_last_build(struct client *client, struct ckcache_desc *desc)
{
	cl_program program = api_built(client, api_text, "-DVALUE=8");
	cl_kernel kernel;

	CHECK(clBuildProgram(program, 1, client->devices, api_options, NULL, NULL) == CL_SUCCESS);
	expect_blob(desc, program);
	kernel = client_kernel(program, "value");
	if (clBuildProgram(program, 1, client->devices, "-DVALUE=8", NULL, NULL) == CL_INVALID_OPERATION)
		expect_blob(desc, program);
	CHECK(clReleaseKernel(kernel) == CL_SUCCESS);
	CHECK(clBuildProgram(program, 1, client->devices, "-DVALUE=8", NULL, NULL) == CL_SUCCESS);
	expect_no_blob(desc, program);
}

static void CL_CALLBACK called_back(cl_program program, void *user_data)
{
	(void)program;
	CHECK(sem_post(user_data) == 0);
}

static cl_program build_and_wait(struct client *client, cl_program program, const char *options)
{
	sem_t done;

	CHECK(sem_init(&done, 0, 0) == 0);
	CHECK(clBuildProgram(program, 1, client->devices, options, called_back, &done) == CL_SUCCESS);
	while (sem_wait(&done) != 0)
		continue;
	(void)sem_destroy(&done);	/* nobody waits */
	return program;
}

/* For two devices by two sets of options: the first one's are not the last ones. */
static void expect_each_devices_options(struct client *client, struct ckcache_desc *desc)
{
	cl_program program = client_program(client, api_text);

	CHECK(clBuildProgram(program, 1, client->devices, "-DVALUE=8", NULL, NULL) == CL_SUCCESS);
	CHECK(clBuildProgram(program, 1, client->devices + 1, api_options, NULL, NULL) == CL_SUCCESS);
	expect_no_blob(desc, program);
}

/* Programs that are not what the description says. Argument: "stub" where any option will do. */
SCENARIO(undescribed)
{
	static const char other_text[] =
		"kernel void value(global int *out) { out[get_global_id(1)] = VALUE; }\n";
	static const char either[] = "#ifndef VALUE\n#define VALUE 8\n#endif\n"
		"kernel void value(global int *out) { out[get_global_id(0)] = VALUE; }\n";
	static const char *const described[] = { "", "-DVALUE=8 -DOTHER", NULL };
	struct ckcache_desc *desc = api_desc(client, api_text, api_options), *other;
	cl_program program = client_program(client, api_text);

	expect_no_blob(desc, NULL);
	expect_no_blob(desc, program);
	program = client_program(client, "no kernel at all;\n#error none\n");
	CHECK(clBuildProgram(program, 1, client->devices, "", NULL, NULL) != CL_SUCCESS);
	expect_no_blob(desc, program);
	expect_no_blob(desc, api_built(client, client_source, "-DK=1"));
	expect_no_blob(desc, api_built(client, other_text, api_options));
	expect_no_blob(desc, api_built(client, api_text, "-DVALUE=8"));
	expect_no_blob(desc, api_built(client, api_text, "-DVALUE=7 -DOTHER"));
	expect_no_blob(desc, build_and_wait(client, client_program(client, api_text), "-DVALUE=8"));
	program = build_and_wait(client, client_program(client, api_text), api_options);
	expect_blob(desc, program);
	/* Past the cache, since that knows no such option. */
	if (client->arguments[0])
		(void)build_and_wait(client, program, "-DVALUE=8 -unknown");	/* the same */
	if (client->arguments[0])
		expect_no_blob(desc, program);
	else
		release(program);
	expect_no_blob_of_others(client, desc);
	expect_the_last_build(client, desc);
	if (client->device_count > 1)
		expect_each_devices_options(client, desc);
	api->desc_free(desc);
	/* Built without any. */
	other = api_desc(client, either, api_options);
	expect_no_blob(other, api_built(client, either, NULL));
	expect_no_blob(other, api_built(client, either, ""));
	api->desc_free(other);
	for (const char *const *options = described; *options; options++) {
		other = api_desc(client, either, **options ? *options : NULL);
		expect_no_blob(other, api_built(client, either, api_options));
		program = api_built(client, either, *options);
		expect_blob(other, program);
		release(program);
		api->desc_free(other);
	}
}

/*
 * IL, whose constants no driver tells: of what the description built itself there is a blob, and
 * with the argument "layer" of what the layer saw; constants that came after the build are not in it.
 */
SCENARIO(constants)
{
	const uint32_t value = API_VALUE, other = API_VALUE + 1;
	const struct ckcache_constant constant = { 7, 4, &value };
	const struct ckcache_program parts = {
		.struct_size = sizeof(parts),
		.language = CKCACHE_LANGUAGE_SPIRV,
		.source = value_il,
		.source_size = sizeof(value_il),
		.constant_count = 1,
		.constants = &constant,
	};
	OWNED(api_free) struct ckcache_desc *desc = api_desc_of(client, 1, &parts);
	cl_int error = CL_SUCCESS;
	cl_program program = clCreateProgramWithIL(client->context, value_il, sizeof(value_il), &error);
	size_t size = 0;

	CHECK(error == CL_SUCCESS);
	CHECK(clBuildProgram(program, 1, client->devices, NULL, NULL, NULL) == CL_SUCCESS);
	INVALID(api->opencl_get_blob(desc, &program, &size, NULL));
	CHECK(clSetProgramSpecializationConstant(program, 7, sizeof(other), &other) == CL_SUCCESS);
	CHECK(clBuildProgram(program, 1, client->devices, NULL, NULL, NULL) == CL_SUCCESS);
	INVALID(api->opencl_get_blob(desc, &program, &size, NULL));
	CHECK(clSetProgramSpecializationConstant(program, 7, sizeof(value), &value) == CL_SUCCESS);
	INVALID(api->opencl_get_blob(desc, &program, &size, NULL));
	CHECK(clBuildProgram(program, 1, client->devices, NULL, NULL, NULL) == CL_SUCCESS);
	if (client->arguments[0])
		expect_blob(desc, program);
	else
		INVALID(api->opencl_get_blob(desc, &program, &size, NULL));
	release(program);
	for (int i = 0; i < 2; i++) {
		WANT(CKCACHE_OK, api->opencl_build(desc, NULL, &program, NULL));
		expect_blob(desc, program);
		release(program);
	}
}

/* A driver that has no binary to give: the blob is empty, and everything else goes on. */
SCENARIO(no_binary)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	cl_program program = api_built(client, api_text, api_options);
	struct bytes blob = api_blob(desc, &program);
	uint8_t byte = 0;
	size_t size = 1;

	CHECK(blob.size == 0);
	WANT(CKCACHE_OK, api->opencl_get_blob(desc, &program, &size, &byte));
	CHECK(size == 0);
	bytes_release(&blob);
	release(program);
	WANT(CKCACHE_OK, api->opencl_build(desc, NULL, &program, NULL));
	CHECK(api_is(client, program, api_text, api_options, API_VALUE));
	release(program);
}
