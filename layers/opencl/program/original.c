/* SPDX-License-Identifier: MIT */
/* original: texts and the driver's programs of them; what a call was given, and the same call again. */
#include "layers/opencl/program/original.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "layers/shared/driver/environment.h"
#include "layers/shared/observer/observer.h"

enum how { BUILT, COMPILED, LINKED };

struct header {
	char *name;
	struct ocl_program_text *text;
};

struct ocl_original {
	atomic_uint refs;
	_Atomic(struct cc_entry *) entry;	/* of an object */
	enum how how;			/* the rest is immutable */
	char *options;
	cl_uint list_count;
	cl_device_id *list;
	/* BUILT and COMPILED */
	struct ocl_program_text *text;
	struct ocl_constant *constants;
	size_t constant_count;
	cl_uint header_count;
	struct header *headers;
	/* LINKED */
	cl_uint input_count;
	struct ocl_original **inputs;
};

struct ocl_program_text *ocl_program_text_new(bool is_il, size_t len)
{
	size_t whole = sizeof(struct ocl_program_text) + len + 1;
	struct ocl_program_text *text = whole > len ? calloc(1, whole) : NULL;

	if (!text)
		return NULL;
	atomic_init(&text->refs, 1);
	text->is_il = is_il;
	text->len = len;
	return text;
}

void ocl_program_text_unref(struct ocl_program_text *text)
{
	if (text && atomic_fetch_sub_explicit(&text->refs, 1, memory_order_acq_rel) == 1)
		free(text);
}

cl_program ocl_program_text_make_program(const struct ocl_program_text *text, cl_context context,
					 const struct ocl_constant *constants,
					 size_t constant_count, cl_int *ret_error)
{
	const char *source = text->data;
	cl_program made;

	if (!text->is_il)
		return OCL_NEXT.clCreateProgramWithSource(context, 1, &source, &text->len,
							  ret_error);
	*ret_error = CL_INVALID_OPERATION;
	if (!OCL_NEXT.clCreateProgramWithIL ||
	    (constant_count && !OCL_NEXT.clSetProgramSpecializationConstant))
		return NULL;
	made = OCL_NEXT.clCreateProgramWithIL(context, text->data, text->len, ret_error);
	for (size_t i = 0; made && *ret_error == CL_SUCCESS && i < constant_count; i++)
		*ret_error = OCL_NEXT.clSetProgramSpecializationConstant(
			made, constants[i].id, constants[i].size, constants[i].value);
	if (made && *ret_error != CL_SUCCESS) {
		(void)OCL_NEXT.clReleaseProgram(made);	/* ours alone */
		made = NULL;
	}
	return made;
}

struct ocl_original *ocl_original_ref(struct ocl_original *original)
{
	if (original)
		atomic_fetch_add_explicit(&original->refs, 1, memory_order_relaxed);
	return original;
}

