/* SPDX-License-Identifier: MIT */
/*
 * client_print: asks a program, its build and its kernels everything, in a
 * fixed order. Of handles it prints whether they are the application's, of
 * binaries whether there are any.
 */
#include "tests/opencl/client.h"
#include "tests/opencl/references.h"

static void print_text(const char *what, cl_int error, const char *text, size_t size)
{
	if (error)
		printf("%s: error %d\n", what, error);
	else
		printf("%s: %zu [%s]\n", what, size, text);
}

static void print_number(const char *what, cl_int error, unsigned long long value)
{
	if (error)
		printf("%s: error %d\n", what, error);
	else
		printf("%s: %llu\n", what, value);
}

cl_uint client_references(cl_program program)
{
	cl_uint references = 0;
	cl_int error = references_of(program, &references);

	if (error)
		client_fail("CL_PROGRAM_REFERENCE_COUNT", error);
	return references;
}

static void print_program_text(cl_program program, const char *what, cl_program_info name)
{
	char text[16384] = "";
	size_t size = 0;
	cl_int error = clGetProgramInfo(program, name, 0, NULL, &size);

	if (!error && size <= sizeof(text))
		error = clGetProgramInfo(program, name, size, text, NULL);
	print_text(what, error, text, size);
}

void client_print_program(struct client *client, cl_program program)
{
	cl_device_id devices[CLIENT_MAX_DEVICES] = { NULL };
	size_t sizes[CLIENT_MAX_DEVICES] = { 0 }, kernels = 0, size = 0;
	cl_context context = NULL;
	cl_uint count = 0;
	cl_int error;

	printf("references: %u\n", client_references(program));
	error = clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(context), &context, NULL);
	print_number("context is ours", error, context == client->context);
	error = clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(count), &count, NULL);
	print_number("devices", error, count);
	error = clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(devices), devices, NULL);
	print_number("devices are ours", error, !memcmp(devices, client->devices, sizeof(devices)));
	print_program_text(program, "source", CL_PROGRAM_SOURCE);
	error = clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(kernels), &kernels, NULL);
	print_number("kernels", error, kernels);
	print_program_text(program, "kernel names", CL_PROGRAM_KERNEL_NAMES);
	error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, &size);
	for (cl_uint i = 0; i < client->device_count; i++)
		print_number("has binary", error, sizes[i] > 0);
	/* A buffer that is too small is the driver's to refuse. */
	error = clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, 1, &kernels, NULL);
	print_number("kernels into one byte", error, 0);
	error = clGetProgramInfo(program, 0x1, sizeof(size), &size, NULL);
	print_number("unknown query", error, 0);
}

static void print_build_text(cl_program program, cl_device_id device, const char *what, cl_program_build_info name)
{
	char text[16384] = "";
	size_t size = 0;
	cl_int error = clGetProgramBuildInfo(program, device, name, 0, NULL, &size);

	if (!error && size <= sizeof(text))
		error = clGetProgramBuildInfo(program, device, name, size, text, NULL);
	print_text(what, error, text, size);
	if (!error && size > 1)
		printf("%s into one byte: %d\n", what, clGetProgramBuildInfo(program, device, name, 1, text, NULL));
}

void client_print_build(struct client *client, cl_program program)
{
	for (cl_uint i = 0; i < client->device_count; i++) {
		cl_device_id device = client->devices[i];
		cl_program_binary_type type = 0;
		cl_build_status status = 0;
		cl_int error;

		error = clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL);
		print_number("build status", error, (unsigned int)-status);
		error = clGetProgramBuildInfo(program, device, CL_PROGRAM_BINARY_TYPE, sizeof(type), &type, NULL);
		print_number("binary type", error, type);
		print_build_text(program, device, "options", CL_PROGRAM_BUILD_OPTIONS);
		print_build_text(program, device, "log", CL_PROGRAM_BUILD_LOG);
	}
}

static void print_kernel_text(cl_kernel kernel, const char *what, cl_kernel_info name)
{
	char text[1024] = "";
	size_t size = 0;
	cl_int error = clGetKernelInfo(kernel, name, sizeof(text), text, &size);

	print_text(what, error, text, size);
}

static void print_arguments(cl_kernel kernel, cl_uint count)
{
	for (cl_uint i = 0; i < count; i++) {
		cl_kernel_arg_address_qualifier address = 0;
		char text[256] = "";
		size_t size = 0;
		cl_int error;

		error = clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_NAME, sizeof(text), text, &size);
		print_text("argument name", error, text, size);
		error = clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof(text), text, &size);
		print_text("argument type", error, text, size);
		error = clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(address), &address, NULL);
		print_number("argument address", error, address);
	}
}

