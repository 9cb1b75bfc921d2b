/* SPDX-License-Identifier: MIT */
/* stub_query: what the stub driver answers about programs and their builds. */
#include "tests/opencl/stub_driver.h"

static size_t binary_size(const struct stub_build *build)
{
	if (stub_says("STUB_NO_BINARY", "1") || atomic_load(&build->status) == CL_BUILD_IN_PROGRESS || !build->image)
		return 0;
	return strlen(STUB_BINARY_MAGIC) + strlen(build->image);
}

static cl_int answer_binaries(cl_program program, size_t size, void *ret, size_t *ret_size)
{
	size_t needed = program->device_count * sizeof(char *);
	char **slots = ret;
	FILE *file;

	if (ret && size < needed)
		return CL_INVALID_VALUE;
	if (stub_says("STUB_NO_BINARY", "error"))
		return CL_OUT_OF_RESOURCES;
	if (slots)
		stub_wait_read(program);
	file = slots && stub_is_set("STUB_READS_LATE") ? fopen("stub_late.h", "re") : NULL;
	if (file)
		(void)fclose(file);	/* only read */
	stub_program_lock();
	for (cl_uint i = 0; slots && i < program->device_count; i++) {
		struct stub_build *build = &program->builds[i];
		size_t magic = strlen(STUB_BINARY_MAGIC), len = binary_size(build);

		if (!slots[i] || !len)
			continue;
		memcpy(slots[i], STUB_BINARY_MAGIC, magic);
		memcpy(slots[i] + magic, build->image, len - magic);
	}
	stub_program_unlock();
	if (slots)
		stub_event("read-binary");
	if (ret_size)
		*ret_size = needed;
	return CL_SUCCESS;
}

/* Of what is no program, as far as there is room. */
static cl_uint told_devices(cl_program program, cl_device_id *ret)
{
	cl_uint count = 0;

	for (cl_uint i = 0; i < program->device_count && i < STUB_MAX_DEVICES; i++) {
		if (!program->tells_loaded_only || program->builds[i].image)
			ret[count++] = program->devices[i];
	}
	return count;
}

/* "a;b;c", or how many if names is NULL. */
static size_t list_kernels(const struct stub_build *build, char *names, size_t size)
{
	char name[1024];
	cl_uint arguments;
	unsigned int count = 0;

	if (names)
		*names = '\0';
	for (; stub_image_kernel(build->image, count, name, sizeof(name), &arguments); count++) {
		if (!names || strlen(names) + strlen(name) + 2 > size)
			continue;
		if (count)
			strcat(names, ";");
		strcat(names, name);
	}
	return count;
}

/* As rusticl 26 has it. */
static bool has_no_kernels(const struct stub_build *build)
{
	return stub_is_set("STUB_OBJECTS_UNBUILT") && build->type != CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
}

