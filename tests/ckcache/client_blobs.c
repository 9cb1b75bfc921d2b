/* SPDX-License-Identifier: MIT */
/* client_blobs: from programs to blobs and back, and blobs that are not what they should be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ckcache/client.h"

/* The blob's grammar (layers/api/blob.h). */
#define VERSION_AT 8
#define ID_AT 16
#define HEADER_SIZE 128

static void release(cl_program program)
{
	CHECK(clReleaseProgram(program) == CL_SUCCESS);
}

/* Prints nothing: the blob of a program goes to a file. Arguments: file, options. */
void api_save(struct client *client)
{
	const char *options = client->arguments[1] ? client->arguments[1] : api_options;
	struct ckcache_desc *desc = api_desc(client, api_text, options);
	cl_program program = api_built(client, api_text, options);
	struct bytes blob = api_blob(desc, &program);

	CHECK(blob.size > HEADER_SIZE);
	api_write(client->arguments[0], &blob);
	bytes_release(&blob);
	release(program);
	api->desc_free(desc);
}

/* The program from a file's blob. Arguments: file, the status that is due, options. */
void api_load(struct client *client)
{
	const char *options = client->arguments[2] ? client->arguments[2] : api_options;
	struct ckcache_desc *desc = api_desc(client, api_text, options);
	struct bytes blob = api_read(client->arguments[0]);
	cl_program none = (cl_program)(void *)&blob, program = none;
	enum ckcache_status status = api->opencl_create_from_blob(desc, blob.size, blob.data,
								  &program);

	WANT((enum ckcache_status)atoi(client->arguments[1]), status);
	if (status == CKCACHE_OK) {
		CHECK(api_is(client, program, api_text, options, API_VALUE));
		release(program);
	} else {
		CHECK(program == none);
	}
	bytes_release(&blob);
	api->desc_free(desc);
}

static void expect_refusal(struct ckcache_desc *desc, size_t size, const uint8_t *blob,
			   enum ckcache_status wanted)
{
	cl_program program = NULL;

	WANT(wanted, api->opencl_create_from_blob(desc, size, blob, &program));
	CHECK(!program);
}

/* A small blob with each bit turned, each length shorter, some longer; and bytes that never were one. */
void api_flips(struct client *client)
{
	struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	cl_program program = api_built(client, api_text, api_options);
	struct bytes blob = api_blob(desc, &program);
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
		expect_refusal(desc, blob.size, copy,
			       version ? CKCACHE_ERROR_VERSION : CKCACHE_ERROR_DAMAGED);
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
	bytes_release(&blob);
	release(program);
	api->desc_free(desc);
}

/* The right bytes, and the driver would not have them. Argument: the status that is due. */
void api_refused(struct client *client)
{
	struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	struct bytes blob = api_read(client->arguments[0]);

	expect_refusal(desc, blob.size, blob.data, CKCACHE_ERROR_REFUSED);
	bytes_release(&blob);
	api->desc_free(desc);
}

/* Three programs in one description, in its order. */
void api_several(struct client *client)
{
	static const char *const options[] = { "-DVALUE=1", "-DVALUE=2", "-DVALUE=3" };
	struct ckcache_program parts[3];
	cl_program programs[3], back[3] = { NULL }, swapped[3];
	struct ckcache_desc *desc;
	struct bytes blob, again;

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
	WANT(CKCACHE_ERROR_INVALID_ARGUMENT,
	     api->opencl_get_blob(desc, swapped, &blob.size, NULL));
	api->desc_free(desc);
	for (size_t i = 0; i < 3; i++)
		release(programs[i]);
	bytes_release(&again);
	bytes_release(&blob);
}

/* A blob is as good the tenth time; the description may go before the program, and the context's owner too. */
void api_again(struct client *client)
{
	struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	cl_program program = api_built(client, api_text, api_options), programs[10];
	struct bytes blob = api_blob(desc, &program);

	release(program);
	for (size_t i = 0; i < 10; i++)
		WANT(CKCACHE_OK, api->opencl_create_from_blob(desc, blob.size, blob.data,
							      &programs[i]));
	api->desc_free(desc);
	memset(blob.data, 0, blob.size);
	bytes_release(&blob);
	for (size_t i = 0; i < 10; i++) {
		CHECK(api_is(client, programs[i], api_text, api_options, API_VALUE));
		release(programs[i]);
	}
}

static void expect_no_blob(struct ckcache_desc *desc, cl_program program)
{
	uint8_t room[4] = "abc";
	size_t size = 4;

	WANT(CKCACHE_ERROR_INVALID_ARGUMENT, api->opencl_get_blob(desc, &program, &size, NULL));
	WANT(CKCACHE_ERROR_INVALID_ARGUMENT, api->opencl_get_blob(desc, &program, &size, room));
	CHECK(size == 4 && !memcmp(room, "abc", 4));
	if (program)
		release(program);
}

/*
 * Programs that are not what the description says. Argument: "options" where
 * the driver tells with which ones a program was built.
 */
void api_undescribed(struct client *client)
{
	struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	cl_program program = client_program(client, api_text);

	expect_no_blob(desc, NULL);
	expect_no_blob(desc, program);
	program = client_program(client, "no kernel at all;\n#error none\n");
	CHECK(clBuildProgram(program, 1, client->devices, "", NULL, NULL) != CL_SUCCESS);
	expect_no_blob(desc, program);
	expect_no_blob(desc, api_built(client, client_source, "-DK=1"));
	program = client_program(client, api_text);
	CHECK(clCompileProgram(program, 1, client->devices, api_options, 0, NULL, NULL, NULL,
			       NULL) == CL_SUCCESS);
	expect_no_blob(desc, program);
	if (client->arguments[0])
		expect_no_blob(desc, api_built(client, api_text, "-DVALUE=8"));
	api->desc_free(desc);
}

/* A driver that has no binary to give: the blob is empty, and everything else goes on. */
void api_no_binary(struct client *client)
{
	struct ckcache_desc *desc = api_desc(client, api_text, api_options);
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
	api->desc_free(desc);
}
