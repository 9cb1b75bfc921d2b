/* SPDX-License-Identifier: MIT */
/* extension: which functions are the layer's own, and what they ask the driver for. */
#include "layers/opencl/api/program_desc.h"
#include "layers/opencl/hooks/dispatch.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define NUMBER(type, value) ((type)(uintptr_t)(value))
#define DEVICE NUMBER(cl_device_id, 1)
#define STRANGE_DEVICE NUMBER(cl_device_id, 2)
#define PLATFORM NUMBER(cl_platform_id, 3)
#define CONTEXT NUMBER(cl_context, 4)
#define PROGRAM NUMBER(cl_program, 5)		/* that the layer knows, and has loaded */
#define STRANGE NUMBER(cl_program, 6)
#define TARGET NUMBER(cl_program, 7)		/* the loaded one */
#define MADE NUMBER(cl_program, 8)

typedef cl_int(CL_API_CALL *global_fn)(cl_device_id, cl_program, const char *, size_t *, void **);
typedef cl_int(CL_API_CALL *function_fn)(cl_device_id, cl_program, const char *, cl_ulong *);

struct ocl_layer ocl_layer;

static struct {
	bool poor;		/* a driver without any of these */
	cl_uint devices;	/* of the context */
	bool no_context, no_program;
	bool no_room;		/* for the context's devices, where they were to be written */
	cl_program asked;	/* of the driver */
	unsigned int device_queries, found, loads, loaded_unrefs, nobodys, nameless;
	unsigned int creations, constants, driver_creations, driver_constants;
} state;

static atomic_bool known_lock;
static struct ocl_object known = { .lock = &known_lock };	/* stands for a program */
static char loaded_program;
static void *allocated;		/* lately */

WRAPPED(void *, malloc, (size_t size))
{
	allocated = __real_malloc(size);
	return allocated;
}

struct ocl_object *ocl_objects_find_and_lock(enum ocl_object_kind kind, void *handle)
{
	state.found += handle == PROGRAM;
	if (kind != OCL_PROGRAMS || handle != PROGRAM)
		return NULL;
	atomic_store(&known_lock, true);
	return &known;
}

struct ocl_loaded_program *ocl_program_loaded(struct ocl_program *program)
{
	state.nobodys += program == NULL;
	state.loads++;
	return (struct ocl_loaded_program *)(void *)&loaded_program;
}

cl_program ocl_loaded_program_target(const struct ocl_loaded_program *loaded, cl_program handle)
{
	return loaded ? TARGET : handle;
}

void ocl_loaded_program_unref(struct ocl_loaded_program *loaded)
{
	state.loaded_unrefs += loaded != NULL;
}

cl_program ocl_program_create_with_il(ocl_create_with_il_fn next, cl_context context, const void *il,
				      size_t length, cl_int *errcode_ret)
{
	state.creations++;
	return next(context, il, length, errcode_ret);
}

cl_int ocl_program_set_constant(ocl_set_constant_fn next, cl_program program, cl_uint spec_id,
				size_t spec_size, const void *spec_value)
{
	state.constants++;
	return next(program, spec_id, spec_size, spec_value);
}

static void own(void)
{
}

void *ocl_ckcache_function(const char *name)
{
	state.nameless += name == NULL;
	return name && strcmp(name, "own") == 0 ? (void *)own : NULL;
}

