/* SPDX-License-Identifier: MIT */
/*
 * query: questions about a program and its kernels after a hit. What the binary
 * decides, the loaded program answers; what a binary loses, the entry answers;
 * the rest the application's program does.
 */
#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/opencl/hooks/dispatch.h"

/* A question about so many devices needs no memory. */
enum { FEW_DEVICES = 16 };

struct device_list {
	cl_uint count;
	cl_device_id *devices, few[FEW_DEVICES];
};

/* Room for count things, cleared: few if they fit. NULL: out of memory. */
static void *make_room(void *few, size_t size, cl_uint count)
{
	if (count > FEW_DEVICES)
		return calloc(count, size);
	return memset(few, 0, FEW_DEVICES * size);
}

static bool make_list(struct device_list *ret, cl_uint count)
{
	ret->count = count;
	ret->devices = make_room(ret->few, sizeof(*ret->devices), count);
	return ret->devices;
}

static void release_list(struct device_list *list)
{
	if (list->devices != list->few)
		free(list->devices);
}

static cl_int get_devices(cl_program handle, struct device_list *ret)
{
	cl_uint count;
	cl_int error = OCL_NEXT.clGetProgramInfo(handle, CL_PROGRAM_NUM_DEVICES, sizeof(count), &count,
						 NULL);

	if (error != CL_SUCCESS)
		return error;
	if (!make_list(ret, count))
		return CL_OUT_OF_HOST_MEMORY;
	return OCL_NEXT.clGetProgramInfo(handle, CL_PROGRAM_DEVICES, count * sizeof(*ret->devices),
					 ret->devices, NULL);
}

/*
 * Whose places the loaded program's binaries have, in its order: the devices that it was loaded for.
 * NVIDIA's driver has a place for each of the context's.
 */
static cl_int get_places(const struct ocl_loaded_program *loaded, struct device_list *ret)
{
	size_t wanted, got = 0, sizes = loaded->num_devices * sizeof(size_t);
	cl_int error = CL_SUCCESS;
	cl_context context;

	if (loaded->kind == OCL_LOADED_EXECUTABLE)
		error = OCL_NEXT.clGetProgramInfo(loaded->handle, CL_PROGRAM_BINARY_SIZES, 0, NULL,
						  &sizes);
	if (error != CL_SUCCESS)
		return error;
	if (!make_list(ret, (cl_uint)(sizes / sizeof(size_t))))
		return CL_OUT_OF_HOST_MEMORY;
	wanted = ret->count * sizeof(*ret->devices);
	if (ret->count == loaded->num_devices) {
		memcpy(ret->devices, loaded->devices, wanted);
		return CL_SUCCESS;
	}
	error = OCL_NEXT.clGetProgramInfo(loaded->handle, CL_PROGRAM_CONTEXT, sizeof(context), &context,
					  NULL);
	if (error == CL_SUCCESS)
		error = OCL_NEXT.clGetContextInfo(context, CL_CONTEXT_DEVICES, wanted, ret->devices,
						  &got);
	return error == CL_SUCCESS && got != wanted ? CL_INVALID_VALUE : error;
}

/* What there is for each device of the application's program: sizes, or (below) behind its own pointers. */
struct answer {
	const struct ocl_loaded_program *loaded;
	struct device_list devices, places;	/* the program's; the loaded program's */
};

/* The device's place in the loaded program, or the number of them: it was not loaded for it. */
static cl_uint place_of(const struct answer *answer, cl_device_id device)
{
	const struct device_list *places = &answer->places;
	cl_uint i = 0;

	if (ocl_loaded_program_place(answer->loaded, device) == answer->loaded->num_devices)
		return places->count;
	while (i < places->count && places->devices[i] != device)
		i++;
	return i;
}

/* The loaded program's sizes, in the order of its devices. */
static cl_int get_sizes(const struct ocl_loaded_program *loaded, cl_uint count, size_t *ret)
{
	if (loaded->kind == OCL_LOADED_EXECUTABLE)
		return OCL_NEXT.clGetProgramInfo(loaded->handle, CL_PROGRAM_BINARY_SIZES,
						 count * sizeof(*ret), ret, NULL);
	for (cl_uint i = 0; i < count; i++) {
		struct cmn_view image = { 0 };

		(void)cc_entry_find(loaded->entry, CC_TAG_IMAGE, i, &image);	/* else its size is 0 */
		ret[i] = image.len;
	}
	return CL_SUCCESS;
}

static cl_int give_sizes(const struct answer *answer, size_t *ret)
{
	const struct ocl_loaded_program *loaded = answer->loaded;
	cl_uint count = answer->places.count;
	size_t few[FEW_DEVICES], *sizes = make_room(few, sizeof(*sizes), count);
	cl_int error = sizes ? get_sizes(loaded, count, sizes) : CL_OUT_OF_HOST_MEMORY;

	for (cl_uint i = 0; i < answer->devices.count && error == CL_SUCCESS; i++) {
		cl_uint place = place_of(answer, answer->devices.devices[i]);
		struct cmn_view other = { 0 };

		if (place < count)
			ret[i] = sizes[place];
		else if (cc_entry_find(loaded->entry, OCL_TAG_OTHER_IMAGE, i, &other))
			ret[i] = other.len;
		else
			ret[i] = 0;
	}
	if (sizes != few)
		free(sizes);
	return error;
}

