/* SPDX-License-Identifier: MIT */
/* module_desc_blob: from modules to a blob. */
#include "layers/level_zero/plugin/module_desc.h"
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
