/* SPDX-License-Identifier: MIT */
/* api_blob: device binaries and a build log, as an entry of the store has them. */
#include "cachecore/api/api_internal.h"
#include "cachecore/api/api_store_internal.h"

/* Beside CC_TAG_IMAGE; the layers' number for the same. */
enum { BLOB_TAG_LOG = 2 };

bool api_value_valid(const struct cachecore_store_value *value)
{
	if (!value || !value->images || value->image_count == 0 ||
	    value->image_count > UINT32_MAX || !api_bytes_valid(value->log))
		return false;
	for (size_t i = 0; i < value->image_count; i++) {
		if (!api_bytes_valid(value->images[i]))
			return false;
	}
	return true;
}

enum cmn_status api_blob_new(const struct cachecore_store_value *value, uint64_t build_ns,
			     struct cc_entry **ret)
{
	struct cc_entry *entry = cc_entry_new(build_ns);
	enum cmn_status status;

	if (!entry)
		return CMN_ERR_NOMEM;
	for (size_t i = 0; i < value->image_count; i++)
		cc_entry_add(entry, CC_TAG_IMAGE, (uint32_t)i, value->images[i].data,
			     value->images[i].size);
	if (value->log.data)
		cc_entry_add(entry, BLOB_TAG_LOG, 0, value->log.data, value->log.size);
	status = cc_entry_finish(entry, NULL);
	if (status != CMN_OK) {
		cc_entry_unref(entry);
		return status;
	}
	*ret = entry;
	return CMN_OK;
}

static const struct cc_entry *entry_of(const struct cachecore_blob *blob)
{
	return (const struct cc_entry *)blob;
}

static struct cachecore_bytes find(const struct cachecore_blob *blob, uint32_t tag, uint32_t index)
{
	struct cmn_view found = { 0 };

	if (!cc_entry_find(entry_of(blob), tag, index, &found))
		return (struct cachecore_bytes){ 0 };
	return (struct cachecore_bytes){ found.data, found.len };
}

struct cachecore_bytes cachecore_blob_image(const struct cachecore_blob *blob, size_t i)
{
	if (i > UINT32_MAX)
		return (struct cachecore_bytes){ 0 };
	return find(blob, CC_TAG_IMAGE, (uint32_t)i);
}

size_t cachecore_blob_image_count(const struct cachecore_blob *blob)
{
	uint32_t count = 0;

	while (find(blob, CC_TAG_IMAGE, count).data)
		count++;
	return count;
}

struct cachecore_bytes cachecore_blob_log(const struct cachecore_blob *blob)
{
	return find(blob, BLOB_TAG_LOG, 0);
}

uint64_t cachecore_blob_build_ns(const struct cachecore_blob *blob)
{
	return cc_entry_build_ns(entry_of(blob));
}

struct cachecore_blob *cachecore_blob_ref(struct cachecore_blob *blob)
{
	(void)cc_entry_ref((struct cc_entry *)blob);	/* it is this one */
	return blob;
}

void cachecore_blob_unref(struct cachecore_blob *blob)
{
	cc_entry_unref((struct cc_entry *)blob);
}
