/* SPDX-License-Identifier: MIT */
/*
 * api_programs: the programs map's side of the public interface: keys are encoded
 * here, everything else is cc_programs'. Where there are no maps (NULL) or no
 * memory for a key, builds run all the same.
 */
#include "cachecore/api/api_internal.h"
#include "cachecore/api/program_key.h"
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

enum cachecore_status
cachecore_programs_get_or_build(struct cachecore_programs *programs,
				const struct cachecore_program_key *key, cachecore_build_fn build,
				void *ctx, bool remember_errors, struct cachecore_taken *ret)
{
	struct api_call call = { build, ctx };
	const struct api_request alone = { api_call, &call, api_maps(programs), false };
	struct cc_build_taken taken;
	struct api_key encoded;
	enum cmn_status status;

	if (!ret)
		return CACHECORE_ERR_INVALID;
	*ret = (struct cachecore_taken){ 0 };
	if (!build)
		return CACHECORE_ERR_INVALID;
	status = api_key_of_program(key, &encoded);
	if (status == CMN_ERR_INVALID)
		return CACHECORE_ERR_INVALID;
	if (status == CMN_OK && programs)
		status = api_build_program(api_maps(programs), encoded.view, api_call, &call,
					   remember_errors, &taken);
	else
		status = api_build_alone(&alone, &taken);
	api_key_release(&encoded);
	return api_taken(status, &taken, ret);
}

enum cachecore_status cachecore_programs_get(struct cachecore_programs *programs,
					     const struct cachecore_program_key *key,
					     void **ret_value)
{
	struct api_key encoded;
	enum cmn_status status;

	if (!ret_value)
		return CACHECORE_ERR_INVALID;
	status = api_key_of_program(key, &encoded);
	if (status != CMN_OK)
		return api_status(status);
	status = CMN_MISS;
	if (programs)
		status = cc_programs_get(api_maps(programs), encoded.view, ret_value);
	api_key_release(&encoded);
	return api_status(status);
}

enum cachecore_status cachecore_programs_put(struct cachecore_programs *programs,
					     const struct cachecore_program_key *key, void *value,
					     size_t size)
{
	struct api_key encoded;
	enum cmn_status status;

	if (!programs || !value)
		return CACHECORE_ERR_INVALID;
	status = api_key_of_program(key, &encoded);
	if (status == CMN_ERR_INVALID)
		return CACHECORE_ERR_INVALID;
	if (status != CMN_OK) {
		const struct cc_programs *maps = api_maps(programs);

		if (maps->program_ops.release)
			maps->program_ops.release(value);
		return api_status(status);
	}
	status = cc_programs_put(api_maps(programs), encoded.view, value, size);
	api_key_release(&encoded);
	return api_status(status);
}

void cachecore_programs_remove(struct cachecore_programs *programs,
			       const struct cachecore_program_key *key, const void *value)
{
	struct api_key encoded;
	enum cmn_status status;

	if (!programs)
		return;
	status = api_key_of_program(key, &encoded);
	if (status == CMN_OK) {
		cc_programs_remove(api_maps(programs), encoded.view, value);
	} else if (status == CMN_ERR_NOMEM) {
		/* Who removes a program must not be given it again. */
		cachecore_programs_flush(programs);
	}
	api_key_release(&encoded);
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
