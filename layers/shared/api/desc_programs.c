/* SPDX-License-Identifier: MIT */
/* desc_programs: nothing that a later version of a structure may have more is passed over. */
#include "layers/shared/api/desc_programs.h"

#include <stdlib.h>

/* More than anybody links into one object; more than any module has. */
#define MAX_PROGRAMS 65536
#define MAX_CONSTANTS 4096	/* as spirv.c of Level Zero reads them */

static int compare_ids(const void *a, const void *b)
{
	const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* Each has a value, and no id is given twice. */
static enum ckcache_status check_constants(const struct ckcache_program *program)
{
	size_t count = program->constant_count;
	enum ckcache_status status = CKCACHE_OK;
	uint32_t *ids;

	if (!count)
		return CKCACHE_OK;
	if (count > MAX_CONSTANTS || !program->constants)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	ids = calloc(count, sizeof(*ids));
	if (!ids)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const struct ckcache_constant *constant = &program->constants[i];

		if (!constant->value || !constant->size || constant->size > sizeof(uint64_t))
			status = CKCACHE_ERROR_INVALID_ARGUMENT;
		ids[i] = constant->id;
	}
	qsort(ids, count, sizeof(*ids), compare_ids);
	for (size_t i = 1; i < count; i++) {
		if (ids[i] == ids[i - 1])
			status = CKCACHE_ERROR_INVALID_ARGUMENT;
	}
	free(ids);
	return status;
}

static enum ckcache_status check(const struct ckcache_program *program, bool text)
{
	bool is_text = program->language == CKCACHE_LANGUAGE_OPENCL_C;

	/* What a later version has more would be missing in the id; the next one would lie elsewhere. */
	if (program->struct_size != sizeof(*program) || !program->source || !program->source_size ||
	    (is_text ? !text || program->constant_count : program->language != CKCACHE_LANGUAGE_SPIRV))
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	return check_constants(program);
}

enum ckcache_status api_programs_check(size_t count, const struct ckcache_program *programs, bool text)
{
	enum ckcache_status status = CKCACHE_OK;

	if (!count || count > MAX_PROGRAMS || !programs)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < count && status == CKCACHE_OK; i++)
		status = check(&programs[i], text);
	return status;
}

enum ckcache_status api_desc_new(const struct api_desc_maker *maker, const void *ctx,
				 struct cc_cache *cache, size_t count,
				 const struct ckcache_program *programs, struct ckcache_desc **ret_desc)
{
	struct ckcache_desc *desc = calloc(1, maker->size);
	enum cmn_status status;

	if (!desc || api_desc_init(desc, count) != CMN_OK) {
		free(desc);
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	}
	desc->functions = maker->functions();
	desc->cache = cache;
	desc->destroy = maker->destroy;
	status = maker->begin(desc, ctx);
	for (size_t i = 0; i < count && status == CMN_OK; i++)
		status = maker->copy(desc, i, &programs[i]);
	for (size_t i = 0; i < count && status == CMN_OK; i++)
		status = maker->gather(desc, i);
	if (status == CMN_MISS) {
		desc->empty = true;
		status = CMN_OK;
	}
	if (status == CMN_OK)
		status = api_desc_identify(desc);
	if (status != CMN_OK) {
		desc->destroy(desc);
		return api_status_of(status);
	}
	*ret_desc = desc;
	return CKCACHE_OK;
}
