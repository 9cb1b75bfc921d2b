/* SPDX-License-Identifier: MIT */
/*
 * query: questions about a program and its kernels after a hit. What the binary
 * decides, the loaded program answers; what a binary loses, the entry answers;
 * the rest the application's program does.
 */
#include <stdlib.h>
#include <string.h>

#include "layers/opencl/program/binaries.h"
#include "common/cancel.h"
#include "layers/opencl/hooks/dispatch.h"

/* Answers from stored bytes as every clGet…Info does. */
static cl_int give(struct cmn_view value, size_t size, void *ret_value, size_t *ret_size)
{
	if (ret_value) {
		if (size < value.len)
			return CL_INVALID_VALUE;
		memcpy(ret_value, value.data, value.len);
	}
	if (ret_size)
		*ret_size = value.len;
	return CL_SUCCESS;
}

static cl_uint driver_program_refs(cl_program program)
{
	cl_uint refs = 0;

	(void)OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(refs), &refs,
					NULL);	/* 0 where the driver cannot tell */
	return refs;
}

/*
 * Drivers count a program's kernels as references to it; the loaded program's
 * would have been the application's program's. The first reference to the
 * loaded one is the layer's own, and so is one to the other where the layer
 * keeps it for kernels that the application still has.
 */
static cl_int give_program_refs(struct ocl_program *program, struct ocl_loaded_program *loaded,
				size_t size, void *ret_value, size_t *ret_size)
{
	cl_uint refs = driver_program_refs(program->object.handle) +
		       driver_program_refs(loaded->handle) - 1 -
		       ocl_kernel_clones_count(&loaded->clones);

	ocl_object_lock(&program->object);
	if (program->held)
		refs--;
	ocl_object_unlock(&program->object);
	return give((struct cmn_view){ &refs, sizeof(refs) }, size, ret_value, ret_size);
}

static cl_int ask_stand_in(struct ocl_program *program, struct ocl_loaded_program *loaded,
			   cl_program_info param_name, size_t size, void *ret_value,
			   size_t *ret_size)
{
	struct ocl_original *original = ocl_program_original(program);
	cl_program stand_in = ocl_loaded_program_stand_in(loaded, original, program->context);

	ocl_original_unref(original);
	if (!stand_in)
		return CL_INVALID_PROGRAM_EXECUTABLE;
	return OCL_NEXT.clGetProgramInfo(stand_in, param_name, size, ret_value, ret_size);
}

/*
 * What clGetProgramInfo said of the kernels of something that is not an
 * executable. Where that was an error, the application's program, which has
 * none either, knows which error goes first.
 */
static cl_int give_object_kernels(struct ocl_program *program, struct ocl_loaded_program *loaded,
				  cl_program_info param_name, size_t size, void *ret_value,
				  size_t *ret_size)
{
	struct cmn_view count, answer = { 0 };
	cl_int error = CL_INVALID_PROGRAM_EXECUTABLE;

	if (cc_entry_find(loaded->entry, OCL_TAG_NUM_KERNELS, 0, &count) &&
	    count.len >= sizeof(error)) {
		memcpy(&error, count.data, sizeof(error));
		answer.data = (const uint8_t *)count.data + sizeof(error);
		answer.len = count.len - sizeof(error);
	}
	/* They were not asked for. */
	if (error == CL_SUCCESS && param_name == CL_PROGRAM_KERNEL_NAMES &&
	    !cc_entry_find(loaded->entry, OCL_TAG_KERNEL_NAMES, 0, &answer))
		return ask_stand_in(program, loaded, param_name, size, ret_value, ret_size);
	if (error == CL_SUCCESS)
		return give(answer, size, ret_value, ret_size);
	if (!loaded->own) {
		cl_int of_program = OCL_NEXT.clGetProgramInfo(program->object.handle, param_name, size, ret_value,
							      ret_size);

		error = of_program == CL_SUCCESS ? error : of_program;
	}
	return error;
}

