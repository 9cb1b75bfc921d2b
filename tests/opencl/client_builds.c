/* SPDX-License-Identifier: MIT */
/* client_builds: scenarios about building and what comes of it. */
#include "tests/opencl/client.h"

/* One program with three kernels. argument: -DK=n, by default 5. */
SCENARIO(vector)
{
	const char *options = client->arguments[0] ? client->arguments[0] : "-DK=5";
	cl_program program = client_program(client, client_source);

	printf("build %d\n", client_build(program, options));
	client_end_scaled(client, program, 3);
}

/* One after the other, as most applications build their programs. */
SCENARIO(several)
{
	int count = client->arguments[0] ? atoi(client->arguments[0]) : 8;

	for (int i = 0; i < count; i++) {
		cl_program program = client_program(client, client_source);
		char options[32];

		(void)snprintf(options, sizeof(options), "-DK=%d", i);
		printf("build %d\n", client_build(program, options));
		printf("release %d\n", clReleaseProgram(program));
	}
}

/* "linked": compiled and linked, not built. */
SCENARIO(queries)
{
	cl_program program = client_program(client, client_source), object = program;
	cl_kernel kernels[8] = { NULL };
	cl_uint count = 0;
	cl_int error;

	if (client->arguments[0]) {
		printf("compile %d\n", client_compile(object, "-DK=3 -cl-kernel-arg-info"));
		program = client_print_linked(client, NULL, 1, &object, &error);
		printf("release %d\n", clReleaseProgram(object));
	} else {
		printf("build %d\n", client_build(program, "-DK=3 -cl-kernel-arg-info"));
	}
	if (!program)
		return;
	client_print_program(client, program);
	client_print_build(client, program);
	printf("create all %d\n", clCreateKernelsInProgram(program, 8, kernels, &count));
	for (cl_uint i = 0; i < count; i++)
		client_print_kernel(client, kernels[i], program);
	printf("references with kernels %u\n", client_references(program));
	for (cl_uint i = 0; i < count; i++)
		printf("release %d\n", clReleaseKernel(kernels[i]));
	printf("references %u\n", client_references(program));
	printf("release %d\n", clReleaseProgram(program));
}

SCENARIO(failing)
{
	static const char source[] = "#error not today\nkernel void none(global int *out) { }\n";
	cl_program program = client_program(client, source);
	cl_int error = CL_SUCCESS;
	cl_kernel kernel;

	client_print_built(client, program, "-DK=1");
	kernel = clCreateKernel(program, "none", &error);
	printf("kernel %d %d\n", kernel != NULL, error);
	printf("build again %d\n", client_build(program, "-DK=2"));
	printf("references %u\n", client_references(program));
	printf("release %d\n", clReleaseProgram(program));
}

/* A kernel runs only after the last build: rusticl's queue holds one for a while after it ran. */
SCENARIO(rebuild)
{
	static const char *const options[] = { "-DK=10", "-DK=20", "-DK=10", "-DK=30 -DL" };
	cl_program program = client_program(client, client_source);
	cl_kernel last;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		cl_kernel kernel;

		client_print_built(client, program, options[i]);
		kernel = client_kernel(program, "scale");
		client_print_kernel(client, kernel, program);
		printf("release %d\n", clReleaseKernel(kernel));
	}
	printf("references %u\n", client_references(program));
	last = client_kernel(program, "scale");
	client_print_scaled(client, last, 2);
	printf("release %d\n", clReleaseKernel(last));
	printf("release %d\n", clReleaseProgram(program));
}

