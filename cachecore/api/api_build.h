/* SPDX-License-Identifier: MIT */
/*
 * api_build: getOrBuild with a callback, as the public interface has it: claims the
 * build, calls, and publishes what that gave, or fails. Internal to cachecore.
 */
#ifndef CACHECORE_API_API_BUILD_H
#define CACHECORE_API_API_BUILD_H

#include "cachecore/memory/programs.h"

/* What a build gives back. */
struct cc_build_output {
	void *value;		/* owned by the cache on CMN_OK; never NULL then */
	size_t size;		/* bytes that the value counts for eviction */
	bool transient;		/* for this thread and those that wait for it: not kept */
	int error_code;		/* of a failure; with error_message NULL the failure carries no error */
	char *error_message;	/* malloc'd, taken by the cache; NULL: the failure may be spurious */
};

/*
 * Builds a value; runs in the calling thread without locks. CMN_OK fills
 * value and size. CMN_ERR_NOMEM: the cache drops everything it holds and
 * calls once more. Any other status is a failure, also CMN_OK without a
 * value. A build may use the cache, but not ask for its own key.
 */
typedef enum cmn_status (*cc_build_fn)(void *ctx, struct cc_build_output *ret);

struct api_request {
	cc_build_fn build;
	void *ctx;
	struct cc_programs *room;	/* what is flushed when memory runs out; NULL: nothing */
	bool remember_errors;
};

/* cc_programs_claim to its end. The status is the build's. */
CMN_CHECKED enum cmn_status api_build_program(struct cc_programs *programs, struct cmn_view key,
					      cc_build_fn build, void *ctx, bool remember_errors,
					      struct cc_build_taken *ret);
/* The same of a kernel. */
CMN_CHECKED enum cmn_status api_build_kernel(struct cc_programs *programs,
					     struct cmn_view program_key, struct cmn_view name,
					     cc_build_fn build, void *ctx,
					     struct cc_build_taken *ret);
/* The same of a result in no map. */
CMN_CHECKED enum cmn_status api_build_result(struct build_result *result,
					     const struct api_request *request,
					     struct cc_build_taken *ret);
/* Where nothing can be kept: the caller gets the only reference. */
CMN_CHECKED enum cmn_status api_build_alone(const struct api_request *request,
					    struct cc_build_taken *ret);

#endif
