/* SPDX-License-Identifier: MIT */
/*
 * test_hooks: programs above the stub driver: how long they are the layer's, questions of more devices than usual,
 * threads that are cancelled, what the layer does not know, and other threads' builds meanwhile.
 */
#include "tests/unit/layers/opencl/stub_layer.h"

#include <stdatomic.h>

#include "layers/opencl/api/program_desc.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

enum { MANY = 17 };	/* devices: more than have room without memory */

static const char source[] = "kernel void k(global int *a) {}\n";

static int callocs = -1;		/* before one fails; negative: none does */
WRAPPED(void *, calloc, (size_t count, size_t size))
{
	return callocs >= 0 && callocs-- == 0 ? NULL : __real_calloc(count, size);
}

static int mallocs = -1;	/* likewise */
WRAPPED(void *, malloc, (size_t size))
{
	return mallocs >= 0 && mallocs-- == 0 ? NULL : __real_malloc(size);
}

static unsigned int builds_noted, libraries_noted;
WRAPPED(void, drv_environment_note_build, (void))
{
	builds_noted++;
	__real_drv_environment_note_build();
}

WRAPPED(void, drv_libraries_note_unseen, (void))
{
	libraries_noted++;
	__real_drv_libraries_note_unseen();
}

BEFORE_EACH
{
	stub_layer_begin();
}

static bool is_known(cl_program handle)
{
	struct ocl_program *program = ocl_program_find(handle);

	ocl_program_unref(program);
	return program;
}

static cl_uint references(cl_program program)
{
	cl_uint count = 0;

	CU_ASSERT_EQUAL(ocl_clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
	return count;
}

/* The stub driver's programs do not move, and one that is gone is not made again here. */
TEST(a_program_is_the_layers_until_its_last_reference)
{
	cl_program program = stub_layer_load(source);

	for (cl_uint more = 1; more < 4; more++) {
		for (cl_uint i = 0; i < more; i++)
			CU_ASSERT_EQUAL(ocl_clRetainProgram(program), CL_SUCCESS);
		CU_ASSERT_EQUAL(references(program), 1 + more);
		for (cl_uint i = more; i > 0; i--) {
			CU_ASSERT_EQUAL(ocl_clReleaseProgram(program), CL_SUCCESS);
			CU_ASSERT_EQUAL(references(program), i);
			CU_ASSERT_TRUE(is_known(program));
		}
	}
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(program), CL_SUCCESS);
	CU_ASSERT_FALSE(is_known(program));
}

static cl_program asked;	/* is for so many devices, as far as it says */

static cl_int CL_API_CALL many_devices(cl_program program, cl_program_info param, size_t size, void *value, size_t *ret_size)
{
	cl_device_id *devices = value;

	if (program == asked && param == CL_PROGRAM_NUM_DEVICES) {
		*(cl_uint *)value = MANY;
		return CL_SUCCESS;
	}
	if (program != asked || param != CL_PROGRAM_DEVICES)
		return driver.clGetProgramInfo(program, param, size, value, ret_size);
	CU_ASSERT_EQUAL(size, MANY * sizeof(*devices));
	for (size_t i = 0; i < MANY; i++)
		devices[i] = i == MANY - 1 ? device : (cl_device_id)&devices[i];	/* others are nobody's */
	return CL_SUCCESS;
}

