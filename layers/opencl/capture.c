/* SPDX-License-Identifier: MIT */
/* capture: binaries, logs, options and attributes of a built program. */
#include "layers/opencl/capture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layers/opencl/program.h"

struct ocl_capture {
	struct cc_key key;
	struct cc_manifest *manifest;
	struct ocl_targets targets;
	struct ocl_capture_request request;	/* whose targets are these */
};

/* The program's binaries, read into *images, which the caller frees with free_images. */
static enum cmn_status read_images(cl_program program, const struct ocl_targets *targets,
				   const size_t *lens, unsigned char **images)
{
	/* Drivers that write all binaries, asked for or not, get a place for each. */
	for (cl_uint i = 0; i < targets->program_count; i++) {
		images[i] = lens[i] ? calloc(1, lens[i]) : NULL;
		if (lens[i] && !images[i])
			return CMN_ERR_NOMEM;
	}
	return OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_BINARIES,
					 targets->program_count * sizeof(*images), images,
					 NULL) == CL_SUCCESS ? CMN_OK : CMN_MISS;
}

static void free_images(cl_uint count, unsigned char **images)
{
	for (cl_uint i = 0; images && i < count; i++)
		free(images[i]);
	free(images);
}

/* given: the binaries, for each of the program's devices; NULL: they are read from the driver. */
static enum cmn_status add_images(struct cc_entry *entry, cl_program program,
				  const struct ocl_targets *targets, unsigned char *const *given)
{
	cl_uint count = targets->program_count;
	size_t *lens = calloc(count, sizeof(*lens));
	unsigned char **read = calloc(count, sizeof(*read));
	unsigned char *const *images = given ? given : read;
	enum cmn_status status = CMN_ERR_NOMEM;
	size_t size;

	if (!lens || !read)
		goto out;
	status = CMN_MISS;
	if (OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(*lens), lens,
				      &size) != CL_SUCCESS || size != count * sizeof(*lens))
		goto out;
	for (cl_uint i = 0; i < targets->count; i++) {
		if (lens[targets->places[i]] == 0)
			goto out;
	}
	status = given ? CMN_OK : read_images(program, targets, lens, read);
	for (cl_uint i = 0, next = 0; i < count && status == CMN_OK; i++) {
		bool target = next < targets->count && targets->places[next] == i;

		/* The application may have left some out. */
		if (lens[i] && !images[i])
			status = CMN_MISS;
		else if (target)
			cc_entry_add(entry, CC_TAG_IMAGE, next++, images[i], lens[i]);
		else if (lens[i])
			cc_entry_add(entry, OCL_TAG_OTHER_IMAGE, i, images[i], lens[i]);
	}
out:
	free_images(count, read);
	free(lens);
	return status;
}

/* Adds what clGetProgramBuildInfo answers; an unanswered question is left out, and asked of E on a hit. */
static void add_build_info(struct cc_entry *entry, cl_program program, cl_uint i,
			   cl_device_id device, cl_program_build_info name, uint32_t tag)
{
	size_t size = 0;
	void *data;

	if (OCL_NEXT.clGetProgramBuildInfo(program, device, name, 0, NULL, &size) != CL_SUCCESS ||
	    size == 0)
		return;
	data = calloc(1, size);
	if (data && OCL_NEXT.clGetProgramBuildInfo(program, device, name, size, data, NULL) ==
			    CL_SUCCESS)
		cc_entry_add(entry, tag, i, data, size);
	free(data);
}

/* Of none NVIDIA's driver (580) must not be asked: it ends the process. An executable's E answers as P would. */
static void add_kernel_names(struct cc_entry *entry, cl_program program,
			     enum ocl_effective_kind kind)
{
	size_t count = 0, size = 0;
	char *names;

	if (OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(count), &count,
				      NULL) != CL_SUCCESS)
		return;
	if (count == 0) {
		if (kind == OCL_EFFECTIVE_OBJECT)
			cc_entry_add(entry, OCL_TAG_KERNEL_NAMES, 0, "", 1);
		return;
	}
	if (OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size) !=
		    CL_SUCCESS || size == 0)
		return;
	names = calloc(1, size);
	if (names && OCL_NEXT.clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, names,
					       NULL) == CL_SUCCESS)
		cc_entry_add(entry, OCL_TAG_KERNEL_NAMES, 0, names, size);
	free(names);
}

