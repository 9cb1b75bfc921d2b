/* SPDX-License-Identifier: MIT */
/* capture: binaries, logs, options and attributes of a built program; the places of its devices for a recipe. */
#include "layers/opencl/program/capture.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "layers/opencl/key/identity.h"
#include "layers/opencl/key/options.h"
#include "layers/opencl/key/pyopencl_nonce.h"
#include "layers/opencl/program/image_place.h"
#include "layers/opencl/program/moved_entry.h"
#include "layers/shared/driver/spirv_files.h"

struct drv_observer_text ocl_observer_text(const struct drv_driver *driver, const struct ocl_program_text *text,
					   const char *options)
{
	struct drv_observer_text ret = {
		.options = options, .directory = ocl_options_ask_for_debugging(options),
	};

	/* Who takes a header of the application's names it in one of the two. */
	ret.reads = ocl_options_read_files(options);
	if (ocl_program_text_is_source(text)) {
		ret.source = ocl_program_text_view(text);
		ret.tells_file = ocl_text_tells_file;
		ret.reads = ret.reads || driver->compiler_looks || ocl_text_reads_files(text->data, text->len);
	}
	return ret;
}

enum drv_outcome ocl_outcome_of(cl_int error)
{
	switch (error) {
	case CL_SUCCESS:
		return DRV_BUILT;
	case CL_BUILD_PROGRAM_FAILURE:
	case CL_COMPILE_PROGRAM_FAILURE:
		return DRV_BUILD_FAILED;
	case CL_OUT_OF_HOST_MEMORY:
	case CL_OUT_OF_RESOURCES:
		return DRV_OUT_OF_MEMORY;
	default:
		return DRV_ERROR;
	}
}

bool ocl_token_may_matter(const struct ocl_program_text *text, const char *options,
			  const struct cc_manifest *manifest, const struct cc_include_paths *paths)
{
	struct cmn_view token;

	return ocl_program_text_is_source(text) && cc_manifest_count(manifest) &&
	       ocl_pyopencl_nonce_find(ocl_program_text_view(text), options, &token) &&
	       ocl_pyopencl_nonce_is_in_files(token, manifest, paths);
}

/*
 * The binaries as the driver gives them; in a worker of ckcache replay with the name that
 * they have in the driver's own cache, where the application's launches left what they compiled.
 */
static enum cmn_status add_images(struct cc_entry *entry, cl_program program,
				  const struct drv_driver *driver, const struct ocl_targets *targets)
{
	struct ocl_images images;
	char *cached_as = NULL;
	enum cmn_status status = ocl_images_measure(OCL_NEXT.clGetProgramInfo, program, &images);

	if (status == CMN_OK && images.count != targets->program_count)
		status = CMN_MISS;
	/* A driver that has none for a target must not be asked for it. */
	for (cl_uint i = 0; status == CMN_OK && i < targets->count; i++) {
		if (images.lens[targets->indices[i]] == 0)
			status = CMN_MISS;
	}
	if (status == CMN_OK)
		status = ocl_images_read(OCL_NEXT.clGetProgramInfo, program, &images);
	if (status == CMN_OK && cc_cache_config(ocl_layer.cache)->built_for)
		status = cmn_env_get(CC_CONFIG_CACHED_AS, &cached_as);
	for (cl_uint i = 0, next = 0; status == CMN_OK && i < targets->program_count; i++) {
		bool target = next < targets->count && targets->indices[next] == i;

		ocl_image_set_place(driver, images.data[i], images.lens[i], cached_as);
		if (target)
			cc_entry_add(entry, CC_TAG_IMAGE, next++, images.data[i], images.lens[i]);
		else if (images.lens[i])
			cc_entry_add(entry, OCL_TAG_OTHER_IMAGE, i, images.data[i], images.lens[i]);
	}
	ocl_images_release(&images);
	free(cached_as);
	return status;
}

/*
 * What the driver reads while it is asked for binaries, which pocl compiles only then, counts like what
 * it read while it built. Adds that to *manifest, which may be NULL before. Takes the observation.
 */
static enum cmn_status see(struct drv_observation *observation, bool unproven,
			   struct cc_manifest **manifest, const char **ret_reason)
{
	const struct drv_observer_text text = { .before = *manifest, .unproven = unproven };
	struct cc_manifest *more = NULL;
	enum cmn_status status = drv_observer_end(observation, &text,
						  cc_cache_file_memo(ocl_layer.cache), &more,
						  ret_reason);

	if (status != CMN_OK || !more)
		return status;
	/* Of these it is not known whether they ask for their names. */
	for (size_t i = 0; i < cc_manifest_count(more) && cc_manifest_moves(*manifest); i++) {
		if (cc_manifest_get(more, i).kind == CC_DEPENDENCY_FILE)
			cc_manifest_name_include_paths(*manifest);
	}
	if (*manifest) {
		status = cc_manifest_add_all(*manifest, more);
		cc_manifest_free(more);
	} else {
		*manifest = more;
	}
	if (status == CMN_STALE) {
		*ret_reason = "include-changed";
		status = CMN_MISS;
	}
	return status;
}

