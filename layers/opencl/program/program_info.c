/* SPDX-License-Identifier: MIT */
/*
 * program_info: what a driver answers about a program that it built, put into the
 * program's entry for later programs that are made from its binary.
 */
#include "layers/opencl/program/program_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers/opencl/layer.h"
#include "layers/shared/sequence/sequence.h"

enum cmn_status ocl_images_measure(ocl_program_info_fn get, cl_program program, struct ocl_images *ret)
{
	size_t size = 0;

	*ret = (struct ocl_images){ 0 };
	if (get(program, CL_PROGRAM_BINARY_SIZES, 0, NULL, &size) != CL_SUCCESS || size < sizeof(*ret->lens))
		return CMN_MISS;
	ret->lens = calloc(1, size);
	if (!ret->lens)
		return CMN_ERR_NOMEM;
	ret->count = size / sizeof(*ret->lens);
	return get(program, CL_PROGRAM_BINARY_SIZES, size, ret->lens, NULL) == CL_SUCCESS ? CMN_OK : CMN_MISS;
}

enum cmn_status ocl_images_read(ocl_program_info_fn get, cl_program program, struct ocl_images *images)
{
	images->data = calloc(images->count, sizeof(*images->data));
	/* Drivers that write all binaries, asked for or not, get a place for each. */
	for (size_t i = 0; images->data && i < images->count; i++) {
		images->data[i] = images->lens[i] ? calloc(1, images->lens[i]) : NULL;
		if (images->lens[i] && !images->data[i])
			return CMN_ERR_NOMEM;
	}
	if (!images->data)
		return CMN_ERR_NOMEM;
	return get(program, CL_PROGRAM_BINARIES, images->count * sizeof(*images->data), images->data,
		   NULL) == CL_SUCCESS ? CMN_OK : CMN_MISS;
}

void ocl_images_release(struct ocl_images *images)
{
	for (size_t i = 0; images->data && i < images->count; i++)
		free(images->data[i]);
	free(images->data);
	free(images->lens);
}

/* Whether the driver answers. A want of memory is no answer: the entry would say less than the truth for ever. */
static bool answers(struct cc_entry *entry, cl_int error)
{
	if (error == CL_OUT_OF_HOST_MEMORY)
		cc_entry_fail(entry);
	return error == CL_SUCCESS;
}

/* NULL: out of memory, and the entry fails. */
static void *make_room(struct cc_entry *entry, size_t size)
{
	void *room = calloc(1, size);

	if (!room)
		cc_entry_fail(entry);
	return room;
}

/* Adds the room's content if the driver filled it, and frees it. */
static void add_room(struct cc_entry *entry, uint32_t tag, cl_uint i, void *room, size_t size,
		     cl_int error)
{
	if (answers(entry, error))
		cc_entry_add(entry, tag, i, room, size);
	free(room);
}

/* Adds what clGetProgramBuildInfo answers; an unanswered question is left out, and asked of the loaded program on a hit. */
static void add_build_info(struct cc_entry *entry, cl_program program, cl_uint i,
			   cl_device_id device, cl_program_build_info name, uint32_t tag)
{
	size_t size = 0;
	void *data;

	if (!answers(entry, OCL_NEXT.clGetProgramBuildInfo(program, device, name, 0, NULL, &size)) ||
	    size == 0)
		return;
	data = make_room(entry, size);
	if (data)
		add_room(entry, tag, i, data, size,
			 OCL_NEXT.clGetProgramBuildInfo(program, device, name, size, data, NULL));
}

/* Where there are none they are not asked for. An executable answers as it did when it was built. */
static void add_kernel_names(struct cc_entry *entry, cl_program program,
			     const struct drv_driver *driver, enum ocl_loaded_program_kind kind)
{
	size_t count = 0, size = 0;
	char *names;

	if (driver->unasked & DRV_KERNEL_NAMES)
		return;
	if (!answers(entry, OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(count),
						      &count, NULL)))
		return;
	if (count == 0) {
		if (kind == OCL_LOADED_OBJECT)
			cc_entry_add(entry, OCL_TAG_KERNEL_NAMES, 0, "", 1);
		return;
	}
	if (!answers(entry, OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL,
						      &size)) || size == 0)
		return;
	names = make_room(entry, size);
	if (names)
		add_room(entry, OCL_TAG_KERNEL_NAMES, 0, names, size,
			 OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, names,
						   NULL));
}

static void add_kernel_info(struct cc_entry *entry, cl_kernel kernel, cl_uint i,
			    cl_kernel_info name, uint32_t tag)
{
	size_t size = 0;
	void *data;

	if (!answers(entry, OCL_NEXT.clGetKernelInfo(kernel, name, 0, NULL, &size)) || size == 0)
		return;
	data = make_room(entry, size);
	if (data)
		add_room(entry, tag, i, data, size,
			 OCL_NEXT.clGetKernelInfo(kernel, name, size, data, NULL));
}