TEST(a_program_of_many_devices_answers_for_each)
{
	static unsigned char image[4096];
	unsigned char *images[MANY] = { NULL };
	size_t sizes[MANY], size = 0;

	if (!stub_layer_loads())
		return;
	asked = stub_layer_load(source);
	ocl_layer.next.clGetProgramInfo = many_devices;
	CU_ASSERT_EQUAL(ocl_clGetProgramInfo(asked, CL_PROGRAM_BINARY_SIZES, 0, NULL, &size), CL_SUCCESS);
	CU_ASSERT_EQUAL(size, sizeof(sizes));
	CU_ASSERT_EQUAL(ocl_clGetProgramInfo(asked, CL_PROGRAM_BINARY_SIZES, sizeof(sizes) - 1, sizes, NULL), CL_INVALID_VALUE);
	memset(sizes, 0xee, sizeof(sizes));
	CU_ASSERT_EQUAL(ocl_clGetProgramInfo(asked, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL), CL_SUCCESS);
	for (size_t i = 0; i < MANY - 1; i++)
		CU_ASSERT_EQUAL(sizes[i], 0);
	CU_ASSERT_FATAL(sizes[MANY - 1] > 0 && sizes[MANY - 1] <= sizeof(image));
	images[MANY - 1] = image;
	CU_ASSERT_EQUAL(ocl_clGetProgramInfo(asked, CL_PROGRAM_BINARIES, sizeof(images), images, NULL), CL_SUCCESS);
	CU_ASSERT_PTR_NOT_NULL(memmem(image, sizes[MANY - 1], source, strlen(source)));
	/* Without memory for their list. */
	callocs = 0;
	CU_ASSERT_EQUAL(ocl_clGetProgramInfo(asked, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL), CL_OUT_OF_HOST_MEMORY);
	callocs = -1;
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(asked), CL_SUCCESS);
}

/* Built anew in vain, what was loaded has no binaries any more, in which the driver never built it. */
TEST(what_a_failure_lost_has_room_for_no_binaries)
{
	static const char fails[] = "#ifdef FAIL\n#error not today\n#endif\nkernel void k(global int *a) {}\n";
	unsigned char byte = 0xee, *images[2] = { &byte, &byte };
	cl_program program;
	size_t size = 99;

	if (!stub_layer_loads())
		return;
	program = stub_layer_load(fails);
	CU_ASSERT_NOT_EQUAL(ocl_clBuildProgram(program, 0, NULL, "-DFAIL", NULL, NULL), CL_SUCCESS);
	CU_ASSERT_EQUAL(ocl_clGetProgramInfo(program, CL_PROGRAM_BINARIES, 0, NULL, &size), CL_SUCCESS);
	CU_ASSERT_EQUAL(size, sizeof(images[0]));
	for (size_t room = 0; room <= sizeof(images); room++) {
		size = 99;
		CU_ASSERT_EQUAL(ocl_clGetProgramInfo(program, CL_PROGRAM_BINARIES, room, images, &size),
				room < sizeof(images[0]) ? CL_INVALID_VALUE : CL_SUCCESS);
		CU_ASSERT_EQUAL(size, room < sizeof(images[0]) ? 99 : sizeof(images[0]));
	}
	CU_ASSERT_EQUAL(byte, 0xee);
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(program), CL_SUCCESS);
}

/* What the layer did not make may be anything, and the driver may load its compiler for it. */
TEST(a_build_of_an_unknown_program_is_noted)
{
	static const char *const text = source;
	cl_program program = driver.clCreateProgramWithSource(context, 1, (const char **)&text, NULL, NULL);

	CU_ASSERT_FALSE(is_known(program));
	for (int compiles = 0; compiles < 2; compiles++) {
		cl_int error;

		builds_noted = libraries_noted = 0;
		error = compiles ? ocl_clCompileProgram(program, 0, NULL, "", 0, NULL, NULL, NULL, NULL) :
				   ocl_clBuildProgram(program, 0, NULL, "", NULL, NULL);
		CU_ASSERT_EQUAL(error, CL_SUCCESS);
		CU_ASSERT_EQUAL(builds_noted, 1);
		CU_ASSERT_EQUAL(libraries_noted, 1);
	}
	CU_ASSERT_FALSE(is_known(program));
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(program), CL_SUCCESS);
}

