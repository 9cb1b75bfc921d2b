/* SPDX-License-Identifier: MIT */
/*
 * api_internal: what the files of the public interface share: its types and
 * statuses to cachecore's and back. Each contract is in cachecore.h.
 */
#ifndef CACHECORE_API_INTERNAL_H
#define CACHECORE_API_INTERNAL_H

#include "cachecore/api/cachecore.h"
#include "cachecore/memory/programs.h"

/* api_status.c asserts that the values are the same. */
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

#endif