cl_int CL_API_CALL stub_clGetProgramInfo(cl_program program, cl_program_info name, size_t size,
					 void *ret, size_t *ret_size)
{
	struct stub_build *build;
	cl_device_id devices[STUB_MAX_DEVICES];
	size_t sizes[STUB_MAX_DEVICES], count;
	char names[8192];
	cl_uint references, device_count;
	cl_bool none = CL_FALSE;

	if (!program)
		return CL_INVALID_PROGRAM;
	if (program->dispatch != &stub_dispatch)
		abort();	/* it was released */
	build = stub_program_build(program, NULL);
	if (stub_is_set("STUB_COUNT_QUERIES"))
		stub_event("query");
	switch (name) {
	case CL_PROGRAM_REFERENCE_COUNT:
		references = atomic_load(&program->references);
		return stub_answer(&references, sizeof(references), size, ret, ret_size);
	case CL_PROGRAM_CONTEXT:
		return stub_answer(&program->context, sizeof(program->context), size, ret, ret_size);
	case CL_PROGRAM_NUM_DEVICES:
		device_count = told_devices(program, devices);
		return stub_answer(&device_count, sizeof(device_count), size, ret, ret_size);
	case CL_PROGRAM_DEVICES:
		device_count = told_devices(program, devices);
		return stub_answer(devices, device_count * sizeof(devices[0]), size, ret, ret_size);
	case CL_PROGRAM_SOURCE:
		if (!program->il)
			return stub_answer_text(program->source, size, ret, ret_size);
		/* fall through */
	case CL_PROGRAM_IL:
		return stub_answer("", 0, size, ret, ret_size);
	case CL_PROGRAM_BINARY_SIZES:
		stub_program_lock();
		for (cl_uint i = 0; i < program->device_count; i++)
			sizes[i] = binary_size(&program->builds[i]);
		stub_program_unlock();
		return stub_answer(sizes, program->device_count * sizeof(size_t), size, ret, ret_size);
	case CL_PROGRAM_BINARIES:
		return answer_binaries(program, size, ret, ret_size);
	case CL_PROGRAM_NUM_KERNELS:
		if (!build || has_no_kernels(build))
			return CL_INVALID_PROGRAM_EXECUTABLE;
		count = list_kernels(build, NULL, 0);
		if (program->loaded && stub_is_set("STUB_EACH_DEVICES_KERNELS"))
			count *= program->device_count;
		return stub_answer(&count, sizeof(count), size, ret, ret_size);
	case CL_PROGRAM_KERNEL_NAMES:
		if (!build || has_no_kernels(build))
			return CL_INVALID_PROGRAM_EXECUTABLE;
		/* As NVIDIA's driver does. */
		if (stub_is_set("STUB_NAMES_ABORT") || (list_kernels(build, names, sizeof(names)) == 0 &&
							!stub_is_set("STUB_NO_NAMES")))
			abort();
		return stub_answer_text(names, size, ret, ret_size);
	case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
		/* As rusticl 26 does. */
		if (!build)
			return CL_INVALID_PROGRAM_EXECUTABLE;
		return stub_answer(&none, sizeof(none), size, ret, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

/* STUB_NO_ANSWER names it. */
static bool has_no_answer(cl_program_build_info name)
{
	static const struct {
		const char *text;
		cl_program_build_info name;
	} names[] = {
		{ "log", CL_PROGRAM_BUILD_LOG }, { "options", CL_PROGRAM_BUILD_OPTIONS },
		{ "status", CL_PROGRAM_BUILD_STATUS }, { "type", CL_PROGRAM_BINARY_TYPE },
	};
	char text[32];

	if (!stub_setting("STUB_NO_ANSWER", text, sizeof(text)))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].name == name && strcmp(names[i].text, text) == 0)
			return true;
	}
	return false;
}

static cl_int answer_about_build(const struct stub_build *build, cl_program_build_info name,
				 size_t size, void *ret, size_t *ret_size)
{
	cl_build_status status;
	size_t variables = build->image ? strlen(build->image) : 0;

	if (has_no_answer(name))
		return CL_OUT_OF_HOST_MEMORY;
	switch (name) {
	case CL_PROGRAM_BUILD_STATUS:
		status = atomic_load(&build->status);
		return stub_answer(&status, sizeof(status), size, ret, ret_size);
	case CL_PROGRAM_BUILD_OPTIONS:
		return stub_answer_text(build->options, size, ret, ret_size);
	case CL_PROGRAM_BUILD_LOG:
		return stub_answer_text(build->log, size, ret, ret_size);
	case CL_PROGRAM_BINARY_TYPE:
		return stub_answer(&build->type, sizeof(build->type), size, ret, ret_size);
	case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE:
		return stub_answer(&variables, sizeof(variables), size, ret, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int CL_API_CALL stub_clGetProgramBuildInfo(cl_program program, cl_device_id device,
					      cl_program_build_info name, size_t size, void *ret,
					      size_t *ret_size)
{
	struct stub_build *build = NULL;
	cl_int error;

	if (!program)
		return CL_INVALID_PROGRAM;
	if (stub_is_set("STUB_COUNT_QUERIES"))
		stub_event("query");
	for (cl_uint i = 0; i < program->device_count; i++) {
		if (program->devices[i] == device)
			build = &program->builds[i];
	}
	if (!build)
		return CL_INVALID_DEVICE;
	stub_program_lock();
	error = answer_about_build(build, name, size, ret, ret_size);
	stub_program_unlock();
	return error;
}
