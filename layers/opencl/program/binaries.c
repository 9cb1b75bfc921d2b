/* SPDX-License-Identifier: MIT */
/* binaries: from the loaded program's devices, or the entry's images, to those of the application's program. */
#include "layers/opencl/program/binaries.h"

#include <stdlib.h>
#include <string.h>

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

static void release_room(void *room, const void *few)
{
	if (room != few)
		free(room);
}

static bool make_list(struct device_list *ret, cl_uint count)
{
	ret->count = count;
	ret->devices = make_room(ret->few, sizeof(*ret->devices), count);
	return ret->devices;
}

static void release_list(struct device_list *list)
{
	release_room(list->devices, list->few);
	list->devices = NULL;
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

static cl_int get_context_devices(cl_program handle, cl_uint count, struct device_list *ret)
{
	cl_context context;
	size_t size = 0;
	cl_int error = OCL_NEXT.clGetProgramInfo(handle, CL_PROGRAM_CONTEXT, sizeof(context), &context,
						 NULL);

	if (error != CL_SUCCESS)
		return error;
	release_list(ret);
	if (!make_list(ret, count))
		return CL_OUT_OF_HOST_MEMORY;
	error = OCL_NEXT.clGetContextInfo(context, CL_CONTEXT_DEVICES, count * sizeof(*ret->devices),
					  ret->devices, &size);
	return error == CL_SUCCESS && size != count * sizeof(*ret->devices) ? CL_INVALID_VALUE : error;
}

/*
 * The devices that the loaded program's binaries are of, in its order. NVIDIA's
 * driver has a place for each of the context's, whatever it was loaded for.
 */
static cl_int get_loaded_devices(const struct ocl_loaded_program *loaded, struct device_list *ret)
{
	size_t size = 0;
	cl_int error;

	if (loaded->kind != OCL_LOADED_EXECUTABLE) {
		if (!make_list(ret, loaded->num_devices))
			return CL_OUT_OF_HOST_MEMORY;
		memcpy(ret->devices, loaded->devices, loaded->num_devices * sizeof(*ret->devices));
		return CL_SUCCESS;
	}
	error = get_devices(loaded->handle, ret);
	if (error == CL_SUCCESS)
		error = OCL_NEXT.clGetProgramInfo(loaded->handle, CL_PROGRAM_BINARY_SIZES, 0, NULL,
						  &size);
	if (error == CL_SUCCESS && size != ret->count * sizeof(size_t))
		error = get_context_devices(loaded->handle, (cl_uint)(size / sizeof(size_t)), ret);
	return error;
}

static cl_uint place_of(const struct device_list *list, cl_device_id device)
{
	cl_uint i = 0;

	while (i < list->count && list->devices[i] != device)
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

/* What there is for each device of the application's program: sizes, or (below) behind its own pointers. */
struct answer {
	const struct ocl_loaded_program *loaded;
	struct device_list of_program, of_loaded;
};

static cl_int give_sizes(const struct answer *answer, size_t *ret)
{
	const struct ocl_loaded_program *loaded = answer->loaded;
	cl_uint count = answer->of_loaded.count;
	size_t few[FEW_DEVICES], *sizes = make_room(few, sizeof(*sizes), count);
	cl_int error = sizes ? get_sizes(loaded, count, sizes) : CL_OUT_OF_HOST_MEMORY;

	for (cl_uint i = 0; i < answer->of_program.count && error == CL_SUCCESS; i++) {
		cl_device_id device = answer->of_program.devices[i];
		struct cmn_view other = { 0 };

		ret[i] = 0;
		if (ocl_loaded_program_place(loaded, device) == loaded->num_devices) {
			if (cc_entry_find(loaded->entry, OCL_TAG_OTHER_IMAGE, i, &other))
				ret[i] = other.len;
		} else if (place_of(&answer->of_loaded, device) < count) {
			ret[i] = sizes[place_of(&answer->of_loaded, device)];
		}
	}
	release_room(sizes, few);
	return error;
}

static cl_int give_images(const struct answer *answer, unsigned char **images)
{
	const struct ocl_loaded_program *loaded = answer->loaded;
	cl_uint count = answer->of_loaded.count;
	unsigned char *few[FEW_DEVICES];
	unsigned char **wanted = make_room(few, sizeof(*wanted), count);
	cl_int error = CL_SUCCESS;

	if (!wanted)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; i < answer->of_program.count; i++) {
		cl_device_id device = answer->of_program.devices[i];
		struct cmn_view other;

		if (ocl_loaded_program_place(loaded, device) == loaded->num_devices) {
			if (images[i] && cc_entry_find(loaded->entry, OCL_TAG_OTHER_IMAGE, i, &other))
				memcpy(images[i], other.data, other.len);
		} else if (place_of(&answer->of_loaded, device) < count) {
			wanted[place_of(&answer->of_loaded, device)] = images[i];
		}
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
	release_room(wanted, few);
	return error;
}

cl_int ocl_binaries_get(cl_program handle, const struct ocl_loaded_program *loaded,
			cl_program_info param_name, size_t size, void *ret_value, size_t *ret_size)
{
	size_t item = param_name == CL_PROGRAM_BINARIES ? sizeof(unsigned char *) : sizeof(size_t);
	struct answer answer = { .loaded = loaded };
	cl_uint count;
	cl_int error = get_devices(handle, &answer.of_program);

	count = answer.of_program.count;
	if (error == CL_SUCCESS && loaded->kind == OCL_LOADED_EXECUTABLE &&
	    count == loaded->num_devices) {
		error = OCL_NEXT.clGetProgramInfo(loaded->handle, param_name, size, ret_value,
						  ret_size);
		goto out;
	}
	if (error == CL_SUCCESS && ret_value && size < count * item)
		error = CL_INVALID_VALUE;
	if (error == CL_SUCCESS && ret_value)
		error = get_loaded_devices(loaded, &answer.of_loaded);
	if (error == CL_SUCCESS && ret_value)
		error = param_name == CL_PROGRAM_BINARIES ? give_images(&answer, ret_value)
							  : give_sizes(&answer, ret_value);
	if (error == CL_SUCCESS && ret_size)
		*ret_size = count * item;
out:
	release_list(&answer.of_program);
	release_list(&answer.of_loaded);
	return error;
}