/* Whether a program could find out how the include paths were called: such a result is one of builds with the same. */
static void judge_include_paths(struct cc_manifest *manifest, const struct cc_entry *entry,
				const struct cc_include_paths *paths, enum ocl_loaded_program_kind kind,
				const struct drv_driver *driver)
{
	bool moves = kind != OCL_LOADED_OBJECT || driver->links_forget_options;

	if (manifest && cc_manifest_moves(manifest) && !(moves && ocl_entry_can_move(entry, paths)))
		cc_manifest_name_include_paths(manifest);
}

/* PyOpenCL's token, or the name of a file in SPIR-V, is not in the key, and the logs name it. */
static bool is_of_one_token(const struct cc_entry *entry, const struct drv_driver *driver,
			    const struct ocl_capture_request *request)
{
	struct cmn_view text = ocl_program_text_view(request->text), log;
	bool is_il = text.len && !ocl_program_text_is_source(request->text);

	for (cl_uint i = 0; i < request->targets->count; i++) {
		if (cc_entry_find(entry, OCL_TAG_LOG, i, &log) &&
		    (ocl_pyopencl_nonce_is_in_log(log) ||
		     (is_il && drv_spirv_is_in_log(driver, request->options, text, log))))
			return true;
	}
	return false;
}

static struct cc_manifest *take_manifest(struct drv_sequence *sequence)
{
	struct cc_manifest *manifest = sequence->manifest;

	sequence->manifest = NULL;
	return manifest;
}

enum cmn_status ocl_capture_read(struct drv_sequence *sequence, cl_program program,
				 const struct ocl_capture_request *request, struct cc_entry **ret)
{
	struct cc_manifest *manifest = take_manifest(sequence);
	struct drv_observation *observation = drv_sequence_observe(sequence, false);
	struct cc_entry *entry = cc_entry_new(sequence->build_ns);
	const char *reason = "no-binary";
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!entry)
		goto out;
	status = add_images(entry, program, sequence->driver, request->targets);
	if (status == CMN_OK) {
		status = see(observation, sequence->unproven, &manifest, &reason);
		observation = NULL;
	}
	if (status != CMN_OK)
		goto out;
	cc_entry_set_load_rate(entry, request->load_rate);
	ocl_program_info_add_builds(entry, program, request);
	ocl_program_info_add_kernels(entry, program, sequence->driver, request);
	judge_include_paths(manifest, entry, &sequence->key->include_paths, request->kind, sequence->driver);
	status = cc_entry_finish(entry, manifest);
	manifest = NULL;
	if (status == CMN_OK && is_of_one_token(entry, sequence->driver, request)) {
		reason = "random-token";
		status = CMN_MISS;
	}
out:
	drv_observer_drop(observation);
	cc_manifest_free(manifest);
	if (status == CMN_OK)
		*ret = entry;
	else
		cc_entry_unref(entry);
	if (status == CMN_MISS)
		sequence->bypass = reason;
	return status;
}

/* What a build may have failed for. */
enum cause {
	CAUSE_PASSES,	/* what passes by itself: in doubt the build is tried again */
	CAUSE_STAYS,	/* hardly anything that passes while this process lives */
	CAUSE_IS_KNOWN,	/* the program, at that place; or the driver's libraries, which the manifest has */
};

static bool has(struct cmn_view log, const char *words)
{
	return log.len && memmem(log.data, log.len, words, strlen(words));
}

/* As in "input.cl:1:26: error: ". */
static bool names_place(struct cmn_view log)
{
	static const char *const marks[] = { ": error: ", ": fatal error: " };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *at = log.len ? memmem(log.data, log.len, marks[i], strlen(marks[i])) : NULL;

		if (at && at > (const char *)log.data && isdigit((unsigned char)at[-1]))
			return true;
	}
	return false;
}

/* A compiler's complaint about the source names an error; what passes by itself names a want. */
static enum cause cause_of(struct cmn_view log)
{
	static const char *const passing[] = {
		"memory", "emory exhausted", "bad_alloc", "o space", "isk", "annot open", "o such file",
		"ermission", "esource", "imeout", "imed out", "signal", "killed", "ssertion", "nternal",
		"oo many", "rror reading", "I/O",
	};

	/* rusticl: a function that its libclc does not have. */
	if (has(log, "nir_shader not fully linked"))
		return CAUSE_IS_KNOWN;
	if (!has(log, "error"))
		return CAUSE_PASSES;
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		if (has(log, passing[i]))
			return CAUSE_PASSES;
	}
	return names_place(log) ? CAUSE_IS_KNOWN : CAUSE_STAYS;
}

