/* SPDX-License-Identifier: MIT */
/*
 * mini_runtime: what a SYCL-like runtime does at a launch, on OpenCL, for the
 * three use-cases of the SYCL KernelProgramCache document: one kernel in a
 * loop, many kernels of one program, and restarts. Each is run without
 * cachecore and with it, and a table shows what was saved.
 *
 *   mini_runtime [-n] [-p PLATFORM] [-d DIRECTORY]
 *
 *   -n  the device compiles and does not execute: kernels are not launched
 *   -p  a part of the platform's name; else $MINI_RUNTIME_PLATFORM, or the first platform
 *   -d  where the persistent store is; else the user's cache directory
 *
 * Run it twice: the second run loads what the first one built. The runtime is
 * the same code without cachecore, since NULL is a cache that keeps nothing.
 * It has one thread: sharing a cl_kernel among threads wants a lock of the
 * runtime's around clSetKernelArg and the launch.
 */
#define CL_TARGET_OPENCL_VERSION 120

#include <CL/cl.h>
#include <cachecore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ITEMS = 64, LAUNCHES = 6, KERNELS = 4, ROUNDS = 2 };

/* A device image: a module of device code, as a SYCL compiler leaves it in the application. */
struct image {
	const char *id;
	const char *source;
};

/* Values of specialization constants; here they become macros. */
struct constants {
	cl_int factor;
	cl_int offset;
};

struct counts {
	unsigned int built;	/* programs, from source */
	unsigned int loaded;	/* programs, from a binary of the store */
	unsigned int refused;	/* binaries of the store, by the driver */
	unsigned int kernels;	/* created */
	unsigned int fast;	/* launches whose kernel the fast kernel cache had */
	double ms;
};

struct runtime {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	bool executes;
	char device_key[1024];			/* what identifies the device, for the store */
	struct cachecore_programs *programs;	/* NULL: without */
	struct cachecore_store *store;		/* NULL: without */
	struct counts counts;
};

static const char options[] = "-cl-std=CL1.2";

static void check(bool good, const char *what)
{
	if (good)
		return;
	(void)fprintf(stderr, "mini_runtime: %s failed\n", what);
	exit(EXIT_FAILURE);
}

static struct cachecore_bytes text(const char *from)
{
	return (struct cachecore_bytes){ from, strlen(from) };
}

/* What the maps do with handles. */

static void retain_program(void *value)
{
	check(clRetainProgram(value) == CL_SUCCESS, "clRetainProgram");
}

static void release_program(void *value)
{
	check(clReleaseProgram(value) == CL_SUCCESS, "clReleaseProgram");
}

static void retain_kernel(void *value)
{
	check(clRetainKernel(value) == CL_SUCCESS, "clRetainKernel");
}

static void release_kernel(void *value)
{
	check(clReleaseKernel(value) == CL_SUCCESS, "clReleaseKernel");
}

/* Building programs. */

/* One build: what is to be built, and what came of it. */
struct build {
	struct runtime *runtime;
	const struct image *image;
	const struct constants *constants;
	const char *kernel;		/* of a kernel's build: its name */
	cl_program program;		/* in it */
	cl_int error;
	char *log;			/* malloc'd */
	unsigned char *binary;		/* likewise, until the store has copied it */
	struct cachecore_bytes image_bytes, log_bytes;
};

static enum cachecore_status status_of(cl_int error)
{
	switch (error) {
	case CL_SUCCESS:
		return CACHECORE_OK;
	case CL_OUT_OF_HOST_MEMORY:
	case CL_OUT_OF_RESOURCES:
	case CL_MEM_OBJECT_ALLOCATION_FAILURE:
		/* cachecore flushes its maps and calls once more. */
		return CACHECORE_ERR_NOMEM;
	default:
		return CACHECORE_ERR_BUILD;
	}
}

static char *read_log(cl_program program, cl_device_id device)
{
	size_t size = 0;
	char *log;

	(void)clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
	log = calloc(1, size + 1);
	if (log && size)
		(void)clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
	return log;
}