static void print_work_group(struct client *client, cl_kernel kernel)
{
	size_t reqd[3] = { 0 }, group = 0;
	cl_ulong local = 0;
	cl_int error;

	error = clGetKernelWorkGroupInfo(kernel, client->devices[0],
					 CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(reqd), reqd, NULL);
	print_number("required group", error, reqd[0] * 100 + reqd[1] * 10 + reqd[2]);
	error = clGetKernelWorkGroupInfo(kernel, client->devices[0], CL_KERNEL_WORK_GROUP_SIZE,
					 sizeof(group), &group, NULL);
	print_number("group", error, group);
	error = clGetKernelWorkGroupInfo(kernel, client->devices[0], CL_KERNEL_LOCAL_MEM_SIZE,
					 sizeof(local), &local, NULL);
	print_number("local size", error, local);
	for (cl_uint i = 0; i < client->device_count; i++) {
		error = clGetKernelWorkGroupInfo(kernel, client->devices[i],
						 CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
						 sizeof(group), &group, NULL);
		print_number("multiple", error, group);
	}
	printf("private size: %llu\n", (unsigned long long)client_private_size(client, kernel));
}

void client_print_kernel(struct client *client, cl_kernel kernel, cl_program program)
{
	cl_program owner = NULL;
	cl_context context = NULL;
	cl_uint count = 0;
	cl_int error;

	print_kernel_text(kernel, "kernel", CL_KERNEL_FUNCTION_NAME);
	print_kernel_text(kernel, "attributes", CL_KERNEL_ATTRIBUTES);
	error = clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(owner), &owner, NULL);
	print_number("program is ours", error, owner == program);
	error = clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL);
	print_number("context is ours", error, context == client->context);
	error = clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof(count), &count, NULL);
	print_number("kernel references", error, count);
	error = clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
	print_number("arguments", error, count);
	print_arguments(kernel, count);
	print_work_group(client, kernel);
}

cl_int client_take_binaries(cl_program program, cl_uint count, size_t *ret_sizes, unsigned char **ret_images)
{
	cl_int error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(*ret_sizes), ret_sizes, NULL);

	if (error)
		client_fail("CL_PROGRAM_BINARY_SIZES", error);
	for (cl_uint i = 0; i < count; i++) {
		ret_images[i] = calloc(1, ret_sizes[i] + 1);
		if (!ret_images[i])
			client_fail("calloc", 0);
	}
	return clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(*ret_images), ret_images, NULL);
}

void client_free_binaries(cl_uint count, unsigned char **images)
{
	for (cl_uint i = 0; i < count; i++)
		free(images[i]);
}

void client_print_constant(cl_program program, const char *text, client_set_constant set)
{
	unsigned int id = 7, len = sizeof(cl_int);
	unsigned long long number;
	unsigned char wide[80] = { 0 };
	const cl_int constant = atoi(text);

	memcpy(wide, &constant, sizeof(constant));
	if (sscanf(text, "%u:%u:%llx", &id, &len, &number) == 3)
		memcpy(wide, &number, sizeof(number));
	else
		id = 7;
	if (len > sizeof(wide))
		client_fail(text, 0);
	printf("constant %d\n", set(program, id, len, wide));
}

void client_notice_add(struct client_notice *notice)
{
	(void)pthread_mutex_lock(&notice->lock);	/* a default mutex does not fail */
	notice->calls++;
	(void)pthread_cond_signal(&notice->arrived);	/* as above */
	(void)pthread_mutex_unlock(&notice->lock);	/* as above */
}

void CL_CALLBACK client_notice_take(cl_program program, void *data)
{
	struct client_notice *notice = data;
	cl_build_status status = 77;
	cl_int error = CL_SUCCESS;

	if (notice->device)
		error = clGetProgramBuildInfo(program, notice->device, CL_PROGRAM_BUILD_STATUS,
					      sizeof(status), &status, NULL);
	(void)pthread_mutex_lock(&notice->lock);	/* as above */
	notice->program = program;
	notice->status = error ? error : status;
	(void)pthread_mutex_unlock(&notice->lock);	/* as above */
	client_notice_add(notice);
}

void client_notice_wait(struct client_notice *notice, int calls, time_t seconds)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);	/* the condition's clock; cannot fail */
	until.tv_sec += seconds;
	(void)pthread_mutex_lock(&notice->lock);	/* as above */
	while (notice->calls < calls && !pthread_cond_timedwait(&notice->arrived, &notice->lock, &until))
		continue;
	(void)pthread_mutex_unlock(&notice->lock);	/* as above */
}
