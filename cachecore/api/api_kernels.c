/* SPDX-License-Identifier: MIT */
/*
 * api_kernels: the kernels map's and the fast kernel cache's side of the public
 * interface.
 */
#include "cachecore/api/api_internal.h"
#include "cachecore/api/program_key.h"
#include "cachecore/memory/fast_kernels.h"
#include "cachecore/memory/programs_internal.h"

enum cachecore_status
cachecore_kernels_get_or_build(struct cachecore_programs *programs,
			       const struct cachecore_program_key *program,
			       struct cachecore_bytes name, cachecore_build_fn build, void *ctx,
			       struct cachecore_taken *ret)
{
	struct api_call call = { build, ctx };
	const struct api_request alone = { api_call, &call, api_maps(programs), false };
	struct cc_build_taken taken;
	struct api_key encoded;
	enum cmn_status status;

	if (!ret)
		return CACHECORE_ERR_INVALID;
	*ret = (struct cachecore_taken){ 0 };
	if (!build || !api_bytes_valid(name))
		return CACHECORE_ERR_INVALID;
	status = api_key_of_program(program, &encoded);
	if (status == CMN_ERR_INVALID)
		return CACHECORE_ERR_INVALID;
	if (status == CMN_OK && programs)
		status = api_build_kernel(api_maps(programs), encoded.view, api_view(name),
					  api_call, &call, &taken);
	else
		status = api_build_alone(&alone, &taken);
	api_key_release(&encoded);
	return api_taken(status, &taken, ret);
}

enum cachecore_status cachecore_kernels_get(struct cachecore_programs *programs,
					    const struct cachecore_program_key *program,
					    struct cachecore_bytes name, void **ret_kernel)
{
	struct api_key encoded;
	enum cmn_status status;

	if (!ret_kernel || !api_bytes_valid(name))
		return CACHECORE_ERR_INVALID;
	status = api_key_of_program(program, &encoded);
	if (status != CMN_OK)
		return api_status(status);
	status = CMN_MISS;
	if (programs)
		status = cc_kernels_get(api_maps(programs), encoded.view, api_view(name),
					ret_kernel);
	api_key_release(&encoded);
	return api_status(status);
}

enum cachecore_status cachecore_kernels_put(struct cachecore_programs *programs,
					    const struct cachecore_program_key *program,
					    struct cachecore_bytes name, void *kernel)
{
	struct api_key encoded;
	enum cmn_status status;

	if (!programs || !kernel || !api_bytes_valid(name))
		return CACHECORE_ERR_INVALID;
	status = api_key_of_program(program, &encoded);
	if (status == CMN_ERR_INVALID)
		return CACHECORE_ERR_INVALID;
	if (status != CMN_OK) {
		const struct cc_programs *maps = api_maps(programs);

		if (maps->kernel_ops.release)
			maps->kernel_ops.release(kernel);
		return api_status(status);
	}
	status = cc_kernels_put(api_maps(programs), encoded.view, api_view(name), kernel);
	api_key_release(&encoded);
	return api_status(status);
}

void cachecore_kernels_remove(struct cachecore_programs *programs,
			      const struct cachecore_program_key *program,
			      struct cachecore_bytes name, const void *kernel)
{
	struct api_key encoded;
	enum cmn_status status;

	if (!programs || !api_bytes_valid(name))
		return;
	status = api_key_of_program(program, &encoded);
	if (status == CMN_OK)
		cc_kernels_remove(api_maps(programs), encoded.view, api_view(name), kernel);
	else if (status == CMN_ERR_NOMEM)
		cachecore_programs_flush(programs);	/* as in cachecore_programs_remove */
	api_key_release(&encoded);
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
