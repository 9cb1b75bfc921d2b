/* SPDX-License-Identifier: MIT */
/* desc: making, identity and sizes. Nothing that a later version of a structure may have more is passed over. */
#include "layers/shared/api/desc.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/sequence/sequence.h"

enum cmn_status api_desc_init(struct ckcache_desc *desc, size_t count)
{
	atomic_init(&desc->loaded, drv_sequence_epoch().loaded);
	atomic_flag_clear(&desc->taken);
	desc->keys = calloc(count, sizeof(*desc->keys));
	if (!desc->keys)
		return CMN_ERR_NOMEM;
	desc->count = count;
	return CMN_OK;
}

void api_desc_release(struct ckcache_desc *desc)
{
	for (size_t i = 0; i < desc->count; i++)
		cc_key_release(&desc->keys[i]);
	free(desc->keys);
	cmn_buffer_release(&desc->blob);
	cmn_buffer_release(&desc->batch.blob);
}

struct drv_library_epoch api_desc_epoch(struct ckcache_desc *desc)
{
	return (struct drv_library_epoch){ .loaded = atomic_load(&desc->loaded) };
}

bool api_desc_keys_hold(struct ckcache_desc *desc, bool (*key_holds)(const struct ckcache_desc *desc))
{
	const struct drv_library_epoch now = drv_libraries_epoch(), before = api_desc_epoch(desc);

	if (!drv_libraries_came(&before))
		return true;
	if (!key_holds(desc))
		return false;
	/* What came before is known to change nothing. */
	atomic_store(&desc->loaded, now.loaded);
	return true;
}

bool api_desc_has_id(const struct ckcache_desc *desc)
{
	return !desc->empty && !desc->nameless;
}

enum cmn_status api_desc_identify(struct ckcache_desc *desc)
{
	return api_desc_has_id(desc) ? api_id_make(desc->count, desc->keys, &desc->id) : CMN_OK;
}

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

enum ckcache_status api_desc_new(const struct api_kind *kind, const void *ctx, struct cc_cache *cache,
				 size_t count, const struct ckcache_program *programs,
				 struct ckcache_desc **ret_desc)
{
	struct ckcache_desc *desc = calloc(1, kind->size);
	enum cmn_status status;

	if (!desc || api_desc_init(desc, count) != CMN_OK) {
		free(desc);
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	}
	desc->cache = cache;
	desc->kind = kind;
	status = kind->begin(desc, ctx);
	for (size_t i = 0; i < count && status == CMN_OK; i++)
		status = kind->copy(desc, i, &programs[i]);
	for (size_t i = 0; i < count && status == CMN_OK; i++)
		status = kind->gather(desc, i);
	if (status == CMN_MISS) {
		desc->empty = true;
		status = CMN_OK;
	}
	if (status == CMN_OK)
		status = api_desc_identify(desc);
	if (status != CMN_OK) {
		kind->destroy(desc);
		return api_status_of(status);
	}
	*ret_desc = desc;
	return CKCACHE_OK;
}

enum ckcache_status api_give(struct cmn_view bytes, size_t *size, void *place)
{
	size_t room = place ? *size : 0;

	*size = bytes.len;
	if (!place)
		return CKCACHE_OK;
	if (room < bytes.len)
		return CKCACHE_ERROR_BUFFER_TOO_SMALL;
	if (bytes.len)
		memcpy(place, bytes.data, bytes.len);
	return CKCACHE_OK;
}

void ckcache_desc_free(struct ckcache_desc *desc)
{
	if (desc)
		desc->kind->destroy(desc);
}

enum ckcache_status ckcache_desc_get_id(const struct ckcache_desc *desc, size_t *size, uint8_t *id)
{
	struct cmn_view bytes = { NULL, 0 };

	if (!desc || !size)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (api_desc_has_id(desc))
		bytes = (struct cmn_view){ desc->id.bytes, API_ID_SIZE };
	return api_give(bytes, size, id);
}