SCENARIO(live_kernels)
{
	cl_program program = client_program(client, client_source);
	cl_kernel kernel, clone;
	cl_int error = CL_SUCCESS;

	printf("build %d\n", client_build(program, "-DK=7"));
	kernel = client_kernel(program, "scale");
	printf("build with a kernel %d\n", client_build(program, "-DK=8"));
	client_print_build(client, program);
	client_print_kernel(client, kernel, program);
	printf("retain %d\n", clRetainKernel(kernel));
	printf("release %d\n", clReleaseKernel(kernel));
	printf("build with a kernel %d\n", client_build(program, "-DK=7"));
	if (client->arguments[0]) {	/* a driver with clCloneKernel */
		clone = clCloneKernel(kernel, &error);
		printf("clone %d\n", error);
		client_print_kernel(client, clone, program);
		printf("release the first %d\n", clReleaseKernel(kernel));
		printf("build with the clone %d\n", client_build(program, "-DK=7"));
		kernel = clone;
	}
	printf("release %d\n", clReleaseKernel(kernel));
	printf("build without %d\n", client_build(program, "-DK=9"));
	client_end_scaled(client, program, 2);
}

/* Two programs of one source with options that differ, alive at the same time, then a third like the first. */
SCENARIO(two_options)
{
	static const char *const options[] = { "-DK=100", "-DK=200", "-DK=100" };
	cl_program programs[3];
	cl_kernel kernels[3];

	for (int i = 0; i < 3; i++) {
		programs[i] = client_program(client, client_source);
		printf("build %d\n", client_build(programs[i], options[i]));
		kernels[i] = client_kernel(programs[i], "scale");
	}
	for (int i = 0; i < 3; i++)
		client_print_scaled(client, kernels[i], 2);
	for (int i = 0; i < 3; i++) {
		client_print_build(client, programs[i]);
		printf("release %d %d\n", clReleaseKernel(kernels[i]),
		       clReleaseProgram(programs[i]));
	}
}

static void build_once(struct client *client)
{
	cl_program program = client_program(client, client_source);

	client_print_built(client, program, "-DK=5");
	printf("release %d\n", clReleaseProgram(program));
}

/* One object, at the first call, and a link of it at the second. */
static void compile_then_link(struct client *client)
{
	static cl_program object;
	cl_int error = CL_SUCCESS;
	cl_program linked;

	if (!object) {
		object = client_program(client, client_source);
		printf("compile %d\n", clCompileProgram(object, 0, NULL, "-DK=5", 0, NULL, NULL, NULL, NULL));
		return;
	}
	linked = client_print_linked(client, "", 1, &object, &error);
	if (linked)
		printf("release %d\n", clReleaseProgram(linked));
}

/* A binary, at the first call, and a program of it at the second. One device. */
static void read_then_load(struct client *client)
{
	static unsigned char *image;
	static size_t size;
	cl_program program;
	cl_int error = CL_SUCCESS, status = CL_SUCCESS;

	if (image) {
		program = clCreateProgramWithBinary(client->context, 1, client->devices, &size,
						    (const unsigned char **)&image, &status, &error);
		printf("load %d %d %d\n", error, status, client_build(program, "-DK=5"));
	} else {
		program = client_program(client, client_source);
		printf("build %d\n", client_build(program, "-DK=5"));
		(void)clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
		image = malloc(size);
		printf("read %d\n", clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(image),
						    &image, NULL));
	}
	printf("release %d\n", clReleaseProgram(program));
}

/* Each argument in turn: NAME=VALUE sets a variable, -NAME unsets it, another word builds in some way. */
SCENARIO(variables)
{
	for (char **argument = client->arguments; *argument; argument++) {
		char *value = strchr(*argument, '=');

		if (value)
			*value++ = '\0';
		if (value ? setenv(*argument, value, 1) :
			    **argument == '-' && unsetenv(*argument + 1))
			client_fail(*argument, 0);
		if (strcmp(*argument, "build") == 0)
			build_once(client);
		else if (strcmp(*argument, "link") == 0)
			client_run(client, "link");
		else if (strcmp(*argument, "object") == 0)
			compile_then_link(client);
		else if (strcmp(*argument, "callback") == 0)
			client_run(client, "callback");
		else if (strcmp(*argument, "image") == 0)
			read_then_load(client);
	}
}

