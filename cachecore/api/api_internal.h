/* SPDX-License-Identifier: MIT */
/*
 * api_internal: what the files of the public interface share: its types and statuses to
 * cachecore's and back, its keys as bytes, and getOrBuild with a callback. Each contract of the
 * interface is in cachecore.h.
 */
#ifndef CACHECORE_API_INTERNAL_H
#define CACHECORE_API_INTERNAL_H

#include "cachecore/api/cachecore.h"
#include "cachecore/memory/programs.h"

/* api_programs.c asserts that the values are the same. */
static inline enum cachecore_status api_status(enum cmn_status status)
{
	return (enum cachecore_status)status;
}

static inline struct cmn_view api_view(struct cachecore_bytes bytes)
{
	return (struct cmn_view){ bytes.data, bytes.size };
}

static inline bool api_bytes_valid(struct cachecore_bytes bytes)
{
	return bytes.data || bytes.size == 0;
}

/* A cachecore_programs is a cc_programs by a name of its own. */
static inline struct cc_programs *api_maps(struct cachecore_programs *programs)
{
	return (struct cc_programs *)programs;
}

/* NULL: nothing to call. */
static inline struct cc_value_ops api_value_ops(const struct cachecore_value_ops *ops)
{
	return ops ? (struct cc_value_ops){ ops->retain, ops->release } : (struct cc_value_ops){ 0 };
}

/*
 * A program's key as the bytes that the maps compare:
 *
 *   key = image_id_size:u64 constants_size:u64 devices_size:u64 device_size:u64
 *         image_id constants devices options
 *
 * in the machine's byte order, as it never leaves the process. devices of a
 * device_size are sorted, each once. It belongs to one thread.
 */
struct api_key {
	struct cmn_view view;	/* the encoding: in room, or in heap */
	uint8_t *heap;		/* NULL: not used */
	uint8_t room[1024];	/* a few times what runtimes have: beyond, malloc */
};

/*
 * The caller calls api_key_release, whatever the status. CMN_ERR_INVALID: NULL, bytes
 * without an address, or a device_size that does not divide; CMN_ERR_NOMEM;
 * CMN_ERR_TOO_LARGE: larger than an address space.
 */
CMN_CHECKED enum cmn_status api_key_of_program(const struct cachecore_program_key *key,
					       struct api_key *ret);
void api_key_release(struct api_key *key);

/* getOrBuild: claims the build, calls, and publishes what that gave, or fails. The status is the build's. */
struct api_request {
	cachecore_build_fn build;
	void *ctx;
	struct cc_programs *room;	/* what is flushed when memory runs out; NULL: nothing */
	bool remember_errors;
};

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

#endif
