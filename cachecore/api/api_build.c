/* SPDX-License-Identifier: MIT */
/* api_build: the callback between a claim and its end. */
#include "cachecore/api/api_build.h"

#include <stdlib.h>
#include <string.h>

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

	if (way != CC_WAY_BUILT)
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
	struct cachecore_build_output output;
	enum cmn_status status;

	if (cc_build_result_claim(result, ret) != CC_WAY_BUILT)
		return ret->status;
	status = run(request, &output, ret);
	if (status == CMN_OK) {
		cc_build_result_publish(result, output.value, output.size, output.transient);
		ret->value = cc_build_result_take(result);
	} else {
		cc_build_result_fail(result, status, output.error_code, output.error_message,
				     request->remember_errors);
	}
	return status;
}

enum cmn_status api_build_alone(const struct api_request *request, struct cc_build_taken *ret)
{
	struct cc_claim claim = { 0 };

	*ret = (struct cc_build_taken){ .way = CC_WAY_BUILT };
	return finish(CC_WAY_BUILT, &claim, request, ret);
}

enum cachecore_status api_taken(enum cmn_status status, const struct cc_build_taken *taken,
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
