/* SPDX-License-Identifier: MIT */
/* program: creation, specialization constants, and the life of programs. */
#include "layers/opencl/hooks/program.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/opencl/program/capture.h"
#include "layers/opencl/hooks/dispatch.h"
#include "layers/opencl/program/process_exit.h"

static void destroy_program(struct ocl_object *object)
{
	struct ocl_program *program = (struct ocl_program *)object;

	ocl_loaded_program_unref(program->loaded);
	ocl_capture_free(program->capture);
	ocl_original_unref(program->original);
	free(program->constants);
	free(program->built);
	free(program->options);
	free(program->source);
	free(program);
}

struct ocl_program *ocl_program_find(cl_program handle)
{
	if (!ocl_layer.cache)
		return NULL;
	return (struct ocl_program *)ocl_objects_find(OCL_PROGRAMS, handle);
}

void ocl_program_unref(struct ocl_program *program)
{
	if (program)
		ocl_object_unref(&program->object);
}

struct ocl_loaded_program *ocl_program_loaded(struct ocl_program *program)
{
	struct ocl_loaded_program *loaded;

	ocl_object_lock(&program->object);
	loaded = ocl_loaded_program_ref(program->loaded);
	ocl_object_unlock(&program->object);
	return loaded;
}

void ocl_program_set_loaded(struct ocl_program *program, struct ocl_loaded_program *loaded)
{
	struct ocl_loaded_program *old;

	ocl_object_lock(&program->object);
	old = program->loaded;
	program->loaded = loaded;
	ocl_object_unlock(&program->object);
	ocl_loaded_program_unref(old);
}

static void forget_builds(struct ocl_object *object, void *ctx)
{
	struct ocl_program *program = (struct ocl_program *)object;

	(void)ctx;
	program->busy = false;
	program->read_at_exit = false;
	program->async_builds = 0;
}

void ocl_programs_forked_locked(void)
{
	ocl_objects_each(OCL_PROGRAMS, forget_builds, NULL);
}

void ocl_program_begin(struct ocl_program *program)
{
	ocl_objects_lock();
	while (program->busy)
		ocl_objects_wait();
	program->busy = true;
	ocl_objects_unlock();
}

bool ocl_program_try_begin(struct ocl_program *program)
{
	bool begun;

	ocl_objects_lock();
	begun = !program->busy;
	program->busy = true;
	ocl_objects_unlock();
	return begun;
}

void ocl_program_end(struct ocl_program *program)
{
	ocl_objects_lock();
	program->busy = false;
	program->read_at_exit = false;
	ocl_objects_changed();
	ocl_objects_unlock();
}

/*
 * The driver's final release, once the application and the loaded program's
 * kernels are through with the program. The object's lock is held on entry and released here: the
 * record leaves the map before the driver may use the address again.
 */
static cl_int finish_program(struct ocl_program *program)
{
	cl_program handle = program->object.handle;
	struct ocl_loaded_program *loaded = program->loaded;
	cl_int error;

	program->loaded = NULL;
	program->held = false;
	ocl_objects_remove_and_unlock(OCL_PROGRAMS, &program->object);
	ocl_loaded_program_unref(loaded);
	ocl_program_set_original(program, NULL);	/* which holds the program */
	error = OCL_NEXT.clReleaseProgram(handle);
	ocl_object_unref(&program->object);
	return error;
}

void ocl_program_add_kernel(struct ocl_program *program, bool of_loaded)
{
	ocl_object_lock(&program->object);
	program->live_kernels++;
	program->loaded_kernels += of_loaded;
	ocl_object_unlock(&program->object);
}

struct ocl_program *ocl_program_find_for_kernel(cl_program handle,
						struct ocl_loaded_program **ret_loaded)
{
	struct ocl_program *program;

	if (!ocl_layer.cache)
		return NULL;
	program = (struct ocl_program *)ocl_objects_find_and_lock(OCL_PROGRAMS, handle);
	if (!program)
		return NULL;
	ocl_object_ref(&program->object);
	*ret_loaded = ocl_loaded_program_ref(program->loaded);
	program->live_kernels++;
	program->loaded_kernels += ocl_loaded_program_has_kernels(program->loaded);
	ocl_object_unlock(&program->object);
	return program;
}

struct ocl_loaded_program *ocl_program_supersede(struct ocl_program *program)
{
	struct ocl_loaded_program *loaded;
	struct ocl_capture *capture;
	uint64_t serial;

	ocl_objects_lock();
	capture = program->capture;
	program->capture = NULL;
	program->has_content = false;
	serial = ++program->build_serial;
	ocl_objects_unlock();
	ocl_object_lock(&program->object);
	loaded = program->loaded;
	program->loaded = NULL;
	ocl_object_unlock(&program->object);
	ocl_capture_run(capture, program, serial);
	return loaded;
}

