/* SPDX-License-Identifier: MIT */
/* client_support: programs, descriptions and bytes, as all scenarios need them. */
#include "tests/libckcache/client.h"

const char api_text[] = "kernel void value(global int *out) { out[get_global_id(0)] = VALUE; }\n";
const char api_options[] = "-DVALUE=7";

struct ckcache_program api_program(const char *text, const char *options)
{
	return (struct ckcache_program){
		.struct_size = sizeof(struct ckcache_program),
		.language = CKCACHE_LANGUAGE_OPENCL_C,
		.source = text,
		.source_size = strlen(text),
		.options = options,
	};
}

struct ckcache_desc *api_desc_of(struct client *client, size_t count,
				 const struct ckcache_program *programs)
{
	struct ckcache_desc *desc = NULL;
	enum ckcache_status status = api->opencl_desc_new(client->context, client->devices[0],
							  count, programs, &desc);

	if (status != CKCACHE_OK)
		client_fail("ckcache_opencl_desc_new", (cl_int)status);
	return desc;
}

struct ckcache_desc *api_desc(struct client *client, const char *text, const char *options)
{
	const struct ckcache_program program = api_program(text, options);

	return api_desc_of(client, 1, &program);
}

cl_program api_built(struct client *client, const char *text, const char *options)
{
	cl_program program = client_program(client, text);
	cl_int error = clBuildProgram(program, 1, client->devices, options, NULL, NULL);

	if (error)
		client_fail("clBuildProgram", error);
	return program;
}

bool api_is(struct client *client, cl_program program, const char *text, const char *options,
	    int value)
{
	cl_int error = CL_SUCCESS;
	cl_kernel kernel = clCreateKernel(program, "value", &error);
	char version[64] = "";
	bool good = true;

	if (!kernel || error)
		return false;
	(void)clGetDeviceInfo(client->devices[0], CL_DEVICE_VERSION, sizeof(version), version,
			      NULL);	/* what has none is no stub */
	if (client->executes)
		good = client_value(client, kernel) == value;
	else if (strstr(version, "stub"))
		good = client_private_size(client, kernel) == client_digest(text, options);
	(void)clReleaseKernel(kernel);	/* it was made here */
	return good;
}

enum ckcache_origin api_build(struct client *client, struct ckcache_desc *desc,
			      const struct ckcache_storage *storage, const char *text,
			      const char *options, int value)
{
	enum ckcache_origin origin = (enum ckcache_origin)77;
	OWNED(api_release) cl_program program = NULL;

	if (WANT(CKCACHE_OK, api->opencl_build(desc, storage, &program, &origin)))
		CHECK(!text || api_is(client, program, text, options, value));
	return origin;
}

void api_free(struct ckcache_desc **desc)
{
	api->desc_free(*desc);
}

void api_release(cl_program *program)
{
	if (*program)
		CHECK(clReleaseProgram(*program) == CL_SUCCESS);
}

void bytes_release(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){ 0 };
}

bool bytes_equal(const struct bytes *a, const struct bytes *b)
{
	return a->size == b->size && (!a->size || memcmp(a->data, b->data, a->size) == 0);
}

static uint8_t *room_for(size_t size)
{
	uint8_t *room = malloc(size ? size : 1);

	if (!room)
		client_fail("malloc", CL_OUT_OF_HOST_MEMORY);
	return room;
}

struct bytes api_id(struct ckcache_desc *desc)
{
	struct bytes id = { 0 };
	enum ckcache_status status = api->desc_get_id(desc, &id.size, NULL);

	id.data = room_for(id.size);
	if (status == CKCACHE_OK)
		status = api->desc_get_id(desc, &id.size, id.data);
	if (status != CKCACHE_OK)
		client_fail("ckcache_desc_get_id", (cl_int)status);
	return id;
}

struct bytes api_blob(struct ckcache_desc *desc, const cl_program *programs)
{
	struct bytes blob = { 0 };
	enum ckcache_status status = api->opencl_get_blob(desc, programs, &blob.size, NULL);

	blob.data = room_for(blob.size);
	if (status == CKCACHE_OK)
		status = api->opencl_get_blob(desc, programs, &blob.size, blob.data);
	if (status != CKCACHE_OK)
		client_fail("ckcache_opencl_get_blob", (cl_int)status);
	return blob;
}

struct bytes api_read(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct bytes bytes = { .data = room_for(1 << 24) };

	if (!file)
		client_fail(path, CL_INVALID_VALUE);
	bytes.size = fread(bytes.data, 1, 1 << 24, file);
	(void)fclose(file);	/* only read */
	return bytes;
}

void api_write(const char *path, const struct bytes *bytes)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(bytes->data, 1, bytes->size, file) != bytes->size || fclose(file))
		client_fail(path, CL_INVALID_VALUE);
}

void api_write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		client_fail(path, CL_INVALID_VALUE);
}

void api_print(const struct bytes *bytes)
{
	for (size_t i = 0; i < bytes->size; i++)
		printf("%02x", bytes->data[i]);
	printf("\n");
}
