/* SPDX-License-Identifier: MIT */
/* client_builds: scenarios about building that are no scripts: they count, or do what else a program does. */
#include <malloc.h>
#include <sys/mman.h>

#include "tests/opencl/client.h"
#include "tests/opencl/value_il.h"

static void print_value(struct client *client, cl_program program)
{
	cl_kernel kernel = client_kernel(program, "value");

	printf("value %lld\n", (long long)client_value(client, kernel));
	printf("release kernel %d\n", clReleaseKernel(kernel));
}

/* Each argument in turn: NAME=VALUE sets a variable, -NAME unsets it, another word is a scenario. */
SCENARIO(variables)
{
	for (char **argument = client->arguments; *argument; argument++) {
		char *value = strchr(*argument, '=');

		if (value)
			*value++ = '\0';
		if (value ? setenv(*argument, value, 1) : **argument == '-' && unsetenv(*argument + 1))
			client_fail(*argument, 0);
		if (!value && **argument != '-')
			client_run(client, *argument);
	}
}

/*
 * Builds a file's text with options and prints what its kernel "value" gives, and the log:
 * header FILE OPTIONS.
 */
SCENARIO(header)
{
	char source[16384];
	FILE *file = fopen(client->arguments[0], "r");
	size_t len = file ? fread(source, 1, sizeof(source) - 1, file) : 0;
	cl_program program;
	cl_kernel kernel;
	cl_int error;

	if (!file || fclose(file) || !len)
		client_fail(client->arguments[0], 0);
	source[len] = '\0';
	program = client_program(client, source);
	error = client_build(program, client->arguments[1]);
	if (error) {
		printf("build %d\n", error);
		client_print_build(client, program);
		(void)clReleaseProgram(program);	/* the scenario is about the build */
		return;
	}
	kernel = client_kernel(program, "value");
	printf("value %lld\n", (long long)client_value(client, kernel));
	client_print_build(client, program);
	printf("release %d %d\n", clReleaseKernel(kernel), clReleaseProgram(program));
}

