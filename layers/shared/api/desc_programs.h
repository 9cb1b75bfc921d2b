/* SPDX-License-Identifier: MIT */
/*
 * desc_programs: what the two APIs' ckcache_*_desc_new do alike: check the programs, copy them, make
 * their keys and the id.
 */
#ifndef SHARED_API_DESC_PROGRAMS_H
#define SHARED_API_DESC_PROGRAMS_H

#include "layers/shared/api/desc.h"

/* How one API does it. */
struct api_desc_maker {
	size_t size;	/* of its descriptions, which begin with struct ckcache_desc */
	const struct ckcache_functions *(*functions)(void);
	void (*destroy)(struct ckcache_desc *desc);	/* also of one that is not complete */
	/* Takes what all programs share, from ctx, and makes room for desc->count programs. */
	enum cmn_status (*begin)(struct ckcache_desc *desc, const void *ctx);
	/* Copies the i-th program. */
	enum cmn_status (*copy)(struct ckcache_desc *desc, size_t i, const struct ckcache_program *program);
	/* Makes its key, once all are copied. CMN_MISS: it is not to be cached. */
	enum cmn_status (*gather)(struct ckcache_desc *desc, size_t i);
};

/*
 * Whether the programs can be described; text: those in OpenCL C, too. CKCACHE_ERROR_INVALID_ARGUMENT,
 * CKCACHE_ERROR_OUT_OF_MEMORY.
 */
enum ckcache_status api_programs_check(size_t count, const struct ckcache_program *programs, bool text);
/* A description of programs that were checked. cache: NULL: switched off. */
enum ckcache_status api_desc_new(const struct api_desc_maker *maker, const void *ctx,
				 struct cc_cache *cache, size_t count,
				 const struct ckcache_program *programs, struct ckcache_desc **ret_desc);

#endif