void ocl_original_unref(struct ocl_original *original)
{
	if (!original ||
	    atomic_fetch_sub_explicit(&original->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (cl_uint i = 0; i < original->header_count; i++) {
		free(original->headers[i].name);
		ocl_program_text_unref(original->headers[i].text);
	}
	for (cl_uint i = 0; i < original->input_count; i++)
		ocl_original_unref(original->inputs[i]);
	ocl_program_text_unref(original->text);
	cc_entry_unref(atomic_load(&original->entry));
	free(original->headers);
	free(original->inputs);
	free(original->constants);
	free(original->list);
	free(original->options);
	free(original);
}

static struct ocl_original *new_original(enum how how, const struct ocl_original_request *request)
{
	struct ocl_original *original = calloc(1, sizeof(*original));
	bool listed = request->list && request->list_count;

	if (!original)
		return NULL;
	atomic_init(&original->refs, 1);
	original->how = how;
	if (request->options)
		original->options = strdup(request->options);
	if (listed)
		original->list = malloc(request->list_count * sizeof(*original->list));
	if ((request->options && !original->options) || (listed && !original->list)) {
		ocl_original_unref(original);
		return NULL;
	}
	if (listed) {
		original->list_count = request->list_count;
		memcpy(original->list, request->list, request->list_count * sizeof(*original->list));
	}
	return original;
}

static bool copy_constants(struct ocl_original *original,
			   const struct ocl_original_request *request)
{
	size_t size = request->constant_count * sizeof(*request->constants);

	original->constants = malloc(size);
	if (!original->constants)
		return false;
	memcpy(original->constants, request->constants, size);
	original->constant_count = request->constant_count;
	return true;
}

static bool copy_headers(struct ocl_original *original,
			 const struct ocl_original_request *request)
{
	original->headers = calloc(request->header_count, sizeof(*original->headers));
	if (!original->headers)
		return false;
	original->header_count = request->header_count;
	for (cl_uint i = 0; i < request->header_count; i++) {
		const struct ocl_header *header = &request->headers[i];

		original->headers[i].name = strdup(header->name);
		if (!original->headers[i].name)
			return false;
		original->headers[i].text = ocl_program_text_ref(header->text);
	}
	return true;
}

struct ocl_original *ocl_original_of_text(struct ocl_program_text *text,
					  const struct ocl_original_request *request)
{
	struct ocl_original *original = new_original(request->compiled ? COMPILED : BUILT, request);

	if (!original)
		return NULL;
	original->text = ocl_program_text_ref(text);
	if ((!request->constant_count || copy_constants(original, request)) &&
	    (!request->header_count || copy_headers(original, request)))
		return original;
	ocl_original_unref(original);
	return NULL;
}

struct ocl_original *ocl_original_of_link(cl_uint count, struct ocl_original *const *inputs,
					  const struct ocl_original_request *request)
{
	struct ocl_original *original = new_original(LINKED, request);

	if (!original)
		return NULL;
	original->inputs = calloc(count, sizeof(struct ocl_original *));
	if (!original->inputs) {
		ocl_original_unref(original);
		return NULL;
	}
	for (cl_uint i = 0; i < count; i++)
		original->inputs[i] = ocl_original_ref(inputs[i]);
	original->input_count = count;
	return original;
}

void ocl_original_set_entry(struct ocl_original *original, struct cc_entry *entry)
{
	struct cc_entry *none = NULL;

	cc_entry_ref(entry);
	if (!atomic_compare_exchange_strong(&original->entry, &none, entry))
		cc_entry_unref(entry);
}

bool ocl_original_holds(struct ocl_original *original, struct cc_file_memo *memo)
{
	const struct cc_entry *entry = atomic_load(&original->entry);
	struct cc_include_paths paths;
	struct cmn_buffer options = { 0 };

	for (cl_uint i = 0; i < original->input_count; i++) {
		if (!ocl_original_holds(original->inputs[i], memo))
			return false;
	}
	if (original->how == LINKED)
		return true;
	/* The entry may be of a build with other include paths. */
	cc_include_paths_take(original->options, &options, &paths);
	cmn_buffer_release(&options);
	return entry && cc_manifest_compare_at(cc_entry_manifest(entry), &paths, memo, NULL) == CMN_OK;
}

static void release_programs(cl_uint count, cl_program *programs)
{
	for (cl_uint i = 0; programs && i < count; i++) {
		if (programs[i])
			(void)OCL_NEXT.clReleaseProgram(programs[i]);	/* ours alone */
	}
	free(programs);
}

static cl_int compile(const struct ocl_original *original, cl_context context, cl_program program)
{
	cl_uint count = original->header_count;
	cl_program *headers = count ? calloc(count, sizeof(*headers)) : NULL;
	const char **names = count ? calloc(count, sizeof(*names)) : NULL;
	cl_int error = CL_OUT_OF_HOST_MEMORY;

	if (count && (!headers || !names))
		goto out;
	for (cl_uint i = 0; i < count; i++) {
		names[i] = original->headers[i].name;
		headers[i] = ocl_program_text_make_program(original->headers[i].text, context,
							   NULL, 0, &error);
		if (!headers[i])
			goto out;
	}
	error = OCL_NEXT.clCompileProgram(program, original->list_count, original->list,
					  original->options, count, headers, names, NULL, NULL);
out:
	release_programs(count, headers);
	free(names);
	return error;
}

static cl_program make_of_text(const struct ocl_original *original, cl_context context)
{
	cl_int error;
	cl_program program = ocl_program_text_make_program(original->text, context,
							   original->constants,
							   original->constant_count, &error);
	struct drv_observation *observation;

	if (!program)
		return NULL;
	drv_environment_note_build();
	observation = drv_observer_pass(NULL);
	error = original->how == COMPILED ? compile(original, context, program) :
		OCL_NEXT.clBuildProgram(program, original->list_count, original->list,
					original->options, NULL, NULL);
	drv_observer_drop(observation);
	if (error == CL_SUCCESS)
		return program;
	(void)OCL_NEXT.clReleaseProgram(program);	/* ours alone */
	return NULL;
}

static cl_program make_of_link(const struct ocl_original *original, cl_context context)
{
	cl_program *inputs = calloc(original->input_count, sizeof(*inputs)), program = NULL;
	cl_int error = CL_OUT_OF_HOST_MEMORY;

	if (!inputs)
		return NULL;
	for (cl_uint i = 0; i < original->input_count; i++) {
		inputs[i] = ocl_original_make(original->inputs[i], context);
		if (!inputs[i])
			goto out;
	}
	program = OCL_NEXT.clLinkProgram(context, original->list_count, original->list,
					 original->options, original->input_count, inputs, NULL,
					 NULL, &error);
	if (program && error != CL_SUCCESS) {
		(void)OCL_NEXT.clReleaseProgram(program);	/* ours alone */
		program = NULL;
	}
out:
	release_programs(original->input_count, inputs);
	return program;
}

cl_program ocl_original_make(const struct ocl_original *original, cl_context context)
{
	if (!original)
		return NULL;
	return original->how == LINKED ? make_of_link(original, context) :
					 make_of_text(original, context);
}
