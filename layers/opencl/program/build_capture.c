/* SPDX-License-Identifier: MIT */
/*
 * build_capture: from a build that the driver has just done to its entry, to a
 * later look at it, or to a recipe; and whether there may be one.
 */
#include "layers/shared/driver/environment.h"
#include "layers/opencl/hooks/build.h"
#include "layers/opencl/key/pyopencl_nonce.h"
#include "layers/opencl/program/recipe.h"

/* A compiler that came only with the build was not in the key: what it made cannot be kept under it. */
static bool compiler_came_late(const struct ocl_build *build)
{
	return drv_libraries_came(&build->epoch) &&
	       !ocl_build_key_holds(&build->key, &build->targets);
}

static struct ocl_capture_request capture_request(const struct ocl_build *build)
{
	return (struct ocl_capture_request){
		.kind = build->kind,
		.targets = &build->targets,
		.driver = build->driver,
		.build_ns = build->build_ns,
		/* An object is only created from its binary, not built: much quicker. */
		.load_rate = build->compile ? 0 : build->driver->load_rate,
	};
}

/*
 * Reading the binary would hold up the application: another process is to make
 * it; if the application asks for it itself, it can be had before.
 */
static void defer_capture(struct ocl_build *build)
{
	struct ocl_capture_request request = capture_request(build);
	struct ocl_capture *capture;

	build->deferred = ocl_recipe_record(build);
	if (!build->deferred)
		build->bypass = "capture-deferred";
	request.on_request = true;
	capture = ocl_capture_new(&build->key, &request, build->manifest);
	build->manifest = NULL;
	if (capture)
		ocl_capture_attach(capture, build->program);
}

bool ocl_build_token_may_matter(const struct ocl_build *build, const struct cc_manifest *manifest)
{
	const struct ocl_program *program = build->program;
	struct cmn_view source = { program->source, program->source_len }, token;

	return !build->compile && program->kind == OCL_PROGRAM_SOURCE && cc_manifest_count(manifest) &&
	       ocl_pyopencl_nonce_find(source, build->options, &token) &&
	       ocl_pyopencl_nonce_is_in_files(token, manifest);
}

/* Whether the key and the manifest say what the driver had when it built. */
static bool is_as_gathered(struct ocl_build *build)
{
	drv_environment_note_build();
	/* First, since a driver may read files to answer what the key is made of. */
	if (!ocl_build_see(build))
		return false;
	if (compiler_came_late(build))
		build->bypass = "compiler-loaded-late";
	else if (!drv_environment_holds(build->driver))
		build->bypass = "environment-changed";
	else if (ocl_build_token_may_matter(build, build->manifest))
		build->bypass = "random-token";
	return !build->bypass;
}

/* Reads the built program, now or at its last release. CMN_OK: *ret is the entry. */
enum cmn_status ocl_build_capture(struct ocl_build *build, struct cc_entry **ret)
{
	struct ocl_capture_request request = capture_request(build);
	struct cc_manifest *manifest;
	struct ocl_capture *later;
	enum cmn_status status;

	if (!is_as_gathered(build))
		return CMN_MISS;
	manifest = build->manifest;
	if (build->capture == CC_CAPTURE_DEFERRED) {
		defer_capture(build);
		return CMN_MISS;
	}
	build->manifest = NULL;
	if (build->capture == CC_CAPTURE_LATE) {
		later = ocl_capture_new(&build->key, &request, manifest);
		if (later)
			ocl_capture_attach(later, build->program);
		return CMN_MISS;
	}
	status = ocl_capture_read(build->program->object.handle, &request, manifest, ret);
	if (status == CMN_MISS)
		build->bypass = "no-binary";
	else if (status == CMN_STALE)
		build->bypass = "random-token";
	if (status == CMN_OK && build->kind == OCL_EFFECTIVE_OBJECT)
		ocl_program_set_content(build->program, *ret);
	return status == CMN_OK ? CMN_OK : CMN_MISS;
}

/* Only if it would fail again. */
enum cmn_status ocl_build_capture_failure(struct ocl_build *build, struct cc_entry **ret)
{
	struct ocl_capture_request request = capture_request(build);
	struct cc_manifest *manifest;

	if ((build->error != CL_BUILD_PROGRAM_FAILURE &&
	     build->error != CL_COMPILE_PROGRAM_FAILURE) || !is_as_gathered(build))
		return CMN_MISS;
	manifest = build->manifest;
	build->manifest = NULL;
	request.kind = OCL_EFFECTIVE_FAILURE;
	return ocl_capture_failure(build->program->object.handle, &request, build->error, manifest,
				   ret) == CMN_OK ? CMN_OK : CMN_MISS;
}
