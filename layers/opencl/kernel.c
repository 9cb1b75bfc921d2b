/* SPDX-License-Identifier: MIT */
/* kernel: creation from P or E, and reference counts. */
#include "layers/opencl/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "layers/opencl/dispatch.h"

static void destroy_kernel(struct ocl_object *object)
{
	struct ocl_kernel *kernel = (struct ocl_kernel *)object;

	ocl_effective_unref(kernel->effective);
	ocl_program_unref(kernel->program);
	free(kernel);
}

struct ocl_kernel *ocl_kernel_find(cl_kernel handle)
{
	if (!ocl_layer.cache)
		return NULL;
	return (struct ocl_kernel *)ocl_objects_find(OCL_KERNELS, handle);
}

void ocl_kernel_unref(struct ocl_kernel *kernel)
{
	if (kernel)
		ocl_object_unref(&kernel->object);
}

/* false: out of memory, the kernel is unknown to the layer. */
static bool remember_kernel(cl_kernel handle, struct ocl_program *program,
			    struct ocl_effective *effective)
{
	struct ocl_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return false;
	ocl_object_init(&kernel->object, handle, destroy_kernel);
	ocl_object_ref(&program->object);
	kernel->program = program;
	kernel->effective = ocl_effective_ref(effective);
	kernel->app_refs = 1;
	ocl_program_add_kernel(program, ocl_effective_has_kernels(effective));
	if (ocl_objects_add(OCL_KERNELS, &kernel->object))
		return true;
	ocl_program_drop_kernel(program, ocl_effective_has_kernels(effective));
	ocl_kernel_unref(kernel);
	return false;
}

cl_kernel CL_API_CALL ocl_clCreateKernel(cl_program handle, const char *kernel_name,
					 cl_int *errcode_ret)
{
	struct ocl_program *program = ocl_program_find(handle);
	struct ocl_effective *effective;
	cl_kernel kernel;

	if (!program)
		return OCL_NEXT.clCreateKernel(handle, kernel_name, errcode_ret);
	effective = ocl_program_effective(program);
	kernel = OCL_NEXT.clCreateKernel(ocl_effective_target(effective, handle), kernel_name, errcode_ret);
	if (kernel && !remember_kernel(kernel, program, effective) &&
	    ocl_effective_has_kernels(effective)) {
		/* Without a record it would show E to the application. */
		(void)OCL_NEXT.clReleaseKernel(kernel);
		kernel = NULL;
		if (errcode_ret)
			*errcode_ret = CL_OUT_OF_HOST_MEMORY;
	}
	ocl_effective_unref(effective);
	ocl_program_unref(program);
	return kernel;
}

/* Where name stands in a list separated by semicolons; its number of names if it is not there. */
static cl_uint place_of(const char *name, struct cmn_view names)
{
	const char *list = names.data;
	size_t len = strlen(name), at = 0;
	cl_uint place = 0;

	while (at < names.len && list[at]) {
		size_t end = at;

		while (end < names.len && list[end] && list[end] != ';')
			end++;
		if (end - at == len && memcmp(list + at, name, len) == 0)
			return place;
		place++;
		at = end < names.len && list[end] == ';' ? end + 1 : end;
	}
	return place;
}

/* Puts E's kernels in the order that P would have given; leaves them where that cannot be told. */
static void order_kernels(const struct ocl_effective *effective, cl_uint count, cl_kernel *kernels)
{
	cl_kernel *ordered = calloc(count, sizeof(*ordered));
	struct cmn_view names;
	cl_uint placed = 0;

	if (!ordered || !cc_entry_find(effective->entry, OCL_TAG_KERNEL_NAMES, 0, &names))
		goto out;
	for (cl_uint i = 0; i < count; i++) {
		char name[1024];
		cl_uint place;

		if (OCL_NEXT.clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof(name),
					     name, NULL) != CL_SUCCESS)
			goto out;
		place = place_of(name, names);
		if (place >= count || ordered[place])
			goto out;
		ordered[place] = kernels[i];
		placed++;
	}
	if (placed == count)
		memcpy(kernels, ordered, count * sizeof(*ordered));