static cl_int get_loaded_info(struct ocl_program *program, struct ocl_loaded_program *loaded,
			      cl_program_info param_name, size_t size, void *ret_value,
			      size_t *ret_size)
{
	cl_program handle = program->object.handle;
	struct cmn_view names;
	size_t count;
	cl_int error;

	switch (param_name) {
	case CL_PROGRAM_BINARY_SIZES:
	case CL_PROGRAM_BINARIES:
		return ocl_binaries_get(handle, loaded, param_name, size, ret_value, ret_size);
	case CL_PROGRAM_REFERENCE_COUNT:
		if (!loaded->own)
			return give_program_refs(program, loaded, size, ret_value, ret_size);
		break;
	case CL_PROGRAM_KERNEL_NAMES:
		if (loaded->kind == OCL_LOADED_EXECUTABLE &&
		    cc_entry_find(loaded->entry, OCL_TAG_KERNEL_NAMES, 0, &names))
			return give(names, size, ret_value, ret_size);
		/* fall through */
	case CL_PROGRAM_NUM_KERNELS:
		if (loaded->kind == OCL_LOADED_OBJECT)
			return give_object_kernels(program, loaded, param_name, size, ret_value,
						   ret_size);
		/* NEO counts those of each device. */
		count = loaded->num_devices > 1 && param_name == CL_PROGRAM_NUM_KERNELS ?
				ocl_loaded_program_kernel_names(loaded, &names) : 0;
		if (count)
			return give((struct cmn_view){ &count, sizeof(count) }, size, ret_value, ret_size);
		handle = loaded->handle;
		break;
	case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
	case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT:
		/* Of an object, too. Where it has no answer (rusticl 26), what was compiled has. */
		error = OCL_NEXT.clGetProgramInfo(loaded->handle, param_name, size, ret_value,
						  ret_size);
		if (error == CL_INVALID_PROGRAM_EXECUTABLE &&
		    loaded->kind == OCL_LOADED_OBJECT)
			error = ask_stand_in(program, loaded, param_name, size, ret_value,
					     ret_size);
		return error;
	default:
		break;
	}
	return OCL_NEXT.clGetProgramInfo(handle, param_name, size, ret_value, ret_size);
}

/*
 * Whether the program has no binaries to give. rusticl ends the process when it is asked
 * for those of a program that was never built, which only the layer makes
 * possible where the application's first build was a hit and a later one failed.
 */
static bool has_no_binaries(struct ocl_program *program)
{
	size_t sizes[64] = { 0 }, size = 0;
	bool lost;

	ocl_object_lock(&program->object);
	lost = program->lost_loaded;
	ocl_object_unlock(&program->object);
	if (!lost || OCL_NEXT.clGetProgramInfo(program->object.handle, CL_PROGRAM_BINARY_SIZES,
					       sizeof(sizes), sizes, &size) != CL_SUCCESS)
		return false;
	for (size_t i = 0; i < size / sizeof(sizes[0]); i++) {
		if (sizes[i])
			return false;
	}
	return true;
}

/* The answer to CL_PROGRAM_BINARIES then: nothing is written behind the pointers. */
static cl_int give_no_binaries(struct ocl_program *program, size_t size, const void *value,
			       size_t *ret_size)
{
	size_t needed = 0;
	cl_int error = OCL_NEXT.clGetProgramInfo(program->object.handle, CL_PROGRAM_BINARY_SIZES,
						 0, NULL, &needed);

	/* As many pointers as sizes, and both are of one length. */
	if (error == CL_SUCCESS && value && size < needed)
		error = CL_INVALID_VALUE;
	if (error == CL_SUCCESS && ret_size)
		*ret_size = needed;
	return error;
}

