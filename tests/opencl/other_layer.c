/* SPDX-License-Identifier: MIT */
/*
 * other_layer: a layer of another maker. OTHER_LAYER says what it does:
 * CHANGES appends -DX=$X to the options of each build; LOOKS_ON only hands
 * builds on, by a number that tells two such files apart; ELSEWHERE has a call
 * that no build needs; CODE_OF_NO_FILE hands builds, or the call that stands in the
 * table where CALL says, on by code that it made.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHANGES 0
#define ELSEWHERE 1
#define CODE_OF_NO_FILE 2
#define LOOKS_ON 3

#define EXPORT __attribute__((visibility("default")))

static cl_icd_dispatch next, table;
EXPORT extern const int other_layer;
const int other_layer = OTHER_LAYER;

EXPORT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target,
						    cl_uint *ret_count,
						    const cl_icd_dispatch **ret_table,
						    const void *properties);

static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices,
				const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
				void *data)
{
	const char *value = OTHER_LAYER == CHANGES ? getenv("X") : NULL;
	char text[1024];

	if (!value)
		return next.clBuildProgram(program, count, devices, options, notify, data);
	(void)snprintf(text, sizeof(text), "%s -DX=%s", options ? options : "", value);
	return next.clBuildProgram(program, count, devices, text, notify, data);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
	return next.clFinish(queue);
}

/* A jump to build(), or to the next one's, on a page of its own. */
static cl_int write_code(void)
{
	unsigned char code[] = { 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0 };
	const char *call = getenv("CALL");
	size_t place = call ? strtoul(call, NULL, 10) : offsetof(cl_icd_dispatch, clBuildProgram);
	void *target = (void *)build;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return CL_OUT_OF_HOST_MEMORY;
	if (call)
		memcpy(&target, (const char *)&next + place, sizeof(target));
	memcpy(code + 2, &target, sizeof(target));
	memcpy(page, code, sizeof(code));
	memcpy((char *)&table + place, &page, sizeof(page));
	return mprotect(page, 4096, PROT_READ | PROT_EXEC) ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *ret_size)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (name != CL_LAYER_API_VERSION || (value && size < sizeof(version)))
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, &version, sizeof(version));
	if (ret_size)
		*ret_size = sizeof(version);
	return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target,
				      cl_uint *ret_count, const cl_icd_dispatch **ret_table)
{
	const cl_uint entries = sizeof(table) / sizeof(void *);

	memcpy(&next, target, (count < entries ? count : entries) * sizeof(void *));
	if (OTHER_LAYER == ELSEWHERE)
		table.clFinish = finish;
	else if (OTHER_LAYER != CODE_OF_NO_FILE)
		table.clBuildProgram = build;
	*ret_count = entries;
	*ret_table = &table;
	return OTHER_LAYER == CODE_OF_NO_FILE ? write_code() : CL_SUCCESS;
}

cl_int CL_API_CALL clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target,
					     cl_uint *ret_count, const cl_icd_dispatch **ret_table,
					     const void *properties)
{
	(void)properties;
	return clInitLayer(count, target, ret_count, ret_table);
}
