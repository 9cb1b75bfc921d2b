/* SPDX-License-Identifier: MIT */
/*
 * api_build_result: BuildResult as an object of a runtime's own, with a copy of the callbacks,
 * which the result inside borrows.
 */
#include "cachecore/memory/build_result.h"

#include "cachecore/api/api_build.h"
#include "cachecore/api/api_internal.h"

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
	return api_taken(status, &taken, ret);
}
