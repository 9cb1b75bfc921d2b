/* SPDX-License-Identifier: MIT */
/*
 * api_build: getOrBuild with a callback, as the public interface has it: claims the
 * build, calls, and publishes what that gave, or fails. Internal to cachecore.
 */
#ifndef CACHECORE_API_API_BUILD_H
#define CACHECORE_API_API_BUILD_H

#include "cachecore/api/cachecore.h"
#include "cachecore/memory/programs.h"

struct api_request {
	cachecore_build_fn build;
	void *ctx;
	struct cc_programs *room;	/* what is flushed when memory runs out; NULL: nothing */
	bool remember_errors;
};

/* cc_programs_claim to its end. The status is the build's. */
CMN_CHECKED enum cmn_status api_build_program(struct cc_programs *programs, struct cmn_view key,
					      cachecore_build_fn build, void *ctx, bool remember_errors,
					      struct cc_build_taken *ret);
/* The same of a kernel. */
CMN_CHECKED enum cmn_status api_build_kernel(struct cc_programs *programs,
					     struct cmn_view program_key, struct cmn_view name,
					     cachecore_build_fn build, void *ctx,
					     struct cc_build_taken *ret);
/* The same of a result in no map. */
CMN_CHECKED enum cmn_status api_build_result(struct build_result *result,
					     const struct api_request *request,
					     struct cc_build_taken *ret);
/* Where nothing can be kept: the caller gets the only reference. */
CMN_CHECKED enum cmn_status api_build_alone(const struct api_request *request,
					    struct cc_build_taken *ret);
/* What one of them gave, as the public interface has it. */
enum cachecore_status api_taken(enum cmn_status status, const struct cc_build_taken *taken,
				struct cachecore_taken *ret);

#endif
