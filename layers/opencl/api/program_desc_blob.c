/* SPDX-License-Identifier: MIT */
/* program_desc_blob: from a built program to its part of a blob. */
#include <stdlib.h>
#include <string.h>

#include "common/mutex.h"
#include "layers/opencl/api/program_desc.h"
#include "layers/opencl/hooks/dispatch.h"
#include "layers/opencl/program/program_info.h"

/*
 * Programs are the application's, and the layer may stand for them: they are
 * asked by the hooks. What is made here is the driver's, and made by it.
 */
static struct cmn_buffer ask_program(cl_program program, cl_program_info param)
{
	struct cmn_buffer answer = { 0 };
	size_t size = 0;

	if (ocl_clGetProgramInfo(program, param, 0, NULL, &size) == CL_SUCCESS && size &&
	    cmn_buffer_reserve(&answer, size) &&
	    ocl_clGetProgramInfo(program, param, size, answer.data, NULL) == CL_SUCCESS)
		answer.len = size;
	return answer;
}

/* As far as the driver tells; *ret_none: it does not. */
static bool has_source(cl_program program, const struct ocl_program *parts, bool *ret_none)
{
	struct cmn_buffer answer = ask_program(program, CL_PROGRAM_SOURCE);
	size_t len = answer.len;
	bool same;

	/* The terminator is no part of it. */
	if (len && answer.data[len - 1] == '\0')
		len--;
	*ret_none = len == 0;
	same = len && ocl_program_text_is_source(parts->text) && len == parts->text->len &&
	       memcmp(answer.data, parts->text->data, len) == 0;
	cmn_buffer_release(&answer);
	return same;
}

/* The next word of *text, which moves behind it; empty: there is none. */
static struct cmn_view next_word(const char **text)
{
	static const char blanks[] = " \t\n";
	const char *start = *text + strspn(*text, blanks);
	size_t len = strcspn(start, blanks);

	*text = start + len;
	return (struct cmn_view){ start, len };
}

/* Whether both have the same words in the same order: where there is an id, none has blanks in it. */
static bool same_options(const char *a, const char *b)
{
	struct cmn_view left, right;

	do {
		left = next_word(&a);
		right = next_word(&b);
		if (!cmn_view_equal(left, right))
			return false;
	} while (left.len);
	return true;
}

/* As the driver tells. */
static bool has_options(const struct ocl_desc *desc, cl_program program, const char *options)
{
	cl_device_id device = desc->targets.devices[0];
	char *reported = NULL;
	bool same = false;
	size_t size = 0;

	if (ocl_clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL,
				      &size) == CL_SUCCESS)
		reported = calloc(1, size + 1);
	if (reported && ocl_clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, size,
						  reported, NULL) == CL_SUCCESS)
		same = same_options(reported, options ? options : "");
	free(reported);
	return same;
}

static bool is_built(cl_program program, cl_device_id device)
{
	cl_build_status status = CL_BUILD_NONE;
	cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;

	return ocl_clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof(status),
					 &status, NULL) == CL_SUCCESS &&
	       status == CL_BUILD_SUCCESS &&
	       ocl_clGetProgramBuildInfo(program, device, CL_PROGRAM_BINARY_TYPE, sizeof(type),
					 &type, NULL) == CL_SUCCESS &&
	       type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
}

/*
 * The layer saw how its programs were built; of others, and where there is no layer, the driver is
 * asked. *ret_by_image: it cannot tell (programs from binaries, IL, whose constants nobody tells),
 * so that the image must be one that this description made or loaded.
 */
static bool is_as_described(const struct ocl_desc *desc, size_t i, cl_program handle,
			    bool *ret_by_image)
{
	const struct ocl_desc_program *described = &desc->programs[i];
	struct ocl_program *program;
	bool same;

	*ret_by_image = false;
	if (!handle || !is_built(handle, desc->targets.devices[0]))
		return false;
	program = ocl_program_find(handle);
	if (!program)
		return has_source(handle, described->parts, ret_by_image) ?
			       has_options(desc, handle, described->options) : *ret_by_image;
	same = ocl_program_is_build_of(program, described->parts, described->options);
	ocl_program_unref(program);
	return same;
}

void ocl_desc_note_image(struct ocl_desc *desc, size_t i, struct cmn_view image)
{
	struct cmn_hash hash = cmn_hash_of(image.data, image.len);

	cmn_mutex_lock(&desc->base.lock);
	desc->programs[i].image = hash;
	cmn_mutex_unlock(&desc->base.lock);
}

static bool is_noted(struct ocl_desc *desc, size_t i, struct cmn_view image)
{
	struct cmn_hash hash = cmn_hash_of(image.data, image.len);
	bool same;

	cmn_mutex_lock(&desc->base.lock);
	same = cmn_hash_equal(&desc->programs[i].image, &hash);
	cmn_mutex_unlock(&desc->base.lock);
	return same;
}

/* Where the device stands among the program's, or the number of these, which is *ret_count. */
static size_t place_of(cl_program program, cl_device_id device, size_t *ret_count)
{
	struct cmn_buffer devices = ask_program(program, CL_PROGRAM_DEVICES);
	size_t count = devices.len / sizeof(device), i = 0;

	*ret_count = count;
	while (i < count && memcmp(devices.data + i * sizeof(device), &device, sizeof(device)) != 0)
		i++;
	cmn_buffer_release(&devices);
	return i;
}

enum cmn_status ocl_desc_add_image(const struct ocl_desc *desc, size_t i, cl_program program,
				   struct cmn_buffer *blob, struct cmn_view *ret_image)
{
	size_t count, ours = place_of(program, desc->targets.devices[0], &count);
	struct ocl_images images;
	enum cmn_status status = ocl_images_measure(ocl_clGetProgramInfo, program, &images);
	unsigned char *room;

	/* Some drivers have a place for each of the context's devices: which is whose, nobody says. */
	if (status == CMN_OK && (images.count != count || ours >= count || !images.lens[ours]))
		status = CMN_MISS;
	if (status == CMN_OK)
		status = ocl_images_read(ocl_clGetProgramInfo, program, &images);
	if (status == CMN_OK) {
		room = api_blob_add_room(blob, API_FIELD_IMAGE, (uint32_t)i, images.lens[ours]);
		if (room)
			memcpy(room, images.data[ours], images.lens[ours]);
		*ret_image = (struct cmn_view){ room, images.lens[ours] };
		status = room ? CMN_OK : CMN_ERR_NOMEM;
	}
	ocl_images_release(&images);
	return status;
}

enum cmn_status ocl_desc_add(struct ckcache_desc *base, size_t i, void *program, struct cmn_buffer *blob)
{
	struct ocl_desc *desc = (struct ocl_desc *)base;
	struct cmn_view image;
	bool by_image;
	enum cmn_status status;

	if (!is_as_described(desc, i, program, &by_image))
		return CMN_ERR_INVALID;
	status = ocl_desc_add_image(desc, i, program, blob, &image);
	return status == CMN_OK && by_image && !is_noted(desc, i, image) ? CMN_ERR_INVALID : status;
}