/* From source; leaves the program, or the error and the log. */
static enum cachecore_status compile(struct build *build)
{
	struct runtime *runtime = build->runtime;
	char all_options[128];
	cl_program program = clCreateProgramWithSource(runtime->context, 1,
						       (const char *[]){ build->image->source },
						       NULL, &build->error);

	if (build->error != CL_SUCCESS)
		return status_of(build->error);
	(void)snprintf(all_options, sizeof(all_options), "%s -DFACTOR=%d -DOFFSET=%d", options,
		       build->constants->factor, build->constants->offset);
	build->error = clBuildProgram(program, 1, &runtime->device, all_options, NULL, NULL);
	runtime->counts.built++;
	free(build->log);
	build->log = read_log(program, runtime->device);
	if (build->error != CL_SUCCESS) {
		release_program(program);
		return status_of(build->error);
	}
	build->program = program;
	return CACHECORE_OK;
}

/* What the store's callback gives to the store; it stays in build until that has copied it. */
static enum cachecore_status compile_for_store(void *ctx, struct cachecore_store_value *ret)
{
	struct build *build = ctx;
	enum cachecore_status status = compile(build);
	size_t size = 0;

	if (status != CACHECORE_OK)
		return status;
	/* The program is of use also where its binary cannot be read: then nothing is stored. */
	if (clGetProgramInfo(build->program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) !=
		    CL_SUCCESS || size == 0)
		return CACHECORE_MISS;
	build->binary = malloc(size);
	if (!build->binary ||
	    clGetProgramInfo(build->program, CL_PROGRAM_BINARIES, sizeof(build->binary),
			     &build->binary, NULL) != CL_SUCCESS)
		return CACHECORE_MISS;
	build->image_bytes = (struct cachecore_bytes){ build->binary, size };
	build->log_bytes = text(build->log ? build->log : "");
	ret->images = &build->image_bytes;
	ret->image_count = 1;
	ret->log = build->log_bytes;
	return CACHECORE_OK;
}

/* From a binary of the store; false: the driver does not want it. */
static bool load(struct build *build, const struct cachecore_blob *blob)
{
	struct runtime *runtime = build->runtime;
	struct cachecore_bytes image = cachecore_blob_image(blob, 0);
	const unsigned char *data = image.data;
	cl_int binary_status = CL_INVALID_BINARY, error;
	cl_program program = clCreateProgramWithBinary(runtime->context, 1, &runtime->device,
						       &image.size, &data, &binary_status, &error);

	if (error != CL_SUCCESS)
		return false;
	if (binary_status != CL_SUCCESS ||
	    clBuildProgram(program, 1, &runtime->device, options, NULL, NULL) != CL_SUCCESS) {
		release_program(program);
		return false;
	}
	runtime->counts.loaded++;
	build->program = program;
	return true;
}

static enum cachecore_status load_or_compile(struct build *build)
{
	struct runtime *runtime = build->runtime;
	const struct cachecore_store_key key = {
		.device = text(runtime->device_key),
		.image = text(build->image->source),
		.constants = { build->constants, sizeof(*build->constants) },
		.options = text(options),
	};
	struct cachecore_store_value value = { 0 };
	struct cachecore_blob *blob = NULL;
	enum cachecore_status status;
	bool built;

	status = cachecore_store_get_or_build(runtime->store, &key, compile_for_store, build, &built,
					      &blob);
	if (built || status != CACHECORE_OK) {
		/* What was built is here, whatever became of the entry. */
		status = build->program ? CACHECORE_OK : status;
	} else if (!load(build, blob)) {
		runtime->counts.refused++;
		cachecore_store_reject(runtime->store, &key);
		status = compile_for_store(build, &value);
		if (status == CACHECORE_OK)
			(void)cachecore_store_put(runtime->store, &key, &value);
		status = build->program ? CACHECORE_OK : status;
	}
	cachecore_blob_unref(blob);
	free(build->binary);
	build->binary = NULL;
	return status;
}

/* The programs map calls this where it has no program. */
static enum cachecore_status build_program(void *ctx, struct cachecore_build_output *ret)
{
	struct build *build = ctx;
	enum cachecore_status status = build->runtime->store ? load_or_compile(build) :
							       compile(build);

