/* SPDX-License-Identifier: MIT */
/* device: the library's name and hash, and its data. */
#include "layers/shared/api/desc.h"

#include <stdlib.h>
#include <string.h>

#include "common/cancel.h"
#include "layers/shared/api/storage.h"
#include "layers/shared/driver/loaded.h"

/* The field of an entry that has the data; its own, so that bounds on images are not meant. */
enum { TAG_DATA = 2 };

/* The object that an address is in, among those that are loaded. */
struct search {
	const void *address;
	uint8_t build_id[64];	/* no linker's is longer than a SHA-256; read inside of the linker's lock */
	size_t len;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const struct drv_loaded object = {
		.base = info->dlpi_addr, .headers = info->dlpi_phdr, .header_count = info->dlpi_phnum,
	};
	struct search *search = ctx;
	struct cmn_view id;

	(void)size;
	if (!drv_loaded_contains(&object, search->address))
		return 0;
	id = drv_loaded_note(&object, "GNU", NT_GNU_BUILD_ID);
	if (id.len && id.len <= sizeof(search->build_id)) {
		memcpy(search->build_id, id.data, id.len);
		search->len = id.len;
	}
	return 1;
}

/* false: neither a hash nor a build-id tells this build of the library from another. */
static bool add_hash(struct cc_key *key, const struct ckcache_library *library)
{
	struct search search = { .address = library->address };

	if (library->hash) {
		cc_key_add(key, CC_PART_IMAGE, "library.hash", library->hash, library->hash_size);
		return library->hash_size != 0;
	}
	if (!library->address)
		return false;
	(void)drv_loaded_iterate(look_at_object, &search);	/* it only says whether it was found */
	cc_key_add(key, CC_PART_IMAGE, "library.build_id", search.build_id, search.len);
	return search.len != 0;
}

static void destroy(struct ckcache_desc *desc)
{
	api_desc_release(desc);
	free(desc);
}

static const struct api_kind kind = { .blob = CKCACHE_KIND_DEVICE, .destroy = destroy };

enum ckcache_status api_device_desc_new(struct cc_cache *cache, const struct cc_key *identity,
					const struct ckcache_library *library,
					struct ckcache_desc **ret_desc)
{
	struct ckcache_desc *desc;
	enum cmn_status status;
	struct cc_key *key;

	/* What a later version has more would be missing in the id. */
	if (!library || library->struct_size != sizeof(*library) || !library->name ||
	    !library->name[0])
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	desc = calloc(1, sizeof(*desc));
	if (!desc)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	*desc = (struct ckcache_desc){
		.cache = cache, .kind = &kind,
	};
	if (api_desc_init(desc, 1) != CMN_OK) {
		free(desc);
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	}
	key = &desc->keys[0];
	cc_key_init_copy(key, identity);
	cc_key_add_text(key, CC_PART_IMAGE, "kind", "device-data");
	cc_key_add_text(key, CC_PART_IMAGE, "library.name", library->name);
	cc_key_add_text(key, CC_PART_IMAGE, "library.version",
			library->version ? library->version : "");
	status = add_hash(key, library) ? api_desc_identify(desc) : CMN_ERR_INVALID;
	if (status != CMN_OK) {
		destroy(desc);
		return api_status_of(status);
	}
	*ret_desc = desc;
	return CKCACHE_OK;
}

static bool is_device(const struct ckcache_desc *desc)
{
	return desc && desc->kind == &kind;
}

/* A whole blob of the data, in an empty buffer. */
static enum cmn_status wrap(const struct ckcache_desc *desc, struct cmn_view data,
			    struct cmn_buffer *ret)
{
	enum cmn_status status;

	api_blob_begin(ret, CKCACHE_KIND_DEVICE, &desc->id);
	api_blob_add(ret, API_FIELD_DATA, 0, data);
	status = api_blob_end(ret);
	if (status != CMN_OK)
		cmn_buffer_release(ret);
	return status;
}

