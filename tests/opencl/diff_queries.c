/* SPDX-License-Identifier: MIT */
/*
 * diff_queries: asks everything that clGet…Info can be asked, with no buffer,
 * one of the right size, a larger one, a smaller one, and nothing at all, and
 * says what was written where.
 */
#include "tests/opencl/differential.h"

enum {
	UNTOUCHED_SIZE = 777777,	/* what no answer's size is */
	UNTOUCHED = 0xa5,
	MORE = 16,			/* that the larger buffer is larger by */
	LARGEST = 1 << 20,
};

enum kind { NUMBER, SIZES, PRESENCE, TEXT, BYTES, CONTEXT, PROGRAM, DEVICES };

struct query {
	const char *name;
	cl_uint param;
	enum kind kind;
	size_t width;	/* of a number */
};

struct object {
	cl_program program;	/* asked, or the one that a kernel should name */
	cl_kernel kernel;
	cl_device_id device;
	cl_uint index;
};
typedef cl_int (*get_fn)(const struct object *object, cl_uint param, size_t size, void *value, size_t *ret);

static cl_int get_program(const struct object *object, cl_uint param, size_t size, void *value, size_t *ret)
{
	return clGetProgramInfo(object->program, param, size, value, ret);
}

static cl_int get_build(const struct object *object, cl_uint param, size_t size, void *value, size_t *ret)
{
	return clGetProgramBuildInfo(object->program, object->device, param, size, value, ret);
}

static cl_int get_kernel(const struct object *object, cl_uint param, size_t size, void *value, size_t *ret)
{
	return clGetKernelInfo(object->kernel, param, size, value, ret);
}

static cl_int get_argument(const struct object *object, cl_uint param, size_t size, void *value, size_t *ret)
{
	return clGetKernelArgInfo(object->kernel, object->index, param, size, value, ret);
}

static cl_int get_group(const struct object *object, cl_uint param, size_t size, void *value, size_t *ret)
{
	return clGetKernelWorkGroupInfo(object->kernel, object->device, param, size, value, ret);
}

static void print_devices(const struct diff *diff, const cl_device_id *devices, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cl_uint at = 0;

		while (at < diff->cl.device_count && diff->cl.devices[at] != devices[i])
			at++;
		if (at < diff->cl.device_count)
			printf(" D%u", at);
		else
			printf(" other");
	}
}

static void print_numbers(const unsigned char *value, size_t size, size_t width, bool presence)
{
	for (size_t at = 0; at + width <= size; at += width) {
		unsigned long long number = 0;

		memcpy(&number, value + at, width);	/* little-endian, as all these drivers' hosts */
		if (presence)
			printf(" %s", number ? "some" : "none");
		else
			printf(" %llu", number);
	}
}

static void print_value(const struct diff *diff, const struct object *object,
			const struct query *query, const unsigned char *value, size_t size)
{
	unsigned int sum = 0;
	void *handle = NULL;

	switch (query->kind) {
	case NUMBER:
	case SIZES:
		print_numbers(value, size, query->width, false);
		break;
	case PRESENCE:
		print_numbers(value, size, query->width, true);
		break;
	case TEXT:
		printf(" ");
		diff_print_text((const char *)value, size);
		break;
	case BYTES:
		for (size_t i = 0; i < size; i++)
			sum = sum * 31 + value[i];
		printf(" %zu bytes %08x", size, sum);
		break;
	case CONTEXT:
	case PROGRAM:
		memcpy(&handle, value, size < sizeof(handle) ? size : sizeof(handle));
		if (query->kind == CONTEXT)
			printf(" %s", handle == diff->cl.context ? "C" : "other");
		else
			printf(" %s", handle == object->program ? "P" : "other");
		break;
	case DEVICES:
		print_devices(diff, (const cl_device_id *)value, size / sizeof(cl_device_id));
		break;
	}
}

static void print_size(cl_int error, size_t size)
{
	if (size == UNTOUCHED_SIZE)
		printf(" %d/-", error);
	else
		printf(" %d/%zu", error, size);
}

static bool is_untouched(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != UNTOUCHED)
			return false;
	}
	return true;
}

