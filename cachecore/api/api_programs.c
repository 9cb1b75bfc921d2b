/* SPDX-License-Identifier: MIT */
/*
 * api_programs: the maps' side of the public interface: keys are encoded here,
 * everything else is cc_programs'. Where there are no maps (NULL) or no
 * memory for a key, builds run all the same.
 */
#include "cachecore/api/api_build.h"
#include "cachecore/api/api_internal.h"
#include "cachecore/api/program_key.h"
#include "cachecore/memory/fast_kernels.h"
#include "cachecore/memory/programs_internal.h"

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
		status = api_build_alone(request, &taken);
	else if (name)
		status = api_build_kernel(api_maps(programs), encoded.view, api_view(*name),
					  request->build, request->ctx, &taken);
	else
		status = api_build_program(api_maps(programs), encoded.view, request->build,
					   request->ctx, request->remember_errors, &taken);
	api_key_release(&encoded);
	return api_taken(status, &taken, ret);
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
