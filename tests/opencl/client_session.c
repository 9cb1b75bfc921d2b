/* SPDX-License-Identifier: MIT */
/* client_session: what the scenarios share: their list, the session, builds, runs, values. */
#include "tests/opencl/client.h"
#include "tests/opencl/digest.h"
#include "tests/support/words.h"

const char client_source[] =
	"#ifdef FAIL\n"
	"#error not today\n"
	"#endif\n"
	"kernel void scale(global const int *in, global int *out, int factor)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	out[i] = in[i] * factor + K;\n"
	"}\n"
	"kernel void shift(global int *data)\n"
	"{\n"
	"	data[get_global_id(0)] = K;\n"
	"}\n"
	"__attribute__((reqd_work_group_size(8, 1, 1)))\n"
	"kernel void fixed(global int *data, local int *room)\n"
	"{\n"
	"	room[get_local_id(0)] = K;\n"
	"	data[get_global_id(0)] = room[get_local_id(0)] + 1;\n"
	"}\n";

static void (*on_failure)(const char *what, cl_int error);

void client_on_failure(void (*act)(const char *what, cl_int error))
{
	on_failure = act;
}

void client_fail(const char *what, cl_int error)
{
	if (on_failure)
		on_failure(what, error);
	(void)fflush(stdout);	/* what was seen until now helps */
	(void)fprintf(stderr, "client: %s: error %d\n", what, error);
	exit(2);
}

static struct scenario *scenarios;

void client_add(struct scenario *scenario)
{
	scenario->next = scenarios;
	scenarios = scenario;
}

static const struct scenario *find_scenario(const char *name)
{
	for (const struct scenario *scenario = scenarios; scenario; scenario = scenario->next) {
		if (words_is(name, scenario->name))
			return scenario;
	}
	client_fail("no such scenario", 0);
}

void client_run(struct client *client, const char *name)
{
	const struct scenario *scenario = find_scenario(name);

	client->script = scenario->script;
	scenario->run(client);
}

void client_open(struct client *client)
{
	char *early = getenv("CLIENT_SETENV");	/* NAME=VALUE: set when the drivers are there and nothing else is */
	cl_int error = clGetPlatformIDs(1, &client->platform, NULL);

	if (error)
		client_fail("clGetPlatformIDs", error);
	if (early && putenv(early))
		client_fail("putenv", 0);
	error = clGetDeviceIDs(client->platform, CL_DEVICE_TYPE_ALL, CLIENT_MAX_DEVICES,
			       client->devices, &client->device_count);
	if (error)
		client_fail("clGetDeviceIDs", error);
	client->context = clCreateContext(NULL, client->device_count, client->devices, NULL, NULL,
					  &error);
	if (error)
		client_fail("clCreateContext", error);
	if (!client->executes)
		return;
	/* Not the call of OpenCL 2.0: oclgrind's comes back to itself through the loader for ever. */
	client->queue = clCreateCommandQueue(client->context, client->devices[0], 0, &error);
	if (error)
		client_fail("clCreateCommandQueue", error);
}

const struct scenario *client_begin(struct client *client, char **argv)
{
	const struct scenario *scenario;

	*client = (struct client){ .executes = !argv[1] || strcmp(argv[1], "-n") != 0 };
	if (!client->executes)
		argv++;
	scenario = find_scenario(argv[1] ? argv[1] : "");
	client->arguments = argv + 2;
	client->script = scenario->script;
	if (scenario->has_session)
		client_open(client);
	return scenario;
}

cl_program client_program(struct client *client, const char *source)
{
	cl_int error;
	cl_program program = clCreateProgramWithSource(client->context, 1, &source, NULL, &error);

	if (!program || error)
		client_fail("clCreateProgramWithSource", error);
	return program;
}

cl_int client_build(cl_program program, const char *options)
{
	return clBuildProgram(program, 0, NULL, options, NULL, NULL);
}

cl_int client_compile(cl_program program, const char *options)
{
	return clCompileProgram(program, 0, NULL, options, 0, NULL, NULL, NULL, NULL);
}

cl_kernel client_kernel(cl_program program, const char *name)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(program, name, &error);

	if (!kernel || error)
		client_fail(name, error);
	return kernel;
}

cl_ulong client_private_size(struct client *client, cl_kernel kernel)
{
	cl_ulong size = 0;
	cl_int error = clGetKernelWorkGroupInfo(kernel, client->devices[0],
						CL_KERNEL_PRIVATE_MEM_SIZE, sizeof(size), &size,
						NULL);

	if (error)
		client_fail("CL_KERNEL_PRIVATE_MEM_SIZE", error);
	return size;
}

cl_ulong client_digest(const char *source, const char *options)
{
	char image[4096];

	if ((size_t)snprintf(image, sizeof(image), "%s\n%s", options, source) >= sizeof(image))
		client_fail("client_digest", CL_INVALID_VALUE);
	return digest_of(image);
}

static cl_mem new_buffer(struct client *client, int *values)
{
	cl_int error;
	cl_mem buffer = clCreateBuffer(client->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				       CLIENT_ITEMS * sizeof(*values), values, &error);

	if (error)
		client_fail("clCreateBuffer", error);
	return buffer;
}

static void run(struct client *client, cl_kernel kernel, cl_mem result, int *ret_values)
{
	const size_t items = CLIENT_ITEMS;
	cl_int error = clEnqueueNDRangeKernel(client->queue, kernel, 1, NULL, &items, &items, 0,
					      NULL, NULL);

	if (error)
		client_fail("clEnqueueNDRangeKernel", error);
	error = clEnqueueReadBuffer(client->queue, result, CL_TRUE, 0,
				    CLIENT_ITEMS * sizeof(*ret_values), ret_values, 0, NULL, NULL);
	if (error)
		client_fail("clEnqueueReadBuffer", error);
}

void client_print_scaled(struct client *client, cl_kernel kernel, int factor)
{
	int values[CLIENT_ITEMS] = { 1, 2, 3, 4, 5, 6, 7, -8 };
	cl_mem in, out;

	if (!client->executes) {
		printf("private size %llu\n",
		       (unsigned long long)client_private_size(client, kernel));
		return;
	}
	in = new_buffer(client, values);
	out = new_buffer(client, values);
	if (clSetKernelArg(kernel, 0, sizeof(in), &in) ||
	    clSetKernelArg(kernel, 1, sizeof(out), &out) ||
	    clSetKernelArg(kernel, 2, sizeof(factor), &factor))
		client_fail("clSetKernelArg", CL_INVALID_VALUE);
	run(client, kernel, out, values);
	printf("values");
	for (int i = 0; i < CLIENT_ITEMS; i++)
		printf(" %d", values[i]);
	printf("\n");
	(void)clReleaseMemObject(in);	/* the scenario is about programs */
	(void)clReleaseMemObject(out);
}

cl_long client_value(struct client *client, cl_kernel kernel)
{
	int values[CLIENT_ITEMS] = { 0 };
	cl_mem out;

	if (!client->executes)
		return (cl_long)client_private_size(client, kernel);
	out = new_buffer(client, values);
	if (clSetKernelArg(kernel, 0, sizeof(out), &out))
		client_fail("clSetKernelArg", CL_INVALID_VALUE);
	run(client, kernel, out, values);
	(void)clReleaseMemObject(out);	/* the scenario is about programs */
	return values[0];
}
