/* SPDX-License-Identifier: MIT */
/* desc_blob: from modules to a blob, and back. */
#include <stdlib.h>
#include <string.h>

#include "layers/level_zero/plugin/desc.h"
#include "common/cancel.h"
#include "layers/level_zero/plugin/native.h"

enum cmn_status lz_desc_add_native(const struct lz_desc *desc, size_t i, ze_module_handle_t module,
				   struct cmn_buffer *blob)
{
	size_t size = lz_native_size(desc->target.next, module);
	uint8_t *room;

	if (!size)
		return CMN_MISS;
	room = api_blob_add_room(blob, API_FIELD_IMAGE, (uint32_t)i, size);
	if (!room)
		return CMN_ERR_NOMEM;
	return lz_native_read(desc->target.next, module, size, room) ? CMN_OK : CMN_MISS;
}

static enum cmn_status wrap(const struct lz_desc *desc,
			    struct _ze_module_handle_t *const *modules, struct cmn_buffer *ret)
{
	enum cmn_status status = CMN_OK;

	api_blob_begin(ret, CKCACHE_KIND_PROGRAMS, &desc->base.id);
	for (size_t i = 0; i < desc->base.count && status == CMN_OK; i++)
		status = lz_desc_add_native(desc, i, modules[i], ret);
	if (status == CMN_OK)
		status = api_blob_end(ret);
	if (status != CMN_OK)
		cmn_buffer_release(ret);
	return status;
}

struct making {
	struct lz_desc *desc;
	struct _ze_module_handle_t *const *modules;
};

static enum ckcache_status make_blob(void *ctx, struct cmn_buffer *ret)
{
	const struct making *making = ctx;
	enum cmn_status status;

	if (!lz_desc_holds(making->desc))
		return CKCACHE_ERROR_CHANGED;
	status = wrap(making->desc, making->modules, ret);
	/* A driver without a binary: an empty blob. */
	return status == CMN_MISS ? CKCACHE_OK : api_status_of(status);
}

enum ckcache_status lz_ckcache_get_blob(struct ckcache_desc *base,
					struct _ze_module_handle_t *const *modules, size_t *size,
					uint8_t *blob)
{
	CMN_NOT_CANCELLED;
	struct making making = { lz_desc_of(base), modules };
	struct cmn_hash of;

	if (!making.desc || !modules || !size)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < base->count; i++) {
		if (!modules[i])
			return CKCACHE_ERROR_INVALID_ARGUMENT;
	}
	if (base->empty)
		return api_give((struct cmn_view){ NULL, 0 }, size, blob);
	of = cmn_hash_of(modules, base->count * sizeof(modules[0]));
	return api_desc_give_blob(base, &of, make_blob, &making, size, blob);
}

void lz_desc_discard(const struct lz_desc *desc, size_t count, ze_module_handle_t *modules)
{
	for (size_t i = 0; i < count; i++) {
		lz_module_discard(desc->target.next, modules[i]);
		modules[i] = NULL;
	}
}

ze_result_t lz_desc_load(const struct lz_desc *desc, size_t i, struct cmn_view native,
			 ze_module_handle_t *ret)
{
	ze_module_build_log_handle_t log;
	ze_result_t result = lz_native_load(&desc->target, native, desc->programs[i].options,
					    ret, &log);

	if (result == ZE_RESULT_SUCCESS)
		lz_log_discard(desc->target.next, log);
	return result;
}

static enum ckcache_status status_of_load(ze_result_t result)
{
	if (result == ZE_RESULT_SUCCESS)
		return CKCACHE_OK;
	if (lz_is_out_of_memory(result))
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	return lz_native_is_refused(result) ? CKCACHE_ERROR_REFUSED : CKCACHE_ERROR_DRIVER;
}

enum ckcache_status lz_desc_create(const struct lz_desc *desc, struct cmn_view blob,
				   ze_module_handle_t *ret_modules)
{
	size_t count = desc->base.count;
	ze_module_handle_t *modules = calloc(count, sizeof(*modules));
	enum ckcache_status status = modules ? CKCACHE_OK : CKCACHE_ERROR_OUT_OF_MEMORY;

	for (size_t i = 0; i < count && status == CKCACHE_OK; i++)
		status = api_status_of_blob(api_desc_check_files(&desc->base, i, blob));
	for (size_t i = 0; i < count && status == CKCACHE_OK; i++) {
		struct cmn_view native;

		/* Sound, and yet without one: not this library's. */
		if (api_blob_find(blob, API_FIELD_IMAGE, (uint32_t)i, &native) == CMN_OK &&
		    native.len)
			status = status_of_load(lz_desc_load(desc, i, native, &modules[i]));
		else
			status = CKCACHE_ERROR_DAMAGED;
	}
	if (status == CKCACHE_OK)
		memcpy(ret_modules, modules, count * sizeof(*modules));
	else if (modules)
		lz_desc_discard(desc, count, modules);
	free(modules);
	return status;
}

enum ckcache_status lz_ckcache_create_from_blob(struct ckcache_desc *base, size_t size,
						const uint8_t *blob,
						struct _ze_module_handle_t **ret_modules)
{
	CMN_NOT_CANCELLED;
	struct lz_desc *desc = lz_desc_of(base);
	struct cmn_view bytes = { blob, size };
	enum cmn_status status;

	if (!desc || base->empty || !blob || !size || !ret_modules)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	status = api_blob_check(bytes, CKCACHE_KIND_PROGRAMS, &base->id);
	if (status != CMN_OK)
		return api_status_of_blob(status);
	if (!lz_desc_holds(desc))
		return CKCACHE_ERROR_CHANGED;
	return lz_desc_create(desc, bytes, ret_modules);
}
