/* SPDX-License-Identifier: MIT */
/* stub_kernel: the stub driver's kernels, which can be asked and not run. */
#include "tests/opencl/digest.h"
#include "tests/opencl/stub_driver.h"

static cl_kernel kernel_new(cl_program program, const char *name, cl_uint arguments,
			    cl_ulong digest)
{
	cl_kernel kernel = calloc(1, sizeof(*kernel));

	if (!kernel || !(kernel->name = strdup(name)))
		abort();	/* a test driver has nothing better to do */
	kernel->dispatch = &stub_dispatch;
	atomic_init(&kernel->references, 1);
	kernel->program = program;
	kernel->arguments = arguments;
	kernel->digest = digest;
	(void)stub_clRetainProgram(program);	/* cannot fail here */
	atomic_fetch_add(&program->kernels, 1);
	return kernel;
}

static bool has_kernels(const struct stub_build *build)
{
	return build && (build->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE ||
			 !stub_is_set("STUB_STRICT_OBJECTS"));
}

/* As rusticl 26 has it. */
static struct stub_build *build_of(cl_program program)
{
	struct stub_build *build = program ? stub_program_build(program, NULL) : NULL;

	return build && build->type != CL_PROGRAM_BINARY_TYPE_EXECUTABLE &&
	       stub_is_set("STUB_OBJECTS_UNBUILT") ? NULL : build;
}

cl_kernel CL_API_CALL stub_clCreateKernel(cl_program program, const char *name, cl_int *ret_error)
{
	struct stub_build *build = build_of(program);
	cl_int error = !program ? CL_INVALID_PROGRAM : !name ? CL_INVALID_VALUE :
		       !build ? CL_INVALID_PROGRAM_EXECUTABLE : CL_INVALID_KERNEL_NAME;
	cl_kernel kernel = NULL;
	cl_uint arguments;
	char found[1024];

	for (unsigned int i = 0; has_kernels(build) && name && !kernel; i++) {
		if (!stub_image_kernel(build->image, i, found, sizeof(found), &arguments))
			break;
		if (strcmp(found, name))
			continue;
		kernel = kernel_new(program, name, arguments, digest_of(build->image));
		error = CL_SUCCESS;
	}
	if (ret_error)
		*ret_error = error;
	return kernel;
}

cl_int CL_API_CALL stub_clCreateKernelsInProgram(cl_program program, cl_uint count,
						 cl_kernel *ret_kernels, cl_uint *ret_count)
{
	struct stub_build *build = build_of(program);
	cl_uint all = 0, arguments;
	char name[1024];

	if (!program)
		return CL_INVALID_PROGRAM;
	if (!build)
		return CL_INVALID_PROGRAM_EXECUTABLE;
	while (has_kernels(build) && stub_image_kernel(build->image, all, name, sizeof(name), &arguments))
		all++;
	if (program->loaded && stub_is_set("STUB_EACH_DEVICES_KERNELS"))
		all *= program->device_count;
	if (ret_kernels && count < all)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; ret_kernels && i < all; i++) {
		bool backwards = program->loaded && stub_is_set("STUB_LOADED_BACKWARDS");

		if (!stub_image_kernel(build->image, i, name, sizeof(name), &arguments))
			abort();
		(void)stub_image_kernel(build->image, backwards ? all - 1 - i : i, name, sizeof(name), &arguments);
		ret_kernels[i] = kernel_new(program, name, arguments, digest_of(build->image));
	}
	if (ret_count)
		*ret_count = all;
	return CL_SUCCESS;
}

cl_kernel CL_API_CALL stub_clCloneKernel(cl_kernel kernel, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = kernel ? CL_SUCCESS : CL_INVALID_KERNEL;
	return kernel ? kernel_new(kernel->program, kernel->name, kernel->arguments, kernel->digest) :
			NULL;
}

cl_int CL_API_CALL stub_clRetainKernel(cl_kernel kernel)
{
	if (!kernel)
		return CL_INVALID_KERNEL;
	atomic_fetch_add(&kernel->references, 1);
	return CL_SUCCESS;
}

