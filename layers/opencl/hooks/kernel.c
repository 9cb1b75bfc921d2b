/* SPDX-License-Identifier: MIT */
/* kernel: creation from the program or the loaded one, and reference counts. */
#include "layers/opencl/hooks/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/observer/observer.h"

/* The loaded program goes before the application's. */
static void forget_kernel(struct ocl_program *program, struct ocl_loaded_program *loaded,
			  bool of_loaded)
{
	ocl_loaded_program_unref(loaded);
	ocl_program_drop_kernel(program, of_loaded);
	ocl_program_unref(program);
}

static void destroy_kernel(struct ocl_object *object)
{
	struct ocl_kernel *kernel = (struct ocl_kernel *)object;
	struct ocl_program *program = kernel->program;
	struct ocl_loaded_program *loaded = kernel->loaded;

	free(kernel);
	forget_kernel(program, loaded, ocl_loaded_program_has_kernels(loaded));
}

struct ocl_kernel *ocl_kernel_find(cl_kernel handle)
{
	return (struct ocl_kernel *)ocl_objects_find(OCL_KERNELS, handle);
}

void ocl_kernel_unref(struct ocl_kernel *kernel)
{
	if (kernel)
		ocl_object_unref(&kernel->object);
}

/*
 * Takes the references to program and loaded, and the kernel's place among
 * the program's live ones. false: out of memory; the kernel is unknown to the
 * layer, and what would have been taken is still the caller's.
 */
static bool remember_kernel(cl_kernel handle, struct ocl_program *program,
			    struct ocl_loaded_program *loaded)
{
	struct ocl_kernel *kernel = malloc(sizeof(*kernel));

	if (!kernel)
		return false;
	ocl_object_init(&kernel->object, handle, destroy_kernel);
	kernel->program = program;
	kernel->loaded = loaded;
	if (ocl_objects_add(OCL_KERNELS, &kernel->object))
		return true;
	free(kernel);
	return false;
}

/* The same with references of the kernel's own. */
static bool remember_one_more(cl_kernel handle, struct ocl_program *program,
			      struct ocl_loaded_program *loaded)
{
	bool of_loaded = ocl_loaded_program_has_kernels(loaded);

	ocl_object_ref(&program->object);
	ocl_program_add_kernel(program, of_loaded);
	if (remember_kernel(handle, program, ocl_loaded_program_ref(loaded)))
		return true;
	forget_kernel(program, loaded, of_loaded);
	return false;
}

/*
 * The program that kernels are asked of. What was loaded in place of a compiled
 * object or a library may be a program with kernels to its driver, and the
 * application's was never compiled: which error there is only the original
 * knows, or the driver is known to give that of a program that was never built. NULL: that is the
 * answer, and there is nothing to ask.
 */
static cl_program find_target(struct ocl_program *program, struct ocl_loaded_program *loaded)
{
	cl_program handle = program->object.handle, stand_in;
	struct ocl_original *original;

	if (!loaded || loaded->kind != OCL_LOADED_OBJECT)
		return ocl_loaded_program_target(loaded, handle);
	if (loaded->driver->objects_as_unbuilt)
		return loaded->own ? NULL : handle;
	original = ocl_program_original(program);
	stand_in = ocl_loaded_program_stand_in(loaded, original, program->context);
	ocl_original_unref(original);
	return stand_in || loaded->own ? stand_in : handle;
}

/*
 * A kernel of the loaded program without a record would show that program to
 * the application, and failing for want of the layer's memory is worse: the
 * application's is built as it would have been without a layer, and its kernels
 * need no record. false: the driver would not,
 * or another thread is at it.
 */
static bool fall_back(struct ocl_program *program)
{
	struct ocl_loaded_program *loaded;
	cl_int error = CL_SUCCESS;

	/* Not waited for: who builds may wait in the driver for the callback that calls here. */
	if (!ocl_program_try_begin(program))
		return false;
	loaded = ocl_program_take_loaded(program);
	drv_environment_note_build();
	drv_observer_miss();
	if (loaded)
		error = OCL_NEXT.clBuildProgram(program->object.handle, loaded->num_devices,
						loaded->devices, loaded->options, NULL, NULL);
	if (error == CL_SUCCESS)
		ocl_loaded_program_unref(loaded);
	else
		ocl_program_set_loaded(program, loaded);
	ocl_program_end(program);
	return error == CL_SUCCESS;
}