/* For each target; all or nothing. */
static void add_multiples(struct cc_entry *entry, cl_kernel kernel, cl_uint i,
			  const struct ocl_targets *targets)
{
	uint64_t *multiples = make_room(entry, targets->count * sizeof(*multiples));
	cl_int error = CL_SUCCESS;

	for (cl_uint j = 0; multiples && j < targets->count && error == CL_SUCCESS; j++) {
		size_t multiple = 0;

		error = OCL_NEXT.clGetKernelWorkGroupInfo(
			kernel, targets->devices[j], CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
			sizeof(multiple), &multiple, NULL);
		multiples[j] = multiple;
	}
	if (multiples)
		add_room(entry, OCL_TAG_KERNEL_MULTIPLE, i, multiples,
			 targets->count * sizeof(*multiples), error);
}

static void add_kernel_answers(struct cc_entry *entry, cl_program program,
			       const struct ocl_targets *targets)
{
	cl_kernel *kernels;
	cl_uint count = 0;

	if (!answers(entry, OCL_NEXT.clCreateKernelsInProgram(program, 0, NULL, &count)) ||
	    count == 0)
		return;
	kernels = make_room(entry, count * sizeof(*kernels));
	if (kernels && answers(entry, OCL_NEXT.clCreateKernelsInProgram(program, count, kernels,
									NULL))) {
		for (cl_uint i = 0; i < count; i++) {
			add_kernel_info(entry, kernels[i], i, CL_KERNEL_FUNCTION_NAME,
					OCL_TAG_KERNEL_NAME);
			add_kernel_info(entry, kernels[i], i, CL_KERNEL_ATTRIBUTES,
					OCL_TAG_KERNEL_ATTRIBUTES);
			add_multiples(entry, kernels[i], i, targets);
			(void)OCL_NEXT.clReleaseKernel(kernels[i]);	/* ours alone */
		}
	}
	free(kernels);
}

/* How many kernels there are, or why there is no number. */
static void add_num_kernels(struct cc_entry *entry, cl_program program)
{
	uint8_t bytes[sizeof(cl_int) + sizeof(size_t)] = { 0 };
	size_t count = 0;
	cl_int error = OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(count),
						 &count, NULL);

	(void)answers(entry, error);	/* an error is an answer here, but for a want of memory */
	memcpy(bytes, &error, sizeof(error));
	memcpy(bytes + sizeof(error), &count, sizeof(count));
	cc_entry_add(entry, OCL_TAG_NUM_KERNELS, 0, bytes, sizeof(bytes));
}

/* What a build for some of the program's devices leaves of the others. */
static void add_other_statuses(struct cc_entry *entry, cl_program program,
			       const struct ocl_targets *targets)
{
	for (cl_uint i = 0, next = 0; i < targets->program_count; i++) {
		if (next < targets->count && targets->indices[next] == i)
			next++;
		else
			add_build_info(entry, program, i, targets->all[i], CL_PROGRAM_BUILD_STATUS,
				       OCL_TAG_OTHER_STATUS);
	}
}

void ocl_program_info_add_builds(struct cc_entry *entry, cl_program program,
			    const struct ocl_capture_request *request)
{
	const struct ocl_targets *targets = request->targets;

	for (cl_uint i = 0; i < targets->count; i++) {
		cl_device_id device = targets->devices[i];

		add_build_info(entry, program, i, device, CL_PROGRAM_BUILD_LOG, OCL_TAG_LOG);
		add_build_info(entry, program, i, device, CL_PROGRAM_BUILD_OPTIONS,
			       OCL_TAG_OPTIONS);
		if (request->kind == OCL_LOADED_EXECUTABLE)
			continue;
		add_build_info(entry, program, i, device, CL_PROGRAM_BUILD_STATUS, OCL_TAG_STATUS);
		add_build_info(entry, program, i, device, CL_PROGRAM_BINARY_TYPE,
			       OCL_TAG_BINARY_TYPE);
	}
	if (targets->count < targets->program_count)
		add_other_statuses(entry, program, targets);
}

void ocl_program_info_add_kernels(struct cc_entry *entry, cl_program program,
			     const struct drv_driver *driver, const struct ocl_capture_request *request)
{
	add_kernel_names(entry, program, driver, request->kind);
	if (request->kind == OCL_LOADED_OBJECT)
		add_num_kernels(entry, program);
	else if (driver->binaries_lose_answers)
		add_kernel_answers(entry, program, request->targets);
}

static void read_log(cl_program program, cl_device_id device, struct cmn_buffer *ret)
{
	size_t size = 0;

	if (OCL_NEXT.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
	    CL_SUCCESS || size < 2 || !cmn_buffer_reserve(ret, size))
		return;
	if (OCL_NEXT.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, ret->data,
					   NULL) == CL_SUCCESS)
		ret->len = size;
}

char *ocl_failure_text(cl_program program, cl_int error, const struct ocl_targets *targets)
{
	struct cmn_buffer log = { 0 };
	char code[16], *text;

	for (cl_uint i = 0; program && i < targets->count && !log.len; i++)
		read_log(program, targets->devices[i], &log);
	(void)snprintf(code, sizeof(code), "%d", error);	/* it fits */
	text = drv_failure_text(code, cmn_buffer_view(&log));
	cmn_buffer_release(&log);
	return text;
}