	if (status == CACHECORE_OK) {
		ret->value = build->program;
		ret->size = strlen(build->image->source);	/* about what it takes in memory */
		free(build->log);
	} else {
		/* Whoever waits for this program gets the log too. */
		ret->error_code = build->error;
		ret->error_message = build->log;
	}
	build->log = NULL;
	return status;
}

/* The kernels map calls this where it has no kernel. */
static enum cachecore_status build_kernel(void *ctx, struct cachecore_build_output *ret)
{
	struct build *build = ctx;

	ret->value = clCreateKernel(build->program, build->kernel, &ret->error_code);
	build->runtime->counts.kernels++;
	return status_of(ret->error_code);
}

/* Launching kernels. */

/* The kernel by all levels, the quickest first; a reference of the caller's own. */
static cl_kernel get_kernel(struct runtime *runtime, const struct image *image,
			    const struct constants *constants, const char *name)
{
	const struct cachecore_bytes constant_bytes = { constants, sizeof(*constants) };
	const struct cachecore_program_key key = {
		.image_id = text(image->id),
		.constants = constant_bytes,
		.devices = { &runtime->device, sizeof(runtime->device) },
		.device_size = sizeof(runtime->device),
		.options = text(options),
	};
	struct build build = { .runtime = runtime, .image = image, .constants = constants,
			       .kernel = name };
	struct cachecore_taken program, kernel;
	void *found;

	if (cachecore_fast_kernel_get(runtime->programs, constant_bytes, runtime->device, text(name),
				      &found) == CACHECORE_OK) {
		runtime->counts.fast++;
		return found;
	}
	if (cachecore_programs_get_or_build(runtime->programs, &key, build_program, &build, true,
					    &program) != CACHECORE_OK) {
		(void)fprintf(stderr, "mini_runtime: %s: error %d: %s\n", image->id,
			      program.error_code,
			      program.error_message ? program.error_message : "no log");
		exit(EXIT_FAILURE);
	}
	build.program = program.value;
	check(cachecore_kernels_get_or_build(runtime->programs, &key, text(name), build_kernel,
					     &build, &kernel) == CACHECORE_OK, name);
	/* The next launch finds it at once. */
	(void)cachecore_fast_kernel_put(runtime->programs, &key, constant_bytes, runtime->device,
					text(name), kernel.value);
	release_program(program.value);
	return kernel.value;
}

struct buffer {
	struct runtime *runtime;
	cl_int *data;
	cl_mem mem;
};

/* Memory may run out here too; what the maps hold is given up for it. */
static enum cachecore_status make_buffer(void *ctx)
{
	struct buffer *buffer = ctx;
	cl_int error;

	buffer->mem = clCreateBuffer(buffer->runtime->context,
				     CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				     ITEMS * sizeof(*buffer->data), buffer->data, &error);
	return status_of(error);
}

/* data[i] becomes data[i] * factor + offset + number. */
static void execute(struct runtime *runtime, cl_kernel kernel, const struct constants *constants,
		    cl_int number)
{
	const size_t size = ITEMS;
	cl_int data[ITEMS];
	struct buffer buffer = { .runtime = runtime, .data = data };

	for (cl_int i = 0; i < ITEMS; i++)
		data[i] = i;
	check(cachecore_programs_attempt(runtime->programs, make_buffer, &buffer) == CACHECORE_OK,
	      "clCreateBuffer");
	check(clSetKernelArg(kernel, 0, sizeof(buffer.mem), &buffer.mem) == CL_SUCCESS,
	      "clSetKernelArg");
	if (clEnqueueNDRangeKernel(runtime->queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL) ==
	    CL_SUCCESS) {
		check(clEnqueueReadBuffer(runtime->queue, buffer.mem, CL_TRUE, 0, sizeof(data), data,
					  0, NULL, NULL) == CL_SUCCESS, "clEnqueueReadBuffer");
		for (cl_int i = 0; i < ITEMS; i++)
			check(data[i] == i * constants->factor + constants->offset + number,
			      "the kernel's result");
	} else {
		printf("this device does not execute: kernels are created, and not launched\n");
		runtime->executes = false;
	}
	check(clReleaseMemObject(buffer.mem) == CL_SUCCESS, "clReleaseMemObject");
}