out:
	free(ordered);
}

cl_int CL_API_CALL ocl_clCreateKernelsInProgram(cl_program handle, cl_uint num_kernels,
						cl_kernel *kernels, cl_uint *num_kernels_ret)
{
	struct ocl_program *program = ocl_program_find(handle);
	struct ocl_effective *effective;
	cl_uint count = 0;
	cl_int error;

	if (!program)
		return OCL_NEXT.clCreateKernelsInProgram(handle, num_kernels, kernels,
							 num_kernels_ret);
	effective = ocl_program_effective(program);
	error = OCL_NEXT.clCreateKernelsInProgram(ocl_effective_target(effective, handle), num_kernels,
						  kernels, &count);
	if (error == CL_SUCCESS && num_kernels_ret)
		*num_kernels_ret = count;
	if (error == CL_SUCCESS && kernels && effective && count)
		order_kernels(effective, count, kernels);
	for (cl_uint i = 0; error == CL_SUCCESS && kernels && i < count; i++) {
		if (remember_kernel(kernels[i], program, effective) ||
		    !ocl_effective_has_kernels(effective))
			continue;
		for (cl_uint j = 0; j < i; j++)
			(void)ocl_clReleaseKernel(kernels[j]);
		for (cl_uint j = i; j < count; j++)
			(void)OCL_NEXT.clReleaseKernel(kernels[j]);
		error = CL_OUT_OF_HOST_MEMORY;
	}
	ocl_effective_unref(effective);
	ocl_program_unref(program);
	return error;
}

cl_kernel CL_API_CALL ocl_clCloneKernel(cl_kernel source_kernel, cl_int *errcode_ret)
{
	struct ocl_kernel *source = ocl_kernel_find(source_kernel);
	cl_kernel clone = OCL_NEXT.clCloneKernel(source_kernel, errcode_ret);

	if (clone && source && !remember_kernel(clone, source->program, source->effective) &&
	    ocl_effective_has_kernels(source->effective)) {
		(void)OCL_NEXT.clReleaseKernel(clone);
		clone = NULL;
		if (errcode_ret)
			*errcode_ret = CL_OUT_OF_HOST_MEMORY;
	}
	ocl_kernel_unref(source);
	return clone;
}

cl_int CL_API_CALL ocl_clRetainKernel(cl_kernel handle)
{
	struct ocl_kernel *kernel;
	cl_int error = OCL_NEXT.clRetainKernel(handle);

	if (error != CL_SUCCESS || !ocl_layer.cache)
		return error;
	ocl_objects_lock();
	kernel = (struct ocl_kernel *)ocl_objects_find_locked(OCL_KERNELS, handle);
	if (kernel)
		kernel->app_refs++;
	ocl_objects_unlock();
	ocl_kernel_unref(kernel);
	return error;
}

cl_int CL_API_CALL ocl_clReleaseKernel(cl_kernel handle)
{
	struct ocl_kernel *kernel = NULL;
	struct ocl_program *program;
	bool last = false, of_effective;
	cl_int error;

	if (ocl_layer.cache) {
		ocl_objects_lock();
		kernel = (struct ocl_kernel *)ocl_objects_find_locked(OCL_KERNELS, handle);
		if (kernel && --kernel->app_refs == 0) {
			last = true;
			ocl_objects_remove_locked(OCL_KERNELS, &kernel->object);
		}
		ocl_objects_unlock();
	}
	error = OCL_NEXT.clReleaseKernel(handle);
	if (!kernel)
		return error;
	if (last) {
		program = kernel->program;
		of_effective = ocl_effective_has_kernels(kernel->effective);
		ocl_object_ref(&program->object);
		ocl_object_unref(&kernel->object);	/* the map's; E goes before P */
		ocl_kernel_unref(kernel);
		ocl_program_drop_kernel(program, of_effective);
		ocl_program_unref(program);
	} else {
		ocl_kernel_unref(kernel);
	}
	return error;
}
