/* SPDX-License-Identifier: MIT */
/* kernel_clone: by name, in a table for each program, guarded by the layer's lock. */
#include "layers/opencl/program/kernel_clone.h"

#include <stdlib.h>
#include <string.h>

#include "layers/opencl/program/objects.h"

struct ocl_kernel_clone {
	UT_hash_handle hh;
	unsigned int creations;	/* so far, up to the one that made the kernel */
	cl_kernel kernel;	/* that nobody has touched; NULL: none yet */
	char name[];
};

static struct ocl_kernel_clone *find(struct ocl_kernel_clones *clones, const char *name)
{
	struct ocl_kernel_clone *record;

	HASH_FIND(hh, clones->by_name, name, strlen(name), record);
	return record;
}

/* uthash is told not to end the application for want of memory; hh.tbl tells. */
static struct ocl_kernel_clone *add(struct ocl_kernel_clones *clones, const char *name)
{
	size_t len = strlen(name);
	struct ocl_kernel_clone *record = calloc(1, sizeof(*record) + len + 1);

	if (!record)
		return NULL;
	memcpy(record->name, name, len + 1);
	HASH_ADD_KEYPTR(hh, clones->by_name, record->name, len, record);
	if (!record->hh.tbl) {
		free(record);
		return NULL;
	}
	return record;
}

/* A kernel of that name was created, so there is one. The record, if its time has come to get a clone. */
static struct ocl_kernel_clone *note_creation(struct ocl_kernel_clones *clones, const char *name)
{
	struct ocl_kernel_clone *record;
	bool again;

	ocl_objects_lock();
	record = find(clones, name);
	if (!record)
		record = add(clones, name);
	again = record && !record->kernel && ++record->creations == 2;
	ocl_objects_unlock();
	return again ? record : NULL;
}

/* A clone of a kernel that the application has not seen yet is the one to clone from. */
static void keep_clone(struct ocl_kernel_clones *clones, struct ocl_kernel_clone *record,
		       cl_kernel kernel)
{
	cl_kernel clone = OCL_NEXT.clCloneKernel(kernel, NULL);

	if (!clone)
		return;
	ocl_objects_lock();
	if (!record->kernel) {
		record->kernel = clone;
		clones->count++;
		clone = NULL;
	}
	ocl_objects_unlock();
	if (clone)
		(void)OCL_NEXT.clReleaseKernel(clone);	/* another thread was faster */
}

cl_kernel ocl_kernel_clone_create_kernel(struct ocl_kernel_clones *clones, cl_program program,
					 const char *name, cl_int *errcode_ret)
{
	struct ocl_kernel_clone *record;
	cl_kernel pristine = NULL, kernel;

	ocl_objects_lock();
	record = find(clones, name);
	if (record)
		pristine = record->kernel;
	ocl_objects_unlock();
	if (pristine) {
		kernel = OCL_NEXT.clCloneKernel(pristine, errcode_ret);
		if (kernel)
			return kernel;
	}
	kernel = OCL_NEXT.clCreateKernel(program, name, errcode_ret);
	record = kernel && !pristine ? note_creation(clones, name) : NULL;
	if (record)
		keep_clone(clones, record, kernel);
	return kernel;
}

cl_uint ocl_kernel_clones_count(const struct ocl_kernel_clones *clones)
{
	cl_uint count;

	ocl_objects_lock();
	count = clones->count;
	ocl_objects_unlock();
	return count;
}

void ocl_kernel_clones_release(struct ocl_kernel_clones *clones)
{
	struct ocl_kernel_clone *record, *next;

	HASH_ITER(hh, clones->by_name, record, next) {
		HASH_DEL(clones->by_name, record); /* NOLINT(clang-analyzer-unix.Malloc): the analyzer loses track of uthash */
		if (record->kernel)
			(void)OCL_NEXT.clReleaseKernel(record->kernel);	/* nobody to tell */
		free(record);
	}
}