/* In place of a kernel that could not be remembered; takes the reference to program. */
static cl_kernel create_from_program(struct ocl_program *program, const char *kernel_name,
				     cl_int *errcode_ret)
{
	cl_kernel kernel = NULL;

	if (fall_back(program)) {
		kernel = OCL_NEXT.clCreateKernel(program->object.handle, kernel_name, errcode_ret);
		if (kernel)
			(void)remember_one_more(kernel, program, NULL);	/* it does without */
	} else if (errcode_ret) {
		*errcode_ret = CL_OUT_OF_HOST_MEMORY;
	}
	ocl_program_unref(program);
	return kernel;
}

cl_kernel CL_API_CALL ocl_clCreateKernel(cl_program handle, const char *kernel_name,
					 cl_int *errcode_ret)
{
	CMN_NOT_CANCELLED;
	struct ocl_loaded_program *loaded;
	struct ocl_program *program = ocl_program_find_for_kernel(handle, &loaded);
	bool of_loaded;
	cl_program target;
	cl_kernel kernel;

	if (!program)
		return OCL_NEXT.clCreateKernel(handle, kernel_name, errcode_ret);
	of_loaded = ocl_loaded_program_has_kernels(loaded);
	target = find_target(program, loaded);
	/* That there is no name is for the driver to say. */
	if (!target && !kernel_name)
		target = handle;
	if (!target) {
		kernel = NULL;
		if (errcode_ret)
			*errcode_ret = CL_INVALID_PROGRAM_EXECUTABLE;
	} else if (of_loaded && loaded->driver->clones_kernels && kernel_name &&
		   OCL_NEXT.clCloneKernel) {
		kernel = ocl_kernel_clone_create_kernel(&loaded->clones, target, kernel_name,
							errcode_ret);
	} else {
		kernel = OCL_NEXT.clCreateKernel(target, kernel_name, errcode_ret);
	}
	if (!kernel) {
		forget_kernel(program, loaded, of_loaded);
		return NULL;
	}
	if (remember_kernel(kernel, program, loaded))
		return kernel;
	/* The program must have no kernel that lives when it is built. */
	ocl_object_ref(&program->object);
	forget_kernel(program, loaded, of_loaded);
	if (of_loaded) {
		(void)OCL_NEXT.clReleaseKernel(kernel);
		return create_from_program(program, kernel_name, errcode_ret);
	}
	ocl_program_unref(program);
	return kernel;
}

char *ocl_kernel_name(cl_kernel handle, char few[OCL_FEW_NAME])
{
	size_t size = 0;
	char *name = few;

	if (OCL_NEXT.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size) != CL_SUCCESS)
		return NULL;
	if (size > OCL_FEW_NAME)
		name = malloc(size);
	if (name && OCL_NEXT.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, size, name, NULL) ==
	    CL_SUCCESS)
		return name;
	if (name != few)
		free(name);
	return NULL;
}

/* The driver's kernel of a name that need not end. */
static cl_kernel create_one(cl_program target, const char *start, size_t len, cl_int *ret_error)
{
	char few[OCL_FEW_NAME], *name = len < sizeof(few) ? few : malloc(len + 1);
	cl_kernel kernel = NULL;

	*ret_error = CL_OUT_OF_HOST_MEMORY;
	if (!name)
		return NULL;
	memcpy(name, start, len);
	name[len] = '\0';
	kernel = OCL_NEXT.clCreateKernel(target, name, ret_error);
	if (name != few)
		free(name);
	return kernel;
}

/* Those of a list of names, in its order; all or none. */
static cl_int create_named(cl_program target, struct cmn_view names, cl_uint count, cl_kernel *kernels)
{
	const char *at = names.data;
	cl_int error = CL_SUCCESS;
	cl_uint made = 0;

	for (; made < count; made++) {
		size_t len = strcspn(at, ";");

		kernels[made] = create_one(target, at, len, &error);
		if (!kernels[made])
			break;
		at += len + 1;
	}
	while (made < count && made)
		(void)OCL_NEXT.clReleaseKernel(kernels[--made]);	/* nobody has it */
	return made < count ? error : CL_SUCCESS;
}

/*
 * A loaded program's kernels in the order of the build, where it is known: a driver may have them in
 * another order (rusticl), or have those of each device (NEO), which it does not survive to create.
 */
