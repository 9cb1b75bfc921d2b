/* SPDX-License-Identifier: MIT */
/* client_originals: scenarios in which what was compiled matters, not only what it was compiled to. */
#include <malloc.h>

#include "tests/opencl/client.h"
#include "tests/opencl/value_il.h"

static cl_program compile(struct client *client, const char *source, const char *options)
{
	cl_program program = client_program(client, source);

	printf("compile %d\n", clCompileProgram(program, 0, NULL, options, 0, NULL, NULL, NULL, NULL));
	return program;
}

/*
 * Three objects, one of them by way of a library whose object is released at
 * once, linked with the options of the first argument; the second is in the
 * library's source, so that the library is new where it is another.
 */
SCENARIO(relink)
{
	static const char user[] = "int add(int a);\n"
				   "kernel void value(global int *out) { out[0] = add(30) + K; }\n";
	static const char other[] = "kernel void other(global int *out) { out[0] = K; }\n";
	const char *options = client->arguments[0];
	cl_program object, parts[3], linked;
	char function[256];
	cl_kernel kernel;
	cl_int error;

	(void)snprintf(function, sizeof(function), "int add(int a) { return a + %s; }\n",
		       client->arguments[1]);
	object = compile(client, function, NULL);
	parts[0] = compile(client, user, "-DK=3");
	parts[1] = compile(client, other, "-DK=4");
	parts[2] = clLinkProgram(client->context, 0, NULL, "-create-library", 1, &object, NULL, NULL,
				 &error);
	printf("library %d\n", error);
	printf("release %d\n", clReleaseProgram(object));
	if (error)
		return;
	linked = clLinkProgram(client->context, 0, NULL, options, 3, parts, NULL, NULL, &error);
	printf("link %d\n", error);
	if (linked)
		client_print_build(client, linked);
	if (!error) {
		kernel = client_kernel(linked, "value");
		printf("value %lld\n", (long long)client_value(client, kernel));
		printf("release kernel %d\n", clReleaseKernel(kernel));
	}
	if (linked)
		printf("release linked %d\n", clReleaseProgram(linked));
	for (int i = 0; i < 3; i++) {
		printf("references %u\n", client_references(parts[i]));
		printf("release %d\n", clReleaseProgram(parts[i]));
	}
}

/*
 * link-il compile|build OPTIONS CONSTANT: compiled or built from an intermediate language with
 * that constant, which then is another for builds to come, and linked with the options.
 */
SCENARIO(link_il)
{
	cl_int constant = atoi(client->arguments[2]), error;
	cl_program program = clCreateProgramWithIL(client->context, value_il, sizeof(value_il), &error);
	cl_program linked;
	cl_kernel kernel;

	printf("create %d\n", error);
	printf("constant %d\n", clSetProgramSpecializationConstant(program, 7, sizeof(constant), &constant));
	if (!strcmp(client->arguments[0], "build"))
		printf("build %d\n", client_build(program, "-DO=1"));
	else
		printf("compile %d\n", clCompileProgram(program, 0, NULL, "-DO=1", 0, NULL, NULL, NULL, NULL));
	constant++;
	printf("constant %d\n", clSetProgramSpecializationConstant(program, 7, sizeof(constant), &constant));
	/* What a driver refuses leaves the program as it was. */
	printf("refused %d\n", clCompileProgram(program, 1, NULL, "-DO=2", 0, NULL, NULL, NULL, NULL));
	linked = clLinkProgram(client->context, 0, NULL, client->arguments[1], 1, &program, NULL, NULL, &error);
	printf("link %d\n", error);
	if (linked) {
		client_print_build(client, linked);
		kernel = client_kernel(linked, "value");
		printf("value %lld\n", (long long)client_value(client, kernel));
		printf("release %d %d\n", clReleaseKernel(kernel), clReleaseProgram(linked));
	}
	printf("release %d\n", clReleaseProgram(program));
}

static void print_kernels(struct client *client, cl_program program, const char *what)
{
	cl_bool constructors = 77;
	static const char *const names[] = { "value", "no_such_kernel", "", NULL };
	cl_kernel kernels[4];
	cl_uint count = 0;
	size_t known = 77, variables = 77;
	cl_int error;

	error = clGetProgramBuildInfo(program, client->devices[0],
				      CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof(variables),
				      &variables, NULL);
	printf("%s: variables %d %zu\n", what, error, variables);
	error = clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(known), &known, NULL);
	printf("%s: number of kernels %d %zu\n", what, error, known);
	for (int i = 0; i < 4; i++) {
		cl_kernel kernel = clCreateKernel(program, names[i], &error);

		printf("%s: kernel %s: %d\n", what, names[i] ? names[i] : "NULL", error);
		if (kernel)
			printf("release %d\n", clReleaseKernel(kernel));
	}
	error = clGetProgramInfo(program, CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, sizeof(constructors),
				 &constructors, NULL);
	printf("%s: constructors %d %u\n", what, error, constructors);
	error = clCreateKernelsInProgram(program, 4, kernels, &count);
	printf("%s: kernels %d\n", what, error);
	for (cl_uint i = 0; error == CL_SUCCESS && i < count; i++)
		printf("release %d\n", clReleaseKernel(kernels[i]));
}

/* Kernels and variables asked of what is no executable: the answers differ among drivers. */
SCENARIO(object_kernels)
{
	static const char source[] = "constant int table[2] = { 5, 6 };\n"
				     "kernel void value(global int *out) { out[0] = table[out[0] & 1]; }\n";
	cl_program object = client_program(client, source), library;
	cl_int error;

	print_kernels(client, object, "unbuilt");
	printf("compile %d\n", clCompileProgram(object, 0, NULL, "-DO=1", 0, NULL, NULL, NULL, NULL));
	print_kernels(client, object, "object");
	library = clLinkProgram(client->context, 0, NULL, "-create-library", 1, &object, NULL, NULL,
				&error);
	printf("library %d\n", error);
	if (library && !error)
		print_kernels(client, library, "library");
	if (library)
		printf("release %d\n", clReleaseProgram(library));
	printf("references %u\n", client_references(object));
	printf("build %d\n", client_build(object, "-DO=1"));
	print_kernels(client, object, "executable");
	printf("release %d\n", clReleaseProgram(object));
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
				  clCompileProgram(program, 0, NULL, "-DO=1", 0, NULL, NULL, NULL, NULL));
		good += !clReleaseProgram(program);
	}
	printf("good %d kept %d\n", good,
	       mallinfo2().uordblks > used + (size_t)count * sizeof(source) / 4);
}
