/* SPDX-License-Identifier: MIT */
/* diff_misuse: what the specification names as errors of programs and builds. Each misuse in a process of its own. */
#include "tests/opencl/differential.h"

static void print_program(cl_program program, cl_int error)
{
	printf(" %s %d", program ? "P" : "none", error);
	if (program)
		printf(" refs %u", diff_program_refs(program));
}

static void create(struct diff *diff, cl_context context, cl_uint count, const char **strings, const size_t *lengths)
{
	cl_int error = 77;

	(void)diff;
	print_program(clCreateProgramWithSource(context, count, strings, lengths, &error), error);
}

static const char *one = "kernel void value(global int *out) { out[0] = 7; }\n";

/* A program of these strings: its source as reported, and its build. */
static void build_of(struct diff *diff, cl_uint count, const char **strings, const size_t *lengths)
{
	char text[512] = "", log[2048] = "";
	size_t size = 0, log_size = 0;
	cl_int error = 77;
	cl_program program = clCreateProgramWithSource(diff->cl.context, count, strings, lengths, &error);

	print_program(program, error);
	if (!program)
		return;
	error = clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(text), text, &size);
	printf(" source %d ", error);
	diff_print_text(text, size);
	printf(" build %d", client_build(program, ""));
	error = clGetProgramBuildInfo(program, diff->cl.devices[0], CL_PROGRAM_BUILD_LOG, sizeof(log), log, &log_size);
	printf(" log %d ", error);
	diff_print_text(log, error ? 0 : log_size);
	size = 77;
	error = clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(size), &size, NULL);
	printf(" kernels %d %zu", error, size);
}

static void after_it(struct diff *diff, cl_program program)
{
	cl_build_status status = 77;
	cl_int error = clGetProgramBuildInfo(program, diff->cl.devices[0], CL_PROGRAM_BUILD_STATUS,
					     sizeof(status), &status, NULL);

	printf(" status %d %d build %d", error, status, client_build(program, "-DK=3"));
}

static void long_options(struct diff *diff, cl_program program)
{
	const size_t len = 1000000;
	char *options = calloc(1, len + 32), *reported = calloc(1, len + 64);
	size_t size = 0;
	cl_int error;

	if (!options || !reported)
		return;
	memset(options, ' ', len);
	memcpy(options, "-DK=3", 5);
	memcpy(options + len - 6, "-DL=1", 6);
	printf(" %d", client_build(program, options));
	error = clGetProgramBuildInfo(program, diff->cl.devices[0], CL_PROGRAM_BUILD_OPTIONS,
				      len + 64, reported, &size);
	printf(" options %d %zu same %d", error, size, !strcmp(options, reported));
}

/* With nothing of the driver's but a session. */
static void misuse_of_creation(struct diff *diff)
{
	SURVIVE(diff, "count-0")
		create(diff, diff->cl.context, 0, &one, NULL);
	SURVIVE(diff, "no-strings")
		create(diff, diff->cl.context, 1, NULL, NULL);
	SURVIVE(diff, "null-string") {
		const char *strings[2] = { one, NULL };

		create(diff, diff->cl.context, 2, strings, NULL);
	}
	SURVIVE(diff, "no-context")
		create(diff, NULL, 1, &one, NULL);
	SURVIVE(diff, "empty-source") {
		const char *empty = "";

		build_of(diff, 1, &empty, NULL);
	}
	SURVIVE(diff, "blank-source") {
		const char *blank = "\n";

		build_of(diff, 1, &blank, NULL);
	}
	SURVIVE(diff, "two-strings") {
		const char *strings[] = { "kernel void value(glo", "bal int *out) { out[0] = 7; }\n" };

		build_of(diff, 2, strings, NULL);
	}
	SURVIVE(diff, "many-strings") {
		const char *strings[64];

		for (int i = 0; i < 63; i++)
			strings[i] = "/* */ ";	/* no newline */
		strings[63] = one;
		build_of(diff, 64, strings, NULL);
	}
	SURVIVE(diff, "lengths") {
		const char *strings[] = { "kernel void value(global int XX", "YY", "*out) { out[0] = 7; }" };
		const size_t lengths[] = { 29, 0, 21 };

		strings[1] = "";
		build_of(diff, 3, strings, lengths);
	}
	SURVIVE(diff, "embedded-zero") {
		static const char text[] = "kernel void value(global int *out) { out[0] = 7; }\n\0"
					   "kernel void second(global int *out) { out[0] = 8; }\n";
		const char *string = text;
		const size_t length = sizeof(text) - 1;

		build_of(diff, 1, &string, &length);
	}
	SURVIVE(diff, "no-kernels") {
		const char *string = "int helper(int a) { return a + 1; }\n";

		build_of(diff, 1, &string, NULL);
	}
	SURVIVE(diff, "syntax-error") {
		const char *string = "kernel void value(global int *out) { out[0] = ; }\n";

		build_of(diff, 1, &string, NULL);
	}
	SURVIVE(diff, "undeclared") {
		const char *string = "kernel void value(global int *out) { out[0] = missing(1); }\n";

		build_of(diff, 1, &string, NULL);
	}
	SURVIVE(diff, "missing-header") {
		const char *string = "#include \"no/such/header.h\"\n"
				     "kernel void value(global int *out) { out[0] = 7; }\n";

		build_of(diff, 1, &string, NULL);
	}
	SURVIVE(diff, "build-null")
		printf(" %d", clBuildProgram(NULL, 0, NULL, "", NULL, NULL));
	SURVIVE(diff, "info-of-null") {
		cl_uint value = 0;

		printf(" %d %d %d", clGetProgramInfo(NULL, CL_PROGRAM_NUM_DEVICES, sizeof(value), &value, NULL),
		       clGetProgramBuildInfo(NULL, diff->cl.devices[0], CL_PROGRAM_BUILD_STATUS, sizeof(value),
					     &value, NULL),
		       clGetKernelInfo(NULL, CL_KERNEL_NUM_ARGS, sizeof(value), &value, NULL));
	}
	SURVIVE(diff, "lives-of-null") {
		printf(" %d %d %d %d", clRetainProgram(NULL), clReleaseProgram(NULL), clRetainKernel(NULL),
		       clReleaseKernel(NULL));
	}
	SURVIVE(diff, "create-kernel-of-null") {
		cl_int error = 77;
		cl_kernel kernel = clCreateKernel(NULL, "scale", &error);

		printf(" %s %d", kernel ? "K" : "none", error);
		error = clCreateKernelsInProgram(NULL, 0, NULL, NULL);
		printf(" %d", error);
	}
	SURVIVE(diff, "context-as-program") {
		cl_program program = (cl_program)diff->cl.context;
		cl_uint value = 0;

		printf(" %d", clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(value), &value, NULL));
		printf(" %d", client_build(program, ""));
	}
}