/* What answers where a loaded object does not is compiled for it, and gone with it. */
TEST(what_stands_in_is_noted)
{
	static const char *const text = source;
	cl_program object = ocl_clCreateProgramWithSource(context, 1, (const char **)&text, NULL, NULL);
	cl_bool present;

	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(ocl_clCompileProgram(object, 0, NULL, "", 0, NULL, NULL, NULL, NULL), CL_SUCCESS);
	builds_noted = libraries_noted = 0;
	CU_ASSERT_EQUAL(ocl_clReleaseKernel(ocl_clCreateKernel(object, "k", NULL)), CL_SUCCESS);
	(void)ocl_clGetProgramInfo(object, CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, sizeof(present), &present, NULL);
	if (stub_layer_loads())
		CU_ASSERT(builds_noted == 1 && libraries_noted == 1);
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(object), CL_SUCCESS);
}

static atomic_uint sleeps;
WRAPPED(int, nanosleep, (const struct timespec *time, struct timespec *left))
{
	atomic_fetch_add(&sleeps, 1);
	return __real_nanosleep(time, left);
}

static cl_program other;	/* of the same source, not built */

static void *build_other(void *data)
{
	(void)data;
	CU_ASSERT_EQUAL(ocl_clBuildProgram(other, 0, NULL, "", NULL, NULL), CL_SUCCESS);
	return NULL;
}

static unsigned int builds;
static cl_int CL_API_CALL build_while_another_does(cl_program program, cl_uint count, const cl_device_id *list,
						   const char *options, ocl_notify_fn notify, void *data)
{
	pthread_t thread;

	/* It does not wait for this one. */
	if (builds++ == 0) {
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, build_other, NULL), 0);
		CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	}
	return driver.clBuildProgram(program, count, list, options, notify, data);
}

TEST(nobody_waits_for_a_build_that_leaves_no_entry)
{
	static const char *const text = source;
	cl_program program = ocl_clCreateProgramWithSource(context, 1, (const char **)&text, NULL, NULL);

	other = ocl_clCreateProgramWithSource(context, 1, (const char **)&text, NULL, NULL);
	CU_ASSERT_EQUAL(setenv("CKCACHE_CAPTURE", "deferred", 1), 0);
	cc_cache_close(ocl_layer.cache);
	CU_ASSERT_EQUAL_FATAL(cc_cache_open(&ocl_layer.cache), CMN_OK);
	ocl_layer.next.clBuildProgram = build_while_another_does;
	CU_ASSERT_EQUAL(ocl_clBuildProgram(program, 0, NULL, "", NULL, NULL), CL_SUCCESS);
	CU_ASSERT_EQUAL(builds, 2);
	CU_ASSERT_EQUAL(atomic_load(&sleeps), 0);
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(program), CL_SUCCESS);
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(other), CL_SUCCESS);
}

static bool called_back;
static void CL_CALLBACK note_callback(cl_program program, void *data)
{
	(void)program;
	(void)data;
	called_back = true;
}

static cl_int CL_API_CALL device_before_callback(cl_device_id of, cl_device_info param, size_t size, void *value,
						 size_t *ret_size)
{
	CU_ASSERT_FALSE(called_back);
	return driver.clGetDeviceInfo(of, param, size, value, ret_size);
}

/* It may let go of context and devices by then, whatever the build has loaded, and how it ended. */
TEST(the_driver_is_left_alone_once_the_application_is_called_back)
{
	static const char *const texts[] = { source, "#error not today\n" };
	char command[16384], late[8192];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cl_program program = ocl_clCreateProgramWithSource(context, 1, (const char **)&texts[i], NULL, NULL);

		(void)snprintf(late, sizeof(late), "%s/late%zu.so", unit_dir(), i);
		(void)snprintf(command, sizeof(command), "cp '%s' '%s'", STUB_LIBRARY, late);
		CU_ASSERT_EQUAL_FATAL(system(command), 0);
		CU_ASSERT_EQUAL(setenv("STUB_LATE_LIBRARY", late, 1), 0);
		ocl_layer.next.clGetDeviceInfo = device_before_callback;
		called_back = false;
		(void)ocl_clBuildProgram(program, 0, NULL, "", note_callback, NULL);
		for (int waits = 0; !called_back && waits < 1000; waits++)
			(void)usleep(10000);
		CU_ASSERT_TRUE(called_back);
		called_back = false;
		CU_ASSERT_EQUAL(ocl_clReleaseProgram(program), CL_SUCCESS);
	}
}

