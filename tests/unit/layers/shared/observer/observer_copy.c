/* SPDX-License-Identifier: MIT */
/* observer_copy: a library with an observer of its own, as each layer has one. */
#include "layers/shared/observer/observer.h"

extern __typeof__(drv_observer_begin) observer_copy_begin __attribute__((visibility("default")));
extern __typeof__(drv_observer_end) observer_copy_end __attribute__((visibility("default")));

struct drv_observation *observer_copy_begin(const struct drv_observer_request *request)
{
	return drv_observer_begin(request);
}

enum cmn_status observer_copy_end(struct drv_observation *observation,
				  const struct drv_observer_text *text, struct cc_file_memo *memo,
				  struct cc_manifest **ret, const char **ret_reason)
{
	return drv_observer_end(observation, text, memo, ret, ret_reason);
}