static void lose_loaded(struct ocl_program *program, struct ocl_loaded_program *loaded,
			cl_int error)
{
	ocl_object_lock(&program->object);
	if (error == CL_SUCCESS)
		program->lost_loaded = false;
	else if (loaded && loaded->kind == OCL_LOADED_EXECUTABLE)
		program->lost_loaded = true;
	ocl_object_unlock(&program->object);
	ocl_loaded_program_unref(loaded);
}

void ocl_program_superseded(struct ocl_program *program, struct ocl_loaded_program *loaded,
			    cl_int error)
{
	/* A call that the driver refused outright left the program as it was. */
	if (loaded && (error == CL_INVALID_VALUE || error == CL_INVALID_DEVICE ||
		       error == CL_INVALID_OPERATION || error == CL_INVALID_PROGRAM))
		ocl_program_set_loaded(program, loaded);
	else
		lose_loaded(program, loaded, error);
}

void ocl_program_drop_kernel(struct ocl_program *program, bool of_loaded)
{
	ocl_object_lock(&program->object);
	program->live_kernels--;
	program->loaded_kernels -= of_loaded;
	if (program->held && program->loaded_kernels == 0) {
		(void)finish_program(program);	/* the application's call has succeeded already */
		return;
	}
	ocl_object_unlock(&program->object);
}

void ocl_program_set_content(struct ocl_program *program, struct cc_entry *entry)
{
	struct cmn_view payload = entry ? cc_entry_payload(entry) : (struct cmn_view){ 0 };
	struct cmn_hash content = cmn_hash_of(payload.data, payload.len);

	ocl_objects_lock();
	program->has_content = entry != NULL;
	program->content = content;
	if (entry && program->original)
		ocl_original_set_entry(program->original, entry);
	ocl_objects_unlock();
}

struct ocl_original *ocl_program_original(struct ocl_program *program)
{
	struct ocl_original *original;

	ocl_objects_lock();
	original = ocl_original_ref(program->original);
	ocl_objects_unlock();
	return original;
}

void ocl_program_set_original(struct ocl_program *program, struct ocl_original *original)
{
	struct ocl_original *old;

	ocl_objects_lock();
	old = program->original;
	program->original = original;
	ocl_objects_unlock();
	ocl_original_unref(old);
}

bool ocl_program_content(struct ocl_program *program, struct cmn_hash *ret)
{
	bool known;

	ocl_objects_lock();
	known = program->has_content;
	*ret = program->content;
	ocl_objects_unlock();
	return known;
}

static bool is_among(cl_device_id device, cl_uint num_devices, const cl_device_id *devices)
{
	for (cl_uint i = 0; i < num_devices; i++) {
		if (devices[i] == device)
			return true;
	}
	return false;
}

void ocl_program_add_built(struct ocl_program *program, cl_uint num_devices,
			   const cl_device_id *devices)
{
	ocl_objects_lock();
	for (cl_uint i = 0; i < num_devices; i++) {
		cl_device_id *built;

		if (is_among(devices[i], program->built_count, program->built))
			continue;
		built = realloc(program->built, (program->built_count + 1) * sizeof(*built));
		if (!built) {
			program->built_unknown = true;
			break;
		}
		program->built = built;
		built[program->built_count++] = devices[i];
	}
	ocl_objects_unlock();
}

void ocl_program_set_options(struct ocl_program *program, const char *options)
{
	char *copy = options ? strdup(options) : NULL, *old;

	ocl_objects_lock();
	old = program->options;
	program->options = copy;
	ocl_objects_unlock();
	free(old);
}

static bool same_constants(const struct ocl_program *a, const struct ocl_program *b)
{
	bool same = a->constant_count == b->constant_count && !a->constants_unknown;

	for (size_t i = 0; same && i < a->constant_count; i++) {
		const struct ocl_constant *left = &a->constants[i], *right = &b->constants[i];

		same = left->id == right->id && left->size == right->size &&
		       memcmp(left->value, right->value, left->size) == 0;
	}
	return same;
}

bool ocl_program_is_build_of(struct ocl_program *program, const struct ocl_program *parts,
			     const char *options)
{
	bool same = program->kind == parts->kind && program->source_len == parts->source_len &&
		    memcmp(program->source, parts->source, parts->source_len) == 0;

	ocl_objects_lock();
	same = same && program->options && strcmp(program->options, options ? options : "") == 0 &&
	       same_constants(program, parts);
	ocl_objects_unlock();
	return same;
}