static cl_int give_images(const struct answer *answer, unsigned char **images)
{
	const struct ocl_loaded_program *loaded = answer->loaded;
	cl_uint count = answer->places.count;
	unsigned char *few[FEW_DEVICES];
	unsigned char **wanted = make_room(few, sizeof(*wanted), count);
	cl_int error = CL_SUCCESS;

	if (!wanted)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; i < answer->devices.count; i++) {
		cl_uint place = place_of(answer, answer->devices.devices[i]);
		struct cmn_view other;

		if (place < count)
			wanted[place] = images[i];
		else if (images[i] &&
			 cc_entry_find(loaded->entry, OCL_TAG_OTHER_IMAGE, i, &other))
			memcpy(images[i], other.data, other.len);
	}
	if (loaded->kind == OCL_LOADED_EXECUTABLE)
		error = OCL_NEXT.clGetProgramInfo(loaded->handle, CL_PROGRAM_BINARIES,
						  count * sizeof(*wanted), wanted, NULL);
	else
		for (cl_uint i = 0; i < count; i++) {
			struct cmn_view image;

			if (wanted[i] && cc_entry_find(loaded->entry, CC_TAG_IMAGE, i, &image))
				memcpy(wanted[i], image.data, image.len);
		}
	if (wanted != few)
		free(wanted);
	return error;
}

/*
 * As clGetProgramInfo(handle, param_name, …) of CL_PROGRAM_BINARY_SIZES and CL_PROGRAM_BINARIES, where handle is
 * the application's program; loaded is not a failure.
 * The answers have a place for each device of the application's program, while
 * the loaded program may be built for only some of them. For an object they come
 * from the entry, because a program that was only loaded may not return its
 * binary.
 */
static cl_int get_binaries(cl_program handle, const struct ocl_loaded_program *loaded,
			   cl_program_info param_name, size_t size, void *ret_value, size_t *ret_size)
{
	size_t item = param_name == CL_PROGRAM_BINARIES ? sizeof(unsigned char *) : sizeof(size_t);
	struct answer answer = { .loaded = loaded };
	cl_uint count;
	cl_int error = get_devices(handle, &answer.devices);

	count = answer.devices.count;
	if (error == CL_SUCCESS && loaded->kind == OCL_LOADED_EXECUTABLE &&
	    count == loaded->num_devices) {
		error = OCL_NEXT.clGetProgramInfo(loaded->handle, param_name, size, ret_value,
						  ret_size);
		goto out;
	}
	if (error == CL_SUCCESS && ret_value && size < count * item)
		error = CL_INVALID_VALUE;
	if (error == CL_SUCCESS && ret_value)
		error = get_places(loaded, &answer.places);
	if (error == CL_SUCCESS && ret_value)
		error = param_name == CL_PROGRAM_BINARIES ? give_images(&answer, ret_value)
							  : give_sizes(&answer, ret_value);
	if (error == CL_SUCCESS && ret_size)
		*ret_size = count * item;
out:
	release_list(&answer.devices);
	release_list(&answer.places);
	return error;
}

cl_int ocl_give(struct cmn_view value, size_t size, void *ret_value, size_t *ret_size)
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
	return ocl_give((struct cmn_view){ &refs, sizeof(refs) }, size, ret_value, ret_size);
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
		return ocl_give(answer, size, ret_value, ret_size);
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
		return get_binaries(handle, loaded, param_name, size, ret_value, ret_size);
	case CL_PROGRAM_REFERENCE_COUNT:
		if (!loaded->own)
			return give_program_refs(program, loaded, size, ret_value, ret_size);
		break;
	case CL_PROGRAM_KERNEL_NAMES:
		if (loaded->kind == OCL_LOADED_EXECUTABLE &&
		    cc_entry_find(loaded->entry, OCL_TAG_KERNEL_NAMES, 0, &names))
			return ocl_give(names, size, ret_value, ret_size);
		/* fall through */
	case CL_PROGRAM_NUM_KERNELS:
		if (loaded->kind == OCL_LOADED_OBJECT)
			return give_object_kernels(program, loaded, param_name, size, ret_value,
						   ret_size);
		/* NEO counts those of each device. */
		count = loaded->num_devices > 1 && param_name == CL_PROGRAM_NUM_KERNELS ?
				ocl_loaded_program_kernel_names(loaded, &names) : 0;
		if (count)
			return ocl_give((struct cmn_view){ &count, sizeof(count) }, size, ret_value, ret_size);
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
		error = ocl_give(stored, param_value_size, param_value, param_value_size_ret);
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
		error = ocl_give((struct cmn_view){ &multiple, sizeof(multiple) }, param_value_size,
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
		error = ocl_give(answer, param_value_size, param_value, param_value_size_ret);
	else
		error = OCL_NEXT.clGetKernelInfo(handle, param_name, param_value_size, param_value,
						 param_value_size_ret);
	ocl_kernel_unref(kernel);
	return error;
}