static void add_kernel_info(struct cc_entry *entry, cl_kernel kernel, cl_uint i,
			    cl_kernel_info name, uint32_t tag)
{
	size_t size = 0;
	void *data;

	if (OCL_NEXT.clGetKernelInfo(kernel, name, 0, NULL, &size) != CL_SUCCESS || size == 0)
		return;
	data = calloc(1, size);
	if (data && OCL_NEXT.clGetKernelInfo(kernel, name, size, data, NULL) == CL_SUCCESS)
		cc_entry_add(entry, tag, i, data, size);
	free(data);
}

static void add_attributes(struct cc_entry *entry, cl_program program)
{
	cl_kernel *kernels;
	cl_uint count = 0;

	if (OCL_NEXT.clCreateKernelsInProgram(program, 0, NULL, &count) != CL_SUCCESS || count == 0)
		return;
	kernels = calloc(count, sizeof(*kernels));
	if (!kernels)
		return;
	if (OCL_NEXT.clCreateKernelsInProgram(program, count, kernels, NULL) == CL_SUCCESS) {
		for (cl_uint i = 0; i < count; i++) {
			add_kernel_info(entry, kernels[i], i, CL_KERNEL_FUNCTION_NAME,
					OCL_TAG_KERNEL_NAME);
			add_kernel_info(entry, kernels[i], i, CL_KERNEL_ATTRIBUTES,
					OCL_TAG_KERNEL_ATTRIBUTES);
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

	memcpy(bytes, &error, sizeof(error));
	memcpy(bytes + sizeof(error), &count, sizeof(count));
	cc_entry_add(entry, OCL_TAG_NUM_KERNELS, 0, bytes, sizeof(bytes));
}

static void add_answers(struct cc_entry *entry, cl_program program,
			const struct ocl_capture_request *request)
{
	const struct ocl_targets *targets = request->targets;

	for (cl_uint i = 0; i < targets->count; i++) {
		cl_device_id device = targets->devices[i];

		add_build_info(entry, program, i, device, CL_PROGRAM_BUILD_LOG, OCL_TAG_LOG);
		add_build_info(entry, program, i, device, CL_PROGRAM_BUILD_OPTIONS,
			       OCL_TAG_OPTIONS);
		if (request->kind == OCL_EFFECTIVE_EXECUTABLE)
			continue;
		add_build_info(entry, program, i, device, CL_PROGRAM_BUILD_STATUS, OCL_TAG_STATUS);
		add_build_info(entry, program, i, device, CL_PROGRAM_BINARY_TYPE,
			       OCL_TAG_BINARY_TYPE);
	}
}

static enum cmn_status read_program(cl_program program, const struct ocl_capture_request *request,
				    unsigned char *const *images, struct cc_manifest *manifest,
				    struct cc_entry **ret)
{
	struct cc_entry *entry = NULL;
	enum cmn_status status = CMN_ERR_NOMEM;

	entry = cc_entry_new(request->build_ns);
	if (!entry)
		goto out;
	status = add_images(entry, program, request->targets, images);
	if (status != CMN_OK)
		goto out;
	add_answers(entry, program, request);
	add_kernel_names(entry, program, request->kind);
	if (request->kind == OCL_EFFECTIVE_OBJECT)
		add_num_kernels(entry, program);
	else if (request->with_attributes)
		add_attributes(entry, program);
	status = cc_entry_finish(entry, manifest);
	manifest = NULL;
out:
	cc_manifest_free(manifest);
	if (status == CMN_OK)
		*ret = entry;
	else
		cc_entry_unref(entry);
	return status;
}

enum cmn_status ocl_capture_read(cl_program program, const struct ocl_capture_request *request,
				 struct cc_manifest *manifest, struct cc_entry **ret)
{
	return read_program(program, request, NULL, manifest, ret);
}

/*
 * A compiler's complaint about the source names an error; what passes by
 * itself names a want. In doubt the build is tried again.
 */
static bool is_deterministic(struct cmn_view log)
{
	static const char *const passing[] = {
		"memory", "emory exhausted", "bad_alloc", "o space", "isk", "annot open", "o such file",
		"ermission", "esource", "imeout", "imed out", "signal", "killed", "ssertion", "nternal",
	};

	if (!log.len || !memmem(log.data, log.len, "error", 5))
		return false;
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		if (memmem(log.data, log.len, passing[i], strlen(passing[i])))
			return false;
	}
	return true;
}

enum cmn_status ocl_capture_failure(cl_program program, const struct ocl_capture_request *request,
				    cl_int error, struct cc_manifest *manifest,
				    struct cc_entry **ret)
{
	struct cc_entry *entry = cc_entry_new(request->build_ns);
	enum cmn_status status = CMN_ERR_NOMEM;
	struct cmn_view log;

	if (!entry)
		goto out;
	cc_entry_keep_in_memory(entry);
	cc_entry_add(entry, OCL_TAG_ERROR, 0, &error, sizeof(error));
	add_answers(entry, program, request);
	status = cc_entry_finish(entry, manifest);
	manifest = NULL;
	if (status == CMN_OK &&
	    !(cc_entry_find(entry, OCL_TAG_LOG, 0, &log) && is_deterministic(log)))
		status = CMN_MISS;
out:
	cc_manifest_free(manifest);
	if (status == CMN_OK)
		*ret = entry;
	else
		cc_entry_unref(entry);
	return status;
}

struct ocl_capture *ocl_capture_new(const struct cc_key *key,
				    const struct ocl_capture_request *request,
				    struct cc_manifest *manifest)
{
	struct ocl_capture *capture = calloc(1, sizeof(*capture));

	if (!capture) {
		cc_manifest_free(manifest);
		return NULL;
	}
	cc_key_init_copy(&capture->key, key);
	capture->manifest = manifest;
	capture->request = *request;
	capture->request.targets = &capture->targets;
	if (cc_key_status(&capture->key) == CMN_OK &&
	    ocl_targets_copy(request->targets, &capture->targets) == CMN_OK)
		return capture;
	ocl_capture_free(capture);
	return NULL;
}

void ocl_capture_free(struct ocl_capture *capture)
{
	if (!capture)
		return;
	cc_key_release(&capture->key);
	cc_manifest_free(capture->manifest);
	ocl_targets_release(&capture->targets);
	free(capture);
}

static void store(struct ocl_capture *capture, struct ocl_program *program,
		  unsigned char *const *images)
{
	struct cc_entry *entry;

	if (read_program(program->object.handle, &capture->request, images, capture->manifest,
			 &entry) == CMN_OK) {
		cc_cache_put(ocl_layer.cache, &capture->key, entry);
		cc_entry_unref(entry);
	}
	capture->manifest = NULL;
}

void ocl_capture_run(struct ocl_capture *capture, struct ocl_program *program)
{
	if (capture && !capture->request.on_request)
		store(capture, program, NULL);
	ocl_capture_free(capture);
}

void ocl_capture_offer(struct ocl_program *program, unsigned char *const *images, size_t count)
{
	struct ocl_capture *capture;

	ocl_objects_lock();
	capture = program->capture;
	if (capture && (!capture->request.on_request || count < capture->targets.program_count))
		capture = NULL;
	if (capture)
		program->capture = NULL;
	ocl_objects_unlock();
	if (capture)
		store(capture, program, images);
	ocl_capture_free(capture);
}

struct pending {
	struct ocl_program *programs[64];	/* one round; exit takes as many as it needs */
	size_t count;
};

static void collect_pending(struct ocl_object *object, void *ctx)
{
	struct ocl_program *program = (struct ocl_program *)object;
	struct pending *pending = ctx;

	if (!program->capture || program->capture->request.on_request || pending->count == sizeof(pending->programs) / sizeof(program))
		return;
	ocl_object_ref(object);
	pending->programs[pending->count++] = program;
}

static pid_t exit_process;	/* set once, before the handler can run */

void ocl_capture_pending(void)
{
	struct pending pending;

	if (getpid() != exit_process)
		return;
	do {
		pending.count = 0;
		ocl_objects_lock();
		ocl_objects_each(OCL_PROGRAMS, collect_pending, &pending);
		ocl_objects_unlock();
		for (size_t i = 0; i < pending.count; i++) {
			struct ocl_program *program = pending.programs[i];
			struct ocl_capture *capture;

			ocl_objects_lock();
			capture = program->capture;
			program->capture = NULL;
			ocl_objects_unlock();
			ocl_capture_run(capture, program);
			ocl_program_unref(program);
		}
	} while (pending.count);
}

/* Registered after the driver built something, so that it runs before the driver's own exit handlers. */
static void register_exit(void)
{
	exit_process = getpid();
	(void)atexit(ocl_capture_pending);	/* without it, unreleased programs are compiled again */
}

void ocl_capture_attach(struct ocl_capture *capture, struct ocl_program *program)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ocl_capture *old;

	(void)pthread_once(&once, register_exit);
	ocl_objects_lock();
	old = program->capture;
	program->capture = capture;
	ocl_objects_unlock();
	ocl_capture_free(old);
}