bool ocl_program_built_beyond(struct ocl_program *program, cl_uint num_devices,
			      const cl_device_id *devices)
{
	bool beyond;

	ocl_objects_lock();
	beyond = program->built_unknown;
	for (cl_uint i = 0; i < program->built_count; i++)
		beyond = beyond || !is_among(program->built[i], num_devices, devices);
	ocl_objects_unlock();
	return beyond;
}

static size_t string_length(const char *string, const size_t *lengths, cl_uint i)
{
	return lengths && lengths[i] ? lengths[i] : strlen(string);
}

/* The strings as one text, as the driver sees them; NULL: out of memory. */
static char *join_strings(cl_uint count, const char **strings, const size_t *lengths,
			  size_t *ret_len)
{
	size_t total = 0, at = 0;
	char *text;

	for (cl_uint i = 0; i < count; i++)
		total += string_length(strings[i], lengths, i);
	text = malloc(total + 1);
	if (!text)
		return NULL;
	for (cl_uint i = 0; i < count; i++) {
		size_t len = string_length(strings[i], lengths, i);

		memcpy(text + at, strings[i], len);
		at += len;
	}
	text[total] = '\0';
	*ret_len = total;
	return text;
}

void ocl_program_remember(cl_program handle, cl_context context, enum ocl_program_kind kind,
			  char *source, size_t source_len)
{
	struct ocl_program *program = calloc(1, sizeof(*program));

	ocl_process_exit_watch();
	if (!program) {
		free(source);
		return;
	}
	ocl_object_init(&program->object, handle, destroy_program);
	program->context = context;
	program->kind = kind;
	program->source = source;
	program->source_len = source_len;
	if (!ocl_objects_add(OCL_PROGRAMS, &program->object))
		ocl_program_unref(program);
}

cl_program CL_API_CALL ocl_clCreateProgramWithSource(cl_context context, cl_uint count,
						     const char **strings, const size_t *lengths,
						     cl_int *errcode_ret)
{
	cl_program handle = OCL_NEXT.clCreateProgramWithSource(context, count, strings, lengths,
							       errcode_ret);

	/* A program that the driver accepted has valid arguments. */
	if (handle && ocl_layer.cache) {
		size_t len;
		char *text = join_strings(count, strings, lengths, &len);

		if (text)
			ocl_program_remember(handle, context, OCL_PROGRAM_SOURCE, text, len);
	}
	return handle;
}

static void remember_il(cl_program handle, cl_context context, const void *il, size_t length)
{
	char *copy;

	if (!handle || !ocl_layer.cache)
		return;
	copy = malloc(length ? length : 1);
	if (!copy)
		return;
	memcpy(copy, il, length);
	ocl_program_remember(handle, context, OCL_PROGRAM_IL, copy, length);
}

cl_program CL_API_CALL ocl_clCreateProgramWithIL(cl_context context, const void *il, size_t length,
						 cl_int *errcode_ret)
{
	return ocl_program_create_with_il(OCL_NEXT.clCreateProgramWithIL, context, il, length,
					  errcode_ret);
}

cl_program ocl_program_create_with_il(ocl_create_with_il_fn next, cl_context context,
				      const void *il, size_t length, cl_int *errcode_ret)
{
	cl_program handle = next(context, il, length, errcode_ret);

	remember_il(handle, context, il, length);
	return handle;
}

cl_program ocl_program_create_again(cl_context context, const struct ocl_program *program,
				    const struct ocl_constant *constants, size_t constant_count,
				    cl_int *ret_error)
{
	const char *text = program->source;
	cl_program again;

	if (program->kind == OCL_PROGRAM_SOURCE)
		return OCL_NEXT.clCreateProgramWithSource(context, 1, &text, &program->source_len,
							  ret_error);
	*ret_error = CL_INVALID_OPERATION;
	if (program->kind != OCL_PROGRAM_IL || !OCL_NEXT.clCreateProgramWithIL ||
	    (constant_count && !OCL_NEXT.clSetProgramSpecializationConstant))
		return NULL;
	again = OCL_NEXT.clCreateProgramWithIL(context, program->source, program->source_len,
					       ret_error);
	for (size_t i = 0; again && *ret_error == CL_SUCCESS && i < constant_count; i++)
		*ret_error = OCL_NEXT.clSetProgramSpecializationConstant(
			again, constants[i].id, constants[i].size, constants[i].value);
	if (again && *ret_error != CL_SUCCESS) {
		(void)OCL_NEXT.clReleaseProgram(again);	/* ours alone */
		again = NULL;
	}
	return again;
}

/* With the lock. The place of a constant in the list, or where it would be. */
static size_t place_of_constant(const struct ocl_program *program, cl_uint id)
{
	size_t i = 0;

	while (i < program->constant_count && program->constants[i].id < id)
		i++;
	return i;
}

