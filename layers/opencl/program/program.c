/* SPDX-License-Identifier: MIT */
/* program: the life of programs, and what they are built from and for. */
#include "layers/opencl/program/program.h"

#include <stdlib.h>
#include <string.h>

#include "layers/opencl/key/targets.h"

static void destroy_program(struct ocl_object *object)
{
	struct ocl_program *program = (struct ocl_program *)object;

	ocl_loaded_program_unref(program->loaded);
	ocl_original_unref(program->original);
	free(program->constants);
	free(program->built);
	free(program->options);
	ocl_program_text_unref(program->text);
	free(program);
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

struct ocl_loaded_program *ocl_program_take_loaded(struct ocl_program *program)
{
	struct ocl_loaded_program *loaded;

	ocl_objects_lock();
	program->has_content = false;
	program->build_serial++;
	ocl_objects_unlock();
	ocl_object_lock(&program->object);
	loaded = program->loaded;
	program->loaded = NULL;
	ocl_object_unlock(&program->object);
	return loaded;
}

void ocl_program_settle_loaded(struct ocl_program *program, struct ocl_loaded_program *loaded,
			       cl_int error)
{
	if (!loaded)
		return;
	/* A call that the driver refused outright left the program as it was. */
	if (error == CL_INVALID_VALUE || error == CL_INVALID_DEVICE || error == CL_INVALID_OPERATION ||
	    error == CL_INVALID_PROGRAM) {
		ocl_program_set_loaded(program, loaded);
		return;
	}
	ocl_object_lock(&program->object);
	program->lost_loaded |= error != CL_SUCCESS && loaded->kind == OCL_LOADED_EXECUTABLE;
	ocl_object_unlock(&program->object);
	ocl_loaded_program_unref(loaded);
}

static void forget_builds(struct ocl_object *object, void *ctx)
{
	struct ocl_program *program = (struct ocl_program *)object;

	(void)ctx;
	program->busy = false;
	program->async_builds = 0;
}

void ocl_programs_forked_locked(void)
{
	ocl_objects_each(OCL_PROGRAMS, forget_builds, NULL);
}

void ocl_program_begin(struct ocl_program *program, struct ocl_program_state *ret)
{
	ocl_objects_lock();
	while (program->busy)
		ocl_objects_wait();
	program->busy = true;
	ret->left_to_driver = program->async_builds != 0;
	ret->is_built = program->built_count || program->built_unknown;
	ret->has_constants = program->constant_count || program->constants_unknown || program->constants_coming;
	ret->constants_told = program->constants_told;
	ocl_object_lock(&program->object);
	if (program->live_kernels && !ocl_loaded_program_has_kernels(program->loaded))
		ret->left_to_driver = true;
	ret->loaded = program->loaded_kernels ? ocl_loaded_program_ref(program->loaded) : NULL;
	ocl_object_unlock(&program->object);
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
	ocl_objects_unlock_and_wake();
}

void ocl_program_remember(cl_program handle, cl_context context, struct ocl_program_text *text)
{
	struct ocl_program *program = calloc(1, sizeof(*program));

	if (!program) {
		ocl_program_text_unref(text);
		return;
	}
	ocl_object_init(&program->object, handle, destroy_program);
	program->context = context;
	program->text = text;
	if (!ocl_objects_add(OCL_PROGRAMS, &program->object))
		ocl_program_unref(program);
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
	struct ocl_program *program = (struct ocl_program *)ocl_objects_find_and_lock(OCL_PROGRAMS, handle);

	if (!program)
		return NULL;
	ocl_object_ref(&program->object);
	*ret_loaded = ocl_loaded_program_ref(program->loaded);
	program->live_kernels++;
	program->loaded_kernels += ocl_loaded_program_has_kernels(program->loaded);
	ocl_object_unlock(&program->object);
	return program;
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

cl_int ocl_program_release(struct ocl_program *program)
{
	cl_program handle = program->object.handle;
	cl_int error;

	ocl_object_lock(&program->object);
	if (program->object.app_refs > 1) {
		program->object.app_refs--;
		ocl_object_unlock(&program->object);
		error = OCL_NEXT.clReleaseProgram(handle);
		if (error == CL_SUCCESS)
			return CL_SUCCESS;
		/* The application has it still. */
		ocl_object_lock(&program->object);
		program->object.app_refs++;
		ocl_object_unlock(&program->object);
		return error;
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

static struct cmn_hash content_of(const struct cc_entry *entry)
{
	struct cmn_view payload = cc_entry_payload(entry);

	return cmn_hash_of(payload.data, payload.len);
}

/* With the layer's lock. */
static void set_content(struct ocl_program *program, struct cc_entry *entry, const struct cmn_hash *content)
{
	program->has_content = true;
	program->content = *content;
	if (program->original)
		ocl_original_set_entry(program->original, entry);
}

void ocl_program_set_content(struct ocl_program *program, struct cc_entry *entry)
{
	struct cmn_hash content = content_of(entry);

	ocl_objects_lock();
	set_content(program, entry, &content);
	ocl_objects_unlock();
}

struct ocl_original *ocl_program_new_original(struct ocl_program *program,
					      const struct ocl_original_request *request)
{
	struct ocl_original_request whole = *request;
	struct ocl_original *original;

	ocl_objects_lock();
	whole.constants = program->constants;
	whole.constant_count = program->constant_count;
	original = ocl_original_of_text(program->text, &whole);
	ocl_objects_unlock();
	return original;
}

/* With the layer's lock. The build that made it, with a new reference; NULL: none did, or it is not known. */
static struct ocl_original *original_of_build(const struct ocl_program *program)
{
	const struct ocl_original_request build = {
		.list_count = program->built_count,
		.list = program->built,
		.options = program->options,
		.constant_count = program->constant_count,
		.constants = program->constants,
	};

	return program->text && program->options && !program->constants_unknown ?
		       ocl_original_of_text(program->text, &build) : NULL;
}

struct ocl_original *ocl_program_original(struct ocl_program *program)
{
	struct ocl_original *original;

	ocl_objects_lock();
	original = program->original ? ocl_original_ref(program->original) : original_of_build(program);
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

/* With the layer's lock. */
static void add_built(struct ocl_program *program, cl_uint num_devices, const cl_device_id *devices)
{
	for (cl_uint i = 0; i < num_devices; i++) {
		cl_device_id *built;

		if (ocl_targets_among(devices[i], program->built_count, program->built))
			continue;
		built = realloc(program->built, (program->built_count + 1) * sizeof(*built));
		if (!built) {
			program->built_unknown = true;
			break;
		}
		program->built = built;
		built[program->built_count++] = devices[i];
	}
}

bool ocl_program_build_was_tried(struct ocl_program *program)
{
	bool tried;

	ocl_objects_lock();
	tried = program->build_tried;
	ocl_objects_unlock();
	return tried;
}

void ocl_program_note_build(struct ocl_program *program)
{
	ocl_objects_lock();
	program->build_tried = true;
	ocl_objects_unlock();
}

void ocl_program_add_built(struct ocl_program *program, cl_uint num_devices,
			   const cl_device_id *devices)
{
	ocl_objects_lock();
	program->built_unknown |= !num_devices;
	add_built(program, num_devices, devices);
	ocl_objects_unlock();
}

void ocl_program_put_hit(struct ocl_program *program, const struct ocl_program_hit *hit)
{
	char *options = hit->options ? strdup(hit->options) : NULL, *old_options;
	struct ocl_loaded_program *old_loaded;
	struct ocl_original *old_original;
	struct cmn_hash content;

	if (hit->object)
		content = content_of(hit->object);
	ocl_objects_lock();
	ocl_object_lock(&program->object);
	old_loaded = program->loaded;
	program->loaded = hit->loaded;
	ocl_object_unlock(&program->object);
	old_original = program->original;
	program->original = hit->original;
	program->has_content = false;
	if (hit->object)
		set_content(program, hit->object, &content);
	add_built(program, hit->num_devices, hit->devices);
	program->build_tried |= hit->loaded->kind != OCL_LOADED_OBJECT;
	if (program->built_unknown || program->constants_told != hit->constants_told) {
		free(options);
		options = NULL;
	}
	old_options = program->options;
	program->options = options;
	program->busy = false;
	ocl_objects_unlock_and_wake();
	free(old_options);
	if (old_loaded)
		ocl_loaded_program_unref(old_loaded);
	if (old_original)
		ocl_original_unref(old_original);
}

void ocl_program_set_options(struct ocl_program *program, const char *options,
			     const struct ocl_program_state *found)
{
	char *copy = options ? strdup(options) : NULL, *old;

	ocl_objects_lock();
	if (found && program->constants_told != found->constants_told) {
		free(copy);
		copy = NULL;
	}
	old = program->options;
	program->options = copy;
	ocl_objects_unlock();
	free(old);
}

static bool same_constants(const struct ocl_program *a, const struct ocl_program *b)
{
	bool same = a->constant_count == b->constant_count && !a->constants_unknown && !a->constants_coming;

	for (size_t i = 0; same && i < a->constant_count; i++) {
		const struct ocl_constant *left = &a->constants[i], *right = &b->constants[i];

		same = left->id == right->id && left->size == right->size &&
		       memcmp(left->value, right->value, left->size) == 0;
	}
	return same;
}

static bool same_text(const struct ocl_program_text *a, const struct ocl_program_text *b)
{
	return a && b && a->is_il == b->is_il && a->len == b->len &&
	       memcmp(a->data, b->data, a->len) == 0;
}

bool ocl_program_is_build_of(struct ocl_program *program, const struct ocl_program *parts,
			     const char *options)
{
	bool same = same_text(program->text, parts->text);

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
		beyond = beyond || !ocl_targets_among(program->built[i], num_devices, devices);
	ocl_objects_unlock();
	return beyond;
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

void ocl_program_expect_constant(struct ocl_program *program)
{
	ocl_objects_lock();
	/* With the constants that it was built with. */
	if (!program->original)
		program->original = original_of_build(program);
	program->constants_told++;
	program->constants_coming++;
	ocl_objects_unlock();
}

void ocl_program_keep_constant(struct ocl_program *program, bool told, cl_uint id, size_t size,
			       const void *value)
{
	ocl_objects_lock();
	program->constants_coming--;
	if (told && !keep_constant(program, id, size, value))
		program->constants_unknown = true;
	ocl_objects_unlock();
	if (told)
		ocl_program_set_options(program, NULL, NULL);	/* it is built with others */
}

bool ocl_program_got_constants(struct ocl_program *program, const struct ocl_program_state *found)
{
	bool got;

	ocl_objects_lock();
	got = program->constants_told != found->constants_told;
	ocl_objects_unlock();
	return got;
}