enum ckcache_status ckcache_device_get_blob(struct ckcache_desc *desc, size_t data_size,
					const void *data, size_t *size, uint8_t *blob)
{
	struct cmn_buffer made = { 0 };
	enum ckcache_status status;

	if (!is_device(desc) || !size || (data_size && !data))
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	/* Nothing to tell: an empty blob. */
	if (data_size && wrap(desc, (struct cmn_view){ data, data_size }, &made) != CMN_OK)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	status = api_give(cmn_buffer_view(&made), size, blob);
	cmn_buffer_release(&made);
	return status;
}

enum ckcache_status ckcache_device_get_data(struct ckcache_desc *desc, size_t blob_size,
					const uint8_t *blob, size_t *size, void *data)
{
	struct cmn_view whole = { blob, blob_size }, found;
	enum cmn_status status;

	if (!is_device(desc) || !size || !blob || !blob_size)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	status = api_blob_check(whole, CKCACHE_KIND_DEVICE, &desc->id);
	if (status != CMN_OK)
		return api_status_of_blob(status);
	if (api_blob_find(whole, API_FIELD_DATA, 0, &found) != CMN_OK)
		return CKCACHE_ERROR_DAMAGED;
	return api_give(found, size, data);
}

/* As an entry, in the machine's cache. */
static enum cmn_status store_entry(struct ckcache_desc *desc, struct cmn_view data)
{
	struct cc_entry *entry = cc_entry_new(0);
	enum cmn_status status;

	if (!entry)
		return CMN_ERR_NOMEM;
	cc_entry_add(entry, TAG_DATA, 0, data.data, data.len);
	status = cc_entry_finish(entry, NULL);
	if (status == CMN_OK) {
		/* In memory what is there would stay. */
		status = cc_cache_remove(desc->cache, &desc->keys[0]);
		/* What could not be locked is replaced when this is stored. */
		if (status == CMN_BUSY)
			status = CMN_OK;
		cc_cache_put(desc->cache, &desc->keys[0], entry);
	}
	cc_entry_unref(entry);
	return status;
}

enum ckcache_status ckcache_device_store(struct ckcache_desc *desc,
				     const struct ckcache_storage *storage, size_t size,
				     const void *data)
{
	CMN_NOT_CANCELLED;
	struct cmn_view bytes = { data, size };
	struct cmn_buffer blob = { 0 };
	enum cmn_status status;

	if (!is_device(desc) || !api_storage_is_valid(storage) || !size || !data)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (!storage)
		return desc->cache ? api_status_of(store_entry(desc, bytes)) :
				     CKCACHE_ERROR_DENIED;
	if (!storage->store)
		return CKCACHE_ERROR_UNAVAILABLE;
	status = wrap(desc, bytes, &blob);
	if (status == CMN_OK)
		status = api_storage_store(storage, desc, cmn_buffer_view(&blob));
	cmn_buffer_release(&blob);
	return api_status_of(status);
}

static enum ckcache_status load_entry(struct ckcache_desc *desc, size_t *size, void *data)
{
	struct cmn_view found;
	struct cc_entry *entry;
	enum cc_origin origin;
	enum ckcache_status status = CKCACHE_MISS;

	if (!desc->cache ||
	    cc_cache_get(desc->cache, &desc->keys[0], &entry, &origin) != CMN_OK)
		return CKCACHE_MISS;
	if (cc_entry_find(entry, TAG_DATA, 0, &found))
		status = api_give(found, size, data);
	cc_entry_unref(entry);
	return status;
}

enum ckcache_status ckcache_device_load(struct ckcache_desc *desc,
				    const struct ckcache_storage *storage, size_t *size,
				    void *data)
{
	CMN_NOT_CANCELLED;
	struct cmn_buffer blob = { 0 };
	enum ckcache_status status;
	enum cmn_status loaded;

	if (!is_device(desc) || !api_storage_is_valid(storage) || !size)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	if (!storage)
		return load_entry(desc, size, data);
	loaded = api_storage_load(storage, desc, &blob);
	if (loaded != CMN_OK)
		return loaded == CMN_ERR_NOMEM ? CKCACHE_ERROR_OUT_OF_MEMORY : CKCACHE_MISS;
	status = ckcache_device_get_data(desc, blob.len, blob.data, size, data);
	cmn_buffer_release(&blob);
	return status;
}