/* The rest of a query whose answer has size bytes; room is for MORE bytes more. */
static void ask_with_room(const struct diff *diff, get_fn get, const struct object *object,
			  const struct query *query, unsigned char *room, size_t size)
{
	size_t given = UNTOUCHED_SIZE;
	cl_int error;

	memset(room, UNTOUCHED, size + MORE);
	error = get(object, query->param, size, room, &given);
	printf(" value");
	print_size(error, given);
	if (!error)
		print_value(diff, object, query, room, size);
	if (!is_untouched(room + size, MORE))
		printf(" beyond");
	memset(room, UNTOUCHED, size + MORE);
	printf(" larger %d", get(object, query->param, size + MORE, room, NULL));
	if (!is_untouched(room + size, MORE))
		printf(" all");
	memset(room, UNTOUCHED, size + MORE);
	if (size == 0)
		return;
	/* What a refused call gives as the size, the specification leaves open: it is not compared. */
	printf(" smaller %d", get(object, query->param, size - 1, room, &given));
	printf(" %s", is_untouched(room, size) ? "untouched" : "written");
	printf(" empty %d", get(object, query->param, 0, room, NULL));
}

static void ask(const struct diff *diff, const char *prefix, get_fn get,
		const struct object *object, const struct query *query)
{
	size_t size = UNTOUCHED_SIZE;
	unsigned char *room;
	char name[128];
	cl_int error;

	(void)snprintf(name, sizeof(name), "%s%s", prefix, query->name);
	diff_open(diff, name);
	error = get(object, query->param, 0, NULL, &size);
	printf(" size");
	if (query->kind == TEXT && size != UNTOUCHED_SIZE && size > 256)
		printf(" %d/long", error);
	else
		print_size(error, size);
	printf(" nothing %d", get(object, query->param, 0, NULL, NULL));
	if (!error && size < LARGEST) {
		room = malloc(size + MORE);
		if (!room)
			client_fail("memory", 0);
		ask_with_room(diff, get, object, query, room, size);
		free(room);
	}
	diff_close();
}

static void ask_each(const struct diff *diff, const char *prefix, get_fn get,
		     const struct object *object, const struct query *queries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ask(diff, prefix, get, object, &queries[i]);
}
#define ASK(diff, prefix, get, object, queries) \
	ask_each(diff, prefix, get, object, queries, sizeof(queries) / sizeof((queries)[0]))

/* CL_PROGRAM_BINARIES with less than its size, into buffers of the application's, or without any. */
struct binaries {
	cl_program program;
	size_t less;
	bool none;
};

static void read_binaries(struct diff *diff, void *data)
{
	const struct binaries *binaries = data;
	size_t sizes[CLIENT_MAX_DEVICES] = { 0 }, size = UNTOUCHED_SIZE;
	unsigned char *images[CLIENT_MAX_DEVICES] = { NULL };
	cl_int error = clGetProgramInfo(binaries->program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL);

	printf(" sizes %d", error);
	if (error)
		return;
	for (cl_uint i = 0; i < diff->cl.device_count && !binaries->none; i++)
		images[i] = calloc(1, sizes[i] + 1);
	error = clGetProgramInfo(binaries->program, CL_PROGRAM_BINARIES,
				 diff->cl.device_count * sizeof(images[0]) - binaries->less, images, &size);
	if (error)
		printf(" %d", error);	/* the size is not compared, as above */
	else
		print_size(error, size);
	for (cl_uint i = 0; i < diff->cl.device_count && !binaries->none; i++) {
		bool any = false;

		for (size_t at = 0; at < sizes[i]; at++)
			any = any || images[i][at];
		printf(" %s", any ? "some" : "none");
		free(images[i]);
	}
}

static void read_size_of_binaries(struct diff *diff, void *data)
{
	const struct binaries *binaries = data;
	size_t size = UNTOUCHED_SIZE;
	cl_int error = clGetProgramInfo(binaries->program, CL_PROGRAM_BINARIES, 0, NULL, &size);

	(void)diff;
	print_size(error, size);
}

static void ask_binaries(struct diff *diff, const char *prefix, cl_program program)
{
	struct binaries whole = { .program = program };
	char name[128];

	(void)snprintf(name, sizeof(name), "%sbinaries-size", prefix);
	diff_survive(diff, name, read_size_of_binaries, &whole);
	(void)snprintf(name, sizeof(name), "%sbinaries", prefix);
	diff_survive(diff, name, read_binaries, &whole);
}