cl_int CL_API_CALL ocl_clGetProgramInfo(cl_program handle, cl_program_info param_name,
					size_t param_value_size, void *param_value,
					size_t *param_value_size_ret)
{
	CMN_NOT_CANCELLED;
	struct ocl_program *program = ocl_program_find(handle);
	struct ocl_loaded_program *loaded = program ? ocl_program_loaded(program) : NULL;
	cl_int error;

	if (loaded && loaded->kind == OCL_LOADED_FAILURE && program->text &&
	    (param_name == CL_PROGRAM_BINARY_SIZES || param_name == CL_PROGRAM_BINARIES))
		ocl_build_failure(program, loaded);
	if (loaded && loaded->kind != OCL_LOADED_FAILURE)
		error = get_loaded_info(program, loaded, param_name, param_value_size,
					param_value, param_value_size_ret);
	else if (program && !loaded && param_name == CL_PROGRAM_BINARIES &&
		 has_no_binaries(program))
		error = give_no_binaries(program, param_value_size, param_value,
					 param_value_size_ret);
	else
		error = OCL_NEXT.clGetProgramInfo(handle, param_name, param_value_size,
						  param_value, param_value_size_ret);
	ocl_loaded_program_unref(loaded);
	ocl_program_unref(program);
	return error;
}

/* What the entry says; false: one of the programs is to be asked. */
static bool find_build_info(const struct ocl_loaded_program *loaded, cl_uint place,
			    cl_program_build_info param_name, struct cmn_view *ret)
{
	bool executable = loaded->kind == OCL_LOADED_EXECUTABLE;

	switch (param_name) {
	case CL_PROGRAM_BUILD_LOG:
		return cc_entry_find(loaded->entry, OCL_TAG_LOG, place, ret);
	case CL_PROGRAM_BUILD_OPTIONS:
		return cc_entry_find(loaded->entry, OCL_TAG_OPTIONS, place, ret);
	case CL_PROGRAM_BUILD_STATUS:
		return !executable && cc_entry_find(loaded->entry, OCL_TAG_STATUS, place, ret);
	case CL_PROGRAM_BINARY_TYPE:
		return !executable &&
		       cc_entry_find(loaded->entry, OCL_TAG_BINARY_TYPE, place, ret);
	default:
		return false;
	}
}

/* The status that the build left of a device that it was not for. */
static bool find_other_status(cl_program handle, const struct ocl_loaded_program *loaded,
			      cl_device_id device, struct cmn_view *ret)
{
	cl_device_id devices[64];
	size_t size = 0;

	if (OCL_NEXT.clGetProgramInfo(handle, CL_PROGRAM_DEVICES, sizeof(devices), devices,
				      &size) != CL_SUCCESS)
		return false;
	for (uint32_t i = 0; i < size / sizeof(devices[0]); i++) {
		if (devices[i] == device)
			return cc_entry_find(loaded->entry, OCL_TAG_OTHER_STATUS, i, ret);
	}
	return false;
}

cl_int CL_API_CALL ocl_clGetProgramBuildInfo(cl_program handle, cl_device_id device,
					     cl_program_build_info param_name,
					     size_t param_value_size, void *param_value,
					     size_t *param_value_size_ret)
{
	CMN_NOT_CANCELLED;
	struct ocl_program *program = ocl_program_find(handle);
	struct ocl_loaded_program *loaded = program ? ocl_program_loaded(program) : NULL;
	cl_program target = handle;
	struct cmn_view stored = { 0 };
	bool found = false;
	cl_int error;

	if (loaded) {
		cl_uint place = ocl_loaded_program_place(loaded, device);

		/* Of a device that it was not built for, the application's program knows as much. */
		if (place < loaded->num_devices) {
			found = find_build_info(loaded, place, param_name, &stored);
			target = ocl_loaded_program_target(loaded, handle);
		} else if (param_name == CL_PROGRAM_BUILD_STATUS) {
			found = find_other_status(handle, loaded, device, &stored);
		}
	}
	if (found)
		error = give(stored, param_value_size, param_value, param_value_size_ret);
	else
		error = OCL_NEXT.clGetProgramBuildInfo(target, device, param_name,
						       param_value_size, param_value,
						       param_value_size_ret);
	/* That the program was never built may be what a driver sees before it sees a bad device. */
	if (error == CL_INVALID_PROGRAM && loaded && loaded->handle && target == handle)
		error = OCL_NEXT.clGetProgramBuildInfo(loaded->handle, device, param_name,
						       param_value_size, param_value,
						       param_value_size_ret);
	ocl_loaded_program_unref(loaded);
	ocl_program_unref(program);
	return error;
}