/* SURVIVE with a program that is not built. */
#define WITH_UNBUILT(diff, name) \
	SURVIVE(diff, name) \
		for (cl_program program = client_program(&(diff)->cl, client_source); program; \
		     program = NULL)

static void misuse_of_build(struct diff *diff)
{
	const cl_device_id *devices = diff->cl.devices;

	WITH_UNBUILT(diff, "count-without-list") {
		printf(" %d", clBuildProgram(program, 1, NULL, "-DK=3", NULL, NULL));
		after_it(diff, program);
	}
	WITH_UNBUILT(diff, "list-without-count") {
		printf(" %d", clBuildProgram(program, 0, devices, "-DK=3", NULL, NULL));
		after_it(diff, program);
	}
	WITH_UNBUILT(diff, "data-without-callback") {
		printf(" %d", clBuildProgram(program, 0, NULL, "-DK=3", NULL, diff));
		after_it(diff, program);
	}
	WITH_UNBUILT(diff, "null-device") {
		cl_device_id device = NULL;

		printf(" %d", clBuildProgram(program, 1, &device, "-DK=3", NULL, NULL));
		after_it(diff, program);
	}
	WITH_UNBUILT(diff, "device-twice") {
		cl_device_id twice[2] = { devices[0], devices[0] };

		printf(" %d", clBuildProgram(program, 2, twice, "-DK=3", NULL, NULL));
		after_it(diff, program);
	}
	WITH_UNBUILT(diff, "link-only-option") {
		printf(" %d", clBuildProgram(program, 0, NULL, "-DK=3 -create-library", NULL, NULL));
		after_it(diff, program);
	}
}

static void misuse_of_built(struct diff *diff)
{
	cl_int error = 77, value = 77, built;
	cl_kernel kernel, made;

	WITH_UNBUILT(diff, "build-with-a-kernel") {
		printf(" %d", client_build(program, "-DK=3"));
		kernel = clCreateKernel(program, "scale", &error);
		built = client_build(program, "-DK=4");
		printf(" %d with a kernel %d", error, built);
		after_it(diff, program);
		if (kernel)
			printf(" release %d", clReleaseKernel(kernel));
		after_it(diff, program);
	}
	WITH_UNBUILT(diff, "compile-with-a-kernel") {
		printf(" %d", client_build(program, "-DK=3"));
		kernel = clCreateKernel(program, "scale", &error);
		printf(" %d with a kernel %d", error,
		       clCompileProgram(program, 0, NULL, "-DK=4", 0, NULL, NULL, NULL, NULL));
		after_it(diff, program);
		if (kernel)
			printf(" release %d", clReleaseKernel(kernel));
	}
	WITH_UNBUILT(diff, "build-info-without-device") {
		printf(" %d", client_build(program, "-DK=3"));
		printf(" %d", clGetProgramBuildInfo(program, NULL, CL_PROGRAM_BUILD_STATUS,
						    sizeof(value), &value, NULL));
		printf(" %d", clGetProgramBuildInfo(program, NULL, CL_PROGRAM_BUILD_LOG, 0, NULL, NULL));
	}
	WITH_UNBUILT(diff, "build-info-of-other-device") {
		/* A valid handle, but not of a device. */
		cl_device_id device = (cl_device_id)diff->cl.context;

		printf(" %d", client_build(program, "-DK=3"));
		printf(" %d", clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS,
						    sizeof(value), &value, NULL));
		printf(" %d", clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, NULL));
	}
	WITH_UNBUILT(diff, "kernel-as-program") {
		printf(" %d", client_build(program, "-DK=3"));
		kernel = clCreateKernel(program, "scale", &error);
		made = kernel ? clCreateKernel((cl_program)kernel, "scale", &error) : NULL;
		printf(" %s %d", made ? "K" : "none", error);
	}
	WITH_UNBUILT(diff, "long-options")
		long_options(diff, program);
	WITH_UNBUILT(diff, "release-too-often") {
		printf(" %d", client_build(program, "-DK=3"));
		printf(" %d", clReleaseProgram(program));
		printf(" %d", clReleaseProgram(program));
	}
}

static void misuse_of_builds(struct diff *diff)
{
	misuse_of_build(diff);
	misuse_of_built(diff);
}

const struct diff_subject diff_misuses[] = {
	{ "misuse", misuse_of_creation, true },
	{ "misuse-build", misuse_of_builds, true },
	{ NULL, NULL, false },
};