static cl_int CL_API_CALL driver_global(cl_device_id device, cl_program program, const char *name,
					size_t *size_ret, void **pointer_ret)
{
	(void)device;
	(void)name;
	(void)size_ret;
	(void)pointer_ret;
	state.asked = program;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL driver_function(cl_device_id device, cl_program program, const char *name,
					  cl_ulong *pointer_ret)
{
	(void)device;
	(void)name;
	(void)pointer_ret;
	state.asked = program;
	return CL_SUCCESS;
}

static cl_program CL_API_CALL driver_create(cl_context context, const void *il, size_t length, cl_int *errcode_ret)
{
	(void)il;
	(void)length;
	CU_ASSERT_PTR_EQUAL(context, CONTEXT);
	state.driver_creations++;
	*errcode_ret = CL_SUCCESS;
	return MADE;
}

static cl_int CL_API_CALL driver_set(cl_program program, cl_uint id, size_t size, const void *value)
{
	(void)program;
	(void)id;
	(void)size;
	(void)value;
	state.driver_constants++;
	return CL_SUCCESS;
}

static void CL_API_CALL driver_other(void)
{
}

static const struct {
	const char *name;
	void *function;
} functions[] = {
	{ "clGetDeviceGlobalVariablePointerINTEL", (void *)driver_global },
	{ "clGetDeviceFunctionPointerINTEL", (void *)driver_function },
	{ "clCreateProgramWithILKHR", (void *)driver_create },
	{ "clSetProgramSpecializationConstant", (void *)driver_set },
	{ "clOther", (void *)driver_other },
};
#define COUNT (sizeof(functions) / sizeof(functions[0]))
#define REPLACED (COUNT - 1)

static void *CL_API_CALL address(const char *name)
{
	for (size_t i = 0; name && !state.poor && i < COUNT; i++) {
		if (strcmp(functions[i].name, name) == 0)
			return functions[i].function;
	}
	return NULL;
}

static void *CL_API_CALL address_for_platform(cl_platform_id platform, const char *name)
{
	return platform == PLATFORM ? address(name) : NULL;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info info, size_t size, void *value,
				      size_t *size_ret)
{
	(void)info;
	(void)size_ret;
	state.device_queries++;
	if (device != DEVICE || size != sizeof(cl_platform_id))
		return CL_INVALID_DEVICE;
	*(cl_platform_id *)value = PLATFORM;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL context_info(cl_context context, cl_context_info info, size_t size, void *value,
				       size_t *size_ret)
{
	cl_device_id *devices = value;

	(void)info;
	if (state.no_context || context != CONTEXT)
		return CL_INVALID_CONTEXT;
	if (size_ret)
		*size_ret = state.devices * sizeof(*devices);
	if (!value)
		return CL_SUCCESS;
	/* A variable has room for one; more than that is not written there. */
	state.no_room |= size > sizeof(*devices) && value != allocated;
	for (cl_uint i = 0; i < (state.no_room ? 1 : size / sizeof(*devices)); i++)
		devices[i] = i ? STRANGE_DEVICE : DEVICE;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL program_info(cl_program program, cl_program_info info, size_t size, void *value,
				       size_t *size_ret)
{
	(void)program;
	(void)info;
	(void)size_ret;
	if (state.no_program || size != sizeof(cl_context))
		return CL_INVALID_PROGRAM;
	*(cl_context *)value = CONTEXT;
	return CL_SUCCESS;
}

BEFORE_EACH
{
	memset(&state, 0, sizeof(state));
	state.devices = 1;
	atomic_init(&known.refs, 1);
	ocl_layer.cache = (struct cc_cache *)(void *)&known;
	ocl_layer.next.clGetDeviceInfo = device_info;
	ocl_layer.next.clGetContextInfo = context_info;
	ocl_layer.next.clGetProgramInfo = program_info;
	ocl_layer.next.clGetExtensionFunctionAddress = address;
	ocl_layer.next.clGetExtensionFunctionAddressForPlatform = address_for_platform;
}

static void *get(const char *name)
{
	return ocl_clGetExtensionFunctionAddressForPlatform(PLATFORM, name);
}

TEST(functions_that_take_or_make_programs_are_the_layers)
{
	for (size_t i = 0; i < COUNT; i++) {
		void *function = get(functions[i].name);

		CU_ASSERT_EQUAL(function == functions[i].function, i >= REPLACED);
		CU_ASSERT_PTR_EQUAL(ocl_clGetExtensionFunctionAddress(functions[i].name), function);
	}
	CU_ASSERT_PTR_EQUAL(get("own"), (void *)own);
	CU_ASSERT_PTR_NULL(get("none"));
}

TEST(what_the_driver_lacks_the_layer_lacks)
{
	state.poor = true;
	for (size_t i = 0; i < COUNT; i++)
		CU_ASSERT_PTR_NULL(get(functions[i].name));
	CU_ASSERT_PTR_NULL(get(NULL));
	CU_ASSERT_EQUAL(state.nameless, 0);
}

TEST(switched_off_all_functions_are_the_drivers)
{
	ocl_layer.cache = NULL;
	for (size_t i = 0; i < COUNT; i++)
		CU_ASSERT_PTR_EQUAL(get(functions[i].name), functions[i].function);
}

/* The driver is asked for both kinds of pointers of that program. */
static void expect_asked(cl_program of, cl_program asked)
{
	global_fn global = (global_fn)get("clGetDeviceGlobalVariablePointerINTEL");
	function_fn function = (function_fn)get("clGetDeviceFunctionPointerINTEL");

	CU_ASSERT_EQUAL(global(DEVICE, of, "name", NULL, NULL), CL_SUCCESS);
	CU_ASSERT_PTR_EQUAL(state.asked, asked);
	state.asked = NULL;
	CU_ASSERT_EQUAL(function(DEVICE, of, "name", NULL), CL_SUCCESS);
	CU_ASSERT_PTR_EQUAL(state.asked, asked);
}

TEST(pointers_are_those_of_the_loaded_program)
{
	expect_asked(PROGRAM, TARGET);
	CU_ASSERT_EQUAL(state.found, 2);
	CU_ASSERT_EQUAL(atomic_load(&known.refs), 1);
	CU_ASSERT_EQUAL(state.loaded_unrefs, state.loads);
}

TEST(pointers_of_a_strange_program_are_the_drivers)
{
	global_fn global = (global_fn)get("clGetDeviceGlobalVariablePointerINTEL");
	function_fn function = (function_fn)get("clGetDeviceFunctionPointerINTEL");

	expect_asked(STRANGE, STRANGE);
	CU_ASSERT_EQUAL(state.nobodys, 0);
	/* A device of nobody's has no such function. */
	CU_ASSERT_EQUAL(global(STRANGE_DEVICE, PROGRAM, "name", NULL, NULL), CL_INVALID_DEVICE);
	CU_ASSERT_EQUAL(function(STRANGE_DEVICE, PROGRAM, "name", NULL), CL_INVALID_DEVICE);
}

TEST(programs_of_il_and_their_constants_are_noted)
{
	ocl_create_with_il_fn create = (ocl_create_with_il_fn)get("clCreateProgramWithILKHR");
	ocl_set_constant_fn set = (ocl_set_constant_fn)get("clSetProgramSpecializationConstant");
	cl_int error = 77;

	for (state.devices = 1; state.devices <= 3; state.devices++) {
		CU_ASSERT_PTR_EQUAL(create(CONTEXT, "il", 2, &error), MADE);
		CU_ASSERT_EQUAL(error, CL_SUCCESS);
		CU_ASSERT_EQUAL(set(MADE, 1, 4, "1234"), CL_SUCCESS);
		CU_ASSERT_EQUAL(state.creations, state.devices);
		CU_ASSERT_EQUAL(state.driver_creations, state.devices);
		CU_ASSERT_EQUAL(state.constants, state.devices);
		CU_ASSERT_EQUAL(state.driver_constants, state.devices);
		CU_ASSERT_FALSE(state.no_room);
	}
}

TEST(what_is_no_context_or_program_is_told)
{
	ocl_create_with_il_fn create = (ocl_create_with_il_fn)get("clCreateProgramWithILKHR");
	ocl_set_constant_fn set = (ocl_set_constant_fn)get("clSetProgramSpecializationConstant");
	cl_int error = 77;

	state.no_program = true;
	CU_ASSERT_EQUAL(set(STRANGE, 1, 4, "1234"), CL_INVALID_PROGRAM);
	state.no_context = true;
	CU_ASSERT_PTR_NULL(create(CONTEXT, "il", 2, &error));
	CU_ASSERT_EQUAL(error, CL_INVALID_CONTEXT);
	CU_ASSERT_PTR_NULL(create(CONTEXT, "il", 2, NULL));
	/* No device: there is none to ask for its platform. */
	state.no_context = false;
	state.devices = 0;
	state.device_queries = 0;
	CU_ASSERT_PTR_NULL(create(CONTEXT, "il", 2, &error));
	CU_ASSERT_EQUAL(error, CL_INVALID_CONTEXT);
	CU_ASSERT_EQUAL(state.device_queries, 0);
	CU_ASSERT_EQUAL(state.driver_creations, 0);
}
