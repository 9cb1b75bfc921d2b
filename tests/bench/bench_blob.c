/* SPDX-License-Identifier: MIT */
/*
 * bench_blob: what a program from a blob takes (ckcache_opencl_create_from_blob)
 * against the driver's own load of the same binary. Platform, device, context
 * and files are ready before the clock starts.
 *
 *   bench_blob save FILE BINARY BLOB [OPTIONS]  builds, and saves both
 *   bench_blob binary BINARY [OPTIONS]          prints nanoseconds of create + build
 *   bench_blob blob FILE BLOB [OPTIONS]         prints "load_ns description_ns"
 *   bench_blob inprocess FILE BINARY BLOB [OPTIONS]
 *                                               prints "blob_ns binary_ns", medians in turns
 */
#include "layers/shared/api/ckcache.h"
#include "tests/bench/bench_opencl.h"

struct client {
	cl_device_id device;
	cl_context context;
	const char *options;
};

struct file {
	unsigned char *bytes;
	size_t len;
};

static void check_status(enum ckcache_status status, const char *what)
{
	if (status != CKCACHE_OK)
		bench_fail("%s: %s", what, ckcache_status_string(status));
}

static void open_driver(struct client *client)
{
	cl_platform_id platform;
	cl_int error;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &client->device, NULL),
	      "clGetDeviceIDs");
	client->context = clCreateContext(NULL, 1, &client->device, NULL, NULL, &error);
	check(error, "clCreateContext");
}

static struct file read_file(const char *path)
{
	struct file file;

	file.bytes = bench_read_file(path, &file.len);
	return file;
}

static struct ckcache_desc *describe(const struct client *client, const char *path)
{
	struct file source = read_file(path);
	const struct ckcache_program program = {
		.struct_size = sizeof(program),
		.language = CKCACHE_LANGUAGE_OPENCL_C,
		.source = source.bytes,
		.source_size = source.len,
		.options = client->options,
	};
	struct ckcache_desc *desc;

	check_status(ckcache_opencl_desc_new(client->context, client->device, 1, &program, &desc),
		     "ckcache_opencl_desc_new");
	free(source.bytes);
	return desc;
}

static void end_program(cl_program program)
{
	check_kernels(program);
	check(clReleaseProgram(program), "clReleaseProgram");
}

static uint64_t time_binary(const struct client *client, const struct file *binary)
{
	uint64_t ns;

	end_program(load_binary(client->context, client->device, client->options, binary->bytes, binary->len, &ns));
	return ns;
}

static uint64_t load_blob(struct ckcache_desc *desc, const struct file *blob)
{
	uint64_t start = bench_now(), ns;
	cl_program program;

	check_status(ckcache_opencl_create_from_blob(desc, blob->len, blob->bytes, &program),
		     "ckcache_opencl_create_from_blob");
	ns = bench_now() - start;
	end_program(program);
	return ns;
}

static void save(const struct client *client, char **paths)
{
	struct ckcache_desc *desc = describe(client, paths[0]);
	cl_program program;
	uint8_t *blob, *binary;
	size_t size;

	check_status(ckcache_opencl_build(desc, NULL, &program, NULL), "ckcache_opencl_build");
	binary = take_binary(program, &size);
	bench_write_file(paths[1], binary, size);
	free(binary);
	check_status(ckcache_opencl_get_blob(desc, &program, &size, NULL),
		     "ckcache_opencl_get_blob");
	blob = malloc(size);
	if (blob == NULL || size == 0)
		bench_fail("cannot take the blob");
	check_status(ckcache_opencl_get_blob(desc, &program, &size, blob),
		     "ckcache_opencl_get_blob");
	bench_write_file(paths[2], blob, size);
	free(blob);
	end_program(program);
	ckcache_desc_free(desc);
}

static void run_blob(const struct client *client, char **paths)
{
	struct file blob = read_file(paths[1]);
	uint64_t start = bench_now(), described;
	struct ckcache_desc *desc = describe(client, paths[0]);

	described = bench_now() - start;
	printf("%llu %llu\n", (unsigned long long)load_blob(desc, &blob),
	       (unsigned long long)described);
	ckcache_desc_free(desc);
	free(blob.bytes);
}

/* Takes turns, so that both see the same machine, and each comes first in half of them. */
static void run_inprocess(const struct client *client, char **paths)
{
	static uint64_t blob_ns[BENCH_ROUNDS], binary_ns[BENCH_ROUNDS];
	struct file binary = read_file(paths[1]), blob = read_file(paths[2]);
	struct ckcache_desc *desc = describe(client, paths[0]);

	(void)time_binary(client, &binary);	/* what only the first one pays */
	for (size_t i = 0; i < BENCH_ROUNDS; i++) {
		if (i % 2)
			binary_ns[i] = time_binary(client, &binary);
		blob_ns[i] = load_blob(desc, &blob);
		if (i % 2 == 0)
			binary_ns[i] = time_binary(client, &binary);
	}
	printf("%llu %llu\n", (unsigned long long)bench_median(blob_ns, BENCH_ROUNDS),
	       (unsigned long long)bench_median(binary_ns, BENCH_ROUNDS));
	ckcache_desc_free(desc);
	free(binary.bytes);
	free(blob.bytes);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int files;
	} modes[] = { { "save", 3 }, { "binary", 1 }, { "blob", 2 }, { "inprocess", 3 } };
	struct client client = { 0 };
	size_t mode = 0;
	struct file binary;

	while (mode < 4 && (argc < 2 || strcmp(argv[1], modes[mode].name) != 0))
		mode++;
	if (mode == 4 || argc < modes[mode].files + 2 || argc > modes[mode].files + 3)
		bench_fail("usage: bench_blob save|binary|blob|inprocess FILE... [OPTIONS]");
	client.options = argc > modes[mode].files + 2 ? argv[modes[mode].files + 2] : "";
	open_driver(&client);
	if (mode == 0) {
		save(&client, argv + 2);
	} else if (mode == 1) {
		binary = read_file(argv[2]);
		printf("%llu\n", (unsigned long long)time_binary(&client, &binary));
		free(binary.bytes);
	} else if (mode == 2) {
		run_blob(&client, argv + 2);
	} else {
		run_inprocess(&client, argv + 2);
	}
	check(clReleaseContext(client.context), "clReleaseContext");
	return 0;
}