/* Below the hooks, functions of the driver that end a thread which has been cancelled. */
#define ENDS_THREAD(type, call, parameters, arguments) \
	static type CL_API_CALL cancellable_##call parameters \
	{ \
		pthread_testcancel(); \
		return driver.call arguments; \
	}
ENDS_THREAD(cl_int, clGetProgramInfo,
	    (cl_program program, cl_program_info param, size_t size, void *value, size_t *ret_size),
	    (program, param, size, value, ret_size))
ENDS_THREAD(cl_int, clGetProgramBuildInfo,
	    (cl_program program, cl_device_id of, cl_program_build_info param, size_t size, void *value, size_t *ret_size),
	    (program, of, param, size, value, ret_size))
ENDS_THREAD(cl_int, clBuildProgram,
	    (cl_program program, cl_uint count, const cl_device_id *list, const char *options, ocl_notify_fn notify, void *data),
	    (program, count, list, options, notify, data))
ENDS_THREAD(cl_int, clReleaseProgram, (cl_program program), (program))
ENDS_THREAD(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *ret_error),
	    (program, name, ret_error))
ENDS_THREAD(cl_int, clCreateKernelsInProgram, (cl_program program, cl_uint count, cl_kernel *kernels, cl_uint *ret_count),
	    (program, count, kernels, ret_count))

static cl_program program_of_thread;
static cl_kernel kernel_of_thread;

static void ask_program(void)
{
	cl_uint count;

	CU_ASSERT_EQUAL(ocl_clGetProgramInfo(program_of_thread, CL_PROGRAM_NUM_DEVICES, sizeof(count), &count, NULL), CL_SUCCESS);
}

static void ask_build(void)
{
	char log[256];

	(void)ocl_clGetProgramBuildInfo(program_of_thread, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
}

static void build(void)
{
	CU_ASSERT_EQUAL(ocl_clBuildProgram(program_of_thread, 0, NULL, "-DK=2", NULL, NULL), CL_SUCCESS);
}

static void make_kernel(void)
{
	kernel_of_thread = ocl_clCreateKernel(program_of_thread, "k", NULL);
}

static void make_kernels(void)
{
	CU_ASSERT_EQUAL(ocl_clCreateKernelsInProgram(program_of_thread, 1, &kernel_of_thread, NULL), CL_SUCCESS);
}

static void release_program(void)
{
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(program_of_thread), CL_SUCCESS);
	program_of_thread = NULL;
}

static void (*call_in_thread)(void);
static bool came_back;

/* Any cancellation point ends this thread. */
static void *call_while_cancelled(void *data)
{
	(void)pthread_cancel(pthread_self());
	call_in_thread();
	came_back = true;
	pthread_testcancel();
	return data;
}