void diff_ask_binaries_badly(struct diff *diff, const char *prefix, cl_program program)
{
	struct binaries none = { .program = program, .none = true },
			less = { .program = program, .less = 1 };
	char name[128];

	(void)snprintf(name, sizeof(name), "%sbinaries-into-none", prefix);
	diff_survive(diff, name, read_binaries, &none);
	(void)snprintf(name, sizeof(name), "%sbinaries-smaller", prefix);
	diff_survive(diff, name, read_binaries, &less);
}

void diff_ask_program(struct diff *diff, const char *prefix, cl_program program)
{
	static const struct query queries[] = {
		{ "references", CL_PROGRAM_REFERENCE_COUNT, NUMBER, 4 },
		{ "context", CL_PROGRAM_CONTEXT, CONTEXT, 0 },
		{ "device-count", CL_PROGRAM_NUM_DEVICES, NUMBER, 4 },
		{ "devices", CL_PROGRAM_DEVICES, DEVICES, 0 },
		{ "source", CL_PROGRAM_SOURCE, TEXT, 0 },
		{ "il", CL_PROGRAM_IL, BYTES, 0 },
		{ "binary-sizes", CL_PROGRAM_BINARY_SIZES, PRESENCE, sizeof(size_t) },
		{ "kernel-count", CL_PROGRAM_NUM_KERNELS, NUMBER, sizeof(size_t) },
		{ "kernel-names", CL_PROGRAM_KERNEL_NAMES, TEXT, 0 },
		{ "constructors", CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, NUMBER, 4 },
		{ "destructors", CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT, NUMBER, 4 },
		{ "unknown", 0x1, NUMBER, 4 },
		{ "of-a-build", CL_PROGRAM_BUILD_LOG, TEXT, 0 },
	};
	const struct object object = { .program = program };

	(void)diff_program_refs(program);	/* only waits until it stays */
	ASK(diff, prefix, get_program, &object, queries);
	ask_binaries(diff, prefix, program);
}

void diff_ask_build(struct diff *diff, const char *prefix, cl_program program, cl_device_id device)
{
	static const struct query queries[] = {
		{ "build-status", CL_PROGRAM_BUILD_STATUS, NUMBER, 4 },
		{ "build-options", CL_PROGRAM_BUILD_OPTIONS, TEXT, 0 },
		{ "build-log", CL_PROGRAM_BUILD_LOG, TEXT, 0 },
		{ "binary-type", CL_PROGRAM_BINARY_TYPE, NUMBER, 4 },
		{ "global-size", CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, NUMBER,
		  sizeof(size_t) },
		{ "build-unknown", 0x1, NUMBER, 4 },
	};
	const struct object object = { .program = program, .device = device };

	ASK(diff, prefix, get_build, &object, queries);
}

void diff_ask_kernel(struct diff *diff, const char *prefix, cl_kernel kernel, cl_program program)
{
	static const struct query queries[] = {
		{ "function", CL_KERNEL_FUNCTION_NAME, TEXT, 0 },
		{ "argument-count", CL_KERNEL_NUM_ARGS, NUMBER, 4 },
		{ "kernel-references", CL_KERNEL_REFERENCE_COUNT, NUMBER, 4 },
		{ "kernel-context", CL_KERNEL_CONTEXT, CONTEXT, 0 },
		{ "kernel-program", CL_KERNEL_PROGRAM, PROGRAM, 0 },
		{ "attributes", CL_KERNEL_ATTRIBUTES, TEXT, 0 },
		{ "kernel-unknown", 0x1, NUMBER, 4 },
	};
	const struct object object = { .kernel = kernel, .program = program };

	ASK(diff, prefix, get_kernel, &object, queries);
}

void diff_ask_arguments(struct diff *diff, const char *prefix, cl_kernel kernel)
{
	static const struct query queries[] = {
		{ "address", CL_KERNEL_ARG_ADDRESS_QUALIFIER, NUMBER, 4 },
		{ "access", CL_KERNEL_ARG_ACCESS_QUALIFIER, NUMBER, 4 },
		{ "type", CL_KERNEL_ARG_TYPE_NAME, TEXT, 0 },
		{ "type-qualifier", CL_KERNEL_ARG_TYPE_QUALIFIER, NUMBER, 8 },
		{ "name", CL_KERNEL_ARG_NAME, TEXT, 0 },
		{ "unknown", 0x1, NUMBER, 4 },
	};
	cl_uint count = 0;

	if (clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL))
		count = 0;
	/* One more than there are. */
	for (cl_uint i = 0; i <= count && i < 8; i++) {
		const struct object object = { .kernel = kernel, .index = i };
		char name[96];

		(void)snprintf(name, sizeof(name), "%sargument-%u-", prefix, i);
		ASK(diff, name, get_argument, &object, queries);
	}
}

