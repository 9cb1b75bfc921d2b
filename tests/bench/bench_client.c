/* SPDX-License-Identifier: MIT */
/*
 * bench_client: one fresh OpenCL application that makes one program and says
 * how long the driver's calls took. Platform, device, context and the files
 * it needs are there before the clock starts; only create + build is timed.
 * It knows nothing of ckcache: the layer is loaded, or not, by its
 * environment. It takes the first device of the first platform, so the caller
 * chooses the driver with OCL_ICD_VENDORS; "two", the first two.
 *
 *   bench_client source FILE [OPTIONS]          prints nanoseconds
 *   bench_client again FILE [OPTIONS]           the same, of a second build, after one with -DFIRST
 *   bench_client binary FILE [OPTIONS]          the same, from a saved binary
 *   bench_client save FILE OUTPUT [OPTIONS]     builds and saves the binary
 *   bench_client link FILE [OPTIONS]            the same, of create + compile + link
 *   bench_client two FILE [OPTIONS]             the same as source, for two devices in one context
 *   bench_client version                        prints how many devices there are, and the driver
 *   bench_client inprocess FILE [OPTIONS]       prints "source_ns binary_ns", medians of
 *                                               later builds in a process that built it before
 */
#include "tests/bench/bench_opencl.h"

struct client {
	cl_device_id devices[2];
	cl_uint device_count; /* that are used */
	cl_uint found;        /* that the platform has */
	cl_context context;
	const char *options;
	unsigned char *bytes;
	size_t len;
};

static void open_driver(struct client *client, cl_uint wanted)
{
	cl_platform_id platform;
	cl_int error;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, wanted, client->devices, &client->found),
	      "clGetDeviceIDs");
	if (client->found < wanted)
		bench_fail("the platform has one device");
	client->device_count = wanted;
	client->context = clCreateContext(NULL, wanted, client->devices, NULL, NULL, &error);
	check(error, "clCreateContext");
}

static cl_program from_source(const struct client *client, uint64_t *ret_ns)
{
	const char *text = (const char *)client->bytes;
	uint64_t start = bench_now();
	cl_program program;
	cl_int error;

	program = clCreateProgramWithSource(client->context, 1, &text, &client->len, &error);
	check(error, "clCreateProgramWithSource");
	error = clBuildProgram(program, client->device_count, client->devices, client->options, NULL,
			       NULL);
	*ret_ns = bench_now() - start;
	check(error, "clBuildProgram");
	return program;
}

static cl_program linked(const struct client *client, uint64_t *ret_ns)
{
	const char *text = (const char *)client->bytes;
	uint64_t start = bench_now();
	cl_program object, program;
	cl_int error;

	object = clCreateProgramWithSource(client->context, 1, &text, &client->len, &error);
	check(error, "clCreateProgramWithSource");
	check(clCompileProgram(object, 1, client->devices, client->options, 0, NULL, NULL, NULL, NULL),
	      "clCompileProgram");
	program = clLinkProgram(client->context, 1, client->devices, "", 1, &object, NULL, NULL, &error);
	*ret_ns = bench_now() - start;
	check(error, "clLinkProgram");
	check(clReleaseProgram(object), "clReleaseProgram");
	return program;
}

static void print_version(const struct client *client)
{
	char version[256], name[256];

	check(clGetDeviceInfo(client->devices[0], CL_DRIVER_VERSION, sizeof(version), version, NULL),
	      "CL_DRIVER_VERSION");
	check(clGetDeviceInfo(client->devices[0], CL_DEVICE_NAME, sizeof(name), name, NULL), "CL_DEVICE_NAME");
	printf("%u %s, %s\n", client->found, version, name);
}

/* Takes turns, so that both see the same machine. */
static void run_inprocess(const struct client *client)
{
	static uint64_t source_ns[BENCH_ROUNDS], binary_ns[BENCH_ROUNDS];
	uint64_t first_ns;
	cl_program first = from_source(client, &first_ns), program;
	unsigned char *bytes;
	size_t len;

	bytes = take_binary(first, &len);
	for (size_t i = 0; i < BENCH_ROUNDS; i++) {
		program = from_source(client, &source_ns[i]);
		check(clReleaseProgram(program), "clReleaseProgram");
		program = load_binary(client->context, client->devices[0], client->options, bytes, len,
				      &binary_ns[i]);
		check(clReleaseProgram(program), "clReleaseProgram");
	}
	check_kernels(first);
	check(clReleaseProgram(first), "clReleaseProgram");
	printf("%llu %llu\n", (unsigned long long)bench_median(source_ns, BENCH_ROUNDS),
	       (unsigned long long)bench_median(binary_ns, BENCH_ROUNDS));
	free(bytes);
}

int main(int argc, char **argv)
{
	struct client client = {0};
	const char *mode = argc > 1 ? argv[1] : "";
	int first_option = strcmp(mode, "save") == 0 ? 4 : 3;
	cl_program program = NULL;
	unsigned char *bytes;
	uint64_t ns = 0;
	size_t len;

	if (argc == 2 && strcmp(mode, "version") == 0) {
		open_driver(&client, 1);
		print_version(&client);
		return 0;
	}
	if (argc < first_option || argc > first_option + 1)
		bench_fail("usage: bench_client source|again|link|two|binary|save|inprocess FILE [OUTPUT] "
			   "[OPTIONS]");
	client.options = argc > first_option ? argv[first_option] : "";
	client.bytes = bench_read_file(argv[2], &client.len);
	open_driver(&client, strcmp(mode, "two") == 0 ? 2 : 1);
	if (strcmp(mode, "inprocess") == 0) {
		run_inprocess(&client);
	} else if (strcmp(mode, "binary") == 0) {
		program = load_binary(client.context, client.devices[0], client.options, client.bytes, client.len,
				      &ns);
	} else if (strcmp(mode, "again") == 0) {
		const char *options = client.options;

		client.options = "-DFIRST";
		check(clReleaseProgram(from_source(&client, &ns)), "clReleaseProgram");
		client.options = options;
		program = from_source(&client, &ns);
	} else if (strcmp(mode, "link") == 0) {
		program = linked(&client, &ns);
	} else if (strcmp(mode, "source") == 0 || strcmp(mode, "two") == 0 || strcmp(mode, "save") == 0) {
		program = from_source(&client, &ns);
	} else {
		bench_fail("no such mode: %s", mode);
	}
	if (program != NULL) {
		check_kernels(program);
		if (strcmp(mode, "save") == 0) {
			bytes = take_binary(program, &len);
			bench_write_file(argv[3], bytes, len);
			free(bytes);
		}
		check(clReleaseProgram(program), "clReleaseProgram");
		printf("%llu\n", (unsigned long long)ns);
	}
	check(clReleaseContext(client.context), "clReleaseContext");
	free(client.bytes);
	return 0;
}
