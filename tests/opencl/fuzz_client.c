/* SPDX-License-Identifier: MIT */
/*
 * fuzz_client: builds what it is told, once a line of standard input, until its end:
 *   <directory> TAB <source file> TAB <options> TAB <build|compile|link|embed[:<header's file>]|il> TAB <run|binary|made|nothing> [TAB <file>]
 * It changes into the directory, and prints one line: the build's error, a hash
 * of its log, and what the kernel "value" gives, or a hash of the binary. Into the
 * file go all answers: each its name and size in a line, and as many bytes. "il": the module
 * of value_il.h instead of the source. Of what is only compiled no kernels are asked.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/opencl/value_il.h"

enum { VALUES = 4 };

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;

static uint64_t hash(const char *data, size_t len)
{
	uint64_t value = UINT64_C(14695981039346656037);	/* FNV-1a */

	for (size_t i = 0; i < len; i++)
		value = (value ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
	return value;
}

static char *read_source(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "rb");
	char *text = malloc(1 << 20);

	if (!file || !text)
		exit(2);
	*ret_len = fread(text, 1, (1 << 20) - 1, file);
	(void)fclose(file);	/* only read */
	text[*ret_len] = '\0';
	return text;
}

/* Temporary files of drivers have random names. */
static void strip_names(char *log)
{
	static const char *const names[] = { "comgr-", "/pocl-", "tempfile", "/tmp/" };

	/* Those of comgr's lie in TMPDIR, which no result depends on. */
	for (char *at = strstr(log, "/comgr-"), *start; at; at = strstr(start + 1, "/comgr-")) {
		start = at;
		while (start > log && !isspace((unsigned char)start[-1]) && start[-1] != '\'')
			start--;
		memmove(start, at + 1, strlen(at));
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (char *at = strstr(log, names[i]); at; at = strstr(at + 1, names[i])) {
			for (char *c = at; *c && !isspace((unsigned char)*c) && *c != ':'; c++)
				*c = '_';
		}
	}
}

static uint64_t hash_log(cl_program program)
{
	static char log[1 << 18];
	size_t size = 0;

	if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log,
				  &size) != CL_SUCCESS)
		return 0;
	log[size] = '\0';
	strip_names(log);
	return hash(log, strlen(log));
}

static void print_values(cl_program program)
{
	cl_int values[VALUES] = { 0 }, error;
	cl_kernel kernel = clCreateKernel(program, "value", &error);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(values), values, NULL);
	size_t one = 1;

	if (!queue)	/* the stub driver has none */
		queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
	if (!kernel || clSetKernelArg(kernel, 0, sizeof(buffer), &buffer) != CL_SUCCESS ||
	    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL) != CL_SUCCESS ||
	    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL) !=
		    CL_SUCCESS)
		printf(" no kernel %d", error);
	else
		printf(" %d %d %d %d", values[0], values[1], values[2], values[3]);
	if (kernel)
		clReleaseKernel(kernel);
	clReleaseMemObject(buffer);
}

static void print_binary(cl_program program)
{
	size_t size = 0;
	unsigned char *binary;

	if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) !=
		    CL_SUCCESS || !(binary = malloc(size + 1)))
		return;
	if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL) ==
	    CL_SUCCESS)
		printf(" %zu %" PRIx64, size, hash((char *)binary, size));
	free(binary);
}

static void tell(FILE *file, const char *name, cl_int error, const void *data, size_t size)
{
	(void)fprintf(file, "%s %d %zu\n", name, error, size);	/* a short file is noticed */
	(void)fwrite(data, 1, size, file);
}

static void tell_kernel(FILE *file, cl_program program)
{
	static const cl_kernel_arg_info asked[] = { CL_KERNEL_ARG_NAME, CL_KERNEL_ARG_TYPE_NAME,
						    CL_KERNEL_ARG_ADDRESS_QUALIFIER };
	cl_int error;
	cl_kernel kernel = clCreateKernel(program, "value", &error);
	char text[256];
	size_t size;

	tell(file, "kernel", error, "", 0);
	for (size_t i = 0; kernel && i < sizeof(asked) / sizeof(asked[0]); i++) {
		size = 0;
		error = clGetKernelArgInfo(kernel, 0, asked[i], sizeof(text), text, &size);
		tell(file, "argument", error, text, error ? 0 : size);
	}
	if (kernel)
		clReleaseKernel(kernel);
}