void diff_ask_groups(struct diff *diff, const char *prefix, cl_kernel kernel, cl_device_id device)
{
	static const struct query queries[] = {
		{ "group-size", CL_KERNEL_WORK_GROUP_SIZE, NUMBER, sizeof(size_t) },
		{ "required-group", CL_KERNEL_COMPILE_WORK_GROUP_SIZE, SIZES, sizeof(size_t) },
		{ "local-size", CL_KERNEL_LOCAL_MEM_SIZE, NUMBER, 8 },
		{ "group-multiple", CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, NUMBER,
		  sizeof(size_t) },
		{ "private-size", CL_KERNEL_PRIVATE_MEM_SIZE, NUMBER, 8 },
		{ "global-group", CL_KERNEL_GLOBAL_WORK_SIZE, SIZES, sizeof(size_t) },
		{ "spilled-size", 0x4109 /* CL_KERNEL_SPILL_MEM_SIZE_INTEL */, NUMBER, 4 },
		{ "group-unknown", 0x1, NUMBER, 4 },
	};
	const struct object object = { .kernel = kernel, .device = device };

	ASK(diff, prefix, get_group, &object, queries);
}

/* What a kernel's sub-groups are asked for, with sizes of a work-group or a count of sub-groups before it. */
struct sub_group_query {
	const char *name;
	cl_uint param;
	size_t input[3];
	unsigned int inputs, outputs;
};

static void ask_sub_group(const struct diff *diff, const char *prefix, cl_kernel kernel,
			  cl_device_id device, const struct sub_group_query *query)
{
	size_t value[3] = { UNTOUCHED_SIZE, UNTOUCHED_SIZE, UNTOUCHED_SIZE }, size = UNTOUCHED_SIZE;
	char name[128];
	cl_int error = clGetKernelSubGroupInfo(kernel, device, query->param, query->inputs * sizeof(size_t),
					       query->inputs ? query->input : NULL,
					       query->outputs * sizeof(size_t), value, &size);

	(void)snprintf(name, sizeof(name), "%s%s", prefix, query->name);
	diff_open(diff, name);
	printf(" value %d", error);
	for (unsigned int i = 0; i < query->outputs && !error; i++)
		printf(" %zu", value[i]);
	size = UNTOUCHED_SIZE;
	error = clGetKernelSubGroupInfo(kernel, device, query->param, query->inputs * sizeof(size_t),
					query->inputs ? query->input : NULL, 0, NULL, &size);
	printf(" size");
	print_size(error, error ? UNTOUCHED_SIZE : size);
	diff_close();
}

void diff_ask_sub_groups(struct diff *diff, const char *prefix, cl_kernel kernel, cl_device_id device)
{
	static const struct sub_group_query queries[] = {
		{ "sub-group-size", CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, { 64 }, 1, 1 },
		{ "sub-group-size-2", CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, { 8, 4 }, 2, 1 },
		{ "sub-group-size-3", CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, { 4, 2, 2 }, 3, 1 },
		{ "sub-group-count", CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, { 64 }, 1, 1 },
		{ "sub-group-count-3", CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, { 8, 4, 2 }, 3, 1 },
		{ "group-for-sub-groups", CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, { 2 }, 1, 1 },
		{ "group-for-sub-groups-3", CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, { 1 }, 1, 3 },
		{ "most-sub-groups", CL_KERNEL_MAX_NUM_SUB_GROUPS, { 0 }, 0, 1 },
		{ "compiled-sub-groups", CL_KERNEL_COMPILE_NUM_SUB_GROUPS, { 0 }, 0, 1 },
		{ "compiled-sub-group-size", 0x410a /* CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL */,
		  { 0 }, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		ask_sub_group(diff, prefix, kernel, device, &queries[i]);
}

void diff_ask_all(struct diff *diff, const char *prefix, cl_program program)
{
	diff_ask_program(diff, prefix, program);
	for (cl_uint i = 0; i < diff->cl.device_count; i++) {
		char name[96];

		(void)snprintf(name, sizeof(name), diff->cl.device_count > 1 ? "%sD%u-" : "%s", prefix, i);
		diff_ask_build(diff, name, program, diff->cl.devices[i]);
	}
}