static cl_int create_all(cl_program target, const struct ocl_loaded_program *loaded, cl_uint room,
			 cl_kernel *kernels, cl_uint *ret_count)
{
	cl_int error = CL_SUCCESS;
	struct cmn_view names;
	cl_uint named = 0;

	if (loaded && loaded->kind == OCL_LOADED_EXECUTABLE)
		named = ocl_loaded_program_kernel_names(loaded, &names);
	if (named && loaded->num_devices == 1)
		error = OCL_NEXT.clCreateKernelsInProgram(target, 0, NULL, ret_count);
	else
		*ret_count = named;
	/* rusticl 22's names are also those of earlier builds of the program. */
	if (!named || error != CL_SUCCESS || *ret_count != named)
		return OCL_NEXT.clCreateKernelsInProgram(target, room, kernels, ret_count);
	if (!kernels)
		return CL_SUCCESS;
	return room < named ? CL_INVALID_VALUE : create_named(target, names, named, kernels);
}

/* false: out of memory, and none of them is left. */
static bool remember_all(struct ocl_program *program, struct ocl_loaded_program *loaded,
			 cl_uint count, const cl_kernel *kernels)
{
	for (cl_uint i = 0; i < count; i++) {
		if (remember_one_more(kernels[i], program, loaded) ||
		    !ocl_loaded_program_has_kernels(loaded))
			continue;
		for (cl_uint j = 0; j < i; j++)
			(void)ocl_clReleaseKernel(kernels[j]);
		for (cl_uint j = i; j < count; j++)
			(void)OCL_NEXT.clReleaseKernel(kernels[j]);
		return false;
	}
	return true;
}

cl_int CL_API_CALL ocl_clCreateKernelsInProgram(cl_program handle, cl_uint num_kernels,
						cl_kernel *kernels, cl_uint *num_kernels_ret)
{
	CMN_NOT_CANCELLED;
	struct ocl_program *program = ocl_program_find(handle);
	struct ocl_loaded_program *loaded;
	cl_program target;
	cl_uint count = 0;
	cl_int error;

	if (!program)
		return OCL_NEXT.clCreateKernelsInProgram(handle, num_kernels, kernels,
							 num_kernels_ret);
	loaded = ocl_program_loaded(program);
	target = find_target(program, loaded);
	error = !target ? CL_INVALID_PROGRAM_EXECUTABLE :
		create_all(target, loaded, num_kernels, kernels, &count);
	if (error == CL_SUCCESS && num_kernels_ret)
		*num_kernels_ret = count;
	if (error == CL_SUCCESS && kernels && !remember_all(program, loaded, count, kernels))
		error = fall_back(program) ?
			OCL_NEXT.clCreateKernelsInProgram(handle, num_kernels, kernels, NULL) :
			CL_OUT_OF_HOST_MEMORY;
	ocl_loaded_program_unref(loaded);
	ocl_program_unref(program);
	return error;
}

cl_kernel CL_API_CALL ocl_clCloneKernel(cl_kernel source_kernel, cl_int *errcode_ret)
{
	struct ocl_kernel *source = ocl_kernel_find(source_kernel);
	cl_kernel clone = OCL_NEXT.clCloneKernel(source_kernel, errcode_ret);

	/* The one kernel that no build can give again: its arguments are set. */
	if (clone && source && !remember_one_more(clone, source->program, source->loaded) &&
	    ocl_loaded_program_has_kernels(source->loaded)) {
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
	struct ocl_object *kernel;
	cl_int error = OCL_NEXT.clRetainKernel(handle);

	if (error != CL_SUCCESS)
		return error;
	kernel = ocl_objects_find_and_lock(OCL_KERNELS, handle);
	if (kernel) {
		kernel->app_refs++;
		ocl_object_unlock(kernel);
	}
	return error;
}

cl_int CL_API_CALL ocl_clReleaseKernel(cl_kernel handle)
{
	struct ocl_object *kernel = ocl_objects_find_and_lock(OCL_KERNELS, handle);
	cl_int error;

	if (kernel && --kernel->app_refs == 0) {
		ocl_objects_remove_and_unlock(OCL_KERNELS, kernel);
	} else if (kernel) {
		ocl_object_unlock(kernel);
		kernel = NULL;
	}
	error = OCL_NEXT.clReleaseKernel(handle);
	ocl_object_unref(kernel);	/* the map's reference */
	return error;
}
