/* SPDX-License-Identifier: MIT */
/*
 * path_experiment: what path_experiment.py starts. Makes a program for the loader's first device and writes
 * what can be asked about it into NAME.txt, its binary into NAME.bin.
 *
 *   path_experiment build|compile|link|library|load NAME FILE OPTIONS
 *
 * compile: clCompileProgram alone; link and library: with clLinkProgram after it. load: FILE is a binary; asks
 * before it is built, then after a build without options, then after one with OPTIONS.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[1 << 24];
static FILE *answers;
static cl_device_id device;
static cl_context context;

static void ask(cl_program program, const char *when)
{
	const cl_program_build_info asked[] = { CL_PROGRAM_BUILD_LOG, CL_PROGRAM_BUILD_OPTIONS };
	static char answer[1 << 20];

	for (int i = 0; i < 2; i++) {
		answer[0] = 0;
		clGetProgramBuildInfo(program, device, asked[i], sizeof(answer), answer, NULL);
		fprintf(answers, "@%s.%s\n%s\n", when, i ? "options" : "log", answer);
	}
}

static void ask_kernels(cl_program program)
{
	cl_kernel kernels[16];
	cl_uint count = 0;
	const cl_kernel_arg_info strings[] = { CL_KERNEL_ARG_TYPE_NAME, CL_KERNEL_ARG_NAME };

	fprintf(answers, "@kernels\n");
	if (clCreateKernelsInProgram(program, 16, kernels, &count) != CL_SUCCESS)
		return;
	for (cl_uint i = 0; i < count; i++) {
		char name[256] = "", attributes[1024] = "";
		cl_uint arguments = 0;

		clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
		clGetKernelInfo(kernels[i], CL_KERNEL_ATTRIBUTES, sizeof(attributes), attributes, NULL);
		clGetKernelInfo(kernels[i], CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments, NULL);
		fprintf(answers, "%s %s\n", name, attributes);
		for (cl_uint at = 0; at < 2 * arguments; at++) {
			name[0] = 0;
			clGetKernelArgInfo(kernels[i], at / 2, strings[at % 2], sizeof(name), name, NULL);
			fprintf(answers, " %s\n", name);
		}
	}
}

static void make(const char *how, const char *name, const char *options)
{
	const char *source = text;
	cl_int err = CL_SUCCESS;
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &err), linked;
	unsigned char *binary = (unsigned char *)text;
	size_t size = 0;
	FILE *file;

	if (!strcmp(how, "build"))
		err = clBuildProgram(program, 1, &device, options, NULL, NULL);
	else
		err = clCompileProgram(program, 1, &device, options, 0, NULL, NULL, NULL, NULL);
	ask(program, "built");
	if (err == CL_SUCCESS && how[0] == 'l') {
		linked = clLinkProgram(context, 1, &device, strcmp(how, "link") ? "-create-library" : "", 1,
				       &program, NULL, NULL, &err);
		program = linked ? linked : program;
		ask(program, "linked");
	}
	fprintf(answers, "@err\n%d\n", err);
	if (err != CL_SUCCESS || !(file = fopen(name, "wb")))
		return;
	clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
	clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
	fwrite(binary, 1, size, file);
	fclose(file);
	if (!strcmp(how, "build") || !strcmp(how, "link"))
		ask_kernels(program);
}

static void load(size_t len, const char *options)
{
	const unsigned char *bytes = (const unsigned char *)text;
	cl_program program = clCreateProgramWithBinary(context, 1, &device, &len, &bytes, NULL, NULL);

	if (!program)
		return;
	ask(program, "before");
	clBuildProgram(program, 1, &device, NULL, NULL, NULL);
	ask(program, "null");
	clBuildProgram(program, 1, &device, options, NULL, NULL);
	ask(program, "other");
	ask_kernels(program);
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	char path[4096];
	size_t len;
	FILE *file = argc == 5 ? fopen(argv[3], "rb") : NULL;

	if (!file || clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS
	    || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS
	    || !(context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL)))
		return 77;
	snprintf(path, sizeof(path), "%s.txt", argv[2]);
	if (!(answers = fopen(path, "w")))
		return 77;
	len = fread(text, 1, sizeof(text) - 1, file);
	snprintf(path, sizeof(path), "%s.bin", argv[2]);
	if (!strcmp(argv[1], "load"))
		load(len, argv[4]);
	else
		make(argv[1], path, argv[4]);
	fclose(answers);
	_Exit(0); /* what a driver does at exit is not asked */
}