/* By the logs of the devices for which the driver says that it failed. */
static enum cause cause_of_failure(const struct cc_entry *entry, const struct ocl_targets *targets)
{
	enum cause worst = CAUSE_IS_KNOWN;
	bool found = false;

	for (cl_uint i = 0; i < targets->count; i++) {
		struct cmn_view status, log = { 0 };
		cl_build_status failed = CL_BUILD_ERROR;
		enum cause cause;

		if (!cc_entry_find(entry, OCL_TAG_STATUS, i, &status) ||
		    !cmn_view_equal(status, (struct cmn_view){ &failed, sizeof(failed) }))
			continue;
		(void)cc_entry_find(entry, OCL_TAG_LOG, i, &log);
		cause = cause_of(log);
		worst = cause < worst ? cause : worst;
		found = true;
	}
	return found ? worst : CAUSE_PASSES;
}

/* rusticl 26 has one where its front end was content. */
static void note_images(struct cc_entry *entry, cl_program program)
{
	struct ocl_images images;
	bool some = false;

	if (ocl_images_measure(OCL_NEXT.clGetProgramInfo, program, &images) == CMN_ERR_NOMEM)
		cc_entry_fail(entry);
	for (size_t i = 0; images.lens && i < images.count; i++)
		some |= images.lens[i] != 0;
	if (some)
		cc_entry_add(entry, OCL_TAG_LEFT_IMAGES, 0, NULL, 0);
	ocl_images_release(&images);
}

enum cmn_status ocl_capture_failure(struct drv_sequence *sequence, cl_program program,
				    const struct ocl_capture_request *request, cl_int error,
				    struct cc_entry **ret)
{
	struct cc_manifest *manifest = take_manifest(sequence);
	struct cc_entry *entry = cc_entry_new(sequence->build_ns);
	enum cmn_status status = CMN_ERR_NOMEM;
	enum cause cause;

	if (!entry)
		goto out;
	cc_entry_add(entry, OCL_TAG_ERROR, 0, &error, sizeof(error));
	ocl_program_info_add_builds(entry, program, request);
	note_images(entry, program);
	cause = cause_of_failure(entry, request->targets);
	cc_entry_set_failed(entry, cause != CAUSE_IS_KNOWN, sequence->build_start.began_ns);
	judge_include_paths(manifest, entry, &sequence->key->include_paths, request->kind, sequence->driver);
	status = cc_entry_finish(entry, manifest);
	manifest = NULL;
	if (status == CMN_OK && (cause == CAUSE_PASSES || is_of_one_token(entry, sequence->driver, request)))
		status = CMN_MISS;
out:
	cc_manifest_free(manifest);
	if (status == CMN_OK)
		*ret = entry;
	else
		cc_entry_unref(entry);
	return status;
}

/* The platform of all devices; NULL: they have several, or the driver would not say. */
static cl_platform_id platform_of(const struct ocl_targets *targets)
{
	cl_platform_id platform = NULL;

	for (cl_uint i = 0; i < targets->program_count; i++) {
		cl_platform_id one = NULL;

		if (OCL_NEXT.clGetDeviceInfo(targets->all[i], CL_DEVICE_PLATFORM, sizeof(one),
					     &one, NULL) != CL_SUCCESS || (platform && one != platform))
			return NULL;
		platform = one;
	}
	return platform;
}

/*
 * The places of the program's devices among their platform's; false: one is a sub-device with code
 * of its own, or two are parts of one.
 */
static bool add_places(cl_platform_id platform, const struct ocl_targets *targets,
		       struct cmn_buffer *ret)
{
	cl_device_id *devices = NULL;
	cl_uint count = 0, found = 0;

	if (OCL_NEXT.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS ||
	    count == 0)
		return false;
	devices = calloc(count, sizeof(*devices));
	if (!devices || OCL_NEXT.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices,
						NULL) != CL_SUCCESS)
		goto out;
	for (cl_uint i = 0; i < targets->program_count; i++) {
		cl_device_id builder = ocl_identity_builder(targets->all[i]);

		for (cl_uint j = 0; j < count; j++) {
			if (devices[j] != builder)
				continue;
			cmn_buffer_append_u32(ret, j);
			devices[j] = NULL;	/* no context has a device twice */
			found++;
			break;
		}
	}
out:
	free(devices);
	return found == targets->program_count;
}

bool ocl_recipe_record(const struct drv_sequence *sequence, const struct ocl_targets *targets,
		       const struct cc_manifest *manifest)
{
	struct cmn_buffer places = { 0 };
	cl_platform_id platform = platform_of(targets);
	bool done = platform && add_places(platform, targets, &places) && !places.failed &&
		    drv_build_recipe_put(sequence, manifest, cmn_buffer_view(&places));

	cmn_buffer_release(&places);
	return done;
}
