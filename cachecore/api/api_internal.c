/* SPDX-License-Identifier: MIT */
/* api_internal: callbacks and results, between the public types and cachecore's. */
#include "cachecore/api/api_internal.h"

struct cc_value_ops api_value_ops(const struct cachecore_value_ops *ops)
{
	if (!ops)
		return (struct cc_value_ops){ 0 };
	return (struct cc_value_ops){ .retain = ops->retain, .release = ops->release };
}

enum cmn_status api_call(void *ctx, struct cc_build_output *ret)
{
	const struct api_call *call = ctx;
	struct cachecore_build_output output = { 0 };
	enum cachecore_status status = call->build(call->ctx, &output);

	*ret = (struct cc_build_output){
		.value = output.value,
		.size = output.size,
		.transient = output.transient,
		.error_code = output.error_code,
		.error_message = output.error_message,
	};
	return (enum cmn_status)status;
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
	return api_status(status);
}