/* Of those in which the layer has something locked, or others wait for it. */
TEST(a_thread_is_not_cancelled_within_a_call)
{
	static void (*const calls[])(void) = {
		ask_program, ask_build, build, make_kernel, make_kernels, release_program,
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *result = NULL;
		pthread_t thread;

		program_of_thread = stub_layer_load(source);
		kernel_of_thread = NULL;
		ocl_layer.next.clGetProgramInfo = cancellable_clGetProgramInfo;
		ocl_layer.next.clGetProgramBuildInfo = cancellable_clGetProgramBuildInfo;
		ocl_layer.next.clBuildProgram = cancellable_clBuildProgram;
		ocl_layer.next.clReleaseProgram = cancellable_clReleaseProgram;
		ocl_layer.next.clCreateKernel = cancellable_clCreateKernel;
		ocl_layer.next.clCreateKernelsInProgram = cancellable_clCreateKernelsInProgram;
		call_in_thread = calls[i];
		came_back = false;
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, call_while_cancelled, NULL), 0);
		CU_ASSERT_EQUAL(pthread_join(thread, &result), 0);
		CU_ASSERT_TRUE(came_back);
		/* It was cancelled afterwards. */
		CU_ASSERT_PTR_EQUAL(result, PTHREAD_CANCELED);
		ocl_layer.next = driver;
		if (kernel_of_thread)
			CU_ASSERT_EQUAL(ocl_clReleaseKernel(kernel_of_thread), CL_SUCCESS);
		if (program_of_thread)
			CU_ASSERT_EQUAL(ocl_clReleaseProgram(program_of_thread), CL_SUCCESS);
	}
}

static void CL_CALLBACK release_linked(cl_program program, void *data)
{
	cl_program *linked = data;

	*linked = program;
	if (program)
		CU_ASSERT_EQUAL(ocl_clReleaseProgram(program), CL_SUCCESS);
}

/* The callback releases what it is told of, wherever memory was missing before. */
TEST(a_linked_program_that_its_callback_released_is_gone)
{
	static const char *const text = source;
	cl_program object = ocl_clCreateProgramWithSource(context, 1, (const char **)&text, NULL, NULL);

	CU_ASSERT_EQUAL_FATAL(ocl_clCompileProgram(object, 0, NULL, "", 0, NULL, NULL, NULL, NULL), CL_SUCCESS);
	for (int fails = 0; fails < 12; fails++) {
		cl_program linked = NULL;
		cl_int error = CL_SUCCESS;

		callocs = fails;
		(void)ocl_clLinkProgram(context, 0, NULL, "", 1, &object, release_linked, &linked, &error);
		callocs = -1;
		CU_ASSERT_FALSE(linked && is_known(linked));
	}
	CU_ASSERT_EQUAL(ocl_clReleaseProgram(object), CL_SUCCESS);
}

/* Whole, or without anything of it: with sources of both kinds, and of as many programs. */
TEST(a_description_needs_memory_and_leaves_none)
{
	static const uint8_t value[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const struct ckcache_constant constants[] = { { 7, 4, value }, { 3, 8, value }, { 5, 1, value } };
	static const uint32_t il[] = { 0x07230203, 0x10000, 0, 9, 0 };
	const struct ckcache_program programs[] = {
		{ .struct_size = sizeof(programs[0]), .language = CKCACHE_LANGUAGE_OPENCL_C, .source = source,
		  .source_size = strlen(source) },
		{ .struct_size = sizeof(programs[0]), .language = CKCACHE_LANGUAGE_OPENCL_C, .source = source,
		  .source_size = strlen(source), .options = "-DK=2" },
		{ .struct_size = sizeof(programs[0]), .language = CKCACHE_LANGUAGE_SPIRV, .source = il,
		  .source_size = sizeof(il), .constants = constants, .constant_count = 3 },
	};
	int made = 0;

	for (size_t count = 1; count <= 3; count++) {
		for (int fails = 0; fails < 60; fails++) {
			struct ckcache_desc *desc = NULL;
			enum ckcache_status status;

			callocs = fails % 2 ? fails / 2 : -1;
			mallocs = fails % 2 ? -1 : fails / 2;
			status = ocl_ckcache_desc_new(context, device, count, programs, &desc);
			callocs = mallocs = -1;
			CU_ASSERT(status == CKCACHE_OK ? desc != NULL : status == CKCACHE_ERROR_OUT_OF_MEMORY && !desc);
			made += status == CKCACHE_OK;
			ckcache_desc_free(desc);
		}
	}
	CU_ASSERT(made > 0 && made < 180);
}

int main(void)
{
	return unit_run_apart();
}