/* As an application with a cache of its own does: binary out, program from the binary. */
SCENARIO(binary)
{
	cl_program program = client_program(client, client_source), second;
	size_t sizes[CLIENT_MAX_DEVICES] = { 0 };
	unsigned char *binaries[CLIENT_MAX_DEVICES] = { NULL };
	cl_int status = 0, error = CL_SUCCESS;
	cl_kernel kernel;

	printf("build %d\n", client_build(program, "-DK=5"));
	printf("sizes %d\n", clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes),
					      sizes, NULL));
	for (cl_uint i = 0; i < client->device_count; i++) {
		binaries[i] = malloc(sizes[i] ? sizes[i] : 1);
		if (!binaries[i])
			client_fail("malloc", 0);
	}
	printf("binaries %d\n", clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binaries),
						 binaries, NULL));
	second = clCreateProgramWithBinary(client->context, 1, client->devices, sizes,
					   (const unsigned char **)binaries, &status, &error);
	printf("from binary %d %d\n", status, error);
	printf("build %d\n", clBuildProgram(second, 1, client->devices, "", NULL, NULL));
	kernel = client_kernel(second, "scale");
	client_print_scaled(client, kernel, 6);
	printf("release %d %d %d\n", clReleaseKernel(kernel), clReleaseProgram(second),
	       clReleaseProgram(program));
	for (cl_uint i = 0; i < client->device_count; i++)
		free(binaries[i]);
}

SCENARIO(link)
{
	static const char library[] = "int add(int a) { return a + K; }\n";
	static const char user[] = "int add(int a);\n"
				   "kernel void scale(global const int *in, global int *out, int f)\n"
				   "{ size_t i = get_global_id(0); out[i] = add(in[i]) * f; }\n";
	cl_program parts[2] = { client_program(client, library), client_program(client, user) };
	cl_program linked;
	cl_kernel kernel;
	cl_int error = CL_SUCCESS;

	for (int i = 0; i < 2; i++) {
		printf("compile %d\n", client_compile(parts[i], "-DK=4"));
		client_print_build(client, parts[i]);
	}
	linked = client_print_linked(client, "", 2, parts, &error);
	if (!linked || error)
		return;
	kernel = client_kernel(linked, "scale");
	client_print_scaled(client, kernel, 2);
	printf("release %d %d %d %d\n", clReleaseKernel(kernel), clReleaseProgram(linked),
	       clReleaseProgram(parts[0]), clReleaseProgram(parts[1]));
}

/* A build for the first device alone. */
SCENARIO(one_device)
{
	cl_program program = client_program(client, client_source);

	printf("build %d\n", clBuildProgram(program, 1, client->devices, "-DK=6", NULL, NULL));
	client_print_build(client, program);
	client_end_scaled(client, program, 2);
}

/*
 * Builds a file's text with options and prints what its kernel "value" gives:
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
	printf("release %d %d\n", clReleaseKernel(kernel), clReleaseProgram(program));
}

/* A program without kernels, which drivers build. */
SCENARIO(no_kernels)
{
	cl_program program = client_program(client, "int helper(int a) { return a + K; }\n");
	cl_kernel kernel;
	cl_uint count = 0;
	cl_int error;

	client_print_built(client, program, "-DK=3");
	printf("create all %d\n", clCreateKernelsInProgram(program, 0, NULL, &count));
	printf("count %u\n", count);
	kernel = clCreateKernel(program, "helper", &error);
	printf("kernel %d %d\n", kernel != NULL, error);
	printf("release %d\n", clReleaseProgram(program));
}

/* A program that includes value.h, and one that does not. Argument: the directory. */
SCENARIO(named)
{
	char text[8192], options[8192];
	cl_program programs[2];

	(void)snprintf(text, sizeof(text), "#include \"value.h\"\n%s", client_source);
	(void)snprintf(options, sizeof(options), "-DK=1 -I %s", client->arguments[0]);
	programs[0] = client_program(client, text);
	printf("build %d\n", client_build(programs[0], options));
	programs[1] = client_program(client, client_source);
	printf("build %d\n", client_build(programs[1], "-DK=2"));
	for (int i = 0; i < 2; i++)
		printf("release %d\n", clReleaseProgram(programs[i]));
}