/* With the lock. */
static bool keep_constant(struct ocl_program *program, cl_uint id, size_t size, const void *value)
{
	size_t count = program->constant_count, i = place_of_constant(program, id);
	struct ocl_constant *constants = program->constants;

	if (size > sizeof(constants->value))
		return false;
	if (i == count || constants[i].id != id) {
		constants = realloc(constants, (count + 1) * sizeof(*constants));
		if (!constants)
			return false;
		memmove(constants + i + 1, constants + i, (count - i) * sizeof(*constants));
		program->constants = constants;
		program->constant_count++;
	}
	constants[i] = (struct ocl_constant){ .id = id, .size = size };
	memcpy(constants[i].value, value, size);
	return true;
}

cl_int ocl_program_set_constant(ocl_set_constant_fn next, cl_program handle, cl_uint spec_id,
				size_t spec_size, const void *spec_value)
{
	cl_int error = next(handle, spec_id, spec_size, spec_value);
	struct ocl_program *program = error == CL_SUCCESS ? ocl_program_find(handle) : NULL;

	if (!program)
		return error;
	ocl_objects_lock();
	if (!keep_constant(program, spec_id, spec_size, spec_value))
		program->constants_unknown = true;
	ocl_objects_unlock();
	ocl_program_set_options(program, NULL);	/* it is built with others */
	ocl_program_unref(program);
	return error;
}

cl_int CL_API_CALL ocl_clSetProgramSpecializationConstant(cl_program handle, cl_uint spec_id,
							  size_t spec_size,
							  const void *spec_value)
{
	return ocl_program_set_constant(OCL_NEXT.clSetProgramSpecializationConstant, handle,
					spec_id, spec_size, spec_value);
}

cl_int CL_API_CALL ocl_clRetainProgram(cl_program handle)
{
	struct ocl_program *program = NULL;
	bool kept_for_kernels = false, known;
	cl_int error;

	if (ocl_layer.cache)
		program = (struct ocl_program *)ocl_objects_find_and_lock(OCL_PROGRAMS, handle);
	known = program != NULL;
	if (program) {
		/* The reference that the layer kept becomes the application's. */
		kept_for_kernels = program->held;
		program->held = false;
		program->object.app_refs++;
		ocl_object_unlock(&program->object);
	}
	error = kept_for_kernels ? CL_SUCCESS : OCL_NEXT.clRetainProgram(handle);
	if (error != CL_SUCCESS && known) {
		program = (struct ocl_program *)ocl_objects_find_and_lock(OCL_PROGRAMS, handle);
		if (program) {
			program->object.app_refs--;
			ocl_object_unlock(&program->object);
		}
	}
	return error;
}

/* The application's last release, or so it was when the caller looked. */
static cl_int release_last(struct ocl_program *program)
{
	cl_program handle = program->object.handle;
	struct ocl_capture *capture;
	uint64_t serial;

	ocl_objects_lock();
	while (program->read_at_exit)
		ocl_objects_wait();
	capture = program->capture;
	program->capture = NULL;
	serial = program->build_serial;
	ocl_objects_unlock();
	/* Only now has the driver made all it will; the program is still alive to be asked. */
	ocl_capture_run(capture, program, serial);

	ocl_object_lock(&program->object);
	if (program->object.app_refs > 1) {
		program->object.app_refs--;
		ocl_object_unlock(&program->object);
		return OCL_NEXT.clReleaseProgram(handle);
	}
	if (program->object.app_refs == 0) {
		ocl_object_unlock(&program->object);
		return CL_INVALID_PROGRAM;
	}
	program->object.app_refs = 0;
	program->held = program->loaded_kernels != 0;
	if (!program->held)
		return finish_program(program);
	ocl_object_unlock(&program->object);	/* the last of them finishes it */
	return CL_SUCCESS;
}

cl_int CL_API_CALL ocl_clReleaseProgram(cl_program handle)
{
	CMN_NOT_CANCELLED;
	struct ocl_program *program = NULL;
	cl_int error;

	if (ocl_layer.cache)
		program = (struct ocl_program *)ocl_objects_find_and_lock(OCL_PROGRAMS, handle);
	if (!program)
		return OCL_NEXT.clReleaseProgram(handle);
	if (program->object.app_refs > 1) {
		program->object.app_refs--;
		ocl_object_unlock(&program->object);
		return OCL_NEXT.clReleaseProgram(handle);
	}
	ocl_object_ref(&program->object);
	ocl_object_unlock(&program->object);
	error = release_last(program);
	ocl_program_unref(program);
	return error;
}
