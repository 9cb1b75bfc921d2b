/* SPDX-License-Identifier: MIT */
/* binaries: from the loaded program's devices, or the entry's images, to those of the application's program. */
#include "layers/opencl/program/binaries.h"

#include <stdlib.h>
#include <string.h>

/* A question about so many devices needs no memory. */
enum { FEW_DEVICES = 16 };

/* The application's program's devices, and what there is for each: sizes or the application's own pointers. */
struct answer {
	const struct ocl_loaded_program *loaded;
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

static cl_int get_devices(cl_program handle, struct answer *answer)
{
	cl_int error = OCL_NEXT.clGetProgramInfo(handle, CL_PROGRAM_NUM_DEVICES,
						 sizeof(answer->count), &answer->count, NULL);

	if (error != CL_SUCCESS)
		return error;
	answer->devices = make_room(answer->few, sizeof(*answer->devices), answer->count);
	if (!answer->devices)
		return CL_OUT_OF_HOST_MEMORY;
	return OCL_NEXT.clGetProgramInfo(handle, CL_PROGRAM_DEVICES,
					 answer->count * sizeof(*answer->devices), answer->devices,
					 NULL);
}

/* The loaded program's sizes, in the order of its devices. */
static cl_int get_sizes(const struct ocl_loaded_program *loaded, size_t *ret)
{
	if (loaded->kind == OCL_LOADED_EXECUTABLE)
		return OCL_NEXT.clGetProgramInfo(loaded->handle, CL_PROGRAM_BINARY_SIZES,
						 loaded->num_devices * sizeof(*ret), ret, NULL);
	for (cl_uint i = 0; i < loaded->num_devices; i++) {
		struct cmn_view image = { 0 };

		(void)cc_entry_find(loaded->entry, CC_TAG_IMAGE, i, &image);	/* else its size is 0 */
		ret[i] = image.len;
	}
	return CL_SUCCESS;
}

static cl_int give_sizes(const struct answer *answer, size_t *ret)
{
	const struct ocl_loaded_program *loaded = answer->loaded;
	size_t few[FEW_DEVICES], *sizes = make_room(few, sizeof(*sizes), loaded->num_devices);
	cl_int error = sizes ? get_sizes(loaded, sizes) : CL_OUT_OF_HOST_MEMORY;

	for (cl_uint i = 0; i < answer->count && error == CL_SUCCESS; i++) {
		cl_uint place = ocl_loaded_program_place(loaded, answer->devices[i]);
		struct cmn_view other = { 0 };

		if (place < loaded->num_devices)
			ret[i] = sizes[place];
		else if (cc_entry_find(loaded->entry, OCL_TAG_OTHER_IMAGE, i, &other))
			ret[i] = other.len;
		else
			ret[i] = 0;
	}
	release_room(sizes, few);
	return error;
}

static cl_int give_images(const struct answer *answer, unsigned char **images)
{
	const struct ocl_loaded_program *loaded = answer->loaded;
	unsigned char *few[FEW_DEVICES];
	unsigned char **wanted = make_room(few, sizeof(*wanted), loaded->num_devices);
	cl_int error = CL_SUCCESS;

	if (!wanted)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; i < answer->count; i++) {
		cl_uint place = ocl_loaded_program_place(loaded, answer->devices[i]);

		struct cmn_view other;

		if (place < loaded->num_devices)
			wanted[place] = images[i];
		else if (images[i] &&
			 cc_entry_find(loaded->entry, OCL_TAG_OTHER_IMAGE, i, &other))
			memcpy(images[i], other.data, other.len);
	}
	if (loaded->kind == OCL_LOADED_EXECUTABLE)
		error = OCL_NEXT.clGetProgramInfo(loaded->handle, CL_PROGRAM_BINARIES,
						  loaded->num_devices * sizeof(*wanted), wanted,
						  NULL);
	else
		for (cl_uint i = 0; i < loaded->num_devices; i++) {
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
	cl_int error = get_devices(handle, &answer);

	if (error == CL_SUCCESS && loaded->kind == OCL_LOADED_EXECUTABLE &&
	    answer.count == loaded->num_devices) {
		error = OCL_NEXT.clGetProgramInfo(loaded->handle, param_name, size, ret_value,
						  ret_size);
		goto out;
	}
	if (error == CL_SUCCESS && ret_value && size < answer.count * item)
		error = CL_INVALID_VALUE;
	if (error == CL_SUCCESS && ret_value)
		error = param_name == CL_PROGRAM_BINARIES ? give_images(&answer, ret_value)
							  : give_sizes(&answer, ret_value);
	if (error == CL_SUCCESS && ret_size)
		*ret_size = answer.count * item;
out:
	release_room(answer.devices, answer.few);
	return error;
}
