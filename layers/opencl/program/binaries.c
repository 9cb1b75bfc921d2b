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

static void release_room(void *room, cl_uint count)
{
	if (count > FEW_DEVICES)
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
	release_room(list->devices, list->count);
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
	release_room(sizes, count);
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
	release_room(wanted, count);
	return error;
}

cl_int ocl_binaries_get(cl_program handle, const struct ocl_loaded_program *loaded,
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