/* What is stored for a kernel of that name; nothing is where the driver's binaries keep it. */
static bool find_answer(const struct ocl_kernel *kernel, uint32_t tag, struct cmn_view *ret)
{
	const struct cc_entry *entry = kernel->loaded->entry;
	char few[OCL_FEW_NAME], *name;
	struct cmn_view stored;
	bool found = false;

	if (!cc_entry_find(entry, OCL_TAG_KERNEL_NAME, 0, &stored))
		return false;
	name = ocl_kernel_name(kernel->object.handle, few);
	if (!name)
		return false;
	for (uint32_t i = 0; cc_entry_find(entry, OCL_TAG_KERNEL_NAME, i, &stored); i++) {
		if (cmn_view_equal(stored, (struct cmn_view){ name, strlen(name) + 1 })) {
			found = cc_entry_find(entry, tag, i, ret);
			break;
		}
	}
	if (name != few)
		free(name);
	return found;
}

/* A device that need not be named is the only one. */
static bool find_multiple(const struct ocl_kernel *kernel, cl_device_id device, size_t *ret)
{
	const struct ocl_loaded_program *loaded = kernel->loaded;
	cl_uint place = device || loaded->num_devices > 1 ?
				ocl_loaded_program_place(loaded, device) : 0;
	struct cmn_view stored;
	uint64_t multiple;

	if (place >= loaded->num_devices ||
	    !find_answer(kernel, OCL_TAG_KERNEL_MULTIPLE, &stored) ||
	    stored.len != loaded->num_devices * sizeof(multiple))
		return false;
	memcpy(&multiple, (const uint8_t *)stored.data + place * sizeof(multiple), sizeof(multiple));
	*ret = (size_t)multiple;
	return true;
}

cl_int CL_API_CALL ocl_clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device,
						cl_kernel_work_group_info param_name,
						size_t param_value_size, void *param_value,
						size_t *param_value_size_ret)
{
	struct ocl_kernel *kernel = NULL;
	size_t multiple;
	cl_int error;

	if (param_name == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE)
		kernel = ocl_kernel_find(handle);
	if (kernel && kernel->loaded && find_multiple(kernel, device, &multiple))
		error = give((struct cmn_view){ &multiple, sizeof(multiple) }, param_value_size,
			     param_value, param_value_size_ret);
	else
		error = OCL_NEXT.clGetKernelWorkGroupInfo(handle, device, param_name,
							  param_value_size, param_value,
							  param_value_size_ret);
	ocl_kernel_unref(kernel);
	return error;
}

cl_int CL_API_CALL ocl_clGetKernelInfo(cl_kernel handle, cl_kernel_info param_name,
				       size_t param_value_size, void *param_value,
				       size_t *param_value_size_ret)
{
	struct ocl_kernel *kernel = NULL;
	struct cmn_view answer = { 0 };
	bool found = false;
	cl_int error;

	if (param_name == CL_KERNEL_PROGRAM || param_name == CL_KERNEL_ATTRIBUTES)
		kernel = ocl_kernel_find(handle);
	if (kernel && kernel->loaded && param_name == CL_KERNEL_PROGRAM) {
		answer = (struct cmn_view){ &kernel->program->object.handle, sizeof(cl_program) };
		found = true;
	} else if (kernel && kernel->loaded) {
		found = find_answer(kernel, OCL_TAG_KERNEL_ATTRIBUTES, &answer);
	}
	if (found)
		error = give(answer, param_value_size, param_value, param_value_size_ret);
	else
		error = OCL_NEXT.clGetKernelInfo(handle, param_name, param_value_size, param_value,
						 param_value_size_ret);
	ocl_kernel_unref(kernel);
	return error;
}