static void launch(struct runtime *runtime, const struct image *image,
		   const struct constants *constants, const char *name, cl_int number)
{
	cl_kernel kernel = get_kernel(runtime, image, constants, name);

	if (runtime->executes)
		execute(runtime, kernel, constants, number);
	release_kernel(kernel);
}

/* The use-cases. */

static const struct image single = { "single", "kernel void only(global int *data)\n"
	"{ size_t i = get_global_id(0); data[i] = data[i] * FACTOR + OFFSET; }\n" };

#define KERNEL(number) "kernel void kernel_" #number "(global int *data)\n" \
	"{ size_t i = get_global_id(0); data[i] = data[i] * FACTOR + OFFSET + " #number "; }\n"
static const struct image several = { "several", KERNEL(0) KERNEL(1) KERNEL(2) KERNEL(3) };

static void one_kernel_in_a_loop(struct runtime *runtime)
{
	const struct constants constants = { 3, 1 };

	for (int i = 0; i < LAUNCHES; i++)
		launch(runtime, &single, &constants, "only", 0);
}

static void many_kernels_of_one_program(struct runtime *runtime)
{
	static const char *const names[KERNELS] = { "kernel_0", "kernel_1", "kernel_2", "kernel_3" };
	const struct constants constants = { 5, 2 };

	for (cl_int i = 0; i < ROUNDS * KERNELS; i++)
		launch(runtime, &several, &constants, names[i % KERNELS], i % KERNELS);
}

/* Two programs, one of them with two values of its constants. */
static void start_of_an_application(struct runtime *runtime)
{
	const struct constants first = { 7, 3 }, second = { 7, 4 };

	launch(runtime, &single, &first, "only", 0);
	launch(runtime, &single, &second, "only", 0);
	launch(runtime, &several, &first, "kernel_1", 1);
}

static double now_ms(void)
{
	struct timespec time;

	(void)timespec_get(&time, TIME_UTC);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

enum { WITHOUT = 0, IN_MEMORY = 1, ON_DISK = 2 };

/* Opens the levels, runs, and closes them: like a runtime's context, but for the context itself. */
static struct counts measure(struct runtime *runtime, int levels, const char *dir,
			     void (*use_case)(struct runtime *))
{
	const struct cachecore_programs_options in_memory = {
		.struct_size = sizeof(in_memory),
		.threshold = UINT64_C(64) << 20,
		.program_ops = { retain_program, release_program },
		.kernel_ops = { retain_kernel, release_kernel },
	};
	const struct cachecore_store_options on_disk = {
		.struct_size = sizeof(on_disk), .runtime = "mini_runtime", .dir = dir,
	};
	enum cachecore_status status;
	double began;

	runtime->counts = (struct counts){ 0 };
	began = now_ms();
	/* Whatever fails here only costs builds. */
	if (levels & IN_MEMORY) {
		status = cachecore_programs_new(&in_memory, &runtime->programs);
		if (status != CACHECORE_OK)
			(void)fprintf(stderr, "no cache in memory: %s\n",
				      cachecore_status_string(status));
	}
	if (levels & ON_DISK) {
		status = cachecore_store_open(&on_disk, &runtime->store);
		if (status != CACHECORE_OK)
			(void)fprintf(stderr, "no cache on disk: %s\n",
				      cachecore_status_string(status));
	}
	use_case(runtime);
	runtime->counts.ms = now_ms() - began;
	cachecore_programs_free(runtime->programs);
	cachecore_store_close(runtime->store);
	runtime->programs = NULL;
	runtime->store = NULL;
	return runtime->counts;
}

static void compare(struct runtime *runtime, const char *title, int levels, const char *dir,
		    void (*use_case)(struct runtime *))
{
	struct counts without = measure(runtime, WITHOUT, NULL, use_case);
	struct counts with = measure(runtime, levels, dir, use_case);

	printf("%-34s %9s %9s %9s\n", title, "without", "with", "saved");
	printf("  %-32s %9u %9u %9d\n", "programs built", without.built, with.built,
	       (int)without.built - (int)with.built);
	if (levels & ON_DISK) {
		printf("  %-32s %9u %9u\n", "programs loaded", without.loaded, with.loaded);
		printf("  %-32s %9u %9u\n", "binaries refused", without.refused, with.refused);
	}
	printf("  %-32s %9u %9u %9d\n", "kernels created", without.kernels, with.kernels,
	       (int)without.kernels - (int)with.kernels);
	printf("  %-32s %9u %9u\n", "found in the fast kernel cache", without.fast, with.fast);
	printf("  %-32s %9.2f %9.2f %9.2f\n", "milliseconds", without.ms, with.ms,
	       without.ms - with.ms);
}

/* The device. */

static bool platform_name_has(cl_platform_id platform, const char *part)
{
	char name[256] = "";

	(void)clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
	return !part || strstr(name, part);
}

/* The document's device id: platform, device, version and driver version, a line each. */
static void identify(struct runtime *runtime, cl_platform_id platform)
{
	static const cl_device_info queries[] = { CL_DEVICE_NAME, CL_DEVICE_VERSION,
						  CL_DRIVER_VERSION };
	char *key = runtime->device_key;
	size_t used, size = sizeof(runtime->device_key);

	check(clGetPlatformInfo(platform, CL_PLATFORM_NAME, size - 1, key, NULL) == CL_SUCCESS,
	      "clGetPlatformInfo");
	used = strlen(key);
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		key[used++] = '\n';
		check(clGetDeviceInfo(runtime->device, queries[i], size - used - 1, key + used,
				      NULL) == CL_SUCCESS, "clGetDeviceInfo");
		used += strlen(key + used);
	}
}