/* A header that changes between builds through a mapping, and whose mtime is long ago. */
SCENARIO(mapped)
{
	static const char text[] = "#define VALUE 1\n";
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	int fd = open("mapped.h", O_RDWR | O_CREAT | O_TRUNC, 0644);
	char *mapped = MAP_FAILED;

	if (fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1)
		mapped = mmap(NULL, sizeof(text) - 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		client_fail("mapped.h", errno);
	printf("old %d\n", futimens(fd, old));
	for (int i = 0; i < 3; i++) {
		cl_program program = client_program(client, "#include \"mapped.h\"\n"
			"kernel void value(global int *out) { out[0] = VALUE; }\n");
		cl_kernel kernel;

		mapped[14] = (char)('1' + i);
		printf("build %d\n", client_build(program, "-I."));
		kernel = client_kernel(program, "value");
		printf("value %lld\n", (long long)client_value(client, kernel));
		printf("release %d %d\n", clReleaseKernel(kernel), clReleaseProgram(program));
	}
	printf("end %d %d\n", munmap(mapped, sizeof(text) - 1), close(fd));
}

/* unknown-kernels COUNT: so many kernels that the program does not have, then three times one that it has. */
SCENARIO(unknown_kernels)
{
	cl_program program = client_program(client, client_source);
	int count = atoi(client->arguments[0]), refused = 0;
	size_t used;

	printf("build %d\n", client_build(program, "-DK=5"));
	used = mallinfo2().uordblks;
	for (int i = 0; i < count; i++) {
		char name[32];
		cl_int error;

		(void)snprintf(name, sizeof(name), "none_%d", i);
		(void)clCreateKernel(program, name, &error);
		refused += error == CL_INVALID_KERNEL_NAME;
	}
	/* Less than their names have. */
	printf("refused %d kept %d\n", refused,
	       mallinfo2().uordblks > used + (size_t)count * sizeof("none_1234"));
	for (int i = 0; i < 3; i++) {
		cl_kernel kernel = client_kernel(program, "scale");

		client_print_scaled(client, kernel, 2);
		printf("release %d\n", clReleaseKernel(kernel));
	}
	printf("release %d\n", clReleaseProgram(program));
}

/*
 * A module of SPIR-V, made by the call of OpenCL 2.1 or ("address") by the
 * extension's; then its constant is set to each further argument in turn, or
 * ("ID:SIZE:VALUE") another one.
 */
SCENARIO(il)
{
	typedef cl_program(CL_API_CALL * create_fn)(cl_context, const void *, size_t, cl_int *);
	create_fn create = clCreateProgramWithIL;
	client_set_constant set = clSetProgramSpecializationConstant;
	cl_program program;
	cl_int error;

	if (!strcmp(client->arguments[0], "address")) {
		create = (create_fn)clGetExtensionFunctionAddressForPlatform(
			client->platform, "clCreateProgramWithILKHR");
		set = (client_set_constant)clGetExtensionFunctionAddressForPlatform(
			client->platform, "clSetProgramSpecializationConstant");
	}
	if (!create) {
		printf("no such function\n");
		return;
	}
	program = create(client->context, value_il, sizeof(value_il), &error);
	printf("create %d\n", error);
	if (error)
		return;
	for (char **at = client->arguments + 1; *at; at++) {
		if (set)
			client_print_constant(program, *at, set);
		else
			printf("no such function\n");
	}
	printf("build %d\n", client_build(program, NULL));
	client_print_build(client, program);
	client_print_program(client, program);
	print_value(client, program);
	printf("release %d\n", clReleaseProgram(program));
}

/* What the first device takes beside sources; nothing: no intermediate language. */
SCENARIO(il_version)
{
	char version[256] = "";

	if (clGetDeviceInfo(client->devices[0], CL_DEVICE_IL_VERSION, sizeof(version), version, NULL))
		version[0] = '\0';	/* older than the question */
	printf("il \"%s\"\n", version);
}

/* Large modules with a constant each, made and given back: what they leave behind. */
SCENARIO(il_again)
{
	enum { SIZE = 1 << 20, TIMES = 64 };
	char *il = calloc(1, SIZE);
	const int constant = 5;
	size_t before = 0, after;

	if (!il)
		client_fail("calloc", CL_OUT_OF_HOST_MEMORY);
	for (int i = 0; i < TIMES; i++) {
		cl_program program = clCreateProgramWithIL(client->context, il, SIZE, NULL);

		if (clSetProgramSpecializationConstant(program, 7, sizeof(constant), &constant) ||
		    clReleaseProgram(program))
			client_fail("constant", CL_INVALID_VALUE);
		if (i == 0)
			before = mallinfo2().uordblks + mallinfo2().hblkhd;
	}
	after = mallinfo2().uordblks + mallinfo2().hblkhd;
	printf("grew %d\n", after > before + SIZE * (TIMES / 2));
	free(il);
}

/* Strings with and without a length; the argument stands in one without. */
SCENARIO(strings)
{
	const char *strings[] = { "kernel void value(global int *out) { out[0] = ",
				  client->arguments[0], "; }\nthis is not read" };
	const size_t lengths[] = { strlen(strings[0]), 0, 4 };
	cl_int error;
	cl_program program = clCreateProgramWithSource(client->context, 3, strings, lengths, &error);

	printf("create %d\n", error);
	printf("build %d\n", client_build(program, ""));
	print_value(client, program);
	printf("release %d\n", clReleaseProgram(program));
}

/*
 * Builds for parts of the first device: "whole" (itself), "equally" (parts of one unit; the first), "counts"
 * (a part of one unit), "two" (two parts in one context).
 */
SCENARIO(part)
{
	const cl_device_partition_property equally[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
	const cl_device_partition_property counts[] = { CL_DEVICE_PARTITION_BY_COUNTS, 1,
							CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0 };
	const char *way = client->arguments[0];
	cl_uint wanted = strcmp(way, "two") == 0 ? 2 : 1, count = 0;
	cl_device_id parts[64];
	cl_int error = CL_SUCCESS;

	if (strcmp(way, "whole") != 0)
		error = clCreateSubDevices(client->devices[0], strcmp(way, "counts") == 0 ? counts : equally,
					   64, parts, &count);
	printf("parts %d\n", error || (count && count < wanted));
	if (error || (count && count < wanted))
		return;
	if (count) {
		memcpy(client->devices, parts, wanted * sizeof(*parts));
		client->device_count = wanted;
		client->context = clCreateContext(NULL, wanted, parts, NULL, NULL, &error);
		client->queue = error ? NULL : clCreateCommandQueue(client->context, parts[0], 0, &error);
		if (error)
			client_fail("context of parts", error);
	}
	client->arguments++;
	client_run(client, "vector");
}

/* released COUNT: so many programs of a long text, compiled or built; whether they are left behind. */
SCENARIO(released)
{
	static const char kernel[] = "kernel void value(global int *out) { out[0] = 5; }\n";
	static char source[32768];
	int count = atoi(client->arguments[0]), good = 0;
	size_t used = 0;

	memset(source, ' ', sizeof(source) - 1);
	memcpy(source, kernel, sizeof(kernel) - 1);
	for (int i = -2; i < count; i++) {
		cl_program program = client_program(client, source);

		if (i == 0)
			used = mallinfo2().uordblks;
		good += !(i % 2 ? client_build(program, "-DO=1") :
				  client_compile(program, "-DO=1"));
		good += !clReleaseProgram(program);
	}
	printf("good %d kept %d\n", good,
	       mallinfo2().uordblks > used + (size_t)count * sizeof(source) / 4);
}