cl_int CL_API_CALL stub_clReleaseKernel(cl_kernel kernel)
{
	if (!kernel)
		return CL_INVALID_KERNEL;
	if (atomic_fetch_sub(&kernel->references, 1) != 1)
		return CL_SUCCESS;
	stub_event("free-kernel");
	atomic_fetch_sub(&kernel->program->kernels, 1);
	(void)stub_clReleaseProgram(kernel->program);	/* retained by kernel_new */
	free(kernel->name);
	free(kernel);
	return CL_SUCCESS;
}

cl_int CL_API_CALL stub_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size,
				       const void *value)
{
	(void)size;
	(void)value;
	if (!kernel)
		return CL_INVALID_KERNEL;
	return index < kernel->arguments ? CL_SUCCESS : CL_INVALID_ARG_INDEX;
}

static bool loses_answers(cl_kernel kernel)
{
	return kernel->program->loaded && stub_is_set("STUB_LOSE_ANSWERS");
}

cl_int CL_API_CALL stub_clGetKernelInfo(cl_kernel kernel, cl_kernel_info name, size_t size,
					void *ret, size_t *ret_size)
{
	cl_uint references;
	char attributes[64];

	if (!kernel)
		return CL_INVALID_KERNEL;
	switch (name) {
	case CL_KERNEL_FUNCTION_NAME:
		return stub_answer_text(kernel->name, size, ret, ret_size);
	case CL_KERNEL_NUM_ARGS:
		return stub_answer(&kernel->arguments, sizeof(cl_uint), size, ret, ret_size);
	case CL_KERNEL_REFERENCE_COUNT:
		references = atomic_load(&kernel->references);
		return stub_answer(&references, sizeof(references), size, ret, ret_size);
	case CL_KERNEL_CONTEXT:
		return stub_answer(&kernel->program->context, sizeof(cl_context), size, ret, ret_size);
	case CL_KERNEL_PROGRAM:
		return stub_answer(&kernel->program, sizeof(cl_program), size, ret, ret_size);
	case CL_KERNEL_ATTRIBUTES:
		if (loses_answers(kernel))
			return stub_answer_text("", size, ret, ret_size);
		(void)snprintf(attributes, sizeof(attributes), "digest(%u) %s",
			       (unsigned int)kernel->digest, kernel->name);
		return stub_answer_text(attributes, size, ret, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int CL_API_CALL stub_clGetKernelArgInfo(cl_kernel kernel, cl_uint index,
					   cl_kernel_arg_info name, size_t size, void *ret,
					   size_t *ret_size)
{
	char text[32];

	if (!kernel)
		return CL_INVALID_KERNEL;
	if (index >= kernel->arguments)
		return CL_INVALID_ARG_INDEX;
	(void)snprintf(text, sizeof(text), "argument%u", index);
	if (name == CL_KERNEL_ARG_NAME)
		return stub_answer_text(text, size, ret, ret_size);
	if (name == CL_KERNEL_ARG_TYPE_NAME)
		return stub_answer_text("int", size, ret, ret_size);
	return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
}

cl_int CL_API_CALL stub_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
						 cl_kernel_work_group_info name, size_t size,
						 void *ret, size_t *ret_size)
{
	size_t group = 64, reqd[3] = { 0, 0, 0 };
	cl_ulong local = 0;

	if (!kernel)
		return CL_INVALID_KERNEL;
	if (!device)
		device = kernel->program->devices[0];
	switch (name) {
	case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
		group = loses_answers(kernel) ? 0 : 16 + device->index;
		return stub_answer(&group, sizeof(group), size, ret, ret_size);
	case CL_KERNEL_WORK_GROUP_SIZE:
		return stub_answer(&group, sizeof(group), size, ret, ret_size);
	case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
		return stub_answer(reqd, sizeof(reqd), size, ret, ret_size);
	case CL_KERNEL_LOCAL_MEM_SIZE:
		return stub_answer(&local, sizeof(local), size, ret, ret_size);
	case CL_KERNEL_PRIVATE_MEM_SIZE:
		return stub_answer(&kernel->digest, sizeof(kernel->digest), size, ret, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}