static void find_device(struct runtime *runtime, const char *wanted)
{
	cl_platform_id platforms[16], platform = NULL;
	cl_uint count = 0;
	cl_int error;

	if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS || count > 16)
		count = count > 16 ? 16 : 0;
	for (cl_uint i = count; i-- > 0;) {
		if (platform_name_has(platforms[i], wanted))
			platform = platforms[i];
	}
	check(platform != NULL, "finding a platform");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &runtime->device, NULL) == CL_SUCCESS,
	      "clGetDeviceIDs");
	runtime->context = clCreateContext(NULL, 1, &runtime->device, NULL, NULL, &error);
	check(error == CL_SUCCESS, "clCreateContext");
	if (runtime->executes) {
		runtime->queue = clCreateCommandQueue(runtime->context, runtime->device, 0, &error);
		check(error == CL_SUCCESS, "clCreateCommandQueue");
	}
	identify(runtime, platform);
	printf("%s\n", runtime->device_key);
}

int main(int argc, char **argv)
{
	const char *platform = getenv("MINI_RUNTIME_PLATFORM"), *dir = NULL;
	struct runtime runtime = { .executes = true };

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-n"))
			runtime.executes = false;
		else if (!strcmp(argv[i], "-p") && i + 1 < argc)
			platform = argv[++i];
		else if (!strcmp(argv[i], "-d") && i + 1 < argc)
			dir = argv[++i];
		else
			check(false, "understanding the arguments: [-n] [-p PLATFORM] [-d DIRECTORY]");
	}
	find_device(&runtime, platform);
	if (!runtime.executes)
		printf("kernels are created, and not launched\n");
	compare(&runtime, "one kernel in a loop", IN_MEMORY, NULL, one_kernel_in_a_loop);
	compare(&runtime, "many kernels of one program", IN_MEMORY, NULL,
		many_kernels_of_one_program);
	compare(&runtime, "the start of an application", IN_MEMORY | ON_DISK, dir,
		start_of_an_application);
	if (runtime.queue)
		check(clReleaseCommandQueue(runtime.queue) == CL_SUCCESS, "clReleaseCommandQueue");
	check(clReleaseContext(runtime.context) == CL_SUCCESS, "clReleaseContext");
	return EXIT_SUCCESS;
}
