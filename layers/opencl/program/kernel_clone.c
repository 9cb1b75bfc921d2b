/* SPDX-License-Identifier: MIT */
/* kernel_clone: by name, in a table of the E's, guarded by the layer's lock. */
#include "layers/opencl/program/kernel_clone.h"

#include <stdlib.h>
#include <string.h>

#include "layers/opencl/program/objects.h"

struct ocl_kernel_clone {
	UT_hash_handle hh;
	unsigned int creations;	/* so far, up to the one that made the kernel */
	cl_kernel kernel;	/* NULL: none yet */
	char name[];
};

static struct ocl_kernel_clone *find(struct ocl_loaded_program *effective, const char *name)
{
	struct ocl_kernel_clone *prototype;

	HASH_FIND(hh, effective->prototypes, name, strlen(name), prototype);
	return prototype;
}

/* uthash is told not to end the application for want of memory; hh.tbl tells. */
static struct ocl_kernel_clone *add(struct ocl_loaded_program *effective, const char *name)
{
	size_t len = strlen(name);
	struct ocl_kernel_clone *prototype = calloc(1, sizeof(*prototype) + len + 1);

	if (!prototype)
		return NULL;
	memcpy(prototype->name, name, len + 1);
	HASH_ADD_KEYPTR(hh, effective->prototypes, prototype->name, len, prototype);
	if (!prototype->hh.tbl) {
		free(prototype);
		return NULL;
	}
	return prototype;
}

/* A kernel of that name was created, so there is one. The record, if its time has come to get a clone. */
static struct ocl_kernel_clone *note_creation(struct ocl_loaded_program *effective, const char *name)
{
	struct ocl_kernel_clone *prototype;
	bool again;

	ocl_objects_lock();
	prototype = find(effective, name);
	if (!prototype)
		prototype = add(effective, name);
	again = prototype && !prototype->kernel && ++prototype->creations == 2;
	ocl_objects_unlock();
	return again ? prototype : NULL;
}

/* A clone of a kernel that the application has not seen yet becomes the prototype. */
static void keep_clone(struct ocl_loaded_program *effective, struct ocl_kernel_clone *prototype,
		       cl_kernel kernel)
{
	cl_int error = CL_SUCCESS;
	cl_kernel clone = OCL_NEXT.clCloneKernel(kernel, &error);

	if (!clone || error != CL_SUCCESS)
		return;
	ocl_objects_lock();
	if (!prototype->kernel) {
		prototype->kernel = clone;
		effective->prototype_count++;
		clone = NULL;
	}
	ocl_objects_unlock();
	if (clone)
		(void)OCL_NEXT.clReleaseKernel(clone);	/* another thread was faster */
}

cl_kernel ocl_kernel_clone_create_kernel(struct ocl_loaded_program *effective, const char *name,
				      cl_int *errcode_ret)
{
	struct ocl_kernel_clone *prototype;
	cl_kernel pristine = NULL, kernel;
	cl_int error = CL_SUCCESS;

	ocl_objects_lock();
	prototype = find(effective, name);
	if (prototype)
		pristine = prototype->kernel;
	ocl_objects_unlock();
	if (pristine) {
		kernel = OCL_NEXT.clCloneKernel(pristine, &error);
		if (kernel && error == CL_SUCCESS) {
			if (errcode_ret)
				*errcode_ret = CL_SUCCESS;
			return kernel;
		}
	}
	kernel = OCL_NEXT.clCreateKernel(effective->handle, name, errcode_ret);
	prototype = kernel && !pristine ? note_creation(effective, name) : NULL;
	if (prototype)
		keep_clone(effective, prototype, kernel);
	return kernel;
}

cl_uint ocl_kernel_clones_count(const struct ocl_loaded_program *effective)
{
	cl_uint count;

	ocl_objects_lock();
	count = effective->prototype_count;
	ocl_objects_unlock();
	return count;
}

void ocl_kernel_clones_release(struct ocl_loaded_program *effective)
{
	struct ocl_kernel_clone *prototype, *next;

	HASH_ITER(hh, effective->prototypes, prototype, next) {
		HASH_DEL(effective->prototypes, prototype); /* NOLINT(clang-analyzer-unix.Malloc): the analyzer loses track of uthash */
		if (prototype->kernel)
			(void)OCL_NEXT.clReleaseKernel(prototype->kernel);	/* nobody to tell */
		free(prototype);
	}
}
