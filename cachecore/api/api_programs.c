/* SPDX-License-Identifier: MIT */
/*
 * api_programs: the maps' and the BuildResult's side of the public interface: keys are encoded
 * here, everything else is cc_programs' and cc_build_result's. Where there are no maps (NULL) or
 * no memory for a key, builds run all the same.
 */
#include <stdlib.h>
#include <string.h>

#include "cachecore/api/api_internal.h"
#include "cachecore/memory/fast_kernels.h"
#include "cachecore/memory/programs_internal.h"

/* The public values are cachecore's own, so that none has to be translated. */
#define SAME(public, internal) \
	_Static_assert((int)(public) == (int)(internal), #public " is " #internal)

SAME(CACHECORE_OK, CMN_OK);
SAME(CACHECORE_MISS, CMN_MISS);
SAME(CACHECORE_BUSY, CMN_BUSY);
SAME(CACHECORE_STALE, CMN_STALE);
SAME(CACHECORE_ERR_NOMEM, CMN_ERR_NOMEM);
SAME(CACHECORE_ERR_IO, CMN_ERR_IO);
SAME(CACHECORE_ERR_CORRUPT, CMN_ERR_CORRUPT);
SAME(CACHECORE_ERR_VERSION, CMN_ERR_VERSION);
SAME(CACHECORE_ERR_INVALID, CMN_ERR_INVALID);
SAME(CACHECORE_ERR_ACCESS, CMN_ERR_ACCESS);
SAME(CACHECORE_ERR_NOSPACE, CMN_ERR_NOSPACE);
SAME(CACHECORE_ERR_TOO_LARGE, CMN_ERR_TOO_LARGE);
SAME(CACHECORE_ERR_BUILD, CMN_ERR_DRIVER);
SAME(CACHECORE_WAY_BUILT, CC_WAY_BUILD);
SAME(CACHECORE_WAY_WAITED, CC_WAY_WAITED);
SAME(CACHECORE_WAY_FOUND, CC_WAY_FOUND);
SAME(CACHECORE_BUILD_UNCLAIMED, BUILD_UNCLAIMED);
SAME(CACHECORE_BUILD_IN_PROGRESS, BUILD_IN_PROGRESS);
SAME(CACHECORE_BUILD_SUCCEEDED, BUILD_SUCCEEDED);
SAME(CACHECORE_BUILD_FAILED, BUILD_FAILED);

unsigned int cachecore_version(void)
{
	return CACHECORE_VERSION;
}

const char *cachecore_status_string(enum cachecore_status status)
{
	/* What only a runtime's build can mean. */
	if (status == CACHECORE_ERR_BUILD)
		return "the build failed";
	return cmn_status_string((enum cmn_status)status);
}

/* ---- getOrBuild with a callback ---- */

/* Calls, and once more where memory ran out. On failure *ret has a copy of the error. */
static enum cmn_status run(const struct api_request *request, struct cachecore_build_output *output,
			   struct cc_build_taken *ret)
{
	enum cmn_status status;

	*output = (struct cachecore_build_output){ 0 };
	status = (enum cmn_status)request->build(request->ctx, output);
	if (status == CMN_ERR_NOMEM) {
		free(output->error_message);
		*output = (struct cachecore_build_output){ 0 };
		cc_programs_make_room(request->room);
		status = (enum cmn_status)request->build(request->ctx, output);
	}
	/* A success without a value would have every taker use NULL. */
	if (status == CMN_OK && !output->value)
		status = CMN_ERR_INVALID;
	if (status == CMN_OK) {
		free(output->error_message);
		return status;
	}
	ret->error_code = output->error_code;
	if (output->error_message)
		ret->error_message = strdup(output->error_message);	/* NULL: the code and status must do */
	return status;
}

/* What a claim gave to the caller: to be built, or the outcome. */
static enum cmn_status finish(enum cc_way way, struct cc_claim *claim,
			      const struct api_request *request, struct cc_build_taken *ret)
{
	struct cachecore_build_output output;
	enum cmn_status status;

	if (way != CC_WAY_BUILD)
		return ret->status;
	status = run(request, &output, ret);
	if (status == CMN_OK)
		ret->value = cc_programs_publish(claim, output.value, output.size,
						 output.transient);
	else
		cc_programs_fail(claim, status, output.error_code, output.error_message,
				 request->remember_errors);
	return status;
}

enum cmn_status api_build_program(struct cc_programs *programs, struct cmn_view key,
				  cachecore_build_fn build, void *ctx, bool remember_errors,
				  struct cc_build_taken *ret)
{
	const struct api_request request = { build, ctx, programs, remember_errors };
	struct cc_claim claim;

	return finish(cc_programs_claim(programs, key, &claim, ret), &claim, &request, ret);
}

enum cmn_status api_build_kernel(struct cc_programs *programs, struct cmn_view program_key,
				 struct cmn_view name, cachecore_build_fn build, void *ctx,
				 struct cc_build_taken *ret)
{
	const struct api_request request = { build, ctx, programs, false };
	struct cc_claim claim;

	return finish(cc_kernels_claim(programs, program_key, name, &claim, ret), &claim, &request,
		      ret);
}

enum cmn_status api_build_result(struct build_result *result, const struct api_request *request,
				 struct cc_build_taken *ret)
{
	enum cc_way way = cc_build_result_claim(result, ret);
	struct cc_claim claim = { .result = ret->status == CMN_BUSY ? NULL : result };

	return finish(way, &claim, request, ret);
}

static enum cachecore_status give_taken(enum cmn_status status, const struct cc_build_taken *taken,
				       struct cachecore_taken *ret)
{
	*ret = (struct cachecore_taken){
		.value = taken->value,
		.way = (enum cachecore_way)taken->way,
		.error_code = taken->error_code,
		.error_message = taken->error_message,
	};
	return (enum cachecore_status)status;
}

/* ---- the maps ---- */

enum cachecore_status cachecore_programs_new(const struct cachecore_programs_options *options,
					     struct cachecore_programs **ret)
{
	struct cachecore_programs_options used = { .struct_size = sizeof(used) };
	struct cc_value_ops program_ops, kernel_ops;
	struct cc_programs *maps;

	if (!ret || (options && options->struct_size != sizeof(used)))
		return CACHECORE_ERR_INVALID;
	if (options)
		used = *options;
	program_ops = api_value_ops(&used.program_ops);
	kernel_ops = api_value_ops(&used.kernel_ops);
	maps = cc_programs_new(used.threshold, &program_ops, &kernel_ops);
	if (!maps)
		return CACHECORE_ERR_NOMEM;
	*ret = (struct cachecore_programs *)maps;
	return CACHECORE_OK;
}

void cachecore_programs_free(struct cachecore_programs *programs)
{
	cc_programs_free(api_maps(programs));
}

/* The functions below are of a program, or with a name of that kernel of it. */

static enum cachecore_status get_or_build(struct cachecore_programs *programs,
					  const struct cachecore_program_key *key,
					  const struct cachecore_bytes *name,
					  const struct api_request *request,
					  struct cachecore_taken *ret)
{
	struct cc_build_taken taken;
	struct api_key encoded;
	enum cmn_status status;

	if (!ret)
		return CACHECORE_ERR_INVALID;
	*ret = (struct cachecore_taken){ 0 };
	if (!request->build || (name && !api_bytes_valid(*name)))
		return CACHECORE_ERR_INVALID;
	status = api_key_of_program(key, &encoded);
	if (status == CMN_ERR_INVALID)
		return CACHECORE_ERR_INVALID;
	if (status != CMN_OK || !programs)
		status = api_build_result(NULL, request, &taken);	/* nothing is kept */
	else if (name)
		status = api_build_kernel(api_maps(programs), encoded.view, api_view(*name),
					  request->build, request->ctx, &taken);
	else
		status = api_build_program(api_maps(programs), encoded.view, request->build,
					   request->ctx, request->remember_errors, &taken);
	api_key_release(&encoded);
	return give_taken(status, &taken, ret);
}

static enum cachecore_status get(struct cachecore_programs *programs,
				 const struct cachecore_program_key *key,
				 const struct cachecore_bytes *name, void **ret_value)
{
	struct api_key encoded;
	enum cmn_status status;

	if (!ret_value || (name && !api_bytes_valid(*name)))
		return CACHECORE_ERR_INVALID;
	status = api_key_of_program(key, &encoded);
	if (status != CMN_OK)
		return api_status(status);
	if (!programs)
		status = CMN_MISS;
	else if (name)
		status = cc_kernels_get(api_maps(programs), encoded.view, api_view(*name), ret_value);
	else
		status = cc_programs_get(api_maps(programs), encoded.view, ret_value);
	api_key_release(&encoded);
	return api_status(status);
}

static enum cachecore_status put(struct cachecore_programs *programs,
				 const struct cachecore_program_key *key,
				 const struct cachecore_bytes *name, void *value, size_t size)
{
	struct cc_programs *maps = api_maps(programs);
	struct api_key encoded;
	enum cmn_status status;

	if (!programs || !value || (name && !api_bytes_valid(*name)))
		return CACHECORE_ERR_INVALID;
	status = api_key_of_program(key, &encoded);
	if (status == CMN_ERR_INVALID)
		return CACHECORE_ERR_INVALID;
	if (status != CMN_OK) {
		const struct cc_value_ops *ops = name ? &maps->kernel_ops : &maps->program_ops;

		if (ops->release)
			ops->release(value);
		return api_status(status);
	}
	status = name ? cc_kernels_put(maps, encoded.view, api_view(*name), value)
		      : cc_programs_put(maps, encoded.view, value, size);
	api_key_release(&encoded);
	return api_status(status);
}

static void remove_value(struct cachecore_programs *programs, const struct cachecore_program_key *key,
			 const struct cachecore_bytes *name, const void *value)
{
	struct api_key encoded;
	enum cmn_status status;

	if (!programs || (name && !api_bytes_valid(*name)))
		return;
	status = api_key_of_program(key, &encoded);
	if (status == CMN_OK && name)
		cc_kernels_remove(api_maps(programs), encoded.view, api_view(*name), value);
	else if (status == CMN_OK)
		cc_programs_remove(api_maps(programs), encoded.view, value);
	else if (status == CMN_ERR_NOMEM)
		/* Who removes a program must not be given it again. */
		cachecore_programs_flush(programs);
	api_key_release(&encoded);
}

enum cachecore_status
cachecore_programs_get_or_build(struct cachecore_programs *programs,
				const struct cachecore_program_key *key, cachecore_build_fn build,
				void *ctx, bool remember_errors, struct cachecore_taken *ret)
{
	const struct api_request request = { build, ctx, api_maps(programs), remember_errors };

	return get_or_build(programs, key, NULL, &request, ret);
}

enum cachecore_status
cachecore_kernels_get_or_build(struct cachecore_programs *programs,
			       const struct cachecore_program_key *program,
			       struct cachecore_bytes name, cachecore_build_fn build, void *ctx,
			       struct cachecore_taken *ret)
{
	const struct api_request request = { build, ctx, api_maps(programs), false };

	return get_or_build(programs, program, &name, &request, ret);
}

enum cachecore_status cachecore_programs_get(struct cachecore_programs *programs,
					     const struct cachecore_program_key *key,
					     void **ret_value)
{
	return get(programs, key, NULL, ret_value);
}

enum cachecore_status cachecore_kernels_get(struct cachecore_programs *programs,
					    const struct cachecore_program_key *program,
					    struct cachecore_bytes name, void **ret_kernel)
{
	return get(programs, program, &name, ret_kernel);
}

enum cachecore_status cachecore_programs_put(struct cachecore_programs *programs,
					     const struct cachecore_program_key *key, void *value,
					     size_t size)
{
	return put(programs, key, NULL, value, size);
}

enum cachecore_status cachecore_kernels_put(struct cachecore_programs *programs,
					    const struct cachecore_program_key *program,
					    struct cachecore_bytes name, void *kernel)
{
	return put(programs, program, &name, kernel, 0);
}

void cachecore_programs_remove(struct cachecore_programs *programs,
			       const struct cachecore_program_key *key, const void *value)
{
	remove_value(programs, key, NULL, value);
}

void cachecore_kernels_remove(struct cachecore_programs *programs,
			      const struct cachecore_program_key *program,
			      struct cachecore_bytes name, const void *kernel)
{
	remove_value(programs, program, &name, kernel);
}

enum cachecore_status cachecore_fast_kernel_get(struct cachecore_programs *programs,
						struct cachecore_bytes constants,
						const void *device, struct cachecore_bytes name,
						void **ret_kernel)
{
	const struct fast_key key = {
		.device = device, .name = api_view(name), .constants = api_view(constants),
	};

	if (!ret_kernel || !api_bytes_valid(constants) || !api_bytes_valid(name))
		return CACHECORE_ERR_INVALID;
	if (!programs)
		return CACHECORE_MISS;
	return api_status(fast_kernels_get(&api_maps(programs)->fast, &key, ret_kernel));
}

enum cachecore_status cachecore_fast_kernel_put(struct cachecore_programs *programs,
						const struct cachecore_program_key *program,
						struct cachecore_bytes constants,
						const void *device, struct cachecore_bytes name,
						void *kernel)
{
	const struct fast_key key = {
		.device = device, .name = api_view(name), .constants = api_view(constants),
	};
	struct api_key encoded;
	enum cmn_status status;

	if (!kernel || !api_bytes_valid(constants) || !api_bytes_valid(name))
		return CACHECORE_ERR_INVALID;
	status = api_key_of_program(program, &encoded);
	if (status != CMN_OK)
		return api_status(status);
	status = CMN_MISS;
	if (programs)
		status = cc_fast_kernel_put(api_maps(programs), encoded.view, kernel, &key);
	api_key_release(&encoded);
	return api_status(status);
}

void cachecore_programs_flush(struct cachecore_programs *programs)
{
	if (programs)
		cc_programs_flush(api_maps(programs));
}

enum cachecore_status cachecore_programs_attempt(struct cachecore_programs *programs,
						 cachecore_attempt_fn attempt, void *ctx)
{
	enum cachecore_status status;

	if (!attempt)
		return CACHECORE_ERR_INVALID;
	status = attempt(ctx);
	if (status != CACHECORE_ERR_NOMEM || !programs)
		return status;
	cc_programs_make_room(api_maps(programs));
	return attempt(ctx);
}

void cachecore_programs_usage(struct cachecore_programs *programs, struct cachecore_usage *ret)
{
	struct cc_programs_usage usage = { 0 };

	if (programs)
		cc_programs_usage(api_maps(programs), &usage);
	*ret = (struct cachecore_usage){
		.programs = usage.programs,
		.kernels = usage.kernels,
		.fast_kernels = usage.fast_kernels,
		.bytes = usage.bytes,
	};
}

void cachecore_programs_fork_prepare(struct cachecore_programs *programs)
{
	if (programs)
		cc_programs_fork_prepare(api_maps(programs));
}

void cachecore_programs_fork_parent(struct cachecore_programs *programs)
{
	if (programs)
		cc_programs_fork_parent(api_maps(programs));
}

void cachecore_programs_fork_child(struct cachecore_programs *programs)
{
	if (programs)
		cc_programs_fork_child(api_maps(programs));
}

/* ---- BuildResult ---- */

/* A result of a runtime's own, with a copy of the callbacks, which the result inside borrows. */
struct cachecore_build_result {
	struct build_result result;	/* first */
	struct cc_value_ops ops;
};

enum cachecore_status cachecore_build_result_new(const struct cachecore_value_ops *ops,
						 struct cachecore_build_result **ret)
{
	struct cachecore_build_result *made;

	if (!ret)
		return CACHECORE_ERR_INVALID;
	made = cc_build_result_new(NULL, sizeof(*made));
	if (!made)
		return CACHECORE_ERR_NOMEM;
	made->ops = api_value_ops(ops);
	made->result.ops = &made->ops;
	*ret = made;
	return CACHECORE_OK;
}

struct cachecore_build_result *cachecore_build_result_ref(struct cachecore_build_result *result)
{
	(void)cc_build_result_ref(&result->result);	/* it is this one */
	return result;
}

void cachecore_build_result_unref(struct cachecore_build_result *result)
{
	if (result)
		cc_build_result_unref(&result->result);
}

enum cachecore_build_state
cachecore_build_result_state(const struct cachecore_build_result *result)
{
	return (enum cachecore_build_state)cc_build_result_state(&result->result);
}

enum cachecore_status cachecore_build_result_take(struct cachecore_build_result *result,
						  void **ret_value)
{
	if (!ret_value)
		return CACHECORE_ERR_INVALID;
	if (cc_build_result_state(&result->result) != BUILD_SUCCEEDED)
		return CACHECORE_MISS;
	*ret_value = cc_build_result_take(&result->result);
	return CACHECORE_OK;
}

enum cachecore_status cachecore_build_result_obtain(struct cachecore_build_result *result,
						    cachecore_build_fn build, void *ctx,
						    struct cachecore_programs *flushed,
						    struct cachecore_taken *ret)
{
	const struct api_request request = { build, ctx, api_maps(flushed), false };
	struct cc_build_taken taken;
	enum cmn_status status;

	if (!ret)
		return CACHECORE_ERR_INVALID;
	*ret = (struct cachecore_taken){ 0 };
	if (!build)
		return CACHECORE_ERR_INVALID;
	status = api_build_result(&result->result, &request, &taken);
	return give_taken(status, &taken, ret);
}