static void tell_all(const char *path, cl_program program, cl_int built)
{
	static const cl_program_build_info asked[] = { CL_PROGRAM_BUILD_STATUS, CL_PROGRAM_BINARY_TYPE,
						       CL_PROGRAM_BUILD_OPTIONS, CL_PROGRAM_BUILD_LOG };
	static const char *const names[] = { "status", "type", "options", "log" };
	static char text[1 << 18];
	FILE *file = fopen(path, "wb");
	unsigned char *binary;
	size_t size;
	cl_int error;

	if (!file)
		exit(2);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		size = 0;
		error = clGetProgramBuildInfo(program, device, asked[i], sizeof(text), text, &size);
		tell(file, names[i], error, text, error ? 0 : size);
	}
	if (built == CL_SUCCESS) {
		error = clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof(text), text, &size);
		tell(file, "names", error, text, error ? 0 : size);
		tell_kernel(file, program);
		error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
		binary = error ? NULL : calloc(1, size + 1);
		if (binary) {
			error = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
			tell(file, "binary", error, binary, size);
		}
		free(binary);
	}
	(void)fclose(file);
}

static cl_program build(const char *source, size_t len, const char *options, const char *how,
			cl_int *ret_error)
{
	const char *name = "embedded.h", *header_text = "#define EMBEDDED 1\n";
	char *own = NULL;
	cl_program program, header = NULL, linked;
	cl_int error;

	if (!strcmp(how, "il"))
		program = clCreateProgramWithIL(context, value_il, sizeof(value_il), NULL);
	else
		program = clCreateProgramWithSource(context, 1, &source, &len, NULL);
	if (!strcmp(how, "build") || !strcmp(how, "il")) {
		*ret_error = clBuildProgram(program, 1, &device, options, NULL, NULL);
		return program;
	}
	if (!strncmp(how, "embed:", 6))
		header_text = own = read_source(how + 6, &len);
	if (!strncmp(how, "embed", 5))
		header = clCreateProgramWithSource(context, 1, &header_text, NULL, NULL);
	free(own);
	*ret_error = clCompileProgram(program, 1, &device, options, header ? 1 : 0,
				      header ? &header : NULL, header ? &name : NULL, NULL, NULL);
	if (header)
		clReleaseProgram(header);
	if (*ret_error != CL_SUCCESS || !strcmp(how, "compile"))
		return program;
	linked = clLinkProgram(context, 1, &device, "", 1, &program, NULL, NULL, &error);
	*ret_error = error;
	if (!linked)
		return program;
	clReleaseProgram(program);
	return linked;
}

static void answer(char *line)
{
	const char *directory = strsep(&line, "\t"), *path = strsep(&line, "\t");
	const char *options = strsep(&line, "\t"), *how = strsep(&line, "\t");
	const char *what = strsep(&line, "\t"), *told = strsep(&line, "\t");
	cl_program program;
	cl_int error;
	size_t len;
	char *source;

	if (!what || chdir(directory) != 0)
		exit(2);
	source = read_source(path, &len);
	program = build(source, len, options, how, &error);
	printf("%d", error);
	/* NEO numbers the messages of a log by the builds before it. */
	if (!strcmp(what, "run") || !strcmp(what, "made"))
		printf(" %" PRIx64, hash_log(program));
	if (error == CL_SUCCESS && !strcmp(what, "run") && strcmp(how, "compile"))
		print_values(program);
	else if (error == CL_SUCCESS && (!strcmp(what, "binary") || !strcmp(what, "made")))
		print_binary(program);
	if (told)
		tell_all(told, program, strcmp(how, "compile") ? error : CL_INVALID_PROGRAM_EXECUTABLE);
	printf("\n");
	(void)fflush(stdout);	/* the reader notices */
	clReleaseProgram(program);
	free(source);
}

int main(void)
{
	cl_platform_id platform;
	char line[16384];

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		answer(line);
	}
	return 0;
}
